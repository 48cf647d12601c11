package train

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// variants tests a network with changed weights, and keeps what it needs to restore it.
type variants struct {
	layers      []Layer // as they were trained
	norms       []Layer // the running statistics of batch norm
	set         func([]Layer) error
	accuracyNow func(context.Context) (float64, error) // of the network as it is
	recalibrate func(context.Context) error            // gives it the statistics of its own weights
	images      int                                    // of a test
	each        func(images int)                       // called as evaluate does
	known       map[string]Level
	evaluations int
}

func (x *Session) newVariants(layers []Layer) (*variants, error) {
	norms, err := x.normStatistics()
	v := &variants{layers: layers, norms: norms, set: x.SetWeights, recalibrate: x.Recalibrate, images: x.set.Test.Len(),
		known: map[string]Level{}}
	v.accuracyNow = func(ctx context.Context) (float64, error) {
		score, _, err := x.evaluate(ctx, x.testSample(), false, v.each)
		return score.Accuracy, err
	}
	return v, err
}

// tests is how many tests of the network so many levels take.
func (v *variants) tests(levels int) int {
	if len(v.norms) == 0 {
		return levels - 1 // the trained network has been tested
	}
	return 2*levels - 1
}

// restore gives the network its weights and statistics back.
func (v *variants) restore() error {
	return errors.Join(v.set(v.layers), v.set(v.norms))
}

// untouched is the network as it was trained, whose accuracy is known.
func (v *variants) untouched(ctx context.Context, accuracy float64) (Level, error) {
	l := Level{Accuracy: accuracy}
	var err error
	l.Recalibrated, err = v.recalibrated(ctx)
	v.known[hashOf(v.layers)] = l
	return l, err
}

// test tests the network with the weights that change returns for each layer.
func (v *variants) test(ctx context.Context, at float64, change func(k int, l Layer) []float32) (Level, error) {
	other := slices.Clone(v.layers)
	var wg sync.WaitGroup
	for k, l := range v.layers {
		wg.Go(func() { other[k].Values = change(k, l) })
	}
	wg.Wait()
	hash := hashOf(other)
	if l, ok := v.known[hash]; ok {
		v.each((v.tests(2) - v.tests(1)) * v.images)
		l.At = at
		return l, nil
	}
	if err := v.set(other); err != nil {
		return Level{}, err
	}
	accuracy, err := v.accuracy(ctx)
	if err != nil {
		return Level{}, err
	}
	l := Level{At: at, Accuracy: accuracy}
	if l.Recalibrated, err = v.recalibrated(ctx); err == nil {
		v.known[hash] = l
	}
	return l, err
}

// accuracy tests the network as it is.
func (v *variants) accuracy(ctx context.Context) (float64, error) {
	v.evaluations++
	accuracy, err := v.accuracyNow(ctx)
	if bad := (*Diverged)(nil); errors.As(err, &bad) { // changed weights may overflow; the accuracy says so
		err = nil
	}
	return accuracy, err
}

// recalibrated tests the network with the statistics of its own weights, and restores those from before. It is nil
// without batch norm.
func (v *variants) recalibrated(ctx context.Context) (*float64, error) {
	if len(v.norms) == 0 {
		return nil, nil
	}
	if err := v.recalibrate(ctx); err != nil {
		return nil, err
	}
	accuracy, err := v.accuracy(ctx)
	return &accuracy, errors.Join(err, v.set(v.norms))
}
