package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// stopped is a run folder to resume. It is this process's until run is released.
type stopped struct {
	run    *runlog.Run
	train  Train
	lines  []epochLine // with whole text, in order
	passed []string    // what could not be used, and why
	notes  []string    // what the user should know of what is used
}

// saved is a checkpoint of a run folder.
type saved struct {
	path  string
	epoch int
}

// checkpoints lists those of a run folder, the newest first.
func checkpoints(dir string) []saved {
	var out []saved
	all, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "epoch-*.safetensors"))
	for _, path := range all {
		c := saved{path: path}
		if _, err := fmt.Sscanf(filepath.Base(path), "epoch-%d.safetensors", &c.epoch); err == nil {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b saved) int { return cmp.Compare(b.epoch, a.epoch) })
	return out
}

// findStopped takes a run folder that is not done and reads its settings and metrics.
func findStopped(dir string) (*stopped, error) {
	run, err := runlog.Take(dir)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", noRun(dir, err))
	}
	s := &stopped{run: run}
	if err := s.read(); err != nil {
		run.Release()
		return nil, fmt.Errorf("--resume %s: %w", dir, err)
	}
	return s, nil
}

// noRun says of a folder that is missing or without a run what it should be.
func noRun(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a run folder, such as those in runs/: it has no run.json", dir)
	}
	return err
}

func (s *stopped) read() error {
	info := s.run.Info
	if info.Command != "train" {
		return fmt.Errorf("a run of %q, not of train", info.Command)
	}
	if info.Status == runlog.Done {
		return errors.New("this run is done")
	}
	settings.Defaults(&s.train) // of what an older program did not write
	data, err := json.Marshal(info.Settings)
	if err == nil {
		err = json.Unmarshal(data, &s.train)
	}
	if err == nil && len(s.train.P) != 1 {
		err = fmt.Errorf("%d values of p: a run has one", len(s.train.P))
	}
	if err != nil {
		return fmt.Errorf("its settings: %w", err)
	}
	err = runlog.ReadMetrics(s.run.Dir, func(line json.RawMessage) error {
		var l epochLine
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		if n := len(s.lines); n == 0 || l.Epoch.Epoch > s.lines[n-1].Epoch.Epoch {
			s.lines = append(s.lines, l)
		}
		return nil
	})
	if err != nil { // the lines before it are whole
		s.passed = append(s.passed, err.Error())
	}
	return nil
}

// checkData returns an error where the images are not those that the run began with.
func (s *stopped) checkData(set *images.Set) error { return CheckData(s.run, set) }

// CheckData returns an error where the images are not those that a run began with.
func CheckData(run *runlog.Run, set *images.Set) error {
	if h := run.Info.DataHash; h != "" && h != set.Hash {
		return fmt.Errorf("--resume %s: the data have changed: %s has the hash %.12s…, the run started with %.12s…: restore the old data, or start a new run", run.Dir, set.Name, set.Hash, h)
	}
	return nil
}

// settings are those of the run, with the engine and output of this command, and its folder of data where it names one.
func (s *stopped) settings(now *Train) (*Train, error) {
	t := s.train
	settings.Resume(&t, now)
	t.Runs = filepath.Dir(s.run.Dir)
	one, err := Ready(&t)
	if err != nil {
		return nil, err
	}
	return one.(*Train), nil
}

// until returns the lines up to an epoch, which has one; ok is false where it has not.
func (s *stopped) until(epoch int) (lines []epochLine, ok bool) {
	for _, l := range s.lines {
		if l.Epoch.Epoch <= epoch {
			lines = append(lines, l)
		}
	}
	return lines, len(lines) > 0 && lines[len(lines)-1].Epoch.Epoch == epoch
}

// noChecksum follows the name of a checkpoint in the note about it.
const noChecksum = " has no checksum, an older version wrote it: damage to it would not be noticed"

