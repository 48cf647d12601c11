package train

import (
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// Pruning sets weights to 0 while a network trains (Zhu & Gupta 2017). After step t of T the share
//
//	s(t) = To·(1 − (1 − (t − t₀)/(t₁ − t₀))³),   t₀ = From·T, t₁ = Until·T,
//
// of the weights of all layers together is 0: those with the smallest |w|. A weight that was set to 0 stays 0. The zero
// value prunes nothing.
type Pruning struct {
	To    float64 // share of the weights that are 0 from Until on: at least 0 and below 1
	From  float64 // share of the run's steps at which it begins
	Until float64 // and at which it ends: above From, at most 1
}

// Check returns an error for numbers that no run can have.
func (p Pruning) Check() error {
	switch {
	case !(p.To >= 0 && p.To < 1):
		return fmt.Errorf("pruning to %v: want a share of the weights, at least 0 and below 1", p.To)
	case p.To > 0 && !(p.From >= 0 && p.From < p.Until && p.Until <= 1):
		return fmt.Errorf("pruning from %v until %v: want shares of the run with 0 ≤ from < until ≤ 1", p.From, p.Until)
	}
	return nil
}

// prunings is how often the share grows in a run.
const prunings = 100

// after is the share that is 0 after a step, counted from 1, of so many. now reports whether it grows there: up to a
// hundred times, the last time at Until.
func (p Pruning) after(step, steps int) (share float64, now bool) {
	if p.To == 0 {
		return 0, false
	}
	begin := min(int(math.Round(p.From*float64(steps))), steps-1)
	end := max(int(math.Round(p.Until*float64(steps))), begin+1)
	done, span := step-begin, end-begin
	if done <= 0 {
		return 0, false
	}
	if done > span {
		return p.To, false
	}
	n := min(prunings, span)
	left := 1 - float64(done)/float64(span)
	return p.To * (1 - left*left*left), done*n/span > (done-1)*n/span
}

// maskScope has a mask for each layer: 1 for a weight that is trained, 0 for one that is pruned. Checkpoints have them.
const maskScope = "/pruned/"

// mask is that of a layer; made at the first call.
func (x *Session) mask(layer *model.Variable) *model.Variable {
	path := maskScope + strings.ReplaceAll(layerName(layer), ".", "_")
	if v := x.store.GetVariable(path); v != nil {
		return v
	}
	x.put(path, ones(layer.Shape().Dimensions))
	return x.store.GetVariable(path)
}

func ones(dims []int) *tensors.Tensor {
	n := 1
	for _, d := range dims {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = 1
	}
	return tensors.FromFlatDataAndDimensions(v, dims...)
}

// unprune lets all weights be trained, at the beginning of a run.
func (x *Session) unprune() error {
	if !x.settings.Prune {
		return nil
	}
	for _, layer := range x.layerVars() {
		if err := x.mask(layer).SetValue(ones(layer.Shape().Dimensions)); err != nil {
			return err
		}
	}
	return nil
}

// maskGradients makes the gradients of pruned weights 0, those of scope's trainable variables in order. With a gradient
// and a momentum of 0 a weight of 0 stays 0 for every p: so does z = sign(w)|w|^(p−1), and decay is in proportion to w
// or z.
func (x *Session) maskGradients(scope *model.Scope, g *Graph, grads []*Node) {
	masks := map[string]*Node{}
	for _, layer := range x.layerVars() {
		masks[layer.Path()] = x.mask(layer).NodeValue(g)
	}
	k := 0
	for v := range scope.IterVariables() {
		if !v.Trainable || !v.InUseByGraph(g) {
			continue
		}
		if mask := masks[v.Path()]; mask != nil {
			grads[k] = Where(Equal(mask, ZerosLike(mask)), ZerosLike(grads[k]), grads[k])
		}
		k++
	}
}

// prune prunes after a step, counted from 1 over all epochs, if the plan does there.
func (x *Session) prune(p Plan, step int) error {
	share, now := p.Prune.after(step, p.Epochs*x.PerEpoch)
	if !now {
		return nil
	}
	n := 0
	for _, layer := range x.layerVars() {
		n += layer.Shape().Size()
	}
	if count := int32(math.Round(share * float64(n))); count > 0 {
		_, err := x.pruner.Call(tensors.FromScalar(count))
		return err
	}
	return nil
}

// compilePruner compiles the graph that prunes.
func (x *Session) compilePruner() (err error) {
	x.pruner, err = model.NewExec(x.engine.Backend, x.store, func(_ *model.Scope, count *Node) { x.pruneGraph(count) })
	if err != nil {
		return err
	}
	return x.engine.Compile(func() error { _, err := x.pruner.Compile(shapes.Make(dtypes.Int32)); return err })
}

// pruneGraph sets the so many smallest weights of all layers, and those of the same size as the largest of them, to 0,
// with their momentum. After a loss that is not finite nothing changes: see stepGraph.
//
// The bits of |w| are ordered as the sizes are. Those of the largest that is pruned are found from the highest bit on,
// by counting the weights below: 31 passes over the weights, up to a hundred times a run. The host waits for nothing.
func (x *Session) pruneGraph(count *Node) {
	g := count.Graph()
	layers := x.layerVars()
	var bits, flat []*Node
	for _, layer := range layers {
		b := Bitcast(Abs(layer.NodeValue(g)), dtypes.Int32)
		bits, flat = append(bits, b), append(flat, Reshape(b, b.Shape().Size()))
	}
	all := Concatenate(flat, 0)
	limit := ScalarZero(g, dtypes.Int32)
	for bit := 30; bit >= 0; bit-- {
		next := Add(limit, ConstAs(limit, 1<<bit))
		limit = Where(LessThan(countBelow(all, next), count), next, limit)
	}
	bad := GreaterOrEqual(x.store.GetVariable(firstBadVar).NodeValue(g), ScalarZero(g, dtypes.Int32))
	limit = Where(bad, ConstAs(limit, -1), limit)
	for k, layer := range layers {
		dead := LessOrEqual(bits[k], limit)
		change := []*model.Variable{layer, x.mask(layer)}
		if m := x.opt.Momentum(x.store.RootScope(), layer); m != nil {
			change = append(change, m)
		}
		for _, v := range change {
			before := v.NodeValue(g)
			v.SetNodeValue(Where(dead, ZerosLike(before), before))
		}
	}
}

// exactFloats is up to where float32 counts exactly. It is faster than int32 on our CPU engine.
const exactFloats = 1 << 24

// countBelow is how many are below a limit.
func countBelow(all, limit *Node) *Node {
	dtype := dtypes.Float32
	if all.Shape().Size() > exactFloats {
		dtype = dtypes.Int32
	}
	return ConvertDType(ReduceAllSum(ConvertDType(LessThan(all, limit), dtype)), dtypes.Int32)
}

// zeros is the share of weights that are 0.
func zeros(layers []Layer) float64 {
	zero, all := 0, 0
	for _, l := range layers {
		all += len(l.Values)
		for _, v := range l.Values {
			if v == 0 {
				zero++
			}
		}
	}
	return float64(zero) / float64(max(1, all))
}
