package linear

import "errors"

// Checkpoint is the state of a running fit.
type Checkpoint struct {
	Method  string
	Step    int
	Numbers []float64
	Vectors [][]float64
}

var errOtherData = errors.New("the checkpoint was made from other data: its vectors do not fit")
