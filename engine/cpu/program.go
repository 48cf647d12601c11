package cpu

import (
	"slices"
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"github.com/bregman-ml/bregman/internal/vec"
)

// program is a fused group, ready to run: instructions over blocks of at most blockLen elements.
type program struct {
	size               int
	outer, rows, inner int // of its reductions; outer and rows·inner cover size
	block              int // elements a block, a multiple of period where that is at most blockLen
	period             int // of leaves that repeat, and of reductions; 1 if none
	instrs             []instr
	leaves             []leaf
	stores             []store // element-wise roots
	sums               []sum   // reductions
	uniforms           []uniform
	registers          int // in all; the first `scratch` of them are the worker's own memory
	scratch            int
	choices            bool
	tiles              int // bytes of tiles in all
	chunks, chunkLen   int // a task is chunkLen elements of one outer row
	abreast            int // short rows that a block has, each reduced to one number; 0: a row is one block or more

	// of a run
	x      *execution
	u      uniforms
	active []int32
	moved  []alias
	each   func(worker, task int)
}

// leaf is a register that holds a stored tensor's values.
type leaf struct {
	register int
	s        *storage
	how      leafKind
	isBool   bool
	dims     []int // of the places, collapsed
	strides  []int // in the tensor; 0 repeats
	bytes    int   // an element
	tile     int   // offset of its tile
}

type leafKind uint8

const (
	direct   leafKind = iota // the tensor's own memory
	tiled                    // repeats after `period`, which a block is a multiple of: written once a run
	windowed                 // repeats after `period`, which is longer than a block
	gathered                 // copied for each block
)

type store struct {
	register int
	s        *storage
	isBool   bool
	bytes    int
}

type sum struct {
	register int
	s        *storage
	r        *reduction
}

type uniform struct {
	s     *storage
	dtype dtypes.DType
	power bool
}

type alias struct{ from, to int }

// cut divides the work into tasks, by the shape alone, so that sums do not depend on the machine.
func (p *program) cut() {
	row := p.rows * p.inner
	const least = 16 << 10 // elements a task, so that starting it costs little
	p.chunks = 1
	p.chunkLen = row
	if p.outer == 1 {
		p.chunks = min(max(row/least, 1), 32)
		unit := p.block
		if p.period > blockLen {
			unit = p.period
		}
		p.chunkLen = (row/p.chunks/unit + 1) * unit
		p.chunks = (row + p.chunkLen - 1) / p.chunkLen
	}
}

// lanesOf is the length of a reduction's gathered values.
func (p *program) lanesOf() int {
	if p.period > blockLen {
		return p.period
	}
	return min(p.block, (p.rows*p.inner+p.period-1)/p.period*p.period)
}

// gatherBytes is the memory that tasks need for reductions.
func (p *program) gatherBytes(threads int) int {
	if len(p.sums) == 0 {
		return 0
	}
	slots := p.chunks
	if p.outer > 1 {
		slots = threads
	}
	return slots * len(p.sums) * p.lanesOf() * 4
}

func (p *program) run(x *execution) error {
	p.x = x
	for i, u := range p.uniforms {
		at := x.at(u.s)
		switch u.dtype {
		case dtypes.Float32:
			p.u.f[i] = *(*float32)(at)
			p.u.wide[i] = float64(p.u.f[i])
		case dtypes.Float64:
			p.u.wide[i] = *(*float64)(at)
			p.u.f[i] = float32(p.u.wide[i])
		case dtypes.Bool:
			p.u.f[i] = 0
			if *(*bool)(at) {
				p.u.f[i] = 1
			}
		}
		if u.power {
			p.u.pow[i] = vec.PowerOf32(p.u.wide[i])
		}
	}
	p.choose()
	for i := range p.leaves {
		if l := &p.leaves[i]; l.how == tiled {
			l.fillTile(x, p)
		}
	}
	tasks := p.chunks
	switch {
	case p.abreast > 0:
		tasks = (p.outer + p.rowsPerTask() - 1) / p.rowsPerTask()
	case p.outer > 1:
		const atOnce = 8
		tasks = (p.outer + atOnce - 1) / atOnce
		if p.rows*p.inner > 4096 {
			tasks = p.outer
		}
	}
	x.pool.Each(tasks, p.each)
	if p.outer == 1 {
		p.total()
	}
	return nil
}

