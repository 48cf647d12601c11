package mirror

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// all are potentials with points inside their domains.
func all(d int) []Potential {
	a := make([]float64, d)
	for j := range a {
		a[j] = 0.5 + float64(j)
	}
	out := []Potential{Entropy(), SignedEntropy(100), HyperbolicEntropy(0.3), Quadratic(a)}
	for _, p := range []float64{1.01, 1.1, 1.5, 2, 3, 6, 10, 100} {
		out = append(out, Power(p), SquaredNorm(p))
	}
	return out
}

// inside draws a point of the domain with coordinates of ordinary size: |w|^99 must stay a normal number.
func inside(t *rapid.T, psi Potential, d int, name string) []float64 {
	lo := -3.0
	if strings.HasPrefix(psi.String(), "entropy") {
		lo = 0.01
	}
	w := make([]float64, d)
	for j := range w {
		w[j] = rapid.Float64Range(lo, 3).Draw(t, fmt.Sprint(name, j))
		if math.Abs(w[j]) < 0.01 {
			w[j] = 0.01
		}
	}
	return w
}

func TestInverseUndoesMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 9).Draw(t, "d")
		for _, psi := range all(d) {
			w := inside(t, psi, d, psi.String())
			z, back := make([]float64, d), make([]float64, d)
			psi.Mirror(z, w)
			psi.Inverse(back, z)
			// A relative error of 1e-14 in z becomes 1e-14/(p−1) in w: 1e-12 for p = 1.01.
			for j := range w {
				if !close(back[j], w[j], 3e-12) {
					t.Fatalf("%v: coordinate %d: %v came back as %v", psi, j, w[j], back[j])
				}
			}
		}
	})
}

func TestMirrorIsTheGradientOfValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const d = 4
		for _, psi := range all(d) {
			w := inside(t, psi, d, psi.String())
			z := make([]float64, d)
			psi.Mirror(z, w)
			scale := math.Abs(psi.Value(w)) + Norm(z, math.Inf(1)) + 1
			for j := range w {
				h := 1e-5 * math.Abs(w[j])
				v := append([]float64(nil), w...)
				v[j] = w[j] + h
				up := psi.Value(v)
				v[j] = w[j] - h
				slope := (up - psi.Value(v)) / (2 * h)
				// Central differences: truncation h²ψ‴/6 ~ (p·1e-5)² relative, rounding 1e-16·ψ/h.
				p := 100.0
				if tol := scale * (p*p*1e-10 + 1e-15/h); math.Abs(slope-z[j]) > tol {
					t.Fatalf("%v at %v: slope %v in coordinate %d, gradient %v (tolerance %v)", psi, w, slope, j, z[j], tol)
				}
			}
		}
	})
}

func TestStartIsTheMinimiser(t *testing.T) {
	for _, psi := range all(5) {
		w, z := make([]float64, 5), make([]float64, 5)
		psi.Start(w)
		if err := psi.Check(w); err != nil {
			t.Errorf("%v: start: %v", psi, err)
		}
		psi.Mirror(z, w)
		if n := Norm(z, math.Inf(1)); n > 1e-15 {
			t.Errorf("%v: the gradient at its start is %v", psi, z)
		}
	}
}

func TestDivergenceIsNonNegativeAndZeroAtItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const d = 3
		for _, psi := range all(d) {
			x, y := inside(t, psi, d, "x"+psi.String()), inside(t, psi, d, "y"+psi.String())
			rounding := 1e-13 * (math.Abs(psi.Value(x)) + math.Abs(psi.Value(y)) + Norm(x, 1)*gradientSize(psi, y) + 1)
			if v := Divergence(psi, x, y); v < -rounding {
				t.Fatalf("%v: D(%v, %v) = %v", psi, x, y, v)
			}
			if v := Divergence(psi, x, x); math.Abs(v) > rounding {
				t.Fatalf("%v: D(x, x) = %v", psi, v)
			}
		}
	})
}

func gradientSize(psi Potential, y []float64) float64 {
	z := make([]float64, len(y))
	psi.Mirror(z, y)
	return Norm(z, math.Inf(1))
}

