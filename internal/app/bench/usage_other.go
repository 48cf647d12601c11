//go:build !unix

package bench

import "time"

var started = time.Now()

// cpuSeconds is wall time where the system does not tell.
func cpuSeconds() float64 { return time.Since(started).Seconds() }

func peakMB() float64 { return 0 }
