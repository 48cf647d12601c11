package cpu

import (
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/pkg/errors"
)

// GoMLX offers some functions as one operation: softmax, GELU, norms, a dense layer. Here they are written out in the
// operations that GoMLX itself writes them out in for their gradients. Each graph is built in GoMLX's engine as well,
// which gives equal operations the same value. So forward and backward share what they can, and the element-wise parts
// end up in fused programs.

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

// batchNorm is (x − mean)/√(variance + epsilon)·scale + offset, with a number of each for each place along an axis.
func (w *written) batchNorm(x, scale, offset, mean, variance compute.Value, epsilon float32,
	axis int) compute.Value {
	along := w.along(x, axis)
	y := w.div(w.sub(x, along(mean)), w.unary(w.f.Sqrt, w.add(along(variance), w.scalar(float64(epsilon)))))
	return w.add(w.mul(y, along(scale)), along(offset))
}

// along returns what gives a vector the axes of x, so that it lies along one of them.
func (w *written) along(x compute.Value, axis int) func(v compute.Value) compute.Value {
	dims := slices.Repeat([]int{1}, x.(*node).shape.Rank())
	dims[axis] = x.(*node).shape.Dimensions[axis]
	return func(v compute.Value) compute.Value {
		if w.err != nil {
			return nil
		}
		return w.reshape(v, dims...)
	}
}

// others are the axes of x but one, and how many elements each place along that one has.
func others(x compute.Value, axis int) (axes []int, count float64) {
	count = 1
	for i, d := range x.(*node).shape.Dimensions {
		if i != axis {
			axes, count = append(axes, i), count*float64(d)
		}
	}
	return axes, count
}

func (w *written) sum(x compute.Value, axes []int) compute.Value {
	return w.then(func() (compute.Value, error) { return w.f.ReduceSum(x, axes...) })
}

// moments are the mean and the variance for each place along an axis.
func (w *written) moments(x compute.Value, axis int) (mean, variance compute.Value) {
	axes, count := others(x, axis)
	part := w.scalar(1 / count)
	mean = w.mul(w.sum(x, axes), part)
	centred := w.sub(x, w.along(x, axis)(mean))
	return mean, w.mul(w.sum(w.mul(centred, centred), axes), part)
}

// batchNormGradient returns the gradients of x, scale and offset of a batch norm whose moments are those of x:
// with y = (x − mean)/√(variance + epsilon), that of x is scale/√(variance + epsilon)·(v − mean v − y·mean(vy)).
func (w *written) batchNormGradient(x, scale, mean, variance, v compute.Value, epsilon float32,
	axis int) (ofX, ofScale, ofOffset compute.Value) {
	along := w.along(x, axis)
	axes, count := others(x, axis)
	root := w.unary(w.f.Sqrt, w.add(variance, w.scalar(float64(epsilon))))
	y := w.div(w.sub(x, along(mean)), along(root))
	ofScale, ofOffset = w.sum(w.mul(v, y), axes), w.sum(v, axes)
	part := w.scalar(1 / count)
	rest := w.sub(w.sub(v, along(w.mul(ofOffset, part))), w.mul(y, along(w.mul(ofScale, part))))
	return w.mul(rest, along(w.div(scale, root))), ofScale, ofOffset
}

// notWritten is the error of a batch norm in another type than float32.
func notWritten(op compute.OpType) error {
	return errors.Wrapf(compute.ErrNotImplemented, "engine %s: %s in another type than float32", Name, op)
}

// BatchNormForTraining see compute.Function. GoMLX's engine does not have it.
func (f *Function) BatchNormForTraining(x, scale, offset compute.Value, epsilon float32,
	axis int) (normalized, mean, variance compute.Value, err error) {
	if _, err := nodesOf(compute.OpTypeBatchNormForTraining, []compute.Value{x, scale, offset}); err != nil {
		return nil, nil, nil, err
	}
	if !writesOut(x, scale, offset) {
		return nil, nil, nil, notWritten(compute.OpTypeBatchNormForTraining)
	}
	w := &written{f: f}
	mean, variance = w.moments(x, axis)
	normalized = w.batchNorm(x, scale, offset, mean, variance, epsilon, axis)
	return normalized, mean, variance, w.err
}

// BatchNormGradient see compute.Function. GoMLX's engine does not have it.
func (f *Function) BatchNormGradient(x, scale, mean, variance, v compute.Value, epsilon float32,
	axis int) (ofX, ofScale, ofOffset compute.Value, err error) {
	if _, err := nodesOf(compute.OpTypeBatchNormGradient, []compute.Value{x, scale, mean, variance, v}); err != nil {
		return nil, nil, nil, err
	}
	if !writesOut(x, scale, mean, variance, v) {
		return nil, nil, nil, notWritten(compute.OpTypeBatchNormGradient)
	}
	w := &written{f: f}
	ofX, ofScale, ofOffset = w.batchNormGradient(x, scale, mean, variance, v, epsilon, axis)
	return ofX, ofScale, ofOffset, w.err
}

// BatchNormForInference see compute.Function. GoMLX's engine does not have it.
func (f *Function) BatchNormForInference(x, scale, offset, mean, variance compute.Value, epsilon float32,
	axis int) (compute.Value, error) {
	if _, err := nodesOf(compute.OpTypeBatchNormForInference, []compute.Value{x, scale, offset, mean,
		variance}); err != nil {
		return nil, err
	}
	if !writesOut(x, scale, offset, mean, variance) {
		return nil, notWritten(compute.OpTypeBatchNormForInference)
	}
	w := &written{f: f}
	y := w.batchNorm(x, scale, offset, mean, variance, epsilon, axis)
	return y, w.err
}
