package linearmodel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/runlog"
)

func TestBuiltInDataHasTheHashOfItsFile(t *testing.T) {
	seen := map[string]string{}
	for _, spec := range []string{"r2", "r2:2", "r2var", "r100", "r100:7"} {
		set, err := dataset.Open(t.Context(), spec, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "a.svm")
		if err := perform(t.Context(), &command.DataGet{Data: spec, Out: file}, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(file)
		sum := sha256.Sum256(text)
		if want := "sha256:" + hex.EncodeToString(sum[:]); set.Hash != want || seen[want] != "" {
			t.Errorf("%s has the hash %s, want that of its file, %s, and of no other set %q", spec, set.Hash, want, seen[want])
		}
		seen[set.Hash] = spec
	}
}

// Runs of built-in data had no hash in earlier versions.
func TestAnOldRunOfBuiltInDataIsResumed(t *testing.T) {
	runs := t.TempDir()
	fit := Fit{Data: "r2", P: []float64{2}, Loss: "exp", Method: "auto", Init: "zero", Steps: 1000, Seed: 1,
		Runs: runs}
	if err := perform(t.Context(), &fit, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(runs, "*"))
	info, err := runlog.ReadInfo(found[0])
	if err != nil || info.DataHash == "" {
		t.Fatalf("%+v, %v", info, err)
	}
	for hash, ok := range map[string]bool{"": true, "sha256:0": false} {
		info.DataHash, info.Status = hash, runlog.Running
		data, err := json.Marshal(info)
		if err == nil {
			err = os.WriteFile(filepath.Join(found[0], "run.json"), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := perform(t.Context(), &Fit{Resume: found[0]}, io.Discard, io.Discard); (err == nil) != ok {
			t.Errorf("a run whose data has the hash %q: %v", hash, err)
		}
	}
}
