// Package looplog puts the training loop of any GoMLX program into a run folder of bregman, which "bregman serve" shows
// while it grows and "bregman report" compares with others:
//
//	run, err := looplog.Start(ctx, trainer, looplog.Settings{Name: "my-network"})
//	if err != nil { … }
//	_, err = run.Loop.RunToGlobalStep(data, 5000)
//	err = run.Finish(err)
//
// The folder gets the loss and the trainer's metrics, the learning rate, the sizes of the weights of each kernel, and a
// checkpoint from which Settings.Resume goes on. Once ctx is cancelled, by Ctrl-C say, the loop stops after the step
// that is running, with a checkpoint of it.
package looplog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/bregman-ml/bregman/runlog"
)

// Settings are how a loop is followed. The zero value is good.
type Settings struct {
	Root     string        // the folder of the run folders; "runs" if empty
	Name     string        // what the run is called in its folder's name
	Settings any           // what the page shows as settings of the run, such as a map of hyperparameters
	Seed     uint64        // of the run, so that runs that differ in it alone are shown as trials
	Data     string        // what it is trained on
	Version  string        // of your program
	Every    int           // steps between two lines of metrics; 0: ten
	Weights  int           // steps between two looks at the weights; 0: ten lines of metrics, negative: none
	Save     time.Duration // time between two checkpoints; 0: 15 seconds, negative: none, for programs with GoMLX's own
	Resume   string        // the folder of a run to go on with
}

// command is what the pages know such runs by.
const command = "gomlx"

// Run is a loop and its run folder.
type Run struct {
	Loop *train.Loop

	ctx    context.Context
	s      Settings
	folder *runlog.Run
	store  *model.Store
	extra  map[string]float64
	before float64 // seconds of the legs before this one
	began  time.Time
	saved  time.Time
	finite bool
}

// Dir is the run folder.
func (r *Run) Dir() string { return r.folder.Dir }

// Start makes a run folder and a loop of the trainer that fills it. With Settings.Resume it goes on with a run: the
// trainer's variables get their values from its checkpoint, those that do not exist yet when they are made. So call it
// before the first step. The data set is the program's: where it begins is not part of a checkpoint.
func Start(ctx context.Context, trainer *train.Trainer, s Settings) (*Run, error) {
	r := &Run{ctx: ctx, s: s, store: trainer.Store(), extra: map[string]float64{}, finite: true}
	if r.s.Root == "" {
		r.s.Root = "runs"
	}
	if r.s.Every <= 0 {
		r.s.Every = 10
	}
	if r.s.Weights == 0 {
		r.s.Weights = 10 * r.s.Every
	}
	if r.s.Save == 0 {
		r.s.Save = 15 * time.Second
	}
	if err := r.open(trainer.Backend().Name()); err != nil {
		return nil, err
	}
	r.began, r.saved = time.Now(), time.Now()
	r.Loop = train.NewLoop(trainer)
	const late = 1000 // after the hooks of the program, which may Add numbers
	r.Loop.OnStep("bregman run folder", late, r.step)
	return r, nil
}

// open makes the folder, or takes that of the run to go on with.
func (r *Run) open(engine string) (err error) {
	if r.s.Resume == "" {
		r.folder, err = runlog.Create(r.s.Root, r.s.Name, runlog.Info{Command: command, Settings: r.s.Settings,
			Seed: r.s.Seed, Data: r.s.Data, Engine: engine, Version: r.s.Version})
		return err
	}
	folder, err := runlog.Lock(r.s.Resume)
	if err != nil {
		return err
	}
	step, err := r.restore(folder.Path(checkpointFile))
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%s has no checkpoint: the run cannot be resumed", r.s.Resume)
	}
	var lines []any
	if err == nil {
		lines, r.before, err = linesUpTo(r.s.Resume, step)
	}
	if err == nil {
		err = folder.Reopen(lines, engine, r.s.Version)
	}
	if err != nil {
		return errors.Join(err, folder.Release())
	}
	r.folder = folder
	return nil
}

// linesUpTo reads the metrics of a run but those after a step, which the run makes again, and the seconds it has taken.
func linesUpTo(dir string, step int) (lines []any, elapsed float64, err error) {
	err = runlog.ReadMetrics(dir, func(line json.RawMessage) error {
		var at struct {
			Step    *float64 `json:"step"`
			Elapsed float64  `json:"elapsed"`
		}
		if json.Unmarshal(line, &at) == nil && at.Step != nil && *at.Step > float64(step) {
			return nil
		}
		lines, elapsed = append(lines, json.RawMessage(append([]byte(nil), line...))), max(elapsed, at.Elapsed)
		return nil
	})
	return lines, elapsed, err
}