// choose finds the instructions that count, given the predicates: the branch of a choice that is not taken is not
// computed, and the one that is taken is computed where the choice's value belongs.
func (p *program) choose() {
	p.active, p.moved = p.active[:0], p.moved[:0]
	if !p.choices {
		for i := range p.instrs {
			p.active = append(p.active, int32(i))
		}
		return
	}
	needed := p.x.needed[:p.registers]
	clear(needed)
	for _, s := range p.stores {
		needed[s.register] = true
	}
	for _, s := range p.sums {
		needed[s.register] = true
	}
	for i := len(p.instrs) - 1; i >= 0; i-- {
		in := &p.instrs[i]
		if !needed[in.dst] {
			continue
		}
		p.active = append(p.active, int32(i))
		if in.special == choose {
			from := in.args[1-int(p.u.f[in.pred])]
			needed[from] = true
			continue
		}
		for _, r := range in.args {
			needed[r] = true
		}
	}
	slices.Reverse(p.active)
	// a taken branch that only the choice reads is written where the choice would copy it
	for _, i := range p.active {
		in := &p.instrs[i]
		if in.special != choose {
			continue
		}
		from := in.args[1-int(p.u.f[in.pred])]
		if from < p.scratch && p.readers(from) == 1 && p.safe(from, in.dst) {
			p.moved = append(p.moved, alias{from, in.dst})
		}
	}
}

// safe reports whether a value may be written where a store goes before the choice is made: not where that is the
// memory of a leaf which is read later.
func (p *program) safe(from, to int) bool {
	if p.choicesReading(to) > 0 {
		return false // the choice goes on into another: leave that one's move, which is decided later, alone
	}
	var target unsafe.Pointer
	for _, s := range p.stores {
		if s.register == to {
			target = p.x.at(s.s)
		}
	}
	if target == nil {
		return true
	}
	written := false
	for _, i := range p.active {
		in := &p.instrs[i]
		if written && in.special != choose {
			for _, l := range p.leaves {
				if l.how == direct && p.x.at(l.s) == target && slices.Contains(in.args, l.register) {
					return false
				}
			}
		}
		written = written || in.dst == from
	}
	return true
}

// choicesReading counts the active choices that take a register.
func (p *program) choicesReading(r int) int {
	count := 0
	for _, i := range p.active {
		if in := &p.instrs[i]; in.special == choose && in.args[1-int(p.u.f[in.pred])] == r {
			count++
		}
	}
	return count
}

// readers counts the active instructions that read a register.
func (p *program) readers(r int) int {
	count := 0
	for _, i := range p.active {
		in := &p.instrs[i]
		if in.special == choose {
			if in.args[1-int(p.u.f[in.pred])] == r {
				count++
			}
			continue
		}
		if slices.Contains(in.args, r) {
			count++
		}
	}
	for _, s := range p.sums {
		if s.register == r {
			count++
		}
	}
	return count
}

// task computes a chunk of the only row, or some of the rows.
func (p *program) task(worker, task int) {
	if p.outer == 1 {
		lo := task * p.chunkLen
		p.span(worker, task, lo, min(lo+p.chunkLen, p.size))
		return
	}
	if p.abreast > 0 {
		p.shortRows(worker, task*p.rowsPerTask(), min((task+1)*p.rowsPerTask(), p.outer))
		return
	}
	row := p.rows * p.inner
	first, last := task, task+1
	if row <= 4096 {
		first, last = task*8, min(task*8+8, p.outer)
	}
	for o := first; o < last; o++ {
		p.span(worker, worker, o*row, (o+1)*row)
		for k, s := range p.sums {
			acc := p.gathered(worker, k)
			out := unsafe.Slice((*float32)(p.x.at(s.s)), p.outer*p.inner)[o*p.inner : (o+1)*p.inner]
			s.r.fold(out, acc)
		}
	}
}

