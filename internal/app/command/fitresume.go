package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// checkpointName is the file of a run folder that a stopped fit resumes from.
const checkpointName = "checkpoints/fit.safetensors"

// stoppedFit is a run folder to resume.
type stoppedFit struct {
	dir   string
	fit   Fit
	hash  string
	state *fit.Checkpoint // nil: none was written yet
	cells []fit.CellScore // of cross-validation
	lines []any           // of metrics.jsonl, up to the checkpoint
	trace map[int][]linear.Point

	classes []float64 // as the lines name them
}

// findStoppedFit reads a run folder.
func findStoppedFit(dir string) (*stoppedFit, error) {
	info, err := runlog.ReadInfo(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--resume: %w", noRun(dir, err))
	case info.Command != "fit":
		return nil, fmt.Errorf("--resume %s: a run of %q, not of fit", dir, info.Command)
	case info.Status == runlog.Done:
		return nil, fmt.Errorf("--resume %s: this run is done", dir)
	}
	s := &stoppedFit{dir: dir, hash: info.DataHash, trace: map[int][]linear.Point{}}
	settings.Defaults(&s.fit) // of what an older program did not write
	data, err := json.Marshal(info.Settings)
	if err == nil {
		err = json.Unmarshal(data, &s.fit)
	}
	if err != nil {
		return nil, fmt.Errorf("--resume %s: its settings: %w", dir, err)
	}
	s.state, err = fit.ReadCheckpoint(filepath.Join(dir, filepath.FromSlash(checkpointName)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	err = runlog.ReadMetrics(dir, func(line json.RawMessage) error {
		var l cvLine
		if json.Unmarshal(line, &l) == nil && l.CV != nil {
			s.cells = append(s.cells, *l.CV)
			s.lines = append(s.lines, line)
		} else if s.state != nil {
			s.keep(line)
		}
		return nil
	})
	return s, err
}

// keep keeps a point that lies before the checkpoint.
func (s *stoppedFit) keep(line json.RawMessage) {
	var l struct {
		Class                   *float64
		Step                    int
		Loss, Margin, Norm, Gap *float64
	}
	if json.Unmarshal(line, &l) != nil {
		return
	}
	value := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	vector := s.vector(l.Class)
	if vector < len(s.state.Finished) || vector == len(s.state.Finished) && l.Step <= s.state.State.Step {
		pts := s.trace[vector]
		for len(pts) > 0 && pts[len(pts)-1].Step >= l.Step { // another attempt, with a smaller step or a soft margin
			pts = pts[:len(pts)-1]
		}
		s.trace[vector] = append(pts, linear.Point{Step: l.Step, Loss: value(l.Loss), Margin: value(l.Margin),
			Norm: value(l.Norm), Gap: value(l.Gap),
			Divergence: math.NaN(), Angle: math.NaN()})
		s.lines = append(s.lines, line)
	}
}

// vector returns which weight vector a line is about: classes come in ascending order.
func (s *stoppedFit) vector(class *float64) int {
	if class == nil {
		return 0
	}
	k := slices.Index(s.classes, *class)
	if k < 0 {
		k = len(s.classes)
		s.classes = append(s.classes, *class)
	}
	return k
}

// settings are those of the run, with the folders of this command.
func (s *stoppedFit) settings(now *Fit) *Fit {
	f := s.fit
	settings.Resume(&f, now)
	f.Runs = filepath.Dir(s.dir)
	return &f
}

// takeUp resumes a run, if the data is still the same.
func (w *fitting) takeUp(s *stoppedFit) error {
	if s.hash != "" && s.hash != w.set.Hash { // older runs of built-in data have no hash
		return fmt.Errorf("--resume %s: %s has changed since that run began: start again", s.dir, w.set.Name)
	}
	if s.state != nil {
		if s.state.Data != "" && s.state.Data != w.set.Hash {
			return fmt.Errorf("--resume %s: its checkpoint was made from other data: start again", s.dir)
		}
		_, d := w.set.X.Dims()
		for k, r := range s.state.Finished {
			if len(r.W) != d {
				return fmt.Errorf("--resume %s: its checkpoint has %d weights for %d features: start again", s.dir, len(r.W), d)
			}
			r.Points = s.trace[k]
		}
		if n := fit.Vectors(w.set, w.lib); len(s.state.Finished) > n {
			return fmt.Errorf("--resume %s: its checkpoint has %d weight vectors, the data asks for %d: start again", s.dir,
				len(s.state.Finished), n)
		}
		s.state.Points = s.trace[len(s.state.Finished)]
		w.lib.Resume = s.state
		if s.state.Unchecked {
			w.env.Say("%s%s", filepath.Join(s.dir, filepath.FromSlash(checkpointName)), train.NoChecksum)
		}
		w.env.Say("resuming after step %d", s.state.State.Step)
	}
	for k := range s.cells {
		if w.L2 > 0 {
			s.cells[k].Lambda = w.L2
		}
	}
	w.lib.Scored = s.cells
	var err error
	w.run, err = runlog.Resume(s.dir, s.lines)
	return err
}
