package paper

import (
	"context"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// asymptoticStatements are about how fast the direction converges once the norm is large: what Corollaries 15 and 17
// state, and what is true.
//
// If the support vectors span the space, as two do in the plane, D(u, w/‖w‖)·‖w‖² tends to a constant K for every p:
// see asymptote. ‖w‖^−2 is more than ‖w‖^−(p−1) if p > 3. So the corollaries are false for p > 3, wherever K > 0.
var asymptoticStatements = []statement[*trajectory]{
	rateStatement("Corollary 15, the rate in the norm", "D(u, w_t/‖w_t‖)·‖w_t‖^(p−1) stays bounded", "‖w‖",
		func(pt ratePoint) float64 { return pt.r }),
	rateStatement("Corollary 17, the rate in t", "D(u, w_t/‖w_t‖)·log^(p−1) τ stays bounded", "log t",
		func(pt ratePoint) float64 { return pt.logTau }),
	{
		Name:     "the rate of the direction, two support vectors in the plane",
		Claim:    "D(u, w_t/‖w_t‖)·‖w_t‖² → K = ½⟨δ, ∇²ψ(u)δ⟩ for every p, ⟨δ, xᵢ − xⱼ⟩ = log(aⱼ/aᵢ), ⟨δ, ∇ψ(u)⟩ = 0",
		Quantity: "largest |D‖w‖²/K − 1| at the end",
		Bound:    0.1,
		Beyond:   true,
		Runs:     farRuns,
		At:       func(k *trajectory) bool { return k.ended && k.twoSupport() != nil },
		If:       sinceConvex,
		Check: func(k *trajectory, r *tally) {
			law := k.twoSupport()
			end := k.history[len(k.history)-1]
			at := func(pt ratePoint) float64 { return pt.dist * pt.r * pt.r }
			v := math.Abs(at(end)/law.K - 1)
			// The start is forgotten like ‖w‖^(1−p): it must be below the smaller aᵢ. The error of the law is O(p²/‖w‖), some
			// 6p²/‖w‖.
			settled := law.Least*math.Pow(end.r, k.p-1) > 30 && k.margin*end.r > 300+30*k.p*k.p && law.Gap*end.r > 30
			falling := math.Abs(at(k.pointAt(end.r/3))/law.K-1) > 2*v // as 1/‖w‖ does
			if v > 0.1 && (!settled || falling) || end.dist < rateFloor {
				r.undecide("D‖w‖² is still %.0f %% from K at ‖w‖ = %.3g: it needs a larger norm", 100*v, end.r)
				v = min(v, 0.1)
			}
			r.record(v)
		},
	},
}

// rateFloor is the least divergence that is not rounding: u is exact to 1e-10 at least.
const rateFloor = 1e-14

// farRuns are descents that get far enough for asymptotics.
func farRuns(w where) bool { return expLoss(w) && w.rule == growingSteps }

// rateStatement is a rate as printed: D·x^(p−1) stays bounded. For p ≤ 3 it has to: no larger over the last factor of
// ten in x than over the factor before. For p > 3 the two points are the counterexample.
func rateStatement(name, claim, of string, x func(ratePoint) float64) statement[*trajectory] {
	return statement[*trajectory]{
		Name: name,
		Claim: claim + ": its largest over the last factor of ten in " + of + " is at most that over the factor of ten " +
			"before, or its growth slows down; p > 3 on two points alone",
		Slip: "false for p > 3: for the points (1, 0) and (0, 1/2) the coordinates of w are independent, " +
			"w₁ − w₂/2 → p log 2, and so D‖w‖² tends to a positive constant, while D‖w‖^(p−1) grows without bound",
		Quantity: "largest ratio",
		Bound:    1.12, // x^0.05: D‖w‖² may still be growing towards K
		Runs: func(w where) bool {
			return farRuns(w) && (w.p <= 3 || w.data == twoPointsName)
		},
		At: func(k *trajectory) bool { return k.ended },
		If: sinceConvex,
		Check: func(k *trajectory, r *tally) {
			end := k.history[len(k.history)-1]
			largest := func(from, to float64) float64 {
				v := 0.0
				for _, pt := range k.history {
					if at := x(pt); at > from && at <= to && pt.dist > rateFloor {
						v = max(v, pt.dist*math.Pow(at, k.p-1))
					}
				}
				return v
			}
			last := x(end)
			growth := func(to float64) float64 { return largest(to/10, to) / max(largest(to/100, to/10), 1e-300) }
			ratio := growth(last)
			if k.p > 3 {
				before := k.pointAt(end.r / 10)
				exponent := math.Log(end.dist/before.dist) / math.Log(last/x(before))
				if exponent > 1.05-k.p {
					r.refute("two points, (1, 0) and (0, 1/2): D falls like %s^%.2f and not like %s^%.4g up to ‖w‖ = %.3g", of,
						exponent, of, 1-k.p, end.r)
				}
			}
			if before := growth(last / 10); k.p <= 3 && ratio < math.Sqrt(before) {
				ratio = min(ratio, 1) // what grows to a limit grows less and less; a power would grow as before
			}
			if k.p <= 3 && ratio > 1.12 && k.separated() < 1000 {
				r.undecide("the next example's margin is so close to γ̂ that it still acts as a support vector at ‖w‖ = %.3g",
					end.r)
				ratio = 1
			}
			if k.p <= 3 && k.plane() && k.margin*end.r < 500 || !k.plane() && k.margin*end.r < 100 {
				r.undecide("γ̂‖w‖ reaches %.3g only: two factors of ten are needed beyond the start", k.margin*end.r)
				ratio = min(ratio, 1)
			}
			r.record(ratio)
		},
	}
}

// pointAt is the first point of the history from a norm on.
func (k *trajectory) pointAt(r float64) ratePoint {
	for _, pt := range k.history {
		if pt.r >= r {
			return pt
		}
	}
	return k.history[len(k.history)-1]
}

// separated is how far the margins of the other examples are above those of the support vectors at ‖w‖u: they act like
// support vectors until it is large.
func (k *trajectory) separated() float64 {
	k.prob.Margins(k.m, k.u)
	next := math.Inf(1)
	for _, m := range k.m {
		if m >= k.margin*(1+1e-6) {
			next = min(next, m)
		}
	}
	return (next - k.margin) * k.nextR
}

// twoSupport returns the asymptote of the problem if the plane has two support vectors and the law of two has room
// before rounding; else nil.
func (k *trajectory) twoSupport() *asymptote {
	if !k.plane() {
		return nil
	}
	a, err := newAsymptote(context.Background(), k.prob, k.p) // some hundred microseconds
	if err != nil || len(a.Support) != 2 || a.K < 1e-4 || a.Least < 1e-9 {
		return nil
	}
	return a
}

const twoPointsName = "two points"

// twoPoints is the counterexample: the points (1, 0) and (0, 1/2), u ∝ (1, 2), from (½, ½).
func twoPoints(p float64) setting {
	prob := linear.Problem{X: matrix.FromRows([][]float64{{1, 0}, {0, 0.5}})}
	return setting{twoPointsName, prob, []float64{0.5, 0.5}, p}
}

// descents checks everything about p-GD along descents on all settings, with several losses and both rules of steps.
func descents(sub subject, sets []setting, ps []float64) *statementGroup[*trajectory] {
	g := &statementGroup[*trajectory]{oneCase: true,
		statements: slices.Concat(stepStatements, proofStatements, growthStatements, asymptoticStatements)}
	for _, set := range sets {
		for _, l := range tails {
			g.runs = append(g.runs, sub.run(sub.descent(set, l, growingSteps), set.space()))
			if l.name == expTail.name || l.name == logisticTail.name { // the losses that the paper names
				g.runs = append(g.runs, sub.run(sub.descent(set, l, equalSteps), set.space()))
			}
		}
	}
	for _, p := range ps {
		g.runs = append(g.runs, sub.run(sub.descent(twoPoints(p), expTail, growingSteps), twoPointsName))
	}
	return g
}
