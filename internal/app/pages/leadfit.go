package pages

import (
	"fmt"
	"math"
	"path/filepath"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// fitTitle is the title of a fit's page.
func fitTitle(r *linearmodel.FitResult, info runlog.Info) string {
	what := "Linear model"
	switch n := len(r.Classes); {
	case n > 2:
		what = fmt.Sprintf("Linear classifier of %d classes", n)
	case n > 0:
		what = "Linear classifier"
	case r.HeldR2 != nil || r.TrainR2 != nil:
		what = "Linear regression"
	}
	return fmt.Sprintf("%s on %s: p = %v", what, filepath.Base(info.Data), r.P)
}

// fitLead states the result of a fit: how well it predicts, or which margin it has.
func fitLead(s *linearmodel.Fit, r *linearmodel.FitResult, info runlog.Info, status string) (l Lead) {
	l.unfinished(info, status)
	q, of := r.Test, "test"
	if q == nil || q.Classes == nil && q.Targets == nil {
		q, of = r.HeldOut, "held-out"
	}
	switch {
	case len(r.CV) > 0 && r.CV[0].Penalty > 0 && !onPath(r):
		l.Say("No model was chosen: %s of the path were scored.", render.Count(len(r.CV), "point"))
	case q != nil && q.Classes != nil:
		l.classifies(r, q, of)
	case q != nil && q.Targets != nil:
		l.predicts(r, q, of)
	case r.Margin != nil:
		l.separates(s, r)
	default:
		l.fits(r)
	}
	l.chosenHow(s, r, of)
	l.converged(s, r)
	return l
}

// classifies states the accuracy on examples that were not trained on, beside that of the largest class.
func (l *Lead) classifies(r *linearmodel.FitResult, q *fit.Quality, of string) {
	c := q.Classes
	l.Say("With p = %v the model classifies %.2f %% of %s %s examples correctly (%s).", r.P, 100*c.Accuracy,
		render.Thousands(c.N), of, interval(c.Accuracy, c.N))
	low, high := wilson(c.Accuracy, c.N)
	base := fmt.Sprintf("always predicting the most frequent class, which is correct for %.2f %%", 100*c.Majority)
	switch {
	case low > c.Majority:
		l.Claim("That is better than %s: the interval is above it.", base)
	case high < c.Majority:
		l.Claim("That is worse than %s: the interval is below it.", base)
	default:
		l.Claim("It is not distinguishable from %s: the interval contains it.", base)
	}
}

// predicts states R² and the error of a regression.
func (l *Lead) predicts(r *linearmodel.FitResult, q *fit.Quality, of string) {
	t := q.Targets
	target := "the target"
	if r.Label != "" {
		target = "“" + r.Label + "”"
	}
	rmse := fmt.Sprintf("%.4g", t.RMSE)
	if c := choiceOf(r); c != nil && of == "held-out" && !math.IsNaN(c.error(c.chosen())) {
		rmse = fmt.Sprintf("%s ± %.2g", rmse, c.error(c.chosen()))
	}
	l.Say("With p = %v the model explains %.1f %% of the variance of %s in %s %s examples (R² = %.3f, RMSE %s).",
		r.P, 100*max(0, t.R2), target, render.Thousands(t.N), of, t.R2, rmse)
	if t.R2 <= 0 {
		l.Claim("It is no better than always answering the mean, whose R² is 0.")
		return
	}
	l.Claim("Its errors are %.0f %% smaller than those of always answering the mean (root mean square).",
		100*(1-math.Sqrt(1-t.R2)))
}

// separates states the margin and how far the largest can be.
func (l *Lead) separates(s *linearmodel.Fit, r *linearmodel.FitResult) {
	norm := "ℓ" + subscript(r.P)
	switch {
	case r.Soft > 0:
		l.Say("In %s the worst %.3g %% of the %s training examples have a mean margin of %.5g.", norm, 100*r.Soft,
			render.Thousands(r.N), *r.Margin)
	case r.Gap != nil:
		l.Say("The weights separate all %s training examples with an %s margin of %.6g, at most %s below the largest "+
			"possible.", render.Thousands(r.N), norm, *r.Margin, percentOf(*r.Gap))
	default:
		l.Say("The weights separate all %s training examples with an %s margin of %.6g.", render.Thousands(r.N), norm,
			*r.Margin)
	}
	switch {
	case r.Gap == nil:
		l.Claim("How much larger the margin could be is not known: there is no certificate.")
	case r.Upper != nil:
		l.Claim("The largest possible margin is proved to be at most %.6g, by a solution of the dual problem.", *r.Upper)
	}
	switch {
	case r.TestAccuracy != nil:
		l.Claim("Of the test examples it classifies %.2f %% correctly.", 100**r.TestAccuracy)
	case len(r.CV) == 0:
		l.Claim("This is about the training examples alone: none were held out, so that nothing is known about new ones.")
	}
}

// fits states what is left if there is neither a quality nor a margin.
func (l *Lead) fits(r *linearmodel.FitResult) {
	switch {
	case r.TrainAccuracy != nil && r.None != "":
		l.Say("The weights classify %.2f %% of the %s training examples correctly; they have no positive margin.",
			100**r.TrainAccuracy, render.Thousands(r.N))
		l.Claim("Why: %s.", r.None)
	case r.TrainAccuracy != nil:
		l.Say("The weights classify %.2f %% of the %s training examples correctly.", 100**r.TrainAccuracy,
			render.Thousands(r.N))
	case r.TestR2 != nil:
		l.Say("On the test examples the model has R² = %.3f.", *r.TestR2)
	case r.TrainR2 != nil:
		l.Say("On the %s training examples the model has R² = %.3f, loss %s.", render.Thousands(r.N), *r.TrainR2,
			number(r.Loss))
	default:
		l.Say("The training loss over %s examples is %s.", render.Thousands(r.N), number(r.Loss))
	}
	if r.TestAccuracy != nil {
		l.Claim("Of the test examples it classifies %.2f %% correctly.", 100**r.TestAccuracy)
	} else if r.TestR2 == nil && len(r.CV) == 0 {
		l.Claim("This is about the training examples alone: none were held out, so that nothing is known about new ones.")
	}
}

// chosenHow says how certain the choice of p and penalty is, and on which examples it was made.
func (l *Lead) chosenHow(s *linearmodel.Fit, r *linearmodel.FitResult, of string) {
	if of == "test" {
		if s.Test == s.Data {
			l.Claim("The test examples are the training examples: this says nothing about new ones.")
			return
		}
		if len(r.CV) > 0 {
			l.Claim("The test examples were not used to choose p or the penalty.")
		}
	}
	c := choiceOf(r)
	if c == nil && len(r.CV) > 0 {
		c = &candidates{all: r.CV, folds: s.CV}
	}
	if c == nil || len(c.all) < 2 {
		return
	}
	what := "the penalty was"
	if len(c.ps()) > 1 {
		what = "p and the penalty were"
		if r.CV[0].Penalty == 0 {
			what = "p was"
		}
		l.Claim("%s", c.sureOfP())
	}
	if of != "test" {
		l.Claim("New examples may do slightly worse: %s the best of %d on these same held-out examples.", what,
			len(c.all))
	}
}

// sureOfP says which other p are within one standard error of the chosen one.
func (c *candidates) sureOfP() string {
	best := c.chosen()
	score := func(s fit.Score) (value, se float64) { // less is better
		if c.byLoss() && s.LogLoss != nil {
			return *s.LogLoss, s.LossDeviation / math.Sqrt(float64(c.folds))
		}
		if c.regression {
			return c.value(s), c.error(s)
		}
		return -c.value(s), c.error(s)
	}
	at, se := score(best)
	if c.folds < 2 {
		return fmt.Sprintf("p = %v was the best of %d p on one part of the examples: how certain that is is not known.",
			best.P, len(c.ps()))
	}
	var near []string
	for _, p := range c.ps() {
		if p == best.P {
			continue
		}
		if v, _ := score(c.best(p)); v-at <= se {
			near = append(near, fmt.Sprint(p))
		}
	}
	if len(near) == 0 {
		return fmt.Sprintf("p = %v is the best of %d p; every other is more than one standard error worse over %d folds.",
			best.P, len(c.ps()), c.folds)
	}
	return fmt.Sprintf("p = %v is not distinguishable from p = %s: within one standard error over %d folds.", best.P,
		Listed(near), c.folds)
}

// looseGap is the relative gap from which a fit counts as not converged.
const looseGap = 0.01

// converged says whether the fit is known to be at its optimum.
func (l *Lead) converged(s *linearmodel.Fit, r *linearmodel.FitResult) {
	switch {
	case r.Gap != nil && r.Margin != nil && *r.Gap > max(looseGap, s.Gap):
		l.Claim("The fit has not converged: the margin may be %s below the largest.", percentOf(*r.Gap))
	case r.Objective != nil && r.Excess != nil && *r.Objective > *r.Excess:
		rel := *r.Excess / (*r.Objective - *r.Excess)
		if rel > looseGap {
			l.Claim("The fit has not converged: its objective may be %s above the least possible.", percentOf(rel))
			return
		}
		l.Claim("The fit has converged: its objective is proved to be within %s of the least possible.", percentOf(rel))
	case r.Margin == nil && r.Excess == nil:
		l.Claim("Nothing proves that the fit has converged.")
	}
}

// percentOf writes a small share in percent.
func percentOf(v float64) string { return fmt.Sprintf("%.2g %%", 100*v) }

// number writes a number that may be missing.
func number(v *float64) string {
	if v == nil {
		return "not finite"
	}
	return fmt.Sprintf("%.4g", *v)
}

// subscript writes p below a letter.
func subscript(p mirror.Exponent) string {
	out := ""
	for _, c := range p.String() {
		switch {
		case c >= '0' && c <= '9':
			out += string('₀' + c - '0')
		case c == '.':
			out += "."
		default: // infinity
			return "∞"
		}
	}
	return out
}
