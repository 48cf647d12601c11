package paper

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// times are log t from t = 10^from to 10^to.
func times(from, to float64) []float64 {
	var out []float64
	for d := from; d <= to+1e-9; d += 0.1 {
		out = append(out, d*math.Ln10)
	}
	return out
}

func TestFitsTellAPowerOfLogTFromAPowerOfT(t *testing.T) {
	logT := times(4, 9)
	for _, c := range []struct {
		name string
		d    func(logT float64) float64
		log  bool
	}{
		{"3/log² t", func(x float64) float64 { return 3 / (x * x) }, true},
		{"log^−11.5 t", func(x float64) float64 { return math.Pow(x, -11.5) }, true},
		{"t^−0.52/7", func(x float64) float64 { return math.Exp(-0.52*x) / 7 }, false},
		{"t^−0.01", func(x float64) float64 { return math.Exp(-0.01 * x) }, false},
	} {
		var d []float64
		for _, x := range logT {
			d = append(d, c.d(x))
		}
		f, ok := fitRate(logT, d, 6*math.Ln10, 9*math.Ln10)
		if !ok || !f.Falls || f.logarithmic() != c.log {
			t.Errorf("%s: %+v, %v", c.name, f, ok)
		}
		// the true model is exact but for rounding, and the other is not
		right, wrong := f.OffK, f.OffA
		if !c.log {
			right, wrong = wrong, right
		}
		if right > 1e-13 || wrong < 1e-5 {
			t.Errorf("%s: the true model leaves %v, the other %v", c.name, right, wrong)
		}
		if k := map[bool]float64{true: f.K, false: f.A}[c.log]; !strings.Contains(c.name, fmt.Sprintf("%.4g", k)) &&
			!(c.name == "3/log² t" && math.Abs(k-2) < 1e-12) {
			t.Errorf("%s: exponent %v", c.name, k)
		}
	}
}

func TestACurveThatRisesHasNoRate(t *testing.T) {
	logT := times(4, 6)
	d := make([]float64, len(logT))
	for i, x := range logT {
		d[i] = 1 / x
	}
	d[12] = d[11]
	if f, ok := fitRate(logT, d, 0, math.Inf(1)); !ok || f.Falls {
		t.Errorf("%+v, %v", f, ok)
	}
	if _, ok := fitRate(logT, d, 5.95*math.Ln10, 6*math.Ln10); ok {
		t.Error("one point was enough")
	}
}

