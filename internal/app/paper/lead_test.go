package paper

import (
	"strings"
	"testing"
)

func TestThePageOfVerifyBeginsWithWhatHolds(t *testing.T) {
	findings := []Finding{{Name: "Lemma 2", Verdict: Pass}, {Name: "Lemma 3", Verdict: Pass, Beyond: true}}
	lead := func() string {
		l := verifyLead(findings, []float64{2, 3})
		return strings.Join(append([]string{l.Sentence}, l.Claims...), " ")
	}
	if got := lead(); !strings.HasPrefix(got, "All of 2 statements hold for every p of 2, 3; none fails.") ||
		!strings.Contains(got, "but not prove it") {
		t.Error(got)
	}
	findings[1].Verdict = Partly
	if got := lead(); !strings.HasPrefix(got, "Of 2 statements 1 holds for every p of 2, 3; none fails.") ||
		!strings.Contains(got, "Not decided for every p: Lemma 3.") {
		t.Error(got)
	}
	findings[0].Verdict = Refuted
	if got := lead(); !strings.Contains(got, "False as the paper prints them, with a counterexample for some "+
		"p: Lemma 2.") {
		t.Error(got)
	}
	findings[0].Verdict = Fail
	if got := lead(); !strings.HasPrefix(got, "Of 2 statements 0 hold for every p of 2, 3; 1 fails.") ||
		!strings.Contains(got, "FAIL: Lemma 2.") {
		t.Error(got)
	}
}

// What the theorems are about comes first, each finding once, and no more than four.
func TestTheNormsComeFirstOfWhatWasFound(t *testing.T) {
	l := findingsLead([]string{"Figure 1: a.", "How fast: b.", "R¹⁰⁰: c.", "R¹⁰⁰: d.", "Regression: e."})
	if l.Sentence != "R¹⁰⁰: c." || strings.Join(l.Claims, " ") != "Regression: e. Figure 1: a. How fast: b." {
		t.Errorf("%+v", l)
	}
	if l := findingsLead(nil); l.Sentence != "" || len(l.Claims) != 0 {
		t.Errorf("%+v", l)
	}
}
