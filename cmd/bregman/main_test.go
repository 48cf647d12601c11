package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/runlog"
)

// program is the built binary.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "bregman")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "bregman")
	args := []string{"build", "-o", program}
	if raceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// bregman runs the program in dir.
func bregman(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// misspelt is a table of numbers in which one is a word.
var misspelt = "a,label\n" + func() (rows string) {
	for i := range 40 {
		rows += fmt.Sprintf("%d.5,%d\n", i*i, i%2)
	}
	return rows
}() + "tow,1\n"

const separable = "1 1:2 2:1\n1 1:1 2:3\n-1 1:-1 2:-2\n-1 1:-3 2:0.5\n"

func TestBadInputGetsOneClearLineAndExitCodeOne(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.svm": separable, "empty.svm": "", "ragged.csv": "a,b,label\n1,2,1\n1,2\n", "zero.svm": "1 0:1\n-1 1:1\n",
		"order.svm": "1 2:1 1:1\n-1 1:1\n",
		"nan.svm":   "1 1:nan\n-1 1:1\n", "inf.csv": "a,label\ninf,1\n2,0\n", "text.svm": "spam 1:1\nham 1:2\n",
		"text.csv":   misspelt,
		"short.npy":  "\x93NUMPY\x01\x00",
		"model.json": `{"format":"bregman-linear","version":1,"classes":[-1,1],"weights":[[1,2]]}`,
		"wide.svm":   "1 9:1\n-1 1:1\n", "notadir": "x", "huge.svm": "1 1:3e300 2:1e300\n-1 1:-1e300 2:2e300\n",
	} {
		write(t, dir, name, text)
	}
	for _, c := range []struct{ args, want string }{
		{"fit --data good.svm --batch 9", "only 4 examples"},
		{"fit --data good.svm --init nowhere.npy", "nowhere.npy"},
		{"fit --data good.svm --init normal:x", "normal:DEVIATION"},
		{"fit --data missing.svm", "no such file"},
		{"fit --data r100:x", "is not a seed"},
		{"fit --data empty.svm", "empty.svm"},
		{"fit --data ragged.csv", "ragged.csv:3"},
		{"fit --data zero.svm", "zero.svm:1:3"},
		{"fit --data order.svm", "order.svm:1:7"},
		{"fit --data nan.svm", "nan.svm:1:5"},
		{"fit --data inf.csv", "inf.csv:2"},
		{"fit --data text.svm", "text.svm:1:1"},
		{"fit --data text.csv", "text.csv:42:1"},
		{"fit --data short.npy", "short.npy"},
		{"fit --data good.svm --runs notadir", "notadir"},
		{"fit --data good.svm --runs notadir/below", "notadir"},
		{"fit --data good.svm --loss square --lr 100 --steps 5000", "at step"},
		{"fit --data huge.svm", "scale the data"},
		{"fit --resume nowhere", "nowhere is not a run folder"},
		{"train --resume nowhere", "nowhere is not a run folder"},
		{"predict --model missing.json --data good.svm", "no such model"},
		{"predict --model good.svm --data good.svm", "not a model file"},
		{"predict --model model.json --data wide.svm", "features"},
		{"reproduce linear --runs notadir", "notadir"},
		{"data info empty.svm", "empty.svm"},
	} {
		stdout, stderr, code := bregman(t, dir, strings.Fields(c.args)...)
		if code != 1 || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 ||
			strings.Contains(stderr, "goroutine") || stdout != "" {
			t.Errorf("%s: exit %d, want 1 and %q in one line\nstdout: %s\nstderr: %s", c.args, code, c.want, stdout, stderr)
		}
	}
}

func TestHelpIsACommandAndErrorsNameTheirs(t *testing.T) {
	for args, want := range map[string]string{"help": "Usage: bregman <command>", "": "Usage: bregman <command>",
		"help train": "Usage: bregman train", "help reproduce cifar10": "Usage: bregman reproduce cifar10"} {
		if stdout, stderr, code := bregman(t, t.TempDir(), strings.Fields(args)...); code != 0 ||
			!strings.HasPrefix(stdout, want) {
			t.Errorf("%s: exit %d, %.80q, %q", args, code, stdout, stderr)
		}
	}
	for args, want := range map[string]string{"train --foo": "Try: bregman train --help\n", "fly": "Try: bregman --help\n",
		"help fly": "Try: bregman --help\n", "reproduce": "Try: bregman reproduce --help\n"} {
		if _, stderr, code := bregman(t, t.TempDir(), strings.Fields(args)...); code != 2 ||
			!strings.HasSuffix(stderr, want) {
			t.Errorf("%s: exit %d, %q", args, code, stderr)
		}
	}
}

