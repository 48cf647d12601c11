package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// Trainer is a network compiled for the runs of a Train.
type Trainer struct {
	*Train
	env        *Env
	set        *images.Set
	engine     *engine.Engine
	session    *train.Session
	init       *train.Init
	rates      *Rates
	stream     bool   // pictures are read as they are needed
	feedReason string // where they are, and why
	mustStore  bool   // a run fails if its numbers cannot be written
	results    []TrainResult
	remaining  []string // commands for what an interrupt or a full disk prevented
}

// Close frees the engine's memory.
func (w *Trainer) Close() {
	w.session.Close()
	_ = w.set.Close() // it was only read
}

// Serves reports whether the compiled step is the one for these settings, too: they differ in p, learning rate, seed
// and the like alone.
func (w *Trainer) Serves(t *Train) bool {
	one := *t
	if one.Precision == "auto" {
		one.Precision = w.Precision
	}
	return settings.Graph(w.Train) == settings.Graph(&one) && w.DataDir == t.DataDir
}

// Reuse returns a trainer with the same compiled step for other settings that it serves, and learning rates that it may
// share with others.
func (w *Trainer) Reuse(t *Train, rates *Rates) *Trainer {
	other, one := *w, *t
	one.Precision = w.Precision
	other.Train, other.rates, other.results, other.remaining = &one, rates, nil, nil
	return &other
}

// all runs every p and seed. If one fails, the others still run. After an interrupt w.remaining has the commands for
// the rest.
func (w *Trainer) all(ctx context.Context) error {
	var failed []error
	for trial := range w.Trials {
		seed := w.Seed + uint64(trial)
		for k, p := range w.P {
			r, err := w.start(ctx, p, seed, func(info runlog.Info) (*runlog.Run, error) {
				return runlog.Create(w.Runs, fmt.Sprintf("train-%s-p%v-s%d", w.Model, p, seed), info)
			})
			if err != nil && ctx.Err() != nil {
				w.noteRemaining(r, trial, k)
				return errors.Join(append(failed, err)...)
			}
			if err != nil {
				w.fail(&r, err)
				failed = append(failed, err)
			}
			w.results = append(w.results, r)
		}
	}
	return errors.Join(failed...)
}

// resumeRun resumes a stopped run.
func (w *Trainer) resumeRun(ctx context.Context, old *stoppedTrain) error {
	r, err := w.resume(ctx, old)
	if err != nil && ctx.Err() != nil {
		w.remaining = []string{w.resumeLine(r.Run)}
		return err
	}
	if err != nil {
		w.fail(&r, err)
	}
	w.results = append(w.results, r)
	return err
}

// resumeLine is the command that resumes a run.
func (w *Trainer) resumeLine(run string) string {
	line := "bregman train --resume " + settings.Quote(run)
	if w.CheckSteps {
		line += " --check-steps"
	}
	return line
}

// fail notes why a run failed. One that could not write its weights can be resumed once there is room for them.
func (w *Trainer) fail(r *TrainResult, err error) {
	r.Error = err.Error()
	if r.Run != "" && NotWritten(err) {
		w.remaining = append(w.remaining, w.resumeLine(r.Run))
	}
}

// noteRemaining notes the commands for what remains to do after an interrupt in the k-th p of a trial.
func (w *Trainer) noteRemaining(r TrainResult, trial, k int) {
	if r.Run != "" {
		w.remaining = append(w.remaining, w.resumeLine(r.Run))
		k++
	}
	w.noteRuns(w.P[k:], 1, w.Seed+uint64(trial))
	w.noteRuns(w.P, w.Trials-trial-1, w.Seed+uint64(trial)+1)
}

