package fit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// useExactSolver reports whether the exact solver is quicker to the gap asked for: below 1e-4, if its equations are not
// large.
func (t *trainer) useExactSolver(prob linear.Problem, a Attempt) bool {
	return t.ChosenMethod() == linear.MethodAccelerated && a.Soft == 0 && t.Gap > 0 && t.Gap < 1e-4 && exactFits(prob)
}

// exactFits reports whether the equations of the exact solver are not large.
func exactFits(prob linear.Problem) bool {
	n, d := prob.Dims()
	return min(n, d) <= 2000 && max(n, d) <= 50_000
}

// exactIsFaster reports whether they take no longer than the accelerated method: a second or two for the thirty systems
// of equations.
func exactIsFaster(prob linear.Problem) bool {
	n, d := prob.Dims()
	k := float64(min(n, d))
	work := k * k * float64(max(n, d))
	if m, ok := prob.X.(*matrix.Pairs); ok { // made class by class, from the products of examples
		x, _, classes := m.Examples()
		n, d := x.Dims()
		work = max(2*float64(classes)*float64(n)*float64(d)*float64(min(n, d)), k*k*k)
	}
	return exactFits(prob) && work <= 1e9
}

// scalerRounding is the margin, as a share of the longest example, that centring features in float64 may make up.
const scalerRounding = 1e-12

// solveExactly asks the exact solver for a margin that the accelerated method has not found, if that is quick, and puts
// it in place of the last fit. If the scale of a feature is why there is none, that is an error.
func (t *trainer) solveExactly(ctx context.Context, prob linear.Problem, k int, out outcome) (outcome, bool, error) {
	if out.Soft > 0 || !exactIsFaster(prob) {
		return out, false, nil
	}
	s, err := margin.Solve(ctx, prob, out.P, margin.Settings{Gap: max(t.Gap, 1e-8)})
	if s != nil {
		if t.Scale == "std" && s.Lower <= scalerRounding*prob.RowNorm(mirror.Conjugate(out.P)) {
			return out, false, ctx.Err() // what the scaler rounded would decide
		}
		return out.replaced(s), true, ctx.Err()
	}
	var not *margin.NotSeparableError
	var short *margin.GapError
	switch {
	case errors.As(err, &not):
		out.refuted = true
		what := "no weights separate the data"
		if c := t.class(k); c != nil {
			what = fmt.Sprintf("no weights separate class %s from the rest", t.className(*c))
		}
		out.none = fmt.Sprintf("%s: the examples %s cancel exactly", what, some(not.Rows))
		if t.jointMargin() {
			what = "no weights put the right class first on all examples"
			out.none = fmt.Sprintf("%s: comparisons with other classes cancel exactly on the examples %s", what,
				some(not.Examples()))
		}
		if len(not.Rows) == 1 {
			out.none = fmt.Sprintf("%s: all values of example %d are 0", what, not.Examples()[0]+1)
		}
	case errors.As(err, &short) && short.Scale != nil && short.Cause == nil:
		return out, false, &UnevenError{Set: t.set, Scale: short.Scale,
			Text: fmt.Sprintf("not decided in float64: no positive margin was found (it is at most %.3g)", short.Upper)}
	}
	return out, false, ctx.Err()
}

// some lists examples, counted from 1, and how many more there are.
func some(rows []int) string {
	const most = 5
	var out []string
	for _, i := range rows[:min(len(rows), most)] {
		out = append(out, strconv.Itoa(i+1))
	}
	text := strings.Join(out, ", ")
	if more := len(rows) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// handOver has the exact solver continue from the last fit.
func (t *trainer) handOver(ctx context.Context, prob linear.Problem, goal float64, out outcome) (outcome, error) {
	s, err := margin.Solve(ctx, prob, out.P, margin.Settings{Gap: goal})
	if s != nil && s.Gap() < out.fits[len(out.fits)-1].Gap() {
		out = out.replaced(s)
	}
	var short *margin.GapError
	var not *margin.NotSeparableError
	if err != nil && !errors.As(err, &short) && !errors.As(err, &not) {
		return out, err
	}
	return out, ctx.Err()
}

// replaced has the exact solution in place of the last fit.
func (out outcome) replaced(s *margin.Solution) outcome {
	out.exact = s.Method
	r := out.fits[len(out.fits)-1]
	r.W, r.Certificate, r.Steps = s.W, s.Certificate, r.Steps+s.Iterations
	return out
}
