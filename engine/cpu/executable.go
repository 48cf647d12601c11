package cpu

import (
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"

	"github.com/bregman-ml/bregman/internal/pool"
)

// Compile makes the graph ready to run.
func (b *Builder) Compile() (compute.Executable, error) {
	if b.compiled {
		return nil, errors.Errorf("engine %s: graph %q is compiled already", Name, b.Name())
	}
	b.compiled = true
	if b.whole || b.main.returned == nil {
		return b.compileWhole()
	}
	e, err := b.compileNative()
	if err != nil {
		return nil, errors.WithMessagef(err, "engine %s: graph %q", Name, b.Name())
	}
	return e, nil
}

// executable is a compiled graph.
type executable struct {
	backend  *Backend
	function *Function
	steps    []step
	storages []*storage
	outputs  []output

	mu    sync.Mutex // one execution at a time: they share memory
	x     execution
	arena []byte
	sizes sizes
	trace *trace // nil: none

	labels []label // of the steps
}

// output is a result of the graph.
type output struct {
	s     *storage
	fresh bool // the storage is this output's own; else it is copied
	donor int  // the parameter whose memory it can take over, or −1
}

// sizes of an execution's memory.
type sizes struct{ arena, scratch, registers, machine, tiles, gather int }

// execution is the memory of a run.
type execution struct {
	pool     *pool.Pool
	base     []unsafe.Pointer // of each storage
	scratch  []float32        // for plans
	machines []machine
	own      []byte // registers of all workers
	perOwn   int
	tiles    unsafe.Pointer
	gather   []float32
	needed   []bool
}

func (x *execution) at(s *storage) unsafe.Pointer { return x.base[s.id] }

func (x *execution) scratchOf(worker int) unsafe.Pointer {
	return unsafe.Pointer(&x.own[worker*x.perOwn])
}

// finish makes the programs, decides where outputs go, and lays out the memory.
func (c *compiler) finish(e *executable) error {
	for k, n := range e.function.returned {
		s := c.stored[sourceOf(n)]
		o := output{s: s, donor: -1}
		if s.kind == inArena {
			s.kind, s.index, o.fresh = inOutput, k, true
			s.last = len(c.steps)
		}
		e.outputs = append(e.outputs, o)
	}
	e.sizes.scratch = c.scratch
	threads := c.backend.pool.Threads()
	for at := range c.steps {
		g := c.groups[at]
		if g == nil {
			continue
		}
		p, err := c.assemble(g)
		if err != nil {
			return err
		}
		c.steps[at] = p
		c.labels[at] = p.label(g)
		e.sizes.registers = max(e.sizes.registers, p.registers)
		e.sizes.machine = max(e.sizes.machine, p.scratch*registerBytes)
		e.sizes.tiles = max(e.sizes.tiles, p.tiles)
		e.sizes.gather = max(e.sizes.gather, p.gatherBytes(threads))
	}
	taken := map[*storage]bool{}
	for k := range e.outputs {
		o := &e.outputs[k]
		if p, ok := c.stepsAt(o.s).(*program); ok && o.fresh {
			if donor := p.donor(o.s, taken); donor != nil {
				taken[donor] = true
				o.donor = donor.index
			}
		}
	}
	e.steps, e.labels, e.storages = c.steps, c.labels, c.all
	e.trace = c.backend.newTrace(e.function.builder.Name(), c.labels)
	e.sizes.arena = layOut(c.all)
	return nil
}

func (c *compiler) stepsAt(s *storage) step {
	if s.def < 0 || s.def >= len(c.steps) {
		return nil
	}
	return c.steps[s.def]
}

// donor returns a parameter of the same shape that this program reads last, place by place, and not after it has
// written the output.
func (p *program) donor(out *storage, taken map[*storage]bool) *storage {
	written := -1
	for _, s := range p.stores {
		if s.s == out && !s.isBool {
			for i := range p.instrs {
				if p.instrs[i].dst == s.register {
					written = i
				}
			}
		}
	}
	if written < 0 {
		return nil
	}
candidates:
	for i := range p.leaves {
		l := &p.leaves[i]
		if l.s.kind != inParam || l.how != direct || l.isBool || taken[l.s] || l.s.last != out.def ||
			!l.s.shape.Equal(out.shape) {
			continue
		}
		for j := range p.leaves {
			if j != i && p.leaves[j].s == l.s {
				continue candidates
			}
		}
		for j := written + 1; j < len(p.instrs); j++ {
			for _, r := range p.instrs[j].args {
				if r == l.register {
					continue candidates
				}
			}
		}
		for _, s := range p.sums {
			if s.register == l.register {
				continue candidates
			}
		}
		for _, u := range p.uniforms {
			if u.s == l.s {
				continue candidates
			}
		}
		return l.s
	}
	return nil
}

