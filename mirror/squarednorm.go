package mirror

import (
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
)

type squaredNorm struct {
	p, q     float64
	up, down vec.Power // p − 1 and q − 1
}

var _ Potential = (*squaredNorm)(nil)

// SquaredNorm is ψ(w) = ½‖w‖ₚ² for p > 1, the potential of the p-norm algorithm (Grove et al. 2001,
// Gentile 2003). With 1/p + 1/q = 1:
//
//	∇ψ(w)ⱼ = ‖w‖ₚ^(2−p)·sign(wⱼ)|wⱼ|^(p−1),   ∇ψ*(z)ⱼ = ‖z‖_q^(2−q)·sign(zⱼ)|zⱼ|^(q−1).
//
// It leads to the same direction as Power(p) but needs a norm at every step. Both maps are homogeneous
// of degree 1 and are computed from coordinates divided by the largest: they do not overflow.
//
// SquaredNorm panics unless CheckP accepts p.
func SquaredNorm(p float64) Potential {
	mustP(p)
	return &squaredNorm{p: p, q: Conjugate(p), up: vec.PowerOf(p - 1), down: vec.PowerOf(1 / (p - 1))}
}

func (s *squaredNorm) String() string           { return fmt.Sprintf("squarednorm(%v)", s.p) }
func (s *squaredNorm) Mirror(dst, w []float64)  { dualityMap(dst, w, s.p, s.up) }
func (s *squaredNorm) Inverse(dst, z []float64) { dualityMap(dst, z, s.q, s.down) }
func (s *squaredNorm) Start(dst []float64)      { clear(dst) }
func (s *squaredNorm) Check(w []float64) error  { return checkFinite(w) }

func (s *squaredNorm) Value(w []float64) float64 {
	n := Norm(w, s.p)
	return n * n / 2
}

// DualityMap sets dst = ∇(½‖·‖ₚ²)(x): the vector with ⟨dst, x⟩ = ‖x‖ₚ² and ‖dst‖_q = ‖x‖ₚ.
func DualityMap(dst, x []float64, p float64) {
	mustP(p)
	dualityMap(dst, x, p, vec.PowerOf(p-1))
}

// dualityMap computes m·‖u‖ₚ^(2−p)·sign(u)|u|^(p−1) with m = max|xⱼ| and u = x/m.
func dualityMap(dst, x []float64, p float64, up vec.Power) {
	m := maxAbs(x)
	if m == 0 {
		clear(dst[:len(x)])
		return
	}
	scale := m * math.Pow(scaledNorm(x, m, p), 2-p)
	for j, v := range x {
		dst[j] = v / m
	}
	up.Signed(dst, dst)
	vec.Scale(dst, scale, dst)
}
