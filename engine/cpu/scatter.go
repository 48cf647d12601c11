package cpu

import (
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/bregman-ml/bregman/internal/vec"
)

// scatterAttr is what a scatter needs to know beside its inputs.
type scatterAttr struct {
	indexVectorAxis                       int
	updateWindow, insertedWindow, scatter []int
}

// scatterStep joins slices of float32 to a copy of a tensor, where the indices say: the gradient of an embedding. The
// slices of one place are taken in their order, by one worker.
type scatterStep struct {
	onto, indices, updates, dst *storage
	zeros                       bool // onto is zero everywhere
	wide                        bool // int64 indices
	per                         int  // indices a slice
	strides, limits             []int
	slice                       int // floats
	op                          func(dst, a, b []float32)
	x                           *execution
	each                        func(worker, task int)
}

// scatterTasks is into how many parts the places are dealt out.
const scatterTasks = 8

// planScatter takes scatters of whole slices along the first axes, as GoMLX's Scatter and the gradient of its Gather.
func planScatter(n *node) ([]*node, func(c *compiler, n *node) (step, error)) {
	at := n.attr.(scatterAttr)
	onto, indices, updates := n.inputs[0], n.inputs[1], n.inputs[2]
	op := map[compute.OpType]func(dst, a, b []float32){compute.OpTypeScatterSum: vec.Add32,
		compute.OpTypeScatterMax: vec.Max32, compute.OpTypeScatterMin: vec.Min32}[n.op]
	if n.shape.DType != dtypes.Float32 || updates.shape.Size() == 0 || indices.shape.Size() == 0 ||
		indices.shape.DType != dtypes.Int32 && indices.shape.DType != dtypes.Int64 {
		return nil, nil
	}
	per := 1
	if at.indexVectorAxis < indices.shape.Rank() {
		if at.indexVectorAxis != indices.shape.Rank()-1 {
			return nil, nil
		}
		per = indices.shape.Dimensions[at.indexVectorAxis]
	}
	slice, rank := 1, n.shape.Rank()
	if per != len(at.scatter) || per != len(at.insertedWindow) || per+len(at.updateWindow) != rank {
		return nil, nil
	}
	for i := range per {
		if at.scatter[i] != i || at.insertedWindow[i] != i {
			return nil, nil
		}
	}
	for i, axis := range at.updateWindow {
		d := n.shape.Dimensions[per+i]
		if axis != updates.shape.Rank()-len(at.updateWindow)+i || updates.shape.Dimensions[axis] != d {
			return nil, nil
		}
		slice *= d
	}
	reads := []*node{onto, indices, updates}
	zeros := isConstant(onto, 0)
	if zeros {
		reads = reads[1:]
	}
	return reads, func(c *compiler, n *node) (step, error) {
		s := &scatterStep{indices: c.stored[sourceOf(indices)], updates: c.stored[sourceOf(updates)], dst: c.stored[n],
			zeros: zeros, wide: indices.shape.DType == dtypes.Int64, per: per, slice: slice, op: op}
		if !zeros {
			s.onto = c.stored[sourceOf(onto)]
		}
		s.strides, s.limits = make([]int, per), n.shape.Dimensions[:per]
		stride := slice
		for i := per - 1; i >= 0; i-- {
			s.strides[i] = stride
			stride *= n.shape.Dimensions[i]
		}
		s.each = s.task
		return s, nil
	}
}

func (s *scatterStep) run(x *execution) error {
	s.x = x
	if s.zeros {
		clear(x.float32s(s.dst))
	} else {
		copy(x.float32s(s.dst), x.float32s(s.onto))
	}
	x.pool.Each(scatterTasks, s.each)
	return nil
}

func (s *scatterStep) task(_, task int) {
	dst, updates := s.x.float32s(s.dst), s.x.float32s(s.updates)
	count := len(updates) / s.slice
next:
	for i := range count {
		at := 0
		for k := range s.per {
			var index int
			if s.wide {
				index = int(unsafe.Slice((*int64)(s.x.at(s.indices)), count*s.per)[i*s.per+k])
			} else {
				index = int(unsafe.Slice((*int32)(s.x.at(s.indices)), count*s.per)[i*s.per+k])
			}
			if index < 0 || index >= s.limits[k] {
				continue next // as XLA does
			}
			at += index * s.strides[k]
		}
		if at/s.slice%scatterTasks != task {
			continue
		}
		if s.slice == 1 {
			s.op(dst[at:at+1], dst[at:at+1], updates[i:i+1])
			continue
		}
		to := dst[at:][:s.slice]
		s.op(to, to, updates[i*s.slice:][:s.slice])
	}
}
