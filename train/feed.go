package train

import (
	"context"

	"github.com/gomlx/gomlx/core/tensors"

	. "github.com/gomlx/gomlx/core/graph"
)

// part is one of the two parts of a set.
type part int

const (
	trainPart part = iota
	testPart
)

// feed gives the graphs of a session their pictures. There are two: pixels, for sets of one size, which live on the
// engine, and packed, for pictures of many sizes, which live there or come from their file as they are needed.
//
// What a step needs from the host is a plan with a row of numbers for each example: which one, and what is done to it.
type feed interface {
	// load puts on the engine what stays there.
	load(ctx context.Context) error
	// rowWidth is the length of a row of a plan.
	rowWidth() int
	// draw is the plan of an epoch: n rows. It depends on the seed and the epoch alone.
	draw(n int, seed uint64, epoch int) []int32
	// batch prepares the examples of a plan [batch, rowWidth]. slots is what the stream gave, nil if it gives none.
	batch(plan, slots *Node, side int) (pictures, labels *Node)
	// inOrder prepares pictures as they are, of what the stream of scan gave: b of the test images.
	inOrder(from part, where, slots *Node, b, side int) *Node
	// streams reports whether graphs take slots from the host, and slot is how many bytes each has.
	streams() bool
	slot() int
	// stream begins to give the pictures of a plan of training examples, batch by batch.
	stream(plan []int32, batch int) stream
	// scan gives test images in order, or training images by their indices, b at a time; the last batch begins earlier, so
	// that it is full.
	scan(from part, examples []int, b int) stream
	// free frees what streams share. None may be open.
	free()
}

// stream gives batches one after the other.
type stream interface {
	// next is the next batch. It is valid until the next call but one.
	next(ctx context.Context) (batch, error)
	// close ends it. No goroutine is left.
	close() flow
}

// batch is what a graph gets from the host: where pictures are in order, or the rows of a plan, and their slots. Each
// may be nil.
type batch struct{ where, slots *tensors.Tensor }

// arguments are those of a graph.
func (b batch) arguments(more ...any) []any {
	var out []any
	for _, t := range []*tensors.Tensor{b.where, b.slots} {
		if t != nil {
			out = append(out, t)
		}
	}
	return append(out, more...)
}