// The identities the paper lists for ψ = (1/p)‖·‖ₚᵖ.
func TestPowerKeepsThePapersIdentities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const d = 5
		p := rapid.SampledFrom([]float64{1.05, 1.1, 1.5, 2, 3, 6, 10, 30}).Draw(t, "p")
		psi := Power(p)
		x, y := inside(t, psi, d, "x"), inside(t, psi, d, "y")
		c := rapid.Float64Range(-2, 2).Draw(t, "c")
		z := make([]float64, d)
		psi.Mirror(z, x)
		np := math.Pow(Norm(x, p), p)
		var inner float64
		for j := range x {
			inner += z[j] * x[j]
		}
		check := func(what string, got, want, tol float64) {
			if !close(got, want, tol) {
				t.Fatalf("p = %v: %s: %v, want %v", p, what, got, want)
			}
		}
		check("⟨∇ψ(w), w⟩ = ‖w‖ᵖ", inner, np, 1e-12)
		check("‖∇ψ(w)‖_q = ‖w‖^(p−1)", Norm(z, Conjugate(p)), math.Pow(Norm(x, p), p-1), 1e-12)
		check("D(0, w) = (p−1)/p·‖w‖ᵖ", Divergence(psi, make([]float64, d), x), (p-1)/p*np, 1e-11)
		cx, cy := make([]float64, d), make([]float64, d)
		for j := range x {
			cx[j], cy[j] = c*x[j], c*y[j]
		}
		if math.Abs(c) > 0.01 {
			// D itself is accurate to about 1e-12, see below.
			check("D(cw, cw′) = |c|ᵖD(w, w′)", Divergence(psi, cx, cy), math.Pow(math.Abs(c), p)*Divergence(psi, x, y), 1e-10)
		}
	})
}

// Near x = y the divergence is (p−1)/2·|y|^(p−2)(x−y)² to first order: relative accuracy must survive there.
func TestPowerDivergenceIsAccurateForNearbyPoints(t *testing.T) {
	for _, p := range []float64{1.1, 2, 3, 10} {
		for _, delta := range []float64{1e-2, 1e-3, 1e-5, 1e-8} {
			y := 0.7
			x := y * (1 + delta)
			d := (x - y) / y
			// Four terms of the series; the next is of relative size (pδ)⁴.
			want := (p - 1) / 2 * d * d * (1 + (p-2)/3*d*(1+(p-3)/4*d*(1+(p-4)/5*d)))
			want *= math.Pow(y, p)
			tol := 1e-11 + 2*math.Pow(p*delta, 4)
			if got := Divergence(Power(p), []float64{x}, []float64{y}); !close(got, want, tol) {
				t.Errorf("p = %v, δ = %v: D = %v, want %v", p, delta, got, want)
			}
		}
	}
}

func TestStepIsTheArgminOfTheMirrorProblem(t *testing.T) {
	// w⁺ minimises D(w, w_t)/η + ⟨g, w⟩: no nearby point does better.
	rapid.Check(t, func(t *rapid.T) {
		const d = 3
		p := rapid.SampledFrom([]float64{1.1, 1.5, 2, 3, 10}).Draw(t, "p")
		psi := Power(p)
		w := inside(t, psi, d, "w")
		g := make([]float64, d)
		for j := range g {
			g[j] = rapid.Float64Range(-1, 1).Draw(t, fmt.Sprint("g", j))
		}
		const eta = 0.1
		z, next := make([]float64, d), append([]float64(nil), w...)
		psi.Mirror(z, w)
		Step(next, z, psi, eta, g)
		objective := func(v []float64) float64 {
			sum := Divergence(psi, v, w) / eta
			for j := range v {
				sum += g[j] * v[j]
			}
			return sum
		}
		at := objective(next)
		v := append([]float64(nil), next...)
		for j := range v {
			for _, h := range []float64{1e-3, -1e-3} {
				v[j] = next[j] + h
				if other := objective(v); other < at-1e-9*(1+math.Abs(at)) {
					t.Fatalf("p = %v: moving coordinate %d by %v lowers the objective from %v to %v", p, j, h, at, other)
				}
			}
			v[j] = next[j]
		}
	})
}

