package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/tfevents"
	"github.com/bregman-ml/bregman/report"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// Trainer is a network compiled for the runs of a Train.
type Trainer struct {
	*Train
	con     *Console
	set     *images.Set
	engine  *engine.Engine
	session *train.Session
	init    *train.Init
	rates   map[float64]train.RangeTest // by p
	results []TrainResult
}

// Close frees the engine's memory.
func (w *Trainer) Close() { w.session.Close() }

// With is the same compiled step for other settings that it serves: another learning rate, other p and seeds.
func (w *Trainer) With(t *Train) *Trainer {
	other := *w
	t.Precision = w.Precision
	other.Train, other.rates, other.results = t, map[float64]train.RangeTest{}, nil
	return &other
}

// epochLine is a line of metrics.jsonl.
type epochLine struct {
	train.Epoch
	train.Score
}

// all runs every p and seed.
func (w *Trainer) all(ctx context.Context) error {
	for trial := range w.Trials {
		for _, p := range w.P {
			seed := w.Seed + uint64(trial)
			r, err := w.start(ctx, p, seed, func(info runlog.Info) (*runlog.Run, error) {
				return runlog.Create(w.Runs, fmt.Sprintf("train-%s-p%v-s%d", w.Model, p, seed), info)
			})
			if err != nil {
				return err
			}
			w.results = append(w.results, r)
		}
	}
	return nil
}

// start makes a run from its beginning, in the folder that create makes.
func (w *Trainer) start(ctx context.Context, p float64, seed uint64, create func(runlog.Info) (*runlog.Run, error)) (r TrainResult, err error) {
	one := *w.Train
	one.P, one.Trials, one.Seed = []float64{p}, 1, seed
	test, err := w.rangeTest(ctx, p)
	if err != nil {
		return r, err
	}
	if test != nil {
		one.LR = Rate(test.Rate)
	}
	run, err := create(runlog.Info{Command: "train", Settings: one, Seed: seed, Data: w.set.Name, DataHash: w.set.Hash, Engine: w.engine.Name, Version: w.con.Version})
	if err != nil {
		return r, err
	}
	if test != nil {
		err = run.WriteJSON(rangeTestFile, test)
	}
	plan := w.plan(p, seed, float64(one.LR))
	if err == nil {
		err = w.session.Start(plan)
	}
	if err == nil {
		r, err = w.run(ctx, run, plan, nil)
	}
	return r, run.Finish(err, ctx.Err() != nil)
}

func (w *Trainer) plan(p float64, seed uint64, lr float64) train.Run {
	return train.Run{P: p, LR: lr, Seed: seed, Epochs: w.Epochs, Schedule: w.schedule(w.session.PerEpoch), Init: w.init}
}

// rangeTestFile is where a run keeps the test that chose its learning rate.
const rangeTestFile = "tables/lr.json"

// rangeTest chooses the learning rate of p, once; it is nil where the rate was given.
func (w *Trainer) rangeTest(ctx context.Context, p float64) (*train.RangeTest, error) {
	if w.LR != Auto {
		return nil, nil
	}
	if t, ok := w.rates[p]; ok {
		return &t, nil
	}
	t, err := w.session.RangeTest(ctx, w.plan(p, w.Seed, 0))
	if err != nil {
		return nil, fmt.Errorf("--lr auto, p = %v: %w", p, err)
	}
	w.rates[p] = t
	w.con.Say("p = %v: learning rate %v, a third of %.2g, up to where a range test of %d steps found the loss low", p, t.Rate, t.Edge, len(t.Rates))
	return &t, nil
}

// ReadResult reads a run folder of train that is done; ok is false where there is none, or it is not.
func ReadResult(dir string) (r TrainResult, ok bool, err error) {
	info, err := runlog.ReadInfo(dir)
	if err != nil || info.Status != runlog.Done {
		return r, false, nil
	}
	err = readJSON(filepath.Join(dir, "tables", "result.json"), &r)
	r.Run = dir // it may have been moved
	return r, err == nil, err
}

