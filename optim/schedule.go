package optim

import (
	"cmp"
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"
)

// Schedule is how the learning rate changes over a run. The number of steps is a variable of the store, so that runs of
// different length share one compiled step.
type Schedule struct {
	kind  string
	steps float64 // in all
	peak  float64 // triangular: the step of the peak; step: how often the rate falls
	fall  float64 // step: by what factor
}

// Constant keeps the learning rate.
func Constant() Schedule { return Schedule{} }

// scheduleScope is where the schedule's variables are in the optimizer's scope.
const scheduleScope = "schedule"

// Triangular rises from 0 to the learning rate at step peak, counted from 0, and falls back to 0 at step steps: our
// reading of the paper's cyclic schedule. With a peak of 0 it only falls. The last step, steps − 1, is the latest to
// peak at: a run of one step makes it at the full rate.
func Triangular(steps, peak int) Schedule {
	return Schedule{kind: "triangular", steps: float64(steps), peak: float64(max(0, min(peak, steps-1)))}
}

// String names the kind.
func (s Schedule) String() string { return cmp.Or(s.kind, "constant") }

// Cosine falls from the learning rate to 0 along half a cosine.
func Cosine(steps int) Schedule { return Schedule{kind: "cosine", steps: float64(steps)} }

// Step multiplies the learning rate by fall every so many steps.
func Step(every int, fall float64) Schedule {
	return Schedule{kind: "step", steps: math.Inf(1), peak: float64(every), fall: fall}
}

// At returns the factor of the learning rate at a step counted from 0, on the host: what the graph computes.
func (s Schedule) At(step int) float64 {
	t := float64(step)
	switch s.kind {
	case "triangular":
		if t < s.peak {
			return t / s.peak
		}
		return max(0, (s.steps-t)/max(s.steps-s.peak, 1))
	case "cosine":
		return (1 + math.Cos(math.Pi*min(t/s.steps, 1))) / 2
	case "step":
		return math.Pow(s.fall, math.Floor(t/s.peak))
	}
	return 1
}

// factor builds At for the step counted from 1.
func (s Schedule) factor(scope *model.Scope, g *Graph, step *Node) *Node {
	t := AddScalar(step, -1)
	variable := func(name string, v float64) *Node { return scalar(scope, scheduleScope, name, v).NodeValue(g) }
	one := ConstAs(t, 1)
	switch s.kind {
	case "triangular":
		steps, peak := variable("steps", s.steps), variable("peak", s.peak)
		up := Div(t, Max(peak, one)) // not taken for a peak of 0
		down := Max(Div(Sub(steps, t), Max(Sub(steps, peak), one)), ZerosLike(t))
		return Where(LessThan(t, peak), up, down)
	case "cosine":
		return MulScalar(AddScalar(Cos(MulScalar(Min(Div(t, variable("steps", s.steps)), one), math.Pi)), 1), 0.5)
	case "step":
		return Pow(variable("fall", s.fall), Floor(Div(t, variable("every", s.peak))))
	}
	return one
}

// Restart sets the step counter back to 0 and the length of the schedule, on the same store: the next run starts
// without compiling. The schedule must be of the optimizer's kind, which is compiled.
func (o *Optimizer) Restart(scope *model.Scope, s Schedule) error {
	if s.kind != o.schedule.kind {
		return fmt.Errorf("the optimizer was made with a %s schedule, not with a %s one: make another", o.schedule, s)
	}
	if err := optimizer.GetGlobalStepVar(scope).SetValue(tensors.FromScalar(int64(0))); err != nil {
		return err
	}
	for name, v := range map[string]float64{"steps": s.steps, "peak": s.peak, "fall": s.fall, "every": s.peak} {
		if found := scope.Store().GetVariable(model.JoinPath(model.RootScopePath, optimizer.Scope, Name, scheduleScope,
			name)); found != nil {
			if err := setScalar(found, v); err != nil {
				return err
			}
		}
	}
	for v := range scope.Store().RootScope().At(optimizer.Scope).At(Name).IterVariables() {
		if n := v.Name(); n == "momentum" || n == "second_moment" || n == unitName {
			if err := v.SetValue(tensors.FromShape(v.Shape())); err != nil {
				return err
			}
		}
	}
	return nil
}
