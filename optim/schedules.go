package optim

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// ScheduleInfo is a schedule that has a name.
type ScheduleInfo struct {
	Name  string
	About string // one line for a list of schedules
	// New makes it for a run of so many steps. Peak, a share of the run from 0 to 1, is where the triangle peaks; the
	// others have no use for it.
	New func(steps int, peak float64) Schedule
}

// Schedules are the schedules that have names.
var Schedules = []ScheduleInfo{
	{
		"triangular", "our reading of the cyclic schedule in the paper",
		func(steps int, peak float64) Schedule { return Triangular(steps, int(math.Round(peak*float64(steps)))) },
	},
	{"cosine", "half a cosine, down to 0", func(steps int, _ float64) Schedule { return Cosine(steps) }},
	{"constant", "the same rate in every step", func(int, float64) Schedule { return Constant() }},
	{
		"step", "a tenth after each third",
		func(steps int, _ float64) Schedule { return Step(max(1, (steps+2)/3), 0.1) },
	},
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
