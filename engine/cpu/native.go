package cpu

import (
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

// native is an operation with a step of its own, or a reduction in a fused program.
type native struct {
	reads  []*node
	reduce *reduction
	plan   func(c *compiler, n *node) (step, error)

	elsewhere bool // on GoMLX's engine
}

// nativeOf decides how an operation is computed; what has no step here runs on GoMLX's engine.
func nativeOf(n *node) *native {
	op := &native{reads: n.inputs}
	if n.shape.Size() == 0 {
		op.plan, op.elsewhere = planElsewhere, true
		return op
	}
	switch n.op {
	case compute.OpTypeConvGeneral:
		if reads, plan := planConv(n); plan != nil {
			op.reads, op.plan = reads, plan
		}
	case compute.OpTypeDotGeneral:
		op.plan = planDot(n)
	case compute.OpTypeSlice, compute.OpTypeTranspose, compute.OpTypeReverse, compute.OpTypePad, compute.OpTypeConcatenate:
		op.plan = planMove(n)
	case compute.OpTypeScatterSum, compute.OpTypeScatterMax, compute.OpTypeScatterMin:
		if reads, plan := planScatter(n); plan != nil {
			op.reads, op.plan = reads, plan
		}
	case compute.OpTypeReduceWindow:
		if reads, plan := planWindow(n); plan != nil {
			op.reads, op.plan = reads, plan
		}
	case compute.OpTypeSelectAndScatterMax, compute.OpTypeSelectAndScatterMin:
		op.plan = planScatterWindow(n)
	case compute.OpTypeGather:
		op.plan = planGather(n)
	case compute.OpTypeReduceSum, compute.OpTypeReduceMax, compute.OpTypeReduceMin:
		op.reduce = reductionOf(n)
	}
	if op.plan == nil && op.reduce == nil {
		op.plan, op.elsewhere = planElsewhere, true
	}
	return op
}

// stepFunc is a step that is a function.
type stepFunc func(x *execution) error

func (f stepFunc) run(x *execution) error { return f(x) }

// elementSize is the bytes of a value, or 0 where values are packed in bytes.
func elementSize(t dtypes.DType) int {
	if t.SizeForDimensions(2) != 2*t.SizeForDimensions(1) {
		return 0
	}
	return int(t.SizeForDimensions(1))
}

// float32s is a stored tensor's memory.
func (x *execution) float32s(s *storage) []float32 {
	return unsafe.Slice((*float32)(x.at(s)), s.size/4)
}

// planElsewhere runs an operation on GoMLX's engine.
func planElsewhere(c *compiler, n *node) (step, error) {
	b := c.backend.shadow.Builder(n.op.String())
	f := b.Main()
	in := make([]compute.Value, len(n.inputs))
	for i, v := range n.inputs {
		var err error
		if in[i], err = f.Parameter(string(rune('a'+i%26))+string(rune('0'+i/26)), v.shape, nil); err != nil {
			return nil, err
		}
	}
	out, err := n.call(f, in)
	if err != nil {
		return nil, err
	}
	if err := f.Return([]compute.Value{out}, nil); err != nil {
		return nil, err
	}
	exec, err := b.Compile()
	if err != nil {
		return nil, err
	}
	sources := make([]*node, len(n.inputs))
	for i, v := range n.inputs {
		sources[i] = sourceOf(v)
	}
	donate := make([]bool, len(in))
	for i := range donate {
		donate[i] = true
	}
	return stepFunc(func(x *execution) error {
		inputs := make([]compute.Buffer, len(sources))
		for i, s := range sources {
			buffer, flat, err := c.backend.shadow.NewSharedBuffer(0, n.inputs[i].shape)
			if err != nil {
				return err
			}
			from := c.stored[s]
			copy(unsafe.Slice((*byte)(dataPointer(flat)), from.size), unsafe.Slice((*byte)(x.at(from)), from.size))
			inputs[i] = buffer
		}
		results, err := exec.Execute(inputs, donate, 0)
		if err != nil {
			return err
		}
		flat, err := results[0].Data()
		if err != nil {
			return err
		}
		to := c.stored[n]
		copy(unsafe.Slice((*byte)(x.at(to)), to.size), unsafe.Slice((*byte)(dataPointer(flat)), to.size))
		return results[0].Finalize()
	}), nil
}
