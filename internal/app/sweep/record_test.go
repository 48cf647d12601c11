package sweep

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/app/record"
	"github.com/bregman-ml/bregman/runlog"
)

// A queue of three networks of a second on the processor.
const small = `job = "train"
[settings]
data = "pictures"
epochs = 3
batch = 12
lr = 0.3
no_study = true
[[entry]]
why = "both p"
[entry.grid]
p = [2, 3]
[[entry]]
why = "another seed"
seed = 2
settings = { p = 3 }
`

// rows reads the results file of a test.
func rows(t *testing.T, dir string) []record.Row {
	t.Helper()
	all, err := record.Read(filepath.Join(dir, "r.csv"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ran counts the runs that a sweep says it has done.
func ran(p *proc) int { return strings.Count(p.err.String(), ": test_accuracy ") }

func TestARunWithARowIsDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pictures(t, dir)
	file := write(t, dir, small)
	sweep := func(args ...string) *proc {
		t.Helper()
		p := start(t, dir, append([]string{"sweep", file, "--results", "r.csv", "--engine", "cpu"}, args...)...)
		p.done()
		return p
	}
	if p := sweep(); ran(p) != 3 || len(rows(t, dir)) != 3 {
		t.Fatalf("%d runs, %d rows: %s", ran(p), len(rows(t, dir)), p.err.String())
	}
	weights, err := record.ReadWeights(filepath.Join(dir, "r.csv"), rows(t, dir))
	if err != nil || weights[0] == nil || weights[2] == nil {
		t.Errorf("histograms: %v, %v", weights, err)
	}
	// A fresh clone on a bare machine: no folder, and nothing runs.
	folder := filepath.Join(dir, "runs")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(filepath.Join(dir, "r.csv"))
	p := sweep()
	after, _ := os.ReadFile(filepath.Join(dir, "r.csv"))
	if ran(p) != 0 || inPlace(dir) != 0 || !bytes.Equal(before, after) ||
		!strings.Contains(p.err.String(), "3 are done, 3 by their rows") ||
		!strings.Contains(p.out.String(), "p") || !strings.Contains(p.err.String(), "3 of 3 runs done") {
		t.Errorf("%s\n%s", p.err.String(), p.out.String())
	}
	if st := start(t, dir, "sweep", "status", "runs/sweep-s").done(); !strings.Contains(st, ": done, 3 of 3 done") {
		t.Error(st)
	}
	// Another machine has the pictures elsewhere.
	elsewhere := t.TempDir()
	pictures(t, elsewhere)
	if err := os.WriteFile(filepath.Join(elsewhere, "r.csv"), before, 0o666); err != nil {
		t.Fatal(err)
	}
	p = start(t, elsewhere, "sweep", write(t, elsewhere, small), "--results", "r.csv", "--engine", "cpu")
	if p.done(); ran(p) != 0 || strings.Contains(string(before), dir) {
		t.Errorf("elsewhere: %s\n%s", p.err.String(), before)
	}
	// A longer queue: only what is new.
	if p := sweep("p=2,3"); ran(p) != 1 || len(rows(t, dir)) != 4 { // of seed 2
		t.Errorf("%d runs, %d rows: %s", ran(p), len(rows(t, dir)), p.err.String())
	}
	// Numbers of another version count as done, and keep their version.
	text, err := os.ReadFile(filepath.Join(dir, "r.csv"))
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.ReplaceAll(text, []byte(",test,1,"), []byte(",test,9,"))
	if err := os.WriteFile(filepath.Join(dir, "r.csv"), other, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if p := sweep("p=2,3"); ran(p) != 0 || rows(t, dir)[0].Results != 9 {
		t.Errorf("%d runs: %s", ran(p), p.err.String())
	}
	// A row that is lost while its folder is there comes back without a run.
	if err := os.Remove(filepath.Join(dir, "r.csv")); err != nil {
		t.Fatal(err)
	}
	if p := sweep(); ran(p) != 3 || len(rows(t, dir)) != 3 {
		t.Fatalf("%d runs: %s", ran(p), p.err.String())
	}
	if err := os.Remove(filepath.Join(dir, "r.csv")); err != nil {
		t.Fatal(err)
	}
	if p := sweep(); ran(p) != 0 || len(rows(t, dir)) != 3 {
		t.Errorf("%d runs, %d rows: %s", ran(p), len(rows(t, dir)), p.err.String())
	}
}

func TestAKilledQueueHasTheRowsOfWhatIsDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pictures(t, dir)
	file := write(t, dir, strings.Replace(small, "epochs = 3", "epochs = 20", 1))
	args := []string{"sweep", file, "trials=3", "--results", "r.csv", "--engine", "cpu", "--jobs", "1"}
	p := start(t, dir, args...)
	eventually(t, "two rows", func() bool { return len(rows(t, dir)) >= 2 })
	p.kill()
	n := len(rows(t, dir))
	if n == 7 {
		t.Fatal("all was done before the kill: nothing was shown")
	}
	if err := os.RemoveAll(filepath.Join(dir, "runs")); err != nil {
		t.Fatal(err)
	}
	again := start(t, dir, args...)
	again.done()
	if got := len(rows(t, dir)); ran(again) != got-n || n < 2 { // p = 3 with seeds 2 and 3 is in both entries
		t.Errorf("%d rows after the kill, then %d runs and %d rows", n, ran(again), got)
	}
}

// The process of the sweep adds the rows of runs that workers of other machines send.
func TestRunsOfWorkersHaveRows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pictures(t, dir)
	_, addr := natsServer(t, filepath.Join(dir, "js"), "")
	s := start(t, dir, "sweep", write(t, dir, small), "--nats", addr, "--results", "r.csv")
	start(t, dir, "worker", "--nats", addr, "--engine", "cpu")
	s.done()
	all := rows(t, dir)
	if len(all) != 3 {
		t.Fatalf("%d rows", len(all))
	}
	if weights, err := record.ReadWeights(filepath.Join(dir, "r.csv"), all); err != nil || weights[2] == nil {
		t.Errorf("%v, %v", weights, err)
	}
}

// A run that diverges has a row, and is not run again.
func TestARunThatDivergesHasARow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pictures(t, dir)
	file := write(t, dir, small)
	args := []string{"sweep", file, "lr=1e30", "--results", "r.csv", "--engine", "cpu"}
	start(t, dir, args...).done()
	if all := rows(t, dir); len(all) != 3 || all[0].Status != record.Diverged {
		t.Errorf("%+v", all)
	}
	if err := os.RemoveAll(filepath.Join(dir, "runs")); err != nil {
		t.Fatal(err)
	}
	again := start(t, dir, args...)
	if out := again.done(); strings.Contains(again.err.String(), "of 3: ") || !strings.Contains(out, "diverged") {
		t.Errorf("%s\n%s", again.err.String(), out)
	}
}

