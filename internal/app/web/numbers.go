package web

import (
	"math"
	"strconv"
)

// numbers are floats as JSON: eight digits are more than a screen shows, and null stands for values that are not
// finite.
type numbers []float64

func (n numbers) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 2+10*len(n))
	b = append(b, '[')
	for i, v := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, v)
	}
	return append(b, ']'), nil
}

// number is one float.
type number float64

func (n number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n)), nil }

func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return append(b, "null"...)
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', 8, 64)
}
