package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// weights returns those of a model file.
func weights(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Weights json.RawMessage }
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return string(m.Weights)
}

func TestAKilledFitGoesOnAndEndsWithTheSameWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds")
	}
	dir := t.TempDir()
	const args = "fit --data r100 --p 3 --method pgd --lr 1e-4 --steps 12e6"
	cmd := exec.CommandContext(t.Context(), program, strings.Fields(args)...)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var saved []string
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline) &&
		len(saved) == 0; time.Sleep(10 * time.Millisecond) {
		saved, _ = filepath.Glob(filepath.Join(dir, "runs", "*", "checkpoints", "fit.safetensors"))
	}
	cmd.Process.Kill()
	cmd.Wait()
	if len(saved) != 1 {
		t.Fatal("no checkpoint")
	}
	run := filepath.Dir(filepath.Dir(saved[0]))
	if _, err := os.Stat(filepath.Join(run, "model.json")); err == nil {
		t.Skip("it was done before it was killed")
	}
	if _, stderr, code := bregman(t, dir, "fit", "--resume", run, "--json"); code != 0 ||
		!strings.Contains(stderr, "resuming after step") {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	if _, stderr, code := bregman(t, dir, append(strings.Fields(args), "--runs=", "--out", "whole.json")...); code != 0 {
		t.Fatal(stderr)
	}
	if weights(t, filepath.Join(run, "model.json")) != weights(t, filepath.Join(dir, "whole.json")) {
		t.Error("the weights differ from those of a run without a break")
	}
	if _, stderr, code := bregman(t, dir, "fit", "--resume", run); code != 1 || !strings.Contains(stderr, "done") {
		t.Errorf("a run that is done: exit %d, %s", code, stderr)
	}
}

func TestARunGoesOnOnlyWithItsOwnDataAndAWholeCheckpoint(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.svm", separable)
	stdout, stderr, code := bregman(t, dir, strings.Fields("fit --data good.svm --json")...)
	var r struct{ Run string }
	if json.Unmarshal([]byte(stdout), &r); code != 0 {
		t.Fatal(stderr)
	}
	run := filepath.Join(dir, r.Run)
	info, err := os.ReadFile(filepath.Join(run, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	// as if it had been killed
	write(t, run, "run.json", strings.Replace(string(info), `"status": "done"`, `"status": "running"`, 1))
	write(t, dir, "good.svm", separable+"1 1:5\n")
	if _, stderr, code := bregman(t, dir, "fit", "--resume", run); code != 1 || !strings.Contains(stderr, "has changed") ||
		strings.Count(stderr, "\n") != 1 {
		t.Errorf("other data: exit %d, %q", code, stderr)
	}
	write(t, dir, "good.svm", separable)
	os.MkdirAll(filepath.Join(run, "checkpoints"), 0o777)
	write(t, run, "checkpoints/fit.safetensors", "\x08\x00\x00")
	if _, stderr, code := bregman(t, dir, "fit", "--resume", run); code != 1 ||
		!strings.Contains(stderr, "fit.safetensors is damaged") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("half a checkpoint: exit %d, %q", code, stderr)
	}
	os.Remove(filepath.Join(run, "checkpoints", "fit.safetensors"))
	if _, stderr, code := bregman(t, dir, "fit", "--resume", run); code != 0 {
		t.Errorf("no checkpoint yet: exit %d, %q", code, stderr)
	}
}

func TestModelsThatCannotBeUsedAreRefusedInOneLine(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.svm", separable)
	if _, stderr,
		code := bregman(t, dir, strings.Fields("fit --data good.svm --scale std --out m.json --runs=")...); code != 0 {
		t.Fatal(stderr)
	}
	whole, _ := os.ReadFile(filepath.Join(dir, "m.json"))
	write(t, dir, "cut.json", string(whole[:len(whole)/2]))
	write(t, dir, "newer.json", strings.Replace(string(whole), `"version":2`, `"version":99`, 1))
	write(t, dir, "wide.svm", "1 9:1\n-1 1:1\n")
	for args, want := range map[string]string{
		"--model cut.json --data good.svm": "cut short", "--model newer.json --data good.svm": "newer than this program",
		"--model m.json --data wide.svm": "9 features",
	} {
		if _, stderr, code := bregman(t, dir, append([]string{"predict"}, strings.Fields(args)...)...); code == 0 ||
			!strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("predict %s: exit %d, %q, want %q", args, code, stderr, want)
		}
	}
}

