package nets

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine/customop"
)

// Builder is a place in the tree of a network's variables, with the types to compute in. Its methods add layers, whose
// variables have the names that PyTorch gives them.
type Builder struct {
	scope    *model.Scope
	root     string       // the scope given to Logits: weights are drawn by their path below it
	narrow   dtypes.DType // of activations
	wide     dtypes.DType // of weights, statistics and sums
	training bool
	rate     *Node  // how far the running statistics of batch norm move; nil: by normMomentum
	features **Node // where head leaves what the last layer sees, if anywhere
	draw     Draw
	dropout  float64         // before the last layer, in training
	blurred  map[*Node]*Node // inputs of convolutions with a stride, blurred; nil: none are
}

// In goes down the tree of variables.
func (b *Builder) In(names ...string) *Builder {
	down := *b
	for _, name := range names {
		// At, not In: evaluation visits the scopes that training has visited.
		down.scope = down.scope.At("%s", name)
	}
	return &down
}

// Variable is one of this place, made at the first call: "weight" and "bias" of a layer, "running_mean" and
// "running_var" of batch norm. Init knows these names.
func (b *Builder) Variable(name string, dims ...int) *model.Variable {
	v := b.scope.VariableWithShape(name, shapes.Make(b.wide, dims...))
	if !v.HasValue() {
		if err := b.draw.set(b.root, v, weightOf(b.scope, v), 0); err != nil {
			panic(err)
		}
	}
	return v
}

// to converts where it must.
func to(dtype dtypes.DType, x *Node) *Node {
	if x.DType() == dtype {
		return x
	}
	return ConvertDType(x, dtype)
}

// kernel is a weight [side, side, in, out] in the type of x.
func (b *Builder) kernel(x *Node, side, in, out int) *Node {
	return to(b.narrow, b.Variable("weight", side, side, in, out).NodeValue(x))
}

// Conv is a side×side convolution without bias; side is odd, and a padding of
// (side-1)/2 zeros keeps the size for stride 1.
func (b *Builder) Conv(name string, x *Node, side, out, stride int) *Node {
	x = b.antialiased(x, stride)
	return convolve(x, b.In(name).kernel(x, side, channels(x), out), stride)
}

// ConvBias is conv plus a bias per channel, added in the wide type because its
// gradient sums over the batch and all pixels.
func (b *Builder) ConvBias(name string, x *Node, side, out, stride int) *Node {
	y := b.Conv(name, x, side, out, stride)
	return b.addBias(y, b.In(name).Variable("bias", out).NodeValue(x))
}

func (b *Builder) addBias(y, bias *Node) *Node {
	return to(b.narrow, Add(to(b.wide, y), Reshape(bias, 1, 1, 1, channels(y))))
}

// GroupConv is a convolution of groups of width channels, each to itself.
func (b *Builder) GroupConv(name string, x *Node, side, width, stride int) *Node {
	x = b.antialiased(x, stride)
	c := channels(x)
	kernel := b.In(name).kernel(x, side, width, c)
	switch {
	case side == 3 && customop.CanConvolveGroups(x, width, c):
		return customop.Grouped(x, kernel, stride)
	case hasGroups(x):
		return grouped(x, kernel, c/width, stride)
	}
	return convolve(x, blockDiagonal(kernel, c/width), stride)
}

// DepthConv convolves every channel with a kernel of its own.
func (b *Builder) DepthConv(name string, x *Node, side, stride int) *Node {
	x = b.antialiased(x, stride)
	kernel := b.In(name).Variable("weight", side, side, 1, channels(x)).NodeValue(x)
	switch {
	case side == 3 && customop.CanConvolveDepth(x):
		return customop.Depthwise(x, kernel, stride)
	case hasGroups(x):
		return grouped(x, to(x.DType(), kernel), channels(x), stride)
	}
	return depthwise(x, kernel, stride)
}

