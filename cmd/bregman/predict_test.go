package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run folder predicts what its kind predicts: pictures, or a table.
func TestARunFolderPredicts(t *testing.T) {
	if raceDetector {
		t.Skip("GoMLX's engine in Go fails the pointer checks that come with the race detector")
	}
	dir := t.TempDir()
	pictures(t, dir)
	if _, stderr, code := bregman(t, dir, strings.Fields("train --data pictures --p 2 --epochs 3 --batch 12 --lr 0.5 "+
		"--engine cpu --no-study")...); code != 0 {
		t.Fatal(stderr)
	}
	all, err := filepath.Glob(filepath.Join(dir, "runs", "*"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	run := all[0]
	var stored, got struct {
		Accuracy     float64
		TestAccuracy float64 `json:"test_accuracy"`
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(run, "tables", "result.json"))), &stored); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := bregman(t, dir, "predict", "--run", run, "--data", "pictures:test", "--engine", "cpu",
		"--json")
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || got.Accuracy != stored.TestAccuracy {
		t.Errorf("exit %d, %v, accuracy %v, the run has %v, %s", code, err, got.Accuracy, stored.TestAccuracy, stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.png"), []byte("no"), 0o666); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code = bregman(t, dir, "predict", "--run", run, "--engine", "cpu", "pictures/dark/00.png",
		"broken.png")
	if code != 1 || !strings.Contains(stdout, "pictures/dark/00.png") || !strings.Contains(stderr,
		"broken.png: a text file, not a picture\nbregman: 1 picture of 2 could not be predicted\n") {
		t.Errorf("exit %d, %s, %s", code, stdout, stderr)
	}
	write(t, dir, "train.csv", "a,label\n1,yes\n-1,no\n2,yes\n-2,no\n1.5,yes\n-1.5,no\n3,yes\n-3,no\n2.5,yes\n-2.5,no\n")
	if _, stderr, code := bregman(t, dir, strings.Fields("fit --data train.csv --runs fits")...); code != 0 {
		t.Fatal(stderr)
	}
	if all, err = filepath.Glob(filepath.Join(dir, "fits", "*")); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	stdout, stderr, code = bregman(t, dir, "predict", "--run", all[0], "--data", "train.csv")
	if code != 0 || !strings.HasPrefix(stdout, "yes\nno\nyes\nno\n") {
		t.Errorf("exit %d, %s, %s", code, stdout, stderr)
	}
	for args, want := range map[string]string{"--data train.csv": "--run=RUN or --model=FILE",
		"--run runs --data x":              "runs is not a run folder",
		"--model m.json x.png":             "pictures need --run RUN",
		"--run " + run:                     "--data: name the data",
		"--run " + run + " --data x x":     "without --data",
		"--run " + run + " --data none":    "no such pictures",
		"--run " + run + " x.png --bias":   "it is for tables",
		"--model " + run + " --data x.csv": "say --run for a run folder"} {
		if _, stderr, code := bregman(t, dir, append([]string{"predict"}, strings.Fields(args)...)...); code == 0 ||
			!strings.Contains(stderr, want) {
			t.Errorf("predict %s: exit %d, %q, want %q", args, code, stderr, want)
		}
	}
}
