//go:build linux

package images

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A full disk is an error that says so, and once there is room the same call continues, wherever it ended.
func TestAPackingContinuesWhenAFullDiskHasRoom(t *testing.T) {
	disk := filepath.Join(t.TempDir(), "disk")
	must(t, os.Mkdir(disk, 0o777))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=32k"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	defer syscall.Unmount(disk, syscall.MNT_DETACH)
	dir := pictureFolder(t, 80)
	want := hashOfFile(t, pack(t, dir, smallPack).Path())
	often(t, 3)
	out := filepath.Join(disk, "out.pack")
	full, last := 0, 0
	for size := 4; ; size += 8 { // KiB: now the pictures do not fit, now the journal, now the index
		if size > 1000 {
			t.Fatal("it never fits")
		}
		must(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%dk", max(size, 12))))
		p := newPacker(t, dir, out, smallPack)
		if at, err := p.journal(); err == nil {
			if at.Next < last {
				t.Errorf("after %d pictures it is at %d", last, at.Next)
			}
			last = at.Next
		}
		r, err := p.Write(t.Context(), silent)
		if err == nil {
			r.Close()
			break
		}
		full++
		wantError(t, err, "no space left", "make room, then the same command continues")
		if _, err := os.Lstat(out); err == nil {
			t.Fatal("there is a file of the name")
		}
	}
	if hashOfFile(t, out) != want {
		t.Error("another file")
	}
	if full < 3 || last == 0 {
		t.Errorf("the disk was full %d times, and at most %d pictures were packed", full, last)
	}
}