// In is the run of p and seed in exactly this folder: gone on with where it has a checkpoint, else made. One that is done keeps its weights and no
// checkpoints: many runs of a large network would fill a disk.
func (w *Trainer) In(ctx context.Context, dir string, p float64, seed uint64) (TrainResult, error) {
	r, err := w.in(ctx, dir, p, seed)
	if err == nil {
		err = os.RemoveAll(filepath.Join(dir, "checkpoints"))
	}
	return r, err
}

func (w *Trainer) in(ctx context.Context, dir string, p float64, seed uint64) (TrainResult, error) {
	if old, err := findStopped(dir); err == nil {
		inner := *w
		one := old.settings(*w.Train)
		inner.Train = &one
		all, err := inner.resume(ctx, old)
		if err != nil {
			return TrainResult{}, err
		}
		return all[0], nil
	}
	if w.LR == Auto {
		w.rememberRate(filepath.Dir(dir), p)
	}
	if err := os.RemoveAll(dir); err != nil { // nothing to go on from
		return TrainResult{}, err
	}
	return w.start(ctx, p, seed, func(info runlog.Info) (*runlog.Run, error) { return runlog.CreateAt(dir, info) })
}

// rememberRate takes the rate that a run beside has chosen for p.
func (w *Trainer) rememberRate(beside string, p float64) {
	all, _ := filepath.Glob(filepath.Join(beside, "*", filepath.FromSlash(rangeTestFile)))
	for _, path := range all {
		var t train.RangeTest
		if readJSON(path, &t) == nil && t.P == p {
			w.rates[p] = t
			return
		}
	}
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

// checkpointEvery is how much work a killed run may lose.
const checkpointEvery = time.Minute

// run trains from the epoch after those in done to the end, and writes everything a run leaves.
func (w *Trainer) run(ctx context.Context, run *runlog.Run, r train.Run, done []epochLine) (TrainResult, error) {
	lines := done
	events, err := tfevents.Create(run.Dir, "")
	if err != nil {
		return TrainResult{}, err
	}
	defer events.Close()
	bar := w.con.Bar(fmt.Sprintf("p = %v, seed %d", r.P, r.Seed), int64(w.Epochs*w.session.PerEpoch))
	defer bar.Done()
	begin, saved := time.Now(), time.Now()
	for epoch := len(done); epoch < w.Epochs; epoch++ {
		e, err := w.session.Train(w.unlessShort(ctx, lines), r, epoch, func(steps int) { bar.Set(int64(epoch*w.session.PerEpoch + steps)) })
		if err != nil {
			return TrainResult{}, err
		}
		line := epochLine{Epoch: e}
		if line.Score, err = w.session.Evaluate(context.WithoutCancel(ctx), false); err != nil {
			return TrainResult{}, err
		}
		lines = append(lines, line)
		bar.Say(fmt.Sprintf("loss %.3f, test %.2f %%, %s img/s", e.Loss, 100*line.Score.Accuracy, Thousands(int(e.Rate))))
		if err := run.Append(line); err != nil {
			return TrainResult{}, err
		}
		if err := events.Scalars(int64(epoch+1), time.Now(), map[string]float64{"loss/train": e.Loss, "accuracy/train": e.Accuracy, "loss/test": line.Score.Loss,
			"accuracy/test": line.Score.Accuracy, "lr": e.LR, "img_per_second": e.Rate}); err != nil {
			return TrainResult{}, err
		}
		if time.Since(saved) > checkpointEvery || e.Seconds > shortEpoch || epoch+1 == w.Epochs || ctx.Err() != nil {
			if err := errors.Join(events.Flush(), w.checkpoint(run, epoch+1)); err != nil {
				return TrainResult{}, err
			}
			saved = time.Now()
		}
		if err := ctx.Err(); err != nil && epoch+1 < w.Epochs {
			return TrainResult{}, err
		}
	}
	ctx = context.WithoutCancel(ctx) // the work is done: see it home
	return w.finish(ctx, run, r, lines, time.Since(begin).Seconds())
}

// shortEpoch is how many seconds an interrupted run may take to finish its epoch, so that nothing of it is lost.
const shortEpoch = 5

// unlessShort returns a context that an interrupt does not end, where epochs are short.
func (w *Trainer) unlessShort(ctx context.Context, lines []epochLine) context.Context {
	if n := len(lines); n > 0 && lines[n-1].Seconds <= shortEpoch {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// checkpoint writes the state after an epoch and keeps the newest two.
func (w *Trainer) checkpoint(run *runlog.Run, epoch int) error {
	path := run.Path(fmt.Sprintf("checkpoints/epoch-%05d.safetensors", epoch))
	if err := w.session.Save(path, true, map[string]string{"epoch": strconv.Itoa(epoch), "model": w.Model}); err != nil {
		return err
	}
	all, _ := filepath.Glob(run.Path("checkpoints/epoch-*.safetensors"))
	slices.Sort(all)
	for _, old := range all[:max(0, len(all)-2)] {
		if err := os.Remove(old); err != nil {
			return err
		}
	}
	return nil
}

func (w *Trainer) finish(ctx context.Context, run *runlog.Run, plan train.Run, lines []epochLine, seconds float64) (TrainResult, error) {
	last := lines[len(lines)-1]
	flip, err := w.session.Evaluate(ctx, true)
	if err != nil {
		return TrainResult{}, err
	}
	r := TrainResult{P: plan.P, Seed: plan.Seed, LR: plan.LR, Loss: last.Epoch.Loss, Accuracy: last.Epoch.Accuracy, TestLoss: last.Score.Loss, TestAccuracy: last.Score.Accuracy,
		FlipAccuracy: flip.Accuracy, Seconds: seconds, Run: run.Dir}
	var rates []float64
	for _, l := range lines {
		rates = append(rates, l.Rate)
	}
	slices.Sort(rates)
	r.ImgPerSecond = rates[len(rates)/2]
	if err := w.session.Save(run.Path("weights.safetensors"), false, map[string]string{"model": w.Model, "p": fmt.Sprint(plan.P)}); err != nil {
		return r, err
	}
	var study *train.Study
	if !w.NoStudy {
		s, err := w.session.Study(ctx, plan.P)
		if err != nil {
			return r, err
		}
		study = &s
		if err := run.WriteJSON(studyFile, s); err != nil {
			return r, err
		}
	}
	return r, w.report(run, r, lines, study)
}

// report writes tables, figures and report.html.
func (w *Trainer) report(run *runlog.Run, r TrainResult, lines []epochLine, study *train.Study) error {
	doc := NewDocument(run, fmt.Sprintf("%s on %s: p = %v", w.Model, w.set.Name, r.P), "bregman train · "+run.Info.Started.Format("2 January 2006 15:04"))
	t := report.Table{Header: []string{"result", ""}}
	for _, row := range [][2]string{
		{"test accuracy", fmt.Sprintf("%.2f %% (%.2f %% averaged with mirror images)", 100*r.TestAccuracy, 100*r.FlipAccuracy)},
		{"training", fmt.Sprintf("loss %.4g, accuracy %.2f %% in the last epoch", r.Loss, 100*r.Accuracy)},
		{"speed", fmt.Sprintf("%s images a second on the %s engine, %s", Thousands(int(r.ImgPerSecond)), w.engine.Name, w.Precision)},
		{"recipe", fmt.Sprintf("%d epochs, batch %d, learning rate %v, %s, seed %d", w.Epochs, w.Batch, r.LR, w.Schedule, r.Seed)},
		{"parameters", Thousands(w.session.Params)}} {
		t.Rows = append(t.Rows, []report.Cell{report.Text("%s", row[0]), report.Text("%s", row[1])})
	}
	doc.Section("Result")
	doc.Tables(t)
	if err := run.WriteJSON("tables/result.json", r); err != nil {
		return err
	}
	epochs := report.Table{Header: []string{"epoch", "loss", "accuracy", "test loss", "test accuracy", "lr", "img/s"}}
	var at, loss, acc, tloss, tacc []float64
	for _, l := range lines {
		at, loss, acc = append(at, float64(l.Epoch.Epoch)), append(loss, l.Epoch.Loss), append(acc, 100*l.Epoch.Accuracy)
		tloss, tacc = append(tloss, l.Score.Loss), append(tacc, 100*l.Score.Accuracy)
		epochs.Rows = append(epochs.Rows, []report.Cell{report.Text("%d", l.Epoch.Epoch), report.Short(l.Epoch.Loss, 6), report.Number(l.Epoch.Accuracy, 5), report.Short(l.Score.Loss, 6),
			report.Number(l.Score.Accuracy, 5), report.Short(l.LR, 6), report.Number(l.Rate, 0)})
	}
	doc.Section("Along the run")
	c := report.Color(r.P)
	if err := doc.AddFigure("epochs", "Solid: training, as the batches came; dashed: the test images.",
		report.Figure{Title: "Loss", X: "epoch", Y: "cross entropy", LogY: true, Series: []report.Series{{Name: "training", X: at, Y: loss, Color: c}, {Name: "test", X: at, Y: tloss, Color: c, Style: report.Dashed}}},
		report.Figure{Title: "Accuracy", X: "epoch", Y: "%", LegendLow: true, Series: []report.Series{{Name: "training", X: at, Y: acc, Color: c}, {Name: "test", X: at, Y: tacc, Color: c, Style: report.Dashed}}}); err != nil {
		return err
	}
	if err := doc.SaveTable("epochs", epochs); err != nil {
		return err
	}
	if err := doc.addRangeTest(); err != nil {
		return err
	}
	if study != nil {
		if err := doc.AddStudies("", "", []Studies{{Name: fmt.Sprintf("p = %v", r.P), P: r.P, Trials: []train.Study{*study}}}); err != nil {
			return err
		}
		if err := doc.addLayers(*study); err != nil {
			return err
		}
	}
	return doc.Save()
}

// stopped is a run folder to go on with.
type stopped struct {
	dir        string
	train      Train
	checkpoint string
	epoch      int
	lines      []epochLine
}

// findStopped reads a run folder and finds its newest checkpoint.
func findStopped(dir string) (*stopped, error) {
	info, err := runlog.ReadInfo(dir)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	if info.Command != "train" {
		return nil, fmt.Errorf("--resume %s: a run of %q, not of train", dir, info.Command)
	}
	if info.Status == runlog.Done {
		return nil, fmt.Errorf("--resume %s: this run is done", dir)
	}
	s := &stopped{dir: dir}
	data, err := json.Marshal(info.Settings)
	if err == nil {
		err = json.Unmarshal(data, &s.train)
	}
	if err != nil {
		return nil, fmt.Errorf("--resume %s: its settings: %w", dir, err)
	}
	all, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "epoch-*.safetensors"))
	if len(all) == 0 {
		return nil, fmt.Errorf("--resume %s: it has no checkpoint: start it again", dir)
	}
	slices.Sort(all)
	s.checkpoint = all[len(all)-1]
	if _, err := fmt.Sscanf(filepath.Base(s.checkpoint), "epoch-%d.safetensors", &s.epoch); err != nil {
		return nil, fmt.Errorf("--resume %s: %w", s.checkpoint, err)
	}
	err = runlog.ReadMetrics(dir, func(line json.RawMessage) error {
		var l epochLine
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		if l.Epoch.Epoch <= s.epoch {
			s.lines = append(s.lines, l)
		}
		return nil
	})
	if err == nil && len(s.lines) != s.epoch {
		err = fmt.Errorf("%d epochs in its metrics, %d in its checkpoint", len(s.lines), s.epoch)
	}
	return s, err
}

// settings are those of the run, with the engine and folders of this command.
func (s *stopped) settings(now Train) Train {
	t := s.train
	t.Engine, t.DataDir, t.JSON, t.Resume, t.Runs = now.Engine, now.DataDir, now.JSON, now.Resume, filepath.Dir(s.dir)
	return t
}

// resume goes on with a run.
func (w *Trainer) resume(ctx context.Context, s *stopped) ([]TrainResult, error) {
	plan := w.plan(w.P[0], w.Seed, float64(w.LR))
	if err := w.session.Start(plan); err != nil {
		return nil, err
	}
	if _, err := w.session.Load(s.checkpoint); err != nil {
		return nil, err
	}
	var kept []any
	for _, l := range s.lines {
		kept = append(kept, l)
	}
	run, err := runlog.Resume(s.dir, kept)
	if err != nil {
		return nil, err
	}
	w.con.Say("going on after epoch %d of %d", s.epoch, w.Epochs)
	r, err := w.run(ctx, run, plan, s.lines)
	if err = run.Finish(err, ctx.Err() != nil); err != nil {
		return nil, err
	}
	return []TrainResult{r}, nil
}
