package fit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/linear"
)

// checkpointVersion is the version of the format. Version 2 has penalties in every p, version 3 a checksum, and version
// 4 names the entries of the state, which were known by position. All three are read.
const checkpointVersion = 4

// Checkpoint is a running fit: the weight vectors that are finished, and the state of the next.
type Checkpoint struct {
	Data      string // the hash of the data
	Attempt   Attempt
	None      string // why the margin is soft
	Refuted   bool   // the data are proved not to be separable
	Finished  []*linear.Result
	State     *linear.Checkpoint
	Points    []linear.Point // of the vector that is continued, before the checkpoint; not in the file
	Unchecked bool           // read from a file without a checksum, of version 2
}

// Check returns an error if the checkpoint is not one of this data and these settings.
func (c *Checkpoint) Check(set *dataset.Set, s Settings) error {
	if c.Data != "" && c.Data != set.Hash {
		return errors.New("was made from other data")
	}
	if c.State == nil {
		return errors.New("has no state")
	}
	if !slices.Contains(s.withDefaults().P, c.Attempt.P) {
		return fmt.Errorf("is of p = %v", c.Attempt.P)
	}
	_, d := set.X.Dims()
	s.Resume = c
	t := newTrainer(set, s)
	if t.jointMargin() {
		d *= len(t.classes)
	}
	for _, r := range c.Finished {
		if len(r.W) != d {
			return fmt.Errorf("has %d weights for %d features", len(r.W), d)
		}
	}
	if n := len(t.targets); len(c.Finished) > n {
		return fmt.Errorf("has %d weight vectors, the data asks for %d", len(c.Finished), n)
	}
	return nil
}

// ofRest reports whether the weights are those of one class alone, as those of a margin of several classes were before
// there was a joint one.
func (c *Checkpoint) ofRest(set *dataset.Set) bool {
	_, d := set.X.Dims()
	w, ok := []float64(nil), false
	if c.State != nil {
		w, ok = c.State.Vectors["weights"]
	}
	return ok && len(w) == d || len(c.Finished) > 0 && len(c.Finished[0].W) == d
}

// The tensors of the state have these prefixes before the names of their entries. A scalar is a tensor of shape [].
const (
	scalarPrefix = "scalar."
	vectorPrefix = "state."
)

// Encode returns the file: the state and the finished weights as tensors, and everything else as metadata.
func (c *Checkpoint) Encode() []byte {
	f := safetensors.File{Metadata: map[string]string{
		"format": "bregman-fit", "version": strconv.Itoa(checkpointVersion), "data": c.Data,
		"p": strconv.FormatFloat(c.Attempt.P, 'g', -1, 64), "soft": strconv.FormatFloat(c.Attempt.Soft, 'g', -1, 64),
		"none": c.None, "refuted": strconv.FormatBool(c.Refuted), "finished": strconv.Itoa(len(c.Finished)),
		"method": c.State.Method, "step": strconv.Itoa(c.State.Step)}}
	add := func(name string, x []float64) {
		f.Tensors = append(f.Tensors, safetensors.FromFloat64s(name, []int{len(x)}, x))
	}
	for k, r := range c.Finished {
		add(fmt.Sprintf("finished.%d.weights", k), r.W)
		add(fmt.Sprintf("finished.%d.numbers", k), []float64{r.Lower, r.Upper, r.Loss, r.Objective, r.Excess,
			float64(r.Steps), r.Eta})
	}
	for _, name := range slices.Sorted(maps.Keys(c.State.Scalars)) {
		x := []float64{c.State.Scalars[name]}
		f.Tensors = append(f.Tensors, safetensors.FromFloat64s(scalarPrefix+name, nil, x))
	}
	for _, name := range slices.Sorted(maps.Keys(c.State.Vectors)) {
		add(vectorPrefix+name, c.State.Vectors[name])
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

// ReadCheckpoint reads and verifies a checkpoint.
func ReadCheckpoint(path string) (*Checkpoint, error) {
	f, err := safetensors.Read(path)
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		return nil, err
	}
	old := f.Metadata["version"] == "1" || f.Metadata["version"] == "2" // these have no checksum
	if _, sum := f.Metadata[safetensors.ChecksumKey]; err == nil && (sum || !old) {
		err = f.Verify()
	}
	if err == nil {
		if err := checkFormat(f.Metadata); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	var c *Checkpoint
	if err == nil {
		c, err = decodeCheckpoint(f)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): delete it, and --resume starts at the first step", path, err)
	}
	c.Unchecked = old
	return c, nil
}

// checkFormat returns an error if a checkpoint is not one that this program reads.
func checkFormat(m map[string]string) error {
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
		return fmt.Errorf("checkpoint version %d is of an older program, this one reads versions 2 to %d: start again",
			version, checkpointVersion)
	}
	return nil
}

