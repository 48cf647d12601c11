//go:build darwin || freebsd || linux

package command

import "golang.org/x/sys/unix"

// FreeBytes is the free space of the disk that holds dir.
func FreeBytes(dir string) (uint64, bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, false
	}
	return uint64(st.Bavail) * uint64(st.Bsize), true
}
