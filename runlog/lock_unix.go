//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package runlog

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lock takes the run folder for this process, until the file is closed or the process ends, however it does. A file system without locks
// gives none.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, &BusyError{dir}
		}
		return f, nil
	}
}
