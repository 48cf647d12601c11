package fit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/linear"
)

// checkpointVersion is that of the format. Version 2 has penalties in every p, version 3 a checksum. Both are read.
const checkpointVersion = 3

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

// Encode returns the file: named vectors, and everything else as metadata.
func (c *Checkpoint) Encode() []byte {
	f := safetensors.File{Metadata: map[string]string{"format": "bregman-fit", "version": strconv.Itoa(checkpointVersion), "data": c.Data,
		"p": strconv.FormatFloat(c.Attempt.P, 'g', -1, 64), "soft": strconv.FormatFloat(c.Attempt.Soft, 'g', -1, 64),
		"none": c.None, "refuted": strconv.FormatBool(c.Refuted), "finished": strconv.Itoa(len(c.Finished)),
		"method": string(c.State.Method), "step": strconv.Itoa(c.State.Step), "vectors": strconv.Itoa(len(c.State.Vectors))}}
	add := func(name string, x []float64) {
		f.Tensors = append(f.Tensors, safetensors.FromFloat64s(name, []int{len(x)}, x))
	}
	for k, r := range c.Finished {
		add(fmt.Sprintf("finished.%d.weights", k), r.W)
		add(fmt.Sprintf("finished.%d.numbers", k), []float64{r.Lower, r.Upper, r.Loss, r.Objective, r.Excess, float64(r.Steps), r.Eta})
	}
	add("numbers", c.State.Numbers)
	for k, v := range c.State.Vectors {
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
		return fmt.Errorf("checkpoint version %d is of an older program, this one reads versions 2 and %d: start again",
			version, checkpointVersion)
	}
	return nil
}

// decodeCheckpoint reads what Encode wrote, whose checksum and format the caller has verified.
func decodeCheckpoint(f safetensors.File) (*Checkpoint, error) {
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
	c := &Checkpoint{Data: m["data"], Attempt: Attempt{P: number("p"), Soft: number("soft")}, None: m["none"],
		Refuted: m["refuted"] == "true"}
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
		c.Finished = append(c.Finished, r)
	}
	c.State = &linear.Checkpoint{Method: linear.Method(m["method"]), Step: int(number("step")), Numbers: vector("numbers")}
	for k := range int(vectors) {
		c.State.Vectors = append(c.State.Vectors, vector(fmt.Sprintf("vector.%d", k)))
	}
	return c, err
}
