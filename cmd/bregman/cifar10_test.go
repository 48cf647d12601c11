package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/runlog"
)

// The whole of `reproduce cifar10` on the built-in images: two p, two trials, one epoch.
func TestReproduceCifar10OnTheBuiltInImages(t *testing.T) {
	if raceDetector || testing.Short() {
		t.Skip("trains for half a minute, on GoMLX's engine in Go, which fails the pointer checks that come with the " +
			"race detector")
	}
	dir := t.TempDir()
	stdout, stderr, code := bregman(t, dir, strings.Fields("reproduce cifar10 --models cnn --data fashion-sample --p "+
		"2,3 --trials 2 --epochs 1 --batch 50 --lr 0.5 --engine cpu --json")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	var r struct {
		Run    string
		Runs   int
		Groups []struct {
			Model string
			Rows  []struct {
				P         float64
				Test      float64 `json:"test_accuracy"`
				Deviation *float64
				Trials    int
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.Runs != 4 || len(r.Groups) != 1 ||
		len(r.Groups[0].Rows) != 2 {
		t.Fatalf("%v in %s", err, stdout)
	}
	for _, row := range r.Groups[0].Rows {
		if row.Test < 20 || row.Deviation == nil || row.Trials != 2 { // a tenth is chance
			t.Errorf("%+v", row)
		}
	}
	run := filepath.Join(dir, r.Run)
	for _, f := range []string{"report.html", "tables/cnn_accuracy.csv", "tables/cnn_order.csv", "tables/cnn_weights.csv",
		"tables/cnn_histograms.csv", "tables/cnn_pruning.csv", "tables/cnn_pruning_all.csv",
		"tables/cnn_rounding.csv", "tables/cnn_margins.csv", "tables/cnn_margins_product.csv", "tables/cnn_pairs.csv",
		"figures/cnn_weights.png", "figures/cnn_weights_scaled.svg", "figures/cnn_pruning.png", "figures/accuracy.png",
		"trials/p3-s2-*/report.html", "trials/p3-s2-*/tables/layers.csv"} {
		if found, _ := filepath.Glob(filepath.Join(run, f)); len(found) != 1 {
			t.Errorf("%s: %d", f, len(found))
		} else if st, err := os.Stat(found[0]); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(run, "trials", "*", "checkpoints")); len(left) != 0 {
		t.Errorf("checkpoints of runs that are done: %v", left)
	}
	first, _ := filepath.Glob(filepath.Join(run, "trials", "p3-s1-*"))
	study, err := command.ReadStudy(first[0])
	if err != nil || study.Margins.Examples != 3800 || len(study.Layers) != 4 || study.P != 3 {
		t.Errorf("study %+v, %v", study, err)
	}
	lines := 0
	if err := runlog.ReadMetrics(run, func(json.RawMessage) error { lines++; return nil }); err != nil || lines != 4 {
		t.Errorf("%d runs in the metrics, %v", lines, err)
	}
	// The same again has nothing to do but write.
	if err := os.Remove(filepath.Join(run, "report.html")); err != nil {
		t.Fatal(err)
	}
	again, stderr, code := bregman(t, dir, "reproduce", "cifar10", "--engine", "cpu", "--json", "--resume", r.Run)
	if code != 0 || again != stdout || strings.Contains(stderr, "compiling") {
		t.Errorf("exit %d, %s\n%s", code, again, stderr)
	}
	if _, err := os.Stat(filepath.Join(run, "report.html")); err != nil {
		t.Error(err)
	}
	// It is also a sweep.
	status, stderr, code := bregman(t, dir, "sweep", "status", r.Run)
	if code != 0 || !strings.Contains(status, ": done, 4 of 4 done, 0 running, 0 queued, 0 failed") {
		t.Errorf("exit %d, %s\n%s", code, status, stderr)
	}
	again, stderr, code = bregman(t, dir, "sweep", "resume", r.Run, "--json")
	if code != 0 || again != stdout {
		t.Errorf("exit %d, %s\n%s", code, again, stderr)
	}
}

// Interrupted in one run, killed in another: every table is that of an uninterrupted reproduction.
func TestABrokenReproductionEndsWithTheSameTables(t *testing.T) {
	if raceDetector {
		t.Skip("GoMLX's engine in Go fails the pointer checks that come with the race detector")
	}
	dir := t.TempDir()
	pictures(t, dir)
	args := strings.Fields("reproduce cifar10 --models cnn --data pictures --p 2,3 --trials 2 --epochs 12 --batch 12 " +
		"--lr 0.3,auto --weight-decay 1e-3 --engine cpu --runs")
	_, stderr, code := bregman(t, dir, append(args, "whole")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	whole, _ := filepath.Glob(filepath.Join(dir, "whole", "*"))
	logs, _ := filepath.Glob(filepath.Join(dir, "whole", "*", "trials", "*", "log.txt"))
	compiled := 0
	for _, path := range logs {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		compiled += bytes.Count(b, []byte("compiling"))
	}
	if len(logs) != 12 || compiled != 2 { // both learning rates on one step, the decay on another
		t.Errorf("compiled %d times for %d runs", compiled, len(logs))
	}

	// stop ends the command once so many runs are done and the next has finished a few epochs.
	stop := func(done int, sig os.Signal, command ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, command...)
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
			trials, _ := filepath.Glob(filepath.Join(dir, "broken", "*", "trials", "*"))
			if found, _ := filepath.Glob(filepath.Join(dir, "broken", "*", "work", "*", "run",
				"metrics.jsonl")); len(found) == 1 && len(trials) >= done {
				if b, err := os.ReadFile(found[0]); err == nil && bytes.Count(b, []byte("\n")) >= 3 {
					break
				}
			}
		}
		cmd.Process.Signal(sig)
		cmd.Wait()
		if cmd.ProcessState.Success() {
			t.Fatalf("the command was not stopped: %s", stderr.String())
		}
	}
	stop(1, syscall.SIGINT, append(args, "broken")...)
	broken, _ := filepath.Glob(filepath.Join(dir, "broken", "*"))
	if len(whole) != 1 || len(broken) != 1 {
		t.Fatal(whole, broken)
	}
	running, _ := filepath.Glob(filepath.Join(broken[0], "work", "*", "run"))
	if len(running) != 1 {
		t.Fatalf("running: %q", running)
	}
	if info, err := runlog.ReadInfo(running[0]); err != nil || info.Status != runlog.Interrupted {
		t.Fatalf("status %q, %v", info.Status, err)
	}
	goOn := []string{"reproduce", "cifar10", "--engine", "cpu", "--resume", broken[0]}
	stop(6, syscall.SIGKILL, goOn...)
	_, stderr, code = bregman(t, dir, goOn...)
	if code != 0 {
		t.Fatal(stderr)
	}
	if info, err := runlog.ReadInfo(broken[0]); err != nil || info.Status != runlog.Done {
		t.Errorf("status %q, %v", info.Status, err)
	}
	tables, _ := filepath.Glob(filepath.Join(whole[0], "tables", "*.csv"))
	if len(tables) != 3*15+2 { // and the statements
		t.Errorf("%d tables: %v", len(tables), tables)
	}
	for _, path := range tables {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(broken[0], "tables", filepath.Base(path)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", filepath.Base(path), err, got, want)
		}
	}
}

func TestReproduceCifar10RefusesBadInputInOneLine(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "run.json", `{"command": "fit"}`)
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"--models alexnet", "choose airbench, cnn", 2}, {"--models cnn,cnn", "twice", 2}, {"--p 1", "above 1", 2},
		{"--trials 0", "trials = 0: want at least 1", 2}, {"--data nowhere --engine go", "nowhere", 1},
		{"--adaptive 2", "--adaptive 2", 2}, {"--unit inch", "choose one or init", 2}, {"--resume nowhere", "nowhere", 1},
		{"--resume .", `a run of "fit"`, 1}, {"--lr=-1", "--lr -1", 2}, {"--engine tpu", "choose auto", 2},
		{"--resume . --p 7", "--p with --resume", 2},
	} {
		_, stderr, code := bregman(t, dir, append([]string{"reproduce", "cifar10"}, strings.Fields(c.args)...)...)
		_, said, _ := strings.Cut("\n"+stderr, "\nbregman: ") // after the plan, if there is one
		if code != c.code || !strings.Contains(said, c.want) || strings.Count(said, "\n") != 1 ||
			strings.Contains(stderr, "goroutine") {
			t.Errorf("reproduce cifar10 %s: exit %d, %q", c.args, code, stderr)
		}
	}
}

