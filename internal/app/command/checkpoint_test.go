package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/safetensors"
)

// positional are the entries of the state in the order of versions 2 and 3.
var positional = map[string]struct{ numbers, vectors []string }{
	"accelerated": {[]string{"sum", "lipschitz", "logsumexp", "spare", "upper", "gap", "tries", "chosen", "all"},
		[]string{"weights", "margins", "mean_b", "mean_mu", "rows"}},
	"pgd": {[]string{"eta", "mass", "upper"}, []string{"weights", "dual", "dual_start"}},
}

// earlier returns an encoded checkpoint as programs wrote it in version 2 or 3.
func earlier(t testing.TB, data []byte, version string) []byte {
	t.Helper()
	now := decoded(t, data)
	names := positional[now.Metadata["method"]]
	f := safetensors.File{Metadata: now.Metadata}
	f.Metadata["vectors"] = strconv.Itoa(len(names.vectors))
	numbers := safetensors.Tensor{Name: "numbers", DType: "F64", Shape: []int{len(names.numbers)}}
	for _, name := range names.numbers {
		x, _ := now.Tensor("scalar." + name)
		numbers.Data = append(numbers.Data, x.Data...)
	}
	for _, x := range now.Tensors {
		if strings.HasPrefix(x.Name, "finished.") {
			f.Tensors = append(f.Tensors, x)
		}
	}
	f.Tensors = append(f.Tensors, numbers)
	for k, name := range names.vectors {
		x, _ := now.Tensor("state." + name)
		x.Name = fmt.Sprintf("vector.%d", k)
		f.Tensors = append(f.Tensors, x)
	}
	return encodedAs(t, f, version)
}

func decoded(t testing.TB, data []byte) safetensors.File {
	t.Helper()
	f, err := safetensors.Decode(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// encodedAs encodes f with the given version, and from version 3 on with a checksum.
func encodedAs(t testing.TB, f safetensors.File, version string) []byte {
	t.Helper()
	var err error
	delete(f.Metadata, safetensors.ChecksumKey)
	if f.Metadata["version"] = version; version > "2" {
		f, err = f.WithChecksum()
	}
	var b bytes.Buffer
	if err == nil {
		err = safetensors.Encode(&b, f)
	}
	if err != nil {
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
	}{{damaged, path + " is damaged"}, {earlier(t, whole, "2"), path + " has no checksum"}} {
		if err := os.WriteFile(path, c.data, 0o666); err != nil {
			t.Fatal(err)
		}
		said, err := run(t.Context(), Fit{Resume: dir})
		if text := fmt.Sprintln(said, err); !strings.Contains(text, c.want) {
			t.Errorf("want %q, got %s", c.want, text)
		}
	}
}
