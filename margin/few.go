package margin

import (
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/vec"
)

// few solves p = 2 for few rows, from their products alone,
//
//	min ½aᵀKa  subject to  bᵀa = 1, a ≥ 0,    K = AAᵀ,
//
// by the steps of dual: with m = Ka the conditions are m − γb = s, aᵢsᵢ = μ → 0. K is made once, and a step costs n³/3
// whatever the number of features.
type few struct {
	n             int
	k             []float64 // K
	factor        []float64
	b             []float64
	a, s, m       []float64
	da, ds, r, xb []float64
	theta         []float64
	gamma         float64
	lower, upper  float64
}

// newFew makes the products of the rows of s; nil if there are too many, or if their columns are too uneven for them.
func (s *solver) newFew() *few {
	if s.n > smallRows || s.n > s.d || s.n*s.d < fewEntries || s.even != nil || s.pairs != nil {
		return nil
	}
	f := &few{n: s.n, b: s.b}
	f.k, f.factor = make([]float64, s.n*s.n), make([]float64, s.n*s.n)
	if s.dense != nil {
		addGram(f.k, s.n, s.dense, s.d, 0, s.d, nil, s.chunkOf(s.n), true)
	} else {
		one := make([]float64, s.d)
		for j := range one {
			one[j] = 1
		}
		setSparseGram(f.k, s.n, s.a.Row, one)
	}
	for i := range s.n {
		for l := range i {
			f.k[l*s.n+i] = f.k[i*s.n+l]
		}
	}
	for _, v := range []*[]float64{&f.a, &f.s, &f.m, &f.da, &f.ds, &f.r, &f.xb, &f.theta} {
		*v = make([]float64, s.n)
	}
	return f
}

// run makes steps from equal weights until the relative gap is reached, or for as long as they help.
func (f *few) run(s *solver, gap float64) {
	for i, b := range f.b {
		f.a[i] = 1 / (float64(f.n) * b)
	}
	f.bounds()
	size := f.upper * f.upper
	f.gamma = f.least()
	mu := max(size-f.gamma, 1e-3*size) / float64(f.n)
	for i, a := range f.a {
		f.s[i] = mu / a
	}
	best, idle := math.Inf(1), 0
	for range fewSteps {
		if f.lower > 0 && f.upper/f.lower-1 <= gap || s.n0 >= s.most || s.ctx.Err() != nil || f.step() < 1e-12 {
			return
		}
		s.n0++
		f.bounds()
		if s.tell != nil {
			r := slices.Min(s.length)
			s.tell(Iteration{N: s.n0, Lower: f.lower * r, Upper: f.upper * r})
		}
		if idle++; f.upper-f.lower < 0.9*best {
			best, idle = f.upper-f.lower, 0
		}
		if idle > 15 {
			return
		}
	}
}

// bounds sets m = Ka and the bounds on the margin, with bᵀa = 1.
func (f *few) bounds() {
	vec.Scale(f.a, 1/vec.Dot(f.b, f.a), f.a)
	vec.MulDense(f.m, f.k, f.a)
	f.upper = math.Sqrt(max(vec.Dot(f.a, f.m), 0))
	f.lower = f.least() / f.upper
}

func (f *few) least() float64 {
	l := math.Inf(1)
	for i, m := range f.m {
		l = min(l, m/f.b[i])
	}
	return l
}

// step is a predictor and a corrector (Mehrotra 1992), and returns the length of the step.
func (f *few) step() float64 {
	n := float64(f.n)
	mu := vec.Dot(f.a, f.s) / n
	copy(f.factor, f.k)
	var trace, bb float64
	for i := range f.n {
		f.theta[i] = f.s[i] / f.a[i]
		trace += f.factor[i*f.n+i]
		bb += f.b[i] * f.b[i]
		f.factor[i*f.n+i] += f.theta[i]
	}
	for i, b := range f.b { // bᵀda = 0, so that this changes nothing; see factorWide
		vec.Axpy(trace/bb*b, f.b[:i+1], f.factor[i*f.n:])
	}
	cholesky(f.factor, f.n)
	copy(f.xb, f.b)
	choleskySolve(f.factor, f.n, f.xb)
	for i, m := range f.m {
		f.r[i] = f.gamma*f.b[i] - m
	}
	f.solve()
	for i := range f.ds {
		f.ds[i] = -f.s[i] - f.theta[i]*f.da[i]
	}
	t := min(stepTo(f.a, f.da, 1), stepTo(f.s, f.ds, 1))
	var after, off float64
	for i := range f.a {
		after += (f.a[i] + t*f.da[i]) * (f.s[i] + t*f.ds[i])
		off += f.a[i] * math.Abs(f.m[i]-f.gamma*f.b[i]-f.s[i])
	}
	target := max(math.Pow(after/n/mu, 3)*mu, min(mu, 0.1*off/n))
	for i := range f.r {
		c := (target - t*t*f.da[i]*f.ds[i]) / f.a[i]
		f.r[i] = f.gamma*f.b[i] - f.m[i] + c
		f.ds[i] = c - f.s[i]
	}
	dg := f.solve()
	for i := range f.ds {
		f.ds[i] -= f.theta[i] * f.da[i]
	}
	t = min(stepTo(f.a, f.da, 0.995), stepTo(f.s, f.ds, 0.995))
	vec.Axpy(t, f.da, f.a)
	vec.Axpy(t, f.ds, f.s)
	f.gamma += t * dg
	mu = vec.Dot(f.a, f.s) / n
	for i, a := range f.a {
		f.s[i] = min(max(f.s[i], 1e-5*mu/a), 1e5*mu/a)
	}
	return t
}

// solve sets da to the solution of (K + Θ)da − b·Δγ = r, bᵀda = 0, and returns Δγ.
func (f *few) solve() float64 {
	copy(f.da, f.r)
	choleskySolve(f.factor, f.n, f.da)
	dg := -vec.Dot(f.b, f.da) / vec.Dot(f.b, f.xb)
	vec.Axpy(dg, f.xb, f.da)
	return dg
}

// take makes the weights those of the solver, and certifies them with p = 2.
func (f *few) take(s *solver) {
	copy(s.y, f.a)
	s.normalise()
	s.mulT(s.v, s.y)
	size := norm2(s.v)
	if size == 0 {
		return
	}
	vec.Scale(s.w, 1/size, s.v)
	s.mul(s.m, s.w)
	s.record(s.w, norm2(s.w), size)
}

func norm2(x []float64) float64 { return math.Sqrt(vec.Dot(x, x)) }
