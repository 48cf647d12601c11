package customop

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Norm is batch normalisation with the statistics of the batch, and what comes after it:
//
//	y = min(max((x − center)·scale + bias, 0), top),    scale = weight/√(variance + ε)
//
// Center and Inverse are constants to GoMLX: that they depend on x is in the gradient.
type Norm struct {
	X            *Node // pictures [batch, height, width, channels]
	Weight, Bias *Node // float32, one for each channel, as are the others
	Center       *Node // the mean of X
	Inverse      *Node // 1/√(variance + ε)
	Top          float64
}

// The values of Norm.Top.
const (
	Linear = 0 // y = (x − center)·scale + bias
	ReLU   = math.MaxFloat32
	ReLU6  = 6
)

// CanNormalise reports whether [Moments] and [Norm] take x, which needs an engine with kernels.
func CanNormalise(x *Node) bool {
	return hasKernels(x) && sumsTaken(x.Shape().Size()/channels(x), channels(x))
}

// Moments returns Σ d and Σ d² of d = x − shift over all pixels, [2, channels], in one pass over x. It has no gradient.
func Moments(x, shift *Node) *Node {
	c := channels(x)
	call, parts := SumsCall("moments", x.Shape().Size()/c, c)
	plain := func() []*Node {
		d := Sub(widen(x), perChannel(shift))
		return []*Node{plainMoments(d, d)}
	}
	return StopGradient(addParts(call.on([]*Node{x, shift}, plain, shapes.Make(dtypes.Float32, parts, 2, c))[0]))
}

// addParts adds the parts of sums that the blocks of a kernel wrote.
func addParts(parts *Node) *Node { return ReduceSum(parts, 0) }

func (n Norm) scale() *Node { return Mul(n.Weight, n.Inverse) }

// Apply returns y.
func (n Norm) Apply() *Node {
	inputs := []*Node{n.X, n.Weight, n.Bias}
	forward := func() *Node { return convert(n.clip(n.value()), n.X.DType()) }
	return withGradients(forward, n.X.Shape(), inputs, func(v *Node) []*Node {
		return n.gradients(n.passed(v), n.gradientSums(v))
	})
}

// ApplyAdd returns max(y + shortcut, 0) of a linear y.
func (n Norm) ApplyAdd(shortcut *Node) *Node {
	var y *Node
	forward := func() *Node {
		z := Add(convert(n.value(), n.X.DType()), shortcut)
		y = Max(z, ZerosLike(z))
		return y
	}
	inputs := []*Node{n.X, n.Weight, n.Bias, shortcut}
	return withGradients(forward, n.X.Shape(), inputs, func(v *Node) []*Node {
		g, sums := n.joinedSums(v, y)
		return append(n.gradients(g, sums), g)
	})
}

// joinedSums are the gradient v where y is above 0, and its sums as those of gradientSums. If v is a sum, as where two
// layers read y, it is added up on the way.
func (n Norm) joinedSums(v, y *Node) (g, sums *Node) {
	passed := func(v *Node) *Node { return Where(GreaterThan(y, ZerosLike(y)), v, ZerosLike(v)) }
	terms := v.Inputs()
	if v.Type() != NodeTypeAdd || !terms[0].Shape().Equal(v.Shape()) || !terms[1].Shape().Equal(v.Shape()) {
		g = passed(v)
		return g, n.gradientSums(g)
	}
	c := channels(n.X)
	call, parts := SumsCall(sumsJoined, n.X.Shape().Size()/c, c)
	plain := func() []*Node {
		g := convert(passed(Add(widen(terms[0]), widen(terms[1]))), n.X.DType())
		return []*Node{plainMoments(widen(g), n.deviation()), g}
	}
	out := call.on([]*Node{n.X, terms[0], terms[1], y, n.Center}, plain, shapes.Make(dtypes.Float32, parts, 2, c),
		n.X.Shape())
	return out[1], addParts(out[0])
}

// passed is the gradient v by y where y is not clipped, and 0 elsewhere.
func (n Norm) passed(v *Node) *Node {
	v = widen(v)
	if n.Top == Linear {
		return v
	}
	z := n.value()
	passes := GreaterThan(z, ZerosLike(z))
	if n.Top != ReLU {
		passes = LogicalAnd(passes, LessThan(z, ConstAs(z, n.Top)))
	}
	return Where(passes, v, ZerosLike(v))
}

// deviation is x − center.
func (n Norm) deviation() *Node { return Sub(widen(n.X), perChannel(n.Center)) }

// value is y before it is clipped.
func (n Norm) value() *Node {
	return Add(Mul(n.deviation(), perChannel(n.scale())), perChannel(n.Bias))
}

func (n Norm) clip(z *Node) *Node {
	if n.Top == Linear {
		return z
	}
	z = Max(z, ZerosLike(z))
	if n.Top == ReLU {
		return z
	}
	return Min(z, ConstAs(z, n.Top))
}

// gradientSums are Σ g and Σ g·(x − center), [2, channels], where g is v where y is not clipped.
func (n Norm) gradientSums(v *Node) *Node {
	c := channels(n.X)
	kernel, inputs := "gradient_sums_linear", []*Node{n.X, v, n.Center}
	switch n.Top {
	case Linear:
	case ReLU:
		kernel, inputs = "gradient_sums_relu", append(inputs, n.scale(), n.Bias)
	case ReLU6:
		kernel, inputs = "gradient_sums_relu6", append(inputs, n.scale(), n.Bias)
	default:
		panic("customop: no kernel clips there")
	}
	call, parts := SumsCall(kernel, n.X.Shape().Size()/c, c)
	plain := func() []*Node { return []*Node{plainMoments(n.passed(v), n.deviation())} }
	return addParts(call.on(inputs, plain, shapes.Make(dtypes.Float32, parts, 2, c))[0])
}

// gradients are those by x, weight and bias, of g and its sums. For pixels in number N and d = x − center,
//
//	∂x = scale·(g − Σg/N − d·inverse²·Σ(g·d)/N)
func (n Norm) gradients(g, sums *Node) []*Node {
	c := channels(n.X)
	part := func(i int) *Node { return Reshape(Slice(sums, AxisElem(i)), c) }
	sum, cross := part(0), part(1)
	pixels := float64(n.X.Shape().Size() / c)
	scale := n.scale()
	slope := DivScalar(Mul(Mul(scale, Square(n.Inverse)), cross), pixels)
	level := DivScalar(Mul(scale, sum), pixels)
	x := Sub(Sub(Mul(widen(g), perChannel(scale)), perChannel(level)), Mul(n.deviation(), perChannel(slope)))
	return []*Node{convert(x, n.X.DType()), Mul(cross, n.Inverse), sum}
}

// Rectify is max(x, 0), whose gradient is read off its result, which is in memory anyway, and not off x, which may be a
// sum that would have to be computed again.
func Rectify(x *Node) *Node {
	var y *Node
	forward := func() *Node {
		y = Max(x, ZerosLike(x))
		return y
	}
	return withGradients(forward, x.Shape(), []*Node{x}, func(v *Node) []*Node {
		return []*Node{Where(GreaterThan(y, ZerosLike(y)), v, ZerosLike(v))}
	})
}
