package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Column 2 decides, and column 1 misleads: reading one file shifted against the other makes every label wrong.
const (
	fromZero = "1 1:1 2:2\n-1 1:1 2:-2\n1 1:-1 2:3\n-1 1:-1 2:-3\n"
	fromOne  = "1 2:1 3:2\n-1 2:1 3:-2\n1 2:-1 3:3\n-1 2:-1 3:-3\n"
)

func TestDataThatCountsFromZeroIsReadTheSameEverywhere(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "zero.svm", fromZero)
	write(t, dir, "one.svm", fromOne)
	write(t, dir, "with0.svm", "1 0:0 2:5\n-1 2:-5\n")
	write(t, dir, "wide.svm", "1 1:1 3:2\n-1 2:1\n")
	run := func(args string) (stdout, stderr string) {
		t.Helper()
		stdout, stderr, code := bregman(t, dir, strings.Fields(args)...)
		if code != 0 {
			t.Fatalf("%s: exit %d, %s", args, code, stderr)
		}
		return stdout, stderr
	}
	// fit: the same weights as the same data counted from 1, and the test file is read as the training file is
	run("fit --data one.svm --out one.json --runs=")
	stdout, _ := run("fit --data zero.svm --zero-based --test with0.svm --out zero.json")
	if weights(t, filepath.Join(dir, "one.json")) != weights(t, filepath.Join(dir, "zero.json")) {
		t.Error("other weights than those of the data counted from 1")
	}
	if !regexp.MustCompile(`(?m)^test +accuracy 100.00 %`).MatchString(stdout) {
		t.Errorf("the test file is read shifted: %s", stdout)
	}
	table := stdout[strings.Index(stdout, "feature"):]
	if !strings.Contains(table, "\n2 ") || strings.Contains(table, "\n3 ") {
		t.Errorf("features are not numbered as in the file: %s", table)
	}
	// the model stores it
	_, stderr := run("predict --model zero.json --data with0.svm --out l.txt")
	if !strings.Contains(stderr, "accuracy 100.00 %") {
		t.Errorf("predict: %s", stderr)
	}
	// and so does the run
	for f, want := range map[string]string{"run.json": `"zero_based": true`, "model.json": `"version":3`} {
		found, _ := filepath.Glob(filepath.Join(dir, "runs", "*", f))
		if len(found) != 1 {
			t.Fatalf("%s: %v", f, found)
		}
		if data, _ := os.ReadFile(found[0]); !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %s", f, want)
		}
	}
	// margin, path, data get and npy weights
	var a, b struct{ D, Margin float64 }
	for data, r := range map[string]any{"one.svm": &a, "zero.svm --zero-based": &b} {
		stdout, _ := run("margin --json --out w.npy --data " + data)
		if err := json.Unmarshal([]byte(stdout), r); err != nil {
			t.Fatal(err)
		}
		run("path --json --to 3 --runs= --data " + data)
	}
	if a != b || a.D != 3 {
		t.Errorf("margin: %v counted from 1, %v from 0", a, b)
	}
	run("margin --data zero.svm --zero-based --out w.npy")
	_, stderr = run("predict --model w.npy --zero-based --data with0.svm --out l.txt")
	if !strings.Contains(stderr, "accuracy 100.00 %") {
		t.Errorf("predict with npy weights: %s", stderr)
	}
	run("data get zero.svm --zero-based --out back.svm")
	if back, _ := os.ReadFile(filepath.Join(dir, "back.svm")); string(back) != fromOne {
		t.Errorf("data get wrote %q", back)
	}
	for _, c := range [][2]string{
		{"fit --data with0.svm --runs=",
			"with0.svm:1:3: index 0: indices start at 1: say --zero-based"},
		{"fit --data one.svm --test with0.svm --runs=",
			"with0.svm:1:3: index 0: indices start at 1: say --zero-based"},
		{"fit --data zero.svm --zero-based --test wide.svm --runs=",
			"wide.svm has 4 features (columns counted from 0), zero.svm has 3"},
		{"predict --model one.json --data with0.svm",
			"index 0, but one.json was fitted to columns counted from 1"},
		{"predict --model one.json --zero-based --data with0.svm",
			"one.json was fitted to columns counted from 1"},
		{"predict --model zero.json --data wide.svm",
			"wide.svm (columns counted from 0): the data has 4 features, the model 3"},
	} {
		args, want := c[0], c[1]
		_, stderr, code := bregman(t, dir, strings.Fields(args)...)
		if code != 1 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, want %q", args, code, stderr, want)
		}
	}
}

func TestDataInfoSaysWhatColumnsAreCountedFrom(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.svm", fromZero)
	write(t, dir, "a.csv", "a,label\n1,2\n3,4\n")
	for args, want := range map[string]string{"a.svm": "columns counted from 1",
		"a.svm --zero-based": "columns counted from 0 (--zero-based)", "a.svm --json": `"zero_based":false`,
		"a.svm --zero-based --json": `"zero_based":true`} {
		stdout, stderr, code := bregman(t, dir, append([]string{"data", "info"}, strings.Fields(args)...)...)
		if code != 0 || !strings.Contains(compact(stdout), compact(want)) {
			t.Errorf("%s: exit %d, %s, %s", args, code, stdout, stderr)
		}
	}
	stdout, _, code := bregman(t, dir, "data", "info", "a.csv", "--zero-based")
	if code != 0 || strings.Contains(stdout, "counted") {
		t.Errorf("a CSV has no indices: exit %d, %s", code, stdout)
	}
}

// compact drops spaces, which JSON may have or not.
func compact(s string) string { return strings.ReplaceAll(s, " ", "") }

// A model of data without indices takes svmlight text that counts from 0, if it is told so.
func TestAModelOfATableKeepsZeroBased(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "t.csv", "a,b,label\n1,2,1\n2,1,1\n-1,-2,0\n-2,-1,0\n")
	write(t, dir, "zero.svm", "1 0:3 1:3\n0 0:-3 1:-3\n")
	if _, stderr,
		code := bregman(t, dir, strings.Fields("fit --data t.csv --zero-based --out m.json --runs=")...); code != 0 {
		t.Fatal(stderr)
	}
	_, stderr, code := bregman(t, dir, strings.Fields("predict --model m.json --data zero.svm")...)
	if code != 0 || !strings.Contains(stderr, "accuracy 100.00 %") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
