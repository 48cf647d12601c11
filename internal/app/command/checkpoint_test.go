package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/safetensors"
)

// without returns an encoded file with the checksum taken out and the version set, as older programs wrote it.
func without(t testing.TB, data []byte, version string) []byte {
	t.Helper()
	f, err := safetensors.Decode(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	delete(f.Metadata, safetensors.ChecksumKey)
	f.Metadata["version"] = version
	var b bytes.Buffer
	if err := safetensors.Encode(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAFitResumesFromACheckpointWithoutAChecksumAndSaysSo(t *testing.T) {
	run := func(ctx context.Context, f Fit) (string, error) {
		var out, said bytes.Buffer
		err := perform(ctx, &f, &out, &said)
		return said.String(), err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	runs := t.TempDir()
	long := Fit{Data: "r100", P: []float64{3}, Loss: "exp", Method: "pgd", LR: 1e-4, Steps: 1e9, Runs: runs}
	if _, err := run(ctx, long); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(runs, "*", "checkpoints", "fit.safetensors"))
	if len(found) != 1 {
		t.Fatalf("checkpoints %v", found)
	}
	path, dir := found[0], filepath.Dir(filepath.Dir(found[0]))
	edit(t, dir, func(info map[string]any) { // so that it ends where it was stopped
		info["settings"].(map[string]any)["steps"] = 1
	})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-1] ^= 1
	for _, c := range []struct {
		data []byte
		want string
	}{{damaged, path + " is damaged"}, {without(t, whole, "2"), path + " has no checksum"}} {
		if err := os.WriteFile(path, c.data, 0o666); err != nil {
			t.Fatal(err)
		}
		said, err := run(t.Context(), Fit{Resume: dir})
		if text := fmt.Sprintln(said, err); !strings.Contains(text, c.want) {
			t.Errorf("want %q, got %s", c.want, text)
		}
	}
}