// noteRuns notes the commands for runs that have not started. A learning rate that was found is part of them: the first
// seed decides it.
func (w *Trainer) noteRuns(ps []float64, trials int, seed uint64) {
	rest := *w.Train
	rest.P, rest.Trials, rest.Seed = nil, trials, seed
	for _, p := range ps {
		found, ok := w.rates.known(p)
		if w.LR != settings.Auto || !ok {
			rest.P = append(rest.P, p)
			continue
		}
		one := rest
		one.P, one.LR = []float64{p}, settings.Rate(found.Rate)
		if trials > 0 {
			w.remaining = append(w.remaining, settings.CommandLine("train", one))
		}
	}
	if len(rest.P) > 0 && trials > 0 {
		w.remaining = append(w.remaining, settings.CommandLine("train", rest))
	}
}

// start runs from the beginning, in the folder that create returns.
func (w *Trainer) start(ctx context.Context, p float64, seed uint64, create func(runlog.Info) (*runlog.Run,
	error)) (r TrainResult, err error) {
	r = TrainResult{P: p, Seed: seed, LR: float64(w.LR)}
	defer func() { err = w.describeError(err, p, seed) }()
	one := *w.Train
	one.P, one.Trials, one.Seed = []float64{p}, 1, seed
	one.Data, one.DataDir, one.Init = AbsoluteData(one.Data), Absolute(one.DataDir), Absolute(one.Init)
	search, err := w.searchRate(ctx, p)
	if err != nil {
		return r, err
	}
	if search != nil {
		one.LR = settings.Rate(search.Rate)
		r.LR = search.Rate
	}
	info := runlog.Info{Command: "train", Settings: one, Seed: seed, Data: w.set.Name, DataHash: w.set.Hash,
		Engine: w.engine.Name, Version: w.env.Version}
	if dir, _ := origin(one.Init); dir != "" {
		info.From = filepath.Base(dir)
	}
	run, err := create(info)
	if err != nil {
		return r, err
	}
	r.Run, run.Say = run.Dir, w.env.Say
	if err := w.PutLabels(run, w.which(p, seed)); err != nil {
		run.Lost("about.json", err)
	}
	if search != nil {
		if err := run.WriteJSON(RateFile, search); err != nil {
			run.Lost(RateFile, err)
		}
	}
	err = w.observed(run, w.plan(p, seed, float64(one.LR)), &r, func(plan train.Plan, o train.Observer) (train.Result,
		error) {
		return w.session.Run(ctx, plan, run, o)
	})
	return r, w.finished(run, err, ctx.Err() != nil)
}

// which tells a run from the others of the command.
func (w *Trainer) which(p float64, seed uint64) string {
	var out string
	if len(w.P) > 1 {
		out += fmt.Sprintf(", p = %v", p)
	}
	if w.Trials > 1 {
		out += fmt.Sprintf(", seed %d", seed)
	}
	return out
}

// describeError adds p and the seed to the error of a run. If the run diverged, it also names other reasons than the
// learning rate.
func (w *Trainer) describeError(err error, p float64, seed uint64) error {
	if err == nil {
		return nil
	}
	more := w.outOfMemory(err)
	if bad := (*train.Diverged)(nil); errors.As(err, &bad) {
		if w.WeightDecay > 0 || w.DualDecay > 0 {
			more += ", or less decay"
		}
		if p < 1.1 {
			more += ", or a p further from 1"
		}
	}
	return fmt.Errorf("p = %v, seed %d: %w%s", p, seed, err, more)
}

// outOfMemory says what helps if the error is that a GPU's memory is full.
func (w *Trainer) outOfMemory(err error) string {
	if !strings.Contains(err.Error(), "RESOURCE_EXHAUSTED") {
		return ""
	}
	return "\nThe GPU's memory is full: " + w.smallerBatch() + ", let fewer runs share the GPU (--jobs of a sweep), or " +
		"let this program take more of it (" + engine.GPUMemory + ")"
}

// plan is the run of p and seed.
func (w *Trainer) plan(p float64, seed uint64, lr float64) train.Plan {
	every := w.env.SaveEvery
	if every == 0 {
		every = saveEvery
	}
	return train.Plan{P: p, LR: lr, Seed: seed, Epochs: w.Epochs, Patience: w.Patience,
		Schedule: w.schedule(w.session.PerEpoch), Init: w.init, Prune: must(w.pruning()), Study: !w.NoStudy,
		Check: w.CheckSteps, Fingerprint: w.fingerprint(), SaveEvery: every}
}

