package dataset

import (
	"io"
	"os"
	"slices"

	"github.com/bregman-ml/bregman/internal/npy"
)

// ReadWeights reads weight vectors from an .npy file: one, or one a row.
func ReadWeights(path string) ([][]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, failed(path, 0, err)
	}
	defer f.Close()
	return decodeWeights(f, path)
}

func decodeWeights(f io.Reader, path string) ([][]float64, error) {
	a, err := openArray(f, path, "")
	if err != nil {
		return nil, err
	}
	k, d := 1, 0
	switch {
	case len(a.Shape) == 1:
		d = a.Shape[0]
	case len(a.Shape) == 2 && !a.Fortran:
		k, d = a.Shape[0], a.Shape[1]
	default:
		return nil, a.fail("shape %s: want one weight vector, or one a row in C order", a.Shape)
	}
	if k == 0 || d == 0 {
		return nil, a.fail("no weights")
	}
	var w [][]float64
	for range k {
		v, err := a.next(d)
		if err != nil {
			return nil, err
		}
		w = append(w, v)
	}
	return w, a.end()
}

// EncodeWeights returns an .npy file of one weight vector, or of several as rows.
func EncodeWeights(w [][]float64) []byte {
	shape := []int{len(w[0])}
	if len(w) > 1 {
		shape = []int{len(w), len(w[0])}
	}
	return npy.Floats(slices.Concat(w...), shape...)
}
