package customop

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// convert converts where it must.
func convert(x *Node, dtype dtypes.DType) *Node {
	if x.DType() == dtype {
		return x
	}
	return ConvertDType(x, dtype)
}

// hasKernels reports whether operations on x are computed by kernels: pictures [batch, height, width, channels] in
// bfloat16, on an engine that has them.
func hasKernels(x *Node) bool {
	m := mode(x.Graph().Backend())
	return x.Rank() == 4 && (m == Kernels && x.DType() == dtypes.BFloat16 || m == PlainForms)
}

// wideType is the type of weights and sums: float32, or float64 for pictures in float64.
func wideType(x *Node) dtypes.DType {
	if x.DType() == dtypes.Float64 {
		return dtypes.Float64
	}
	return dtypes.Float32
}

func widen(x *Node) *Node { return convert(x, wideType(x)) }

// channels is the length of the last axis.
func channels(x *Node) int { return x.Shape().Dimensions[3] }

// perChannel is a vector along the last axis.
func perChannel(v *Node) *Node { return Reshape(v, 1, 1, 1, v.Shape().Size()) }

// plainMoments are Σ a and Σ a·b over all pixels, [1, 2, channels].
func plainMoments(a, b *Node) *Node {
	sum := func(x *Node) *Node { return Reshape(ReduceSum(x, 0, 1, 2), 1, 1, channels(x)) }
	return Concatenate([]*Node{sum(a), sum(Mul(a, b))}, 1)
}

// tap is what tap (i, j) of a 3×3 convolution of this stride multiplies of x, for h×w results; outside of x are zeros.
func tap(x *Node, i, j, h, w, stride int) *Node {
	d := x.Shape().Dimensions
	border := func(n, size int) PadAxis { return PadAxis{Start: 1, End: max(1, (size-1)*stride+2-n)} }
	x = Pad(x, ScalarZero(x.Graph(), x.DType()), PadAxis{}, border(d[1], h), border(d[2], w), PadAxis{})
	return Slice(x, AxisRange(), AxisRange(i, i+(h-1)*stride+1).Stride(stride),
		AxisRange(j, j+(w-1)*stride+1).Stride(stride))
}

// untap is the transpose of tap: a picture of size h×w with v where tap took it from.
func untap(v *Node, i, j, h, w, stride int) *Node {
	d := v.Shape().Dimensions
	along := func(at, n, size int) PadAxis {
		return PadAxis{Start: at, End: size + 2 - at - ((n-1)*stride + 1), Interior: stride - 1}
	}
	v = Pad(v, ScalarZero(v.Graph(), v.DType()), PadAxis{}, along(i, d[1], h), along(j, d[2], w), PadAxis{})
	return Slice(v, AxisRange(), AxisRange(1, h+1), AxisRange(1, w+1))
}

// output is how many results a 3×3 convolution of padding 1 has along a side.
func output(side, stride int) int { return (side-1)/stride + 1 }
