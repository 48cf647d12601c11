package trials

import (
	"slices"
	"strings"
)

// Metric is how a column is drawn.
type Metric struct {
	Name   string
	Title  string
	Y      string
	Log    bool    // the y axis
	Scale  float64 // 100 for percent
	Column string  // the head of its column in a table
	Part   Part
}

// Part is where a metric belongs among the others.
type Part string

// The parts, in the order they are shown.
const (
	Learning Part = "Learning"
	Geometry Part = "Geometry"
	Speed    Part = "Rate and speed"
)

// Parts are all of them.
var Parts = []Part{Learning, Geometry, Speed}

// metrics are the columns that are known, in the order they are shown.
var metrics = []Metric{
	{"loss", "Training loss", "mean loss", true, 1, "loss", Learning},
	{"test_loss", "Test loss", "mean loss", true, 1, "test loss", Learning},
	{"validation_loss", "Validation loss", "mean loss", true, 1, "validation loss", Learning},
	{"accuracy", "Training accuracy", "%", false, 100, "accuracy, %", Learning},
	{"test_accuracy", "Test accuracy", "%", false, 100, "test accuracy, %", Learning},
	{"validation_accuracy", "Validation accuracy", "%", false, 100, "validation accuracy, %", Learning},
	{"validation_top5", "Validation accuracy, first five", "%", false, 100, "validation top 5, %", Learning},
	{"test_top5", "Test accuracy, first five", "%", false, 100, "top 5, %", Learning},
	{"mean_loss", "Training loss, moving mean", "mean loss", true, 1, "mean loss", Learning},
	{"margin", "Margin of the direction", "margin of w over its p-norm", false, 1, "margin", Geometry},
	{"margin_low", "Output margin, 10 %", "10 % quantile / norm of last layer", false, 1, "margin, 10 %", Geometry},
	{"margin_median", "Output margin, median", "median / norm of last layer", false, 1, "margin, median", Geometry},
	{"gap", "Certified gap", "upper / lower − 1", true, 1, "gap", Geometry},
	{"divergence", "Divergence to the max margin", "D(u, w/‖w‖)", true, 1, "divergence", Geometry},
	{"divergence_start", "Divergence from start", "D(w, w at the start)", false, 1, "divergence from start", Geometry},
	{"angle", "Angle to the max margin", "radians", true, 1, "angle", Geometry},
	{"norm", "Norm of the weights", "p-norm of w", false, 1, "p-norm", Geometry},
	{"norm_1", "1-norm of the weights", "1-norm of w", false, 1, "1-norm", Geometry},
	{"norm_2", "2-norm of the weights", "2-norm of w", false, 1, "2-norm", Geometry},
	{"norm_inf", "Largest weight", "max |w|", false, 1, "max |w|", Geometry},
	{"rms", "Root mean square of the weights", "RMS of w", false, 1, "RMS", Geometry},
	{"max", "Largest weight of a kernel", "max |w|", false, 1, "max", Geometry},
	{"zeros", "Weights that are 0", "% of all", false, 100, "zeros, %", Geometry},
	{"lr", "Learning rate", "learning rate", false, 1, "lr", Speed},
	{"img_per_second", "Speed", "images per second", false, 1, "img/s", Speed},
	{"waited", "Time that steps waited for pictures", "%", false, 100, "waited, %", Speed},
	{"resolution", "Resolution", "side in pixels", false, 1, "resolution", Speed},
}

// IsClock reports whether a column is the time at which a line was written: it is not drawn.
func IsClock(name string) bool { return name == "seconds" || name == "elapsed" }

// MetricOf returns how a column is drawn; an unknown one is drawn as it is.
func MetricOf(name string) Metric {
	for _, m := range metrics {
		if m.Name == name {
			return m
		}
	}
	return Metric{name, name, name, false, 1, strings.ReplaceAll(name, "_", " "), Learning}
}

// MetricNames returns the columns of the groups, the known ones first and in their order.
func MetricNames(groups []*Group) []string {
	have := map[string]bool{}
	for _, g := range groups {
		for _, c := range g.Curves {
			for _, n := range c.Metrics() {
				if !IsClock(n) {
					have[n] = true
				}
			}
		}
	}
	var out []string
	for _, m := range metrics {
		if have[m.Name] {
			out = append(out, m.Name)
			delete(have, m.Name)
		}
	}
	var rest []string
	for n := range have {
		rest = append(rest, n)
	}
	slices.Sort(rest)
	return append(out, rest...)
}
