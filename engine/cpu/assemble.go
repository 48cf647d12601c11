package cpu

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/bregman-ml/bregman/internal/vec"
)

// assembler writes a program.
type assembler struct {
	c       *compiler
	g       *group
	p       *program
	inside  map[*node]int  // registers of values
	leafAt  map[string]int // registers of leaves
	uniAt   map[*node]int  // uniforms
	inGroup map[*node]bool // roots of this group
	nextReg int
}

func (c *compiler) assemble(g *group) (*program, error) {
	a := &assembler{c: c, g: g, inside: map[*node]int{}, leafAt: map[string]int{}, uniAt: map[*node]int{},
		inGroup: map[*node]bool{},
		p:       &program{size: g.size, outer: 1, rows: g.size, inner: 1, period: 1}}
	if g.outer != 0 {
		a.p.outer, a.p.rows, a.p.inner = g.outer, g.rows, g.inner
	}
	slices.SortFunc(g.roots, func(x, y *node) int { return x.id - y.id })
	for _, n := range g.roots {
		a.inGroup[n] = true
	}
	a.choosePeriod()
	for _, n := range g.roots {
		if op := c.reduction(n); op != nil {
			r, err := a.value(sourceOf(n.inputs[0]))
			if err != nil {
				return nil, err
			}
			a.p.sums = append(a.p.sums, sum{r, c.stored[n], op.reduce})
			continue
		}
		r, err := a.value(n)
		if err != nil {
			return nil, err
		}
		a.p.stores = append(a.p.stores, store{r, c.stored[n], n.shape.DType == dtypes.Bool, int(n.shape.DType.Size())})
	}
	a.finish()
	return a.p, nil
}

// choosePeriod looks at what repeats: the reductions, else the longest vector that is spread over the last axes.
func (a *assembler) choosePeriod() {
	p := a.p
	if a.g.outer != 0 {
		p.period = p.inner
	}
	if p.outer > 1 && p.inner == 1 && p.rows > 1 && p.rows <= blockLen/2 {
		p.abreast, p.period, p.block = blockLen/p.rows, p.rows, blockLen/p.rows*p.rows
		return
	}
	if p.period == 1 && (a.g.outer == 0 || a.g.rows*a.g.inner == a.g.size) {
		seen := map[*node]bool{}
		var visit func(n *node)
		visit = func(n *node) {
			if seen[n] {
				return
			}
			seen[n] = true
			for _, in := range a.c.reads(n) {
				size := in.shape.Size()
				same := size == n.shape.Size() || a.c.reduction(n) != nil
				if same && (a.c.fused(in) || a.inGroup[in]) {
					visit(in)
				} else if !same && size > 1 {
					if d, s := spread(a.c.edge(n, in)); repeats(d, s) == size {
						p.period = max(p.period, size)
					}
				}
			}
		}
		for _, n := range a.g.roots {
			visit(n)
		}
	}
	p.block = blockLen
	if p.period <= blockLen {
		p.block = blockLen / p.period * p.period
	}
}

// edge returns the input of n whose source is in: the node with the shape that n sees.
func (c *compiler) edge(n, in *node) (input, user *node) {
	inputs := n.inputs
	if op := c.native[n]; op != nil {
		inputs = op.reads
	}
	for _, v := range inputs {
		if sourceOf(v) == in {
			return v, n
		}
	}
	panic(fmt.Sprintf("engine cpu: node %d does not read node %d", n.id, in.id))
}