// Head averages over all pixels and applies a linear layer, after dropout in
// training if the network has it. It stays in the wide type: its cost is
// nothing, and the logits are what the loss sees.
func (b *Builder) Head(name string, x *Node, classes int) *Node {
	features := ReduceMean(to(b.wide, x), 1, 2)
	if b.features != nil {
		*b.features = features
	}
	b = b.In(name)
	if b.training && b.dropout > 0 {
		features = b.drop(features)
	}
	weight := b.Variable("weight", channels(x), classes).NodeValue(x)
	bias := b.Variable("bias", classes).NodeValue(x)
	return Add(MatMul(features, weight), Reshape(bias, 1, classes))
}

func channels(x *Node) int { return x.Shape().Dimensions[3] }

func convolve(x, kernel *Node, stride int) *Node {
	pad := (kernel.Shape().Dimensions[0] - 1) / 2
	return Convolve(x, kernel).Strides(stride).PaddingPerDim([][2]int{{pad, pad}, {pad, pad}}).Done()
}

// blockDiagonal makes the kernel [s, s, in/groups, out] of a grouped
// convolution one of a plain convolution, [s, s, in, out], with zeros between
// channels of different groups. GoMLX unrolls the gradient of a grouped
// convolution group by group; this one is a single convolution, whose extra
// products are cheaper on tensor cores than narrow groups are.
func blockDiagonal(kernel *Node, groups int) *Node {
	d := kernel.Shape().Dimensions
	side, width, out := d[0], d[2], d[3]
	index := shapes.Make(dtypes.Int32, 1, 1, groups, 1, out)
	g := kernel.Graph()
	same := Equal(Iota(g, index, 2), DivScalar(Iota(g, index, 4), out/groups))
	blocks := Mul(Reshape(kernel, side, side, 1, width, out), ConvertDType(same, kernel.DType()))
	return Reshape(blocks, side, side, groups*width, out)
}

// depthwise is Σ_ij x[shifted by i, j]·kernel[i, j]: side² multiply-adds over
// the whole picture, which XLA fuses into one pass. Its gradient is as many
// again, where GoMLX's own grouped convolution takes several per channel.
//
// All of it is in the pictures' type. XLA computes a fused pass over bfloat16 in
// float32 and rounds what it stores, so the sums lose nothing there, and
// reading half the bytes made MobileNet-v2 a tenth faster than with pictures widened first.
func depthwise(x, kernel *Node, stride int) *Node {
	d := x.Shape().Dimensions
	side, c := kernel.Shape().Dimensions[0], d[3]
	pad := (side - 1) / 2
	border := PadAxis{Start: pad, End: pad}
	// All four axes: the gradient of Pad is wrong where trailing ones are left out.
	x = Pad(x, ScalarZero(x.Graph(), x.DType()), PadAxis{}, border, border, PadAxis{})
	kernel = to(x.DType(), kernel)
	h, w := (d[1]+2*pad-side)/stride+1, (d[2]+2*pad-side)/stride+1

	var sum *Node
	for i := range side {
		for j := range side {
			k := Reshape(Slice(kernel, AxisElem(i), AxisElem(j)), 1, 1, 1, c)
			term := Mul(every(x, i, j, h, w, stride), k)
			if sum == nil {
				sum = term
			} else {
				sum = Add(sum, term)
			}
		}
	}
	return sum
}

// every takes h×w pixels of x, from (i, j) on, every stride-th.
func every(x *Node, i, j, h, w, stride int) *Node {
	return Slice(x, AxisRange(),
		AxisRange(i, i+(h-1)*stride+1).Stride(stride),
		AxisRange(j, j+(w-1)*stride+1).Stride(stride))
}

// ReLU has gradient 0 at 0, as PyTorch's has; GoMLX's Max has 1 there.
func ReLU(x *Node) *Node {
	if customop.HasKernels(x.Graph().Backend()) {
		return customop.Rectify(x)
	}
	zero := ZerosLike(x)
	return Where(GreaterThan(x, zero), x, zero)
}

// ReLU6 is min(max(x, 0), 6), with gradient 0 at 0 and at 6, as PyTorch's has.
func ReLU6(x *Node) *Node {
	six := ConstAs(x, 6)
	return ReLU(Where(LessThan(x, six), x, six))
}