// saveEvery is how much work a killed run may lose, beside the epoch that runs.
const saveEvery = 15 * time.Second

// fingerprint is what a checkpoint depends on beside p, learning rate, seed and epochs.
func (w *Trainer) fingerprint() map[string]string {
	out := map[string]string{"data_hash": w.set.Hash}
	for _, key := range []string{"model", "batch", "schedule", "peak", "momentum", "dual_decay", "weight_decay",
		"adaptive", "nesterov", "no_augment", "flips", "unit", "validate", "patience", "resolution", "test_resolution",
		"label_smoothing", "dropout", "blur_pool", "prune_to", "prune_during"} {
		out[key] = settings.Get(w.Train, key)
	}
	return out
}

// Files of a run folder: its result, the search that chose its learning rate, and the study of its weights.
const (
	ResultFile = "tables/result.json"
	RateFile   = "tables/lr.json"
	StudyFile  = "tables/study.json"
)

// The rounds of the search for a learning rate have these shares of a run's epochs. A short run has at least two
// epochs, and so many steps if the run has them.
var searchShares = []int{30, 8, 2}

const shortSteps = 150

// heldForSearch is how many training images a search holds back if the run holds back none: at most a tenth of them.
const heldForSearch = 5000

// searchRate finds the learning rate of p, once; it is nil if the rate was given.
func (w *Trainer) searchRate(ctx context.Context, p float64) (*train.RateSearch, error) {
	if w.LR != settings.Auto {
		return nil, nil
	}
	t, err := w.rates.find(p, func() (train.RateSearch, error) { return w.search(ctx, p) })
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// search finds the learning rate of p by short runs.
func (w *Trainer) search(ctx context.Context, p float64) (train.RateSearch, error) {
	var plans []train.Plan
	var lengths []string
	rounds, _ := SearchEpochs(w.Epochs, w.session.PerEpoch)
	for _, epochs := range rounds {
		t := *w.Train
		t.Epochs = epochs
		run := w.plan(p, w.Seed, 0)
		run.Epochs, run.Schedule = epochs, t.schedule(w.session.PerEpoch)
		if w.Validate == 0 {
			run.HoldBack = max(min(heldForSearch, w.set.Train.Len()/10), len(w.set.Classes))
		}
		plans, lengths = append(plans, run), append(lengths, fmt.Sprint(epochs))
	}
	w.env.Say("p = %v: looking for a learning rate, by short runs of %s epochs, tested on %s training images that are "+
		"held back", p, strings.Join(slices.Compact(lengths), ", "), render.Thousands(max(w.Validate, plans[0].HoldBack)))
	first, err := w.firstRate(p, plans[0])
	if err != nil {
		return train.RateSearch{}, fmt.Errorf("--lr auto: %w", err)
	}
	t, err := w.session.SearchRate(ctx, plans, first, func(r train.TriedRate) {
		if r.Diverged {
			w.env.Say("  %-7v %s: diverges", r.Rate, render.Count(r.Epochs, "epoch"))
		} else {
			w.env.Say("  %-7v %s: %.2f %%", r.Rate, render.Count(r.Epochs, "epoch"), 100*r.Accuracy)
		}
	})
	if err != nil {
		return t, fmt.Errorf("--lr auto: %w", err)
	}
	w.env.Say("p = %v: learning rate %v", p, t.Rate)
	return t, nil
}

// firstRate is where a search begins: the recipe's rate. For p above 2 in the paper's unit it is less, so that weights
// of the size that they begin with move as they do for p = 2.
func (w *Trainer) firstRate(p float64, run train.Plan) (float64, error) {
	rate := must(nets.ByName(w.Model)).Recipe.LR
	if p <= 2 || w.Unit != "" {
		return rate, nil
	}
	size, err := w.session.WeightSize(run)
	return rate * math.Pow(size, p-2), err
}

// SearchEpochs are the epochs of the rounds of a search for a learning rate, and about how many all its runs have.
func SearchEpochs(epochs, perEpoch int) (rounds []int, all int) {
	least := max(2, min(epochs, (shortSteps+perEpoch-1)/perEpoch))
	for k, share := range searchShares {
		one := max(least, epochs/share)
		if k == 0 || one > rounds[k-1] { // else few of its runs are new
			all += 4 * one
		}
		rounds = append(rounds, one)
	}
	return rounds, all
}

// ReadResult reads a run folder of train that is done; ok is false if there is none, or if it is not done.
func ReadResult(dir string) (r TrainResult, ok bool, err error) {
	info, err := runlog.ReadInfo(dir)
	if err != nil || info.Status != runlog.Done {
		return r, false, nil
	}
	err = readJSON(filepath.Join(dir, filepath.FromSlash(ResultFile)), &r)
	r.Run = dir // it may have been moved
	return r, err == nil, err
}

// RunIn is the run of p and seed in exactly this folder: resumed if it has a checkpoint, else started. One that is done
// keeps its weights and no checkpoints: many runs of a large network would fill a disk.
func (w *Trainer) RunIn(ctx context.Context, dir string, p float64, seed uint64) (TrainResult, error) {
	whole := *w
	whole.mustStore = true
	r, err := whole.in(ctx, dir, p, seed)
	if err == nil {
		err = train.DropCheckpoints(dir)
	}
	return r, err
}

func (w *Trainer) in(ctx context.Context, dir string, p float64, seed uint64) (TrainResult, error) {
	old, err := findStoppedTrain(dir)
	if busy := (*runlog.BusyError)(nil); errors.As(err, &busy) {
		return TrainResult{}, err
	}
	if err == nil {
		defer old.run.Release()
		if err := old.checkData(w.set); err != nil {
			return TrainResult{}, err
		}
		inner := *w
		if inner.Train, err = old.settings(w.Train); err != nil {
			return TrainResult{}, err
		}
		return inner.resume(ctx, old)
	}
	if w.LR == settings.Auto {
		w.rememberRate(filepath.Dir(dir), p)
	}
	if err := os.RemoveAll(dir); err != nil { // nothing to resume from
		return TrainResult{}, err
	}
	return w.start(ctx, p, seed, func(info runlog.Info) (*runlog.Run, error) { return runlog.CreateAt(dir, info) })
}

// rememberRate takes the learning rate that another run in the same folder has found for p.
func (w *Trainer) rememberRate(beside string, p float64) {
	all, _ := filepath.Glob(filepath.Join(beside, "*", filepath.FromSlash(RateFile)))
	for _, path := range all {
		var t train.RateSearch
		if readJSON(path, &t) == nil && t.P == p && t.Rate > 0 {
			_, _ = w.rates.find(p, func() (train.RateSearch, error) { return t, nil })
			return
		}
	}
}

// ReadStudy reads the study of a run back.
func ReadStudy(dir string) (s train.Study, err error) {
	return s, readJSON(filepath.Join(dir, filepath.FromSlash(StudyFile)), &s)
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// observed does the work of a run: it shows its progress, fills in the result and writes the report.
func (w *Trainer) observed(run *runlog.Run, plan train.Plan, r *TrainResult,
	work func(train.Plan, train.Observer) (train.Result, error)) error {
	events := train.NewEvents(run)
	defer events.Close()
	defer WatchUsage(run, 2*time.Second, w.engine.Name == engine.CUDA).Stop()
	shown := &trainBars{env: w.env, plan: plan, perEpoch: w.session.PerEpoch}
	out, err := work(plan, train.Observers{shown, events})
	shown.end()
	if err != nil {
		return err
	}
	last := out.Last()
	*r = TrainResult{P: plan.P, Seed: plan.Seed, LR: plan.LR, Loss: last.Epoch.Loss, Accuracy: last.Epoch.Accuracy,
		TestLoss: out.Test.Loss, TestAccuracy: out.Test.Accuracy, FlipAccuracy: out.Flip.Accuracy, ImgPerSecond: out.Rate,
		ShiftAccuracy: out.Shifted.Accuracy, Top5: out.Test.Top5, FlipTop5: out.Flip.Top5, Seconds: out.Seconds,
		Run: run.Dir, Warning: out.Warning, Checked: out.Checked, Differ: out.Differ}
	if text := w.seenBefore(plan.Seed); text != "" {
		r.Warning = strings.TrimPrefix(r.Warning+"; "+text, "; ")
	}
	if v := last.Validation; v != nil {
		r.ValidationLoss, r.ValidationAccuracy = &v.Loss, &v.Accuracy
	}
	r.setBest(out, plan)
	if last.Zeros != nil {
		r.Zeros = *last.Zeros
	}
	if out.Study != nil {
		if err := w.store(run, StudyFile, out.Study); err != nil {
			return err
		}
	}
	if err := w.storePreparation(run); err != nil {
		return err
	}
	if len(out.Answers.Class) > 0 {
		if err := w.store(run, AnswersFile, newTestAnswers(w.set, out.Answers)); err != nil {
			return err
		}
	}
	stored := *r
	stored.Run = "" // the folder may be moved
	return w.store(run, ResultFile, stored)
}

// finished ends a run, and tells the observer if it is done.
func (w *Trainer) finished(run *runlog.Run, err error, interrupted bool) error {
	bad := (*train.Diverged)(nil)
	run.Info.Diverged = errors.As(err, &bad)
	err = run.Finish(err, interrupted)
	if err == nil {
		w.env.Finished(run.Dir)
	}
	return err
}

// trainBars shows a run on the console: a bar for its epochs, and one for its study.
type trainBars struct {
	env      *Env
	plan     train.Plan
	perEpoch int
	bar      Bar
	study    bool
	note     string
}

var _ train.Observer = (*trainBars)(nil)

func (b *trainBars) name() string { return fmt.Sprintf("p = %v, seed %d", b.plan.P, b.plan.Seed) }

func (b *trainBars) Step(epoch, step int) {
	done := int64((epoch-1)*b.perEpoch + step)
	if b.bar == nil { // of a resumed run the epochs before are done
		b.bar = b.env.Bar(b.name(), int64((epoch-1)*b.perEpoch), int64(b.plan.Epochs*b.perEpoch))
	}
	b.bar.Set(done, b.note)
}

func (b *trainBars) Epoch(r train.Record) {
	if !r.Unevaluated {
		score, on := r.Curve()
		b.note = fmt.Sprintf("loss %.3f, %s %.2f %%, %s img/s%s", r.Epoch.Loss, on, 100*score.Accuracy,
			render.Thousands(int(r.Rate)), limited(r))
		if r.Zeros != nil {
			b.note += fmt.Sprintf(", %.1f %% zeros", 100**r.Zeros)
		}
	}
}

func (b *trainBars) Studying(share float64) {
	if !b.study {
		b.end()
		b.study, b.bar = true, b.env.Bar(b.name()+": study of the weights", 0, 1000)
	}
	b.bar.Set(int64(1000*share), "")
}

func (b *trainBars) Say(text string) { b.env.Say("%s: %s", b.name(), text) }

func (b *trainBars) end() {
	if b.bar != nil {
		b.bar.End()
	}
}

// store writes numbers that other commands read. If they cannot be written, a run of a sweep fails, and is repeated;
// another run is done without them.
func (w *Trainer) store(run *runlog.Run, name string, v any) error {
	err := run.WriteJSON(name, v)
	if err != nil && !w.mustStore {
		run.Lost(name, err)
		return nil
	}
	return err
}

// RunningMean describes the accuracy and loss of training.
func (t *Train) RunningMean() string {
	if t.NoAugment {
		return "means over the last epoch's batches, as the weights changed"
	}
	return "means over the last epoch's augmented batches, as the weights changed"
}
