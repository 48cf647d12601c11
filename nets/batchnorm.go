package nets

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine/customop"
)

const (
	normEpsilon  = 1e-5
	normMomentum = 0.1 // of the running statistics
)

// Norm is batch normalisation of the last axis,
//
//	y = (x - mean)/√(var + ε)·weight + bias.
//
// Training takes mean and variance over batch and pixels and differentiates
// through both; the running statistics move by a tenth towards the mean and
// the unbiased variance.
func (b *Builder) Norm(name string, x *Node) *Node { return b.norm(name, x, customop.Linear) }

// NormReLU is [ReLU] of [Builder.Norm], and NormReLU6 is [ReLU6] of it. On a GPU the two are one operation.
func (b *Builder) NormReLU(name string, x *Node) *Node { return b.norm(name, x, customop.ReLU) }

// NormReLU6 is [ReLU6] of [Builder.Norm].
func (b *Builder) NormReLU6(name string, x *Node) *Node { return b.norm(name, x, customop.ReLU6) }

// NormAddReLU is ReLU(Norm(x) + shortcut()), the end of a residual block. On a GPU it is one operation.
func (b *Builder) NormAddReLU(name string, x *Node, shortcut func() *Node) *Node {
	n := b.normLayer(name, x)
	if b.training && customop.CanNormalise(x) {
		shift := n.shift(x)
		layer := n.ofBatch(x, shift, customop.Moments(x, shift), customop.Linear)
		return layer.ApplyAdd(shortcut())
	}
	return ReLU(Add(n.plain(b, x), shortcut()))
}

func (b *Builder) norm(name string, x *Node, top float64) *Node {
	return b.normLayer(name, x).apply(b, x, top)
}

// apply normalises x and clips it to [0, top].
func (n normLayer) apply(b *Builder, x *Node, top float64) *Node {
	if b.training && customop.CanNormalise(x) {
		shift := n.shift(x)
		return n.ofBatch(x, shift, customop.Moments(x, shift), top).Apply()
	}
	return activate(n.plain(b, x), top)
}

// activate clips to [0, top]; top is one of customop.Norm.
func activate(x *Node, top float64) *Node {
	switch top {
	case customop.ReLU:
		return ReLU(x)
	case customop.ReLU6:
		return ReLU6(x)
	}
	return x
}

// normLayer is a layer of batch normalisation.
type normLayer struct {
	weight, bias            *Node
	runningMean, runningVar *model.Variable
	rate                    *Node // see Builder
}

// normLayer is a layer for the channels of x.
func (b *Builder) normLayer(name string, x *Node) normLayer {
	b = b.In(name)
	c := channels(x)
	return normLayer{b.Variable("weight", c).NodeValue(x), b.Variable("bias", c).NodeValue(x),
		b.Variable("running_mean", c).SetTrainable(false), b.Variable("running_var", c).SetTrainable(false), b.rate}
}

// shift is what sums of x are taken from: the running mean, so that their difference does not cancel.
func (n normLayer) shift(x *Node) *Node { return StopGradient(n.runningMean.NodeValue(x)) }

// statistics are mean and variance of d = x - shift, of the mean of d and of its square. The running ones move.
func (n normLayer) statistics(x, mean, square *Node) (variance *Node) {
	variance = Sub(square, Square(mean))
	variance = MaxScalar(variance, 0) // rounding may have taken it below

	count := float64(x.Shape().Size() / channels(x))
	unbiased := MulScalar(variance, count/max(count-1, 1))
	if n.rate != nil {
		rate := to(mean.DType(), n.rate)
		n.runningMean.SetNodeValue(Add(n.shift(x), Mul(mean, rate)))
		n.runningVar.SetNodeValue(Add(Mul(n.runningVar.NodeValue(x), OneMinus(rate)), Mul(unbiased, rate)))
		return variance
	}
	n.runningMean.SetNodeValue(StopGradient(Add(n.shift(x), MulScalar(mean, normMomentum))))
	n.runningVar.SetNodeValue(StopGradient(
		Add(MulScalar(n.runningVar.NodeValue(x), 1-normMomentum), MulScalar(unbiased, normMomentum))))
	return variance
}

// ofBatch is the layer with the statistics of x, whose moments around shift are given. A bias that was not added to x
// is part of the shift.
func (n normLayer) ofBatch(x, shift, moments *Node, top float64) customop.Norm {
	c := channels(x)
	moments = DivScalar(moments, float64(x.Shape().Size()/c))
	mean := Reshape(Slice(moments, AxisElem(0)), c)
	variance := n.statistics(x, mean, Reshape(Slice(moments, AxisElem(1)), c))
	return customop.Norm{X: x, Weight: n.weight, Bias: n.bias, Top: top,
		Center:  StopGradient(Add(shift, mean)),
		Inverse: StopGradient(Inverse(Sqrt(AddScalar(variance, normEpsilon))))}
}

// plain is the layer in GoMLX's own operations.
//
// Both statistics come from one pass over x, by var = E[d²] - E[d]² for
// d = x - running mean. The shift changes nothing in exact arithmetic and is
// free, and it keeps the difference from cancelling once the running mean is
// near the mean. All of it is in the wide type: the conversions fuse with the
// pass over x, whereas sums of bfloat16, which the gradient has too, lose digits.
func (n normLayer) plain(b *Builder, x *Node) *Node {
	c := channels(x)
	shift := n.shift(x)
	d := Sub(to(b.wide, x), Reshape(shift, 1, 1, 1, c))
	mean, variance := ZerosLike(shift), StopGradient(n.runningVar.NodeValue(x))
	if b.training {
		mean = ReduceMean(d, 0, 1, 2)
		variance = n.statistics(x, mean, ReduceMean(Square(d), 0, 1, 2))
	}
	scale := Div(n.weight, Sqrt(AddScalar(variance, normEpsilon)))
	offset := Sub(n.bias, Mul(mean, scale))
	y := Add(Mul(d, Reshape(scale, 1, 1, 1, c)), Reshape(offset, 1, 1, 1, c))
	return to(b.narrow, y)
}
