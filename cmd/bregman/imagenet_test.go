package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/runlog"
)

// The whole of `reproduce imagenet` on a small packed file: killed and resumed, it ends with the tables of one that
// nothing happened to.
func TestAKilledReproductionOfImageNetResumes(t *testing.T) {
	if raceDetector {
		t.Skip("GoMLX's engine in Go fails the pointer checks that come with the race detector")
	}
	dir := packedPhotographs(t, 300, 48)
	args := strings.Fields("reproduce imagenet --data x.pack --models cnn --p 2,3 --epochs 12 --batch 16 --lr 0.2 " +
		"--weight-decay 1e-3 --resolution 32 --test-resolution 32 --feed streamed --engine cpu --json --runs")
	stdout, stderr, code := bregman(t, dir, append(args, "whole")...)
	if code != 0 || !strings.Contains(stderr, "x.pack is not ImageNet (270 + 30 pictures, 3 classes)") ||
		!strings.Contains(stderr, "imagenet: 3 runs of train, 1 trial each") {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	var r struct {
		Run        string
		Runs       int
		Groups     []struct{ Rows []map[string]any }
		Statements []struct{ Model, Statement, Measured, Verdict string }
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.Runs != 3 || len(r.Groups) != 2 ||
		len(r.Groups[0].Rows) != 2 || len(r.Groups[1].Rows) != 1 || r.Groups[0].Rows[0]["paper"] != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	verdicts := map[string]string{}
	for _, s := range r.Statements {
		verdicts[s.Statement] = s.Verdict
	}
	if len(verdicts) != 3 || verdicts["p = 3 is the most accurate"] != "too few runs" ||
		verdicts["without weight decay, p = 2 loses around 3 points"] != "too few runs" {
		t.Errorf("statements %+v", r.Statements)
	}
	whole := filepath.Join(dir, r.Run)
	page := read(t, filepath.Join(whole, "report.html"))
	for text, has := range map[string]bool{"x.pack": true, "one run": true, "too few runs": true,
		"the paper, 120 epochs": false, "67.67": false, "12 epochs here, 120 in the paper": true, "blur pools": true} {
		if strings.Contains(page, text) != has {
			t.Errorf("%q in the page: %v, want %v", text, !has, has)
		}
	}

	logs, _ := filepath.Glob(filepath.Join(whole, "trials", "*", "log.txt"))
	if len(logs) != 3 || !strings.Contains(read(t, logs[0])+read(t, logs[1])+read(t, logs[2]), "are read from ") {
		t.Errorf("--feed streamed: logs %q", logs)
	}

	cmd, _ := begin(t, dir, program, append(args, "broken")...)
	waitFor(t, "a run after the first", func() bool {
		trials, _ := filepath.Glob(filepath.Join(dir, "broken", "*", "trials", "*"))
		work, _ := filepath.Glob(filepath.Join(dir, "broken", "*", "work", "*", "run", "metrics.jsonl"))
		if len(trials) < 1 || len(work) != 1 {
			return false
		}
		b, err := os.ReadFile(work[0])
		return err == nil && bytes.Count(b, []byte("\n")) >= 3
	})
	cmd.Process.Kill()
	if cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("%v before it was killed", cmd.ProcessState)
	}
	broken, _ := filepath.Glob(filepath.Join(dir, "broken", "*"))
	if len(broken) != 1 {
		t.Fatal(broken)
	}
	if _, stderr, code := bregman(t, dir, "reproduce", "imagenet", "--engine", "cpu", "--resume", broken[0]); code != 0 {
		t.Fatal(stderr)
	}
	if info, err := runlog.ReadInfo(broken[0]); err != nil || info.Status != runlog.Done {
		t.Errorf("status %q, %v", info.Status, err)
	}
	tables, _ := filepath.Glob(filepath.Join(whole, "tables", "*.csv"))
	if len(tables) < 10 {
		t.Errorf("tables %v", tables)
	}
	for _, path := range tables {
		got := read(t, filepath.Join(broken[0], "tables", filepath.Base(path)))
		if want := read(t, path); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", filepath.Base(path), got, want)
		}
	}
	if _, stderr, code := bregman(t, dir, "reproduce", "cifar10", "--resume", broken[0]); code != 1 ||
		!strings.Contains(stderr, "not a folder of \"bregman reproduce cifar10\"") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestReproduceImageNetRefusesBadInputInOneLine(t *testing.T) {
	dir := packedPhotographs(t, 60, 40)
	cut := read(t, filepath.Join(dir, "x.pack"))
	write(t, dir, "cut.pack", cut[:len(cut)-100])
	write(t, dir, "run.json", `{"command": "fit"}`)
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"", "--data: name the packed pictures", 2},
		{"--data nowhere", "nowhere: cannot read: no such file", 1},
		{"--data photos", "--data photos: not a packed file", 1},
		{"--data cut.pack", "damaged", 1},
		{"--data x.pack", "--batch 1024: x.pack has 54 training images", 1},
		{"--data x.pack --models alexnet", "choose airbench, cnn", 2},
		{"--data x.pack --p 1", "above 1", 2},
		{"--data x.pack --epochs 0", "--epochs 0", 2},
		{"--data x.pack --resolution 100-200", "--resolution 100-200: want multiples of 32", 2},
		{"--data x.pack --test-resolution 5000", "--test-resolution 5000", 2},
		{"--data x.pack --p 3,6 --weight-decay 5e-5", "--weight-decay adds runs of p = 2", 2},
		{"--data x.pack --weight-decay=-1", "--weight-decay -1", 2},
		{"--data x.pack --lr 0.5,0.5", "0.5 is listed twice", 2},
		{"--data x.pack --feed disk", "choose auto, resident or streamed", 2},
		{"--resume nowhere", "nowhere", 1},
		{"--resume .", `a run of "fit"`, 1},
		{"--resume . --p 7", "--p with --resume", 2},
	} {
		_, stderr, code := bregman(t, dir, append([]string{"reproduce", "imagenet"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 ||
			strings.Contains(stderr, "goroutine") {
			t.Errorf("reproduce imagenet %s: exit %d, want %d and %q\n%s", c.args, code, c.code, c.want, stderr)
		}
	}
	// --dry-run writes nothing.
	_, stderr, code := bregman(t, dir, strings.Fields("reproduce imagenet --data x.pack --batch 16 --dry-run "+
		"--engine cpu")...)
	if code != 0 || !strings.Contains(stderr, "imagenet: 12 runs of train") ||
		!strings.Contains(stderr, "--model resnet18-imagenet --data ") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "runs")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
