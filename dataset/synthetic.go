package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bregman-ml/bregman/matrix"
)

// Reading says what the 0.15 in N((1/2, 1/2), 0.15·I) is. The paper does not.
type Reading int

const (
	Deviation Reading = iota // each coordinate has standard deviation 0.15
	Variance                 // each coordinate has variance 0.15
)

func (r Reading) String() string {
	switch r {
	case Deviation:
		return "deviation"
	case Variance:
		return "variance"
	}
	return fmt.Sprintf("Reading(%d)", int(r))
}

// Each generator draws from a stream of its own, so that none changes when another does.
const (
	streamR2   = 1
	streamR100 = 2
)

// R2 is the set of the paper's Figure 1: (1/6, 1/2), (1/2, 1/6), (1/3, 1/3) and 12 points from
// N((1/2, 1/2), 0.15·I), all with label +1. Both readings stretch the same draws.
func R2(seed uint64, reading Reading) *Set {
	scale := 0.15
	if reading == Variance {
		scale = math.Sqrt(0.15)
	}
	rng := rand.New(rand.NewPCG(seed, streamR2))
	x := [][]float64{{1. / 6, 1. / 2}, {1. / 2, 1. / 6}, {1. / 3, 1. / 3}}
	for range 12 {
		// The conversions keep machines with a fused multiply-add from rounding differently.
		a, b := rng.NormFloat64(), rng.NormFloat64()
		x = append(x, []float64{0.5 + float64(scale*a), 0.5 + float64(scale*b)})
	}
	return &Set{Name: fmt.Sprintf("r2 (seed %d, 0.15 is the %s)", seed, reading), X: matrix.FromRows(x), Y: ones(len(x))}
}

// R100 is the paper's sparse set: 15 vectors in R^100 with up to 10 entries from U(-2, 4), all with label +1.
// The places of a vector are 10 draws with replacement, hence "up to".
func R100(seed uint64) *Set {
	const n, d, draws = 15, 100, 10
	rng := rand.New(rand.NewPCG(seed, streamR100))
	var rows matrix.Builder
	for range n {
		cols := make([]int32, draws)
		for k := range cols {
			cols[k] = rng.Int32N(d)
		}
		slices.Sort(cols)
		for _, c := range slices.Compact(cols) {
			rows.Add(c, -2+float64(6*rng.Float64()))
		}
		rows.EndRow()
	}
	return &Set{Name: fmt.Sprintf("r100 (seed %d)", seed), X: rows.Build(d), Y: ones(n)}
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }
