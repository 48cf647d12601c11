package margin_test

import (
	"context"
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// The optima were certified to 1e-12 by another program.
func TestOptimaAgreeWithTheOracle(t *testing.T) {
	f, err := os.Open("../linear/testdata/oracle.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		prob := read(t, "../linear/testdata/"+line[0]+".svm")
		p, _ := strconv.ParseFloat(line[1], 64)
		want, _ := strconv.ParseFloat(line[2], 64)
		sol, err := margin.Solve(context.Background(), prob, p, margin.Settings{})
		if err != nil {
			t.Errorf("%s, p = %v: %v", line[0], p, err)
			continue
		}
		c := linear.Certify(prob, p, sol.W, sol.Dual)
		t.Logf("%s, p = %v: %d iterations, gap %.1e", line[0], p, sol.Iterations, c.Gap())
		if got := mirror.Norm(sol.W, p); math.Abs(got/want-1) > 1e-9 || c.Gap() > 1e-9 {
			t.Errorf("%s, p = %v: norm %.12g, gap %.1e, want %.12g", line[0], p, got, c.Gap(), want)
		}
	}
}

func read(t testing.TB, path string) linear.Problem {
	t.Helper()
	set, err := dataset.Read(path, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	y, _, err := set.Signs()
	if err != nil {
		t.Fatal(err)
	}
	return linear.Problem{X: set.X, Y: y}
}
