package paper

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

func TestEveryStatementFailsWhenWhatItIsAboutIsBroken(t *testing.T) {
	if testing.Short() {
		t.Skip("some twenty runs of verify")
	}
	m, err := breakAll(t.Context(), breakerPs, 1, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.findings {
		if f.Verdict != Pass {
			t.Errorf("%s: %s, measured %v, bound %v (%s)", f.Name, f.Verdict, f.Measured, f.Bound, f.Worst)
		}
	}
	for _, name := range m.missed() {
		t.Errorf("%s: nothing that breaks it, or that it breaks", name)
	}
	t.Log("\n" + m.table().Text())
}

// The default of verify is seeds 1 to 3; the statements hold for any.
func TestStatementsHoldForOtherSeedsAndEveryP(t *testing.T) {
	if testing.Short() {
		t.Skip("a run of verify")
	}
	ps := append([]float64{1.05, 20}, numbers.Ps...)
	findings, _, err := verify(t.Context(), ours(t.Context()), ps, 1001, 1, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Verdict == Fail || f.Verdict == NotTested {
			t.Errorf("%s: %s, measured %v, bound %v (%s)", f.Name, f.Verdict, f.Measured, f.Bound, f.Worst)
		}
		undecided := slices.DeleteFunc(f.Without(), func(p float64) bool { return !slices.Contains(numbers.Ps, p) })
		if len(undecided) > 2 {
			t.Errorf("%s is not decided for p = %v", f.Name, undecided)
		}
		for _, b := range f.ByP {
			if (b.Verdict == Undecided || b.Verdict == NotTested) && b.Reason == "" {
				t.Errorf("%s, p = %v: %s without a reason", f.Name, b.P, b.Verdict)
			}
			if b.Verdict == Refuted && b.P <= 3 {
				t.Errorf("%s, p = %v: %s", f.Name, b.P, b.Reason)
			}
		}
	}
}

func TestAStatementThatWasNeverTestedDoesNotPass(t *testing.T) {
	st := statement[setting]{Bound: 1}
	run := func(change func(*tally)) Finding {
		r := newTally(false)
		r.about, r.p, r.here = true, 2, setting{name: "R²", p: 2}
		change(r)
		return st.judge([]*tally{r})
	}
	if f := st.judge(nil); f.Verdict != NotTested || f.Pass {
		t.Errorf("no runs: %+v", f)
	}
	if f := run(func(*tally) {}); f.Verdict != NotTested || f.Pass {
		t.Errorf("no cases: %+v", f)
	}
	if f := run(func(r *tally) { r.record(math.NaN()); r.record(0) }); f.Verdict != Fail || f.Worst != "R², p = 2" {
		t.Errorf("NaN was forgotten: %+v", f)
	}
	if f := run(func(r *tally) { r.record(0); r.countIf(false) }); f.Verdict != NotTested {
		t.Errorf("the condition never held: %+v", f)
	}
	if f := run(func(r *tally) { r.record(0); r.undecide("too short") }); f.Verdict != Undecided || f.Pass {
		t.Errorf("undecided: %+v", f)
	}
	if f := run(func(r *tally) { r.record(2); r.undecide("too short") }); f.Verdict != Fail {
		t.Errorf("undecided, but it fails: %+v", f)
	}
	if f := run(func(r *tally) { r.record(2); r.refute("here") }); f.Verdict != Refuted || f.ByP[0].Reason != "here" {
		t.Errorf("refuted: %+v", f)
	}
	if f := run(func(r *tally) { r.record(0) }); f.Verdict != Pass || !f.Pass {
		t.Errorf("it passes: %+v", f)
	}
}

// One p that decides nothing must show in the line of all p.
func TestAVerdictOverAllPNamesThoseWithoutADecision(t *testing.T) {
	st := statement[setting]{Bound: 1}
	var runs []*tally
	for _, p := range []float64{2, 10} {
		r := newTally(false)
		r.about, r.where, r.here = true, where{p: p, data: "R²"}, setting{name: "R²", p: p}
		r.record(0)
		if p == 10 {
			r.undecide("too short")
		}
		runs = append(runs, r)
	}
	f := st.judge(runs)
	if f.Verdict != Partly || !slices.Equal(f.Without(), []float64{10}) || f.ByP[1].Reason != "too short" {
		t.Errorf("%+v", f)
	}
}

// No margin is the best possible if no w separates the data: the report says so instead of showing 0.
func TestAHyperbolicLimitThatIsNotMeasuredSaysWhy(t *testing.T) {
	prob := linear.Problem{X: matrix.FromRows([][]float64{{1, 0}, {-1, 0}})}
	l := &potentialLimit{t.Context(), ours(t.Context()), "two opposite points", prob}
	if h := l.hyperbolic(1); h.Error == "" {
		t.Errorf("%+v", h)
	}
}

func TestVerifyPrintsOneLinePerStatementOrJSON(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out, errs bytes.Buffer
		v := Verify{P: []float64{2}, Seeds: 1, Seed: 1, Runs: t.TempDir(), Printed: command.Printed{JSON: asJSON}}
		if err := command.Run(t.Context(), &command.Env{Observer: command.Lines(&errs)}, &v, &out); err != nil {
			t.Fatal(err)
		}
		if asJSON {
			var got struct {
				Statements []Finding
				Verdicts   map[Verdict]int
			}
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if n := len(got.Statements); n < 40 || got.Verdicts[Pass] != n {
				t.Errorf("%d statements, verdicts %v", n, got.Verdicts)
			}
			for _, f := range got.Statements {
				if len(f.ByP) != 1 || f.ByP[0].Verdict != Pass {
					t.Errorf("%s: %+v", f.Name, f.ByP)
				}
			}
		} else if n := strings.Count(out.String(), "\npass "); n < 40 || !strings.Contains(out.String(), ", 0 fail (") {
			t.Errorf("%d lines begin with pass:\n%s", n, out.String())
		}
	}
}