func TestBadUsageExitsWithTwo(t *testing.T) {
	for _, args := range []string{"fly", "fit", "fit --data x --p three", "fit --data x --loss hinge", "reproduce",
		"fit --nonsense"} {
		if _, stderr, code := bregman(t, t.TempDir(), strings.Fields(args)...); code != 2 || stderr == "" {
			t.Errorf("%s: exit %d, %q", args, code, stderr)
		}
	}
	const above = "p must be a finite number above 1"
	for _, c := range []struct{ args, want string }{
		{"fit --data good.svm --objective margin --p 1", above}, {"fit --data good.svm --gap 1e-2 --p 0.5", above},
		{"fit --data good.svm --objective margin --p NaN", above}, {"fit --data good.svm --lp 1 --p Inf", above},
		{"fit --data good.svm --p 0.5", "from 1 to inf"}, {"fit --data good.svm --p NaN", "from 1 to inf"},
		{"fit --data good.svm --penalty=-1", "--penalty -1"}, {"fit --data good.svm --penalty 1,2,1", "1 is listed twice"},
		{"fit --data good.svm --bias", "drop --bias"}, {"fit --data good.svm --objective loss --gap 1", "--gap goes with"},
		{"fit --data good.svm --objective margin --penalty 1", "--lp"},
		{"fit --data good.svm --out w.npy", "--no-intercept"},
		{"fit --data good.svm --loss poly --multiclass joint", "drop --loss poly"},
		{"fit --data good.svm --steps 0", "--steps 0"}, {"fit --data good.svm --lr=-1", "--lr -1"},
		{"fit --data good.svm --loss square --gap 1e-3", "--gap"},
		{"margin --data good.svm --p 0.5", "p from 1 to Inf"}, {"margin --data good.svm --p NaN", "p from 1 to Inf"},
		{"margin --data good.svm --out w.json", ".npy"},
		{"path --data r100 --p 1", above}, {"path --data r100 --to=-1", "--to -1"}, {"verify --p 0.9", above},
		{"verify --seeds 0", "--seeds 0"},
		{"reproduce linear --steps 5", "--steps 5"}, {"bench linear --time 0s", "--time 0s"},
		{"sweep t.toml --jobs 0 --out z", "--jobs 0: nothing would run: add --nats or --listen, or set --jobs 1"},
		{"sweep resume z --jobs 0", "--jobs 0: nothing would run"},
		{"reproduce cifar10 --jobs 0", "--jobs 0: nothing would run"}, {"reproduce cifar10 --resume z --jobs 0",
			"--jobs 0: nothing would run"},
		{"sweep t.toml --listen 0.0.0.0:4333 --out z", "set --user and --password"}, {"sweep t.toml --listen 4333 --out z",
			"want HOST:PORT"}, {"sweep t.toml --listen 127.0.0.1:70000 --out z", "want HOST:PORT"},
		{"reproduce cifar10 --epochs 0", "--epochs 0"}, {"reproduce cifar10 --batch 0", "--batch 0"},
		{"sweep cifar10 epochs=0 --out z", "epochs: model = vgg11, p = 1.1, seed 1: --epochs 0"},
		{"sweep cifar10 batch=0 --out z", "--batch 0"}, {"bench margin --cols 5 --entries 50",
			"50 entries a row do not fit into 5 columns"}, {"bench margin --entries 0", "--entries 0"},
		{"data synth --cols 5 --entries 50 --out x.svm", "50 entries a row"}, {"data synth --rows 0 --out x.svm",
			"--rows 0"}, {"bench margin --rounds 0", "--rounds 0"},
		{"train --model alexnet", "there are airbench, cnn"}, {"train --p nan", above}, {"train --lr=-1", "--lr -1"},
		{"train --epochs=-1", "--epochs -1"},
		{"train --epochs 0", "--epochs 0"}, {"train --batch 0", "--batch 0"},
		{"fit --resume x --top 2", "--top with --resume"},
	} {
		dir := t.TempDir()
		stdout, stderr, code := bregman(t, dir, strings.Fields(c.args)...)
		if left, _ := os.ReadDir(dir); code != 2 || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 ||
			stdout != "" || len(left) != 0 {
			t.Errorf("%s: exit %d, want 2 and %q in one line\nstdout: %s\nstderr: %s\nleft: %v", c.args, code, c.want, stdout,
				stderr, left)
		}
	}
}

