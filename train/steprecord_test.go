package train

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/runlog"
)

func newFolder(t *testing.T) *runlog.Run {
	t.Helper()
	folder, err := runlog.Create(t.TempDir(), "x", runlog.Info{Command: "train"})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// recorded reads the step file of a run.
func recorded(t testing.TB, folder *runlog.Run) (out []StepRecord) {
	t.Helper()
	f, err := os.Open(folder.Path(StepsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r StepRecord
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		out = append(out, r)
	}
	return out
}

// A line for each step of a short run, once, however often the log is read and whether the engine waits for its steps;
// their losses have the epochs' means, and the weights are those of a run that records nothing.
func TestEveryStepOfAShortRunIsRecordedOnce(t *testing.T) {
	plain := session(t, small(t, 120, 47), quick)
	r := quickRun(plain, 3)
	if _, err := plain.Run(t.Context(), r, nil, Silent{}); err != nil {
		t.Fatal(err)
	}
	want := weights(t, plain)
	late, _ := lateSession(t, 2, quick)
	for name, x := range map[string]*Session{"awaited": plain, "queued": late} {
		for _, every := range []time.Duration{time.Nanosecond, time.Hour} {
			x.readEvery = every
			for _, check := range []bool{false, true} {
				r.Check = check
				folder := newFolder(t)
				out, err := x.Run(t.Context(), r, folder, Silent{})
				if err != nil {
					t.Fatal(err)
				}
				if weights(t, x) != want {
					t.Errorf("%s, every %v: other weights", name, every)
				}
				lines := recorded(t, folder)
				if len(lines) != r.Epochs*x.PerEpoch {
					t.Fatalf("%s, every %v: %d lines of %d steps", name, every, len(lines), r.Epochs*x.PerEpoch)
				}
				sum, last := 0.0, 0.0
				for k, l := range lines {
					if l.Step != k+1 || l.Epoch-float64(l.Step)/float64(x.PerEpoch) > 1e-7 || !(*l.Gradient > 0) ||
						l.Seconds < last || l.Left == nil || *l.Left < 0 {
						t.Fatalf("line %d: %+v", k+1, l)
					}
					last = l.Seconds
					if sum += *l.Loss; l.Step%x.PerEpoch == 0 { // of losses in seven digits
						if e := out.Records[l.Step/x.PerEpoch-1].Epoch; math.Abs(sum/float64(x.PerEpoch)-e.Loss) > 1e-6*e.Loss {
							t.Errorf("epoch %d: mean %v, want %v", e.Epoch, sum/float64(x.PerEpoch), e.Loss)
						}
						sum = 0
					}
				}
				folder.Finish(nil, false)
			}
		}
	}
}

// For p = 2 without momentum and decay a step is w − ηg, so the weights tell what the gradient was.
func TestTheGradientNormIsThatOfTheStep(t *testing.T) {
	s := quick
	s.Batch = 100
	s.Optimizer = optim.Mirror().Schedule(optim.Triangular(1, 0))
	x := session(t, small(t, 100, 47), s)
	r := Plan{P: 2, LR: 1, Seed: 3, Epochs: 1, Schedule: optim.Triangular(1, 0)}
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	values := func() (out []float64) {
		for _, v := range nets.Params(x.modelScope()) {
			value, err := v.Value()
			if err != nil {
				t.Fatal(err)
			}
			flat, err := tensors.CopyFlatData[float32](value)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range flat {
				out = append(out, float64(w))
			}
		}
		return out
	}
	before := values()
	epochs(t, x, r, 0, 1)
	sum := 0.0
	for k, v := range values() {
		sum += (v - before[k]) * (v - before[k])
	}
	rows, err := x.steps()
	if err != nil {
		t.Fatal(err)
	}
	rate := r.LR * r.Schedule.At(0)
	if got, want := float64(rows[0][len(rows[0])-1])*rate, math.Sqrt(sum); math.Abs(got-want) > 1e-4*want { // of float32
		t.Errorf("the norm times the rate %v is %v, the weights moved by %v", rate, got, want)
	}
}

// A run that is stopped within an epoch has the steps until then; when it is resumed, those after its checkpoint are
// replaced.
func TestAResumedRunContinuesItsSteps(t *testing.T) {
	set := small(t, 120, 47)
	x := session(t, set, quick)
	x.readEvery = time.Nanosecond
	r := quickRun(x, 3)
	folder := newFolder(t)
	ctx, stop := context.WithCancel(t.Context())
	at := 0
	_, err := x.Run(ctx, r, folder, stepping{at: func(epoch, step int) {
		if at++; at == 1 { // short epochs are finished, but for the first
			stop()
		}
	}})
	if !errors.Is(err, context.Canceled) || len(recorded(t, folder)) != 1 {
		t.Fatalf("%v, %d lines", err, len(recorded(t, folder)))
	}
	dir := folder.Dir
	folder.Finish(err, true)

	f, err := os.OpenFile(folder.Path(StepsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"step":2,"epoch":0.3,"loss":null}` + "\nnot a line\n" + `{"step":3,"epo`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for epoch, want := range []int{0, 1, 1} { // after no epoch, and twice after the first
		locked, err := runlog.Lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		_, err = x.Resume(ctx, r, ReadStopped(locked), stepping{at: func(e, step int) {
			if epoch == 1 && e == 3 || epoch == 0 && e == 1 && step == x.PerEpoch {
				stop()
			}
		}})
		lines := recorded(t, locked)
		for k, l := range lines {
			if l.Step != k+1 {
				t.Fatalf("resume %d: line %d is of step %d", epoch, k+1, l.Step)
			}
		}
		if len(lines) < want*x.PerEpoch {
			t.Errorf("resume %d: %d lines", epoch, len(lines))
		}
		if last := epoch == 2; last && (err != nil || len(lines) != r.Epochs*x.PerEpoch) {
			t.Errorf("in the end %d lines, %v", len(lines), err)
		}
		if err := locked.Finish(err, err != nil); epoch == 2 && err != nil {
			t.Error(err)
		}
	}
}

// stepping calls a function after each step.
type stepping struct {
	Silent
	at func(epoch, step int)
}

func (s stepping) Step(epoch, step int) { s.at(epoch, step) }

// A long run has a few thousand lines: every step at first, and then fewer.
func TestALongRunHasAFewThousandLines(t *testing.T) {
	n, first := 0, 0
	for step := 1; step <= 1_000_000; step++ {
		if hasLine(step) {
			n++
			if step <= linesPerStride {
				first++
			}
		}
	}
	if n > 5000 || n < 3000 || first != linesPerStride {
		t.Errorf("%d lines of a million steps, %d of the first %d", n, first, linesPerStride)
	}
}

// What is left is known by the last steps, evaluations once one was seen, and larger pictures that come.
func TestTheTimeLeftIsEstimated(t *testing.T) {
	x := &Session{PerEpoch: 10}
	w := &stepRecorder{x: x, plan: Plan{Epochs: 4}}
	w.pace.add(pacedBlock{1, 100, 0}) // compiles
	w.pace.add(pacedBlock{2, 1, 0})
	if got := w.left(0, 3); math.Abs(got-37*0.5) > 1e-9 {
		t.Errorf("%v seconds left of 37 steps of half a second", got)
	}
	w.pace.evaluation = 2
	if got := w.left(1, 10); math.Abs(got-20*0.5-2*5) > 1e-9 { // after epochs 2, 3 and 4, and two passes
		t.Errorf("%v seconds left of 20 steps and 5 evaluations", got)
	}
	x.settings.Resolution = Resolution{Low: 32, High: 64}
	w = &stepRecorder{x: x, plan: Plan{Epochs: 8}}
	w.pace.add(pacedBlock{10, 10, 32})
	w.pace.add(pacedBlock{10, 10, 32})
	want := 0.0
	for e := 1; e < 8; e++ {
		want += map[int]float64{32: 10, 64: 40}[x.settings.Resolution.At(e, 8)]
	}
	if got := w.left(0, 10); math.Abs(got-want) > 1e-9 || want <= 70 {
		t.Errorf("%v seconds left, want %v", got, want)
	}
}

// A file that cannot be written costs the file, not the run.
func TestARunDoesWithoutItsStepFile(t *testing.T) {
	x := session(t, small(t, 60, 47), quick)
	folder := newFolder(t)
	if err := os.Mkdir(folder.Path(StepsFile), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Run(t.Context(), quickRun(x, 2), folder, Silent{}); err != nil {
		t.Fatal(err)
	}
	folder.Finish(nil, false)
	info, err := runlog.ReadInfo(folder.Dir)
	if err != nil || len(info.Warnings) != 1 || !strings.HasPrefix(info.Warnings[0], StepsFile+" could not be written") {
		t.Errorf("%q, %v", info.Warnings, err)
	}
}

// A loss that is not finite is null, in the line of its step.
func TestALossThatIsNotFiniteIsNull(t *testing.T) {
	s := quick
	s.Optimizer = optim.Mirror().Momentum(0.5).Schedule(optim.Triangular(1, 0))
	x := session(t, small(t, 120, 47), s)
	r := quickRun(x, 1.1)
	r.LR, r.Schedule = 1e4, optim.Triangular(1000, 0)
	folder := newFolder(t)
	_, err := x.Run(t.Context(), r, folder, Silent{})
	if bad := (*Diverged)(nil); !errors.As(err, &bad) {
		t.Fatal(err)
	}
	lines := recorded(t, folder)
	if bad := slices.ContainsFunc(lines, func(l StepRecord) bool { return l.Loss == nil }); lines[0].Loss == nil || !bad {
		t.Errorf("%+v", lines)
	}
	folder.Finish(err, false)
}

// FuzzSteps: whatever the step file of a run holds, a run that is resumed keeps lines of ascending steps up to its
// checkpoint, and nothing else.
func FuzzSteps(f *testing.F) {
	f.Add([]byte(`{"step":1,"epoch":0.5,"loss":1}`+"\n"+`{"step":2,"epoch":1,"loss":null}`+"\n"+`{"step":3,"ep`), 2)
	f.Add([]byte("{}\n[]\nnull\n\x00\n"+`{"step":-1}`+"\n"+`{"step":1,"step":"x"}`), 1)
	run, err := runlog.Create(f.TempDir(), "x", runlog.Info{Command: "train"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, file []byte, last int) {
		if err := os.WriteFile(run.Path(StepsFile), file, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := cutSteps(run, last); err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, r := range recorded(t, run) {
			if r.Step <= at || r.Step > last {
				t.Fatalf("step %d after %d of %d", r.Step, at, last)
			}
			at = r.Step
		}
	})
}
