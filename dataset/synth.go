package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bregman-ml/bregman/matrix"
)

// Synth describes a sparse separable problem: Rows examples of Entries nonzeros each in Cols features. The places are
// uniform without repetition, the values normal of deviation 0.258, rounded to Digits decimals, and a label is the sign
// of ⟨x, u⟩ for a hidden standard normal u. The zero value of a field is the problem that the documentation measures.
type Synth struct {
	Rows    int // 0: 100,000
	Cols    int // 0: 50,000
	Entries int // 0: 50
	Digits  int // 0: 4
	Seed    uint64
}

const streamSynth = 3

// withDefaults fills in the zeros.
func (s Synth) withDefaults() Synth {
	for _, f := range []struct {
		v *int
		d int
	}{{&s.Rows, 100_000}, {&s.Cols, 50_000}, {&s.Entries, 50}, {&s.Digits, 4}} {
		if *f.v == 0 {
			*f.v = f.d
		}
	}
	return s
}

// Check returns the first thing wrong with the settings.
func (s Synth) Check() error {
	s = s.withDefaults()
	switch {
	case s.Rows < 1 || s.Cols < 1 || s.Entries < 1:
		return fmt.Errorf("%d rows, %d columns, %d entries a row: want at least 1 of each", s.Rows, s.Cols, s.Entries)
	case s.Entries > s.Cols:
		return fmt.Errorf("%d entries a row do not fit into %d columns", s.Entries, s.Cols)
	case s.Cols > math.MaxInt32:
		return fmt.Errorf("%d columns: at most %d are possible", s.Cols, math.MaxInt32)
	case s.Digits < 1 || s.Digits > 15:
		return fmt.Errorf("%d decimals: want 1 to 15", s.Digits)
	}
	return nil
}

// Make draws the problem. It depends on the settings alone.
func (s Synth) Make() (*Set, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	s = s.withDefaults()
	rng := rand.New(rand.NewPCG(s.Seed, streamSynth))
	u := make([]float64, s.Cols)
	for j := range u {
		u[j] = rng.NormFloat64()
	}
	scale := math.Pow(10, float64(s.Digits))
	var rows matrix.Builder
	y := make([]float64, s.Rows)
	cols := make([]int32, 0, s.Entries)
	taken := make([]int, s.Cols) // the last row, counted from 1, that has the column
	for i := range y {
		cols = cols[:0]
		for len(cols) < s.Entries {
			if j := rng.Int32N(int32(s.Cols)); taken[j] != i+1 {
				taken[j] = i + 1
				cols = append(cols, j)
			}
		}
		slices.Sort(cols)
		var score float64
		for _, j := range cols {
			v := math.Round(rng.NormFloat64()*0.258*scale) / scale
			rows.Add(j, v)
			score += float64(v * u[j])
		}
		rows.EndRow()
		if y[i] = 1; score < 0 {
			y[i] = -1
		}
	}
	return &Set{Name: fmt.Sprintf("synth (%d × %d, %d entries a row, seed %d)", s.Rows, s.Cols, s.Entries, s.Seed),
		X: rows.Build(s.Cols), Y: y}, nil
}