// Finalize gives the memory back.
func (e *executable) Finalize() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.arena, e.x = nil, execution{}
}

// Inputs are the parameters.
func (e *executable) Inputs() ([]string, []shapes.Shape) {
	out := make([]shapes.Shape, len(e.function.params))
	for i, p := range e.function.params {
		out[i] = p.shape
	}
	return e.function.names, out
}

// Outputs are the results' shapes.
func (e *executable) Outputs() []shapes.Shape {
	out := make([]shapes.Shape, len(e.function.returned))
	for i, n := range e.function.returned {
		out[i] = n.shape
	}
	return out
}

// Temporary is how many bytes the graph takes while it runs beside what it is given: the arena, what steps need of
// their own, constants, and outputs that take over no input's memory. All but outputs is allocated by the first run and
// kept until Finalize.
func (e *executable) Temporary() int64 {
	total := e.sizes.arena + 4*e.sizes.scratch + e.backend.pool.Threads()*e.sizes.machine + e.sizes.tiles + e.sizes.gather
	for _, s := range e.storages {
		if s.kind == inConstant {
			total += s.size
		}
	}
	for _, o := range e.outputs {
		if o.donor < 0 {
			total += o.s.size
		}
	}
	return int64(total)
}

// allocate makes the memory, once.
func (e *executable) allocate() {
	if e.x.base != nil {
		return
	}
	b, s := e.backend, e.sizes
	e.arena = make([]byte, s.arena+64)
	threads := b.pool.Threads()
	e.x = execution{pool: b.pool, base: make([]unsafe.Pointer, len(e.storages)), scratch: make([]float32, s.scratch),
		machines: make([]machine, threads), own: make([]byte, threads*s.machine+64), perOwn: s.machine,
		gather: make([]float32, s.gather/4), needed: make([]bool, s.registers)}
	e.x.tiles = unsafe.Pointer(unsafe.SliceData(make([]byte, s.tiles+64)))
	for i := range e.x.machines {
		e.x.machines[i].ptr = make([]unsafe.Pointer, s.registers)
	}
	for _, v := range e.storages {
		switch v.kind {
		case inArena:
			e.x.base[v.id] = unsafe.Pointer(&e.arena[v.offset])
		case inConstant:
			e.x.base[v.id] = v.flat
		}
	}
}

