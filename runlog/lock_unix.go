//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package runlog

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock locks the run folder for this process, until the file is closed or the process ends, in whatever way. On a file
// system without locks it locks nothing.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	for try := 0; ; {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK) && try < 5: // another process may only be testing the lock
			try++
			time.Sleep(10 * time.Millisecond)
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, &BusyError{dir}
		}
		return f, nil
	}
}

const hasLocks = true

// lockFile waits for the lock of an open file, which ends with the file or the process.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOLCK):
			return nil // a file system without locks
		}
		return err
	}
}

// locked reports whether a process holds the lock. To find out, it takes the lock for a moment.
func locked(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	}
	return errors.Is(err, syscall.EWOULDBLOCK)
}
