package cpu

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/notimplemented"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"
)

// node is an operation's result in a graph being built. An operation with several results is as many nodes.
type node struct {
	shadow compute.Value // the same in GoMLX's engine
	op     compute.OpType
	attr   any
	inputs []*node
	shape  shapes.Shape
	call   call // makes the operation again in another function
	id     int  // order of creation
	flat   any  // of a constant
	param  int  // of a parameter
}

// call makes an operation in a function from its inputs there.
type call func(to compute.Function, in []compute.Value) (compute.Value, error)

// Builder collects the functions of a graph.
type Builder struct {
	notimplemented.Builder
	backend  *Backend
	shadow   compute.Builder
	main     *Function
	whole    bool // has loops, branches, functions or dynamic shapes: runs on GoMLX's engine as a whole
	why      string
	compiled bool
}

var _ compute.Builder = (*Builder)(nil)

// Builder starts a graph.
func (b *Backend) Builder(name string) compute.Builder {
	shadow := b.shadow.Builder(name)
	builder := &Builder{backend: b, shadow: shadow}
	builder.main = newFunction(builder, nil, shadow.Main())
	return builder
}

// runWhole sends the graph to GoMLX's engine as a whole.
func (b *Builder) runWhole(why string) {
	if !b.whole {
		b.whole, b.why = true, why
	}
}

// Name is the graph's name.
func (b *Builder) Name() string { return b.shadow.Name() }

// Main is the function that is compiled.
func (b *Builder) Main() compute.Function { return b.main }

// NewFunction adds a function.
func (b *Builder) NewFunction(name string) (compute.Function, error) {
	shadow, err := b.shadow.NewFunction(name)
	if err != nil {
		return nil, err
	}
	b.runWhole("a function")
	return newFunction(b, nil, shadow), nil
}

// OpShape is the shape of an operation's result.
func (b *Builder) OpShape(op compute.Value) (shapes.Shape, error) {
	n, ok := op.(*node)
	if !ok {
		return shapes.Invalid(), errors.Errorf("engine %s: a value of another engine: %T", Name, op)
	}
	return n.shape, nil
}

// DistributedSPMD, DistributedAutoSharding and DeviceAssignment answer as GoMLX's engine does.
func (b *Builder) DistributedSPMD(devices int) error { return b.shadow.DistributedSPMD(devices) }

// DistributedAutoSharding see DistributedSPMD.
func (b *Builder) DistributedAutoSharding(meshes ...compute.Mesh) error {
	return b.shadow.DistributedAutoSharding(meshes...)
}

// DeviceAssignment see DistributedSPMD.
func (b *Builder) DeviceAssignment(devices ...compute.DeviceNum) error {
	return b.shadow.DeviceAssignment(devices...)
}

// Function is a graph's function: every operation is recorded here and made in GoMLX's engine, which checks it and
// knows its shape.
type Function struct {
	notimplemented.Function
	builder  *Builder
	parent   *Function
	shadow   compute.Function
	seen     map[compute.Value]*node // GoMLX's engine gives equal operations the same value
	nodes    []*node
	params   []*node
	names    []string
	returned []*node
}

var _ compute.Function = (*Function)(nil)

func newFunction(b *Builder, parent *Function, shadow compute.Function) *Function {
	f := &Function{builder: b, parent: parent, shadow: shadow, seen: map[compute.Value]*node{}}
	f.ErrFn = func(op compute.OpType) error {
		return errors.Wrapf(compute.ErrNotImplemented, "engine %s: %s", Name, op)
	}
	return f
}

// Name is "" for closures.
func (f *Function) Name() string { return f.shadow.Name() }

// Builder is the graph's builder.
func (f *Function) Builder() compute.Builder { return f.builder }

// Parent is the function around a closure.
func (f *Function) Parent() compute.Function {
	if f.parent == nil {
		return nil
	}
	return f.parent
}

// Closure starts a function inside this one.
func (f *Function) Closure() (compute.Function, error) {
	shadow, err := f.shadow.Closure()
	if err != nil {
		return nil, err
	}
	f.builder.runWhole("a closure")
	return newFunction(f.builder, f, shadow), nil
}

