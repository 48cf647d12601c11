package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/runlog"
)

// limited runs the program with a limit on the size of files, in KiB, which stands in for a full disk, and returns its
// one run folder.
func limited(t *testing.T, dir string, limit int, args string) (run, stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf("ulimit -f %d; exec %s %s", limit, program, args))
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run()
	runs, _ := filepath.Glob(filepath.Join(dir, "runs", "*"))
	if len(runs) != 1 {
		t.Fatalf("runs %v\n%s", runs, errs.String())
	}
	return runs[0], out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// warned fails the test unless run.json has this status and warnings that begin with these names, and no others.
func warned(t *testing.T, run, status string, names ...string) {
	t.Helper()
	info, err := runlog.ReadInfo(run)
	if err != nil || info.Status != status || len(info.Warnings) != len(names) {
		t.Fatalf("%+v, %v", info, err)
	}
	for k, name := range names {
		if !strings.HasPrefix(info.Warnings[k], name+" could not be written: file too large") {
			t.Errorf("warning %d is %q", k, info.Warnings[k])
		}
	}
}

func TestAFullDiskCostsFilesNotTheFit(t *testing.T) {
	dir := t.TempDir()
	run, stdout, stderr, code := limited(t, dir, 8, "fit --data r100 --p 3 --steps 100000 --lr 1e-4")
	if code != 0 || !strings.Contains(stdout, "margin ") || strings.Contains(stderr, "resume") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	warned(t, run, runlog.Done, "metrics.jsonl")
	if n := strings.Count(stderr, "metrics.jsonl could not be written: file too large; the run continues\n"); n != 1 {
		t.Errorf("metrics.jsonl is told of %d times:\n%s", n, stderr)
	}
	if n := strings.Count(stderr, "file too large: its page is incomplete; bregman report "); n != 1 {
		t.Errorf("the page is told of %d times:\n%s", n, stderr)
	}
	for _, name := range []string{"model.json", "tables/result.json", "tables/trace.csv"} {
		if _, err := os.Stat(filepath.Join(run, name)); err != nil {
			t.Error(err)
		}
	}
	lines := 0
	if err := runlog.ReadMetrics(run, func(json.RawMessage) error { lines++; return nil }); err != nil || lines < 10 {
		t.Errorf("%d lines of metrics, %v", lines, err)
	}
	stdout, _, code = bregman(t, dir, "report", run, "--out", "-")
	if code != 0 || !strings.Contains(stdout, "metrics.jsonl could not be written") {
		t.Errorf("the report does not say what is lost: exit %d", code)
	}
}

func TestAModelThatCannotBeWrittenIsAnErrorAfterTheResult(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "wide.svm", "1 1:1 9000:1\n-1 1:-1 9000:2\n") // its model has nine thousand weights
	run, stdout, stderr, code := limited(t, dir, 8, "fit --data wide.svm --objective margin --bias")
	resume := "resume with: bregman fit --resume " + filepath.Join("runs", filepath.Base(run)) + "\n"
	if code != 1 || !strings.Contains(stdout, "margin ") || !strings.Contains(stderr, resume) {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	if info, err := runlog.ReadInfo(run); err != nil || info.Status != runlog.Failed {
		t.Errorf("status %q, %v", info.Status, err)
	}
	if _, stderr, code := bregman(t, dir, "fit", "--resume", run); code != 0 {
		t.Errorf("resumed: exit %d, %s", code, stderr)
	}
	warned(t, run, runlog.Done)
}

func TestAFullDiskCostsCheckpointsNotTheTraining(t *testing.T) {
	if raceDetector {
		t.Skip("GoMLX's engine in Go fails the pointer checks that come with the race detector")
	}
	dir := t.TempDir()
	pictures(t, dir)
	const args = "train --model cnn --data pictures --p 2 --epochs 2 --batch 12 --lr 0.5 --engine cpu --no-study"
	if _, stderr, code := bregman(t, dir, append(strings.Fields(args), "--runs", "roomy")...); code != 0 {
		t.Fatal(stderr)
	}
	size := func(pattern string) int64 {
		all, _ := filepath.Glob(filepath.Join(dir, pattern))
		st, err := os.Stat(slices.Max(all))
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	limit := int(size("roomy/*/weights.safetensors")/1024 + 1)
	if size("roomy/*/checkpoints/*") <= int64(limit)*1024 {
		t.Fatal("no limit lets weights pass and no checkpoint")
	}
	run, stdout, stderr, code := limited(t, dir, limit, args)
	if code != 0 || strings.Contains(stdout, "failed") || strings.Count(stderr, "the run continues") != 1 {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	warned(t, run, runlog.Done, "checkpoints/epoch-00001.safetensors")
	for _, name := range []string{"weights.safetensors", "report.html", "tables/result.json"} {
		if _, err := os.Stat(filepath.Join(run, name)); err != nil {
			t.Error(err)
		}
	}
}
