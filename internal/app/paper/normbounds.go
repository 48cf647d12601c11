package paper

import (
	"math"

	"github.com/bregman-ml/bregman/mirror"
)

// normBounds are the paper's bounds on ‖w_t‖ₚ for the exponential loss (Lemma 16):
//
//	(log t − p log log t)/C + O(1) ≤ ‖w_t‖ₚ ≤ p/((p−1)γ̂)·log t   for large t.
type normBounds struct {
	p, eta float64
	n      int       // examples
	margin float64   // γ̂
	c      float64   // C = maxᵢ‖xᵢ‖_q
	u, w0  []float64 // the max-margin direction, ‖u‖ₚ = 1, and the start
}

// upper is the upper bound.
func (b normBounds) upper(t float64) float64 { return b.p / (b.p - 1) / b.margin * math.Log(t) }

// leastMargin is a lower bound on γ(w_t), NaN for ηt ≤ 1, by the argument of the lemma with its constants kept. For
// any r, L(w_t) ≤ L(r) + D(r, w₀)/(ηt). With r = u·log(ηt)/γ̂ it is L(r) ≤ 1/(ηt), and e^(−γ(w_t))/n ≤ L(w_t). So
//
//	γ(w_t) ≥ log(ηt) − log(n + n·D(u·log(ηt)/γ̂, w₀)),
//
// where D grows like log^p t.
func (b normBounds) leastMargin(t float64) float64 {
	s := math.Log(b.eta * t)
	if !(s > 0) {
		return math.NaN()
	}
	d := mirror.Divergence(mirror.Power(b.p), scaled(s/b.margin, b.u), b.w0)
	return s - math.Log(float64(b.n)*(1+d))
}

// lower is the lower bound, with its O(1) written out: γ(w_t) ≤ C‖w_t‖ₚ.
func (b normBounds) lower(t float64) float64 { return b.leastMargin(t) / b.c }

// sharper is the same bound with γ̂ in the place of C, which is larger: γ(w_t) ≤ γ̂‖w_t‖ₚ by the definition of γ̂.
func (b normBounds) sharper(t float64) float64 { return b.leastMargin(t) / b.margin }
