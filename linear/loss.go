package linear

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/vec"
)

// Loss is ℓ(s) of a score s: the margin s = y·⟨x, w⟩ for classification,
// or the residual s = ⟨x, w⟩ − y for regression. L(w) is its mean over the examples.
type Loss interface {
	// String names the loss as the command line does.
	String() string
	// Residual says that the score is ⟨x, w⟩ − y.
	Residual() bool
	// Sum returns Σ ℓ(sᵢ).
	Sum(s []float64) float64
	// Weights sets dst = −ℓ′(s). dst may be s.
	Weights(dst, s []float64)
	// Normalized sets dst = −ℓ′(s)/Σℓ(s), even if the sum itself under- or overflows. dst may be s.
	Normalized(dst, s []float64)
}

// LossInfo is a loss that has a name.
type LossInfo struct {
	Name  string // what the loss's String returns
	About string // one line for a list of losses
	Loss  Loss
}

// Losses are the losses that have names.
var Losses = []LossInfo{
	{"exp", "e^(−s) of the margin s, as in the paper", Exponential{}},
	{"logistic", "log(1 + e^(−s))", Logistic{}},
	{"poly", "polynomial tail", PolynomialTail{}},
	{"square", "regression", Square{}},
}

// LossNames lists the names of the losses.
func LossNames() []string {
	names := make([]string, len(Losses))
	for i, l := range Losses {
		names[i] = l.Name
	}
	return names
}

// LossByName returns the loss of that name.
func LossByName(name string) (Loss, error) {
	i := slices.IndexFunc(Losses, func(l LossInfo) bool { return l.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("loss %q: choose one of %s", name, strings.Join(LossNames(), ", "))
	}
	return Losses[i].Loss, nil
}

// Exponential is ℓ(s) = e^(−s).
type Exponential struct{}

func (Exponential) String() string { return "exp" }

// Residual reports false.
func (Exponential) Residual() bool { return false }

// Sum returns Σ e^(−sᵢ).
func (Exponential) Sum(s []float64) float64 {
	var sum float64
	for _, v := range s {
		sum += math.Exp(-v)
	}
	return sum
}

// Weights sets dst = e^(−s).
func (Exponential) Weights(dst, s []float64) {
	vec.Scale(dst, -1, s)
	vec.Exp(dst, dst)
}

// Normalized sets dst to the softmax of −s.
func (Exponential) Normalized(dst, s []float64) {
	m := minOf(s)
	for i, v := range s {
		dst[i] = m - v
	}
	vec.Exp(dst, dst)
	var sum float64
	for _, v := range dst {
		sum += v
	}
	vec.Scale(dst, 1/sum, dst)
}

// Curvature sets dst = e^(−s).
func (l Exponential) Curvature(dst, s []float64) { l.Weights(dst, s) }

// Logistic is ℓ(s) = log(1 + e^(−s)).
type Logistic struct{}

func (Logistic) String() string { return "logistic" }

// Residual reports false.
func (Logistic) Residual() bool { return false }

// Sum returns Σ log(1 + e^(−sᵢ)), stable on both sides.
func (Logistic) Sum(s []float64) float64 {
	var sum float64
	for _, v := range s {
		sum += max(-v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
	}
	return sum
}

// Weights sets dst = 1/(1 + e^s); an overflowing e^s gives 0, as it should.
func (Logistic) Weights(dst, s []float64) {
	vec.Exp(dst, s)
	for i, v := range dst {
		dst[i] = 1 / (1 + v)
	}
}

// Curvature sets dst = e^(−|s|)/(1 + e^(−|s|))².
func (Logistic) Curvature(dst, s []float64) {
	for i, v := range s {
		e := math.Exp(-math.Abs(v))
		dst[i] = e / ((1 + e) * (1 + e))
	}
}

// Normalized sets dst = −ℓ′(s)/Σℓ(s). From s = 40 on, ℓ is e^(−s) to rounding.
func (l Logistic) Normalized(dst, s []float64) {
	if minOf(s) > 40 {
		Exponential{}.Normalized(dst, s)
		return
	}
	sum := l.Sum(s)
	l.Weights(dst, s)
	vec.Scale(dst, 1/sum, dst)
}

// PolynomialTail is ℓ(s) = (1+s)^(−k) for s ≥ 0, continued below 0 by its tangent 1 − k·s:
// convex and decreasing with a tail that is not exponential. Degree is k; 0 means 1.
type PolynomialTail struct{ Degree float64 }

func (l PolynomialTail) String() string { return "poly" }

// Residual reports false.
func (PolynomialTail) Residual() bool { return false }

func (l PolynomialTail) degree() float64 {
	if l.Degree == 0 {
		return 1
	}
	return l.Degree
}

// Sum returns Σ ℓ(sᵢ).
func (l PolynomialTail) Sum(s []float64) float64 {
	k := l.degree()
	var sum float64
	for _, v := range s {
		if v < 0 {
			sum += 1 - k*v
		} else {
			sum += math.Pow(1+v, -k)
		}
	}
	return sum
}

// Weights sets dst = k(1+s)^(−k−1), or k if s < 0.
func (l PolynomialTail) Weights(dst, s []float64) {
	k := l.degree()
	for i, v := range s {
		dst[i] = k * math.Pow(1+max(v, 0), -k-1)
	}
}

// Curvature sets dst = k(k+1)(1+s)^(−k−2), or 0 if s < 0.
func (l PolynomialTail) Curvature(dst, s []float64) {
	k := l.degree()
	for i, v := range s {
		if v < 0 {
			dst[i] = 0
		} else {
			dst[i] = k * (k + 1) * math.Pow(1+v, -k-2)
		}
	}
}

// Normalized sets dst = −ℓ′(s)/Σℓ(s).
func (l PolynomialTail) Normalized(dst, s []float64) {
	sum := l.Sum(s)
	l.Weights(dst, s)
	vec.Scale(dst, 1/sum, dst)
}

// Square is ℓ(s) = s²/2 of the residual s = ⟨x, w⟩ − y, for regression.
type Square struct{}

func (Square) String() string { return "square" }

// Residual reports true.
func (Square) Residual() bool { return true }

// Sum returns Σ sᵢ²/2.
func (Square) Sum(s []float64) float64 { return vec.Dot(s, s) / 2 }

// Weights sets dst = −s.
func (Square) Weights(dst, s []float64) { vec.Scale(dst, -1, s) }

// Normalized sets dst = −s/Σ(sᵢ²/2), 0 if every residual is 0.
func (l Square) Normalized(dst, s []float64) {
	sum := l.Sum(s)
	if sum == 0 {
		clear(dst)
		return
	}
	vec.Scale(dst, -1/sum, s)
}

// Curvature sets dst = 1.
func (Square) Curvature(dst, s []float64) {
	for i := range s {
		dst[i] = 1
	}
}
