package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// stoppedTrain is a run folder to resume. This process holds its lock until run is released.
type stoppedTrain struct {
	run      *runlog.Run
	recorded Train
}

// findStoppedTrain locks the folder of a run that is not done and reads its settings.
func findStoppedTrain(dir string) (*stoppedTrain, error) {
	run, err := runlog.Lock(dir)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", NoRun(dir, err))
	}
	s := &stoppedTrain{run: run}
	if err := s.read(); err != nil {
		run.Release()
		return nil, fmt.Errorf("--resume %s: %w", dir, err)
	}
	return s, nil
}

// NoRun explains what a run folder is, if the error is that the folder or its run.json does not exist.
func NoRun(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a run folder, such as those in runs/: it has no run.json", dir)
	}
	return err
}

func (s *stoppedTrain) read() error {
	info := s.run.Info
	if info.Command != "train" {
		return fmt.Errorf("a run of %q, not of train", info.Command)
	}
	if info.Status == runlog.Done {
		return fmt.Errorf("this run is done: \"bregman train --init %s\" extends it by a new run from its weights",
			settings.Quote(s.run.Dir))
	}
	var err error
	s.recorded, err = recordedTrain(info)
	return err
}

// recordedTrain are the settings of a run, with the defaults of what an older program did not write.
func recordedTrain(info runlog.Info) (t Train, err error) {
	settings.Earlier(&t)
	data, err := json.Marshal(info.Settings)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err == nil && len(t.P) != 1 {
		err = fmt.Errorf("%d values of p: a run has one", len(t.P))
	}
	if err != nil {
		return t, fmt.Errorf("its settings: %w", err)
	}
	return t, nil
}

// checkData returns an error if the images are not those that the run began with.
func (s *stoppedTrain) checkData(set *images.Set) error {
	if h := s.run.Info.DataHash; h != "" && h != set.Hash {
		return fmt.Errorf("--resume %s: the data have changed: %s has the hash %.12s…, the run started with %.12s…: "+
			"restore the old data, or start a new run", s.run.Dir, set.Name, set.Hash, h)
	}
	return nil
}

// settings are those of the run, with the engine and output of this command, and its folder of data if it names one.
func (s *stoppedTrain) settings(now *Train) (*Train, error) {
	t := s.recorded
	settings.Resume(&t, now)
	t.Runs = filepath.Dir(s.run.Dir)
	one, err := Ready(&t)
	if err != nil {
		return nil, err
	}
	return one.(*Train), nil
}

// resume continues a run from its newest checkpoint that can be used to its end.
func (w *Trainer) resume(ctx context.Context, s *stoppedTrain) (r TrainResult, err error) {
	plan := w.plan(w.P[0], w.Seed, float64(w.LR))
	r = TrainResult{P: plan.P, Seed: plan.Seed, LR: plan.LR, Run: s.run.Dir}
	defer func() { err = w.describeError(err, plan.P, plan.Seed) }()
	old := train.ReadStopped(s.run)
	old.Version = w.env.Version
	if w.Init != "" && plan.Init == nil {
		if plan.Init, old.InitErr = train.ReadInit(w.Init); old.InitErr != nil {
			old.InitErr = fmt.Errorf("--init: %w", old.InitErr)
		}
	}
	s.run.Say = w.env.Say
	err = w.observed(s.run, plan, &r, func(plan train.Plan, o train.Observer) (train.Result, error) {
		return w.session.Resume(ctx, plan, old, o)
	})
	return r, w.finished(s.run, err, ctx.Err() != nil)
}
