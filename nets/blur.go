package nets

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// leastBlurred is the number of input channels from which on a convolution is antialiased: the first one of a network
// sees three.
const leastBlurred = 16

// antialiased is the input of a convolution: x, or x blurred if the network has blur pools and the convolution a
// stride. Convolutions of the same input share its blur.
func (b *Builder) antialiased(x *Node, stride int) *Node {
	if b.blurred == nil || stride == 1 || channels(x) < leastBlurred {
		return x
	}
	y, ok := b.blurred[x]
	if !ok {
		y = blur(x)
		b.blurred[x] = y
	}
	return y
}

// blur convolves every channel with
//
//	1 2 1
//	2 4 2  / 16
//	1 2 1
//
// and a border of zeros (Zhang 2019). Pixels of equal weight are added first: the weights are powers of two, so only
// these sums round.
func blur(x *Node) *Node {
	d := x.Shape().Dimensions
	border := PadAxis{Start: 1, End: 1}
	// All four axes: the gradient of Pad is wrong where trailing ones are left out.
	x = Pad(x, ScalarZero(x.Graph(), x.DType()), PadAxis{}, border, border, PadAxis{})
	at := func(i, j int) *Node { return every(x, i, j, d[1], d[2], 1) }
	corners := Add(Add(at(0, 0), at(0, 2)), Add(at(2, 0), at(2, 2)))
	edges := Add(Add(at(0, 1), at(1, 0)), Add(at(1, 2), at(2, 1)))
	return Add(Add(MulScalar(corners, 1.0/16), MulScalar(edges, 2.0/16)), MulScalar(at(1, 1), 4.0/16))
}
