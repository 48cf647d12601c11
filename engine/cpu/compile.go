package cpu

import (
	"slices"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// compiler turns a graph into steps.
type compiler struct {
	backend *Backend
	live    []*node           // in order of creation, which is an order of computation
	native  map[*node]*native // operations with a step of their own
	isRoot  map[*node]bool    // element-wise values that are stored
	users   map[*node][]*node
	stored  map[*node]*storage
	stepOf  map[*node]int
	groups  map[int]*group // by step
	steps   []step
	labels  []label // of the steps
	all     []*storage
	scratch int // float32s that plans need
}

// step is a part of the compiled graph.
type step interface{ run(x *execution) error }

// storage is where a tensor is when the graph runs.
type storage struct {
	id     int
	kind   storageKind
	index  int // of the parameter or the output
	shape  shapes.Shape
	offset int // in the arena
	size   int // bytes
	def    int // the step that writes it
	last   int // the last that reads it
	flat   unsafe.Pointer
	keep   any // what flat points into
}

type storageKind uint8

const (
	inArena storageKind = iota
	inParam
	inConstant
	inOutput
)

// sourceOf returns the node whose values a view shows, in the same order.
func sourceOf(n *node) *node {
	for isView(n) {
		n = n.inputs[0]
	}
	return n
}

func isView(n *node) bool {
	switch n.op {
	case compute.OpTypeReshape, compute.OpTypeIdentity, compute.OpTypeSchedulingBarrier:
		return true
	case compute.OpTypeBroadcastInDim, compute.OpTypeSlice:
		return n.shape.Size() == n.inputs[0].shape.Size()
	case compute.OpTypeConvertDType:
		return n.shape.DType == n.inputs[0].shape.DType
	case compute.OpTypeTranspose:
		return keepsOrder(n.attr.([]int), n.inputs[0].shape.Dimensions)
	}
	return false
}

// keepsOrder says whether a permutation moves only axes of length 1.
func keepsOrder(permutation, dims []int) bool {
	last := -1
	for _, axis := range permutation {
		if dims[axis] == 1 {
			continue
		}
		if axis < last {
			return false
		}
		last = axis
	}
	return true
}

// reads are the nodes an operation reads, with views looked through.
func (c *compiler) reads(n *node) []*node {
	in := n.inputs
	if op := c.native[n]; op != nil {
		in = op.reads
	}
	out := make([]*node, len(in))
	for i, v := range in {
		out[i] = sourceOf(v)
	}
	return out
}

// compileNative compiles a graph of static shapes without functions.
func (b *Builder) compileNative() (*executable, error) {
	c := &compiler{backend: b.backend, native: map[*node]*native{}, isRoot: map[*node]bool{}, users: map[*node][]*node{},
		stored: map[*node]*storage{}, stepOf: map[*node]int{}, groups: map[int]*group{}}
	c.collect(b.main)
	c.chooseRoots(b.main.returned)
	e := &executable{backend: b.backend, function: b.main}
	for _, p := range b.main.params {
		if c.stored[p] == nil { // not used, but given
			c.store(p, inParam).index = p.param
		}
	}
	for _, n := range c.live {
		if err := c.emit(n); err != nil {
			return nil, err
		}
	}
	if err := c.finish(e); err != nil {
		return nil, err
	}
	return e, nil
}

// collect finds what the outputs need.
func (c *compiler) collect(f *Function) {
	needed := map[*node]bool{}
	for _, n := range f.returned {
		needed[sourceOf(n)] = true
	}
	for _, n := range slices.Backward(f.nodes) {
		if !needed[n] {
			continue
		}
		if !elementWise(n) && n.op != compute.OpTypeParameter && n.op != compute.OpTypeConstant {
			c.native[n] = nativeOf(n)
		}
		c.live = append(c.live, n)
		for _, in := range c.reads(n) {
			needed[in] = true
			c.users[in] = append(c.users[in], n)
		}
	}
	slices.Reverse(c.live)
}

// fused says whether a node is computed inside a fused program without a step of its own.
func (c *compiler) fused(n *node) bool { return elementWise(n) && !c.isRoot[n] }

// chooseRoots decides which element-wise values are stored: those another kind of operation reads, those that are
// spread over a larger shape, and those that go into several others and cost more to compute again than to store and
// read.
func (c *compiler) chooseRoots(returned []*node) {
	for _, n := range returned {
		c.isRoot[sourceOf(n)] = true
	}
	for _, n := range c.live {
		if n.shape.Size() == 1 {
			c.isRoot[n] = true
		}
		for _, in := range c.reads(n) {
			if !elementWise(n) && c.reduction(n) == nil || elementWise(n) && in.shape.Size() != n.shape.Size() {
				c.isRoot[in] = true
			}
		}
	}
	// Where a value ends up, by way of others that are not stored: nil, one node, or several.
	type ends struct {
		one     *node
		several bool
	}
	goes := map[*node]ends{}
	for _, n := range slices.Backward(c.live) {
		end := goes[n]
		if !c.fused(n) {
			end = ends{one: n}
		}
		for _, in := range c.reads(n) {
			switch old := goes[in]; {
			case old.one == nil:
				goes[in] = end
			case old.one != end.one || end.several:
				goes[in] = ends{old.one, true}
			}
		}
	}
	cost := map[*node]int{}
	for _, n := range c.live {
		if !elementWise(n) {
			continue
		}
		total := weight(n)
		for _, in := range c.reads(n) {
			if c.fused(in) {
				total += cost[in]
			}
		}
		if goes[n].several && total > 8 || total > 60 {
			c.isRoot[n] = true
			total = 0
		}
		cost[n] = total
	}
}

// reduction returns a fused program's sum, largest or smallest value, or nil.
func (c *compiler) reduction(n *node) *native {
	if op := c.native[n]; op != nil && op.reduce != nil {
		return op
	}
	return nil
}

func (c *compiler) store(n *node, kind storageKind) *storage {
	s := &storage{id: len(c.all), kind: kind, shape: n.shape,
		size: int(n.shape.DType.SizeForDimensions(n.shape.Dimensions...)), def: len(c.steps), last: -1}
	c.all = append(c.all, s)
	c.stored[n] = s
	return s
}

// emit makes the step of a node, or adds it to a group.
func (c *compiler) emit(n *node) error {
	switch {
	case n.op == compute.OpTypeParameter:
		c.stepOf[n] = -1
		return nil
	case n.op == compute.OpTypeConstant:
		c.constant(n, n.flat)
	case n.op == compute.OpTypeIota && registerType(n.shape.DType) && n.shape.DType != dtypes.Bool:
		c.constant(n, counting(n.shape, n.attr.(int)))
	case elementWise(n):
		if c.isRoot[n] {
			return c.addToGroup(n)
		}
	case c.reduction(n) != nil:
		return c.addToGroup(n)
	default:
		c.store(n, inArena)
		s, err := c.native[n].plan(c, n)
		if err != nil {
			return err
		}
		c.stepOf[n] = len(c.steps)
		for _, in := range c.reads(n) {
			c.read(in, len(c.steps))
		}
		c.append(s, label{n.op.String(), n.shape.String(), c.native[n].elsewhere})
	}
	return nil
}

func (c *compiler) append(s step, l label) {
	c.steps, c.labels = append(c.steps, s), append(c.labels, l)
}

// read marks a stored value as used by a step.
func (c *compiler) read(n *node, step int) *storage {
	s := c.stored[n]
	s.last = max(s.last, step)
	return s
}

func (c *compiler) constant(n *node, flat any) {
	s := c.store(n, inConstant)
	s.keep, s.flat = flat, dataPointer(flat)
	c.stepOf[n] = -1
}