// spread returns, for each place of user in order, where input's value is: dims of the places and strides in input,
// collapsed.
func spread(input, user *node) (dims, strides []int) {
	in, out := input.shape.Dimensions, user.shape.Dimensions
	axisOf := make([]int, len(in)) // of the output, for each of the input
	if user.op == compute.OpTypeBroadcastInDim {
		copy(axisOf, user.attr.([]int))
	} else {
		for i := range axisOf {
			axisOf[i] = i
		}
	}
	full := make([]int, len(out))
	stride := 1
	for i := len(in) - 1; i >= 0; i-- {
		if in[i] != 1 {
			full[axisOf[i]] = stride
		}
		stride *= in[i]
	}
	for i, d := range out {
		if d == 1 {
			continue
		}
		if k := len(dims) - 1; k >= 0 && (strides[k] == full[i]*d) && (full[i] != 0 || strides[k] == 0) {
			dims[k] *= d
			strides[k] = full[i]
			continue
		}
		dims, strides = append(dims, d), append(strides, full[i])
	}
	return dims, strides
}

// repeats returns the length of a vector that is repeated over the leading places, or 0.
func repeats(dims, strides []int) int {
	switch {
	case len(dims) == 1 && strides[0] == 1:
		return dims[0]
	case len(dims) == 2 && strides[0] == 0 && strides[1] == 1:
		return dims[1]
	}
	return 0
}

func (a *assembler) register() int {
	a.nextReg++
	return a.nextReg - 1
}

// operand is a register, or a uniform where reg is −1.
type operand struct{ reg, uni int }

func (o operand) isUniform() bool { return o.reg < 0 }

// operandOf returns the value that n reads from its k-th input.
func (a *assembler) operandOf(n *node, k int) (operand, error) {
	input := n.inputs[k]
	in := sourceOf(input)
	if in.shape.Size() == n.shape.Size() {
		r, err := a.value(in)
		return operand{reg: r}, err
	}
	// a broadcast that is looked through
	if in.shape.Size() == 1 && (in.shape.DType == dtypes.Float32 || in.shape.DType == dtypes.Bool) &&
		n.op != compute.OpTypeBroadcastInDim {
		return operand{-1, a.uniform(in)}, nil
	}
	r, err := a.leaf(in, input, n)
	return operand{reg: r}, err
}

func (a *assembler) uniform(n *node) int {
	if k, ok := a.uniAt[n]; ok {
		return k
	}
	a.p.uniforms = append(a.p.uniforms, uniform{s: a.c.stored[n], dtype: n.shape.DType})
	a.uniAt[n] = len(a.p.uniforms) - 1
	return a.uniAt[n]
}

// leaf returns the register for input's values as user sees them.
func (a *assembler) leaf(in, input, user *node) (int, error) {
	l := leaf{s: a.c.stored[in], isBool: in.shape.DType == dtypes.Bool, bytes: int(in.shape.DType.Size())}
	if !registerType(in.shape.DType) {
		return 0, fmt.Errorf("engine %s: no registers of type %s", Name, in.shape.DType)
	}
	var key string
	if in.shape.Size() == user.shape.Size() || a.c.reduction(user) != nil {
		key = fmt.Sprint(in.id)
	} else {
		l.dims, l.strides = spread(input, user)
		key = fmt.Sprint(in.id, l.dims, l.strides)
		switch repeat := repeats(l.dims, l.strides); {
		case in.shape.Size() == 1:
			l.how = tiled
		case repeat == a.p.period && repeat <= blockLen:
			l.how = tiled
		case repeat == a.p.period && !l.isBool:
			l.how = windowed
		default:
			l.how = gathered
		}
		if l.how == tiled {
			l.tile = a.p.tiles
			a.p.tiles += blockLen * 8
		}
	}
	if r, ok := a.leafAt[key]; ok {
		return r, nil
	}
	l.register = a.register()
	a.leafAt[key] = l.register
	a.p.leaves = append(a.p.leaves, l)
	return l.register, nil
}

