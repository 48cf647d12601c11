package train

import (
	"context"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// pixels is the feed of sets of one size: they are on the engine whole, training images with a border of the mean
// colour to shift into.
type pixels struct{ *Session }

var _ feed = pixels{}

func (x pixels) load(context.Context) error {
	s := x.set
	x.put(trainImages, tensors.FromFlatDataAndDimensions(bordered(s, shift), s.Train.Len(), s.Height+2*shift,
		s.Width+2*shift, s.Channels))
	x.put(trainLabels, tensors.FromFlatDataAndDimensions(int32s(s.Train.Labels), s.Train.Len()))
	x.put(testImages, tensors.FromFlatDataAndDimensions(s.Test.Images, s.Test.Len(), s.Height, s.Width, s.Channels))
	return nil
}

func (x pixels) rowWidth() int { return planWidth }

func (x pixels) streams() bool { return false }

func (x pixels) slot() int { return 0 }

func (x pixels) draw(n int, seed uint64, epoch int) []int32 {
	return x.drawPlan(n, seed, epoch)
}

func (x pixels) batch(plan, _ *Node, _ int) (pictures, labels *Node) { return x.augmented(plan) }

// inOrder takes the training images of these indices, or b test images from index first on: the last b at most.
func (x pixels) inOrder(from part, first, _ *Node, b, _ int) *Node {
	if from == trainPart {
		indices := Reshape(first, first.Shape().Size(), 1)
		pictures := Gather(x.node(first.Graph(), trainImages), indices)
		return x.normalized(Slice(pictures, AxisRange(), AxisRange(shift, shift+x.set.Height),
			AxisRange(shift, shift+x.set.Width), AxisRange()))
	}
	all := x.node(first.Graph(), testImages)
	d := all.Shape().Dimensions
	begin := Reshape(Min(first, ConstAs(first, d[0]-b)), 1)
	return x.normalized(Reshape(GatherSlices(all, []int{0}, begin, []int{b}, true), b, d[1], d[2], d[3]))
}

func (x pixels) stream([]int32, int) stream { return nothing{} }

func (x pixels) scan(_ part, examples []int, b int) stream {
	if examples == nil {
		return &countUp{step: b}
	}
	return &listed{examples: examples, b: b}
}

func (x pixels) free() {}

// nothing is the stream of graphs that need no input.
type nothing struct{}

func (nothing) next(context.Context) (batch, error) { return batch{}, nil }
func (nothing) close() flow                         { return flow{} }

// countUp is the stream of graphs that need the index of a first picture.
type countUp struct{ first, step int }

func (c *countUp) next(context.Context) (batch, error) {
	c.first += c.step
	return batch{where: tensors.FromScalar(int32(c.first - c.step))}, nil
}

func (c *countUp) close() flow { return flow{} }

// listed is the stream of graphs that need the indices of their pictures.
type listed struct {
	examples []int
	k, b     int
}

func (l *listed) next(context.Context) (batch, error) {
	first := min(l.k*l.b, len(l.examples)-l.b)
	l.k++
	indices := make([]int32, l.b)
	for i := range indices {
		indices[i] = int32(l.examples[first+i])
	}
	return batch{where: tensors.FromFlatDataAndDimensions(indices, l.b)}, nil
}

func (l *listed) close() flow { return flow{} }