// A folder of that name is not a table.
func TestAFolderDoesNotHideABuiltInSet(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "r100"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := bregman(t, dir, "margin", "--data", "r100"); code != 0 {
		t.Error(stderr)
	}
}

func TestLabelsThatAreAllTheSameAreSaid(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "one.svm", "3 1:1\n3 1:2\n")
	if _, stderr, code := bregman(t, dir, "fit", "--data", "one.svm"); code != 0 ||
		!strings.Contains(stderr, "all labels are 3") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// The tags that help texts are in have no apostrophes: a text that needs one loses it.
func TestHelpTextsLoseNoApostrophe(t *testing.T) {
	for _, args := range []string{"sweep start --help", "reproduce cifar10 --help"} {
		stdout, stderr, code := bregman(t, t.TempDir(), strings.Fields(args)...)
		if text := strings.Join(strings.Fields(stdout), " "); code != 0 || !strings.Contains(text, "of the paper") ||
			strings.Contains(text, "papers") {
			t.Errorf("%s: exit %d, %s\n%s", args, code, stdout, stderr)
		}
	}
}

func TestAPanicIsAFailureNotBadUsage(t *testing.T) {
	stderr := os.Stderr
	defer func() { os.Stderr = stderr }()
	os.Stderr, _ = os.Open(os.DevNull)
	if code := guard(func() int { panic("a bug") }); code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	if code := guard(func() int { return 0 }); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	for _, args := range []string{"fit", "predict", "margin", "path", "verify", "train", "doctor", "reproduce linear",
		"bench linear", "bench margin", "data list", "data info", "data get", "data synth"} {
		stdout, _, code := bregman(t, t.TempDir(), append(strings.Fields(args), "--help")...)
		if code != 0 || !strings.Contains(stdout, "Usage:") || !strings.Contains(stdout, "\n    bregman "+args) {
			t.Errorf("%s --help: exit %d, %q", args, code, stdout)
		}
	}
}

// Help names what is the paper's, what is our reading of it and what is missing.
func TestHelpDoesNotClaimMoreThanThePaper(t *testing.T) {
	for args, want := range map[string]string{
		"reproduce":          "The paper's linear, CIFAR-10 and ImageNet experiments",
		"reproduce cifar10":  "no batch size and no shape of its cyclic schedule",
		"reproduce imagenet": "The program has never been run on ImageNet itself.",
		"train":              "our reading of the cyclic schedule in the paper",
		"verify":             "false as printed for some p",
		"sweep start":        "or margins, the exact limits of bias",
	} {
		stdout, _, code := bregman(t, t.TempDir(), append(strings.Fields(args), "--help")...)
		if text := strings.Join(strings.Fields(stdout), " "); code != 0 || !strings.Contains(text, want) {
			t.Errorf("%s --help: exit %d, no %q in %s", args, code, want, stdout)
		}
	}
}

