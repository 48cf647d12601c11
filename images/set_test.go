package images

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// pixels is the i-th image of the training or else of the test images.
func pixels(s *Set, i int, train bool) []byte {
	split, size := s.Test, s.size()
	if train {
		split = s.Train
	}
	return split.Images[i*size : (i+1)*size]
}

func TestMomentsArePerChannel(t *testing.T) {
	mean, dev := moments([]byte{0, 7, 255, 7, 0, 7, 255, 7}, 2)
	// exact: half the values 0, half 255; and a channel that never changes
	if mean[0] != 127.5 || dev[0] != 127.5 || mean[1] != 7 || dev[1] != 1 {
		t.Errorf("mean %v, deviation %v", mean, dev)
	}
	for _, v := range []byte{3, 7, 11, 77, 201} {
		pixels := make([]byte, 49)
		for i := range pixels {
			pixels[i] = v
		}
		if _, dev := moments(pixels, 1); dev[0] != 1 {
			t.Errorf("deviation of a constant %d is %v, want 1", v, dev[0])
		}
	}
}

func TestNamed(t *testing.T) {
	for _, i := range List() {
		if !Named(i.Name) || Named(i.Name+":test") {
			t.Errorf("%s", i.Name)
		}
	}
	if Named("") || Named("r100") {
		t.Error("a set that is not listed is named")
	}
}

func TestUnknownNamesListTheKnown(t *testing.T) {
	_, err := Load("imagenet", t.TempDir())
	wantError(t, err, "imagenet", "cifar10, fashion-mnist, fashion-sample", ".npz")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	wantError(t, Get(context.Background(), "imagenet", t.TempDir(), nil), "cifar10, fashion-mnist, fashion-sample")
	_, err = Load(write(t, []byte("x"), t.TempDir(), "notes.txt"), "")
	wantError(t, err, "notes.txt", "neither a folder of images nor an .npz")
	_, err = Load(filepath.Join(t.TempDir(), "gone.npz"), "")
	wantError(t, err, "gone.npz", "cannot read")
	_, err = Load("", "")
	wantError(t, err, "no such data set")
}

func TestDataDirFollowsTheEnvironment(t *testing.T) {
	t.Setenv("BREGMAN_DATA", "/somewhere")
	if DataDir() != "/somewhere" {
		t.Error(DataDir())
	}
	t.Setenv("BREGMAN_DATA", "")
	if filepath.Base(DataDir()) != "bregman" {
		t.Error(DataDir())
	}
}

func TestListNamesEverySet(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("BREGMAN_DATA", dir)
	list := List()
	for _, i := range list {
		if i.How == "" || i.Name == "fashion-mnist" && (!strings.Contains(i.How, "Debian") ||
			!strings.Contains(i.How, filepath.Join(dir, i.Name))) {
			t.Errorf("%s: how to get it: %q", i.Name, i.How)
		}
	}
	if len(list) != 3 {
		t.Fatalf("%d sets", len(list))
	}
	if c := list[0]; c.Name != "cifar10" || c.Here || c.Where != filepath.Join(dir, "cifar10") {
		t.Errorf("%+v", c)
	}
	if s := list[2]; s.Name != "fashion-sample" || !s.Here {
		t.Errorf("%+v", s)
	}
	must(t, Get(context.Background(), "fashion-sample", "", nil))
}

func TestHashSeesEveryByte(t *testing.T) {
	seen := map[string]bool{}
	for _, change := range []func(*Set){
		func(*Set) {},
		func(s *Set) { s.Train.Images[3]++ },
		func(s *Set) { s.Test.Labels[0] = 1 },
		func(s *Set) { s.Height, s.Width = 1, 4 },
	} {
		s := &Set{Height: 2, Width: 2, Channels: 1, Classes: []string{"a", "b"},
			Train: Split{Images: make([]byte, 8), Labels: make([]uint8, 2)},
			Test:  Split{Images: make([]byte, 4), Labels: make([]uint8, 1)}}
		change(s)
		must(t, s.finish())
		if seen[s.Hash] {
			t.Errorf("hash %s twice", s.Hash)
		}
		seen[s.Hash] = true
	}
}

func TestFullDiskLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	err := install(context.Background(), dir, []output{
		{"a", func(w io.Writer) error { _, err := w.Write(make([]byte, 100)); return err }},
		{"b", func(w io.Writer) error {
			w.Write(make([]byte, 50))
			return &fs.PathError{Op: "write", Path: "b", Err: syscall.ENOSPC}
		}},
	})
	wantError(t, err, filepath.Join(dir, "b"), "cannot write: no space left on device")
	if left := list(t, dir); left != nil {
		t.Errorf("left %q", left)
	}
}
