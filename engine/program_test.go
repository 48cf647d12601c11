package engine

import (
	"errors"
	"reflect"
	"runtime/debug"
	"testing"
)

// loaded is how go-xla keeps what a plugin says of a program.
type loaded struct {
	OnDeviceMemoryUsageStats struct{ GeneratedCode, Inputs, Outputs, Aliases, Temporary int64 }
}

func TestWhatXLASaysOfAProgramIsRead(t *testing.T) {
	l := new(loaded)
	s := &l.OnDeviceMemoryUsageStats
	s.GeneratedCode, s.Inputs, s.Outputs, s.Aliases, s.Temporary = 1, 1000, 50, 40, 300
	if bytes, ok := xlaTemporary(reflect.ValueOf(&struct{ exec *loaded }{l})); bytes != 311 || !ok {
		t.Errorf("%d bytes, %v", bytes, ok)
	}
	for what, program := range map[string]any{
		"a plugin that says nothing": &struct{ exec *loaded }{new(loaded)},
		"none":                       &struct{ exec *loaded }{},
		"another go-xla":             &struct{ exec struct{ Stats int64 } }{},
		"one without exec":           &struct{ program *loaded }{l},
		"nothing":                    errors.New("no program"),
	} {
		if bytes, ok := xlaTemporary(reflect.ValueOf(program)); ok {
			t.Errorf("%s: %d bytes", what, bytes)
		}
	}
}

func TestTheMemoryOfAProcessIsAtMostWhatGoMayTake(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(100 << 20))
	if got := SystemMemory(); got != 100<<20 {
		t.Errorf("%d bytes", got)
	}
	e := &Engine{Name: CPU}
	if e.Memory() != 100<<20 || e.Room() != 50<<20 {
		t.Errorf("%d bytes, room for %d", e.Memory(), e.Room())
	}
}
