package nets

import (
	. "github.com/gomlx/gomlx/core/graph"
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
//
// Both statistics come from one pass over x, by var = E[d²] - E[d]² for
// d = x - running mean. The shift changes nothing in exact arithmetic and is
// free, and it keeps the difference from cancelling once the running mean is
// near the mean. All of it is in the wide type: the conversions fuse with the
// pass over x, whereas sums of bfloat16, which the gradient has too, lose digits.
func (b *Builder) Norm(name string, x *Node) *Node {
	b = b.In(name)
	c := channels(x)
	weight := b.Variable("weight", c).NodeValue(x)
	bias := b.Variable("bias", c).NodeValue(x)
	runningMean := b.Variable("running_mean", c).SetTrainable(false)
	runningVar := b.Variable("running_var", c).SetTrainable(false)

	shift := StopGradient(runningMean.NodeValue(x))
	d := Sub(to(b.wide, x), Reshape(shift, 1, 1, 1, c))
	mean, variance := ZerosLike(shift), StopGradient(runningVar.NodeValue(x))
	if b.training {
		mean = ReduceMean(d, 0, 1, 2)
		variance = Sub(ReduceMean(Square(d), 0, 1, 2), Square(mean))
		variance = MaxScalar(variance, 0) // rounding may have taken it below

		n := float64(x.Shape().Size() / c)
		unbiased := MulScalar(variance, n/max(n-1, 1))
		runningMean.SetNodeValue(StopGradient(Add(shift, MulScalar(mean, normMomentum))))
		runningVar.SetNodeValue(StopGradient(
			Add(MulScalar(runningVar.NodeValue(x), 1-normMomentum), MulScalar(unbiased, normMomentum))))
	}

	scale := Div(weight, Sqrt(AddScalar(variance, normEpsilon)))
	offset := Sub(bias, Mul(mean, scale))
	y := Add(Mul(d, Reshape(scale, 1, 1, 1, c)), Reshape(offset, 1, 1, 1, c))
	return to(b.narrow, y)
}
