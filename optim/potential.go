package optim

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/bregman-ml/bregman/mirror"
)

// Potential is a coordinate-wise potential as graph operations, the twin of one in package mirror: each of those has
// one here. Its parameter is a variable of the store.
type Potential struct {
	name      string
	parameter string // its name: p, beta or scale
	value     float64
	mirror    func(w, param *Node) *Node
	inverse   func(z, param *Node) *Node
}

// NewPotential makes a potential from its mirror map z = ∇ψ(w) and the inverse of that, coordinate by coordinate. Both
// get the parameter, a positive scalar variable of the store, which a run may change without another compilation.
func NewPotential(name, parameter string, value float64, mirror, inverse func(x, param *Node) *Node) Potential {
	return Potential{name, parameter, value, mirror, inverse}
}

func (p Potential) isPower() bool { return p.name == "power" }

// check says whether v can be the potential's parameter.
func (p Potential) check(v float64) error {
	switch {
	case p.isPower():
		return mirror.CheckP(v)
	case p.parameter != "unused" && (!(v > 0) || math.IsInf(v, 1)):
		return fmt.Errorf("%s of the %s potential is %v: want a positive number", p.parameter, p.name, v)
	}
	return nil
}

// Power is ψ(w) = (1/p)‖w‖ₚᵖ.
func Power(p float64) Potential {
	return Potential{"power", "p", p,
		func(w, p *Node) *Node { return signedPower(w, AddScalar(p, -1)) },
		func(z, p *Node) *Node { return signedPower(z, Reciprocal(AddScalar(p, -1))) }}
}

// signedPower is sign(x)|x|^y, with the exponent rounded to x's type only at the end.
func signedPower(x, y *Node) *Node { return Mul(Sign(x), Pow(Abs(x), ConvertDType(y, x.DType()))) }

// HyperbolicEntropy is ψ(w) = Σ w asinh(w/β) − √(w² + β²): z = asinh(w/β), w = β sinh z.
func HyperbolicEntropy(beta float64) Potential {
	return Potential{"hyperbolic", "beta", beta,
		func(w, b *Node) *Node {
			a := Div(Abs(w), ConvertDType(b, w.DType())) // asinh a = log1p(a + a²/(1 + √(a²+1))), exact also for small a
			root := AddScalar(Sqrt(AddScalar(Square(a), 1)), 1)
			return Mul(Sign(w), Log1p(Add(a, Div(Square(a), root))))
		},
		func(z, b *Node) *Node {
			e := Expm1(Abs(z)) // sinh z = (e + e/(e+1))/2 with e = expm1 |z|
			return Mul(Mul(Sign(z), ConvertDType(b, z.DType())), MulScalar(Add(e, Div(e, AddScalar(e, 1))), 0.5))
		}}
}

// Quadratic is ψ(w) = ½ Σ a·w²: z = aw, w = z/a, gradient descent at the rate η/a. A scale of its own for each tensor
// is a Group for each.
func Quadratic(a float64) Potential {
	return Potential{"quadratic", "scale", a,
		func(w, a *Node) *Node { return Mul(w, ConvertDType(a, w.DType())) },
		func(z, a *Node) *Node { return Div(z, ConvertDType(a, z.DType())) }}
}

// Entropy is ψ(w) = Σ w log w − w on w > 0: the exponentiated gradient, w ← w·e^(−ηg). Weights must start, and stay,
// positive.
func Entropy() Potential {
	return Potential{"entropy", "unused", 1,
		func(w, _ *Node) *Node { return Log(w) },
		func(z, _ *Node) *Node { return Exp(z) }}
}

// step returns ∇ψ*((1 − rate·decay)·∇ψ(w) − rate·grad), with w in the given unit where there is one (Config.Units).
func (p Potential) step(w, grad, rate, param *Node, decay float64, unit *Node) *Node {
	scaled, dual := w, grad
	if unit != nil {
		scaled, dual = Div(w, unit), Mul(grad, Div(ConvertDType(AddScalar(param, -1), w.DType()), unit))
	}
	z, change := p.mirror(scaled, param), Mul(rate, dual)
	// ∇ψ* of ∇ψ rounds, and for large p underflows: a weight that nothing moves is not sent there and back.
	still := Equal(change, ZerosLike(change))
	if decay > 0 {
		z = Mul(z, OneMinus(MulScalar(rate, decay)))
		still = Equal(rate, ZerosLike(rate))
	}
	out := p.inverse(Sub(z, change), param)
	if unit != nil {
		out = Mul(out, unit)
	}
	out = Where(still, w, out)
	if !p.isPower() {
		return out
	}
	// An engine's pow(x, 1) promises nothing: p = 2 has a branch of its own.
	return Where(Equal(param, ConstAs(param, 2)), descend(w, Mul(rate, grad), rate, decay), out)
}

// descend is a step of gradient descent.
func descend(w, change, rate *Node, decay float64) *Node {
	if decay > 0 {
		w = Mul(w, OneMinus(MulScalar(rate, decay)))
	}
	return Sub(w, change)
}
