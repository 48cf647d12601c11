package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// table writes examples with forty features, of which the label depends on two.
func table(t *testing.T, name string, rows int, rng *rand.Rand) string {
	t.Helper()
	var b strings.Builder
	for j := range 40 {
		fmt.Fprintf(&b, "x%d,", j)
	}
	b.WriteString("label\n")
	for range rows {
		x := make([]float64, 40)
		for j := range x {
			x[j] = rng.NormFloat64()
			fmt.Fprintf(&b, "%.3f,", x[j])
		}
		if x[3]-x[8] > 0 {
			b.WriteString("1\n")
		} else {
			b.WriteString("0\n")
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Where few features count, cross-validation chooses a small p, and the model finds them.
func TestFewFeaturesWantASmallP(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	train, test := table(t, "train.csv", 200, rng), table(t, "test.csv", 400, rng)
	model, accuracy, err := run(t.Context(), t.Output(), train, test)
	if err != nil {
		t.Fatal(err)
	}
	if model.P != 1.1 || accuracy < 0.9 {
		t.Errorf("p = %v with accuracy %v", model.P, accuracy)
	}
	w := model.Weights[0]
	for j := range w[:len(w)-1] { // the last is the intercept
		if j != 3 && j != 8 && max(w[j], -w[j]) >= min(w[3], -w[8]) {
			t.Errorf("weight %d is %v, those that count are %v and %v", j, w[j], w[3], w[8])
		}
	}
}

func TestATableThatIsNotThereIsAnError(t *testing.T) {
	if _, _, err := run(t.Context(), t.Output(), "no.csv", "no.csv"); err == nil {
		t.Error("no error")
	}
}
