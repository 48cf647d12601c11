package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMarginPrintsCertifiedMargins(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.svm", separable)
	stdout, stderr, code := bregman(t, dir, strings.Fields("margin --data good.svm --p 1.5 --json --out w.npy")...)
	var r map[string]any
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 {
		t.Fatalf("exit %d, %v, %s", code, err, stderr)
	}
	for _, key := range []string{"p", "n", "d", "margin", "norm", "lower", "upper", "gap", "iterations", "seconds"} {
		if _, ok := r[key].(float64); !ok {
			t.Errorf("%s is %v", key, r[key])
		}
	}
	if r["lower"].(float64) > r["upper"].(float64) || math.Abs(r["margin"].(float64)*r["norm"].(float64)-1) > 1e-12 ||
		r["gap"].(float64) > 1e-9 {
		t.Errorf("result %v", r)
	}
	// the weights have margin 1: they classify, and go back in as a start
	if out, _, code := bregman(t, dir, strings.Fields("predict --model w.npy --data good.svm")...); code != 0 ||
		out != "1\n1\n-1\n-1\n" {
		t.Errorf("the weights predict %q", out)
	}
	stdout, _, code = bregman(t, dir, strings.Fields("margin --data r100 --p 1,1.1,2,10,Inf --support")...)
	if code != 0 || strings.Count(stdout, "Support vectors") != 5 {
		t.Errorf("exit %d, %s", code, stdout)
	}
	if stdout, _, code = bregman(t, dir, strings.Fields("margin --data r100 --p 2,Inf --json")...); code != 0 ||
		!json.Valid([]byte(stdout)) {
		t.Errorf("exit %d, %s", code, stdout)
	}
	write(t, dir, "xor.csv", "a,b,label\n0,0,0\n1,1,0\n0,1,1\n1,0,1\n")
	write(t, dir, "three.csv", "a,label\n0,0\n1,1\n0,2\n")
	for args, want := range map[string]string{
		"--data xor.csv": "not separable", "--data xor.csv --bias": "not separable", "--data three.csv": "not separable",
	} {
		stdout, stderr, code := bregman(t, dir, append([]string{"margin"}, strings.Fields(args)...)...)
		if code != 1 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("margin %s: exit %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

func TestPathAndVerifyLeaveReports(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"path --data r100 --p 1.5,3 --loss logistic": "max margin",
		"verify --p 2 --seeds 1":                     "0 fail",
	} {
		stdout, stderr, code := bregman(t, dir, strings.Fields(args)...)
		if code != 0 || !strings.Contains(stdout, want) {
			t.Fatalf("%s: exit %d, %s, %s", args, code, stdout, stderr)
		}
		_, report, _ := strings.Cut(stdout, "Report: ")
		if html, err := os.ReadFile(filepath.Join(dir, strings.TrimSpace(report))); err != nil || len(html) < 2000 {
			t.Errorf("%s: %d bytes, %v", args, len(html), err)
		}
	}
}

func TestDoctorSaysWhatIsThereAndWhatIsNot(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "pjrt_cpu.so", "not a library")
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", dir)
	stdout, stderr, code := bregman(t, dir, "doctor")
	for _, want := range []string{"cuda", "built in", "resnet18", "11.2 M parameters"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, no %q in %s, %s", code, want, stdout, stderr)
		}
	}
	if !strings.Contains(stdout, "built without cgo") { // a plugin that was found may still not start
		if !strings.Contains(stdout, "xla-cpu   found, not tried   "+dir) {
			t.Errorf("doctor: %s", stdout)
		}
		if stdout, _, code = bregman(t, dir, "doctor", "--try"); code != 0 || strings.Contains(stdout, "not tried") ||
			!strings.Contains(stdout, "does not start: ") {
			t.Errorf("doctor --try: exit %d, %s", code, stdout)
		}
	}
	if stdout, _, code = bregman(t, t.TempDir(), "doctor", "--json"); code != 0 || !json.Valid([]byte(stdout)) {
		t.Errorf("--json: exit %d, %s", code, stdout)
	}
}

func TestBuiltInDataCanBeListedDescribedAndWritten(t *testing.T) {
	dir := t.TempDir()
	if out, _, code := bregman(t, dir, "data", "list"); code != 0 || !strings.Contains(out, "r100") {
		t.Errorf("list: %d, %s", code, out)
	}
	t.Setenv("BREGMAN_DATA", dir)
	if out, _, code := bregman(t, dir, "data", "list"); code != 0 ||
		!strings.Contains(out, "not here: bregman data get cifar10") || strings.Contains(out, "data get fashion-mnist") {
		t.Errorf("list: %d, %s", code, out)
	}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"data info fashion-sample", "ankle boot", 0}, {"data info fashion-sample --json", `"train": 3800`, 0},
		{"data get nosuch", "nosuch: no such data set or file", 1}, {"data info nosuch", "no such file", 1},
		{"data get r100", "--out: name the svmlight file", 2}, {"data get fashion-sample:test:4,99 --out y.svm",
			"is not a class", 1},
		{"data get r100 --out y.svm --data-dir z", "--data-dir is for images", 2}, {"data get fashion-sample --data-dir z",
			"built in", 0},
		{"--help", "linear models and networks", 0}, {"data get --help", "Fetch a set of images", 0},
	} {
		out, stderr, code := bregman(t, dir, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+stderr, c.want) {
			t.Errorf("%s: exit %d, want %d and %q, %s, %s", c.args, code, c.code, c.want, out, stderr)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	pictures(t, dir)
	if out, stderr, code := bregman(t, dir, "data", "info", "pictures"); code != 0 ||
		!strings.Contains(out, "108 training and 12 test images of 12×12×1 bytes") {
		t.Errorf("info of a folder: %d, %s, %s", code, out, stderr)
	}
	if _, stderr,
		code := bregman(t, dir, strings.Fields("data get fashion-sample:test:4,6 --out pixels.svm")...); code != 0 {
		t.Errorf("pixels: %s", stderr)
	}
	if out, stderr, code := bregman(t, dir, "data", "info", "pixels.svm"); code != 0 ||
		!strings.Contains(out, "examples × 784 features") {
		t.Errorf("info of pixels: %d, %s, %s", code, out, stderr)
	}
	if _, stderr, code := bregman(t, dir, strings.Fields("data get r100:4 --out x.svm")...); code != 0 {
		t.Fatal(stderr)
	}
	a, _, _ := bregman(t, dir, strings.Fields("fit --data r100:4 --steps 500 --json --runs=")...)
	b, _, _ := bregman(t, dir, strings.Fields("fit --data x.svm --steps 500 --json --runs=")...)
	margin := func(s string) any {
		var r map[string]any
		json.Unmarshal([]byte(s), &r)
		return r["loss"]
	}
	if margin(a) != margin(b) || margin(a) == nil {
		t.Errorf("built-in and written set differ: %s, %s", a, b)
	}
	out, _, code := bregman(t, dir, "data", "info", "x.svm")
	if code != 0 || !strings.Contains(out, "15 examples") || !strings.Contains(out, "absorbed") {
		t.Errorf("info: %d, %s", code, out)
	}
}
