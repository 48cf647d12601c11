package train

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/mirror"
)

// oneKernel is a network of one kernel, [2, 3], and a bias, on the host.
func oneKernel(t *testing.T) (*model.Store, func(context.Context) (Answers, error)) {
	t.Helper()
	store := model.NewStore()
	scope := store.RootScope().In("readout")
	kernel := scope.VariableWithValue("weights", [][]float32{{3, -1, 0.01}, {0.5, 2, -4}})
	scope.VariableWithValue("biases", []float32{0, 0, 0.1})
	scope.VariableWithValue("frozen", [][]float32{{9, 9}}).SetTrainable(false)
	x := [][2]float32{{1, 0}, {0, 1}, {0, -1}, {1, 1}}
	return store, func(context.Context) (a Answers, err error) {
		err = tensors.ConstFlatData(kernel.MustValue(), func(w []float32) {
			for _, v := range x {
				row := make([]float32, 3)
				for k := range row {
					row[k] = v[0]*w[k] + v[1]*w[3+k]
				}
				row[2] += 0.1
				a.Logits = append(a.Logits, row)
			}
		})
		a.Labels = []int{0, 1, 2, 1}
		return a, err
	}
}

func TestAStoreIsStudiedAndRestored(t *testing.T) {
	store, answers := oneKernel(t)
	s, err := StudyStore(t.Context(), store, 3, answers)
	if err != nil {
		t.Fatal(err)
	}
	if s.Accuracy != 0.75 || s.All.Count != 6 || len(s.Layers) != 1 || s.Layers[0].Name != "readout/weights" ||
		s.All.Max != 4 {
		t.Errorf("%+v", s)
	}
	// Without its smallest half, 0.01, 0.5 and -1, the network says the same; with one weight left, -4, the first two
	// examples have a tie, which counts as wrong.
	if len(s.PrunedAll) != 1+len(PruneShares) || s.PrunedAll[1].Accuracy != 0.75 ||
		s.PrunedAll[len(PruneShares)].Accuracy >= 0.75 || s.Rounded[0].Recalibrated != nil || s.Evaluations == 0 {
		t.Errorf("pruned %+v, rounded %+v", s.PrunedAll, s.Rounded)
	}
	margins := []float64{3 - 0.11, 2 - 0.5, 4.1 + 0.5, 1 - 3.5}
	slices.Sort(margins)
	if m := s.Margins; m.Examples != 4 || m.Positive != 0.75 || math.Abs(m.Quantiles[0]-margins[0]) > 1e-6 ||
		math.Abs(m.LastNorm-mirror.Norm([]float64{3, -1, 0.01, 0.5, 2, -4}, 3)) > 1e-6 {
		t.Errorf("margins %+v, want the least %v", m, margins[0])
	}
	after, _ := answers(t.Context())
	if after.accuracy() != 0.75 || after.Logits[0][2] != 0.01+0.1 {
		t.Errorf("not restored: %v", after.Logits)
	}
}

func TestWhatCannotBeStudiedIsSaid(t *testing.T) {
	store, answers := oneKernel(t)
	for want, f := range map[string]func(context.Context) (Answers, error){
		"broken": func(context.Context) (Answers, error) { return Answers{}, errors.New("broken") },
		"4 rows of answers and 3 labels": func(ctx context.Context) (Answers, error) {
			a, err := answers(ctx)
			a.Labels = a.Labels[:3]
			return a, err
		},
		"example 1 has 3 numbers and the label 3": func(ctx context.Context) (Answers, error) {
			a, err := answers(ctx)
			a.Labels[1] = 3
			return a, err
		},
	} {
		if _, err := StudyStore(t.Context(), store, 3, f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := StudyStore(t.Context(), model.NewStore(), 3, answers); err == nil ||
		!strings.Contains(err.Error(), "no kernels") {
		t.Errorf("an empty store: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	calls := 0
	_, err := StudyStore(ctx, store, 3, func(ctx context.Context) (Answers, error) {
		if calls++; calls == 3 {
			stop()
		}
		return answers(ctx)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if after, _ := answers(t.Context()); after.Logits[1][1] != 2 {
		t.Errorf("not restored after an interruption: %v", after.Logits)
	}
}