// gathered is where the k-th reduction of a slot (a chunk, or a worker) is gathered.
func (p *program) gathered(slot, k int) []float32 {
	n := p.lanesOf()
	return p.x.gather[(slot*len(p.sums)+k)*n:][:n]
}

// begin gives a worker's registers their memory.
func (p *program) begin(worker int) *machine {
	m := &p.x.machines[worker]
	base := p.x.scratchOf(worker)
	for i := range p.scratch {
		m.ptr[i] = unsafe.Add(base, i*registerBytes)
	}
	for i := range p.leaves {
		if l := &p.leaves[i]; l.how == tiled {
			m.ptr[l.register] = unsafe.Add(p.x.tiles, l.tile)
		}
	}
	return m
}

// blockAt computes n places from lo on.
func (p *program) blockAt(m *machine, lo, n int) {
	for i := range p.leaves {
		p.leaves[i].bind(p, m, lo, n)
	}
	for i := range p.stores {
		if s := &p.stores[i]; !s.isBool {
			m.ptr[s.register] = unsafe.Add(p.x.at(s.s), lo*s.bytes)
		}
	}
	for _, v := range slices.Backward(p.moved) { // outer choices first: inner ones go where those go
		m.ptr[v.from] = m.ptr[v.to]
	}
	for _, i := range p.active {
		p.instrs[i].run(m, &p.u, n)
	}
	for i := range p.stores {
		if s := &p.stores[i]; s.isBool {
			vec.BoolsFromMask(unsafe.Slice((*bool)(unsafe.Add(p.x.at(s.s), lo)), n), m.f(s.register, n))
		}
	}
}

// rowsPerTask is how many short rows a task has.
func (p *program) rowsPerTask() int { return p.abreast * max(1, leastTask/(p.abreast*p.rows)) }

// shortRows computes some rows, several at once, and reduces each to a number.
func (p *program) shortRows(worker, first, last int) {
	m := p.begin(worker)
	for ; first < last; first += p.abreast {
		rows := min(p.abreast, last-first)
		p.blockAt(m, first*p.rows, rows*p.rows)
		for _, s := range p.sums {
			out := unsafe.Slice((*float32)(p.x.at(s.s)), p.outer)[first:][:rows]
			x := m.f(s.register, rows*p.rows)
			for i := range out {
				s.r.fold(out[i:i+1], x[i*p.rows:][:p.rows])
			}
		}
	}
}

// span computes the places from lo to hi.
func (p *program) span(worker, slot, lo, hi int) {
	m := p.begin(worker)
	for k, s := range p.sums {
		acc := p.gathered(slot, k)
		v := s.r.start()
		for i := range acc {
			acc[i] = v
		}
	}
	for lo < hi {
		n := min(p.block, hi-lo)
		if p.period > blockLen {
			n = min(n, p.period-lo%p.period)
		}
		p.blockAt(m, lo, n)
		for k, s := range p.sums {
			acc := p.gathered(slot, k)
			if p.period > blockLen {
				acc = acc[lo%p.period:]
			}
			s.r.take(acc[:n], m.f(s.register, n))
		}
		lo += n
	}
}

// total joins the chunks' reductions, in order.
func (p *program) total() {
	for k, s := range p.sums {
		acc := p.gathered(0, k)
		for c := 1; c < p.chunks; c++ {
			s.r.take(acc, p.gathered(c, k))
		}
		s.r.fold(unsafe.Slice((*float32)(p.x.at(s.s)), p.inner), acc)
	}
}
