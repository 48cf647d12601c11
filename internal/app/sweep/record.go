package sweep

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/record"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/train"
)

// readResults marks the runs that have a row in a results file: they are done, whichever version their numbers are of.
// Without a file the marks stay as they were when the sweep began.
func (p *Plan) readResults(path string) error {
	if path == "" {
		return nil
	}
	if p.File.Job != "train" {
		return &command.UsageError{Err: settings.Errorf("results", "--results %s: only runs of train have rows there, "+
			"and this sweep is of %s", path, p.File.Job)}
	}
	rows, err := record.Read(path)
	if err != nil {
		return fmt.Errorf("--results: %w", err)
	}
	if err := command.CheckFolder("--results", filepath.Dir(path)); err != nil {
		return err
	}
	metric, studied := train.StudyMetricByName(p.File.Metric)
	var weights []*record.Weights
	if studied {
		if weights, err = record.ReadWeights(path, rows); err != nil {
			return fmt.Errorf("--results: %w", err)
		}
	}
	have := map[string]Result{}
	for k, r := range rows {
		numbers := Result(r.Numbers())
		if studied && weights[k] != nil && weights[k].Levels != nil {
			if v, ok := metric.Of(weights[k].Levels.Study()); ok {
				numbers[p.File.Metric] = v
			}
		}
		if r.Status == record.Diverged {
			numbers["diverged"] = "recorded in " + path
		}
		if id := r.Identity.Portable().ID(); have[id] == nil { // the first counts
			have[id] = numbers
		}
	}
	for _, s := range p.Runs {
		s.Recorded = have[s.Identity().Portable().ID()]
	}
	return nil
}

// recorded counts the runs that a results file has.
func (p *Plan) recorded() int {
	n := 0
	for _, s := range p.Runs {
		if s.Recorded != nil {
			n++
		}
	}
	return n
}

// record adds the rows of finished runs to the results file. What cannot be added waits for the next call: the folder
// has the runs.
func (c *coordinator) record() error {
	if c.Results == "" {
		c.unrecorded = nil
	}
	if len(c.unrecorded) == 0 {
		return nil
	}
	var runs []record.Run
	var wait []*Spec
	var bad []error
	for _, s := range c.unrecorded {
		id := s.Identity()
		r, err := record.ReadRun(c.Trial(s), record.Known{Identity: &id, Results: c.plan.results(), Program: c.plan.Version})
		if err != nil {
			wait, bad = append(wait, s), append(bad, err)
			continue
		}
		runs = append(runs, r)
	}
	if _, err := record.Append(c.Results, runs...); err != nil {
		return errors.Join(append(bad, err)...)
	}
	c.unrecorded = wait
	return errors.Join(bad...)
}

// limit ends the context when the minutes are up.
func (o *Options) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Minutes <= 0 {
		return context.WithCancel(ctx)
	}
	if o.began.IsZero() {
		o.began = time.Now()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(o.remaining(), func() { cancel(errTimeUp) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// remaining is how much of the minutes is left.
func (o *Options) remaining() time.Duration {
	all := time.Duration(o.Minutes * float64(time.Minute))
	if o.began.IsZero() {
		return all
	}
	return all - time.Since(o.began)
}

// tooLong says what happens to a run that takes longer than the minutes that are left; "": nothing.
func (o *Options) tooLong(job string, takes time.Duration, dir string) string {
	switch {
	case o.Minutes <= 0 || takes <= o.remaining():
		return ""
	case job == "train":
		return fmt.Sprintf("  minutes    %v: the next run takes about %s; it is interrupted then, and resumed from %s next "+
			"time if that folder is still there", o.Minutes, brief(takes), dir)
	}
	return fmt.Sprintf("  minutes    %v: the next run takes about %s and cannot be resumed: it will not finish", o.Minutes,
		brief(takes))
}
