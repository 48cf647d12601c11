package fit

import (
	"context"
	"fmt"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
)

// softest is the largest share of worst margins that is tried if none is asked for, after a quarter and a half of it.
const softest = 0.4

// rescue looks at the last fit of an outcome, if it has no positive margin or not the gap that was asked for. It asks
// the exact solver for a better one, or makes the margin softer and reports that all weight vectors are to be fitted
// again.
func (t *trainer) rescue(ctx context.Context, prob linear.Problem, k int, set linear.Settings, out outcome,
	h hooks) (outcome, bool, error) {
	r := out.fits[len(out.fits)-1]
	if set.Method != linear.MethodAccelerated {
		return out, false, nil
	}
	if r.Lower > 0 {
		goal := set.Gap
		if t.Gap > 0 {
			goal = t.Gap
		}
		if out.Soft == 0 && r.Gap() > goal && (t.useExactSolver(prob, out.Attempt) || exactIsFaster(prob)) {
			out, err := t.handOver(ctx, prob, goal, out)
			return out, false, err
		}
		return out, false, nil
	}
	if r.Steps >= t.Steps {
		return out, false, nil
	}
	if t.Soft > 0 {
		out.none = fmt.Sprintf("the mean of the worst %.0f %% of margins is not positive after %d steps", 100*t.Soft, r.Steps)
		h.tell(SoftTooSmall, "%s", out.none)
		return out, false, nil
	}
	out, found, err := t.solveExactly(ctx, prob, k, out)
	if found || err != nil {
		return out, false, err
	}
	if out.Soft >= softest {
		what := fmt.Sprintf("the mean of the worst %.0f %% of margins is not positive either", 100*out.Soft)
		h.tell(NoMargin, "%s", what)
		out.none += "; " + what
		return out, false, nil
	}
	what := out.none
	switch {
	case out.Soft > 0:
		what = fmt.Sprintf("no positive mean of the worst %.0f %% of margins was found in %d steps (it is at most %.3g)",
			100*out.Soft, r.Steps, r.Upper)
	case !out.refuted:
		what = fmt.Sprintf("no positive margin was found in %d steps (it is at most %.3g)", r.Steps, r.Upper)
	}
	if out.none == "" {
		out.none = what
	}
	out.Soft = softer(out.Soft, prob, r.W)
	h.tell(Softened, "%s: maximising the mean of the worst %.0f %% instead", what, 100*out.Soft)
	return out, true, nil
}

// tell says something about the fit, unless nobody listens.
func (h hooks) tell(kind RemarkKind, format string, args ...any) {
	if h.say != nil {
		h.say(kind, format, args...)
	}
}

// softer is the next share of worst margins to try after soft, for data of which w gets some examples wrong: the mean
// of a share is not positive if all of the share is wrong.
func softer(soft float64, prob linear.Problem, w []float64) float64 {
	_, right := prob.Margin(w)
	for next := softest / 4; next < softest; next *= 2 {
		if next > soft && next > 1-right {
			return next
		}
	}
	return softest
}

// hardlySolved is the gap above which a soft margin was not found. One that is found has 1e-3.
const hardlySolved = 0.1

// checkScale returns an error if features of different scales kept a soft margin from being found: its weights would be
// useless.
func (t *trainer) checkScale(prob linear.Problem, out outcome) error {
	if out.Soft == 0 || t.Soft > 0 {
		return nil
	}
	for _, r := range out.fits {
		if r.Gap() > hardlySolved {
			if s := margin.Scales(prob); s != nil {
				why, _, _ := strings.Cut(out.none, "; ")
				return &UnevenError{Set: t.set, Scale: s, Text: why + ", and a soft margin was not found either"}
			}
		}
	}
	return nil
}

// UnevenError says that features of very different scales keep a margin from being found.
type UnevenError struct {
	Set   *dataset.Set
	Scale *margin.Scale
	Text  string // what was not found
}

func (e *UnevenError) Error() string {
	return fmt.Sprintf("%s: %s: %s: scale the features", e.Set.Name, e.Text, e.Features())
}

// Features says which feature stands in the way.
func (e *UnevenError) Features() string {
	return fmt.Sprintf("feature %s is %.1g times as large as feature %s", FeatureName(e.Set, e.Scale.Column),
		e.Scale.Ratio,
		FeatureName(e.Set, e.Scale.Small))
}
