//go:build unix

package command

import "syscall"

// cpuSeconds is the CPU time that all threads of this process have used.
func cpuSeconds() (float64, bool) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, false
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, true
}
