package linearmodel

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
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err == nil { // so that it ends where it was stopped
		text = bytes.Replace(text, []byte(`"steps": 1000000000`), []byte(`"steps": 1`), 1)
		err = os.WriteFile(filepath.Join(dir, "run.json"), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
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
