// Package numbers holds the paper's published tables: test accuracies on CIFAR-10 and ImageNet, and norms of linear
// classifiers in R¹⁰⁰.
package numbers

import (
	_ "embed"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Ps are the six geometries of the paper's experiments.
var Ps = []float64{1.1, 1.5, 2, 3, 6, 10}

// Norms are the eight norms its tables measure each classifier in.
var Norms = []float64{1, 1.1, 1.5, 2, 3, 6, 10, math.Inf(1)}

var (
	//go:embed linear_trial1.csv
	trial1 string
	//go:embed linear_trial2.csv
	trial2 string
	//go:embed cifar10_accuracy.csv
	cifar10 string
	//go:embed imagenet_top1.csv
	imageNet string
)

// Trials is over how many runs the paper's accuracies on CIFAR-10 are.
const Trials = 5

// Epochs is how many epochs the paper's runs on CIFAR-10 have.
const Epochs = 400

// Plain reports whether a run has nothing that regularises, and weights in their own unit, as the paper's.
func Plain(settings map[string]string) bool {
	for _, key := range []string{"weight_decay", "dual_decay", "adaptive", "momentum", "label_smoothing"} {
		if v := settings[key]; v != "" && v != "0" {
			return false
		}
	}
	return settings["init"] == "" && (settings["unit"] == "" || settings["unit"] == "one")
}

// The two readings of the paper's peak learning rate on CIFAR-10, 0.1, which it names without a batch size.
const (
	Scaled  = "scaled"  // 0.1 for each 128 images: 0.4 at a batch of 512
	Printed = "printed" // 0.1 at any batch
)

// Readings are both, the default first.
var Readings = []string{Scaled, Printed}

// PeakRate is the paper's peak rate for a batch, in a reading.
func PeakRate(reading string, batch int) float64 {
	if reading == Printed {
		return 0.1
	}
	return math.Round(1e9*0.1*float64(batch)/128) / 1e9
}

// ReadingOf names the reading that has this peak rate at this batch; empty if neither does. At a batch of 128 they are
// the same, and it is the printed one.
func ReadingOf(rate float64, batch int) string {
	for _, r := range []string{Printed, Scaled} {
		if math.Abs(rate-PeakRate(r, batch)) < 1e-9 {
			return r
		}
	}
	return ""
}

// Accuracy is a mean and a standard deviation over trials, in percent. The deviation of one trial is NaN.
type Accuracy struct {
	Mean, Deviation float64
	Best            bool // the paper marks it as the best of its network, or as one of several
}

// Row is a row of a table of accuracies: the test accuracy of a network, by its name here.
type Row struct {
	Model string
	P     float64
	Accuracy
}

// CIFAR10 is the table of test accuracies on CIFAR-10 after 400 epochs, network after network.
var CIFAR10 = sync.OnceValue(func() []Row {
	var out []Row
	for _, r := range records(cifar10) {
		out = append(out, Row{Model: strings.TrimSuffix(r[1], "mf"), P: number(r[0]),
			Accuracy: Accuracy{Mean: number(r[2]), Deviation: number(r[3]), Best: r[4] == "yes"}})
	}
	return out
})

// ImageNet is the table of top-1 accuracies on ImageNet's validation pictures after 120 epochs, network after network.
// Each is of one trial.
var ImageNet = sync.OnceValue(func() []Row {
	var out []Row
	best := map[string]float64{}
	for _, r := range records(imageNet) {
		row := Row{Model: r[1] + "-imagenet", P: number(r[0]),
			Accuracy: Accuracy{Mean: number(r[2]), Deviation: math.NaN()}}
		out, best[row.Model] = append(out, row), max(best[row.Model], row.Mean)
	}
	for k, r := range out {
		out[k].Best = r.Mean == best[r.Model] // what the paper prints in bold
	}
	return out
})

// Accuracies returns the test accuracies of a network on CIFAR-10 by p, nil if the paper has none.
func Accuracies(model string) map[float64]Accuracy { return Of(CIFAR10(), model) }

// Of returns the accuracies of a network in a table by p, nil if the table has none.
func Of(table []Row, model string) map[float64]Accuracy {
	var out map[float64]Accuracy
	for _, r := range table {
		if r.Model != model {
			continue
		}
		if out == nil {
			out = map[float64]Accuracy{}
		}
		out[r.P] = r.Accuracy
	}
	return out
}

// R100 is the two tables of the R¹⁰⁰ experiment, one per trial: a row per p of Ps and a column per norm of Norms, of
// the classifier of p at margin 1.
var R100 = sync.OnceValue(func() [2][][]float64 {
	var out [2][][]float64
	for k, text := range []string{trial1, trial2} {
		for _, r := range records(text) {
			var row []float64
			for _, cell := range r[1:] {
				row = append(row, number(cell))
			}
			out[k] = append(out[k], row)
		}
	}
	return out
})

// NormsOf returns a row of the first table in R¹⁰⁰: the classifier of p at margin 1, in Norms.
func NormsOf(p float64) ([]float64, bool) {
	if k := slices.Index(Ps, p); k >= 0 {
		return R100()[0][k], true
	}
	return nil, false
}

// NormName writes a norm as the paper does.
func NormName(p float64) string {
	if math.IsInf(p, 1) {
		return "ℓ∞"
	}
	sub := strings.NewReplacer("0", "₀", "1", "₁", "2", "₂", "3", "₃", "6", "₆", "5", "₅")
	return "ℓ" + sub.Replace(strconv.FormatFloat(p, 'g', -1, 64))
}

// records are the rows of an embedded table, without its header.
func records(text string) [][]string {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		panic(err)
	}
	return rows[1:]
}

// number reads a cell of an embedded table.
func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return v
}
