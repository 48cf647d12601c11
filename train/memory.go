package train

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
)

// Memory is what a session takes, in bytes. All but Host is on the engine, which for a CPU is the same memory.
type Memory struct {
	Weights    int64 // parameters and running statistics
	Optimizer  int64 // its state
	Data       int64 // pictures and labels that stay on the engine, and the plans of two epochs
	Stream     int64 // batches that are read ahead
	Step       int64 // of a training step: activations that the gradient needs, gradients, temporary values
	Evaluation int64 // the same of evaluations
	Host       int64 // the data set as it was read, batches read ahead, weights at the start, a checkpoint being written

	Told   bool // Step is what the engine says of the compiled step; else it is an estimate, as Evaluation always is
	Shared bool // the step and evaluations use the same memory, one after the other, as on a GPU
	OnHost bool // the engine is the host
}

// Engine is what it takes on the engine.
func (m Memory) Engine() int64 {
	total := m.Weights + m.Optimizer + m.Data + m.Stream
	if m.Shared {
		total += max(m.Step, m.Evaluation)
	} else {
		total += m.Step + m.Evaluation
	}
	if m.OnHost {
		total += m.Host
	}
	return total
}

// Memory says what the session takes at its batch and largest resolution. It compiles nothing for the engine.
func (x *Session) Memory() (Memory, error) {
	planner, err := x.newPlanner()
	if err != nil {
		return Memory{}, err
	}
	defer planner.Close()
	return x.memoryAt(x.settings.Batch, planner)
}

func (x *Session) newPlanner() (*Planner, error) {
	p, err := NewPlanner(x.net, x.set.Channels, len(x.set.Classes), x.dtype == dtypes.BFloat16)
	if err == nil {
		p.optimizer = *x.settings.Optimizer
	}
	return p, err
}

// LargestBatch is the largest batch, a multiple of 8, with which the session would take at most so many bytes on its
// engine. It is found by estimates, in proportion to what the engine says of the compiled step. 0: none fits.
func (x *Session) LargestBatch(bytes int64) (int, error) {
	planner, err := x.newPlanner()
	if err != nil {
		return 0, err
	}
	defer planner.Close()
	return largestBatch(x.set.Train.Len(), func(batch int) (bool, error) {
		m, err := x.memoryAt(batch, planner)
		return m.Engine() <= bytes, err
	})
}

// largestBatch is the largest multiple of 8, at most most, that fits; 0: none does.
func largestBatch(most int, fits func(batch int) (bool, error)) (int, error) {
	low, high := 0, most/8+1 // in eights: low fits, high does not
	for high-low > 1 {
		mid := (low + high) / 2
		ok, err := fits(8 * mid)
		if err != nil {
			return 0, err
		}
		if ok {
			low = mid
		} else {
			high = mid
		}
	}
	return 8 * low, nil
}

// memoryAt is Memory for another batch.
func (x *Session) memoryAt(batch int, planner *Planner) (m Memory, err error) {
	m.Shared, m.OnHost = x.engine.Name != engine.CPU, !x.engine.IsCUDA()
	for v := range x.store.IterVariables() {
		bytes := int64(v.Shape().ByteSize())
		switch path := v.Path(); {
		case strings.HasPrefix(path, "/"+modelScope+"/"):
			m.Weights += bytes
		case path == planVar:
			m.Data += 2 * bytes
		case strings.HasPrefix(path, "/data/"):
			m.Data += bytes
		default:
			m.Optimizer += bytes
		}
	}
	if x.feed.streams() {
		m.Stream = slotsAhead * int64(batch) * int64(x.feed.slot())
		if !x.engine.IsCUDA() {
			m.Stream = 0 // the engine uses the host's
		}
		m.Host += slotsAhead * int64(batch) * int64(x.feed.slot())
	}
	m.Host += int64(len(x.set.Train.Images)+len(x.set.Test.Images)) + 2*m.Weights + m.Optimizer
	if err := x.planSteps(&m, batch, planner); err != nil {
		return m, err
	}
	height, width := x.sides(x.settings.Resolution.Test)
	if x.pruner != nil && !m.Shared {
		if g, err := x.pruner.Compile(shapes.Make(dtypes.Int32)); err == nil { // it is compiled already
			bytes, _ := engine.Temporary(g.Executable())
			m.Step += bytes
		}
	}
	m.Evaluation, err = planner.Evaluation(x.test, height, width)
	if !m.Shared {
		m.Evaluation *= 3 // of the test pictures; in the study of the training pictures, and for statistics of batch norm
	}
	return m, err
}