func TestOneIsNotCountedInThePlural(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "two.svm", "1 1:1\n-1 1:-1\n")
	write(t, dir, "one.svm", "1 1:1\n")
	for _, c := range [][2]string{
		{"fit --data two.svm", "2 examples × 1 feature\n"},
		{"margin --data two.svm", "2 examples × 1 feature\n"},
		{"data info one.svm", "1 example × 1 feature, 1 value stored ("},
		{"report runs/*", "1 run in "},
	} {
		args := strings.Fields(c[0])
		if runs, _ := filepath.Glob(filepath.Join(dir, args[len(args)-1])); len(runs) == 1 {
			args[len(args)-1] = runs[0]
		}
		if stdout, stderr, code := bregman(t, dir, args...); code != 0 || !strings.Contains(stdout+stderr, c[1]) {
			t.Errorf("%s: exit %d, want %q in %s%s", c[0], code, c[1], stdout, stderr)
		}
	}
}

func TestCrossValidationChoosesPAndShowsWhy(t *testing.T) {
	dir := t.TempDir()
	var csv strings.Builder
	csv.WriteString("height,weight,noise,kind\n")
	for i := range 60 {
		kind, shift := i%3, float64(i%7)/10
		csv.WriteString(strings.Join([]string{fmtFloat(float64(kind*10) + shift),
			fmtFloat(200 - float64(kind*kind*40) + 3*shift), fmtFloat(shift * 100), fmtFloat(float64(kind))}, ",") + "\n")
	}
	write(t, dir, "three.csv", csv.String())
	stdout, stderr, code := bregman(t, dir, strings.Fields("fit --data three.csv --objective margin --p 1.1,2,6 --cv 4 "+
		"--scale std --bias --out m.json --json")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	var r struct {
		P     float64
		Run   string
		Train float64 `json:"train_accuracy"`
		CV    []struct {
			P, Accuracy, Sparsity float64
			Margin                *float64
			Chosen                bool
		}
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.CV) != 3 || r.Train != 1 {
		t.Fatalf("%v, %s", err, stdout)
	}
	best := 0.0
	for _, c := range r.CV {
		best = max(best, c.Accuracy)
		if c.Chosen != (c.P == r.P) {
			t.Errorf("p = %v: chosen is %v, the model has p = %v", c.P, c.Chosen, r.P)
		}
	}
	for _, c := range r.CV {
		if c.Chosen && c.Accuracy < best {
			t.Errorf("p = %v with %v was chosen, the best is %v", c.P, c.Accuracy, best)
		}
	}
	for _, f := range []string{"tables/cv.csv", "tables/weights.md", "figures/cv.png"} {
		if st, err := os.Stat(filepath.Join(dir, r.Run, f)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(dir, r.Run, "tables/weights.md")); !strings.Contains(string(text),
		"| height |") {
		t.Errorf("the features have lost their names: %s", text)
	}
	// the scaler went with the model
	if _, stderr,
		code := bregman(t, dir, strings.Fields("predict --model m.json --data three.csv --out l.txt")...); code != 0 ||
		!strings.Contains(stderr, "1.0000") {
		t.Errorf("predict: exit %d, %s", code, stderr)
	}
	for args, want := range map[string]string{"--objective margin --p 1.1,2": "--cv", "--cv 1": "--cv 1",
		"--cv 99": "only 60", "--l2 1 --p 3": "same for every p", "--l2 1 --method pgd": "go together",
		"--lp 1,2": "--cv", "--lp 0": "--lp 0", "--lp 1,1 --cv 3": "twice", "--lp 1 --l2 1": "say one",
		"--lp 1 --method pgd": "go together", "--lp 1 --lr 1": "drop", "--soft 0.5 --method pgd": "--soft",
		"--scale max --soft 3": "--soft 3"} {
		if _, stderr, code := bregman(t, dir, append(strings.Fields("fit --data three.csv --label kind --runs="),
			strings.Fields(args)...)...); code == 0 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("fit %s: exit %d, %q, want %q", args, code, stderr, want)
		}
	}
}

func fmtFloat(v float64) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func TestDataThatNoWeightsSeparateGetsASoftMargin(t *testing.T) {
	dir := t.TempDir()
	var svm strings.Builder
	for i := range 200 {
		label := []string{"1", "-1"}[i%2]
		if i%20 == 0 {
			label = "1" // whatever it was
		}
		svm.WriteString(label + " 1:" + fmtFloat(float64(1-2*(i%2))+float64(i%9)/10) + " 2:" + fmtFloat(float64(i%11)/5-1) +
			"\n")
	}
	svm.WriteString("-1 1:2 2:0\n1 1:2 2:0\n")
	write(t, dir, "noisy.svm", svm.String())
	stdout, stderr, code := bregman(t, dir, strings.Fields("fit --data noisy.svm --objective margin --json --runs=")...)
	var r struct {
		Soft, Gap float64
		Train     float64 `json:"train_accuracy"`
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || !strings.Contains(stderr, "--soft") {
		t.Fatalf("exit %d, %v, %s, %s", code, err, stdout, stderr)
	}
	if r.Soft == 0 || r.Gap > 1e-3 || r.Train < 0.9 {
		t.Errorf("%+v", r)
	}
}

// noisySVM has an informative feature, a useless one, and some wrong labels.
func noisySVM() string {
	var svm strings.Builder
	for i := range 200 {
		label := []string{"1", "-1"}[i%2]
		if i%9 == 0 {
			label = "1"
		}
		svm.WriteString(label + " 1:" + fmtFloat(float64(1-2*(i%2))+float64(i%7)/5) + " 2:" + fmtFloat(float64(i%11)/5-1) +
			"\n")
	}
	return svm.String()
}

func TestPenaltiesInEveryGeometry(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "noisy.svm", noisySVM())
	type result struct {
		P, LP, L2, Loss, Objective, Excess float64
		Run                                string
		CV                                 []struct {
			P, Lambda, Accuracy float64
			Chosen              bool
		}
	}
	fit := func(args string) (r result) {
		stdout, stderr, code := bregman(t, dir, append(strings.Fields("fit --data noisy.svm --loss logistic --json"),
			strings.Fields(args)...)...)
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 {
			t.Fatalf("%s: exit %d, %v, %s, %s", args, code, err, stdout, stderr)
		}
		return r
	}
	a, b := fit("--l2 0.01"), fit("--lp 0.01")
	if a.Loss != b.Loss || a.Objective != b.Objective || a.L2 != b.LP || !(a.Objective > a.Loss) ||
		!(a.Excess <= 1e-3*a.Objective) {
		t.Errorf("p = 2: %+v and %+v", a, b)
	}
	for _, p := range []string{"1.05", "1.5", "10"} {
		if r := fit("--lp 0.01 --p " + p); !(r.Objective > r.Loss) || !(r.Excess <= 1e-3*r.Objective) {
			t.Errorf("p = %s: %+v", p, r)
		}
	}
	r := fit("--lp 0.001,0.1 --p 1.5,3 --cv 3")
	chosen := 0
	for _, c := range r.CV {
		if c.Chosen {
			chosen++
			if c.P != r.P || c.Lambda != r.LP {
				t.Errorf("p = %v, lambda %v was chosen, the model has %v and %v", c.P, c.Lambda, r.P, r.LP)
			}
		}
	}
	if len(r.CV) != 4 || chosen != 1 {
		t.Errorf("%+v", r.CV)
	}
	for _, f := range []string{"tables/cv-lambda.csv", "figures/cv.png"} {
		if st, err := os.Stat(filepath.Join(dir, r.Run, f)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestASmallGapIsHandedToTheExactSolver(t *testing.T) {
	stdout, stderr, code := bregman(t, t.TempDir(),
		strings.Fields("fit --data r100:3 --p 10 --gap 1e-6 --json --runs=")...)
	var r struct {
		Method string
		Gap    float64
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || r.Gap > 1e-6 ||
		!strings.Contains(r.Method, "then interior point") {
		t.Errorf("exit %d, %s, %s", code, stdout, stderr)
	}
}

func TestSynthesisedDataIsFittedAndBenchmarked(t *testing.T) {
	dir := t.TempDir()
	if _, stderr,
		code := bregman(t, dir, strings.Fields("data synth --rows 300 --cols 200 --entries 20 --out s.svm")...); code != 0 {
		t.Fatal(stderr)
	}
	if stdout, stderr,
		code := bregman(t, dir, strings.Fields("fit --data s.svm --loss logistic --l2 1e-3 --runs=")...); code != 0 ||
		!strings.Contains(stdout, "excess") {
		t.Errorf("exit %d, %s, %s", code, stdout, stderr)
	}
	if a, _, code := bregman(t, dir, strings.Fields("fit --data s.svm --float32 --runs= --json")...); code != 0 ||
		!json.Valid([]byte(a)) {
		t.Errorf("float32: exit %d, %s", code, a)
	}
	if stdout, stderr, code := bregman(t, dir, strings.Fields("bench margin --rows 300 --cols 200 --entries 20 "+
		"--rounds 1 --json")...); code != 0 || !json.Valid([]byte(stdout)) {
		t.Errorf("exit %d, %s, %s", code, stdout, stderr)
	}
	if stdout, stderr, code := bregman(t, dir, strings.Fields("bench margin --scaling --rows 5000 --entries 20 --out "+
		"f.png")...); code != 0 || !strings.Contains(stdout, "100,000") {
		t.Errorf("exit %d, %s, %s", code, stdout, stderr)
	}
}
