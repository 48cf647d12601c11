package cpu

import (
	"slices"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

// move copies elements between two walks over the same places.
type move struct {
	dims        []int
	from, to    []int // strides in bytes, may be negative
	start, into int   // bytes
	size        int   // of an element
	src         *storage
	contiguous  bool
}

// planMove makes the operations that only move elements.
func planMove(n *node) func(c *compiler, n *node) (step, error) {
	size := elementSize(n.shape.DType)
	if size == 0 || size != 1 && size != 2 && size != 4 && size != 8 {
		return nil
	}
	rank := n.shape.Rank()
	natural := func(dims []int) []int {
		out := make([]int, len(dims))
		stride := size
		for i := len(dims) - 1; i >= 0; i-- {
			out[i] = stride
			stride *= dims[i]
		}
		return out
	}
	in, out := n.inputs[0].shape.Dimensions, n.shape.Dimensions
	from, to := natural(in), natural(out)
	one := func(m move) func(c *compiler, n *node) (step, error) {
		return func(c *compiler, n *node) (step, error) {
			m.src = c.stored[sourceOf(n.inputs[0])]
			s := &moveStep{moves: []move{m}, dst: c.stored[n]}
			s.moves[0].collapse()
			return s, nil
		}
	}
	switch n.op {
	case compute.OpTypeSlice:
		at := n.attr.(sliceAttr)
		m := move{dims: out, from: make([]int, rank), to: to, size: size}
		for i := range out {
			step := 1
			if len(at.strides) > 0 {
				step = at.strides[i]
			}
			m.start += at.starts[i] * from[i]
			m.from[i] = from[i] * step
		}
		return one(m)
	case compute.OpTypeTranspose:
		m := move{dims: out, from: make([]int, rank), to: to, size: size}
		for i, axis := range n.attr.([]int) {
			m.from[i] = from[axis]
		}
		return one(m)
	case compute.OpTypeReverse:
		m := move{dims: out, from: from, to: to, size: size}
		for _, axis := range n.attr.([]int) {
			m.start += (in[axis] - 1) * m.from[axis]
			m.from[axis] = -m.from[axis]
		}
		return one(m)
	case compute.OpTypePad:
		if sourceOf(n.inputs[0]).shape.Size() == 0 {
			return nil
		}
		m := move{dims: slices.Clone(in), from: from, to: slices.Clone(to), size: size}
		for i, axis := range n.attr.([]compute.PadAxis) {
			if axis.Start < 0 || axis.End < 0 {
				if axis.Interior != 0 || in[i]+min(axis.Start, 0)+min(axis.End, 0) < 1 {
					return nil
				}
				m.dims[i] += min(axis.Start, 0) + min(axis.End, 0)
				m.start -= min(axis.Start, 0) * from[i]
			}
			m.into += max(axis.Start, 0) * to[i]
			m.to[i] = to[i] * (axis.Interior + 1)
		}
		return func(c *compiler, n *node) (step, error) {
			m.src = c.stored[sourceOf(n.inputs[0])]
			m.collapse()
			return &moveStep{moves: []move{m}, dst: c.stored[n], fill: c.stored[sourceOf(n.inputs[1])]}, nil
		}
	case compute.OpTypeConcatenate:
		axis := n.attr.(int)
		return func(c *compiler, n *node) (step, error) {
			s := &moveStep{dst: c.stored[n]}
			at := 0
			for _, v := range n.inputs {
				if v.shape.Size() == 0 {
					continue
				}
				m := move{dims: v.shape.Dimensions, from: natural(v.shape.Dimensions), to: to, into: at, size: size,
					src: c.stored[sourceOf(v)]}
				m.collapse()
				s.moves = append(s.moves, m)
				at += v.shape.Dimensions[axis] * to[axis]
			}
			return s, nil
		}
	}
	return nil
}

// collapse joins axes that both walks take as one, and drops those of length 1.
func (m *move) collapse() {
	var dims, from, to []int
	for i, d := range m.dims {
		if d == 1 {
			continue
		}
		if k := len(dims) - 1; k >= 0 && from[k] == m.from[i]*d && to[k] == m.to[i]*d {
			dims[k], from[k], to[k] = dims[k]*d, m.from[i], m.to[i]
			continue
		}
		dims, from, to = append(dims, d), append(from, m.from[i]), append(to, m.to[i])
	}
	if len(dims) == 0 {
		dims, from, to = []int{1}, []int{m.size}, []int{m.size}
	}
	m.dims, m.from, m.to = dims, from, to
	last := len(dims) - 1
	m.contiguous = from[last] == m.size && to[last] == m.size
}

// moveStep makes moves into its target, filled first where they leave places out.
type moveStep struct {
	moves []move
	fill  *storage
	dst   *storage
	x     *execution
	m     *move
	each  func(worker, task int)
}

func (s *moveStep) run(x *execution) error {
	s.x = x
	if s.each == nil {
		s.each = s.task
	}
	if s.fill != nil {
		fillWith(x.at(s.dst), s.dst.size, x.at(s.fill), s.fill.size)
	}
	for i := range s.moves {
		s.m = &s.moves[i]
		if len(s.m.dims) == 1 {
			s.m.walk(unsafe.Add(x.at(s.dst), s.m.into), unsafe.Add(x.at(s.m.src), s.m.start), 0)
			continue
		}
		x.pool.Each(s.m.dims[0], s.each)
	}
	return nil
}

// task moves one slice along the first axis.
func (s *moveStep) task(_, i int) {
	m := s.m
	m.walk(unsafe.Add(s.x.at(s.dst), m.into+i*m.to[0]), unsafe.Add(s.x.at(m.src), m.start+i*m.from[0]), 1)
}

func (m *move) walk(dst, src unsafe.Pointer, axis int) {
	n := m.dims[axis]
	if axis < len(m.dims)-1 {
		for i := range n {
			m.walk(unsafe.Add(dst, i*m.to[axis]), unsafe.Add(src, i*m.from[axis]), axis+1)
		}
		return
	}
	if m.contiguous {
		copy(unsafe.Slice((*byte)(dst), n*m.size), unsafe.Slice((*byte)(src), n*m.size))
		return
	}
	switch m.size {
	case 1:
		hop[uint8](dst, src, n, m.to[axis], m.from[axis])
	case 2:
		hop[uint16](dst, src, n, m.to[axis], m.from[axis])
	case 4:
		hop[uint32](dst, src, n, m.to[axis], m.from[axis])
	default:
		hop[uint64](dst, src, n, m.to[axis], m.from[axis])
	}
}

func hop[T any](dst, src unsafe.Pointer, n, to, from int) {
	for i := range n {
		*(*T)(unsafe.Add(dst, i*to)) = *(*T)(unsafe.Add(src, i*from))
	}
}

// fillWith repeats an element over memory.
func fillWith(dst unsafe.Pointer, size int, value unsafe.Pointer, element int) {
	all, one := unsafe.Slice((*byte)(dst), size), unsafe.Slice((*byte)(value), element)
	zero := true
	for _, b := range one {
		zero = zero && b == 0
	}
	if zero {
		clear(all)
		return
	}
	for done := copy(all, one); done < size; {
		done += copy(all[done:], all[:done])
	}
}

// gatherStep copies slices that begin where the indices say.
type gatherStep struct {
	src, indices, dst *storage
	inner             move  // one slice
	wide              bool  // int64 indices
	per               int   // indices a slice
	strides, limits   []int // of the axes they index: bytes, largest start
	bytes             int   // a slice
	x                 *execution
	each              func(worker, task int)
}

// planGather takes gathers whose slices are the last axes of the result, in order, from int32 or int64 indices along
// their last axis.
func planGather(n *node) func(c *compiler, n *node) (step, error) {
	at := n.attr.(gatherAttr)
	size := elementSize(n.shape.DType)
	x, indices := n.inputs[0].shape, n.inputs[1].shape
	if size != 1 && size != 2 && size != 4 && size != 8 || indices.Size() == 0 || x.Size() == 0 ||
		(indices.DType != dtypes.Int32 && indices.DType != dtypes.Int64) {
		return nil
	}
	per := 1
	if at.indexVectorAxis < indices.Rank() {
		if at.indexVectorAxis != indices.Rank()-1 {
			return nil
		}
		per = indices.Dimensions[at.indexVectorAxis]
	}
	if per != len(at.startIndexMap) {
		return nil
	}
	for i, axis := range at.offsetAxes {
		if axis != n.shape.Rank()-len(at.offsetAxes)+i {
			return nil
		}
	}
	return func(c *compiler, n *node) (step, error) {
		s := &gatherStep{dst: c.stored[n], src: c.stored[sourceOf(n.inputs[0])], indices: c.stored[sourceOf(n.inputs[1])],
			wide: indices.DType == dtypes.Int64, per: per, bytes: size}
		strides := make([]int, x.Rank())
		stride := size
		for i := x.Rank() - 1; i >= 0; i-- {
			strides[i] = stride
			stride *= x.Dimensions[i]
		}
		for _, axis := range at.startIndexMap {
			s.strides = append(s.strides, strides[axis])
			s.limits = append(s.limits, x.Dimensions[axis]-at.sizes[axis])
		}
		to := make([]int, x.Rank())
		for i := x.Rank() - 1; i >= 0; i-- {
			to[i] = s.bytes
			s.bytes *= at.sizes[i]
		}
		s.inner = move{dims: at.sizes, from: strides, to: to, size: size}
		s.inner.collapse()
		s.each = s.task
		return s, nil
	}
}

func (s *gatherStep) run(x *execution) error {
	s.x = x
	x.pool.Each(s.dst.size/s.bytes, s.each)
	return nil
}

func (s *gatherStep) task(_, i int) {
	src := s.x.at(s.src)
	for k := range s.per {
		var at int
		if s.wide {
			at = int(unsafe.Slice((*int64)(s.x.at(s.indices)), (i+1)*s.per)[i*s.per+k])
		} else {
			at = int(unsafe.Slice((*int32)(s.x.at(s.indices)), (i+1)*s.per)[i*s.per+k])
		}
		src = unsafe.Add(src, min(max(at, 0), s.limits[k])*s.strides[k])
	}
	s.inner.walk(unsafe.Add(s.x.at(s.dst), i*s.bytes), src, 0)
}