// Execute runs the graph.
func (e *executable) Execute(inputs []compute.Buffer, donate []bool, _ compute.DeviceNum) ([]compute.Buffer, error) {
	params := e.function.params
	if len(inputs) != len(params) {
		return nil, errors.Errorf("engine %s: %d inputs for %d parameters", Name, len(inputs), len(params))
	}
	if len(donate) != 0 && len(donate) != len(inputs) {
		return nil, errors.Errorf("engine %s: %d donations for %d inputs", Name, len(donate), len(inputs))
	}
	given := make([]*Buffer, len(inputs))
	for i, v := range inputs {
		ours, ok := v.(*Buffer)
		if !ok {
			return nil, errors.Errorf("engine %s: input %d is a buffer of another engine: %T", Name, i, v)
		}
		shape, err := ours.Shape()
		if err != nil {
			return nil, errors.WithMessagef(err, "input %d", i)
		}
		if !shape.Equal(params[i].shape) {
			return nil, errors.Errorf("engine %s: input %d, %q, is %s: want %s", Name, i, e.function.names[i], shape,
				params[i].shape)
		}
		given[i] = ours
	}
	if e.backend.IsFinalized() {
		return nil, errors.Errorf("engine %s is finalized", Name)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.allocate()
	for _, s := range e.storages {
		if s.kind == inParam {
			e.x.base[s.id] = dataPointer(given[s.index].flat)
		}
	}
	out := make([]compute.Buffer, len(e.outputs))
	used := make([]bool, len(inputs))
	for k, o := range e.outputs {
		if o.fresh && o.donor >= 0 && len(donate) > 0 && donate[o.donor] {
			from := given[o.donor]
			out[k] = &Buffer{e.backend, from.inner, from.flat}
			used[o.donor] = true
		} else {
			b, _, err := e.backend.NewSharedBuffer(0, e.function.returned[k].shape)
			if err != nil {
				return nil, err
			}
			out[k] = b
		}
		if o.fresh {
			e.x.base[o.s.id] = dataPointer(out[k].(*Buffer).flat)
		}
	}
	if err := e.runSteps(); err != nil {
		return nil, err
	}
	for k, o := range e.outputs {
		if !o.fresh {
			copy(unsafe.Slice((*byte)(dataPointer(out[k].(*Buffer).flat)), o.s.size),
				unsafe.Slice((*byte)(e.x.at(o.s)), o.s.size))
		}
	}
	for i, give := range donate {
		switch {
		case used[i]:
			given[i].inner, given[i].flat = nil, nil
		case give:
			if err := given[i].Finalize(); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (e *executable) runSteps() error {
	if e.trace != nil {
		return e.traceSteps()
	}
	for _, s := range e.steps {
		if err := s.run(&e.x); err != nil {
			return err
		}
	}
	return nil
}

func (e *executable) traceSteps() error {
	start := time.Now()
	for i, s := range e.steps {
		if err := e.trace.run(i, s, &e.x); err != nil {
			return err
		}
	}
	e.trace.finished(time.Since(start))
	return nil
}

// elsewhereExecutable runs a whole graph on GoMLX's engine.
type elsewhereExecutable struct {
	compute.Executable
	backend *Backend
	mu      sync.Mutex // of trace
	trace   *trace
}

func (b *Builder) compileWhole() (compute.Executable, error) {
	e, err := b.shadow.Compile()
	if err != nil {
		return nil, err
	}
	labels := []label{{"the whole graph, because of " + b.why, "", true}}
	return &elsewhereExecutable{Executable: e, backend: b.backend, trace: b.backend.newTrace(b.Name(), labels)}, nil
}

// Execute runs the graph.
func (e *elsewhereExecutable) Execute(inputs []compute.Buffer, donate []bool,
	device compute.DeviceNum) ([]compute.Buffer, error) {
	in := make([]compute.Buffer, len(inputs))
	for i, v := range inputs {
		ours, ok := v.(*Buffer)
		if !ok {
			return nil, errors.Errorf("engine %s: input %d is a buffer of another engine: %T", Name, i, v)
		}
		if err := ours.check(); err != nil {
			return nil, errors.WithMessagef(err, "input %d", i)
		}
		in[i] = ours.inner
	}
	start := time.Now()
	out, err := e.Executable.Execute(in, donate, device)
	if err != nil {
		return nil, err
	}
	if e.trace != nil {
		e.mu.Lock()
		took := time.Since(start)
		e.trace.spent[0] += took
		e.trace.finished(took)
		e.mu.Unlock()
	}
	for i, given := range donate {
		if given {
			ours := inputs[i].(*Buffer)
			ours.inner, ours.flat = nil, nil
		}
	}
	for i, v := range out {
		if out[i], err = e.backend.wrap(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func cloned(flat any) any {
	v := reflect.ValueOf(flat)
	if v.Kind() != reflect.Slice {
		return flat
	}
	c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(c, v)
	return c.Interface()
}

// dataPointer is where a slice's elements are.
func dataPointer(flat any) unsafe.Pointer { return reflect.ValueOf(flat).UnsafePointer() }

// counting is an array that counts up along an axis.
func counting(shape shapes.Shape, axis int) any {
	inner := 1
	for _, d := range shape.Dimensions[axis+1:] {
		inner *= d
	}
	d := shape.Dimensions[axis]
	n := shape.Size()
	switch shape.DType {
	case dtypes.Int32:
		return count[int32](n, inner, d)
	case dtypes.Int64:
		return count[int64](n, inner, d)
	case dtypes.Float32:
		return count[float32](n, inner, d)
	case dtypes.Float64:
		return count[float64](n, inner, d)
	case dtypes.Uint32:
		return count[uint32](n, inner, d)
	case dtypes.Uint64:
		return count[uint64](n, inner, d)
	default:
		return count[uint8](n, inner, d)
	}
}

func count[T number](n, inner, d int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(i / inner % d)
	}
	return out
}
