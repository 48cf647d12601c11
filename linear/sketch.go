package linear

import (
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/pool"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/matrix"
)

// sketch is a preconditioner for the conjugate gradients of Newton: the system of a sample of the examples, factored,
//
//	M = Σ cᵢ/πᵢ·xᵢxᵢᵀ + D,   D = λ(p−1)·diag(ω^(p−2)),
//
// one for each vector of scores. Example i is in the sample with probability πᵢ ∝ cᵢ‖xᵢ‖², at most 1, where cᵢ is the
// curvature of its loss and the norm is that of the inverse diagonal of Σ cᵢxᵢxᵢᵀ. Four examples a weight make M the
// system within a factor of about (1 ± ½)², whatever its condition: conjugate gradients need some ten steps, where with
// the diagonal alone correlated features cost hundreds. If the sample is all examples M is exact for one vector of
// scores. A bad sample costs time, never accuracy: the system is solved with all examples.
//
// The sum is kept for later steps, with another D, until the curvatures have changed.
//
// The softmax does not change when all its scores shift, so that along (u, u, …) the system is D alone, far below M.
// Another term makes up for this: a preconditioner of the shifts, (Σₖ Dₖ)⁻¹, is added to M⁻¹ (additive Schwarz).
//
// References: Pilanci & Wainwright 2017, Newton sketch; Toselli & Widlund 2005, Domain decomposition methods, on
// additive Schwarz.
type sketch struct {
	l      *layout
	curved [][]float64 // the curvatures that the sums were made for
	system [][]float64 // d × d: the sum above the diagonal, the factor of M, scaled to diagonal 1, below and on it
	middle [][]float64 // the diagonal of the sum
	scale  []float64   // that scaling: the root of the inverse diagonal
	coarse []float64   // (Σₖ Dₖ)⁻¹ of the penalised weights; nil: scores may not shift
	sums   []float64
	square []float64
}

const (
	sketchRows    = 4       // examples a weight in the sample
	sketchEntries = 1 << 24 // the most entries of the factors: 128 MB
	sketchFresh   = 0.3     // the change of the curvatures, relative to their sum, that a sum outlives
	sketchRidge   = 1e-12   // added to the diagonal, of 1
	sketchLost    = 0.5     // a feature of which the sample has less than this is given its diagonal
	coarseLeast   = 1e-9    // Σₖ Dₖ is raised to this share of the diagonal
	// sketchSpeed is how many times as many operations a second a sketch takes as a product with a matrix, which waits
	// for the memory.
	sketchSpeed = 4
)

// sketchAfter is after how many conjugate gradients with the diagonal the first sketch is made: half as many as it
// costs. It is newtonInner, never, if the sketch is too large.
func sketchAfter(loss meanLoss) int {
	l := loss.shape()
	n, d, k := float64(l.n), float64(l.d), float64(l.k)
	if k*d*d > sketchEntries || l.n < 2 {
		return newtonInner
	}
	cost := min(n, sketchRows*d)*d*d + d*d*d/3
	return min(newtonInner, 3+int(cost/(4*float64(l.x.NNZ())*sketchSpeed)))
}

func newSketch(loss meanLoss) *sketch {
	l := loss.shape()
	s := &sketch{l: l, scale: make([]float64, l.k*l.d), square: make([]float64, l.d)}
	for range l.k {
		s.curved = append(s.curved, make([]float64, l.n))
		s.system = append(s.system, make([]float64, l.d*l.d))
		s.middle = append(s.middle, make([]float64, l.d))
	}
	if loss.shifts() {
		_, m, _ := l.dims()
		s.coarse = make([]float64, m/l.k)
		s.sums = make([]float64, m/l.k)
	}
	return s
}

// update makes the sums anew for the curvatures of the loss, if they have changed.
func (s *sketch) update(loss meanLoss) {
	for k, last := range s.curved {
		now := loss.bent(k)
		var size, change float64
		for i, c := range now {
			size += c
			change += math.Abs(c - last[i])
		}
		if !(change <= sketchFresh*size) {
			s.gather(k, now)
		}
	}
}

// gather makes the k-th sum. It depends on the curvatures alone.
func (s *sketch) gather(k int, curvature []float64) {
	copy(s.curved[k], curvature)
	d, system := s.l.d, s.system[k]
	rows, weight := s.sample(curvature)
	for j := range d {
		clear(system[j*d : j*d+j+1])
	}
	matrix.AddGramT(system, s.l.x, rows, weight)
	for j := range d {
		for i, v := range system[j*d : j*d+j] {
			system[i*d+j] = v
		}
		s.middle[k][j] = system[j*d+j]
	}
}