// planSteps fills in what training steps take. A CPU keeps the memory of every resolution, a GPU that of the largest.
func (x *Session) planSteps(m *Memory, batch int, planner *Planner) error {
	scale := 1.0
	if told, ok := x.told(x.settings.Resolution.Low); ok {
		height, width := x.sides(x.settings.Resolution.Low)
		planned, err := planner.Step(x.settings.Batch, height, width)
		if err != nil {
			return err
		}
		m.Told, scale = true, float64(told)/float64(planned)
	}
	r := x.settings.Resolution
	for side := r.Low; side <= r.High; side += 32 {
		bytes, ok := x.told(side)
		if !ok || batch != x.settings.Batch {
			height, width := x.sides(side)
			planned, err := planner.Step(batch, height, width)
			if err != nil {
				return err
			}
			bytes = int64(scale * float64(planned))
		}
		if m.Shared {
			m.Step = max(m.Step, bytes)
		} else {
			m.Step += bytes
		}
	}
	return nil
}

// told is what the engine says of the compiled step of a resolution; ok is false if it does not, or if it is not
// compiled.
func (x *Session) told(side int) (bytes int64, ok bool) {
	step := x.step[side]
	if step == nil {
		return 0, false
	}
	g, err := step.Compile(x.stepInputs()...) // it is compiled already
	if err != nil {
		return 0, false
	}
	return engine.Temporary(g.Executable())
}

// sides are height and width of the pictures that the network sees.
func (x *Session) sides(side int) (height, width int) {
	return cmp.Or(side, x.set.Height), cmp.Or(side, x.set.Width)
}

// Planner estimates the memory of steps that no engine has compiled. Our CPU engine plans the memory of a step before
// it runs, by when each value is first and last needed. That plan, made in milliseconds for any batch and size of
// pictures, is the estimate; values in bf16 take half. XLA fuses and orders operations otherwise: its steps take up to
// a tenth less.
type Planner struct {
	net               nets.Net
	channels, classes int
	half              bool
	optimizer         optim.Config
	backend           compute.Backend
	store             *model.Store
}

// NewPlanner returns a planner for a network of so many channels and classes; half: it computes in bf16.
func NewPlanner(net nets.Net, channels, classes int, half bool) (*Planner, error) {
	backend, err := compute.NewWithConfig(engine.CPU + ":threads=1")
	return &Planner{net: net, channels: channels, classes: classes, half: half, optimizer: *optim.Mirror(),
		backend: backend, store: model.NewStore()}, err
}

// Close ends it.
func (p *Planner) Close() {
	p.store.Finalize()
	p.backend.Finalize()
}

// Step is what a training step takes beside weights and data: it keeps activations, computes all gradients and changes
// the weights.
func (p *Planner) Step(batch, height, width int) (int64, error) {
	return p.plan(batch, height, width, func(scope *model.Scope, pictures, labels *Node) *Node {
		logits := p.net.Logits(scope.In(modelScope), pictures, p.classes, true)
		loss := crossEntropy(logits, labels, 0)
		optimizer := p.optimizer
		grads := scope.BuildTrainableVariablesGradientsGraph(loss)
		norm := gradientNorm(grads)
		optimizer.HostUnits().Done().UpdateGraphWithGradients(scope, grads, loss.DType())
		return Add(loss, norm)
	})
}

// LargestBatch is the largest batch, a multiple of 8 and at most most, whose step takes at most so many bytes beside
// weights and data. 0: none does.
func (p *Planner) LargestBatch(bytes int64, most, height, width int) (int, error) {
	return largestBatch(most, func(batch int) (bool, error) {
		step, err := p.Step(batch, height, width)
		return step <= bytes, err
	})
}

// Evaluation is what an evaluation takes beside weights and data.
func (p *Planner) Evaluation(batch, height, width int) (int64, error) {
	return p.plan(batch, height, width, func(scope *model.Scope, pictures, _ *Node) *Node {
		return p.net.Logits(scope.In(modelScope), pictures, p.classes, false)
	})
}

func (p *Planner) plan(batch, height, width int, graph func(scope *model.Scope, pictures, labels *Node) *Node) (int64,
	error) {
	var bytes int64
	err := engine.Try(func() error {
		exec, err := model.NewExec(p.backend, p.store, graph)
		if err != nil {
			return err
		}
		defer exec.Finalize()
		pictures := shapes.Make(dtypes.Float32, batch, height, width, p.channels)
		g, err := exec.Compile(pictures, shapes.Make(dtypes.Int32, batch))
		if err != nil {
			return err
		}
		told, ok := engine.Temporary(g.Executable())
		if !ok {
			return fmt.Errorf("the memory of %s is not known: its graph has loops or sizes that are not fixed", p.net.Name)
		}
		bytes = told + int64(pictures.ByteSize())
		return nil
	})
	if p.half {
		bytes /= 2
	}
	return bytes, err
}