// Add puts a number, such as a test accuracy, into the next line of metrics, from a hook of the loop with a priority
// below 1000. Numbers that are not finite are left out.
func (r *Run) Add(name string, value float64) { r.extra[name] = value }

// step follows each step of the loop.
func (r *Run) step(loop *train.Loop, metrics []*tensors.Tensor) error {
	done := loop.LoopStep + 1
	loss := number(metrics[0])
	r.finite = loss-loss == 0
	stopped := context.Cause(r.ctx) // asked once: who stops from here on is heard at the next step, with a checkpoint
	last := done == loop.EndStep || !r.finite || stopped != nil
	if r.s.Weights > 0 && r.finite && (last || done%r.s.Weights == 0) {
		if err := r.weights(done); err != nil {
			return err
		}
	}
	if last || done%r.s.Every == 0 || len(r.extra) > 0 {
		if err := r.line(loop, done, metrics); err != nil {
			return err
		}
	}
	if !r.finite { // the loop says so and ends; the checkpoint stays that of better times
		return nil
	}
	if r.s.Save > 0 && (last || time.Since(r.saved) >= r.s.Save) {
		if err := r.save(done); err != nil {
			return err
		}
	}
	return stopped
}

// line appends the metrics of a step.
func (r *Run) line(loop *train.Loop, step int, metrics []*tensors.Tensor) error {
	line := map[string]any{"name": "training", "step": step}
	put := func(name string, v float64) {
		if v-v == 0 {
			line[name] = v
		}
	}
	names := loop.Trainer.TrainMetrics()
	for k, m := range metrics {
		switch {
		case k == 0:
			put("loss", number(m))
		case k == 1:
			put("mean_loss", number(m))
		case k < len(names):
			put(column(names[k].Name()), number(m))
		}
	}
	if v := r.store.GetVariable(model.JoinPath(model.RootScopePath, optimizer.Scope,
		optimizer.ParamLearningRate)); v != nil && v.HasValue() {
		rate, err := v.Value()
		if err != nil {
			return err
		}
		put("lr", number(rate))
	}
	put("elapsed", r.before+time.Since(r.began).Seconds())
	for name, v := range r.extra {
		put(name, v)
	}
	clear(r.extra)
	return r.folder.Append(line)
}

// column is the name of a metric as the name of a column.
func column(name string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return c - 'A' + 'a'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		}
		return '_'
	}, name), "_")
}

// number is the value of a metric, NaN if it is not a scalar.
func number(t *tensors.Tensor) (v float64) {
	if t == nil || !t.Shape().IsScalar() {
		return math.NaN()
	}
	return shapes.ConvertTo[float64](t.Value())
}

// weights appends a line with the sizes of the weights of each kernel, which the pages draw as curves of their own.
func (r *Run) weights(step int) error {
	for v := range r.store.IterVariables() {
		if !v.Trainable || v.Shape().Rank() < 2 || !v.HasValue() || v.DType() != dtypes.Float32 {
			continue
		}
		value, err := v.Value()
		if err != nil {
			return err
		}
		var counter runlog.SizeCounter
		square, most, n := 0.0, 0.0, 0
		if err := tensors.ConstFlatData(value, func(w []float32) {
			counter.Add(w)
			n = len(w)
			for _, x := range w {
				square += float64(x) * float64(x)
				most = max(most, math.Abs(float64(x)))
			}
		}); err != nil {
			return err
		}
		if err := r.folder.Append(map[string]any{"name": strings.TrimPrefix(v.Path(), "/"), "step": step,
			"rms": math.Sqrt(square / float64(max(n, 1))), "max": most, "sizes": counter.Sizes()}); err != nil {
			return err
		}
	}
	return nil
}

// Finish says in the folder how the loop ended: with a nil error, interrupted, or failed, and returns the error. A run
// that was interrupted, killed or failed can be resumed from its last checkpoint.
func (r *Run) Finish(err error) error {
	r.folder.Info.Diverged = err != nil && !r.finite
	return r.folder.Finish(err, err != nil && r.ctx.Err() != nil && errors.Is(err, context.Cause(r.ctx)))
}
