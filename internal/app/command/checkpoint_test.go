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
)

func TestAFitSaysThatItsCheckpointIsDamaged(t *testing.T) {
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
	if err := os.WriteFile(path, damaged, 0o666); err != nil {
		t.Fatal(err)
	}
	said, err := run(t.Context(), Fit{Resume: dir})
	if text := fmt.Sprintln(said, err); !strings.Contains(text, path+" is damaged") {
		t.Error(text)
	}
}
