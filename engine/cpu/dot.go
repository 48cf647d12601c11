package cpu

import (
	"math"
	"slices"
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"github.com/bregman-ml/bregman/internal/pool"
	"github.com/bregman-ml/bregman/internal/product"
)

// mostRow is the longest row of a matrix that package product takes.
const mostRow = math.MaxInt32 / 4096

// side is an operand of a product: for each element of a batch a matrix.
type side struct {
	s          *storage
	offsets    []int // of the matrices, in floats
	matrix     move  // from the operand to rows one after the other; not made where they are that already
	inPlace    bool
	transposed bool
	kept       int
	contracted int
}

// planDot makes the products of float32: of two matrices, or of two for each element of a batch. Axes may lie in any
// order: matrices that are not stored row by row are copied first, each by the worker that needs it.
func planDot(n *node) func(c *compiler, n *node) (step, error) {
	at := n.attr.(dotAttr)
	x, y := n.inputs[0], n.inputs[1]
	if n.shape.DType != dtypes.Float32 || x.shape.DType != dtypes.Float32 || y.shape.DType != dtypes.Float32 {
		return nil
	}
	if t := at.config.AccumulatorDType; t != dtypes.InvalidDType && t != dtypes.Float32 {
		return nil
	}
	best, least := [2]side{}, -1
	for _, order := range contractOrders(at) {
		a := sideOf(x.shape.Dimensions, at.xBatch, pick(at.xContract, order), false)
		b := sideOf(y.shape.Dimensions, at.yBatch, pick(at.yContract, order), true)
		copies := 0
		for i, v := range []side{a, b} {
			if !v.inPlace {
				copies += []int{x.shape.Size(), y.shape.Size()}[i]
			}
		}
		if least < 0 || copies < least {
			best, least = [2]side{a, b}, copies
		}
	}
	a, b := best[0], best[1]
	m, k, cols, count := a.kept, a.contracted, b.kept, len(a.offsets)
	if max(k, cols, m) > mostRow || min(m, k, cols) < 1 || k != b.contracted || count != len(b.offsets) {
		return nil
	}
	return func(c *compiler, n *node) (step, error) {
		s := &dotStep{a: a, b: b, c: c.stored[n], count: count, m: m, k: k, n: cols}
		s.a.s, s.b.s = c.stored[sourceOf(x)], c.stored[sourceOf(y)]
		threads := c.backend.pool.Threads()
		one := product.NewMatMul(m, cols, k, a.transposed, b.transposed)
		if count == 1 && a.inPlace && b.inPlace {
			return c.product(n, one, x, y), nil
		}
		s.plans = []*product.MatMul{one}
		// few matrices, or few for so many workers and large: all workers on each of them
		s.shared = count < 4 || count < 4*threads && m*cols*k >= 1<<24
		workers := 1
		if !s.shared {
			workers = threads
			for range threads - 1 {
				s.plans = append(s.plans, product.NewMatMul(m, cols, k, a.transposed, b.transposed))
			}
			s.alone = c.backend.alone
			s.each = s.task
			s.perTask = max(1, (64<<10)/max(1, m*cols*k))
			s.scratch = one.Scratch(1)
		} else {
			s.scratch = one.Scratch(threads)
		}
		if !a.inPlace {
			s.scratch += m * k
		}
		if !b.inPlace {
			s.scratch += k * cols
		}
		s.scratch = (s.scratch + 15) / 16 * 16
		c.scratch = max(c.scratch, s.scratch*workers)
		return s, nil
	}
}

// contractOrders are the orders in which the axes that are summed over can be taken: as given, or as they lie in one
// of the operands.
func contractOrders(at dotAttr) [][]int {
	given := make([]int, len(at.xContract))
	for i := range given {
		given[i] = i
	}
	orders := [][]int{given}
	for _, axes := range [][]int{at.xContract, at.yContract} {
		order := slices.Clone(given)
		slices.SortStableFunc(order, func(i, j int) int { return axes[i] - axes[j] })
		if !slices.Equal(order, given) {
			orders = append(orders, order)
		}
	}
	return orders
}

