package margin

import (
	"fmt"
	"math"
)

// GapError says that the solution it comes with is not as good as was asked for. If Gap is +Inf there is none: neither
// a w with a positive margin was found nor a proof that there is none.
type GapError struct {
	Gap, Want  float64
	Iterations int
	Rounding   bool    // more iterations would not help
	Cause      error   // why the solver was stopped from outside, nil if it was not
	Upper      float64 // if Gap is +Inf: no w has a larger margin than this; +Inf if nothing is known
	Scale      *Scale  // the column whose scale stands in the way, nil if columns are of similar scales
	Unproved   int     // how many examples a proof may need, if that is too many to try; else 0
}

// Scale names a column that is large beside another.
type Scale struct {
	Column, Small int     // counted from 0
	Ratio         float64 // of their largest values
}

func (e *GapError) Error() string {
	switch none := math.IsInf(e.Gap, 1); {
	case e.Cause != nil && none:
		return fmt.Sprintf("stopped after %d iterations without a w that separates the data: %v", e.Iterations, e.Cause)
	case e.Cause != nil:
		return fmt.Sprintf("stopped after %d iterations at a relative gap of %.2g, wanted %.2g: %v",
			e.Iterations, e.Gap, e.Want, e.Cause)
	case none && e.Rounding:
		return fmt.Sprintf("not decided in float64: no w that separates the data was found in %d iterations, nor a proof "+
			"that "+
			"there is none (%s); %s", e.Iterations, e.bound(), e.advice())
	case none:
		return fmt.Sprintf("no w that separates the data was found in %d iterations, nor a proof that there is none (%s)",
			e.Iterations, e.bound())
	case e.Rounding && e.Scale != nil:
		return fmt.Sprintf("the relative gap is %.2g after %d iterations, wanted %.2g, but rounding allows no more: "+
			"allow a larger gap, or %s", e.Gap, e.Iterations, e.Want, e.advice())
	case e.Rounding:
		return fmt.Sprintf("the relative gap is %.2g after %d iterations, wanted %.2g, but rounding allows no more: "+
			"allow a larger gap", e.Gap, e.Iterations, e.Want)
	}
	return fmt.Sprintf("the relative gap is %.2g after %d iterations, wanted %.2g: allow a larger gap",
		e.Gap, e.Iterations, e.Want)
}

// bound says what is known of the margin.
func (e *GapError) bound() string {
	if math.IsInf(e.Upper, 1) {
		return "nothing is known of the margin"
	}
	return fmt.Sprintf("a margin is at most %.3g", e.Upper)
}

func (e *GapError) advice() string {
	switch {
	case e.Unproved > 0:
		return fmt.Sprintf("an exact proof may need %d examples, and is tried with up to %d", e.Unproved, mostExact)
	case e.Scale == nil:
		return "a constant feature (bias) or more features may help"
	}
	return fmt.Sprintf("rescale column %d, whose values are %.1g times as large as those of column %d",
		e.Scale.Column+1, e.Scale.Ratio, e.Scale.Small+1)
}

func (e *GapError) Unwrap() error { return e.Cause }
