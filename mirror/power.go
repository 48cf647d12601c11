package mirror

import (
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
)

type power struct {
	p       float64
	up      vec.Power // p − 1
	down    vec.Power // 1/(p−1)
	ofValue vec.Power // p
}

var (
	_ Potential  = (*power)(nil)
	_ divergence = (*power)(nil)
)

// Power is ψ(w) = (1/p)‖w‖ₚᵖ for p > 1, the potential of p-GD:
//
//	∇ψ(w)ⱼ = sign(wⱼ)|wⱼ|^(p−1),   ∇ψ*(z)ⱼ = sign(zⱼ)|zⱼ|^(1/(p−1)).
//
// Where |w|^(p−1) underflows the dual coordinate is 0, and its inverse too: for p = 100 a weight below
// 5·10⁻⁴ in magnitude is taken as 0 by Mirror, for p = 10 one below 10⁻³⁶. Where it overflows (p = 100:
// above 1300) the dual is infinite. A descent whose state is the dual vector, as in package linear, makes that
// round trip only once, at its start. Near p = 1 it is the inverse that overflows: for p = 1.01 from |z| = 1209 on.
//
// Power panics unless CheckP accepts p.
func Power(p float64) Potential {
	mustP(p)
	return &power{p: p, up: vec.PowerOf(p - 1), down: vec.PowerOf(1 / (p - 1)), ofValue: vec.PowerOf(p)}
}

func (s *power) String() string           { return fmt.Sprintf("power(%v)", s.p) }
func (s *power) Mirror(dst, w []float64)  { s.up.Signed(dst, w) }
func (s *power) Inverse(dst, z []float64) { s.down.Signed(dst, z) }
func (s *power) Start(dst []float64)      { clear(dst) }
func (s *power) Check(w []float64) error  { return checkFinite(w) }

// Exponent returns p.
func (s *power) Exponent() float64 { return s.p }

func (s *power) Value(w []float64) float64 { return sumPower(s.ofValue, w) / s.p }

// divergence sums coordinate-wise terms, none of which is negative, so that nothing cancels between coordinates.
func (s *power) divergence(x, y []float64) float64 {
	var sum float64
	for j := range x {
		sum += powerDivergence(s.p, x[j], y[j])
	}
	return sum
}

// powerDivergence returns |x|ᵖ/p − |y|ᵖ/p − sign(y)|y|^(p−1)(x−y). With x = (1+δ)y it is
// |y|ᵖ·(((1+δ)ᵖ − 1)/p − δ) = |y|ᵖ·Σ_{k≥2} (p−1)…(p−k+1)/k! · δᵏ; the series replaces the difference,
// which cancels, where |δ|(p+1) < 0.3: its terms are summed until they no longer count. Above that expm1(p·log1p δ)/p −
// δ loses about a factor 1/((p−1)δ) to the subtraction: an error of 1e-15/(p−1).
func powerDivergence(p, x, y float64) float64 {
	if y == 0 {
		return math.Pow(math.Abs(x), p) / p
	}
	d := (x - y) / y
	yp := math.Pow(math.Abs(y), p)
	if math.Abs(d)*(p+1) < 0.3 {
		term, sum := d, 0.0
		for k := 2.0; k < 60; k++ {
			term *= d * (p - k + 1) / k
			if sum += term; math.Abs(term) <= 1e-17*math.Abs(sum) {
				break
			}
		}
		return yp * sum
	}
	if yp < 1e-290 || math.IsInf(yp, 0) || math.Abs(d) > 1 { // nothing cancels, and (1+δ)ᵖ might overflow
		return math.Pow(math.Abs(x), p)/p - yp/p - math.Copysign(math.Pow(math.Abs(y), p-1), y)*(x-y)
	}
	return yp * (math.Expm1(p*math.Log1p(d))/p - d)
}

// sumPower returns Σ|xⱼ|^y through a buffer that stays in the first-level cache.
func sumPower(y vec.Power, x []float64) float64 {
	var buf [128]float64
	var sum float64
	for len(x) > 0 {
		n := min(len(x), len(buf))
		y.Abs(buf[:n], x[:n])
		for _, v := range buf[:n] {
			sum += v
		}
		x = x[n:]
	}
	return sum
}
