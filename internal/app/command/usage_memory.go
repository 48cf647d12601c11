package command

import (
	"fmt"
	"os"
	"runtime/metrics"
)

// memoryBytes is the memory of this process: what is resident, on Linux; elsewhere what Go has got from the system.
func memoryBytes() float64 {
	if data, err := os.ReadFile("/proc/self/statm"); err == nil {
		var all, resident float64
		if n, _ := fmt.Sscan(string(data), &all, &resident); n == 2 {
			return resident * float64(os.Getpagesize())
		}
	}
	of := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(of)
	if of[0].Value.Kind() != metrics.KindUint64 || of[1].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return float64(of[0].Value.Uint64()) - float64(of[1].Value.Uint64())
}
