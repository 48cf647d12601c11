package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/runlog"
)

// pictures writes a folder of tiny pictures of three classes that differ in brightness.
func pictures(t *testing.T, dir string) {
	t.Helper()
	for class, level := range map[string]int{"dark": 40, "grey": 120, "light": 210} {
		folder := filepath.Join(dir, "pictures", class)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for k := range 40 {
			img := image.NewGray(image.Rect(0, 0, 12, 12))
			for i := range img.Pix {
				img.Pix[i] = uint8(level + (i*7+k*13)%40)
			}
			f, err := os.Create(filepath.Join(folder, fmt.Sprintf("%02d.png", k)))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(png.Encode(f, img), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTrainLearnsAndLeavesItsRunFolder(t *testing.T) {
	if raceDetector {
		t.Skip("GoMLX's engine in Go fails the pointer checks that come with the race detector")
	}
	dir := t.TempDir()
	pictures(t, dir)
	stdout, stderr, code := bregman(t, dir, strings.Fields("train --model cnn --data pictures --p 2,3 --epochs 8 "+
		"--batch 12 --lr 0.5 --engine cpu --json")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	var r struct {
		Engine string
		Runs   []struct {
			P    float64
			Test float64 `json:"test_accuracy"`
			Run  string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Runs) != 2 || r.Engine != "cpu" {
		t.Fatalf("%v in %s", err, stdout)
	}
	for _, run := range r.Runs {
		if run.Test < 0.6 {
			t.Errorf("p = %v: test accuracy %v", run.P, run.Test)
		}
		for _, f := range []string{"run.json", "metrics.jsonl", "weights.safetensors", "checkpoints/epoch-00008.safetensors",
			"report.html", "figures/epochs.png", "tables/epochs.csv"} {
			if st, err := os.Stat(filepath.Join(dir, run.Run, f)); err != nil || st.Size() == 0 {
				t.Errorf("%s: %v", f, err)
			}
		}
		if events, _ := filepath.Glob(filepath.Join(dir, run.Run, "events.out.tfevents.*")); len(events) != 1 {
			t.Errorf("event files %v", events)
		}
	}
}

// A run that is interrupted and resumed ends with the weights of one that was not, bit for bit.
func TestAnInterruptedTrainingResumesToTheSameWeights(t *testing.T) {
	if raceDetector {
		t.Skip("GoMLX's engine in Go fails the pointer checks that come with the race detector")
	}
	dir := t.TempDir()
	pictures(t, dir)
	const args = "train --model cnn --data pictures --p 3 --epochs 60 --batch 12 --lr 0.2 --momentum 0.5 --engine cpu " +
		"--json"
	weights := func(stdout string) []byte {
		var r struct{ Runs []struct{ Run string } }
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Runs) != 1 {
			t.Fatalf("%v in %s", err, stdout)
		}
		path := filepath.Join(r.Runs[0].Run, "weights.safetensors")
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	stdout, stderr, code := bregman(t, dir, append(strings.Fields(args), "--runs", "whole")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	want := weights(stdout)

	cmd := exec.CommandContext(t.Context(), program, append(strings.Fields(args), "--runs", "broken")...)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var runs []string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if runs, _ = filepath.Glob(filepath.Join(dir, "broken", "*", "metrics.jsonl")); len(runs) == 1 {
			if b, err := os.ReadFile(runs[0]); err == nil && bytes.Count(b, []byte("\n")) >= 5 {
				break
			}
		}
	}
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if len(runs) != 1 || cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("exit %d, runs %v", cmd.ProcessState.ExitCode(), runs)
	}
	run := filepath.Dir(runs[0])
	if info, err := runlog.ReadInfo(run); err != nil || info.Status != runlog.Interrupted {
		t.Fatalf("status %q, %v", info.Status, err)
	}
	stdout, stderr, code = bregman(t, dir, "train", "--engine", "cpu", "--json", "--resume", run)
	if code != 0 {
		t.Fatal(stderr)
	}
	if !bytes.Equal(weights(stdout), want) {
		t.Error("the resumed run ended with other weights")
	}
	lines := 0
	if err := runlog.ReadMetrics(run, func(json.RawMessage) error { lines++; return nil }); err != nil || lines != 60 {
		t.Errorf("%d epochs in the metrics, %v", lines, err)
	}
	if _, stderr, code = bregman(t, dir, "train", "--engine", "cpu", "--resume", run); code != 1 ||
		!strings.Contains(stderr, "is done") {
		t.Errorf("resuming a run that is done: exit %d, %s", code, stderr)
	}
}

// A limit on the size of files stands in for a full disk: the checkpoint does not fit.
func TestAFullDiskIsOneClearLineAndNoHalfWrittenFile(t *testing.T) {
	if raceDetector {
		t.Skip("GoMLX's engine in Go fails the pointer checks that come with the race detector")
	}
	dir := t.TempDir()
	pictures(t, dir)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "ulimit -f 4; exec "+program+
		" train --model cnn --data pictures --p 2 --epochs 2 --batch 12 --engine cpu")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Run()
	last := strings.TrimSpace(stderr.String())
	last = last[strings.LastIndexByte(last, '\n')+1:]
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(last, "file too large") ||
		strings.Contains(stderr.String(), "goroutine") {
		t.Errorf("exit %d, %s", cmd.ProcessState.ExitCode(), stderr.String())
	}
	left, _ := filepath.Glob(filepath.Join(dir, "runs", "*", "checkpoints", "*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, "runs", "*", "checkpoints", ".*"))
	if len(left)+len(hidden) != 0 {
		t.Errorf("half-written: %v %v", left, hidden)
	}
	runs, _ := filepath.Glob(filepath.Join(dir, "runs", "*"))
	if len(runs) != 1 {
		t.Fatalf("runs %v", runs)
	}
	if !strings.Contains(stderr.String(), "  bregman train --resume "+filepath.Join("runs", filepath.Base(runs[0]))+"\n") {
		t.Errorf("no command to resume it: %s", stderr.String())
	}
	if info, err := runlog.ReadInfo(runs[0]); err != nil || info.Status != runlog.Failed {
		t.Errorf("status %q, %v", info.Status, err)
	}
}

func TestTrainRefusesBadInputInOneLine(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	write(t, dir, "broken.npz", "PK not a zip")
	for args, want := range map[string]string{
		"--data nowhere": "nowhere", "--data broken.npz": "broken.npz",
		"--engine cuda": `no engine "cuda"`, "--batch 5000 --data pictures --model cnn --engine go": "training images",
		"--resume nowhere": "nowhere",
	} {
		_, stderr, code := bregman(t, dir, append([]string{"train"}, strings.Fields(args)...)...)
		if code != 1 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 ||
			strings.Contains(stderr, "goroutine") {
			t.Errorf("train %s: exit %d, %q", args, code, stderr)
		}
	}
	for args, want := range map[string]string{
		"--engine tpu": "choose auto", "--p 2,3,2": "2 is listed twice", "--lr 1e39": "--lr 1e+39",
		"--lr 1e-60": "--lr 1e-60", "--dual-decay inf": "--dual-decay", "--weight-decay 1e39": "--weight-decay",
		"--resume nowhere --p 7": "--p with --resume", "--resume nowhere --epochs 60": "--epochs with --resume",
	} {
		_, stderr, code := bregman(t, dir, append([]string{"train"}, strings.Fields(args)...)...)
		if code != 2 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("train %s: exit %d, %q", args, code, stderr)
		}
	}
}