// EG± as usually written, u ← u·e^(−ηg), v ← v·e^(ηg), normalised to Σ(u+v) = radius.
func TestSignedEntropyIsEGPlusMinus(t *testing.T) {
	const d, radius, eta = 4, 2.0, 0.3
	u, v := make([]float64, d), make([]float64, d)
	for j := range u {
		u[j], v[j] = radius/(2*d), radius/(2*d)
	}
	psi := SignedEntropy(radius)
	w, z := make([]float64, d), make([]float64, d)
	for step := range 20 {
		g := []float64{math.Sin(float64(step)), 0.4, -0.7, math.Cos(float64(3 * step))}
		Step(w, z, psi, eta, g)
		var sum float64
		for j := range u {
			u[j] *= math.Exp(-eta * g[j])
			v[j] *= math.Exp(eta * g[j])
			sum += u[j] + v[j]
		}
		for j := range u {
			u[j], v[j] = u[j]*radius/sum, v[j]*radius/sum
			if !close(w[j], u[j]-v[j], 1e-13) && math.Abs(w[j]-(u[j]-v[j])) > 1e-15 {
				t.Fatalf("step %d, coordinate %d: %v, EG± has %v", step, j, w[j], u[j]-v[j])
			}
		}
	}
}

func TestHyperbolicEntropyIsUnnormalisedEGPlusMinus(t *testing.T) {
	const beta = 0.2
	psi := HyperbolicEntropy(beta)
	u, v := beta/2, beta/2
	w, z := []float64{0}, []float64{0}
	for step := range 30 {
		g := math.Sin(float64(step))
		Step(w, z, psi, 0.5, []float64{g})
		u, v = u*math.Exp(-0.5*g), v*math.Exp(0.5*g)
		if math.Abs(w[0]-(u-v)) > 1e-14 {
			t.Fatalf("step %d: %v, EG± has %v", step, w[0], u-v)
		}
	}
}

func TestDomainErrorsNameTheCoordinate(t *testing.T) {
	for _, c := range []struct {
		psi  Potential
		w    []float64
		want string
	}{
		{Entropy(), []float64{1, 0}, "coordinate 1 is 0"},
		{Entropy(), []float64{-1, 1}, "coordinate 0 is -1"},
		{Power(3), []float64{0, math.NaN()}, "coordinate 1 is NaN"},
		{SignedEntropy(1), []float64{0.5, -0.5}, "‖w‖₁ = 1"},
		{Quadratic([]float64{1}), []float64{1, 2}, "2 coordinates"},
	} {
		if err := c.psi.Check(c.w); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q in it", c.psi, err, c.want)
		}
	}
}

func TestPMustBeAboveOne(t *testing.T) {
	for _, p := range []float64{1, 0.5, 0, -3, math.NaN(), math.Inf(1)} {
		if CheckP(p) == nil {
			t.Errorf("p = %v was accepted", p)
		}
	}
	for _, p := range []float64{1.01, 2, 100} {
		if err := CheckP(p); err != nil {
			t.Errorf("p = %v: %v", p, err)
		}
	}
}

// What the documentation of Power says about underflow.
func TestPowerTakesWeightsAsZeroWhereTheDualUnderflows(t *testing.T) {
	w := []float64{4e-4, 6e-4, -1}
	z, back := make([]float64, 3), make([]float64, 3)
	psi := Power(100)
	psi.Mirror(z, w)
	psi.Inverse(back, z)
	if z[0] != 0 || back[0] != 0 {
		t.Errorf("|4e-4|^99 = %v, back %v; want 0", z[0], back[0])
	}
	if z[1] == 0 || math.Abs(back[1]-w[1]) > 0.01*w[1] { // z[1] is denormal: few digits, but w's 99th root forgives
		t.Errorf("|6e-4|^99 = %v, back %v", z[1], back[1])
	}
	if back[2] != -1 {
		t.Errorf("−1 came back as %v", back[2])
	}
}

func TestPotentialsDoNotAllocate(t *testing.T) {
	w, z := make([]float64, 300), make([]float64, 300)
	for j := range w {
		w[j] = 0.1 + float64(j%7)/40
	}
	for _, psi := range all(300) {
		if n := testing.AllocsPerRun(10, func() {
			psi.Mirror(z, w)
			psi.Inverse(z, z)
			psi.Value(w)
			Step(z, z, psi, 0, w)
		}); n != 0 {
			t.Errorf("%v: %v allocations", psi, n)
		}
	}
}

func close(got, want, tol float64) bool {
	return got == want || math.Abs(got-want) <= tol*math.Abs(want)
}
