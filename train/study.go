package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

	// Accuracies on the test images without any training after the change, and with the batch-norm statistics from
	// before it.
	Accuracy    float64 `json:"accuracy"`    // untouched
	PrunedEach  []Level `json:"pruned_each"` // the smallest weights of each layer set to 0, the same share everywhere
	PrunedAll   []Level `json:"pruned_all"`  // the smallest of all layers together
	Rounded     []Level `json:"rounded"`     // symmetric, one scale per tensor
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
	Accuracy float64 `json:"accuracy"`
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
	defer func() { err = errors.Join(err, x.SetWeights(layers)) }()

	images, levels := x.set.Test.Len(), 2*len(PruneShares)+len(RoundBits)
	done, all := 0, levels*images+len(x.studied())
	each := func(n int) {
		done += n
		progress(pairsFrom * float64(done) / float64(all))
	}
	known := map[string]float64{hashOf(layers): accuracy}
	level := func(to *[]Level, at float64, change func(k int, l Layer) []float32) error {
		other := slices.Clone(layers)
		for k, l := range layers {
			other[k].Values = change(k, l)
		}
		hash := hashOf(other)
		a, ok := known[hash]
		if ok {
			each(images)
		} else {
			if err := x.SetWeights(other); err != nil {
				return err
			}
			s.Evaluations++
			score, _, err := x.evaluate(ctx, x.testSample(), false, each)
			// Changed weights may overflow; the accuracy says so.
			if bad := (*Diverged)(nil); err != nil && !errors.As(err, &bad) {
				return err
			}
			a, known[hash] = score.Accuracy, score.Accuracy
		}
		*to = append(*to, Level{at, a})
		return nil
	}
	s.PrunedEach, s.PrunedAll = []Level{{0, s.Accuracy}}, []Level{{0, s.Accuracy}}
	for _, share := range PruneShares {
		err := level(&s.PrunedEach, share, func(k int, l Layer) []float32 {
			return pruned(l.Values, prunedAt(sorted.layers[k], share))
		})
		if err != nil {
			return s, err
		}
		limit := prunedAt(sorted.all, share)
		err = level(&s.PrunedAll, share, func(_ int, l Layer) []float32 { return pruned(l.Values, limit) })
		if err != nil {
			return s, err
		}
	}
	for _, bits := range RoundBits {
		err := level(&s.Rounded, float64(bits), func(_ int, l Layer) []float32 { return rounded(l.Values, bits) })
		if err != nil {
			return s, err
		}
	}
	if err := x.SetWeights(layers); err != nil {
		return s, err
	}
	if s.Margins, err = x.margins(ctx, p, layers, each); err == nil {
		progress(1)
	}
	s.Seconds = time.Since(begin).Seconds()
	return s, err
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
