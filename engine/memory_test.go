package engine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAsManyLanesAsTheMemoryAllows(t *testing.T) {
	for _, c := range []struct {
		megabytes float64
		share     string
		want      int
	}{
		{143_771, "", 3}, {81_920, "", 3}, {49_140, "", 2}, {24_564, "", 1}, {0, "", 1}, {143_771, "0.25", 2},
		{143_771, "0.05", 1}, {143_771, "much", 3},
	} {
		if got := lanes(c.megabytes, c.share); got != c.want {
			t.Errorf("%v MB, share %q: %d lanes, want %d", c.megabytes, c.share, got, c.want)
		}
	}
}

func TestTheMemoryIsThatOfTheFirstGPU(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if got := gpuMegabytes(); got != 0 {
		t.Errorf("without nvidia-smi: %v", got)
	}
	script := "#!/bin/sh\n[ \"$2\" = 3 ] && echo 24564 || echo '[N/A]'\n"
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := gpuMegabytes(); got != 0 {
		t.Errorf("an answer that is no number: %v", got)
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "3,1")
	if got := gpuMegabytes(); got != 24564 {
		t.Errorf("%v MB", got)
	}
	e := &Engine{Name: CUDA, memory: 0.25}
	if got := e.Memory(); got != 24564<<20/4 || e.Room() != got/2 {
		t.Errorf("an engine with a quarter may take %d bytes, and data %d", got, e.Room())
	}
}