// Minutes that are up interrupt the network that is running. It resumes from its checkpoint, and the result is that of
// an unbroken run, bit for bit.
func TestMinutesThatAreUpLeaveWhatCanBeResumed(t *testing.T) {
	notShort(t)
	t.Parallel()
	whole := t.TempDir()
	pictures(t, whole)
	const longer = "epochs=240" // than the longest of the pieces below
	start(t, whole, "sweep", write(t, whole, network), longer, "--engine", "cpu").done()
	dir := t.TempDir()
	pictures(t, dir)
	write(t, dir, network)
	args := []string{"sweep", "s.toml", longer}
	minutes := 0.02 // more each time: a busy machine takes long to begin
	for ; len(rows(t, dir)) < 2; minutes *= 1.2 {
		p := start(t, dir, append(args, "--results", "r.csv", "--engine", "cpu", "--minutes", fmt.Sprint(minutes))...)
		p.done()
		said := p.err.String()
		left := 2 - len(rows(t, dir))
		if left > 0 && !strings.HasSuffix(said, fmt.Sprintf(" done now, %d left; continue with: bregman sweep resume "+
			"runs/sweep-s --results r.csv --minutes %v\n", left, minutes)) {
			t.Fatalf("%d left: %s", left, said)
		}
		args = []string{"sweep", "resume", "runs/sweep-s"}
	}
	if inLogs(dir, "resuming after epoch") == 0 {
		t.Errorf("no run was interrupted in %v minutes", minutes)
	}
	same(t, outcome(t, dir), outcome(t, whole))
}

// Runs that cannot be resumed are started again; workers of other machines stop, too.
func TestMinutesEndALinearSweepAndItsWorkers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, addr := natsServer(t, filepath.Join(dir, "js"), "")
	file := write(t, dir, slow)
	const long = "steps=1000000000" // hours
	s := start(t, dir, "sweep", file, long, "gap=0", "--nats", addr, "--minutes", "0.05")
	w := start(t, dir, "worker", "--nats", addr, "--idle", "500ms")
	s.done()
	if !strings.Contains(s.err.String(), "0.05 minutes are up: 0 done now, 12 left; continue with: bregman sweep resume "+
		"runs/sweep-s --nats "+addr+" --minutes 0.05\n") {
		t.Error(s.err.String())
	}
	w.done() // its run is stopped, and the queue is empty
	alone := start(t, dir, "sweep", file, long, "gap=0", "--out", "alone", "--jobs", "2", "--minutes", "0.05")
	alone.done()
	if !strings.Contains(alone.err.String(), "0.05 minutes are up: 0 done now, 12 left") {
		t.Error(alone.err.String())
	}
}

