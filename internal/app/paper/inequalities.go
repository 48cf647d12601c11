package paper

import (
	"context"
	"fmt"
	"math"
)

// inequalityStatements are the inequalities in one number, δ, of the appendix. At δ = 0 they are equalities.
var inequalityStatements = []statement[*scalar]{
	{
		Name:     "Scalar inequality I",
		Claim:    "(p−1)/p·((1+δ)ᵖ − 1) ≥ (1+δ)^(p−1) − 1 for δ ≥ −1, on a grid of δ",
		Quantity: "largest relative excess",
		Bound:    rounding,
		Check: func(s *scalar, r *tally) {
			r.atMost(s.power1-1, (s.p-1)/s.p*(s.power-1), s.power, 1)
		},
	},
	{
		Name:     "Scalar inequality II",
		Claim:    "((1+δ)ᵖ − 1)/p ≤ δ(1+δ)^(p−1) for δ ≥ −1, on a grid of δ",
		Quantity: "largest relative excess",
		Bound:    rounding,
		Check: func(s *scalar, r *tally) {
			r.atMost((s.power-1)/s.p, s.delta*s.power1, s.power, 1)
		},
	},
}

// scalar is a δ ≥ −1.
type scalar struct {
	p, delta      float64
	power, power1 float64 // (1+δ)ᵖ and (1+δ)^(p−1)
}

// location names the case.
func (s *scalar) location() location {
	return location{fmt.Sprintf("p = %v, δ = %.3g", s.p, s.delta), -1}
}

// inequalities checks inequalityStatements on a grid of δ.
func inequalities(sub subject, ps []float64) *statementGroup[*scalar] {
	g := &statementGroup[*scalar]{statements: inequalityStatements}
	for _, p := range ps {
		g.runs = append(g.runs, run[*scalar]{where{p: p}, func(_ context.Context, each func(*scalar)) error {
			for k := range 400 {
				s := scalar{p: p, delta: -1 + math.Pow(10, -4+float64(k)/50)} // from −0.9999 to 10⁴
				if p > 6 && s.delta > 100 {
					continue // (1+δ)ᵖ needs no more
				}
				s.power, s.power1 = sub.powers(p, 1+s.delta)
				each(&s)
			}
			return nil
		}})
	}
	return g
}