func pick(axes, order []int) []int {
	out := make([]int, len(order))
	for i, k := range order {
		out[i] = axes[k]
	}
	return out
}

// sideOf finds the matrices of an operand. A left one has the axes that are summed over last, a right one first; else
// it is transposed.
func sideOf(dims, batch, contract []int, right bool) side {
	strides := make([]int, len(dims))
	stride := 1
	for i := len(dims) - 1; i >= 0; i-- {
		strides[i] = stride
		stride *= dims[i]
	}
	var kept []int
	for i := range dims {
		if !slices.Contains(batch, i) && !slices.Contains(contract, i) {
			kept = append(kept, i)
		}
	}
	s := side{kept: 1, contracted: 1, offsets: []int{0}}
	for _, a := range batch {
		var next []int
		for _, o := range s.offsets {
			for i := range dims[a] {
				next = append(next, o+i*strides[a])
			}
		}
		s.offsets = next
	}
	for _, a := range kept {
		s.kept *= dims[a]
	}
	for _, a := range contract {
		s.contracted *= dims[a]
	}
	matrix := func(axes ...[]int) move {
		m := move{size: 4}
		to := 4 * s.kept * s.contracted
		for _, a := range slices.Concat(axes...) {
			to /= dims[a]
			m.dims, m.from, m.to = append(m.dims, dims[a]), append(m.from, 4*strides[a]), append(m.to, to)
		}
		m.collapse()
		return m
	}
	keptFirst, contractedFirst := matrix(kept, contract), matrix(contract, kept)
	first := len(kept) > 0 || right // the axes that are summed over lie before all others
	for _, a := range contract {
		first = first && (len(kept) == 0 || a < kept[0])
	}
	s.matrix, s.transposed = keptFirst, right
	switch {
	case first && contractedFirst.whole():
		s.matrix, s.transposed = contractedFirst, !right
	case keptFirst.whole():
	case contractedFirst.whole(), contractedFirst.contiguous && !keptFirst.contiguous:
		s.matrix, s.transposed = contractedFirst, !right
	}
	s.inPlace = s.matrix.whole()
	return s
}

// whole reports whether a move moves nothing but one piece of memory.
func (m *move) whole() bool { return len(m.dims) == 1 && m.contiguous }

// dotStep is a product for each element of a batch.
type dotStep struct {
	a, b           side
	c              *storage
	count, m, k, n int
	plans          []*product.MatMul // of the workers
	shared         bool
	alone          []*pool.Pool // one worker each
	perTask        int
	scratch        int // floats of a worker
	x              *execution
	each           func(worker, task int)
}

func (s *dotStep) run(x *execution) error {
	s.x = x
	if s.shared {
		for i := range s.count {
			s.one(s.plans[0], x.pool, x.scratch, i)
		}
		return nil
	}
	x.pool.Each((s.count+s.perTask-1)/s.perTask, s.each)
	return nil
}

func (s *dotStep) task(worker, task int) {
	scratch := s.x.scratch[worker*s.scratch:][:s.scratch]
	for i := task * s.perTask; i < min((task+1)*s.perTask, s.count); i++ {
		s.one(s.plans[worker], s.alone[worker], scratch, i)
	}
}

// one multiplies the i-th matrices.
func (s *dotStep) one(plan *product.MatMul, on *pool.Pool, scratch []float32, i int) {
	var a, b []float32
	a, scratch = s.a.load(s.x, scratch, i)
	b, scratch = s.b.load(s.x, scratch, i)
	plan.Run(on, scratch, s.x.float32s(s.c)[i*s.m*s.n:][:s.m*s.n], a, b)
}

// load returns a matrix, in the operand's memory or copied to scratch memory, and the scratch memory that is left.
func (v *side) load(x *execution, scratch []float32, i int) (matrix, left []float32) {
	size := v.kept * v.contracted
	from := x.float32s(v.s)[v.offsets[i]:]
	if v.inPlace {
		return from[:size], scratch
	}
	matrix = scratch[:size]
	v.matrix.walk(unsafe.Pointer(unsafe.SliceData(matrix)), unsafe.Pointer(unsafe.SliceData(from)), 0)
	return matrix, scratch[size:]
}
