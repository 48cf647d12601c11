package optim

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"
)

// Schedule is how the learning rate changes over a run. Its numbers are variables of the store, so that runs of
// different length share one compiled step. The zero value keeps the learning rate.
type Schedule struct {
	shape *shape
	steps float64 // in all
	peak  float64 // triangular: the step of the peak; step: how often the rate falls
	fall  float64 // step: by what factor
	bad   string  // what is wrong with it
}

// check returns what is wrong with a schedule.
func (s Schedule) check() error {
	if s.bad == "" {
		return nil
	}
	return fmt.Errorf("%s schedule: %s", s, s.bad)
}

// shape is the curve of a schedule, twice: on the host, and as a graph of its variables.
type shape struct {
	name  string
	at    func(s Schedule, t float64) float64
	graph func(t *Node, variable func(name string) *Node) *Node
}

// scheduleScope is where the schedule's variables are in the optimizer's scope.
const scheduleScope = "schedule"

// variables are the numbers of a schedule by their names in the store.
func (s Schedule) variables() map[string]float64 {
	return map[string]float64{"steps": s.steps, "peak": s.peak, "fall": s.fall, "every": s.peak}
}

// String names the shape.
func (s Schedule) String() string {
	if s.shape == nil {
		return constantName
	}
	return s.shape.name
}

// At returns the factor of the learning rate at a step counted from 0, on the host: what the graph computes.
func (s Schedule) At(step int) float64 {
	if s.shape == nil {
		return 1
	}
	return s.shape.at(s, float64(step))
}

// factor builds At for the step counted from 1.
func (s Schedule) factor(scope *model.Scope, g *Graph, step *Node) *Node {
	t := AddScalar(step, -1)
	if s.shape == nil {
		return ConstAs(t, 1)
	}
	values := s.variables()
	return s.shape.graph(t, func(name string) *Node {
		return scalar(scope, scheduleScope, name, values[name]).NodeValue(g)
	})
}

// Restart sets the step counter back to 0 and the length of the schedule, on the same store: the next run starts
// without compiling. The schedule must be of the optimizer's kind, which is compiled.
func (o *Optimizer) Restart(scope *model.Scope, s Schedule) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.shape != o.schedule.shape {
		return fmt.Errorf("the optimizer was made with a %s schedule, not with a %s one: make another", o.schedule, s)
	}
	if err := optimizer.GetGlobalStepVar(scope).SetValue(tensors.FromScalar(int64(0))); err != nil {
		return err
	}
	for name, v := range s.variables() {
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
