package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// inputs writes a folder with data, a model, start weights, and a run.
func inputs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "data.svm", separable)
	write(t, dir, "test.svm", separable)
	for _, args := range []string{"fit --data data.svm --out model.json --runs=",
		"fit --data data.svm --objective margin --out w.npy --runs=",
		"data get data.svm --out data.svm.gz", "fit --data data.svm --runs runs --top 0"} {
		if _, stderr, code := bregman(t, dir, strings.Fields(args)...); code != 0 {
			t.Fatalf("%s: exit %d, %s", args, code, stderr)
		}
	}
	runs, _ := filepath.Glob(filepath.Join(dir, "runs", "*"))
	if len(runs) != 1 {
		t.Fatalf("runs %v", runs)
	}
	if err := os.Rename(runs[0], filepath.Join(dir, "run")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents are the files below dir, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unchanged fails the test if a file below dir came, went or changed.
func unchanged(t *testing.T, what, dir string, before map[string]string) {
	t.Helper()
	after := contents(t, dir)
	for path, text := range before {
		if after[path] != text {
			t.Errorf("%s: %s has changed", what, path)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s: left %s behind", what, path)
		}
	}
}

func TestAnOutputNeverReplacesAnInput(t *testing.T) {
	dir := inputs(t)
	for link, to := range map[string]string{"soft.svm": "data.svm", "soft.json": "model.json"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "data.svm"), filepath.Join(dir, "hard.svm")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("w.npy", filepath.Join(dir, "data.npy")); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	for args, input := range map[string]string{
		"fit --data data.svm --out data.svm":                                 "--data data.svm",
		"fit --data data.svm --out ./soft.svm":                               "--data data.svm",
		"fit --data data.svm --out hard.svm":                                 "--data data.svm",
		"fit --data data.svm.gz --out data.svm.gz":                           "--data data.svm.gz",
		"fit --data data.svm --test test.svm --out test.svm":                 "--test test.svm",
		"fit --data data.svm --init w.npy --out data.npy":                    "--init w.npy",
		"predict --model model.json --data data.svm --out soft.svm":          "--data data.svm",
		"predict --model model.json --data data.svm --out soft.json":         "--model model.json",
		"predict --model model.json --data data.svm --json --out model.json": "--model model.json",
		"margin --data w.npy --out data.npy":                                 "--data w.npy",
		"data get data.svm --out hard.svm":                                   "data data.svm",
		"export run --to csv --out run/metrics.jsonl":                        "run run/metrics.jsonl",
		"report run --out run/run.json":                                      "run run/run.json",
		"report run --out run/metrics.jsonl":                                 "run run/metrics.jsonl",
		"report run --out run/model.json":                                    "run run/model.json",
	} {
		_, stderr, code := bregman(t, dir, strings.Fields(args)...)
		want := "would replace the input " + input + ": name another file\n"
		if code != 2 || !strings.HasSuffix(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, want 2 and %q\n%s", args, code, want, stderr)
		}
		unchanged(t, args, dir, before)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", program+" fit --data - --out data.svm < data.svm")
	cmd.Dir = dir
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 ||
		!strings.Contains(string(out), "would replace the input --data -") {
		t.Errorf("standard input: exit %d, %s", cmd.ProcessState.ExitCode(), out)
	}
	unchanged(t, "standard input", dir, before)
}

func TestOutputsAreTriedBeforeAnythingIsRead(t *testing.T) {
	dir := inputs(t)
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	places := map[string]string{"data.svm/x.npy": "data.svm is not a folder", "folder": "is a folder"}
	if os.Geteuid() != 0 { // root writes everywhere
		if err := os.Mkdir(filepath.Join(dir, "locked"), 0o555); err != nil {
			t.Fatal(err)
		}
		places["locked/x.npy"] = "the folder locked cannot be written: permission denied"
	}
	before := contents(t, dir)
	fail := func(args, want string) {
		t.Helper()
		_, stderr, code := bregman(t, dir, strings.Fields(args)...)
		if code == 0 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, want %q in one line\n%s", args, code, want, stderr)
		}
		unchanged(t, args, dir, before)
	}
	for _, args := range []string{ // what they would read is not there, and not what they complain of
		"fit --data missing.svm --objective margin", "predict --model missing.json --data missing.svm",
		"margin --data missing.svm",
		"data synth --rows 10 --cols 60", "export run --to npz",
		"report run", "bench margin --rows 2000 --cols 100 --rounds 1",
	} {
		for place, want := range places {
			if place == "folder" && strings.HasPrefix(args, "margin") {
				continue // not an npy file, which is reported first
			}
			fail(args+" --out "+place, want)
		}
	}
	fail("data get data.svm --out data.svm/x.svm", "data.svm is not a folder")
	for _, args := range []string{"fit --data missing.svm --runs data.svm/runs", "path --data missing.svm --runs data.svm",
		"train --data missing --runs data.svm", "report run --tables data.svm", "sweep bias --out data.svm",
		"reproduce cifar10 --runs data.svm"} {
		fail(args, "data.svm")
	}
	if _, stderr, code := bregman(t, dir, "data", "get", "data.svm", "--out", "new/folder/x.svm"); code != 0 {
		t.Errorf("a folder that can be made: exit %d, %s", code, stderr)
	}
}

func TestADeviceOrAPipeIsWrittenToAndNotReplaced(t *testing.T) {
	dir := inputs(t)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	text := make(chan string)
	go func() {
		data, _ := os.ReadFile(pipe)
		text <- string(data)
	}()
	_, stderr, code := bregman(t, dir, strings.Fields("predict --model model.json --data data.svm --out pipe")...)
	if st, err := os.Lstat(pipe); code != 0 || err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("exit %d, the pipe is %v\n%s", code, st.Mode(), stderr)
	}
	if got := <-text; got != "1\n1\n-1\n-1\n" {
		t.Errorf("the reader of the pipe got %q", got)
	}
}
