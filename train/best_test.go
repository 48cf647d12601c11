package train

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/runlog"
)

// bumpy is a session and a run whose validation accuracy goes up and down: its best epoch is not the last.
func bumpy(t *testing.T) (*Session, Plan) {
	t.Helper()
	s := quick
	s.Validate = 60
	x := session(t, small(t, 300, 60), s)
	t.Cleanup(x.Close)
	plan := quickRun(x, 2)
	plan.LR, plan.Epochs = 1.5, 8
	plan.Schedule = optim.Triangular(plan.Epochs*x.PerEpoch, 0)
	return x, plan
}

// snapshots copies the folder of a run at the end of each epoch, before its checkpoint: what kill -9 leaves.
type snapshots struct {
	Silent
	t   *testing.T
	dir string
	to  string
}

func (s snapshots) Epoch(r Record) {
	if err := os.CopyFS(filepath.Join(s.to, fmt.Sprint(r.Epoch.Epoch)), os.DirFS(s.dir)); err != nil {
		s.t.Error(err)
	}
}

// The weights of the best epoch are those that gave its accuracy, and they survive a kill -9 after any epoch bit for
// bit.
func TestTheBestWeightsAreKept(t *testing.T) {
	x, plan := bumpy(t)
	folder, err := runlog.CreateAt(filepath.Join(t.TempDir(), "run"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	killed := snapshots{t: t, dir: folder.Dir, to: t.TempDir()}
	whole, err := x.Run(t.Context(), plan, folder, killed)
	if err != nil {
		t.Fatal(err)
	}
	best := whole.Best
	for _, r := range whole.Records {
		if r.Validation.Accuracy > best.Validation.Accuracy ||
			r.Validation.Accuracy == best.Validation.Accuracy && r.Epoch.Epoch < best.Epoch {
			t.Errorf("epoch %d has %v, the best, %d, has %v", r.Epoch.Epoch, r.Validation.Accuracy, best.Epoch,
				best.Validation.Accuracy)
		}
	}
	if best.Epoch == plan.Epochs || best.Epoch == 1 {
		t.Fatalf("the best epoch is %d: this run tests nothing", best.Epoch)
	}
	if now, err := x.Evaluate(t.Context(), false); err != nil || now != whole.Test {
		t.Errorf("the session has not the weights of the last epoch any more: %+v, %+v, %v", now, whole.Test, err)
	}
	want := read(t, folder.Path(BestFile))
	checkBest(t, x, folder.Path(BestFile), *best)
	if left, _ := filepath.Glob(folder.Path("checkpoints/best-*")); len(left) > 0 {
		t.Errorf("%v stay", left)
	}

	for epoch := 1; epoch <= plan.Epochs; epoch++ {
		resumesToTheSame(t, x, plan, filepath.Join(killed.to, fmt.Sprint(epoch)), *best, want)
	}

	plan.SaveEvery = time.Hour // checkpoints after the first and the last epoch only
	folder, err = runlog.CreateAt(filepath.Join(t.TempDir(), "run"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	killed = snapshots{t: t, dir: folder.Dir, to: t.TempDir()}
	if _, err := x.Run(t.Context(), plan, folder, killed); err != nil {
		t.Fatal(err)
	}
	for _, epoch := range []int{best.Epoch, plan.Epochs} {
		resumesToTheSame(t, x, plan, filepath.Join(killed.to, fmt.Sprint(epoch)), *best, want)
	}
}

func resumesToTheSame(t *testing.T, x *Session, plan Plan, dir string, best Best, want []byte) {
	t.Helper()
	run, err := runlog.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := x.Resume(t.Context(), plan, ReadStopped(run), Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if *r.Best != best || !bytes.Equal(read(t, run.Path(BestFile)), want) {
		t.Errorf("%s: %+v, unbroken %+v", dir, *r.Best, best)
	}
	if err := run.Finish(nil, false); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkBest loads a file of weights and compares what they score.
func checkBest(t *testing.T, x *Session, path string, want Best) {
	t.Helper()
	in, err := ReadInit(path)
	if err == nil {
		err = x.setInit(in)
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := x.Validate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	test, err := x.Evaluate(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if v != want.Validation || test != want.Test {
		t.Errorf("its weights have %+v and %+v, its record %+v", v, test, want)
	}
}

// A run whose best weights are gone says so, and does not pass others off as the best.
func TestBestWeightsThatAreGone(t *testing.T) {
	x, plan := bumpy(t)
	folder, err := runlog.CreateAt(filepath.Join(t.TempDir(), "run"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := x.Run(t.Context(), plan, folder, Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(folder.Path(BestFile)); err != nil {
		t.Fatal(err)
	}
	r, err := x.Resume(t.Context(), plan, ReadStopped(folder), Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if b := r.Best; !b.Lost || b.Epoch != whole.Best.Epoch || b.Test != (Score{}) {
		t.Errorf("%+v", *b)
	}
	if _, err := os.Stat(folder.Path(BestFile)); !os.IsNotExist(err) {
		t.Errorf("%s: %v", BestFile, err)
	}
}

// With patience a run ends when its best epoch is so far behind, also if it is killed at its end; its best is that of
// the whole run up to there.
func TestARunStopsEarly(t *testing.T) {
	x, plan := bumpy(t)
	whole, err := x.Run(t.Context(), plan, nil, Silent{})
	if err != nil {
		t.Fatal(err)
	}
	end := 0
	plan.Patience = 2
	for k := range whole.Records {
		if plan.stopsEarly(whole.Records[:k+1]) {
			end = k + 1
			break
		}
	}
	if end == 0 || end == plan.Epochs {
		t.Fatalf("it stops after %d epochs: this run tests nothing", end)
	}
	folder, err := runlog.CreateAt(filepath.Join(t.TempDir(), "run"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	short, err := x.Run(t.Context(), plan, folder, Silent{})
	if err != nil || len(short.Records) != end || *short.Last().Validation != *whole.Records[end-1].Validation {
		t.Errorf("%d epochs, want %d, %v", len(short.Records), end, err)
	}
	again, err := x.Resume(t.Context(), plan, ReadStopped(folder), Silent{})
	if err != nil || len(again.Records) != end || *again.Best != *short.Best || again.Test != short.Test {
		t.Errorf("resumed at its end: %d epochs, %+v, %v", len(again.Records), again.Best, err)
	}
}

// Of a run that prunes, only epochs with all its zeros can be the best.
func TestTheBestOfARunThatPrunesIsPruned(t *testing.T) {
	p := Plan{Epochs: 10, Prune: Pruning{To: 0.8, From: 0.1, Until: 0.75}}
	var records []Record
	for k := range 10 {
		records = append(records, Record{Epoch: Epoch{Epoch: k + 1}, Validation: &Validation{Accuracy: 1 - float64(k)/100}})
	}
	if k := p.best(records); k != 7 { // 0.75 of the run are over in epoch 8
		t.Errorf("epoch %d", k+1)
	}
	if p.Prune.To = 0; p.best(records) != 0 {
		t.Error("without pruning it is the first")
	}
	records[0].Unevaluated = true
	if p.best(records) != 1 {
		t.Error("an epoch that was not evaluated is not the best")
	}
}
