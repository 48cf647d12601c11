package linear

import (
	"errors"
	"fmt"
)

// Checkpoint is the state of a running fit after Step steps. Every method has its own names for what it keeps.
type Checkpoint struct {
	Method  string
	Step    int
	Scalars map[string]float64
	Vectors map[string][]float64
}

// entries are the names of what a method keeps, in the order of positional checkpoints.
type entries struct{ scalars, vectors []string }

// PositionalCheckpoint names the entries of a checkpoint from before they had names, when the method alone told what
// the numbers and vectors were. It does not copy the vectors.
func PositionalCheckpoint(method string, step int, numbers []float64, vectors [][]float64) (Checkpoint, error) {
	name, err := MethodByName(method)
	if err != nil {
		return Checkpoint{}, err
	}
	e := descentEntries
	switch name {
	case MethodAccelerated:
		e = acceleratedEntries
	case MethodNewton:
		e = newtonEntries
	}
	if len(numbers) != len(e.scalars) || len(vectors) != len(e.vectors) {
		return Checkpoint{}, fmt.Errorf("a checkpoint of method %s with %d numbers and %d vectors: want %d and %d",
			method, len(numbers), len(vectors), len(e.scalars), len(e.vectors))
	}
	c := Checkpoint{method, step, map[string]float64{}, map[string][]float64{}}
	for k, name := range e.scalars {
		c.Scalars[name] = numbers[k]
	}
	for k, name := range e.vectors {
		c.Vectors[name] = vectors[k]
	}
	return c, nil
}

// check returns an error if an entry is missing.
func (c Checkpoint) check(e entries) error {
	for _, name := range e.scalars {
		if _, ok := c.Scalars[name]; !ok {
			return fmt.Errorf("the checkpoint of method %s has no number %q", c.Method, name)
		}
	}
	for _, name := range e.vectors {
		if _, ok := c.Vectors[name]; !ok {
			return fmt.Errorf("the checkpoint of method %s has no vector %q", c.Method, name)
		}
	}
	return nil
}

var errOtherData = errors.New("the checkpoint was made from other data: its vectors do not fit")
