package train

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/optim"
)

func TestTheSearchFindsARateThatLearnsAndIsDeterministic(t *testing.T) {
	set := quick
	set.Batch = 10
	x := session(t, small(t, 200, 40), set)
	for _, p := range []float64{1.5, 3} {
		r := quickRun(x, p)
		r.HoldBack = 50
		short, longer := r, r
		short.Epochs, short.Schedule = 2, optim.Triangular(2*x.PerEpoch, x.PerEpoch/2)
		longer.Epochs, longer.Schedule = 3, optim.Triangular(3*x.PerEpoch, x.PerEpoch/2)
		told := 0
		plans := []Plan{short, short, longer}
		a, err := x.SearchRate(t.Context(), plans, 1e-4, func(TriedRate) { told++ }) // far too low a start
		if err != nil || told != len(a.Tried) || a.Held != 50 {
			t.Fatal(err, told, a)
		}
		b, err := x.SearchRate(t.Context(), plans, 1e-4, func(TriedRate) {})
		if err != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("p = %v: two searches differ, %v", p, err)
		}
		r.LR = a.Rate
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		first := epochs(t, x, r, 0, 1)
		last := epochs(t, x, r, 1, 4)
		t.Logf("p = %v: rate %v after %d short runs; loss %.3f to %.3f", p, a.Rate, told, first.Loss, last.Loss)
		if !(last.Loss < first.Loss-0.1) || a.Rate < 0.01 || a.Rate > 10 {
			t.Errorf("p = %v: rate %v, loss from %v to %v", p, a.Rate, first.Loss, last.Loss)
		}
	}
}

// hill is an accuracy that is highest at a rate and falls by 2 % within half a decade and by 8 % within one, no lower
// than guessing; beyond edge it diverges.
func hill(top, edge float64) func(float64) (float64, error) {
	return func(rate float64) (float64, error) {
		if rate > edge {
			return math.NaN(), nil
		}
		return max(0.1, 0.9-0.08*math.Pow(math.Log10(rate/top), 2)), nil
	}
}

func TestTheSearchEndsAtTheTop(t *testing.T) {
	flat := func(float64) (float64, error) { return 0.9, nil }
	for _, c := range []struct {
		name        string
		short       func(float64) (float64, error)
		long        func(float64) (float64, error)
		first       float64
		least, most float64
		runs        int // in all
	}{
		{"at the start", hill(0.1, 10), hill(0.1, 10), 0.1, 0.095, 0.105, 6},
		{"between", hill(0.05, 10), hill(0.05, 10), 0.1, 0.047, 0.053, 7}, // a parabola is found exactly
		{"three decades above", hill(100, 1e9), hill(100, 1e9), 0.1, 95, 105, 9},
		{"three decades below", hill(1e-4, 1e9), hill(1e-4, 1e9), 0.1, 0.9e-4, 1.1e-4, 9},
		{"just below where it diverges", hill(0.3, 0.35), hill(0.3, 0.35), 0.1, 0.1, 0.32, 8},
		{"the start diverges", hill(1e-3, 0.02), hill(1e-3, 0.02), 1, 0.9e-3, 1.1e-3, 12},
		{"the start learns nothing", hill(1e-5, 1e9), hill(1e-5, 1e9), 1, 0.9e-5, 1.1e-5, 14},
		{"at the end of the rates", hill(1e6, 1e99), hill(1e6, 1e99), 1e3, 0.9 * highestRate, highestRate, 6},
		{"longer runs want a decade more", hill(0.1, 1e9), hill(1, 1e9), 0.1, 0.95, 1.05, 9},
		{"longer runs want a decade less", hill(0.1, 1e9), hill(0.01, 1e9), 0.1, 0.009, 0.011, 9},
		{"longer runs want far more than they may move", hill(0.1, 1e9), hill(1e4, 1e9), 0.1, 20, 100, 11},
		{"flat where runs are longer", hill(0.1, 1e9), flat, 0.1, 0.1, 60, 14}, // the largest that was tried
	} {
		runs := 0
		counted := func(score func(float64) (float64, error)) func(float64) (float64, error) {
			return func(rate float64) (float64, error) {
				runs++
				return score(rate)
			}
		}
		s := RateSearch{Held: 5000}
		err := s.search(c.first, 0.1, []round{{2, math.MaxInt, false, counted(c.short)},
			{1, mostMoves, false, counted(c.long)}})
		if err != nil || s.Rate < c.least || s.Rate > c.most || runs > c.runs {
			t.Errorf("%s: rate %v after %d runs, %v", c.name, s.Rate, runs, err)
		}
	}
}

// A larger rate that is worse by less than chance may make it wins in every round but the last.
func TestShortRunsGiveWayToLargerRates(t *testing.T) {
	short := func(rate float64) (float64, error) { return map[bool]float64{true: 0.897, false: 0.9}[rate > 0.5], nil }
	s := RateSearch{Held: 5000} // a standard error of 0.42 %
	var longer []float64
	err := s.search(1, 0.1, []round{{2, 0, false, short}, {1, 0, false, func(rate float64) (float64, error) {
		longer = append(longer, rate)
		return hill(3.2, 1e9)(rate)
	}}})
	if err != nil || longer[0] != 10 || s.Rate < 3 || s.Rate > 3.4 {
		t.Errorf("rate %v, the longer runs %v: %v", s.Rate, longer, err)
	}
}

func TestARoundOfTheSameLengthMakesNoRunTwice(t *testing.T) {
	seen := map[float64]int{}
	score := func(rate float64) (float64, error) {
		seen[rate]++
		return hill(0.1, 1e9)(rate)
	}
	s := RateSearch{Held: 5000}
	err := s.search(0.1, 0.1, []round{{2, math.MaxInt, false, score}, {1, mostMoves, true, score}})
	if err != nil || s.Rate < 0.095 || s.Rate > 0.105 || len(seen) != 5 {
		t.Errorf("rate %v, %v: %v", s.Rate, seen, err)
	}
	for rate, n := range seen {
		if n > 1 {
			t.Errorf("%d runs at %v", n, rate)
		}
	}
}

func TestASearchThatCannotGoOn(t *testing.T) {
	s := RateSearch{Held: 5000}
	err := s.search(0.1, 0.1, []round{{2, math.MaxInt, false, hill(1, 0)}})
	if err == nil || !strings.Contains(err.Error(), "any learning rate") {
		t.Errorf("it always diverges: %v", err)
	}
	stop := errors.New("stop")
	interrupt := func(float64) (float64, error) { return 0, stop }
	if err := s.search(0.1, 0.1, []round{{2, 5, false, interrupt}}); !errors.Is(err, stop) {
		t.Errorf("an interrupt does not end the search: %v", err)
	}
	if err := s.search(0.1, 0.1, []round{{2, 5, false, hill(1, 10)}, {1, 5, false, interrupt}}); !errors.Is(err, stop) {
		t.Errorf("an interrupt does not end the second round: %v", err)
	}
}