// The bounds hold along p-GD itself. The lower one needs ηt > 1, so that η is larger than the paper's.
func TestTheNormStaysBetweenItsBounds(t *testing.T) {
	const eta, steps = 0.1, 300_000
	informative := 0
	for seed := uint64(1); seed <= 4; seed++ {
		pl := newPlane(seed, dataset.Deviation)
		for _, p := range []float64{1.5, 2, 3} {
			c, err := pl.newCurve(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			c.bounds.eta = eta
			s, err := linear.Descent{Potential: mirror.Power(p), Eta: eta}.Start(pl.prob, pl.w0)
			if err != nil {
				t.Fatal(err)
			}
			tr := linear.Trace{P: p}
			if err := tr.Run(t.Context(), s, steps); err != nil {
				t.Fatal(err)
			}
			for _, pt := range tr.Points {
				at := float64(pt.Step)
				low, sharp, up := c.bounds.lower(at), c.bounds.sharper(at), c.bounds.upper(at)
				if pt.Step >= 100 && !(pt.Norm <= up) || pt.Norm < low || pt.Norm < sharp || sharp > 0 && sharp < low {
					t.Errorf("seed %d, p = %v, step %d: %v ≤ %v ≤ %v ≤ %v", seed, p, pt.Step, low, sharp, pt.Norm, up)
				}
				if sharp > 0.2*pt.Norm {
					informative++
				}
			}
			// it is the bound of the lemma: log t − p log log t and a constant
			rest := func(t float64) float64 { return c.bounds.leastMargin(t) - math.Log(t) + p*math.Log(math.Log(t)) }
			if a, b := rest(1e200), rest(1e300); math.Abs(a-b) > 0.02*p {
				t.Errorf("seed %d, p = %v: O(1) is %v at 1e200 and %v at 1e300", seed, p, a, b)
			}
		}
	}
	if informative < 20 {
		t.Errorf("the lower bound says something at %d points only", informative)
	}
}

// Half of the data sets with the smaller spread have the fixed points as support vectors; the counts add up.
func TestRatesCountEveryDataSetOnce(t *testing.T) {
	f, err := newFigure1(t.Context(), 1, dataset.Deviation, 3000)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRates(t.Context(), f, 12)
	if err != nil {
		t.Fatal(err)
	}
	tasks := append(f.tasks(), r.tasks()...)
	if err := runAll(t.Context(), tasks, func(int) {}, func(any) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, reading := range readings {
		sets := len(r.of(reading))
		if sets+r.skipped[reading] != 12 || sets < 5 {
			t.Errorf("%v: %d data sets, %d skipped", reading, sets, r.skipped[reading])
		}
		for k, p := range ratePs {
			if n := r.kindCount(reading, 0, k) + r.kindCount(reading, 1, k) + r.kindCount(reading, 2, k); n != sets {
				t.Errorf("%v, p = %v: %d of %d have a law", reading, p, n, sets)
			}
		}
		for _, decades := range orderTimes {
			if o := r.orderAt(reading, decades); o.Faster+o.Slower+o.Neither != sets {
				t.Errorf("%v, t = 10^%d: %+v", reading, decades, o)
			}
		}
		for _, w := range windows {
			if v := r.judge(reading, w); v.Flows != figurePs*sets || v.Log+v.Power != v.Falling || v.Right > v.Falling {
				t.Errorf("%v, %v: %+v", reading, w, v)
			}
		}
	}
	if n := r.outside(); n != 0 {
		t.Errorf("%d norms are outside the bounds", n)
	}
	if d, n := r.flowError(); d > 20*eta || n > 20*eta || d == 0 {
		t.Errorf("the flow differs from p-GD by %v and %v", d, n)
	}
	if len(r.shown) == 2 && (r.shown[0].limits[1].polylog() == r.shown[1].limits[1].polylog()) {
		t.Error("both data sets of the figure have rates of one kind")
	}
	for _, s := range r.findings() {
		if strings.Contains(s, "NaN") || strings.Contains(s, "%!") {
			t.Error(s)
		}
	}
}

// With the variance some data sets are not separable: Figure 1 says so, and the rates skip them.
func TestFigure1TakesBothReadings(t *testing.T) {
	if _, err := newFigure1(t.Context(), 1, dataset.Variance, 1000); err != nil {
		t.Error(err)
	}
	_, err := newFigure1(t.Context(), 2, dataset.Variance, 1000)
	if err == nil || !strings.Contains(err.Error(), "seed 2, 0.15 is the variance") ||
		!strings.Contains(err.Error(), "--seed") {
		t.Errorf("error %v", err)
	}
	l := Linear{Steps: 1000, Seeds: 1, Seed: 1, Planes: 1, Reading: "variance", Runs: "x"}
	all, err := l.experiments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := all[0].(*figure1); f.reading != dataset.Variance || f.steps != 1000 {
		t.Errorf("%v, %d steps", f.plane, f.steps)
	}
	l.Decades = 4
	if all, err = l.experiments(t.Context()); err != nil || all[0].(*figure1).steps != 10_000 {
		t.Errorf("%d steps, %v", all[0].(*figure1).steps, err)
	}
	for _, bad := range []Linear{{Decades: 2}, {Decades: 12}, {Planes: -1}} {
		bad.Steps, bad.Seeds, bad.Runs = 1000, 1, "x"
		if bad.Planes == 0 {
			bad.Planes = 1
		}
		if bad.Check() == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func TestAStiffFlowEndsEarly(t *testing.T) {
	pl := newPlane(8, dataset.Variance) // its margin is small, and for p = 6 a weight stays near 0
	s := &followed{plane: pl, tracks: make([]track, len(ratePs))}
	for _, p := range ratePs {
		a, err := newAsymptote(t.Context(), pl.prob, p)
		if err != nil {
			t.Fatal(err)
		}
		s.limits = append(s.limits, a)
	}
	f := newFlow(pl.prob, 6, eta, pl.w0)
	if err := f.run(t.Context(), 40*math.Ln10); !errors.Is(err, errStiff) {
		t.Fatalf("error %v", err)
	}
	if err := s.follow(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if tr := s.tracks[3]; tr.at(9) < 0 || tr.at(lastTime) >= 0 {
		t.Errorf("%d points", len(tr.logT))
	}
}