func TestOnlyNetworksHaveResultsFiles(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "sweep", write(t, dir, quick), "--results", "r.csv")
	if code := p.wait(); code == 0 || !strings.Contains(p.err.String(), "only runs of train have rows") {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
	for args, want := range map[string]string{"--minutes=-1": "--minutes -1: want a number of minutes",
		"--minutes NaN": "--minutes NaN: want"} {
		p := start(t, dir, append([]string{"sweep", "s.toml"}, strings.Fields(args)...)...)
		if code := p.wait(); code == 0 || !strings.Contains(p.err.String(), want) {
			t.Errorf("%s: exit %d: %s", args, code, p.err.String())
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "r.csv"), []byte("p,test\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	write(t, dir, small)
	p = start(t, dir, "sweep", "s.toml", "--results", "r.csv")
	if code := p.wait(); code == 0 || !strings.Contains(p.err.String(), "--results: r.csv:1: not a results file") ||
		inPlace(dir) != 0 {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
}

func TestARunThatDoesNotFitIsSaid(t *testing.T) {
	o := &Options{Minutes: 2}
	if s := o.tooLong("train", time.Minute, "dir"); s != "" {
		t.Error(s)
	}
	if s := o.tooLong("train", time.Hour, "dir"); !strings.Contains(s,
		"about 1h0m0s; it is interrupted then, and resumed from dir") {
		t.Error(s)
	}
	if s := o.tooLong("fit", time.Hour, "dir"); !strings.Contains(s, "it will not finish") {
		t.Error(s)
	}
	if s := new(Options).tooLong("fit", time.Hour, "dir"); s != "" {
		t.Error(s)
	}
	if got := (Options{Results: "a b.csv", Minutes: 9}).resumeArgs("dir"); got != "dir --results 'a b.csv' --minutes 9" {
		t.Error(got)
	}
}

// Our own queue can be planned: first what decides how the paper's rate is read, then its table, row by row, then
// second trials. Rows that there are stay done.
func TestTheQueueOfTheProjectIsUnderstood(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "docs", "results")
	path := filepath.Join(folder, "queue.toml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ReadFile(path, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(f, "test")
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, s := range p.Runs {
		if c := s.Settings; c["epochs"] == "400" {
			order = append(order, fmt.Sprintf("%s %s, %s at %s, %d", c["model"], c["p"], c["batch"], c["lr"], s.Seed))
		}
	}
	for k, want := range []string{"resnet18 1.5, 512 at 0.4, 1", "resnet18 6, 512 at 0.4, 1", "resnet18 2, 128 at 0.1, 1",
		"vgg11 10, 512 at 0.4, 1", "resnet18 3, 512 at 0.4, 1"} {
		if order[k] != want {
			t.Errorf("%d: %s, want %s", k, order[k], want)
		}
	}
	if len(order) != 2*4*6+1 || len(slices.Compact(slices.Sorted(slices.Values(order)))) != len(order) {
		t.Errorf("%d runs of 400 epochs: %q", len(order), order)
	}
	have, err := record.Read(filepath.Join(folder, "networks.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.readResults(filepath.Join(folder, "networks.csv")); err != nil {
		t.Fatal(err)
	}
	if n := p.recorded(); n < 4 { // seeds 2 and 3 of p = 2 and 3 at 0.1
		t.Errorf("%d of the queue's runs are done by %d rows", n, len(have))
	}
}

func TestEveryQueueOfTheProjectIsUnderstood(t *testing.T) {
	queues, err := filepath.Glob(filepath.Join("..", "..", "..", "docs", "results", "*.toml"))
	if err != nil || len(queues) < 2 {
		t.Fatalf("queues %v, %v", queues, err)
	}
	for _, path := range queues {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ReadFile(path, data, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if p, err := NewPlan(f, "test"); err != nil || len(p.Runs) == 0 {
			t.Errorf("%s: %v", path, err)
		}
		for k, e := range f.Entries {
			if e.Why == "" {
				t.Errorf("%s: entry %d does not say why", path, k+1)
			}
		}
	}
}

// A run may end at the moment of an interrupt, when nobody reads events any more.
func TestARunThatEndsWithTheSweepHasARow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pictures(t, dir)
	start(t, dir, "sweep", write(t, dir, small), "--engine", "cpu").done()
	folder := filepath.Join(dir, "runs", "sweep-s")
	plan, err := ReadPlan(folder)
	if err != nil {
		t.Fatal(err)
	}
	run, err := runlog.Resume(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &coordinator{Options: Options{Results: filepath.Join(dir, "r.csv")}, Folder: Folder{folder}, plan: plan,
		env: quiet(), run: run, open: map[string]bool{plan.Runs[1].ID: true}}
	if err := c.endedLast(); err != nil || c.done != 1 || len(c.open) != 0 {
		t.Errorf("%d done, %v", c.done, err)
	}
	if all := rows(t, dir); len(all) != 1 || all[0].Identity.ID() != plan.Runs[1].ID {
		t.Errorf("%+v", all)
	}
	if err := run.Finish(nil, false); err != nil {
		t.Error(err)
	}
}
