package margin_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
)

// Rounding ends agaricus at a gap of 2e-10 for p = 10, which takes 54 iterations with the default settings.
func TestAStrictGapOnPublicDataEndsEarly(t *testing.T) {
	folder := os.Getenv("BREGMAN_DATA")
	if folder == "" {
		t.Skip("BREGMAN_DATA does not name a folder with agaricus.svm.gz")
	}
	sol, err := margin.Solve(context.Background(), read(t, filepath.Join(folder, "agaricus.svm.gz")), 10,
		margin.Settings{Gap: 1e-10})
	var short *margin.GapError
	if err != nil && !(errors.As(err, &short) && short.Rounding) || sol.Gap() > 1e-9 || sol.Iterations > 300 {
		t.Errorf("gap %.1e after %d iterations: %v", sol.Gap(), sol.Iterations, err)
	}
}

// ps are the paper's norms.
var ps = []float64{1.1, 1.5, 2, 3, 6, 10}

// The folder named by BREGMAN_DATA holds golub, alon, west and agaricus in svmlight form, with .svm.gz as ending.
func TestPublicDataAreSolvedInSeconds(t *testing.T) {
	folder := os.Getenv("BREGMAN_DATA")
	if folder == "" {
		t.Skip("BREGMAN_DATA does not name a folder with golub.svm.gz, alon.svm.gz, west.svm.gz and agaricus.svm.gz")
	}
	limits := map[string]time.Duration{"golub": 5 * time.Second, "alon": 5 * time.Second, "west": 5 * time.Second,
		"agaricus": 20 * time.Second}
	for name, limit := range limits {
		prob := read(t, filepath.Join(folder, name+".svm.gz"))
		var total time.Duration
		for _, p := range append([]float64{1, math.Inf(1)}, ps...) {
			began := time.Now()
			sol, err := margin.Solve(context.Background(), prob, p, margin.Settings{})
			took := time.Since(began)
			if p > 1 && !math.IsInf(p, 1) {
				total += took
			}
			if err != nil {
				t.Errorf("%s, p = %v: %v", name, p, err)
				if sol == nil {
					continue
				}
			}
			c := linear.Certify(prob, p, sol.W, sol.Dual)
			t.Logf("%s, p = %v: %d iterations, %v, γ = %.10g, gap %.1e, %d support vectors, %s", name, p, sol.Iterations,
				took.Round(time.Millisecond), c.Lower, c.Gap(), len(sol.Support), sol.Method)
			if c.Gap() > 1e-8 {
				t.Errorf("%s, p = %v: gap %v", name, p, c.Gap())
			}
		}
		t.Logf("%s: %v for 1 < p < ∞ together", name, total.Round(time.Millisecond))
		if total > limit {
			t.Errorf("%s took %v, want %v at most", name, total, limit)
		}
	}
}
