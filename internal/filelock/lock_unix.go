//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

// Package filelock tells a second process that a file is in use.
package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Try locks an open file until it is closed or the process ends, in whatever way. It reports false if another process
// holds the lock. On a file system without locks it locks nothing.
func Try(f *os.File) bool {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return !errors.Is(err, syscall.EWOULDBLOCK)
		}
	}
}
