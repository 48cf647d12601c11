package engine

import (
	"reflect"

	"github.com/gomlx/compute"
)

// Temporary is how many bytes a compiled program takes while it runs beside what it is given; ok is false if its engine
// does not tell. Our CPU engine lays the memory out when it compiles, and XLA says what it needs.
func Temporary(program compute.Executable) (bytes int64, ok bool) {
	if p, ok := program.(interface{ Temporary() int64 }); ok {
		return p.Temporary(), true
	}
	return xlaTemporary(reflect.ValueOf(program))
}

// xlaTemporary reads what go-xla was told by the plugin. It is in a field that is not exported, which may be read and
// not written; ok is false if a later go-xla keeps it elsewhere, or if the plugin said nothing.
func xlaTemporary(program reflect.Value) (bytes int64, ok bool) {
	stats := program
	for _, name := range []string{"exec", "OnDeviceMemoryUsageStats"} {
		for stats.Kind() == reflect.Pointer {
			stats = stats.Elem()
		}
		if stats.Kind() != reflect.Struct {
			return 0, false
		}
		stats = stats.FieldByName(name)
	}
	if stats.Kind() != reflect.Struct {
		return 0, false
	}
	for name, sign := range map[string]int64{"GeneratedCode": 1, "Temporary": 1, "Outputs": 1, "Aliases": -1} {
		v := stats.FieldByName(name)
		if v.Kind() != reflect.Int64 {
			return 0, false
		}
		bytes += sign * v.Int()
	}
	return bytes, bytes > 0
}
