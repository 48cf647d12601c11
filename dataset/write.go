package dataset

import (
	"bufio"
	"io"
	"math"
	"strconv"
)

// WriteSVM writes a set as svmlight text with the shortest numbers that are read back as the same bits.
// Zeros of a dense matrix are left out; names of features are lost, as the format has no place for them.
func WriteSVM(w io.Writer, s *Set) error {
	n, d := s.X.Dims()
	if err := s.check(); err != nil {
		return &Error{Name: s.Name, Msg: err.Error(), err: err}
	}
	out := bufio.NewWriterSize(w, window)
	most := 0 // the largest index written
	var line []byte
	for i := range n {
		idx, val := s.X.Row(i)
		line = strconv.AppendFloat(line[:0], s.Y[i], 'g', -1, 64)
		if math.IsNaN(s.Y[i]) || math.IsInf(s.Y[i], 0) {
			return at(s.Name, i+1, 0, "label: %s", notNumber(string(line)))
		}
		for k, v := range val {
			j := k
			if idx != nil {
				j = int(idx[k])
			} else if math.Float64bits(v) == 0 {
				continue
			}
			if v-v != 0 {
				return at(s.Name, i+1, 0, "feature %d: %s", j+1, notNumber(strconv.FormatFloat(v, 'g', -1, 64)))
			}
			line = appendPair(line, j, v)
			most = max(most, j+1)
		}
		if i == n-1 && most < d {
			line = appendPair(line, d-1, 0) // or the last columns, empty, would be forgotten
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

func appendPair(line []byte, col int, v float64) []byte {
	line = strconv.AppendInt(append(line, ' '), int64(col)+1, 10)
	return strconv.AppendFloat(append(line, ':'), v, 'g', -1, 64)
}
