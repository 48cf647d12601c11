// Package paper is the paper this project implements, Sun, Ahn, Thrampoulidis and Azizan, "Mirror Descent Maximizes
// Generalized Margin and Can Be Implemented Efficiently" (NeurIPS 2022): its settings, its published numbers and
// their reproduction.
package paper

import (
	_ "embed"
	"encoding/csv"
	"math"
	"strconv"
	"strings"
)

// Ps are the six geometries of the paper's experiments.
var Ps = []float64{1.1, 1.5, 2, 3, 6, 10}

// Norms are the eight norms its tables measure each classifier in.
var Norms = []float64{1, 1.1, 1.5, 2, 3, 6, 10, math.Inf(1)}

// The published tables of the R¹⁰⁰ experiment, a row per p and a column per norm.
var (
	//go:embed linear_trial1.csv
	trial1 string
	//go:embed linear_trial2.csv
	trial2 string
)

// publishedNorms returns the two published trials: [trial][p][norm].
func publishedNorms() [2][][]float64 {
	var out [2][][]float64
	for k, text := range []string{trial1, trial2} {
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			panic(err) // an embedded file
		}
		for _, r := range rows[1:] {
			var row []float64
			for _, c := range r[1:] {
				v, err := strconv.ParseFloat(c, 64)
				if err != nil {
					panic(err)
				}
				row = append(row, v)
			}
			out[k] = append(out[k], row)
		}
	}
	return out
}

//go:embed cifar10_accuracy.csv
var cifar10Accuracy string

// accuracy is a mean and a standard deviation over trials, in percent.
type accuracy struct {
	mean, deviation float64
	bold            bool // the paper marks it as the best of its network, or as one of several
}

// publishedTrials is over how many runs the paper's accuracies are.
const publishedTrials = 5

// publishedAccuracy returns the CIFAR-10 test accuracies of the paper, by the network's name here and p.
func publishedAccuracy() map[string]map[float64]accuracy {
	rows, err := csv.NewReader(strings.NewReader(cifar10Accuracy)).ReadAll()
	if err != nil {
		panic(err) // an embedded file
	}
	out := map[string]map[float64]accuracy{}
	for _, r := range rows[1:] {
		var v [3]float64
		for k, c := range []string{r[0], r[2], r[3]} {
			if v[k], err = strconv.ParseFloat(c, 64); err != nil {
				panic(err)
			}
		}
		net := strings.TrimSuffix(r[1], "mf")
		if out[net] == nil {
			out[net] = map[float64]accuracy{}
		}
		out[net][v[0]] = accuracy{v[1], v[2], r[4] == "yes"}
	}
	return out
}

// PublishedAccuracy returns the paper's CIFAR-10 test accuracy of a network after 400 epochs, in percent: mean and deviation over five trials.
func PublishedAccuracy(model string, p float64) (mean, deviation float64, ok bool) {
	a, ok := publishedAccuracy()[model][p]
	return a.mean, a.deviation, ok
}

// PublishedBest reports whether the paper marks p as the best of a network on CIFAR-10, or as one of several.
func PublishedBest(model string, p float64) bool { return publishedAccuracy()[model][p].bold }

// PublishedNorms returns a row of the paper's first table in R¹⁰⁰: the classifier of p at margin 1, in Norms.
func PublishedNorms(p float64) ([]float64, bool) {
	for k, q := range Ps {
		if q == p {
			return publishedNorms()[0][k], true
		}
	}
	return nil, false
}

// NormName writes a norm as the paper does.
func NormName(p float64) string { return normName(p) }

// normName writes a norm as the paper does.
func normName(p float64) string {
	if math.IsInf(p, 1) {
		return "ℓ∞"
	}
	sub := strings.NewReplacer("0", "₀", "1", "₁", "2", "₂", "3", "₃", "6", "₆", "5", "₅")
	return "ℓ" + sub.Replace(strconv.FormatFloat(p, 'g', -1, 64))
}
