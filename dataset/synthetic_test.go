package dataset

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/matrix"
)

func TestR2HasThreeFixedPointsAndTwelveAroundTheMiddle(t *testing.T) {
	s := R2(1, Deviation)
	x := rowsOf(s)
	if n, d := s.X.Dims(); n != 15 || d != 2 {
		t.Fatalf("%d × %d", n, d)
	}
	if !sameRows(x[:3], [][]float64{{1. / 6, 0.5}, {0.5, 1. / 6}, {1. / 3, 1. / 3}}) {
		t.Errorf("starts with %v", x[:3])
	}
	if y, classes, err := s.Signs(); err != nil || len(classes) != 1 || y[14] != 1 {
		t.Errorf("labels %v %v %v are not absorbed", y, classes, err)
	}
	if s.Hash != "" || s.Features != nil {
		t.Errorf("a made-up set has hash %q and names %q", s.Hash, s.Features)
	}
}

// The spread of 400 sets: 9600 normal draws, whose sample deviation is within 3 % of the true one
// (four standard errors of 1/sqrt(2·9600)).
func TestTheTwoReadingsOfR2DifferInSpread(t *testing.T) {
	for _, c := range []struct {
		reading Reading
		want    float64
	}{{Deviation, 0.15}, {Variance, math.Sqrt(0.15)}} {
		sum, sum2, n := 0., 0., 0.
		for seed := range uint64(400) {
			for _, r := range rowsOf(R2(seed, c.reading))[3:] {
				for _, v := range r {
					sum, sum2, n = sum+v-0.5, sum2+(v-0.5)*(v-0.5), n+1
				}
			}
		}
		if got := math.Sqrt(sum2 / n); math.Abs(got/c.want-1) > 0.03 {
			t.Errorf("%v: deviation %v, want %v", c.reading, got, c.want)
		}
		if got := sum / n; math.Abs(got) > 4*c.want/math.Sqrt(n) {
			t.Errorf("%v: mean off by %v", c.reading, got)
		}
	}
}

func TestR100HasUpToTenEntriesBetweenMinusTwoAndFour(t *testing.T) {
	fewest, sum, count := 10, 0., 0.
	for seed := range uint64(100) {
		s := R100(seed)
		if n, d := s.X.Dims(); n != 15 || d != 100 || len(s.Y) != 15 {
			t.Fatalf("%d × %d with %d labels", n, d, len(s.Y))
		}
		if _, ok := s.X.(*matrix.CSR); !ok {
			t.Fatalf("X is a %T", s.X)
		}
		for i := range 15 {
			_, val := s.X.Row(i)
			if len(val) < 1 || len(val) > 10 || s.Y[i] != 1 {
				t.Fatalf("row with %d entries, label %v", len(val), s.Y[i])
			}
			fewest = min(fewest, len(val))
			for _, v := range val {
				if v < -2 || v >= 4 {
					t.Fatalf("entry %v", v)
				}
				sum, count = sum+v, count+1
			}
		}
	}
	if fewest == 10 {
		t.Error("no place was ever drawn twice")
	}
	if mean, tol := sum/count, 4*math.Sqrt(3/count); math.Abs(mean-1) > tol { // U(-2, 4) has variance 3
		t.Errorf("mean %v, want 1 ± %v", mean, tol)
	}
}

// Papers cite numbers from these sets: a seed means the same draws for ever.
func TestASeedGivesTheSameSetInEveryRelease(t *testing.T) {
	for _, c := range []struct {
		s    *Set
		want string
	}{
		{R2(1, Deviation), "f47a0ed10181a27a"},
		{R2(1, Variance), "b143ed5b1f36520e"},
		{R100(1), "33f383b3ccd0ab8a"},
	} {
		var w strings.Builder
		if err := WriteSVM(&w, c.s); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(w.String())))[:16]; got != c.want {
			t.Errorf("%s: %s, want %s", c.s.Name, got, c.want)
		}
	}
}

func TestReadingsHaveNames(t *testing.T) {
	if s := fmt.Sprint(Deviation, Variance, Reading(7)); s != "deviation variance Reading(7)" {
		t.Error(s)
	}
}
