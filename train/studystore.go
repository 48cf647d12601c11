package train

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/optim"
)

// Answers are what a network says of examples, a row of numbers with one for each class, and the right classes.
type Answers struct {
	Logits [][]float32
	Labels []int
}

// accuracy is the share of the examples whose right class has the largest number.
func (a Answers) accuracy() float64 {
	right := 0
	for i := range a.Labels {
		if outputMargin(a.Logits[i], a.Labels[i]) > 0 {
			right++
		}
	}
	return float64(right) / float64(len(a.Labels))
}

func (a Answers) check() error {
	if len(a.Labels) == 0 || len(a.Logits) != len(a.Labels) {
		return fmt.Errorf("%d rows of answers and %d labels: want as many, and at least one", len(a.Logits), len(a.Labels))
	}
	for i, row := range a.Logits {
		if len(row) < 2 || len(row) != len(a.Logits[0]) || a.Labels[i] < 0 || a.Labels[i] >= len(row) {
			return fmt.Errorf("example %d has %d numbers and the label %d: want a number for each of at least two classes, and "+
				"a label that counts them from 0", i, len(row), a.Labels[i])
		}
	}
	return nil
}

// StudyStore is what [Session.Study] says of any network of GoMLX: how the sizes of its weights are spread, its
// accuracy with the smallest set to 0 and with all rounded to a few bits, and its margins over the norms of the weights
// in the geometry p. The weights are the kernels in the store: the trainable variables of float32 with two axes or
// more; they are restored.
//
// answers runs the network as it is in the store, on examples that are always the same. Levels have no Recalibrated,
// and the margins have no pairs of classes.
func StudyStore(ctx context.Context, store *model.Store, p float64,
	answers func(context.Context) (Answers, error)) (s Study, err error) {
	begin := time.Now()
	s.P = p
	if bad := optim.FirstNotFinite(store.RootScope()); bad != nil {
		return s, &Diverged{fmt.Errorf("%w: try a smaller learning rate", bad)}
	}
	var kernels []*model.Variable
	for v := range store.IterVariables() {
		if v.Trainable && v.HasValue() && v.DType() == dtypes.Float32 && optim.Kernels(v) {
			kernels = append(kernels, v)
		}
	}
	if len(kernels) == 0 {
		return s, errors.New("the store has no kernels: no trainable variable of float32 with two axes or more")
	}
	layers, err := layersOf(kernels, func(v *model.Variable) string { return strings.TrimPrefix(v.Path(), "/") })
	if err != nil {
		return s, err
	}
	sorted := s.measure(layers)
	now := func() (a Answers, err error) {
		if a, err = answers(ctx); err == nil {
			err = errors.Join(a.check(), ctx.Err())
		}
		return a, err
	}
	trained, err := now()
	if err != nil {
		return s, err
	}
	s.Accuracy = trained.accuracy()
	v := &variants{layers: layers, known: map[string]Level{}, each: func(int) {},
		set: func(l []Layer) error { return setWeights(store, l) },
		accuracyNow: func(context.Context) (float64, error) {
			a, err := now()
			if err != nil {
				return 0, err
			}
			return a.accuracy(), nil
		}}
	err = errors.Join(s.change(ctx, v, sorted), v.restore())
	if s.Evaluations = v.evaluations; err != nil {
		return s, err
	}
	s.Margins, err = marginsOf(len(trained.Labels), func(i int) float64 {
		return outputMargin(trained.Logits[i], trained.Labels[i])
	}, p, layers)
	s.Seconds = time.Since(begin).Seconds()
	return s, err
}
