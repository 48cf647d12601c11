package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/runlog"
)

// checkpointName is the file of a run folder that a stopped fit resumes from.
const checkpointName = "checkpoints/fit.safetensors"

// checkpointVersion is that of its format. Version 2 has penalties in every p, version 3 a checksum. Both are read.
const checkpointVersion = 3

// fitCheckpoint is a running fit: the weight vectors that are finished, and the state of the next.
type fitCheckpoint struct {
	hash      string // of the data
	p, soft   float64
	none      string // why the margin is soft
	refuted   bool   // the data are proved not to be separable
	finished  []*linear.Result
	state     *linear.Checkpoint
	unchecked bool // read from a file without a checksum, of version 2
}

// encode returns the file: named vectors, and everything else as metadata.
func (c *fitCheckpoint) encode() []byte {
	f := safetensors.File{Metadata: map[string]string{"format": "bregman-fit", "version": strconv.Itoa(checkpointVersion), "data": c.hash,
		"p": strconv.FormatFloat(c.p, 'g', -1, 64), "soft": strconv.FormatFloat(c.soft, 'g', -1, 64),
		"none": c.none, "refuted": strconv.FormatBool(c.refuted), "finished": strconv.Itoa(len(c.finished)),
		"method": string(c.state.Method), "step": strconv.Itoa(c.state.Step), "vectors": strconv.Itoa(len(c.state.Vectors))}}
	add := func(name string, x []float64) {
		f.Tensors = append(f.Tensors, safetensors.FromFloat64s(name, []int{len(x)}, x))
	}
	for k, r := range c.finished {
		add(fmt.Sprintf("finished.%d.weights", k), r.W)
		add(fmt.Sprintf("finished.%d.numbers", k), []float64{r.Lower, r.Upper, r.Loss, r.Objective, r.Excess, float64(r.Steps), r.Eta})
	}
	add("numbers", c.state.Numbers)
	for k, v := range c.state.Vectors {
		add(fmt.Sprintf("vector.%d", k), v)
	}
	var b bytes.Buffer
	f, err := f.WithChecksum()
	if err == nil {
		err = safetensors.Encode(&b, f)
	}
	if err != nil {
		panic(err) // its names and shapes are ours
	}
	return b.Bytes()
}

// readFitCheckpoint reads and verifies a checkpoint.
func readFitCheckpoint(path string) (*fitCheckpoint, error) {
	f, err := safetensors.Read(path)
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		return nil, err
	}
	old := f.Metadata["version"] == "1" || f.Metadata["version"] == "2" // these have no checksum
	if _, sum := f.Metadata[safetensors.ChecksumKey]; err == nil && (sum || !old) {
		err = f.Verify()
	}
	if err == nil {
		if err := checkFitFormat(f.Metadata); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	var c *fitCheckpoint
	if err == nil {
		c, err = decodeFitCheckpoint(f)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): delete it, and --resume starts at the first step", path, err)
	}
	c.unchecked = old
	return c, nil
}

// checkFitFormat returns an error if a checkpoint is not one that this program reads.
func checkFitFormat(m map[string]string) error {
	if m["format"] != "bregman-fit" {
		return errors.New("not a checkpoint of fit")
	}
	version, err := strconv.Atoi(m["version"])
	switch {
	case err != nil || version < 1:
		return fmt.Errorf("checkpoint version %q: not a number", m["version"])
	case version > checkpointVersion:
		return fmt.Errorf("checkpoint version %d is newer than this program, which reads up to version %d: update it",
			version, checkpointVersion)
	case version < 2:
		return fmt.Errorf("checkpoint version %d is of an older program, this one reads versions 2 and %d: start again",
			version, checkpointVersion)
	}
	return nil
}

