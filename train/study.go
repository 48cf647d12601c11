package train

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bregman-ml/bregman/optim"
)

// Levels of a study: shares of the weights that are pruned, and bits they are rounded to.
var (
	PruneShares = []float64{0.5, 0.7, 0.8, 0.9, 0.95, 0.98}
	RoundBits   = []int{8, 6, 5, 4, 3}
)

// Study is what a training run did to the weights of the layers.
type Study struct {
	P   float64 `json:"p"`
	All Spread  `json:"all"`
	// each weight over the RMS of its layer: behind batch norm only the shape counts
	Scaled          Spread        `json:"scaled"`
	Layers          []LayerSpread `json:"layers"`
	Histogram       Histogram     `json:"histogram"`
	ScaledHistogram Histogram     `json:"scaled_histogram"`

	// Accuracies on the test images without any training after the change. Pruned are the smallest weights of each layer,
	// the same share everywhere, or the smallest of all layers together. Rounding is symmetric, with one scale per tensor
	// or one per output channel of each tensor; studies of older versions have none of the latter.
	Accuracy        float64  `json:"accuracy"` // untouched
	Recalibrated    *float64 `json:"recalibrated,omitempty"`
	PrunedEach      []Level  `json:"pruned_each"`
	PrunedAll       []Level  `json:"pruned_all"`
	Rounded         []Level  `json:"rounded"`
	RoundedChannels []Level  `json:"rounded_channels,omitempty"`

	Margins     Margins `json:"margins"`     // on the training images
	Evaluations int     `json:"evaluations"` // of the test images: one for each changed network
	Seconds     float64 `json:"seconds"`
}

// LayerSpread is the spread of one layer.
type LayerSpread struct {
	Name string `json:"name"`
	Spread
}

// Level is the accuracy at a share of pruned weights, or a number of bits.
type Level struct {
	At       float64 `json:"at"`
	Accuracy float64 `json:"accuracy"` // with the batch-norm statistics from before the change
	// Recalibrated is the accuracy with the batch-norm statistics of the changed network, of CalibrationImages training
	// images. It is nil for a network without batch norm, and in studies of older versions.
	Recalibrated *float64 `json:"recalibrated,omitempty"`
}

// Study measures the weights, tests the network with pruned and with rounded ones, restores them, and measures the
// margins in the geometry p. accuracy is the network's on the test images, which the caller knows. A network that two
// levels share is tested once. progress is called with the share of the work that is done, the last time with 1.
func (x *Session) Study(ctx context.Context, p, accuracy float64, progress func(share float64)) (s Study, err error) {
	begin := time.Now()
	s.P, s.Accuracy = p, accuracy
	if bad := optim.FirstNotFinite(x.modelScope()); bad != nil { // ReLU hides a NaN from the answers
		return s, &Diverged{fmt.Errorf("%w: try a smaller learning rate", bad)}
	}
	layers, err := x.Weights()
	if err != nil {
		return s, err
	}
	sorted := s.measure(layers)
	v, err := x.newVariants(layers)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, v.restore()) }()

	all := v.tests(studyLevels)*x.set.Test.Len() + len(x.studied())
	done := 0
	v.each = func(n int) {
		done += n
		progress(pairsFrom * float64(done) / float64(all))
	}
	if err := s.change(ctx, v, sorted); err != nil {
		return s, err
	}
	s.Evaluations = v.evaluations
	if err := v.restore(); err != nil {
		return s, err
	}
	if s.Margins, err = x.margins(ctx, p, layers, v.each); err == nil {
		progress(1)
	}
	s.Seconds = time.Since(begin).Seconds()
	return s, err
}

// studyLevels is how many networks a study tests, with the one that was trained.
var studyLevels = 1 + 2*len(PruneShares) + 2*len(RoundBits)

// studyPasses is about how many passes over the test images a study takes.
func (x *Session) studyPasses() float64 {
	images := len(x.studied())
	if len(x.normVars()) > 0 {
		images += studyLevels * (min(CalibrationImages, x.seen()) + x.set.Test.Len())
	}
	return float64(studyLevels-1) + float64(images)/float64(x.set.Test.Len())
}

// change tests the network at every level.
func (s *Study) change(ctx context.Context, v *variants, sorted sortedSizes) error {
	untouched, err := v.untouched(ctx, s.Accuracy)
	if err != nil {
		return err
	}
	s.Recalibrated = untouched.Recalibrated
	s.PrunedEach, s.PrunedAll = []Level{untouched}, []Level{untouched}
	add := func(to *[]Level, at float64, change func(k int, l Layer) []float32) error {
		level, err := v.test(ctx, at, change)
		*to = append(*to, level)
		return err
	}
	for _, share := range PruneShares {
		err := add(&s.PrunedEach, share, func(k int, l Layer) []float32 {
			return pruned(l.Values, prunedAt(sorted.layers[k], share))
		})
		if err != nil {
			return err
		}
		limit := prunedAt(sorted.all, share)
		err = add(&s.PrunedAll, share, func(_ int, l Layer) []float32 { return pruned(l.Values, limit) })
		if err != nil {
			return err
		}
	}
	for _, bits := range RoundBits {
		at := float64(bits)
		if err := add(&s.Rounded, at, func(_ int, l Layer) []float32 { return rounded(l.Values, 1, bits) }); err != nil {
			return err
		}
		if err := add(&s.RoundedChannels, at, func(_ int, l Layer) []float32 {
			return rounded(l.Values, l.Dims[len(l.Dims)-1], bits)
		}); err != nil {
			return err
		}
	}
	return nil
}

// pairsFrom is the share of a study that comes before its pairs of classes are solved.
const pairsFrom = 0.95

// sortedSizes are the sizes of each layer's weights and of all, ascending.
type sortedSizes struct {
	layers [][]float32
	all    []float32
}

// measure fills in the spreads and histograms.
func (s *Study) measure(layers []Layer) sortedSizes {
	var out sortedSizes
	var scaled []float32
	for _, l := range layers {
		a := sizes(l.Values)
		sp := spread(a)
		s.Layers = append(s.Layers, LayerSpread{l.Name, sp})
		out.layers = append(out.layers, a)
		out.all = append(out.all, a...)
		for _, v := range a {
			if sp.RMS > 0 {
				v /= float32(sp.RMS)
			}
			scaled = append(scaled, v)
		}
	}
	sortSizes(out.all)
	sortSizes(scaled)
	s.All, s.Scaled = spread(out.all), spread(scaled)
	s.Histogram, s.ScaledHistogram = histogram(out.all), histogram(scaled)
	return out
}
