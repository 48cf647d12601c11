package fit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/runlog"
)

// CheckpointFile is the file of a run folder that a stopped fit resumes from.
const CheckpointFile = "checkpoints/fit.safetensors"

// InFolder returns hooks that write a run folder: a line of metrics.jsonl for each point and each cell of
// cross-validation, and the checkpoint.
func InFolder(run *runlog.Run) Hooks {
	return Hooks{
		Point: func(class *float64, pt linear.Point) error { return run.Append(pointLine{class, pt}) },
		Score: func(s CellScore) error { return run.Append(cellLine{&s}) },
		Save:  func(c Checkpoint) { run.Save(CheckpointFile, c.Encode()) },
	}
}

// pointLine is a line of metrics.jsonl about a point.
type pointLine struct {
	class *float64
	pt    linear.Point
}

func (m pointLine) MarshalJSON() ([]byte, error) {
	b, err := m.pt.MarshalJSON()
	if err != nil || m.class == nil {
		return b, err
	}
	return append(fmt.Appendf(nil, `{"class":%v,`, *m.class), bytes.TrimPrefix(b, []byte("{"))...), nil
}

// cellLine is a line of metrics.jsonl about a cell of cross-validation.
type cellLine struct {
	CV *CellScore `json:"cv"`
}

// Trace is the points of one weight vector.
type Trace struct {
	Class  *float64 // nil: there is one vector
	Points []linear.Point
}

// ReadTraces reads the points of a fit back, by weight vector; what a line lacks is NaN. An attempt that starts again,
// with a smaller step or a soft margin, replaces the points before it.
func ReadTraces(dir string) ([]Trace, error) {
	s := &Stopped{}
	err := s.read(dir)
	return s.traces, err
}

// Stopped is what a run folder has of a fit that is to be resumed.
type Stopped struct {
	Checkpoint *Checkpoint // nil: none was written yet
	Scored     []CellScore // of cross-validation
	Lines      []any       // of metrics.jsonl, up to the checkpoint
	traces     []Trace
}

// ReadStopped reads a run folder. The error of a damaged checkpoint names its file.
func ReadStopped(dir string) (*Stopped, error) {
	s := new(Stopped)
	var err error
	s.Checkpoint, err = ReadCheckpoint(filepath.Join(dir, filepath.FromSlash(CheckpointFile)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := s.read(dir); err != nil {
		return nil, err
	}
	if s.Checkpoint == nil { // the fit starts again: only scores stay
		s.Lines, s.traces = nil, nil
		for k := range s.Scored {
			s.Lines = append(s.Lines, cellLine{&s.Scored[k]})
		}
	}
	if c := s.Checkpoint; c != nil {
		for k, t := range s.traces {
			if k < len(c.Finished) {
				c.Finished[k].Points = t.Points
			} else if k == len(c.Finished) {
				c.Points = t.Points
			}
		}
	}
	return s, nil
}

func (s *Stopped) read(dir string) error {
	return runlog.ReadMetrics(dir, func(line json.RawMessage) error {
		var cell cellLine
		if json.Unmarshal(line, &cell) == nil && cell.CV != nil {
			s.Scored, s.Lines = append(s.Scored, *cell.CV), append(s.Lines, line)
		} else if s.add(line) {
			s.Lines = append(s.Lines, line)
		}
		return nil
	})
}

// add adds a point to its trace, unless it is after the checkpoint.
func (s *Stopped) add(line json.RawMessage) bool {
	var l struct {
		Class                   *float64
		Step                    *int
		Loss, Margin, Norm, Gap *float64
	}
	if json.Unmarshal(line, &l) != nil || l.Step == nil {
		return false
	}
	k := s.trace(l.Class)
	if c := s.Checkpoint; c != nil && (k > len(c.Finished) || k == len(c.Finished) && *l.Step > c.State.Step) {
		return false
	}
	value := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	pts := s.traces[k].Points
	for len(pts) > 0 && pts[len(pts)-1].Step >= *l.Step {
		pts = pts[:len(pts)-1]
	}
	s.traces[k].Points = append(pts, linear.Point{Step: *l.Step, Loss: value(l.Loss), Margin: value(l.Margin),
		Norm: value(l.Norm), Gap: value(l.Gap), Divergence: math.NaN(), Angle: math.NaN()})
	return true
}

// trace returns which weight vector a line is about: classes come in ascending order.
func (s *Stopped) trace(class *float64) int {
	for k, t := range s.traces {
		if t.Class == nil && class == nil || t.Class != nil && class != nil && *t.Class == *class {
			return k
		}
	}
	s.traces = append(s.traces, Trace{Class: class})
	return len(s.traces) - 1
}