// Shape is the shape of a value.
func (f *Function) Shape(v compute.Value) (shapes.Shape, error) { return f.builder.OpShape(v) }

// nodesOf checks and unwraps values.
func nodesOf(op compute.OpType, values []compute.Value) ([]*node, error) {
	out := make([]*node, len(values))
	for i, v := range values {
		n, ok := v.(*node)
		if !ok || n == nil {
			return nil, errors.Errorf("engine %s: %s: input %d is not a value of this engine: %T", Name, op, i, v)
		}
		out[i] = n
	}
	return out, nil
}

func shadows(nodes []*node) []compute.Value {
	out := make([]compute.Value, len(nodes))
	for i, n := range nodes {
		out[i] = n.shadow
	}
	return out
}

// add makes an operation with one result.
func (f *Function) add(op compute.OpType, attr any, make call, inputs ...compute.Value) (compute.Value, error) {
	in, err := nodesOf(op, inputs)
	if err != nil {
		return nil, err
	}
	shadow, err := make(f.shadow, shadows(in))
	if err != nil {
		return nil, err
	}
	return f.record(&node{op: op, attr: attr, inputs: in, shadow: shadow, call: make})
}

// record numbers a node, or returns the one that is the same.
func (f *Function) record(n *node) (*node, error) {
	if old := f.seen[n.shadow]; old != nil {
		return old, nil
	}
	shape, err := f.shadow.Shape(n.shadow)
	if err != nil {
		return nil, err
	}
	if shape.IsDynamic() {
		f.builder.runWhole("a dynamic shape of " + n.op.String())
	}
	n.shape, n.id = shape, len(f.nodes)
	f.nodes = append(f.nodes, n)
	f.seen[n.shadow] = n
	return n, nil
}

// addMany makes an operation with several results. Such operations run on GoMLX's engine.
func (f *Function) addMany(op compute.OpType, make func(to compute.Function, in []compute.Value) ([]compute.Value,
	error), inputs ...compute.Value) ([]compute.Value, error) {
	in, err := nodesOf(op, inputs)
	if err != nil {
		return nil, err
	}
	results, err := make(f.shadow, shadows(in))
	if err != nil {
		return nil, err
	}
	out := []compute.Value{}
	for k, r := range results {
		one := func(to compute.Function, in []compute.Value) (compute.Value, error) {
			all, err := make(to, in)
			if err != nil {
				return nil, err
			}
			return all[k], nil
		}
		n, err := f.record(&node{op: op, inputs: in, shadow: r, call: one})
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// Parameter adds an input.
func (f *Function) Parameter(name string, shape shapes.Shape, spec *compute.ShardingSpec) (compute.Value, error) {
	shadow, err := f.shadow.Parameter(name, shape, spec)
	if err != nil {
		return nil, err
	}
	n, err := f.record(&node{op: compute.OpTypeParameter, shadow: shadow, param: len(f.params)})
	if err != nil {
		return nil, err
	}
	f.params, f.names = append(f.params, n), append(f.names, name)
	return n, nil
}

// Constant adds a constant.
func (f *Function) Constant(flat any, dims ...int) (compute.Value, error) {
	shadow, err := f.shadow.Constant(flat, dims...)
	if err != nil {
		return nil, err
	}
	return f.record(&node{op: compute.OpTypeConstant, shadow: shadow, flat: cloned(flat)})
}

// Return ends the function.
func (f *Function) Return(outputs []compute.Value, shardings []*compute.ShardingSpec) error {
	nodes, err := nodesOf(compute.OpTypeInvalid, outputs)
	if err != nil {
		return err
	}
	f.returned = nodes
	return f.shadow.Return(shadows(nodes), shardings)
}

// inner is the function of GoMLX's engine behind one of ours.
func inner(f compute.Function) compute.Function {
	if ours, ok := f.(*Function); ok {
		return ours.shadow
	}
	return f
}

// elsewhere makes an operation that sends the whole graph to GoMLX's engine.
func (f *Function) elsewhere(op compute.OpType, make func(to compute.Function, in []compute.Value) ([]compute.Value,
	error), inputs ...compute.Value) ([]compute.Value, error) {
	f.builder.runWhole(op.String())
	return f.addMany(op, make, inputs...)
}
