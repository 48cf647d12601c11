package cpu

import (
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

// GoMLX offers some functions as one operation: softmax, GELU, layer norm, a dense layer. Here they are written out in
// the operations that GoMLX itself writes them out in for their gradients. GoMLX's engine, in which every graph is built
// as well, gives equal operations the same value, so forward and backward share what they can, and the element-wise
// parts end up in fused programs.

// written writes operations down, until one fails.
type written struct {
	f   *Function
	err error
}

func (w *written) do(v compute.Value, err error) compute.Value {
	if w.err == nil {
		w.err = err
	}
	if w.err != nil {
		return nil
	}
	return v
}

// then does the next operation, if all before it went well.
func (w *written) then(next func() (compute.Value, error)) compute.Value {
	if w.err != nil {
		return nil
	}
	return w.do(next())
}

// scalar returns a constant, that of the graph if it has one.
func (w *written) scalar(v float64) compute.Value {
	for _, n := range w.f.nodes {
		if flat, ok := n.flat.([]float32); ok && n.op == compute.OpTypeConstant && n.shape.Rank() == 0 &&
			flat[0] == float32(v) {
			return n
		}
	}
	return w.then(func() (compute.Value, error) { return w.f.Constant([]float32{float32(v)}) })
}

func (w *written) add(x, y compute.Value) compute.Value {
	return w.then(func() (compute.Value, error) { return w.f.Add(x, y) })
}

func (w *written) sub(x, y compute.Value) compute.Value {
	return w.then(func() (compute.Value, error) { return w.f.Sub(x, y) })
}

func (w *written) mul(x, y compute.Value) compute.Value {
	return w.then(func() (compute.Value, error) { return w.f.Mul(x, y) })
}

func (w *written) div(x, y compute.Value) compute.Value {
	return w.then(func() (compute.Value, error) { return w.f.Div(x, y) })
}

func (w *written) unary(op func(compute.Value) (compute.Value, error), x compute.Value) compute.Value {
	return w.then(func() (compute.Value, error) { return op(x) })
}

func (w *written) reshape(x compute.Value, dims ...int) compute.Value {
	if w.err == nil && slices.Equal(x.(*node).shape.Dimensions, dims) {
		return x
	}
	return w.then(func() (compute.Value, error) { return w.f.Reshape(x, dims...) })
}

// kept reduces axes to 1.
func (w *written) kept(reduce func(x compute.Value, axes ...int) (compute.Value, error), x compute.Value, axes []int,
	scale float64) compute.Value {
	y := w.then(func() (compute.Value, error) { return reduce(x, axes...) })
	if scale != 1 {
		y = w.mul(y, w.scalar(scale))
	}
	if w.err != nil {
		return nil
	}
	dims := slices.Clone(x.(*node).shape.Dimensions)
	for _, a := range axes {
		dims[a] = 1
	}
	return w.reshape(y, dims...)
}

// writesOut reports whether an operation of these values is written out.
func writesOut(values ...compute.Value) bool {
	for _, v := range values {
		if n, ok := v.(*node); v != nil && (!ok || n.shape.DType != dtypes.Float32 || n.shape.IsDynamic()) {
			return false
		}
	}
	return true
}

// softmax is e^(x−max) divided by its sum along an axis.
func (w *written) softmax(x compute.Value, axis int) compute.Value {
	axes := []int{axis}
	y := w.unary(w.f.Exp, w.sub(x, w.kept(w.f.ReduceMax, x, axes, 1)))
	return w.div(y, w.kept(w.f.ReduceSum, y, axes, 1))
}

// gelu is x·Φ(x), with Φ written by erf or, nearly, by tanh.
func (w *written) gelu(x compute.Value, exact bool) compute.Value {
	if exact {
		return w.mul(x, w.mul(w.add(w.unary(w.f.Erf, w.mul(x, w.scalar(1/math.Sqrt2))), w.scalar(1)), w.scalar(0.5)))
	}
	cube := w.mul(x, w.mul(x, x))
	y := w.mul(w.add(x, w.mul(cube, w.scalar(0.044715))), w.scalar(math.Sqrt(2/math.Pi)))
	return w.mul(x, w.mul(w.add(w.unary(w.f.Tanh, y), w.scalar(1)), w.scalar(0.5)))
}

// layerNorm is (x − mean)/√(variance + epsilon)·gamma + beta over the axes; gamma and beta may be nil.
func (w *written) layerNorm(x compute.Value, axes []int, epsilon float64, gamma, beta compute.Value) compute.Value {
	dims := x.(*node).shape.Dimensions
	count := 1
	for _, a := range axes {
		count *= dims[a]
	}
	centred := w.sub(x, w.kept(w.f.ReduceSum, x, axes, 1/float64(count)))
	variance := w.kept(w.f.ReduceSum, w.mul(centred, centred), axes, 1/float64(count))
	y := w.div(centred, w.unary(w.f.Sqrt, w.add(variance, w.scalar(epsilon))))
	if gamma != nil {
		y = w.mul(y, w.expanded(gamma, len(dims)))
	}
	if beta != nil {
		y = w.add(y, w.expanded(beta, len(dims)))
	}
	return y
}

// expanded puts axes of length 1 in front.
func (w *written) expanded(x compute.Value, rank int) compute.Value {
	dims := x.(*node).shape.Dimensions
	return w.reshape(x, append(slices.Repeat([]int{1}, rank-len(dims)), dims...)...)
}

// normAxes returns the axes of a layer norm counted from 0, and whether gamma and beta have axes that fit them.
func normAxes(x *node, axes []int, gamma, beta compute.Value) ([]int, bool) {
	rank := x.shape.Rank()
	out := make([]int, len(axes))
	for i, a := range axes {
		if a < 0 {
			a += rank
		}
		out[i] = a
	}
	slices.Sort(out)
	last := len(out) > 0 && out[0] == rank-len(out)
	for _, v := range []compute.Value{gamma, beta} {
		if n, ok := v.(*node); ok && n.shape.Rank() != rank && !(last && n.shape.Rank() == len(out)) {
			return nil, false
		}
	}
	return out, len(out) > 0
}

// dense is x·weight + bias, and a function of that.
func (w *written) dense(x, weight, bias compute.Value, config compute.DenseConfig) compute.Value {
	in, dims := x.(*node).shape.Dimensions, weight.(*node).shape.Dimensions
	features := in[len(in)-1]
	rows := 1
	for _, d := range in[:len(in)-1] {
		rows *= d
	}
	if len(in) > 2 {
		x = w.reshape(x, rows, features)
	}
	columns := weight.(*node).shape.Size() / features
	axis, outDims := 0, dims[1:]
	if config.WeightLayout == compute.DenseLayoutOutputsInput {
		axis, outDims = 1, dims[:len(dims)-1]
		weight = w.reshape(weight, columns, features)
	} else {
		weight = w.reshape(weight, features, columns)
	}
	contract := []int{min(len(in), 2) - 1}
	y := w.then(func() (compute.Value, error) {
		return w.f.DotGeneral(x, contract, nil, weight, []int{axis}, nil, compute.DotGeneralConfig{})
	})
	out := append(slices.Clone(in[:len(in)-1]), outDims...)
	y = w.reshape(y, out...)
	if bias != nil {
		y = w.add(y, w.expanded(bias, len(out)))
	}
	switch config.Activation {
	case compute.ActivationGelu:
		y = w.gelu(y, true)
	case compute.ActivationRelu:
		zero := w.scalar(0)
		y = w.then(func() (compute.Value, error) { return w.f.Max(y, zero) })
	case compute.ActivationSilu:
		y = w.mul(y, w.unary(w.f.Logistic, y))
	case compute.ActivationTanh:
		y = w.unary(w.f.Tanh, y)
	}
	return y
}