// decodeCheckpoint reads what Encode wrote, whose checksum and format the caller has verified.
func decodeCheckpoint(f safetensors.File) (*Checkpoint, error) {
	r := &checkpointReader{File: f}
	m := f.Metadata
	c := &Checkpoint{Data: m["data"], Attempt: Attempt{P: r.number("p"), Soft: r.number("soft")}, None: m["none"],
		Refuted: m["refuted"] == "true"}
	for k := range r.count("finished") {
		w, v := r.vector(fmt.Sprintf("finished.%d.weights", k)), r.vector(fmt.Sprintf("finished.%d.numbers", k))
		if r.err == nil && len(v) != 7 {
			r.err = errors.New("its numbers are wrong")
		}
		if r.err != nil {
			break
		}
		c.Finished = append(c.Finished, &linear.Result{W: w, Certificate: linear.Certificate{Lower: v[0], Upper: v[1]},
			Loss: v[2], Objective: v[3], Excess: v[4], Steps: int(v[5]), Eta: v[6]})
	}
	state := r.state
	if m["version"] == "2" || m["version"] == "3" {
		state = r.positionalState
	}
	c.State = state(m["method"], int(r.number("step")))
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

// checkpointReader reads the parts of a checkpoint and keeps the first error.
type checkpointReader struct {
	safetensors.File
	err error
}

func (r *checkpointReader) number(key string) float64 {
	v, err := strconv.ParseFloat(r.Metadata[key], 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%s is %q", key, r.Metadata[key])
	}
	return v
}

// count returns a number of tensors, 0 after an error.
func (r *checkpointReader) count(key string) int {
	v := r.number(key)
	if r.err == nil && !(v >= 0 && v <= float64(len(r.Tensors))) {
		r.err = errors.New("its counts are wrong")
	}
	if r.err != nil {
		return 0
	}
	return int(v)
}

func (r *checkpointReader) vector(name string) []float64 {
	t, ok := r.Tensor(name)
	if !ok {
		if r.err == nil {
			r.err = fmt.Errorf("no %s", name)
		}
		return nil
	}
	return r.elements(t)
}

func (r *checkpointReader) elements(t safetensors.Tensor) []float64 {
	x, err := safetensors.Float64s(t)
	if err != nil && r.err == nil {
		r.err = err
	}
	return x
}

// state reads the entries of the state by their names.
func (r *checkpointReader) state(method string, step int) *linear.Checkpoint {
	c := &linear.Checkpoint{Method: method, Step: step,
		Scalars: map[string]float64{}, Vectors: map[string][]float64{}}
	for _, t := range r.Tensors {
		if name, ok := strings.CutPrefix(t.Name, vectorPrefix); ok {
			c.Vectors[name] = r.elements(t)
		} else if name, ok := strings.CutPrefix(t.Name, scalarPrefix); ok {
			x := r.elements(t)
			if r.err == nil && len(x) != 1 {
				r.err = fmt.Errorf("%s has %d numbers", t.Name, len(x))
			}
			if r.err == nil {
				c.Scalars[name] = x[0]
			}
		}
	}
	return c
}

// positionalState reads the state of versions 2 and 3, which has no names.
func (r *checkpointReader) positionalState(method string, step int) *linear.Checkpoint {
	numbers := r.vector("numbers")
	var vectors [][]float64
	for k := range r.count("vectors") {
		vectors = append(vectors, r.vector(fmt.Sprintf("vector.%d", k)))
	}
	if r.err != nil {
		return nil
	}
	c, err := linear.PositionalCheckpoint(method, step, numbers, vectors)
	r.err = err
	return &c
}
