package linearmodel

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// stoppedFit is a run folder to resume.
type stoppedFit struct {
	*fit.Stopped
	dir  string
	fit  Fit
	hash string
}

// findStoppedFit reads a run folder.
func findStoppedFit(dir string) (*stoppedFit, error) {
	info, err := runlog.ReadInfo(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--resume: %w", command.NoRun(dir, err))
	case info.Command != "fit":
		return nil, fmt.Errorf("--resume %s: a run of %q, not of fit", dir, info.Command)
	case info.Status == runlog.Done:
		return nil, fmt.Errorf("--resume %s: this run is done", dir)
	}
	s := &stoppedFit{dir: dir, hash: info.DataHash}
	settings.Earlier(&s.fit) // of what an older program did not write
	data, err := json.Marshal(info.Settings)
	if err == nil {
		err = json.Unmarshal(data, &s.fit)
	}
	if err != nil {
		return nil, fmt.Errorf("--resume %s: its settings: %w", dir, err)
	}
	if s.Stopped, err = fit.ReadStopped(dir); err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	return s, nil
}

// settings are those of the run, with the folders of this command.
func (s *stoppedFit) settings(now *Fit) *Fit {
	f := s.fit
	settings.Resume(&f, now)
	f.Runs = filepath.Dir(s.dir)
	return &f
}

// resumeFrom continues a run, if the data is still the same.
func (w *fitting) resumeFrom(s *stoppedFit) error {
	if s.hash != "" && s.hash != w.set.Hash { // older runs of built-in data have no hash
		return fmt.Errorf("--resume %s: %s has changed since that run began: start again", s.dir, w.set.Name)
	}
	if c := s.Checkpoint; c != nil {
		if err := c.Check(w.set, w.lib); err != nil {
			return fmt.Errorf("--resume %s: its checkpoint %w: start again", s.dir, err)
		}
		if c.Unchecked {
			w.env.Say("%s%s", filepath.Join(s.dir, filepath.FromSlash(fit.CheckpointFile)), train.NoChecksum)
		}
		w.env.Say("resuming after step %d", c.State.Step)
		w.lib.Resume = c
	}
	if w.onPath() {
		s.Scored, s.Lines = nil, nil // it begins again
	}
	for k := range s.Scored {
		if w.L2 > 0 {
			s.Scored[k].Lambda = w.L2
		}
	}
	w.lib.Scored = s.Scored
	var err error
	w.run, err = runlog.Resume(s.dir, s.Lines)
	return err
}
