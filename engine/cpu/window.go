package cpu

import (
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/bregman-ml/bregman/internal/vec"
)

// windowAttr is what a pool, or its gradient, needs to know beside its inputs. Nil slices are GoMLX's defaults.
type windowAttr struct {
	kind                                             compute.ReduceOpType
	window, strides, inputDilations, windowDilations []int
	paddings                                         [][2]int
}

// windows says which elements of the input lie in the window of an element of the output. Both are [lead, axes …,
// inner]; windows reach over the axes between. Elements of the last of these axes are columns of inner numbers, those
// of the others are lines of columns.
//
//	output[lead, line, column] is made of input[lead, l, c] for l in lines.of(line), c in columns.of(column)
//
// Where the window reaches into the border there are fewer.
type windows struct {
	lead, inner         int
	lines, columns      lists
	inLines, inColumns  int
	outLines, outColumn int
	apart               bool // no element of the input is in two windows
}

// lists are lists of places, one for each place of the output.
type lists struct {
	first []int32 // where a list begins in at, and where the last ends
	at    []int32
}

func (l *lists) of(i int) []int32 { return l.at[l.first[i]:l.first[i+1]] }

func (l *lists) add(at ...int32) {
	if len(l.first) == 0 {
		l.first = append(l.first, 0)
	}
	l.at = append(l.at, at...)
	l.first = append(l.first, int32(len(l.at)))
}

// identity reports whether each place has itself, and nothing else.
func (l *lists) identity(places int) bool {
	if len(l.at) != places {
		return false
	}
	for i := range places {
		if v := l.of(i); len(v) != 1 || v[0] != int32(i) {
			return false
		}
	}
	return true
}

// axisWindows lists the places of an axis that are in each window.
func axisWindows(in, out, window, stride, spread, apart, before int) lists {
	var l lists
	for o := range out {
		var at []int32
		for a := range window {
			if p := o*stride + a*apart - before; p >= 0 && p%spread == 0 && p/spread < in {
				at = append(at, int32(p/spread))
			}
		}
		l.add(at...)
	}
	return l
}

// product joins two axes into one.
func (l *lists) product(with lists, size int) lists {
	var both lists
	for i := range len(l.first) - 1 {
		for j := range len(with.first) - 1 {
			var at []int32
			for _, a := range l.of(i) {
				for _, b := range with.of(j) {
					at = append(at, a*int32(size)+b)
				}
			}
			both.add(at...)
		}
	}
	return both
}

// windowsOf lays out the windows over a tensor of dimensions in, for results of dimensions out.
func windowsOf(at windowAttr, in, out []int) *windows {
	w := &windows{lead: 1, inner: 1, inLines: 1, outLines: 1, apart: true}
	value := func(v []int, i, otherwise int) int {
		if len(v) == 0 {
			return otherwise
		}
		return v[i]
	}
	axes := make([]lists, len(in))
	plain := make([]bool, len(in))
	for i := range in {
		size := value(at.window, i, 1)
		stride, dilation := value(at.strides, i, size), value(at.windowDilations, i, 1)
		before := 0
		if len(at.paddings) > 0 {
			before = at.paddings[i][0]
		}
		axes[i] = axisWindows(in[i], out[i], size, stride, value(at.inputDilations, i, 1), dilation, before)
		plain[i] = in[i] == out[i] && axes[i].identity(in[i])
		w.apart = w.apart && stride > (size-1)*dilation
	}
	first, last := 0, len(in)-1
	for last >= 0 && plain[last] {
		w.inner *= in[last]
		last--
	}
	for first < last && plain[first] {
		w.lead *= in[first]
		first++
	}
	if last < 0 { // nothing moves
		w.columns, w.inColumns, w.outColumn = axisWindows(1, 1, 1, 1, 1, 1, 0), 1, 1
	} else {
		w.columns, w.inColumns, w.outColumn = axes[last], in[last], out[last]
	}
	w.lines.add(0)
	for i := first; i < last; i++ {
		w.lines = w.lines.product(axes[i], in[i])
		w.inLines, w.outLines = w.inLines*in[i], w.outLines*out[i]
	}
	return w
}