// load sets the session to the newest checkpoint that can be used, or to the beginning, and returns the epochs done.
// It passes over a damaged checkpoint. One of other settings is an error: the settings, or the checkpoint, are not
// this run's.
func (w *Trainer) load(s *stopped, plan train.Run) (epoch int, lines []epochLine, err error) {
	for _, c := range checkpoints(s.run.Dir) {
		about, checked, err := train.Metadata(c.path)
		if err != nil {
			s.passed = append(s.passed, err.Error())
			continue
		}
		if err := w.checkAbout(about, plan, c); err != nil {
			return 0, nil, err
		}
		lines, ok := s.until(c.epoch)
		if !ok {
			s.passed = append(s.passed, fmt.Sprintf("%s: metrics.jsonl has no line of epoch %d", c.path, c.epoch))
			continue
		}
		if err := w.startAgain(s, plan, about["start"]); err != nil {
			return 0, nil, err
		}
		if _, err := w.session.Load(c.path); err != nil {
			s.passed = append(s.passed, err.Error())
			continue
		}
		if !checked {
			s.notes = append(s.notes, c.path+noChecksum)
		}
		return c.epoch, lines, nil
	}
	if w.Init != "" && plan.Init == nil {
		if plan.Init, err = train.ReadInit(w.Init); err != nil {
			return 0, nil, fmt.Errorf("--init: %w", err)
		}
	}
	err = w.session.Start(plan)
	w.began = w.session.StartHash()
	return 0, nil, err
}

// startAgain sets the session to the weights that the run began with, whose hash the checkpoint has: the divergence is measured from there. Where --init named
// a file that is gone or has changed, the run goes on without it.
func (w *Trainer) startAgain(s *stopped, plan train.Run, hash string) error {
	var gone error
	if w.Init != "" && plan.Init == nil {
		if plan.Init, gone = train.ReadInit(w.Init); gone == nil {
			gone = w.session.CheckInit(plan.Init)
		}
		if gone != nil {
			plan.Init = nil
		}
	}
	if err := w.session.Start(plan); err != nil {
		return err
	}
	if now := w.session.StartHash(); gone == nil && hash != "" && now != hash {
		gone = errors.New("the initial weights of the run have changed")
	}
	if w.began = hash; gone != nil {
		w.session.ForgetStart()
		s.passed = append(s.passed, fmt.Sprintf("the divergence from the start: %v", gone))
	}
	return nil
}

// checkAbout compares what a checkpoint says of itself with the run's settings.
func (w *Trainer) checkAbout(about map[string]string, plan train.Run, c saved) error {
	want := w.about(plan)
	want["epoch"] = strconv.Itoa(c.epoch)
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if has, ok := about[k]; ok && has != want[k] {
			return fmt.Errorf("%s was made with %s %s, the run has %s: was run.json changed?", c.path, k, has, want[k])
		}
	}
	if c.epoch > w.Epochs {
		return fmt.Errorf("%s is beyond the last epoch, %d: was run.json changed?", c.path, w.Epochs)
	}
	return nil
}

// resume continues a run from its newest whole checkpoint to its end.
func (w *Trainer) resume(ctx context.Context, s *stopped) (r TrainResult, err error) {
	plan := w.plan(w.P[0], w.Seed, float64(w.LR))
	r = TrainResult{P: plan.P, Seed: plan.Seed, LR: plan.LR, Run: s.run.Dir}
	defer func() { err = w.named(err, plan.P, plan.Seed) }()
	epoch, lines, err := w.load(s, plan)
	for _, p := range s.passed {
		w.env.Say("skipped: %s", p)
	}
	for _, n := range s.notes {
		w.env.Say("%s", n)
	}
	if err != nil {
		return r, err
	}
	if n := epoch - len(lines); n > 0 {
		w.env.Say("metrics.jsonl lacks %d of %s: they are also missing in tables and figures", n, render.Count(epoch, "epoch"))
	}
	if n := len(lines); n > 0 && lines[n-1].Untold {
		if lines[n-1].Score, lines[n-1].Geometry, err = w.session.Measure(ctx, plan.P); err != nil {
			return r, err
		}
		lines[n-1].Untold = false
	}
	var kept []any
	for _, l := range lines {
		kept = append(kept, l.record())
	}
	if err := s.run.GoOn(kept, w.engine.Name, w.env.Version); err != nil {
		return r, err
	}
	if epoch == 0 {
		w.env.Say("no checkpoint can be used: starting again at the first of %s", render.Count(w.Epochs, "epoch"))
	} else {
		w.env.Say("resuming after epoch %d of %d", epoch, w.Epochs)
	}
	s.run.Say = w.env.Say
	err = w.run(ctx, s.run, plan, epoch, lines, &r)
	return r, s.run.Finish(err, ctx.Err() != nil)
}