// factor factors the system with the given diagonal D and the inverse of its whole diagonal.
func (s *sketch) factor(diagonal, inverse []float64) {
	for j, v := range inverse {
		s.scale[j] = math.Sqrt(v)
	}
	if s.coarse != nil {
		s.shifts(diagonal, inverse)
	}
	d := s.l.d
	for k, system := range s.system {
		scale := slices.Clone(s.l.vector(s.scale, k))
		own := s.l.vector(diagonal, k)
		for j, a := range scale {
			row := system[j*d : j*d+j+1]
			for i := range row[:j] {
				row[i] = a * scale[i] * system[i*d+j]
			}
			if row[j] = a * a * (s.middle[k][j] + own[j]); !(a > 0 && row[j] > sketchLost) {
				row[j] = 1
			}
			row[j] += sketchRidge
		}
		cholesky(system, d)
	}
}

// shifts sets up the preconditioner of the shifts.
func (s *sketch) shifts(diagonal, inverse []float64) {
	each := len(s.coarse)
	for j := range s.coarse {
		var sum, least float64
		for k := range s.l.k {
			sum += diagonal[k*each+j]
			if a := inverse[k*each+j]; a > 0 {
				least += coarseLeast / a
			}
		}
		if s.coarse[j] = 0; max(sum, least) > 0 {
			s.coarse[j] = 1 / max(sum, least)
		}
	}
}

// sample chooses examples, with the curvatures they stand for.
func (s *sketch) sample(curvature []float64) (rows []int, weight []float64) {
	n := s.l.n
	wanted := sketchRows * s.l.d
	if n <= wanted {
		for i, c := range curvature {
			if c > 0 {
				rows, weight = append(rows, i), append(weight, c)
			}
		}
		return rows, weight
	}
	clear(s.square)
	matrix.AddSquaresT(s.square, s.l.x, curvature)
	for j, v := range s.square {
		if v > 0 {
			s.square[j] = 1 / v
		}
	}
	size := make([]float64, n)
	var sum float64
	matrix.Rows(s.l.x, func(i int, idx []int32, val []float64) {
		var norm float64
		for e, v := range val {
			if idx != nil {
				norm += v * v * s.square[idx[e]]
			} else {
				norm += v * v * s.square[e]
			}
		}
		size[i] = curvature[i] * norm
		sum += size[i]
	})
	unit := sum / float64(wanted)
	for i, a := range size {
		if a > 0 && a >= unit*uniform(i) {
			rows, weight = append(rows, i), append(weight, curvature[i]*max(1, unit/a))
		}
	}
	return rows, weight
}

// uniform is a number in [0, 1) that depends on i alone, by SplitMix64: a fit is repeated to the last bit.
func uniform(i int) float64 {
	z := (uint64(i) + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) * 0x1p-53
}

// solve sets dst = M⁻¹r, and adds the shifts.
func (s *sketch) solve(dst, r []float64) {
	for j, v := range r {
		dst[j] = v * s.scale[j]
	}
	for k, system := range s.system {
		choleskySolve(system, s.l.d, s.l.vector(dst, k))
		s.l.put(dst, k)
	}
	for j, v := range s.scale {
		dst[j] *= v
	}
	if s.coarse == nil {
		return
	}
	each := len(s.sums)
	clear(s.sums)
	for k := range s.l.k {
		vec.Axpy(1, r[k*each:(k+1)*each], s.sums)
	}
	times(s.sums, s.sums, s.coarse)
	for k := range s.l.k {
		vec.Axpy(1, s.sums, dst[k*each:(k+1)*each])
	}
}

// cholesky factors the symmetric n × n matrix whose lower triangle is in m, in place: m = L·Lᵀ. A pivot that cancels to
// nothing is replaced by a huge one, which leaves that unknown at 0.
func cholesky(m []float64, n int) {
	const block = 24
	for lo := 0; lo < n; lo += block {
		hi := min(lo+block, n)
		left := func(k int) { // left of the block: rows do not depend on each other
			row := m[(lo+k)*n : (lo+k+1)*n]
			for j := range lo {
				row[j] = (row[j] - vec.Dot(row[:j], m[j*n:j*n+j])) / m[j*n+j]
			}
		}
		if lo >= 128 {
			pool.Loop(hi-lo, left)
		} else {
			for k := range hi - lo {
				left(k)
			}
		}
		for i := lo; i < hi; i++ {
			row := m[i*n : i*n+n]
			for j := lo; j < i; j++ {
				row[j] = (row[j] - vec.Dot(row[:j], m[j*n:j*n+j])) / m[j*n+j]
			}
			pivot := row[i] - vec.Dot(row[:i], row[:i])
			if !(pivot > 1e-15*math.Abs(row[i])) {
				pivot = 1e128
			}
			row[i] = math.Sqrt(pivot)
		}
	}
}

// choleskySolve sets x = (L·Lᵀ)⁻¹x.
func choleskySolve(l []float64, n int, x []float64) {
	for i := range n {
		x[i] = (x[i] - vec.Dot(l[i*n:i*n+i], x[:i])) / l[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		x[i] /= l[i*n+i]
		vec.Axpy(-x[i], l[i*n:i*n+i], x[:i])
	}
}