// reduction of a window.
type windowOp struct {
	of    func(dst, a, b []float32)
	start float32
}

func windowOpOf(kind compute.ReduceOpType) (windowOp, bool) {
	switch kind {
	case compute.ReduceOpMax:
		return windowOp{vec.Max32, float32(math.Inf(-1))}, true
	case compute.ReduceOpMin:
		return windowOp{vec.Min32, float32(math.Inf(1))}, true
	case compute.ReduceOpSum:
		return windowOp{vec.Add32, 0}, true
	}
	return windowOp{}, false
}

// line computes a line of the output: first the lines of the input that are in its windows, number by number, then the
// columns. The order of a sum's terms follows from the windows alone. line is memory for a line of the input.
func (w *windows) line(op windowOp, dst, src, line []float32, o int) {
	n := w.inColumns * w.inner
	in := w.lines.of(o)
	if len(in) == 0 {
		fill(dst, op.start)
		return
	}
	sum := src[int(in[0])*n:][:n]
	if len(in) > 1 {
		op.of(line, sum, src[int(in[1])*n:][:n])
		for _, l := range in[2:] {
			op.of(line, line, src[int(l)*n:][:n])
		}
		sum = line
	}
	if w.inner < 8 {
		w.narrow(op, dst, sum)
		return
	}
	for c := range w.outColumn {
		to, at := dst[c*w.inner:][:w.inner], w.columns.of(c)
		switch len(at) {
		case 0:
			fill(to, op.start)
		case 1:
			copy(to, sum[int(at[0])*w.inner:][:w.inner])
		default:
			op.of(to, sum[int(at[0])*w.inner:][:w.inner], sum[int(at[1])*w.inner:][:w.inner])
			for _, k := range at[2:] {
				op.of(to, to, sum[int(k)*w.inner:][:w.inner])
			}
		}
	}
}

// narrow joins the columns of few numbers.
func (w *windows) narrow(op windowOp, dst, sum []float32) {
	kind := op.start
	for c := range w.outColumn {
		at := w.columns.of(c)
		for j := range w.inner {
			v := op.start
			switch {
			case kind < 0:
				for _, k := range at {
					v = max(v, sum[int(k)*w.inner+j])
				}
			case kind > 0:
				for _, k := range at {
					v = min(v, sum[int(k)*w.inner+j])
				}
			default:
				for _, k := range at {
					v += sum[int(k)*w.inner+j]
				}
			}
			dst[c*w.inner+j] = v
		}
	}
}

func fill(dst []float32, v float32) {
	for i := range dst {
		dst[i] = v
	}
}

// leastTask is how many numbers a task of a pool takes in at least, so that starting it costs little.
const leastTask = 16 << 10

// windowStep is a pool.
type windowStep struct {
	*windows
	op       windowOp
	src, dst *storage
	perTask  int // lines of the output
	x        *execution
	each     func(worker, task int)
}

// planWindow makes the pools of float32: the largest, the least or the sum of each window. Where the input is another
// tensor with a border, or with zeros between its elements, as in the gradient of a sum, that tensor is read.
func planWindow(n *node) ([]*node, func(c *compiler, n *node) (step, error)) {
	at := n.attr.(windowAttr)
	op, ok := windowOpOf(at.kind)
	x := n.inputs[0]
	if !ok || n.shape.DType != dtypes.Float32 || x.shape.Size() == 0 {
		return nil, nil
	}
	if of, moved := at.throughPad(x, op.start); of != nil {
		x, at = of, moved
	}
	return []*node{x}, func(c *compiler, n *node) (step, error) {
		w := windowsOf(at, x.shape.Dimensions, n.shape.Dimensions)
		s := &windowStep{windows: w, op: op, src: c.stored[sourceOf(x)], dst: c.stored[n]}
		s.perTask = max(1, leastTask*w.outLines/max(1, w.inLines*w.inColumns*w.inner))
		c.scratch = max(c.scratch, c.backend.pool.Threads()*w.inColumns*w.inner)
		s.each = s.task
		return s, nil
	}
}

