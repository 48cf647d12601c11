package paper

import (
	"math"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
)

// tail is a decreasing loss ℓ in logarithms, so that ℓ(1000) = e^(−1000) is a number like any other. It is written
// down here a second time, apart from the one that descents use, so that each checks the other.
type tail struct {
	name    string
	loss    margin.Curved                     // as descents and paths use it
	log     func(s float64) float64           // log ℓ(s)
	slope   func(s float64) float64           // −ℓ′(s)/ℓ(s)
	curve   func(s float64) float64           // ℓ″(s)/ℓ(s), or a little more
	inverse func(log float64) (score float64) // the s with log ℓ(s) = log
	// For s ≥ 0 a loss of exponential tail is between κb·e^(−as) and b·e^(−as). a = 0: it is not of exponential tail.
	a, b, kappa float64
}

// exponential reports whether the tail is: then the regularised direction is the max-margin direction (Proposition 14).
func (l tail) exponential() bool { return l.a > 0 }

// tails are the losses that descents are checked with.
var tails = []tail{expTail, logisticTail, sharpTail, polyTail}

var expTail = tail{
	name:    "exp",
	loss:    linear.Exponential{},
	log:     func(s float64) float64 { return -s },
	slope:   func(float64) float64 { return 1 },
	curve:   func(float64) float64 { return 1 },
	inverse: func(log float64) float64 { return -log },
	a:       1, b: 1, kappa: 1,
}

// logisticTail: log(1 + x) is between x/2 and x for x ≤ 1.
var logisticTail = tail{
	name: "logistic",
	loss: linear.Logistic{},
	log: func(s float64) float64 {
		if s > 36 { // log(1 + x) = x to rounding
			return -s
		}
		return math.Log(softplus(-s))
	},
	slope: func(s float64) float64 {
		if s > 36 {
			return 1
		}
		return 1 / (1 + math.Exp(s)) / softplus(-s)
	},
	curve: func(float64) float64 { return 1 },
	inverse: func(log float64) float64 {
		if log < -36 {
			return -log
		}
		return -math.Log(math.Expm1(math.Exp(log)))
	},
	a: 1, b: 1, kappa: 0.5,
}

// softplus is log(1 + eˣ), for large x too.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// sharpTail is 3e^(−2s): Proposition 14 with a = 2 and b = 3.
var sharpTail = tail{
	name:    "3·exp(−2s)",
	loss:    sharp{},
	log:     func(s float64) float64 { return math.Log(3) - 2*s },
	slope:   func(float64) float64 { return 2 },
	curve:   func(float64) float64 { return 4 },
	inverse: func(log float64) float64 { return (math.Log(3) - log) / 2 },
	a:       2, b: 3, kappa: 1,
}

// sharp is sharpTail as a loss.
type sharp struct{}

func (sharp) String() string { return "3·exp(−2s)" }
func (sharp) Residual() bool { return false }

func (sharp) Sum(s []float64) (sum float64) {
	for _, v := range s {
		sum += 3 * math.Exp(-2*v)
	}
	return sum
}

func (sharp) Weights(dst, s []float64) {
	for i, v := range s {
		dst[i] = 6 * math.Exp(-2*v)
	}
}

func (sharp) Curvature(dst, s []float64) {
	for i, v := range s {
		dst[i] = 12 * math.Exp(-2*v)
	}
}

func (sharp) Normalized(dst, s []float64) {
	for i, v := range s {
		dst[i] = 2 * v
	}
	linear.Exponential{}.Normalized(dst, dst)
	for i := range dst {
		dst[i] *= 2
	}
}

// polyTail is 1/(1+s) for s ≥ 0 and 1 − s below.
var polyTail = tail{
	name: "poly",
	loss: linear.PolynomialTail{},
	log: func(s float64) float64 {
		if s < 0 {
			return math.Log1p(-s)
		}
		return -math.Log1p(s)
	},
	slope: func(s float64) float64 { return 1 / (1 + math.Abs(s)) },
	curve: func(s float64) float64 { return 2 / (1 + math.Abs(s)) / (1 + math.Abs(s)) },
	inverse: func(log float64) float64 {
		if log > 0 {
			return -math.Expm1(log)
		}
		return math.Expm1(-log)
	},
}

// mean sets coef to −ℓ′(mᵢ)/Σℓ(m), the examples' weights in −∇L/L, and returns log L, the logarithm of the mean loss.
func (l tail) mean(coef, m []float64) (log float64) {
	top := math.Inf(-1)
	for i, v := range m {
		coef[i] = l.log(v)
		top = max(top, coef[i])
	}
	var sum float64
	for i, v := range coef {
		coef[i] = math.Exp(v - top)
		sum += coef[i]
	}
	for i, v := range m {
		coef[i] *= l.slope(v) / sum
	}
	return top + math.Log(sum/float64(len(m)))
}

// addExp is log(eˣ + eʸ).
func addExp(x, y float64) float64 {
	if x < y {
		x, y = y, x
	}
	if math.IsInf(y, -1) {
		return x
	}
	return x + math.Log1p(math.Exp(y-x))
}