// value returns the register of an element-wise value, writing its instructions first.
func (a *assembler) value(n *node) (int, error) {
	if r, ok := a.inside[n]; ok {
		return r, nil
	}
	if !a.c.fused(n) && !a.inGroup[n] || a.c.reduction(n) != nil || !elementWise(n) {
		return a.leaf(n, n, n)
	}
	in, err := a.instruction(n)
	if err != nil {
		return 0, err
	}
	if in == nil { // the value of another node
		r, err := a.operandOf(n, 0)
		a.inside[n] = r.reg
		if a.inGroup[n] { // needs a place of its own
			in = &instr{special: copyLanes, args: []int{r.reg}}
			if n.shape.DType != dtypes.Float32 && n.shape.DType != dtypes.Bool {
				in.special, in.any = plain, copyAny(int(n.shape.DType.Size()))
			}
		} else {
			return r.reg, err
		}
	}
	in.node = n
	in.dst = a.register()
	a.inside[n] = in.dst
	a.p.instrs = append(a.p.instrs, *in)
	return in.dst, nil
}

func copyAny(bytes int) func(*machine, *instr, int) {
	return func(m *machine, in *instr, n int) {
		copy(lanes[byte](m, in.dst, n*bytes), lanes[byte](m, in.args[0], n*bytes))
	}
}

// instruction returns the instruction of a node, without its target; nil for one that shows another's values.
func (a *assembler) instruction(n *node) (*instr, error) {
	if n.op == compute.OpTypeBroadcastInDim {
		return nil, nil
	}
	if in, ok, err := a.mirrorStepOf(n); ok || err != nil {
		return in, err
	}
	if in, ok, err := a.power(n); ok || err != nil {
		return in, err
	}
	ops := make([]operand, len(n.inputs))
	for k := range n.inputs {
		var err error
		if ops[k], err = a.operandOf(n, k); err != nil {
			return nil, err
		}
	}
	if n.op == compute.OpTypeWhere {
		return a.where(n, ops)
	}
	t := typeOf(n)
	if t == dtypes.Float32 && len(ops) == 2 {
		x, y := ops[0], ops[1]
		switch {
		case x.isUniform() && left32[n.op] != nil:
			return &instr{scalar: left32[n.op], args: []int{y.reg}, s: x.uni}, nil
		case y.isUniform() && right32[n.op] != nil:
			return &instr{scalar: right32[n.op], args: []int{x.reg}, s: y.uni}, nil
		}
	}
	args := make([]int, len(ops))
	for k, o := range ops {
		r, err := a.materialize(n, k, o)
		if err != nil {
			return nil, err
		}
		args[k] = r
	}
	in := &instr{args: args}
	switch {
	case n.op == compute.OpTypeConvertDType:
		in.any = conversion(n.inputs[0].shape.DType, n.shape.DType)
	case n.op == compute.OpTypeLogicalNot:
		in.unary = vec.NotMask32
	case t == dtypes.Bool:
		in.binary = masks[n.op]
	case t == dtypes.Float32 && len(args) == 1:
		in.unary = unary32[n.op]
	case t == dtypes.Float32:
		in.binary = binary32[n.op]
	default:
		in.any = otherTypes(n.op, t)
	}
	return in, nil
}

// materialize turns a uniform operand into a register full of it.
func (a *assembler) materialize(n *node, k int, o operand) (int, error) {
	if !o.isUniform() {
		return o.reg, nil
	}
	return a.leaf(sourceOf(n.inputs[k]), n.inputs[k], n)
}

func (a *assembler) where(n *node, ops []operand) (*instr, error) {
	if n.shape.DType != dtypes.Float32 || ops[0].isUniform() {
		args := make([]int, 3)
		for k := range args {
			if k == 0 && ops[0].isUniform() && n.shape.DType == dtypes.Float32 {
				continue
			}
			r, err := a.materialize(n, k, ops[k])
			if err != nil {
				return nil, err
			}
			args[k] = r
		}
		if n.shape.DType == dtypes.Float32 {
			a.p.choices = true
			return &instr{special: choose, args: args[1:], pred: ops[0].uni}, nil
		}
		return &instr{any: otherTypes(n.op, n.shape.DType), args: args}, nil
	}
	m, yes, no := ops[0], ops[1], ops[2]
	switch {
	case yes.isUniform() && no.isUniform():
		return &instr{special: selectSS, args: []int{m.reg}, s: yes.uni, t: no.uni}, nil
	case yes.isUniform():
		return &instr{special: selectSV, args: []int{m.reg, no.reg}, s: yes.uni}, nil
	case no.isUniform():
		return &instr{special: selectVS, args: []int{m.reg, yes.reg}, s: no.uni}, nil
	}
	return &instr{special: selectVV, args: []int{m.reg, yes.reg, no.reg}}, nil
}