// decodeFitCheckpoint reads what encode wrote, whose checksum and format the caller has verified.
func decodeFitCheckpoint(f safetensors.File) (*fitCheckpoint, error) {
	m := f.Metadata
	var err error
	number := func(key string) float64 {
		v, e := strconv.ParseFloat(m[key], 64)
		if e != nil && err == nil {
			err = fmt.Errorf("%s is %q", key, m[key])
		}
		return v
	}
	vector := func(name string) []float64 {
		t, ok := f.Tensor(name)
		if !ok {
			if err == nil {
				err = fmt.Errorf("no %s", name)
			}
			return nil
		}
		x, e := safetensors.Float64s(t)
		if e != nil && err == nil {
			err = e
		}
		return x
	}
	c := &fitCheckpoint{hash: m["data"], p: number("p"), soft: number("soft"), none: m["none"], refuted: m["refuted"] == "true"}
	finished, vectors := number("finished"), number("vectors")
	if err == nil && (!(finished >= 0 && finished <= float64(len(f.Tensors))) || !(vectors >= 0 && vectors <= float64(len(f.Tensors)))) {
		err = errors.New("its counts are wrong")
	}
	if err != nil {
		return nil, err
	}
	for k := range int(finished) {
		r := &linear.Result{W: vector(fmt.Sprintf("finished.%d.weights", k))}
		v := vector(fmt.Sprintf("finished.%d.numbers", k))
		if err == nil && len(v) != 7 {
			err = errors.New("its numbers are wrong")
		}
		if err != nil {
			return nil, err
		}
		r.Lower, r.Upper, r.Loss, r.Objective, r.Excess, r.Steps, r.Eta = v[0], v[1], v[2], v[3], v[4], int(v[5]), v[6]
		c.finished = append(c.finished, r)
	}
	c.state = &linear.Checkpoint{Method: linear.Method(m["method"]), Step: int(number("step")), Numbers: vector("numbers")}
	for k := range int(vectors) {
		c.state.Vectors = append(c.state.Vectors, vector(fmt.Sprintf("vector.%d", k)))
	}
	return c, err
}

// stoppedFit is a run folder to resume.
type stoppedFit struct {
	dir   string
	fit   Fit
	hash  string
	state *fitCheckpoint // nil: none was written yet
	cells map[cell]cellScore
	lines []any // of metrics.jsonl, up to the checkpoint
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
	s := &stoppedFit{dir: dir, hash: info.DataHash, cells: map[cell]cellScore{}, trace: map[int][]linear.Point{}}
	settings.Defaults(&s.fit) // of what an older program did not write
	data, err := json.Marshal(info.Settings)
	if err == nil {
		err = json.Unmarshal(data, &s.fit)
	}
	if err != nil {
		return nil, fmt.Errorf("--resume %s: its settings: %w", dir, err)
	}
	s.state, err = readFitCheckpoint(filepath.Join(dir, filepath.FromSlash(checkpointName)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	err = runlog.ReadMetrics(dir, func(line json.RawMessage) error {
		if readCells(line, s.cells) {
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
	if vector < len(s.state.finished) || vector == len(s.state.finished) && l.Step <= s.state.state.Step {
		pts := s.trace[vector]
		for len(pts) > 0 && pts[len(pts)-1].Step >= l.Step { // another attempt, with a smaller step or a soft margin
			pts = pts[:len(pts)-1]
		}
		s.trace[vector] = append(pts, linear.Point{Step: l.Step, Loss: value(l.Loss), Margin: value(l.Margin), Norm: value(l.Norm), Gap: value(l.Gap),
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
		if s.state.hash != "" && s.state.hash != w.set.Hash {
			return fmt.Errorf("--resume %s: its checkpoint was made from other data: start again", s.dir)
		}
		_, d := w.set.X.Dims()
		for k, r := range s.state.finished {
			if len(r.W) != d {
				return fmt.Errorf("--resume %s: its checkpoint has %d weights for %d features: start again", s.dir, len(r.W), d)
			}
			r.Points = s.trace[k]
		}
		if len(s.state.finished) > len(w.targets) {
			return fmt.Errorf("--resume %s: its checkpoint has %d weight vectors, the data asks for %d: start again", s.dir, len(s.state.finished), len(w.targets))
		}
		w.old, w.before = s.state, s.trace[len(s.state.finished)]
		if s.state.unchecked {
			w.env.Say("%s%s", filepath.Join(s.dir, filepath.FromSlash(checkpointName)), noChecksum)
		}
		w.env.Say("resuming after step %d", s.state.state.Step)
	}
	w.cells = maps.Clone(s.cells)
	var err error
	w.run, err = runlog.Resume(s.dir, s.lines)
	return err
}
