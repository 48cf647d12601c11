//go:build cgo && linux

package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestXLAKeepsItsTuningOnlyWhereThePluginKnowsTheFlag(t *testing.T) {
	const flag = "xla_gpu_per_fusion_autotune_cache_dir"
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	noise := bytes.Repeat([]byte("x"), 1<<20)
	for name, at := range map[string]int{"front": 0, "middle": 1<<20 - 7, "across": 1<<20 + 30} {
		plugin := write(name, bytes.Join([][]byte{append(noise, noise...)[:at], []byte(flag), noise}, nil))
		t.Setenv("XLA_FLAGS", "--mine=1")
		rememberTuning(plugin)
		got := os.Getenv("XLA_FLAGS")
		if !strings.HasPrefix(got, "--mine=1 --"+flag+"="+dir) {
			t.Errorf("%s: %q", name, got)
		}
		rememberTuning(plugin)
		if os.Getenv("XLA_FLAGS") != got {
			t.Errorf("set twice: %q", os.Getenv("XLA_FLAGS"))
		}
	}
	t.Setenv("XLA_FLAGS", "")
	rememberTuning(write("old", noise))
	if got := os.Getenv("XLA_FLAGS"); got != "" {
		t.Errorf("an old plugin would end the process: %q", got)
	}
}