// Each tail is written down twice, as a loss for descents and in logarithms for the checks.
func TestTailsAgreeWithTheirLosses(t *testing.T) {
	for _, l := range tails {
		for _, s := range []float64{-5, -0.3, 0.1, 1, 7, 30} {
			one, coef := []float64{s}, []float64{0}
			if want := math.Log(l.loss.Sum(one)); math.Abs(l.log(s)-want) > 1e-12*(1+math.Abs(want)) {
				t.Errorf("%s: log ℓ(%v) = %v, want %v", l.name, s, l.log(s), want)
			}
			if l.loss.Normalized(coef, one); math.Abs(coef[0]/l.slope(s)-1) > 1e-12 {
				t.Errorf("%s: −ℓ′/ℓ(%v) = %v, want %v", l.name, s, l.slope(s), coef[0])
			}
			l.loss.Curvature(coef, one)
			if least := coef[0] / l.loss.Sum(one); l.curve(s) < least*(1-1e-12) && s > 0 {
				t.Errorf("%s: ℓ″/ℓ(%v) is %v, more than %v", l.name, s, least, l.curve(s))
			}
			if back := l.inverse(l.log(s)); math.Abs(back-s) > 1e-9*(1+math.Abs(s)) {
				t.Errorf("%s: ℓ⁻¹(ℓ(%v)) = %v", l.name, s, back)
			}
			if l.exponential() && s > 0 {
				top := math.Log(l.b) - l.a*s
				if v := l.log(s); v > top+1e-12 || v < top+math.Log(l.kappa)-1e-12 {
					t.Errorf("%s: log ℓ(%v) = %v is not between κb·e^(−as) and b·e^(−as)", l.name, s, v)
				}
			}
		}
	}
}

// The counterexample to Corollaries 15 and 17 by hand: the coordinates of w are independent, so w₁ − w₂/2 → p log 2.
func TestTwoPointsTendToTheirClosedForm(t *testing.T) {
	for _, p := range []float64{1.5, 2, 6} {
		sub := ours(t.Context())
		err := follow(t.Context(), sub, sub.descent(twoPoints(p), expTail, growingSteps), func(k *trajectory) {
			if !k.ended {
				return
			}
			// The next term is O(p²/w₁).
			if got, want := k.next[0]-k.next[1]/2, p*math.Log(2); math.Abs(got-want) > p*p/k.next[0]*10 {
				t.Errorf("p = %v: w₁ − w₂/2 = %v, want %v", p, got, want)
			}
			// ‖w‖ = w₁‖(1, 2)‖, and D‖w‖² → K.
			want := k.twoSupport().K
			if got := k.sample.dist * k.nextR * k.nextR; math.Abs(got/want-1) > 0.05 {
				t.Errorf("p = %v: D‖w‖² = %v, want %v", p, got, want)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
