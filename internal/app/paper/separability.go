package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// separabilityStatements are about what one step needs to know of the other coordinates.
var separabilityStatements = []statement[*updates]{
	{
		Name: "Remark 10, separability",
		Claim: "a coordinate of the gradient changes that coordinate of the p-GD update and no other, bit for bit; " +
			"with ½‖·‖ₚ² and in steepest descent it changes others, if p ≠ 2",
		Quantity: "coordinates that change, or methods that change none",
		Check: func(u *updates, r *tally) {
			wrong := 0
			for _, v := range u.changes() {
				wrong += u.others(u.mirrorStep(u.sub.potential(u.p)), v)
			}
			if u.p != 2 {
				for _, step := range []func(grad []float64) []float64{u.mirrorStep(u.sub.squared(u.p)), u.steepestStep} {
					if u.others(step, 100) == 0 { // the largest by far, so that no p hides it in the norm
						wrong++
					}
				}
			}
			r.record(float64(wrong))
		},
	},
}

// updateSize is the length of the vectors: the kernels take 4 or 8 numbers at a time, and 37 is no multiple.
const updateSize = 37

// updates are single steps of size 1 from random weights along a random gradient, one coordinate of which changes.
type updates struct {
	sub     subject
	p       float64
	seed    int
	at      int // the coordinate
	w, grad []float64
}

func newUpdates(sub subject, p float64, seed int) *updates {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x736570))
	u := &updates{sub: sub, p: p, seed: seed, at: rng.IntN(updateSize)}
	for range updateSize {
		u.w = append(u.w, rng.NormFloat64())
		u.grad = append(u.grad, rng.NormFloat64())
	}
	return u
}

// location names the case.
func (u *updates) location() location {
	return location{fmt.Sprintf("p = %v, seed %d", u.p, u.seed), -1}
}

// changes are other values of the coordinate of the gradient: another number of its size, and those at which a kernel
// might treat several coordinates in another way. The last makes the dual coordinate 0.
func (u *updates) changes() []float64 {
	z := make([]float64, updateSize)
	u.sub.potential(u.p).Mirror(z, u.w)
	return []float64{u.grad[u.at] + 1, -u.grad[u.at], 0, 1e-310, 1e200, math.Inf(1), math.NaN(), z[u.at]}
}

// mirrorStep is a step of mirror descent.
func (u *updates) mirrorStep(psi mirror.Potential) func(grad []float64) []float64 {
	return func(grad []float64) []float64 {
		w, z := make([]float64, updateSize), make([]float64, updateSize)
		psi.Mirror(z, u.w)
		mirror.Step(w, z, psi, 1, grad)
		return w
	}
}

// steepestStep is w − ∇(½‖·‖_q²)(grad).
func (u *updates) steepestStep(grad []float64) []float64 {
	w := make([]float64, updateSize)
	mirror.DualityMap(w, grad, u.sub.conjugate(u.p))
	vec.Scale(w, -1, w)
	vec.Axpy(1, u.w, w)
	return w
}

// others counts the other coordinates of a step that change with the coordinate of the gradient.
func (u *updates) others(step func(grad []float64) []float64, value float64) int {
	before := step(u.grad)
	changed := append([]float64(nil), u.grad...)
	changed[u.at] = value
	count := 0
	for j, v := range step(changed) {
		if j != u.at && math.Float64bits(v) != math.Float64bits(before[j]) {
			count++
		}
	}
	return count
}

// separability checks separabilityStatements at random points.
func separability(sub subject, ps []float64, first uint64, seeds int) *statementGroup[*updates] {
	g := &statementGroup[*updates]{statements: separabilityStatements}
	for _, p := range ps {
		g.runs = append(g.runs, run[*updates]{where{p: p}, func(_ context.Context, each func(*updates)) error {
			for seed := range seeds {
				each(newUpdates(sub, p, int(first)-1+seed))
			}
			return nil
		}})
	}
	return g
}
