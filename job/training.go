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

// training is the runs of one command on one session.
type training struct {
	*Train
	con     *Console
	set     *images.Set
	engine  *engine.Engine
	session *train.Session
	results []TrainResult
}

// epochLine is a line of metrics.jsonl.
type epochLine struct {
	train.Epoch
	train.Score
}

// all runs every p and seed.
func (w *training) all(ctx context.Context) error {
	for trial := range w.Trials {
		for _, p := range w.P {
			one := *w.Train
			one.P, one.Trials, one.Seed = []float64{p}, 1, w.Seed+uint64(trial)
			run, err := runlog.Create(w.Runs, fmt.Sprintf("train-%s-p%v-s%d", w.Model, p, one.Seed), runlog.Info{Command: "train", Settings: one, Seed: one.Seed,
				Data: w.set.Name, DataHash: w.set.Hash, Engine: w.engine.Name, Version: w.con.Version})
			if err != nil {
				return err
			}
			err = w.session.Start(w.plan(p, one.Seed))
			if err == nil {
				var r TrainResult
				if r, err = w.run(ctx, run, p, one.Seed, nil); err == nil {
					w.results = append(w.results, r)
				}
			}
			if err = run.Finish(err, ctx.Err() != nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *training) plan(p float64, seed uint64) train.Run {
	return train.Run{P: p, LR: w.LR, Seed: seed, Epochs: w.Epochs, Schedule: w.schedule(w.session.PerEpoch)}
}

// checkpointEvery is how much work a killed run may lose.
const checkpointEvery = time.Minute

// run trains from the epoch after those in done to the end, and writes everything a run leaves.
func (w *training) run(ctx context.Context, run *runlog.Run, p float64, seed uint64, done []epochLine) (TrainResult, error) {
	r := w.plan(p, seed)
	lines := done
	events, err := tfevents.Create(run.Dir, "")
	if err != nil {
		return TrainResult{}, err
	}
	defer events.Close()
	bar := w.con.Bar(fmt.Sprintf("p = %v, seed %d", p, seed), int64(w.Epochs*w.session.PerEpoch))
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
	return w.finish(ctx, run, p, seed, lines, time.Since(begin).Seconds())
}

// shortEpoch is how many seconds an interrupted run may take to finish its epoch, so that nothing of it is lost.
const shortEpoch = 5

// unlessShort returns a context that an interrupt does not end, where epochs are short.
func (w *training) unlessShort(ctx context.Context, lines []epochLine) context.Context {
	if n := len(lines); n > 0 && lines[n-1].Seconds <= shortEpoch {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// checkpoint writes the state after an epoch and keeps the newest two.
func (w *training) checkpoint(run *runlog.Run, epoch int) error {
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

func (w *training) finish(ctx context.Context, run *runlog.Run, p float64, seed uint64, lines []epochLine, seconds float64) (TrainResult, error) {
	last := lines[len(lines)-1]
	flip, err := w.session.Evaluate(ctx, true)
	if err != nil {
		return TrainResult{}, err
	}
	r := TrainResult{P: p, Seed: seed, Loss: last.Epoch.Loss, Accuracy: last.Epoch.Accuracy, TestLoss: last.Score.Loss, TestAccuracy: last.Score.Accuracy,
		FlipAccuracy: flip.Accuracy, Seconds: seconds, Run: run.Dir}
	var rates []float64
	for _, l := range lines {
		rates = append(rates, l.Rate)
	}
	slices.Sort(rates)
	r.ImgPerSecond = rates[len(rates)/2]
	if err := w.session.Save(run.Path("weights.safetensors"), false, map[string]string{"model": w.Model, "p": fmt.Sprint(p)}); err != nil {
		return r, err
	}
	return r, w.report(run, r, lines)
}

// report writes tables, figures and report.html.
func (w *training) report(run *runlog.Run, r TrainResult, lines []epochLine) error {
	doc := NewDocument(run, fmt.Sprintf("%s on %s: p = %v", w.Model, w.set.Name, r.P), "bregman train · "+run.Info.Started.Format("2 January 2006 15:04"))
	t := report.Table{Header: []string{"result", ""}}
	for _, row := range [][2]string{
		{"test accuracy", fmt.Sprintf("%.2f %% (%.2f %% averaged with mirror images)", 100*r.TestAccuracy, 100*r.FlipAccuracy)},
		{"training", fmt.Sprintf("loss %.4g, accuracy %.2f %% in the last epoch", r.Loss, 100*r.Accuracy)},
		{"speed", fmt.Sprintf("%s images a second on the %s engine, %s", Thousands(int(r.ImgPerSecond)), w.engine.Name, w.Precision)},
		{"recipe", fmt.Sprintf("%d epochs, batch %d, learning rate %v, %s, seed %d", w.Epochs, w.Batch, w.LR, w.Schedule, r.Seed)},
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
func (w *training) resume(ctx context.Context, s *stopped) ([]TrainResult, error) {
	p, seed := w.P[0], w.Seed
	if err := w.session.Start(w.plan(p, seed)); err != nil {
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
	r, err := w.run(ctx, run, p, seed, s.lines)
	if err = run.Finish(err, ctx.Err() != nil); err != nil {
		return nil, err
	}
	return []TrainResult{r}, nil
}
