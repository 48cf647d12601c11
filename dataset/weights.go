package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
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
	case len(a.shape) == 1:
		d = a.shape[0]
	case len(a.shape) == 2 && !a.fortran:
		k, d = a.shape[0], a.shape[1]
	default:
		return nil, a.fail("shape %s: want one weight vector, or one a row in C order", a.dims())
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
	shape := fmt.Sprintf("(%d,)", len(w[0]))
	if len(w) > 1 {
		shape = fmt.Sprintf("(%d, %d)", len(w), len(w[0]))
	}
	dict := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape)
	start := len(npyMagic) + 4
	pad := 64 - (start+len(dict)+1)%64 // NumPy wants the data aligned
	var b bytes.Buffer
	b.WriteString(npyMagic + "\x01\x00")
	binary.Write(&b, binary.LittleEndian, uint16(len(dict)+pad+1))
	fmt.Fprintf(&b, "%s%*s\n", dict, pad, "")
	for _, row := range w {
		for _, v := range row {
			b.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
		}
	}
	return b.Bytes()
}
