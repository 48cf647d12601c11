package trials

import (
	"math"
	"slices"

	"github.com/bregman-ml/bregman/runlog"
)

// Time is the axis of the seconds since a run began.
const Time = "time"

// LogAxis reports whether an axis is logarithmic unless a reader says otherwise: steps are, epochs are not.
func LogAxis(axis string) bool { return axis == "step" || axis == "b" }

// Axes are what a curve can be drawn over: first what it is drawn over by itself, then steps, epochs and the time if
// its lines have them.
func Axes(c *runlog.Curve) []string {
	own, _ := c.Over()
	out := []string{own}
	for _, x := range []string{"step", "epoch"} {
		if _, ok := c.Values[x]; ok && x != own {
			out = append(out, x)
		}
	}
	if clockOf(c) != "" {
		out = append(out, Time)
	}
	return out
}

// AxisOf is what a curve is drawn over; nil if its lines do not have it. The time never runs backwards: where the clock
// of a run that was resumed began again, the seconds from there on are added to those before.
func AxisOf(c *runlog.Curve, axis string) []float64 {
	if own, x := c.Over(); own == axis {
		return x
	}
	if axis != Time {
		if _, ok := c.Values[axis]; !ok {
			return nil
		}
		return c.Column(axis)
	}
	clock := clockOf(c)
	if clock == "" {
		return nil
	}
	t := slices.Clone(c.Column(clock))
	before, last := 0.0, 0.0
	for k, v := range t {
		if math.IsNaN(v) {
			continue
		}
		if v < last {
			before += last
		}
		last, t[k] = v, v+before
	}
	return t
}

// TimeAt is the clock of one line, NaN without: the time on the axis unless the clock began again before it.
func TimeAt(c *runlog.Curve, index int) float64 { return c.At(clockOf(c), index) }

// clockOf is the column with the seconds since the run began, empty if there is none. What a line of train calls
// seconds is how long its epoch took: then another column has the time.
func clockOf(c *runlog.Curve) string {
	for _, name := range []string{"elapsed", "seconds"} {
		if _, ok := c.Values[name]; ok && IsClock(name) {
			return name
		}
	}
	return ""
}