// --init accepts the weights.safetensors of a run, and --lr auto writes its curve.
func TestTrainGoesOnFromWeightsAndChoosesItsLearningRate(t *testing.T) {
	if raceDetector {
		t.Skip("GoMLX's engine in Go fails the pointer checks that come with the race detector")
	}
	dir := t.TempDir()
	pictures(t, dir)
	type result struct {
		P, LR float64
		Test  float64 `json:"test_accuracy"`
		Loss  float64 `json:"test_loss"`
		Run   string
	}
	run := func(args string) []result {
		t.Helper()
		stdout, stderr, code := bregman(t, dir, append(strings.Fields("train --model cnn --data pictures --batch 12 "+
			"--engine cpu --json"), strings.Fields(args)...)...)
		var r struct{ Runs []result }
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || len(r.Runs) == 0 {
			t.Fatalf("exit %d, %v: %s", code, err, stderr)
		}
		return r.Runs
	}
	for _, r := range run("--p 1.5,3 --epochs 10 --lr auto") {
		if !(r.LR > 0) || r.Test < 0.6 {
			t.Errorf("p = %v: learning rate %v, test accuracy %v", r.P, r.LR, r.Test)
		}
		for _, f := range []string{"tables/lr.json", "tables/lr.csv", "figures/lr.png", "tables/study.json",
			"tables/pruning.csv", "figures/weights.png"} {
			if st, err := os.Stat(filepath.Join(dir, r.Run, f)); err != nil || st.Size() == 0 {
				t.Errorf("%s: %v", f, err)
			}
		}
		info, err := runlog.ReadInfo(filepath.Join(dir, r.Run))
		if err != nil || !strings.Contains(fmt.Sprint(info.Settings), fmt.Sprint("lr:", r.LR)) {
			t.Errorf("run.json has %v, %v", info.Settings, err)
		}
		// A tiny rate moves nothing but the statistics: the network answers as before.
		went := run(fmt.Sprintf("--p 2 --epochs 1 --lr 1e-9 --no-study --init %s/weights.safetensors", r.Run))[0]
		if went.Test < r.Test-0.1 {
			t.Errorf("test accuracy %v before, %v after", r.Test, went.Test)
		}
		if _, err := os.Stat(filepath.Join(dir, went.Run, "tables/study.json")); err == nil {
			t.Error("--no-study left a study")
		}
		write(t, dir, "other.safetensors", "not weights at all")
	}
	for args, want := range map[string]string{"--init nowhere": "nowhere",
		"--init other.safetensors": "other.safetensors"} {
		_, stderr, code := bregman(t, dir, append(strings.Fields("train --model cnn --data pictures --batch 12 --engine go"),
			strings.Fields(args)...)...)
		if code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %q", args, code, stderr)
		}
	}
	if _, stderr, code := bregman(t, dir, "train", "--lr", "0"); code != 2 || !strings.Contains(stderr, "auto") {
		t.Errorf("--lr 0: exit %d, %q", code, stderr)
	}
}
