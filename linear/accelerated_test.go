package linear

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// oracle reads a problem of testdata and its certified least norms at margin 1, by p.
func oracle(t *testing.T, name string) (Problem, map[float64]float64) {
	t.Helper()
	set, err := dataset.Read("testdata/"+name+".svm", dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/oracle.csv")
	if err != nil {
		t.Fatal(err)
	}
	norms := map[float64]float64{}
	for line := range strings.Lines(string(text)) {
		var p, norm float64
		if _, err := fmt.Sscanf(strings.ReplaceAll(line, ",", " "), name+" %g %g", &p, &norm); err == nil {
			norms[p] = norm
		}
	}
	if len(norms) != 6 {
		t.Fatalf("%d optima, want 6", len(norms))
	}
	return Problem{X: set.X}, norms
}

func mustFit(t *testing.T, prob Problem, set Settings) *Result {
	t.Helper()
	r, err := Fit(t.Context(), prob, set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The limits are those of the project: the counts that were measured are 45 (p = 2) to 599 (p = 10).
func TestAcceleratedFitsAreCertifiedInSomeHundredIterations(t *testing.T) {
	prob, norms := oracle(t, "r100_s1")
	for _, c := range []struct {
		p    float64
		most int
	}{{1.05, 500}, {1.1, 500}, {1.5, 500}, {2, 500}, {3, 500}, {6, 1500}, {10, 1500}, {50, 5000}} {
		r := mustFit(t, prob, Settings{P: c.p})
		if r.Gap() > 1e-3 || r.Steps > c.most {
			t.Errorf("p = %v: gap %.2e after %d iterations", c.p, r.Gap(), r.Steps)
		}
		// The lower bound is that of the weights, less an allowance for rounding. The optimum, known to 1e-12, lies
		// between both.
		m, _ := prob.Margin(r.W)
		most := 2*rounded*prob.RowNorm(mirror.Conjugate(c.p)) + 1e-12*m
		if lower := m / mirror.Norm(r.W, c.p); r.Lower > lower || lower-r.Lower > most {
			t.Errorf("p = %v: lower bound %v, the weights have %v", c.p, r.Lower, lower)
		}
		if norm, ok := norms[c.p]; ok && (r.Lower > (1/norm)*(1+1e-11) || r.Upper < (1/norm)*(1-1e-11)) {
			t.Errorf("p = %v: [%v, %v] does not hold the optimum %v", c.p, r.Lower, r.Upper, 1/norm)
		}
	}
}

func TestAcceleratedFitsOfScaledDataAreScaled(t *testing.T) {
	prob, _ := oracle(t, "r100_s1")
	for _, p := range []float64{1.05, 2, 50} {
		want := mustFit(t, prob, Settings{P: p})
		for _, s := range []float64{1e-150, 1e-30, 1e30, 1e140} {
			n, d := prob.Dims()
			x := matrix.Select(prob.X, span(n))
			matrix.ScaleColumns(x, nil, slices.Repeat([]float64{s}, d))
			r := mustFit(t, Problem{X: x}, Settings{P: p})
			// The iterations are the same but for rounding, which may move the last one.
			if r.Gap() > 1e-3 || math.Abs(r.Lower/s/want.Lower-1) > 2e-3 {
				t.Errorf("p = %v, data times %v: margin %v, gap %v; without %v", p, s, r.Lower, r.Gap(), want.Lower)
			}
		}
	}
}

func span(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// noisy makes data that no w separates.
func noisy(seed uint64, n, d int) Problem {
	rng := rand.New(rand.NewPCG(seed, 7))
	rows, y := make([][]float64, n), make([]float64, n)
	for i := range rows {
		rows[i] = make([]float64, d)
		var s float64
		for j := range rows[i] {
			rows[i][j] = rng.NormFloat64()
			s += rows[i][j]
		}
		y[i] = math.Copysign(1, s+2*rng.NormFloat64())
	}
	return Problem{matrix.FromRows(rows), y}
}

func TestSoftMarginsAreCertifiedOnDataThatNoWeightsSeparate(t *testing.T) {
	prob := noisy(3, 400, 12)
	n, _ := prob.Dims()
	for _, p := range []float64{1.1, 2, 6} {
		for _, soft := range []float64{0.5, 0.8131} {
			r := mustFit(t, prob, Settings{P: p, Soft: soft, Gap: 1e-3})
			m := make([]float64, n)
			prob.Margins(m, r.W)
			c := caps(prob, soft)
			order := span(n)
			slices.SortFunc(order, func(i, j int) int { return cmp.Compare(m[i], m[j]) })
			var sum, left float64 = 0, 1 // the mean of the worst share, the last of them in part
			for _, i := range order {
				w := min(c[i], left)
				sum += w * m[i]
				left -= w
			}
			if got := sum / mirror.Norm(r.W, p); !(r.Lower > 0) || math.Abs(got-r.Lower) > 1e-9*got || r.Gap() > 1e-3 {
				t.Errorf("p = %v, soft %v: lower %v, the weights have %v; gap %v", p, soft, r.Lower, got, r.Gap())
			}
			// No direction is better than the upper bound, and one that is nearly as good cannot be improved by much.
			rng := rand.New(rand.NewPCG(1, 1))
			for range 300 {
				w := slices.Clone(r.W)
				for j := range w {
					w[j] += 0.1 * rng.NormFloat64() * mirror.Norm(r.W, math.Inf(1))
				}
				prob.Margins(m, w)
				if got := worst(m, c, make([]int32, n)) / mirror.Norm(w, p); got > r.Upper*(1+1e-12) {
					t.Fatalf("p = %v, soft %v: a direction has %v, above the upper bound %v", p, soft, got, r.Upper)
				}
			}
		}
	}
	if r := mustFit(t, prob, Settings{Patience: 50}); r.Lower > 0 || r.Steps != 50 {
		t.Errorf("without a soft margin: %v after %d steps", r.Lower, r.Steps)
	}
}

func TestBoundedSoftmaxMinimises(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, spread := range []float64{1e-3, 1, 30, 1e4} {
		for _, total := range []float64{1.001, 2, 7.7, 40} {
			m, c := make([]float64, 40), make([]float64, 40)
			var all float64
			for i := range m {
				m[i] = spread * math.Round(4*rng.NormFloat64()) / 4 // some are equal
				c[i] = 0.1 + rng.Float64()
				all += c[i]
			}
			for i := range c {
				c[i] *= total / all
			}
			mu := make([]float64, 40)
			value, level := boundedSoftmax(mu, m, c, make([]int32, 40))
			var sum, direct, product float64
			for i, v := range mu {
				if want := c[i] * math.Min(1, math.Exp(level-m[i])); math.Abs(v-want) > 1e-9 || v < 0 {
					t.Errorf("spread %v, total %v: weight %v, want %v", spread, total, v, want)
				}
				sum += v
				product += v * m[i]
				if v > 0 {
					direct -= v * (m[i] + math.Log(v/c[i]))
				}
			}
			if math.Abs(sum-1) > 1e-9 || math.Abs(value-direct) > 1e-9*(1+math.Abs(direct)) {
				t.Errorf("spread %v, total %v: sum %v, value %v, want %v", spread, total, sum, value, direct)
			}
			least := worst(m, c, make([]int32, 40))
			if least > product+1e-9*(1+spread) ||
				spread == 1e4 && total > 1.1 && math.Abs(least-product) > 1e-2*spread {
				t.Errorf("spread %v, total %v: least %v, at the minimiser %v", spread, total, least, product)
			}
		}
	}
}

// The c have sums within an ulp or two of 1, which depend on how they are grouped. The quantile is found for any
// grouping.
func TestQuantilesEndWhereSumsRoundToOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for trial := range 60_000 {
		n := 1 + rng.IntN(40)
		share := 1 + rng.IntN(n) // so many of the c make 1
		up := rng.IntN(n + 1)    // of two classes, as caps has them
		levels := 1 + rng.IntN(2*n)
		m, c := make([]float64, n), make([]float64, n)
		for i := range m {
			m[i] = float64(rng.IntN(levels))
			c[i] = 1 / float64(share)
			if trial%3 == 1 && up > 0 && up < n {
				c[i] = 1 / (2 * float64(up))
				if i >= up {
					c[i] = 1 / (2 * float64(n-up))
				}
			} else if trial%3 == 2 {
				c[i] *= 1 + 0x1p-52*float64(rng.IntN(5)-2)
			}
		}
		from, below, sum := quantile(m, c, make([]int32, n))
		var less, upTo, lessSum float64
		for i, v := range m {
			if v < from {
				less += c[i]
				lessSum += c[i] * v
			}
			if v <= from {
				upTo += c[i]
			}
		}
		// At most forty additions of numbers up to 1, and of up to 80 times that: each rounds by 1e-16 of its result.
		if below >= 1 || below < less-1e-14 || below > upTo+1e-14 ||
			math.Abs(sum-lessSum-(below-less)*from) > 1e-12 || upTo < 1-1e-14 && from != maxOf(m) {
			t.Fatalf("margins %v, bounds %v: quantile %v with %v below it, %v up to it", m, c, from, below, upTo)
		}
		mu := make([]float64, n)
		boundedSoftmax(mu, m, c, make([]int32, n))
		var mass float64
		for i, v := range mu {
			mass += v
			if !(v >= 0 && v <= c[i]) {
				t.Fatalf("margins %v, bounds %v: weights %v", m, c, mu)
			}
		}
		var all float64
		for _, v := range c {
			all += v
		}
		if math.Abs(mass-min(all, 1)) > 1e-13 {
			t.Fatalf("margins %v, bounds %v: the weights add up to %v", m, c, mass)
		}
	}
}

// large makes a sparse separable problem that is shared by all cores and gets a working set.
func large(t *testing.T) Problem {
	rng := rand.New(rand.NewPCG(9, 9))
	n, d := 8000, 3000
	u := make([]float64, d)
	for j := range u {
		u[j] = rng.NormFloat64()
	}
	var b matrix.Builder
	y := make([]float64, n)
	for i := range y {
		var s float64
		at := rng.Perm(d)[:40]
		slices.Sort(at)
		for _, j := range at {
			v := rng.NormFloat64()
			b.Add(int32(j), v)
			s += v * u[j]
		}
		b.EndRow()
		y[i] = math.Copysign(1, s)
	}
	return Problem{b.Build(d), y}
}

func TestLeavingExamplesOutChangesNoBound(t *testing.T) {
	prob := large(t)
	s := newAccelerated(prob, 2, 0)
	fewest := s.n
	for s.t < 400 {
		if s.certify(2e-2) && s.cert.Gap() <= 2e-2 {
			break
		}
		s.step()
		fewest = min(fewest, s.work.len(s.n))
	}
	m, _ := prob.Margin(s.w)
	lower := m / mirror.Norm(s.w, 2)
	if fewest > s.n*3/4 {
		t.Errorf("all but %d of %d examples stayed at work", s.n-fewest, s.n)
	}
	// AW is summed up over the iterations, or computed afresh: they agree to rounding.
	if s.cert.Gap() > 2e-2 || math.Abs(lower-s.cert.Lower) > 1e-9*lower {
		t.Errorf("gap %v after %d steps; lower bound %v, all examples say %v", s.cert.Gap(), s.t, s.cert.Lower, lower)
	}
	exact := Certify(prob, 2, s.w, slices.Repeat([]float64{1}, s.n))
	if exact.Upper < s.cert.Lower {
		t.Errorf("the lower bound %v is above %v", s.cert.Lower, exact.Upper)
	}
}

func TestFitsResumeBitForBit(t *testing.T) {
	small, _ := oracle(t, "r100_s1")
	for _, c := range []struct {
		name string
		prob Problem
		set  Settings
	}{
		{"accelerated", small, Settings{P: 3, Gap: 1e-4}},
		{"accelerated, large", large(t), Settings{Gap: 5e-2}},
		{"soft", noisy(1, 200, 5), Settings{Soft: 0.5}},
		{"newton", noisy(1, 200, 5), Settings{Lambda: 1e-3, Gap: 1e-12}},
		{"newton, p = 1.2", noisy(1, 200, 5), Settings{P: 1.2, Lambda: 1e-3, Gap: 1e-9}},
		{"newton, p = 10", noisy(1, 200, 5), Settings{P: 10, Lambda: 1e-3, Gap: 1e-9}},
		{"pgd", small, Settings{Method: MethodPGD, P: 1.5, Steps: 3000, Eta: 1e-3}},
		{"normalized, batches", small,
			Settings{Method: MethodNormalized, P: 3, Steps: 1500, Batch: 4, Eta: 0.05, Seed: 3}},
		{"squared", small, Settings{Method: MethodSquared, P: 3, Steps: 1500}},
		{"steepest", small, Settings{Method: MethodSteepest, P: 3, Steps: 1500, Eta: 1e-3}},
	} {
		want := mustFit(t, c.prob, c.set)
		var saved []Checkpoint
		set := c.set
		set.SaveEvery, set.Save = 1, func(s Checkpoint) error { saved = append(saved, s); return nil }
		mustFit(t, c.prob, set)
		if len(saved) < 2 {
			t.Errorf("%s: %d checkpoints", c.name, len(saved))
			continue
		}
		set = c.set
		set.Resume = &saved[len(saved)/2]
		got := mustFit(t, c.prob, set)
		if got.Steps != want.Steps || !slices.Equal(got.W, want.W) {
			t.Errorf("%s: resumed at step %d to step %d, uninterrupted %d; weights equal: %v",
				c.name, set.Resume.Step, got.Steps, want.Steps, slices.Equal(got.W, want.W))
		}
	}
}

func TestNewtonFindsTheRegularisedOptimum(t *testing.T) {
	for _, l := range []Loss{Logistic{}, Exponential{}, PolynomialTail{}, Square{}} {
		prob := noisy(5, 300, 8)
		r := mustFit(t, prob, Settings{Loss: l, Lambda: 1e-3, Gap: 1e-13})
		// At the optimum the gradient of the loss, taken by differences good to 1e-9, is −λw.
		g := gradient(prob, l, r.W)
		for j := range g {
			if math.Abs(g[j]+1e-3*r.W[j]) > 1e-7 {
				t.Errorf("%v: gradient %v in coordinate %d, want %v", l, g[j], j, -1e-3*r.W[j])
			}
		}
		// A fit that stops early says how far it may be off, and is.
		early := mustFit(t, prob, Settings{Loss: l, Lambda: 1e-3, Gap: 0.3})
		if early.Objective-r.Objective > early.Excess*(1+1e-9) {
			t.Errorf("%v: %v above the optimum, at most %v was promised", l, early.Objective-r.Objective, early.Excess)
		}
	}
}

func TestEveryMethodSeparates(t *testing.T) {
	prob, _ := random(4, 30, 12)
	for _, m := range []MethodName{MethodAccelerated, MethodPGD, MethodNormalized, MethodSquared, MethodSteepest} {
		for _, p := range []float64{1.2, 2, 4} {
			r := mustFit(t, prob, Settings{Method: m, P: p, Steps: 20000})
			if !(r.Lower > 0) || r.Upper < r.Lower || len(r.Points) < 2 {
				t.Errorf("%s, p = %v: [%v, %v], %d points", m, p, r.Lower, r.Upper, len(r.Points))
			}
		}
	}
}

func TestACancelledFitReturnsWhatItHas(t *testing.T) {
	prob := large(t)
	ctx, cancel := context.WithCancel(t.Context())
	steps, saved := 0, 0
	r, err := Accelerated{Gap: 1e-9}.Fit(ctx, prob, Hooks{
		Save: func(Checkpoint) error { saved++; return nil },
		Progress: func(p Point) {
			if steps = p.Step; p.Step >= 5 {
				cancel()
			}
		},
	})
	if !errors.Is(err, context.Canceled) || r == nil || r.Steps < 5 || r.Steps > 10 || saved != 1 {
		t.Errorf("%v, %v after %d steps, %d checkpoints", r, err, steps, saved)
	}
}

// stopAfter is a context that ends when it has been asked so often.
type stopAfter struct {
	context.Context
	left *int
}

func (c stopAfter) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestAPenalisedFitStoppedAnywhereResumesBitForBit(t *testing.T) {
	prob := noisy(6, 60, 8)
	for _, p := range []float64{1.1, 2, 20} {
		set := Settings{P: p, Lambda: 1e-4, Gap: 1e-8}
		want := mustFit(t, prob, set)
		for calls := 1; ; calls += 7 {
			var saved *Checkpoint
			stopped := set
			stopped.Save = func(c Checkpoint) error { saved = &c; return nil }
			stopped.SaveEvery = time.Hour
			left := calls
			if _, err := Fit(stopAfter{t.Context(), &left}, prob, stopped); err == nil {
				break
			}
			if saved == nil {
				t.Fatalf("p = %v: no checkpoint after %d", p, calls)
			}
			again := set
			again.Resume = saved
			got := mustFit(t, prob, again)
			if got.Steps != want.Steps || !slices.Equal(got.W, want.W) || got.Excess != want.Excess {
				t.Fatalf("p = %v, stopped after %d at step %d: %d steps, want %d; excess %v, want %v",
					p, calls, saved.Step, got.Steps, want.Steps, got.Excess, want.Excess)
			}
		}
	}
}

func TestSettingsThatContradictAreRefused(t *testing.T) {
	prob, _ := random(1, 5, 3)
	for _, s := range []Settings{
		{P: 1}, {P: math.NaN()}, {Method: "fly"}, {Lambda: -1}, {Method: MethodNewton}, {Method: MethodPGD, Lambda: 1},
		{Soft: 2}, {Soft: 0.1, Method: MethodPGD}, {Loss: Logistic{}}, {Batch: 2}, {Eta: 1},
		{Start: []float64{1, 2, 3}},
		{Method: MethodPGD, Start: []float64{1}}, {Method: MethodPGD, Batch: 9}, {Method: MethodPGD, Batch: -1},
		{Gap: -1}, {Steps: -1}, {Method: MethodNormalized, Loss: Square{}},
	} {
		if _, err := Fit(t.Context(), prob, s); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
}

func BenchmarkAccelerated(b *testing.B) {
	prob, _ := random(1, 100, 500)
	for _, p := range []float64{1.1, 2, 10} {
		b.Run(fmt.Sprint(p), func(b *testing.B) {
			s := newAccelerated(prob, p, 0)
			for b.Loop() {
				s.step()
			}
		})
	}
}