func TestFitPredictRoundTrip(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "train.csv", "x,y,label\n2,1,7\n1,3,7\n-1,-2,3\n-3,0.5,3\n")
	write(t, dir, "test.csv", "x,y,label\n1,1,7\n-2,-2,3\n3,1,3\n")
	stdout, stderr, code := bregman(t, dir, strings.Fields("fit --data train.csv --test test.csv --p 3 --method "+
		"normalized --steps 20000 --bias --out model.json --json")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	var r map[string]any
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	for _, key := range []string{"p", "method", "steps", "loss", "margin", "norm", "gap", "train_accuracy", "seconds",
		"total_seconds", "test_accuracy"} {
		if _, ok := r[key].(float64); !ok && key != "method" {
			t.Errorf("%s is %v", key, r[key])
		}
	}
	if r["train_accuracy"] != 1.0 || math.Abs(r["test_accuracy"].(float64)-2./3) > 1e-12 ||
		math.Abs(r["margin"].(float64)*r["norm"].(float64)-1) > 1e-12 {
		t.Errorf("result %v", r)
	}
	stdout, stderr, code = bregman(t, dir, strings.Fields("predict --model model.json --data test.csv")...)
	if code != 0 || stdout != "7\n3\n7\n" || !strings.Contains(stderr, "accuracy 66.67 %") {
		t.Errorf("predict: exit %d, %q, %q", code, stdout, stderr)
	}
	stdout, _, _ = bregman(t, dir, strings.Fields("predict --model model.json --data test.csv --scores --out l.txt "+
		"--json")...)
	if !json.Valid([]byte(stdout)) {
		t.Errorf("--json printed %q", stdout)
	}
	if l, _ := os.ReadFile(filepath.Join(dir, "l.txt")); len(strings.Fields(string(l))) != 6 {
		t.Errorf("labels with scores: %q", l)
	}
	stdout, _, _ = bregman(t, dir, strings.Fields("predict --model model.json --data test.csv --scores --json")...)
	var said struct{ Labels, Scores []float64 }
	if err := json.Unmarshal([]byte(stdout), &said); err != nil || !slices.Equal(said.Labels, []float64{7, 3, 7}) ||
		len(said.Scores) != 3 || strings.Contains(stdout, `"out"`) {
		t.Errorf("--json printed %q, %v", stdout, err)
	}
	// labels that the model does not know have no accuracy, but the predictions are not lost
	write(t, dir, "one.csv", "x,y,label\n1,1,0\n-2,-2,0\n")
	stdout, stderr, code = bregman(t, dir, strings.Fields("predict --model model.json --data one.csv")...)
	if code != 1 || stdout != "7\n3\n" || !strings.Contains(stderr, "not one of the model's classes [3 7]") {
		t.Errorf("one label: exit %d, %q, %q", code, stdout, stderr)
	}
	if stdout, stderr,
		code = bregman(t, dir, strings.Fields("predict --model model.json --data one.csv --unlabeled")...); code != 0 ||
		stdout != "7\n3\n" || stderr != "" {
		t.Errorf("--unlabeled: exit %d, %q, %q", code, stdout, stderr)
	}
	// the run folder is whole
	run := r["run"].(string)
	for _, f := range []string{"run.json", "metrics.jsonl", "model.json", "report.html", "tables/trace.csv",
		"figures/trace.svg", "figures/trace.png"} {
		if st, err := os.Stat(filepath.Join(dir, run, f)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	info, err := runlog.ReadInfo(filepath.Join(dir, run))
	if err != nil || info.Status != runlog.Done || info.DataHash == "" || info.Settings.(map[string]any)["p"] != 3.0 {
		t.Errorf("run.json: %+v, %v", info, err)
	}
}

func TestNpyWeightsArePredictedWithToo(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "train.svm", separable)
	if _, stderr,
		code := bregman(t, dir, strings.Fields("fit --data train.svm --steps 1000 --out w.npy --runs=")...); code != 0 {
		t.Fatal(stderr)
	}
	stdout, _, code := bregman(t, dir, strings.Fields("predict --model w.npy --data train.svm")...)
	if code != 0 || stdout != "1\n1\n-1\n-1\n" {
		t.Errorf("exit %d, %q", code, stdout)
	}
	if _, stderr,
		code := bregman(t, dir, strings.Fields("fit --data train.svm --steps 10 --init w.npy --runs=")...); code != 0 {
		t.Errorf("--init w.npy: %s", stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
		t.Error("--runs= still made a run folder")
	}
}

func TestManyClassesAreFittedOneAgainstTheRest(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "three.csv", "a,b,label\n1,0,1\n0.9,0.1,1\n0,1,2\n0.1,0.8,2\n-1,-1,3\n-0.7,-0.9,3\n")
	stdout, stderr, code := bregman(t, dir, strings.Fields("fit --data three.csv --steps 2000 --lr 0.1 --out m.json "+
		"--json --runs=")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	var r struct {
		Train float64 `json:"train_accuracy"`
	}
	if json.Unmarshal([]byte(stdout), &r); r.Train != 1 {
		t.Errorf("result %s", stdout)
	}
	if out, _,
		_ := bregman(t, dir, strings.Fields("predict --model m.json --data three.csv")...); out != "1\n1\n2\n2\n3\n3\n" {
		t.Errorf("predicted %q", out)
	}
}

func TestDefaultsWorkOnWhateverIsSmall(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.svm", separable)
	write(t, dir, "contra.csv", "a,label\n1,1\n1,0\n")
	write(t, dir, "zeros.csv", "a,b,label\n0,0,1\n0,0,0\n")
	write(t, dir, "one.svm", "1 1:3\n")
	for _, args := range []string{"--data good.svm", "--data r2", "--data contra.csv", "--data zeros.csv",
		"--data one.svm", "--data good.svm --steps 1 --lr 1e-4",
		"--data good.svm --p 1.01", "--data good.svm --p 100", "--data good.svm --batch 1",
		"--data good.svm --loss square --p 1.1", "--data r100 --steps 1e3 --method steepest"} {
		stdout, stderr, code := bregman(t, dir, append([]string{"fit", "--json"}, strings.Fields(args)...)...)
		var r map[string]any
		if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
			t.Errorf("fit %s: exit %d, %v, %s", args, code, err, stderr)
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, r["run"].(string), "report.html")); err != nil {
			t.Errorf("fit %s: %v", args, err)
		}
	}
}

