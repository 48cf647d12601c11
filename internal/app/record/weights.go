package record

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/train"
)

// Weights are the sizes |w| of a network's kernels, all convolutions and linear layers together: as they are, and each
// over the root mean square of its layer, since behind batch norm only the shape counts.
type Weights struct {
	Kernels Histogram `json:"kernels"`
	Scaled  Histogram `json:"scaled"`
	Levels  *Levels   `json:"levels,omitempty"` // nil: not studied, or in a line of an older version
}

// Levels are the test accuracies of a network with its smallest weights set to 0, or with all rounded, as package train
// studies them.
type Levels struct {
	Accuracy        float64       `json:"accuracy"`
	Recalibrated    *float64      `json:"recalibrated,omitempty"`
	PrunedEach      []train.Level `json:"pruned_each"`
	PrunedAll       []train.Level `json:"pruned_all"`
	Rounded         []train.Level `json:"rounded"`
	RoundedChannels []train.Level `json:"rounded_channels,omitempty"`
}

// newLevels takes the levels of a study.
func newLevels(s *train.Study) *Levels {
	return &Levels{s.Accuracy, s.Recalibrated, s.PrunedEach, s.PrunedAll, s.Rounded, s.RoundedChannels}
}

// Study has these levels and nothing else.
func (l *Levels) Study() *train.Study {
	return &train.Study{Accuracy: l.Accuracy, Recalibrated: l.Recalibrated, PrunedEach: l.PrunedEach,
		PrunedAll: l.PrunedAll, Rounded: l.Rounded, RoundedChannels: l.RoundedChannels}
}

// mostLevels is more than any study has of a kind.
const mostLevels = 100

// check returns an error if the numbers cannot be accuracies at shares of the weights or at bits.
func (l *Levels) check() error {
	if l == nil {
		return nil
	}
	bad := func(a float64) bool { return !(a >= 0 && a <= 1) }
	if bad(l.Accuracy) || l.Recalibrated != nil && bad(*l.Recalibrated) {
		return errors.New("an accuracy is not between 0 and 1")
	}
	for k, levels := range [][]train.Level{l.PrunedEach, l.PrunedAll, l.Rounded, l.RoundedChannels} {
		if len(levels) > mostLevels {
			return fmt.Errorf("%d levels of a kind", len(levels))
		}
		for _, one := range levels {
			if bad(one.Accuracy) || one.Recalibrated != nil && bad(*one.Recalibrated) {
				return errors.New("an accuracy is not between 0 and 1")
			}
			if k < 2 && bad(one.At) || k >= 2 && !(one.At >= 1 && one.At <= 64) {
				return fmt.Errorf("%v is neither a share of the weights nor a number of bits", one.At)
			}
		}
	}
	return nil
}

// Histogram counts sizes in bins of a tenth of a decade: Counts[k] have From + k/10 ≤ log₁₀|w| < From + (k+1)/10. Empty
// bins at both ends are omitted.
type Histogram struct {
	Count  int     `json:"count"`
	Max    float64 `json:"max"`
	Median float64 `json:"median"`
	RMS    float64 `json:"rms"`
	Below  int     `json:"below"` // smaller than 10⁻⁶, and zeros
	From   float64 `json:"from"`
	Counts []int   `json:"counts"`
}

// The bins go from 10⁻⁶ to 100, and the last has what is larger: two histograms of a billion weights take 2 KB.
const (
	leastDecade = -6
	mostDecade  = 2
	perDecade   = 10
	bins        = (mostDecade - leastDecade) * perDecade
)

// Edge is where bin k begins and bin k−1 ends.
func (h Histogram) Edge(k int) float64 { return math.Pow(10, h.From+float64(k)/perDecade) }

// newHistogram counts sizes.
func newHistogram(sizes []float64) Histogram {
	n := len(sizes)
	h := Histogram{Count: n, From: leastDecade, Counts: make([]int, bins)}
	if n == 0 {
		h.Counts = []int{}
		return h
	}
	h.Max, h.Median = short(slices.Max(sizes)), short((nth(sizes, (n-1)/2)+nth(sizes, n/2))/2)
	var sum float64
	for _, v := range sizes {
		sum += v * v
		if v < 1e-6 {
			h.Below++
			continue
		}
		k := int(math.Floor(perDecade * (math.Log10(v) - leastDecade)))
		h.Counts[max(0, min(k, bins-1))]++
	}
	h.RMS = short(math.Sqrt(sum / float64(n)))
	last := bins
	for last > 0 && h.Counts[last-1] == 0 {
		last--
	}
	first := 0
	for first < last && h.Counts[first] == 0 {
		first++
	}
	h.Counts = h.Counts[first:last]
	h.From = math.Round(perDecade*leastDecade+float64(first)) / perDecade
	return h
}

// nth is the k-th size, counted from 0 at the least. Sizes are ordered as their bits are: it counts them by the upper
// ones and sorts only those that share them: 35 ms for eleven million, where sorting all of them takes 1.5 s.
func nth(sizes []float64, k int) float64 {
	const shift = 44
	counts := make([]int, 1<<(64-shift))
	for _, v := range sizes {
		counts[math.Float64bits(v)>>shift]++
	}
	upper := 0
	for k >= counts[upper] {
		k -= counts[upper]
		upper++
	}
	var alike []float64
	for _, v := range sizes {
		if math.Float64bits(v)>>shift == uint64(upper) {
			alike = append(alike, v)
		}
	}
	slices.Sort(alike)
	return alike[k]
}

// short rounds to six digits: a histogram shows no more.
func short(v float64) float64 {
	if v == 0 || v-v != 0 {
		return v
	}
	scale := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(v))))
	if r := math.Round(v*scale) / scale; r-r == 0 {
		return r
	}
	return v
}

// check returns an error if the numbers cannot be those of histograms.
func (w *Weights) check() error {
	if w == nil {
		return errors.New("there are no counts")
	}
	for _, h := range []Histogram{w.Kernels, w.Scaled} {
		n := h.Below
		for _, c := range h.Counts {
			if c < 0 || h.Below < 0 {
				return errors.New("a count is negative")
			}
			n += c
		}
		if len(h.Counts) > bins || n != h.Count || !(math.Abs(h.From) < 10) {
			return fmt.Errorf("%d bins from 10^%v with %d weights of %d", len(h.Counts), h.From, n, h.Count)
		}
	}
	return w.Levels.check()
}

// readWeights measures the kernels in a file of weights in PyTorch's names: what is called weight and has at least two
// dimensions, which those of batch norm do not have.
func readWeights(r io.Reader, size int64) (*Weights, error) {
	f, err := safetensors.Decode(r, size)
	if err != nil {
		return nil, err
	}
	var all, scaled []float64
	for _, t := range f.Tensors {
		if !strings.HasSuffix(t.Name, ".weight") || len(t.Shape) < 2 {
			continue
		}
		values, err := safetensors.Float32s(t)
		if err != nil {
			return nil, err
		}
		var sum float64
		for _, v := range values {
			sum += float64(v) * float64(v)
		}
		rms := math.Sqrt(sum / float64(max(1, len(values))))
		if rms-rms != 0 {
			return nil, fmt.Errorf("%s has weights that are not finite", t.Name)
		}
		for _, v := range values {
			size := math.Abs(float64(v))
			all = append(all, size)
			if rms > 0 {
				size /= rms
			}
			scaled = append(scaled, size)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it has no kernels")
	}
	return &Weights{Kernels: newHistogram(all), Scaled: newHistogram(scaled)}, nil
}
