package linear

import (
	"errors"

	"github.com/bregman-ml/bregman/mirror"
)

// PlaneMargin solves the ℓₚ max-margin problem in R² exactly, by trying every candidate: the optimum has one
// support vector a, and then w = ∇(½‖·‖_q²)(a), or two, a and b, and then w is normal to a − b.
// It returns the direction u with ‖u‖ₚ = 1 and its margin γₚ.
func PlaneMargin(prob Problem, p float64) (u []float64, margin float64, err error) {
	n, d := prob.Dims()
	if d != 2 {
		return nil, 0, errors.New("not a problem in the plane")
	}
	rows := make([][]float64, n)
	for i := range rows {
		e := make([]float64, n)
		e[i] = 1
		rows[i] = make([]float64, 2)
		prob.addAbsorbed(rows[i], e)
	}
	u, w := make([]float64, 2), make([]float64, 2)
	try := func() {
		norm := mirror.Norm(w, p)
		if norm == 0 {
			return
		}
		for _, sign := range []float64{1, -1} {
			w[0], w[1] = sign*w[0]/norm, sign*w[1]/norm
			norm = 1
			if m, _ := prob.Margin(w); m > margin {
				margin = m
				copy(u, w)
			}
		}
	}
	for i, a := range rows {
		mirror.DualityMap(w, a, mirror.Conjugate(p))
		try()
		for _, b := range rows[:i] {
			w[0], w[1] = a[1]-b[1], b[0]-a[0]
			try()
		}
	}
	if margin == 0 {
		return nil, 0, errors.New("not linearly separable")
	}
	return u, margin, nil
}
