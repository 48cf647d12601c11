package optim

import (
	"fmt"
	"math"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
)

// ScheduleInfo is a schedule that has a name.
type ScheduleInfo struct {
	Name  string
	About string // one line for a list of schedules
	// New makes it for a run of so many steps. Peak, a share of the run from 0 to 1, is where the triangle peaks; the
	// others have no use for it.
	New func(steps int, peak float64) Schedule
}

const constantName = "constant"

// Schedules are the schedules that have names. Another one is a shape, its function, and a line here.
var Schedules = []ScheduleInfo{
	{
		triangle.name, "our reading of the cyclic schedule in the paper",
		func(steps int, peak float64) Schedule {
			return Triangular(steps, max(0, min(int(math.Round(peak*float64(steps))), steps-1)))
		},
	},
	{cosine.name, "half a cosine, down to 0", func(steps int, _ float64) Schedule { return Cosine(steps) }},
	{constantName, "the same rate in every step", func(int, float64) Schedule { return Constant() }},
	{
		stairs.name, "a tenth after each third",
		func(steps int, _ float64) Schedule { return Step(max(1, (steps+2)/3), 0.1) },
	},
}

// Constant keeps the learning rate.
func Constant() Schedule { return Schedule{} }

var triangle = &shape{
	name: "triangular",
	at: func(s Schedule, t float64) float64 {
		if t < s.peak {
			return t / s.peak
		}
		return max(0, (s.steps-t)/max(s.steps-s.peak, 1))
	},
	graph: func(t *Node, variable func(name string) *Node) *Node {
		one, steps, peak := ConstAs(t, 1), variable("steps"), variable("peak")
		up := Div(t, Max(peak, one)) // not taken for a peak of 0
		down := Max(Div(Sub(steps, t), Max(Sub(steps, peak), one)), ZerosLike(t))
		return Where(LessThan(t, peak), up, down)
	},
}

// Triangular rises from 0 to the learning rate at step peak, counted from 0, and falls back to 0 at step steps: our
// reading of the paper's cyclic schedule. With a peak of 0 it only falls. The last step, steps − 1, is the latest to
// peak at: a run of one step makes it at the full rate.
func Triangular(steps, peak int) Schedule {
	s := Schedule{shape: triangle, steps: float64(steps), peak: float64(peak)}
	switch {
	case steps < 1:
		s.bad = fmt.Sprintf("%d steps: want at least one", steps)
	case peak < 0 || peak >= steps:
		s.bad = fmt.Sprintf("a peak at step %d of %d: want one from 0 to %d", peak, steps, steps-1)
	}
	return s
}

var cosine = &shape{
	name: "cosine",
	at:   func(s Schedule, t float64) float64 { return (1 + math.Cos(math.Pi*min(t/s.steps, 1))) / 2 },
	graph: func(t *Node, variable func(name string) *Node) *Node {
		share := Min(Div(t, variable("steps")), ConstAs(t, 1))
		return MulScalar(AddScalar(Cos(MulScalar(share, math.Pi)), 1), 0.5)
	},
}

// Cosine falls from the learning rate to 0 along half a cosine.
func Cosine(steps int) Schedule {
	s := Schedule{shape: cosine, steps: float64(steps)}
	if steps < 1 {
		s.bad = fmt.Sprintf("%d steps: want at least one", steps)
	}
	return s
}

var stairs = &shape{
	name: "step",
	at:   func(s Schedule, t float64) float64 { return math.Pow(s.fall, math.Floor(t/s.peak)) },
	graph: func(t *Node, variable func(name string) *Node) *Node {
		return Pow(variable("fall"), Floor(Div(t, variable("every"))))
	},
}

// Step multiplies the learning rate by fall every so many steps.
func Step(every int, fall float64) Schedule {
	s := Schedule{shape: stairs, steps: math.Inf(1), peak: float64(every), fall: fall}
	switch {
	case every < 1:
		s.bad = fmt.Sprintf("a fall every %d steps: want at least 1", every)
	case !(fall >= 0) || math.IsInf(fall, 1):
		s.bad = fmt.Sprintf("a factor of %v: want a number of at least 0", fall)
	}
	return s
}

// ScheduleNames lists the names of the schedules.
func ScheduleNames() []string {
	names := make([]string, len(Schedules))
	for i, s := range Schedules {
		names[i] = s.Name
	}
	return names
}

// ScheduleByName returns the schedule of that name.
func ScheduleByName(name string) (ScheduleInfo, error) {
	i := slices.IndexFunc(Schedules, func(s ScheduleInfo) bool { return s.Name == name })
	if i < 0 {
		return ScheduleInfo{}, fmt.Errorf("schedule %q: choose one of %s", name, strings.Join(ScheduleNames(), ", "))
	}
	return Schedules[i], nil
}
