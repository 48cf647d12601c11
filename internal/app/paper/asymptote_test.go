package paper

import (
	"errors"
	"math"
	"testing"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// eachPlane calls f with the separable sets of the first seeds, of both readings, for p = 1.5, 2, 3 and 6.
func eachPlane(t *testing.T, seeds uint64, f func(reading dataset.Reading, seed uint64, prob linear.Problem,
	a *asymptote)) {
	t.Helper()
	for _, reading := range readings {
		for seed := uint64(1); seed <= seeds; seed++ {
			for _, p := range []float64{1.5, 2, 3, 6} {
				prob := linear.Problem{X: dataset.R2(seed, reading).X}
				a, err := newAsymptote(t.Context(), prob, p)
				if none := (*margin.NotSeparableError)(nil); errors.As(err, &none) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				f(reading, seed, prob, a)
			}
		}
	}
}

// at returns D(u, w/‖w‖) and ‖w‖ of a flow at t = 10^decades.
func at(t *testing.T, f *flow, a *asymptote, decades float64) (divergence, norm float64) {
	t.Helper()
	if err := f.run(t.Context(), decades*math.Ln10); err != nil {
		t.Fatal(err)
	}
	w := f.W()
	norm = mirror.Norm(w, a.P)
	return mirror.Divergence(mirror.Power(a.P), a.U, scaled(1/norm, w)), norm
}

// The best direction in the plane is that of one point, or has the same margin for two.
func TestTheDirectionIsTheBestOfAllPointsAndPairs(t *testing.T) {
	eachPlane(t, 40, func(reading dataset.Reading, seed uint64, prob linear.Problem, a *asymptote) {
		best, at := 0.0, []float64(nil)
		try := func(w []float64) {
			w = scaled(1/mirror.Norm(w, a.P), w)
			if m, _ := prob.Margin(w); m > best {
				best, at = m, w
			}
		}
		for i := range 15 {
			_, x := prob.X.Row(i)
			w := make([]float64, 2)
			mirror.DualityMap(w, x, mirror.Conjugate(a.P))
			try(w)
			for j := range i {
				_, y := prob.X.Row(j)
				try([]float64{y[1] - x[1], x[0] - y[0]})
				try([]float64{x[1] - y[1], y[0] - x[0]})
			}
		}
		// a margin comes from one product and a quotient, u from a few: some units in the last place
		if math.Abs(best/a.Margin-1) > 1e-13 || linear.Angle(at, a.U) > 1e-13 {
			t.Errorf("%v, seed %d, p = %v: margin %v at %v, want %v at %v", reading, seed, a.P, a.Margin, a.U, best, at)
		}
	})
}

// p-GD differs from the flow by a multiple of η. The paper's η = 1e-4 and a tenth of it, over the same time.
func TestTheFlowIsTheLimitOfSmallSteps(t *testing.T) {
	const time = 2. // ηt
	worst := 0.0
	eachPlane(t, 3, func(reading dataset.Reading, seed uint64, prob linear.Problem, a *asymptote) {
		w0 := start(seed, streamStart2, 2, 1)
		var off [2]float64
		for k, step := range []float64{eta, eta / 10} {
			s, err := linear.Descent{Potential: mirror.Power(a.P), Eta: step}.Start(prob, w0)
			if err != nil {
				t.Fatal(err)
			}
			steps := int(math.Round(time / step))
			if err := s.Run(t.Context(), steps); err != nil {
				t.Fatal(err)
			}
			f := newFlow(prob, a.P, step, w0)
			if err := f.run(t.Context(), math.Log1p(float64(steps))); err != nil {
				t.Fatal(err)
			}
			off[k] = math.Hypot(f.Z[0]-s.Z[0], f.Z[1]-s.Z[1]) / math.Hypot(s.Z[0], s.Z[1])
		}
		worst = max(worst, off[0])
		// the loss is about 1 at the start, so that a step moves z by some η; rounding is 1e-16 a step
		if off[0] > 3*eta || off[1] > 0.2*off[0]+1e-9 {
			t.Errorf("%v, seed %d, p = %v: steps differ from the flow by %.2g, small steps by %.2g", reading, seed, a.P,
				off[0], off[1])
		}
	})
	t.Logf("largest difference %.2g", worst)
}

// On twoPoints, w₁ and y = w₂/2 follow F(w₁) = ηt/2 + const and F(y) = 2^(−p)·ηt/2 + const with
// F(x) = ∫(p−1)x^(p−2)e^x dx, which is e^x for p = 2 and 2(x−1)e^x for p = 3.
func TestTheFlowOfTwoPointsIsKnown(t *testing.T) {
	w0 := []float64{0.7, 0.4}
	for p, f := range map[float64]func(float64) float64{
		2: math.Exp,
		3: func(x float64) float64 { return 2 * (x - 1) * math.Exp(x) },
	} {
		g := newFlow(twoPoints(p).prob, p, eta, w0)
		for _, decades := range []float64{1, 5, 9, 12} {
			if err := g.run(t.Context(), decades*math.Ln10); err != nil {
				t.Fatal(err)
			}
			w, steps := g.W(), math.Expm1(g.Tau)
			for k, c := range []struct{ x, x0, speed float64 }{
				{w[0], w0[0], 1}, {w[1] / 2, w0[1] / 2, math.Pow(2, -p)},
			} {
				want := f(c.x0) + c.speed*eta*steps/2
				// the flow is exact to 1e-12 a step, some hundred steps; e^x multiplies that by x < 30
				if got := f(c.x); math.Abs(got-want) > 1e-9*math.Abs(want) {
					t.Errorf("p = %v, t = 10^%v, coordinate %d: F(w) = %v, want %v", p, decades, k+1, got, want)
				}
			}
		}
	}
}

// A counterexample to a rate of ‖w‖^−(p−1), which is faster than ‖w‖^−2 for p > 3. On twoPoints u is along (1, 2) and
// w₁ − w₂/2 → p·log 2, so that D‖w‖² → K = ½(p−1)(p·log 2)²·2^p·(1 + 2^p)^(2/p−2).
func TestTwoSupportVectorsGiveTheRateOfTheSquaredNorm(t *testing.T) {
	for _, p := range []float64{1.5, 2, 3, 4, 6} {
		a, err := newAsymptote(t.Context(), twoPoints(p).prob, p)
		if err != nil {
			t.Fatal(err)
		}
		two := math.Pow(2, p)
		want := (p - 1) / 2 * math.Pow(p*math.Ln2, 2) * two * math.Pow(1+two, 2/p-2)
		if math.Abs(a.K/want-1) > 1e-12 || math.Abs(a.U[1]/a.U[0]-2) > 1e-14 {
			t.Errorf("p = %v: K = %v, want %v; u = %v", p, a.K, want, a.U)
		}
		f := newFlow(twoPoints(p).prob, p, 1e-4, []float64{1, 1})
		d0, r0 := at(t, f, a, 100)
		d1, r1 := at(t, f, a, 1000)
		if w := f.W(); math.Abs(w[0]-w[1]/2-p*math.Ln2) > 0.02 { // it is off by (p−2)·p·log 2/w
			t.Errorf("p = %v: w₁ − w₂/2 = %v, want %v", p, w[0]-w[1]/2, p*math.Ln2)
		}
		if math.Abs(d1*r1*r1/a.K-1) > 0.02 {
			t.Errorf("p = %v: D‖w‖² = %v, K = %v", p, d1*r1*r1, a.K)
		}
		// the paper's corollary: D‖w‖^(p−1) is bounded. It grows like ‖w‖^(p−3).
		growth := d1 * math.Pow(r1, p-1) / (d0 * math.Pow(r0, p-1))
		if p <= 3 && growth > 1.1 || p > 3 && growth < 0.9*math.Pow(r1/r0, p-3) {
			t.Errorf("p = %v: D‖w‖^(p−1) grows by a factor %v while ‖w‖ does by %v", p, growth, r1/r0)
		}
	}
}

// The laws for one, two and three support vectors.
func TestTheFlowFollowsItsLaw(t *testing.T) {
	var one, two, power int
	eachPlane(t, 36, func(reading dataset.Reading, seed uint64, prob linear.Problem, a *asymptote) {
		if seed > 8 && len(a.Support) < 3 {
			return // there are enough of these
		}
		f := newFlow(prob, a.P, eta, start(seed, streamStart2, 2, 1))
		if errors.Is(f.run(t.Context(), 20*math.Ln10), errStiff) {
			if a.P < 6 {
				t.Errorf("%v, seed %d, p = %v: %v", reading, seed, a.P, errStiff)
			}
			return
		}
		wrong := func(format string, args ...any) {
			t.Helper()
			t.Errorf("%v, seed %d, p = %v: "+format, append([]any{reading, seed, a.P}, args...)...)
		}
		switch {
		case a.K > 0:
			d, r := at(t, f, a, 300)
			if math.Exp(-min(a.Gap, a.Settle)*r) > 1e-6 {
				return // not yet settled
			}
			two++
			// the next term of D‖w‖²/K is −2(p−2)/(κR); the third derivative of ψ gives some ε/R more
			if tol := 0.01 + 3*math.Abs(a.P-2)/(a.Settle*r); math.Abs(d*r*r/a.K-1) > tol {
				wrong("D‖w‖²/K = %v, want 1 ± %.2g", d*r*r/a.K, tol)
			}
		case !a.Spread:
			d0, r0 := at(t, f, a, 100)
			d, r := at(t, f, a, 200)
			if math.Exp(-a.Gap*r0)*math.Pow(r0, a.P-1) > 1e-6 {
				return
			}
			one++
			if k := -math.Log(d/d0) / math.Log(r/r0); math.Abs(k-2*(a.P-1)) > 0.02*a.P {
				wrong("D ~ ‖w‖^−%.3f, want %v", k, 2*(a.P-1))
			}
		default:
			if math.Abs(6*a.Settle/a.Margin-1) > 1e-9 { // (1/6, 1/2), (1/2, 1/6) and (1/3, 1/3)
				wrong("κ/γ̂ = %v, want 1/6", a.Settle/a.Margin)
			}
			rate, free := a.Gap, 0.0
			if a.Settle < a.Gap {
				rate, free = a.Settle, 2*(a.P-2)
			}
			if a.P > 3 || math.Abs(math.Log(a.Settle/a.Gap)) < 0.4 {
				return // the two ways of decay are too close to be told apart
			}
			power++
			end := min(9/rate*a.Margin, 400) // D is about 1e-18 there, or t is 10^400
			d0, r0 := at(t, f, a, end/2)
			d, r := at(t, f, a, end)
			got := -(math.Log(d/d0) + (2+free)*math.Log(r/r0)) / (2 * (r - r0))
			if math.Abs(got/rate-1) > 0.15 { // other points are nearly as close to the margin
				wrong("D‖w‖^%v ~ e^(−2r‖w‖) with r = %.4f γ̂, want %.4f", 2+free, got/a.Margin, rate/a.Margin)
			}
		}
	})
	if one < 5 || two < 15 || power < 5 {
		t.Errorf("%d with one support vector, %d with two, %d with three", one, two, power)
	}
}

func TestTheNormIsThatOfItsLaw(t *testing.T) {
	eachPlane(t, 6, func(reading dataset.Reading, seed uint64, prob linear.Problem, a *asymptote) {
		f := newFlow(prob, a.P, eta, start(seed, streamStart2, 2, 1))
		if f.run(t.Context(), 100*math.Ln10) != nil || !a.Spread && a.P <= 1.5 {
			return
		}
		_, got := at(t, f, a, 100)
		// points near the margin still have e^(−gR) of the weight; else the next term is (p−2)²·log R/R
		tol := 0.02 + 0.02*math.Abs(a.P-2) + math.Exp(-a.Gap*got)
		if want := a.norm(100*math.Ln10, eta); math.Abs(a.Margin*(got-want)) > tol {
			t.Errorf("%v, seed %d, p = %v: γ̂‖w‖ = %v, want %v ± %.2g", reading, seed, a.P, a.Margin*got,
				a.Margin*want, tol)
		}
	})
}

func TestLawsAreOrderedByThePowerThenTheLogarithmThenTheConstant(t *testing.T) {
	unknown := math.NaN()
	fast := []law{{0.3, 5, unknown}, {0.3, 2, unknown}, {0.1, 9, unknown}, {0, 4, unknown}, {0, 2, 1}, {0, 2, 3}}
	for i, l := range fast {
		for j, o := range fast {
			if got := l.compare(o); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%v compared with %v: %v", l, o, got)
			}
		}
	}
	if got := fast[4].compare(law{0, 2, unknown}); got != 0 {
		t.Errorf("an unknown constant compares as %v", got)
	}
	// the tangents at u and the gap decide: a wide gap leaves t^(−1/3), a narrow one less
	a := asymptote{P: 3, Spread: true, Margin: 0.6, Settle: 0.1, Gap: 0.3}
	if got, want := a.law(), 1./3; math.Abs(got.Power-want) > 1e-15 || math.Abs(got.Log-(4-want)) > 1e-15 {
		t.Errorf("law %v", got)
	}
	a.Gap = 0.06
	if got := a.law(); math.Abs(got.Power-0.2) > 1e-15 || math.Abs(got.Log-1.8) > 1e-15 {
		t.Errorf("law with a narrow gap %v", got)
	}
}