func TestColumnsAreMatchedByName(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "train.csv", "a,b,label\n2,1,1\n1,3,1\n-1,-2,0\n-3,0.5,0\n")
	write(t, dir, "swapped.csv", "b,a,label\n1,2,1\n3,1,1\n-2,-1,0\n0.5,-3,0\n")
	write(t, dir, "features.csv", "a,b\n2,1\n-3,0.5\n")
	write(t, dir, "other.csv", "a,c,label\n2,1,1\n-3,0.5,0\n")
	write(t, dir, "foreign.csv", "a,b,label\n2,1,5\n-3,0.5,9\n")
	if _, stderr,
		code := bregman(t, dir,
		strings.Fields("fit --data train.csv --test swapped.csv --out m.json --runs=")...); code != 0 {
		t.Fatal(stderr)
	}
	if out, stderr, code := bregman(t, dir, strings.Fields("predict --model m.json --data swapped.csv")...); code != 0 ||
		out != "1\n1\n0\n0\n" || !strings.Contains(stderr, "1.0000") {
		t.Errorf("swapped columns: exit %d, %q, %q", code, out, stderr)
	}
	if out, _,
		code := bregman(t, dir, strings.Fields("predict --model m.json --data features.csv --unlabeled")...); code != 0 ||
		out != "1\n0\n" {
		t.Errorf("no label column: exit %d, %q", code, out)
	}
	if _, stderr, code := bregman(t, dir, strings.Fields("predict --model m.json --data other.csv")...); code != 1 ||
		!strings.Contains(stderr, "no columns \"b\"") {
		t.Errorf("a missing column: exit %d, %q", code, stderr)
	}
	if _, stderr, code := bregman(t, dir, strings.Fields("predict --model m.json --data foreign.csv")...); code != 1 ||
		!strings.Contains(stderr, "not one of the model's classes") {
		t.Errorf("foreign labels: exit %d, %q", code, stderr)
	}
}

func TestWhatCanFailFailsBeforeTraining(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.svm", separable)
	os.Mkdir(filepath.Join(dir, "folder"), 0o777)
	for _, args := range []string{"--test missing.svm", "--out folder"} {
		_, stderr, code := bregman(t, dir, append(strings.Fields("fit --data good.svm"), strings.Fields(args)...)...)
		if runs, _ := filepath.Glob(filepath.Join(dir, "runs", "*")); code != 1 || len(runs) != 0 ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, runs %v, %q", args, code, runs, stderr)
		}
	}
}

func TestNotSeparableDataHasNullMargins(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "xor.csv", "a,b,label\n0,0,0\n1,1,0\n0,1,1\n1,0,1\n")
	stdout, _, code := bregman(t, dir, strings.Fields("fit --data xor.csv --loss logistic --steps 500 --json --runs=")...)
	var r map[string]any
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 {
		t.Fatalf("exit %d: %s", code, stdout)
	}
	for _, key := range []string{"margin", "norm", "gap"} {
		if v, ok := r[key]; !ok || v != nil {
			t.Errorf("%s is %v, want null", key, v)
		}
	}
}

func TestInterruptLeavesAReadableRunFolder(t *testing.T) {
	for _, args := range []string{"fit --data r100 --p 3 --steps 2000000000 --lr 1e-4", "reproduce linear --seeds 200"} {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(args)...)
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var runs []string
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if runs, _ = filepath.Glob(filepath.Join(dir, "runs", "*", "metrics.jsonl")); len(runs) == 1 {
				if st, err := os.Stat(runs[0]); err == nil && st.Size() > 0 {
					break
				}
			}
		}
		cmd.Process.Signal(syscall.SIGINT)
		cmd.Wait()
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("%s: exit %d, %s", args, cmd.ProcessState.ExitCode(), stderr.String())
		}
		if len(runs) != 1 {
			t.Fatalf("%s: no run folder", args)
		}
		run := filepath.Dir(runs[0])
		info, err := runlog.ReadInfo(run)
		if err != nil || info.Status != runlog.Interrupted {
			t.Errorf("%s: status %q, %v", args, info.Status, err)
		}
		lines := 0
		if err := runlog.ReadMetrics(run, func(json.RawMessage) error { lines++; return nil }); err != nil || lines == 0 {
			t.Errorf("%s: %d metrics, %v", args, lines, err)
		}
		if strings.HasPrefix(args, "fit") {
			if _, err := os.Stat(filepath.Join(run, "model.json")); err != nil {
				t.Errorf("the model so far is lost: %v", err)
			}
		}
	}
}