// throughPad returns what a pool sees through the padding of its input with the number that changes nothing.
func (at windowAttr) throughPad(x *node, start float32) (*node, windowAttr) {
	pad := sourceOf(x)
	if pad.op != compute.OpTypePad || pad.shape.Rank() != x.shape.Rank() || !isConstant(pad.inputs[1], start) ||
		pad.inputs[0].shape.Size() == 0 {
		return nil, at
	}
	for i, d := range x.shape.Dimensions {
		if d != pad.shape.Dimensions[i] || len(at.inputDilations) > 0 && at.inputDilations[i] != 1 {
			return nil, at
		}
	}
	axes := pad.attr.([]compute.PadAxis)
	paddings, dilations := make([][2]int, len(axes)), make([]int, len(axes))
	for i, axis := range axes {
		if len(at.paddings) > 0 {
			paddings[i] = at.paddings[i]
		}
		paddings[i][0] += axis.Start
		dilations[i] = axis.Interior + 1
		if axis.Start < 0 || axis.End < 0 {
			return nil, at // what is cut off is not seen
		}
	}
	if len(at.strides) == 0 {
		at.strides = at.window
	}
	at.paddings, at.inputDilations = paddings, dilations
	return pad.inputs[0], at
}

// isConstant reports whether a value is one number everywhere.
func isConstant(n *node, v float32) bool {
	for n = sourceOf(n); n.op == compute.OpTypeBroadcastInDim; {
		n = sourceOf(n.inputs[0])
	}
	flat, ok := n.flat.([]float32)
	return ok && n.op == compute.OpTypeConstant && len(flat) == 1 && flat[0] == v
}

func (s *windowStep) run(x *execution) error {
	s.x = x
	lines := s.lead * s.outLines
	x.pool.Each((lines+s.perTask-1)/s.perTask, s.each)
	return nil
}

func (s *windowStep) task(worker, task int) {
	src, dst := s.x.float32s(s.src), s.x.float32s(s.dst)
	n, to := s.inColumns*s.inner, s.outColumn*s.inner
	line := s.x.scratch[worker*n:][:n]
	for i := task * s.perTask; i < min((task+1)*s.perTask, s.lead*s.outLines); i++ {
		s.line(s.op, dst[i*to:][:to], src[i/s.outLines*s.inLines*n:][:s.inLines*n], line, i%s.outLines)
	}
}

// scatterWindowStep is the gradient of a pool of largest or least numbers: of each window the first number that is the
// largest, in reading order, gets all of the gradient.
type scatterWindowStep struct {
	*windows
	op            windowOp
	x, from, dst  *storage
	leadPerTask   int
	run0          *execution
	each          func(worker, task int)
	memory, outTo int // floats of a worker, and of a line of the output
}

// planScatterWindow makes the gradient of a pool in float32.
func planScatterWindow(n *node) func(c *compiler, n *node) (step, error) {
	at := n.attr.(windowAttr)
	x, from := n.inputs[0], n.inputs[1]
	op, ok := windowOpOf(at.kind)
	if !ok || n.shape.DType != dtypes.Float32 || x.shape.DType != dtypes.Float32 || from.shape.DType != dtypes.Float32 ||
		from.shape.Size() == 0 {
		return nil
	}
	return func(c *compiler, n *node) (step, error) {
		w := windowsOf(at, x.shape.Dimensions, from.shape.Dimensions)
		s := &scatterWindowStep{windows: w, op: op, x: c.stored[sourceOf(x)], from: c.stored[sourceOf(from)],
			dst: c.stored[n]}
		s.leadPerTask = max(1, leastTask/max(1, w.inLines*w.inColumns*w.inner))
		s.outTo = w.outColumn * w.inner
		s.memory = w.inColumns*w.inner + s.outTo + 3*w.inner
		c.scratch = max(c.scratch, c.backend.pool.Threads()*s.memory)
		s.each = s.task
		return s, nil
	}
}

