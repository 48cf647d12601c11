package paper

import (
	"math"

	"github.com/bregman-ml/bregman/mirror"
)

// landscape is a loss on a problem, with the direction u in which its minimum lies: the regularised direction, which is
// the max-margin direction if the tail is exponential.
type landscape struct {
	set setting
	tail
	u      []float64 // ‖u‖ₚ = 1
	margin float64   // of u: γ̂ₚ if the tail is exponential
	c      float64   // max‖xᵢ‖_q
	n      float64   // examples

	m, coef []float64 // of the examples, overwritten by at and logLoss
}

func newLandscape(sub subject, set setting, l tail, u []float64, margin float64) landscape {
	n, _ := set.prob.Dims()
	return landscape{set: set, tail: l, u: u, margin: margin, c: set.prob.RowNorm(sub.conjugate(set.p)), n: float64(n),
		m: make([]float64, n), coef: make([]float64, n)}
}

// at sets grad to ∇L(w)/L(w) and returns log L(w).
func (l *landscape) at(grad, w []float64) (log float64) {
	log = l.logLoss(w)
	for i := range l.coef {
		l.coef[i] = -l.coef[i]
	}
	for i, y := range l.set.prob.Y {
		l.coef[i] *= y
	}
	clear(grad)
	l.set.prob.X.AddMulT(grad, l.coef)
	return log
}

// logLoss is log L(w).
func (l *landscape) logLoss(w []float64) float64 {
	l.set.prob.Margins(l.m, w)
	return l.mean(l.coef, l.m)
}

// curvature adds to dst the diagonal of ∇²L(w)/L(w), for the w of the last call of at or logLoss.
func (l *landscape) curvature(dst []float64) {
	for i, coef := range l.coef {
		m := l.m[i]
		weight := math.Abs(coef) / l.slope(m) * l.curve(m)
		idx, val := l.set.prob.X.Row(i)
		for k, v := range val {
			j := k
			if idx != nil {
				j = int(idx[k])
			}
			dst[j] += weight * v * v
		}
	}
}

// reference returns the least ρ for which Lemma 11 is proved: L((r + ρ)u) ≤ L(w) for every w of norm r. In the lemma's
// words α = ρ/r. For an exponential tail, ℓ((r + ρ)γ̂) ≤ ℓ(rγ̂)/n ≤ L(w): w has an example of margin at most rγ̂.
// Otherwise convexity gives L(w) ≥ L(v) − r‖∇L(v)‖_q − ⟨∇L(v), v⟩ with v = ru, and ρ is found by bisection. It returns
// +Inf if that proves nothing: r is too small.
func (l *landscape) reference(r float64) float64 {
	if l.exponential() {
		return l.inverse(l.log(r*l.margin)-math.Log(l.n))/l.margin - r
	}
	grad := make([]float64, len(l.u))
	at := l.at(grad, scaled(r, l.u))
	gap := r * (mirror.Norm(grad, mirror.Conjugate(l.set.p)) + dot(grad, l.u))
	if !(gap < 0.9) {
		return math.Inf(1)
	}
	aim := at + math.Log1p(-max(gap, 0))
	low, high := 0.0, 1e-9*r
	for l.logLoss(scaled(r+high, l.u)) > aim {
		if low, high = high, 4*high; high > 1e6*r {
			return math.Inf(1)
		}
	}
	for range 8 {
		if mid := (low + high) / 2; l.logLoss(scaled(r+mid, l.u)) > aim {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