// signedPowerOf recognises sign(x)·|x|^y for a scalar y, the mirror map of p-GD, where nothing else reads the parts.
func (a *assembler) signedPowerOf(n *node) (x, y *node) {
	if n.op != compute.OpTypeMul || n.shape.DType != dtypes.Float32 {
		return nil, nil
	}
	for k := range 2 {
		sign, pow := sourceOf(n.inputs[k]), sourceOf(n.inputs[1-k])
		if sign.op != compute.OpTypeSign || pow.op != compute.OpTypePow || !a.c.fused(sign) || !a.c.fused(pow) {
			continue
		}
		abs, y := sourceOf(pow.inputs[0]), sourceOf(pow.inputs[1])
		x := sourceOf(sign.inputs[0])
		if abs.op == compute.OpTypeAbs && sourceOf(abs.inputs[0]) == x && x.shape.Size() == n.shape.Size() &&
			y.shape.Size() == 1 {
			return x, y
		}
	}
	return nil, nil
}

// exponent is the uniform of a power's exponent: the float64 it was rounded from, where there is one, because 1/(p−1)
// in float64 tells a root from something near it and in float32 does not.
func (a *assembler) exponent(y *node) int {
	if y.op == compute.OpTypeConvertDType {
		if wide := sourceOf(y.inputs[0]); wide.shape.DType == dtypes.Float64 && a.c.stored[wide] != nil {
			y = wide
		}
	}
	a.c.read(y, a.g.at)
	u := a.uniform(y)
	a.p.uniforms[u].power = true
	return u
}

// power recognises x^y for a uniform y, |x|^y, and sign(x)·|x|^y.
func (a *assembler) power(n *node) (*instr, bool, error) {
	x, y := a.signedPowerOf(n)
	kind := signedPower
	if x == nil {
		if n.op != compute.OpTypePow || n.shape.DType != dtypes.Float32 || n.shape.Size() == 1 {
			return nil, false, nil
		}
		x, y, kind = sourceOf(n.inputs[0]), sourceOf(n.inputs[1]), powerGeneral
		if x.op == compute.OpTypeAbs && a.c.fused(x) {
			x, kind = sourceOf(x.inputs[0]), powerOfAbs
		}
		if x.shape.Size() != n.shape.Size() || y.shape.Size() != 1 {
			return nil, false, nil
		}
	}
	r, err := a.value(x)
	if err != nil {
		return nil, true, err
	}
	return &instr{special: kind, args: []int{r}, s: a.exponent(y)}, true, nil
}