func (s *scatterWindowStep) run(x *execution) error {
	s.run0 = x
	x.pool.Each((s.lead+s.leadPerTask-1)/s.leadPerTask, s.each)
	return nil
}

func (s *scatterWindowStep) task(worker, task int) {
	in := s.inLines * s.inColumns * s.inner
	memory := s.run0.scratch[worker*s.memory:][:s.memory]
	for i := task * s.leadPerTask; i < min((task+1)*s.leadPerTask, s.lead); i++ {
		dst := s.run0.float32s(s.dst)[i*in:][:in]
		clear(dst)
		s.one(dst, s.run0.float32s(s.x)[i*in:][:in], s.run0.float32s(s.from)[i*s.outLines*s.outTo:][:s.outLines*s.outTo],
			memory)
	}
}

// one scatters the gradient of an image.
func (s *scatterWindowStep) one(dst, x, from, memory []float32) {
	line, memory := memory[:s.inColumns*s.inner], memory[s.inColumns*s.inner:]
	best, memory := memory[:s.outTo], memory[s.outTo:]
	mask, rest, part := memory[:s.inner], memory[s.inner:2*s.inner], memory[2*s.inner:3*s.inner]
	for o := range s.outLines {
		lines := s.lines.of(o)
		if len(lines) == 0 {
			continue
		}
		given := from[o*s.outTo:][:s.outTo]
		if s.inner < 8 {
			s.oneByOne(dst, x, given, lines)
			continue
		}
		s.line(s.op, best, x, line, o)
		if v := vec.MaxOf32(best); v != v {
			s.oneByOne(dst, x, given, lines) // NaN is equal to nothing
			continue
		}
		for c := range s.outColumn {
			columns := s.columns.of(c)
			m, v := best[c*s.inner:][:s.inner], given[c*s.inner:][:s.inner]
			left := len(lines) * len(columns)
			for _, l := range lines {
				for _, k := range columns {
					at := (int(l)*s.inColumns + int(k)) * s.inner
					to := dst[at:][:s.inner]
					left--
					switch {
					case left == 0 && s.apart:
						copy(to, v) // who is left is the largest
					case left == 0:
						vec.Add32(to, to, v)
					case s.apart:
						vec.Equal32(mask, x[at:][:s.inner], m)
						vec.AndMask32(to, mask, v)
						vec.SelectScalarVector32(rest, mask, 0, v)
						v = rest
					default:
						vec.Equal32(mask, x[at:][:s.inner], m)
						vec.AndMask32(part, mask, v)
						vec.Add32(to, to, part)
						vec.SelectScalarVector32(rest, mask, 0, v)
						v = rest
					}
				}
			}
		}
	}
}

// oneByOne scatters a line where columns are narrow, or where there is a NaN: of several the last one gets the
// gradient.
func (s *scatterWindowStep) oneByOne(dst, x, given []float32, lines []int32) {
	least := s.op.start > 0
	for c := range s.outColumn {
		columns := s.columns.of(c)
		for j := range s.inner {
			at, best := -1, float32(0)
			for _, l := range lines {
				for _, k := range columns {
					i := (int(l)*s.inColumns+int(k))*s.inner + j
					v := x[i]
					if at < 0 || v != v || least && v < best || !least && v > best {
						at, best = i, v
					}
				}
			}
			if at >= 0 {
				dst[at] += given[c*s.inner+j]
			}
		}
	}
}
