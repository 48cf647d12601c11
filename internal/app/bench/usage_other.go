//go:build !unix

package bench

import "time"

var started = time.Now()

// cpuSeconds is wall time: the system does not report CPU time.
func cpuSeconds() float64 { return time.Since(started).Seconds() }

func peakMB() float64 { return 0 }