// mirrorStepOf recognises the step of p-GD as package optim writes it,
//
//	where(η·g = 0, w, spow(spow(w, p−1) − η·g, 1/(p−1))),
//
// which is one kernel.
func (a *assembler) mirrorStepOf(n *node) (*instr, bool, error) {
	if n.op != compute.OpTypeWhere || n.shape.DType != dtypes.Float32 {
		return nil, false, nil
	}
	still, w, out := sourceOf(n.inputs[0]), sourceOf(n.inputs[1]), sourceOf(n.inputs[2])
	if still.op != compute.OpTypeEqual || !isConstant(still.inputs[1], 0) || !a.c.fused(still) || !a.c.fused(out) ||
		w.shape.Size() != n.shape.Size() {
		return nil, false, nil
	}
	change := sourceOf(still.inputs[0])
	z, b := a.signedPowerOf(out)
	if z == nil || z.op != compute.OpTypeSub || !a.c.fused(z) || change.op != compute.OpTypeMul || !a.c.fused(change) ||
		sourceOf(z.inputs[1]) != change {
		return nil, false, nil
	}
	before := sourceOf(z.inputs[0])
	x, e := a.signedPowerOf(before)
	if x != w || !a.c.fused(before) {
		return nil, false, nil
	}
	rate, grad := sourceOf(change.inputs[0]), sourceOf(change.inputs[1])
	if rate.shape.Size() != 1 {
		rate, grad = grad, rate
	}
	if rate.shape.Size() != 1 || grad.shape.Size() != n.shape.Size() {
		return nil, false, nil
	}
	args := make([]int, 2)
	for i, v := range []*node{w, grad} {
		var err error
		if args[i], err = a.value(v); err != nil {
			return nil, true, err
		}
	}
	return &instr{special: mirrorStep, args: args, s: a.uniform(rate), t: a.exponent(e), pred: a.exponent(b)}, true, nil
}

// finish gives registers their memory: values that die make room for others; stored float32 values are written in
// place.
func (a *assembler) finish() {
	p := a.p
	external := map[int]bool{} // leaves and stores: not scratch
	for _, l := range p.leaves {
		if !(l.how == gathered || l.isBool && l.how == direct) {
			external[l.register] = true
		}
	}
	for _, s := range p.stores {
		if !s.isBool {
			external[s.register] = true
		}
	}
	last := map[int]int{} // instruction that reads a register last
	for i, in := range p.instrs {
		for _, r := range in.args {
			last[r] = i
		}
	}
	forever := len(p.instrs)
	for _, s := range p.sums {
		last[s.register] = forever
	}
	for _, s := range p.stores {
		last[s.register] = forever
	}
	place := map[int]int{}
	var free []int
	next := 0
	take := func(r int) {
		if external[r] {
			return
		}
		if _, ok := place[r]; ok {
			return
		}
		if len(free) > 0 && !p.choices {
			place[r] = free[len(free)-1]
			free = free[:len(free)-1]
			return
		}
		place[r] = next
		next++
	}
	for _, l := range p.leaves {
		take(l.register)
	}
	for i, in := range p.instrs {
		for _, r := range in.args { // read before dst is written: the same place will do
			if !external[r] && last[r] == i && in.any == nil && in.special == plain {
				if k, ok := place[r]; ok && !slices.Contains(free, k) {
					free = append(free, k)
				}
			}
		}
		take(in.dst)
		for _, r := range in.args {
			if !external[r] && last[r] == i && (in.any != nil || in.special != plain) {
				if k, ok := place[r]; ok && !slices.Contains(free, k) && k != place[in.dst] {
					free = append(free, k)
				}
			}
		}
		if _, ok := last[in.dst]; !ok {
			panic("engine cpu: an instruction nobody reads")
		}
	}
	p.scratch = next
	p.registers = next
	for r := range a.nextReg {
		if external[r] {
			place[r] = p.registers
			p.registers++
		}
	}
	for i := range p.leaves {
		p.leaves[i].register = place[p.leaves[i].register]
	}
	for i := range p.stores {
		p.stores[i].register = place[p.stores[i].register]
	}
	for i := range p.sums {
		p.sums[i].register = place[p.sums[i].register]
	}
	for i := range p.instrs {
		in := &p.instrs[i]
		in.dst = place[in.dst]
		for k := range in.args {
			in.args[k] = place[in.args[k]]
		}
	}
	p.active = make([]int32, 0, len(p.instrs))
	p.u = uniforms{f: make([]float32, len(p.uniforms)), wide: make([]float64, len(p.uniforms)),
		pow: make([]vec.Power32, len(p.uniforms))}
	p.cut()
	p.each = p.task
}
