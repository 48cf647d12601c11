package paper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// limits checks where descents and paths end.
type limits struct {
	loss, norm, direction, plain, rateNorm, rateLog     *check
	unique, squared, quadratic, regular, logistic, poly *check
	interpolation, leastNorm                            *check
	hyperbolic                                          []hyperbolicLimit
}

// hyperbolicLimit is where HyperbolicEntropy was seen to go: its margin over the best possible, in ℓ₁ and in ℓ₂.
type hyperbolicLimit struct {
	Case       string  `json:"case"`
	Beta       float64 `json:"beta"`
	InL1, InL2 float64
}

const (
	longSteps  = 3_000_000 // of plain p-GD in the plane
	quickSteps = 100_000   // of normalised steps
)

func newLimits() *limits {
	return &limits{
		loss: newCheck("Lemma 4: loss", "L(w_t) → 0: each of the last two decades of steps lowers it", "", "largest loss over that a decade earlier", 0.9),
		norm: newCheck("Lemma 4: norm", "‖w_t‖ₚ → ∞: each of the last two decades of steps raises it", "", "least norm over that a decade earlier", 1.05).atLeast(),
		direction: newCheck("Theorem 13: limit direction", "w_t/‖w_t‖ₚ → u: D(u, w_t/‖w_t‖ₚ) for p-GD with normalised steps, R² and (p ≤ 3) R¹⁰⁰", "",
			"largest D at the end", 5e-5),
		plain: newCheck("Theorem 13: limit direction, constant step", "D(u, w_t/‖w_t‖ₚ) falls with a constant step, R², 3·10⁶ steps", "",
			"largest D at the end over the start", 0.6),
		rateNorm: newCheck("Corollary 15: rate in the norm", "D(u, w_t/‖w_t‖ₚ)·‖w_t‖^(p−1) stays bounded: no larger from √T to T than before (p ≤ 3: for larger p the norm is still below 5)",
			"the proof leaves α fixed, so it shows a limit α/(1+α) and not 0", "largest of the second half of log t over the first", 1),
		rateLog: newCheck("Corollary 17: rate in t", "D(u, w_t/‖w_t‖ₚ)·log^(p−1) t stays bounded: no larger from √T to T than before (p ≤ 3)", "", "largest of the second half of log t over the first", 1),
		unique:  newCheck("Uniqueness of the max-margin direction", "one u for rows and columns in any order, and with doubled rows", "", "largest D between solutions", 1e-6),
		squared: newCheck("½‖·‖ₚ² and (1/p)‖·‖ₚᵖ", "SquaredNorm(p) tends to the same direction u as Power(p), normalised steps",
			"", "largest D at the end", 1e-3).beyond(),
		quadratic: newCheck("quadratic potential", "Quadratic(a) tends to the largest margin in its own norm (Σaⱼwⱼ²)^½",
			"", "largest gap of that margin", 1e-3).beyond(),
		regular:  newCheck("Proposition 14, exponential loss", "w̄(B)/B → u", "", "largest D at the end of the path", 1e-4),
		logistic: newCheck("Proposition 14, logistic loss", "w̄(B)/B → u: any loss with an exponential tail", "", "largest D at the end of the path", 1e-4),
		poly: newCheck("regularised direction, polynomial tail", "w̄(B)/B does not tend to u if the tail is polynomial (R¹⁰⁰)", "",
			"least D at the end of the path over that a decade in B earlier", 0.5).atLeast().beyond(),
		interpolation: newCheck("Regression: divergence never rises", "D(w, w_{t+1}) ≤ D(w, w_t) for interpolating w (three of them), if D_{ψ−ηL}(w_{t+1}, w_t) ≥ 0", "",
			oneStep, 1e-12),
		leastNorm: newCheck("Regression: limit", "mirror descent from 0 ends at the interpolation of least ℓₚ norm (p ≤ 3)",
			"Table 1 writes ‖w − w₀‖ₚ, which is D(w, w₀) if w₀ ≠ 0 and p ≠ 2", "largest relative distance to the exact solution", 1e-6),
	}
}

func (l *limits) all() []*check {
	return []*check{l.loss, l.norm, l.plain, l.direction, l.rateNorm, l.rateLog, l.unique, l.regular, l.logistic, l.poly, l.squared, l.quadratic, l.interpolation, l.leastNorm}
}

// saw counts a case.
func (c *check) saw(v float64, where string) {
	c.Cases++
	c.see(v, where)
}

// plane runs plain p-GD in the plane for long.
func (l *limits) plane(ctx context.Context, sub subject, set setting) error {
	u, _, err := sub.direction(set.prob, set.p)
	if err != nil {
		return err
	}
	s, err := linear.Descent{Potential: sub.potential(set.p), Loss: sub.loss, Eta: set.eta}.Start(set.prob, set.w0)
	if err != nil {
		return err
	}
	tr := linear.Trace{P: set.p, Reference: u, PerDecade: 20}
	if err := tr.Run(ctx, s, set.steps); err != nil {
		return err
	}
	at := func(step int) linear.Point {
		i, _ := slices.BinarySearchFunc(tr.Points, step, func(p linear.Point, t int) int { return p.Step - t })
		return tr.Points[min(i, len(tr.Points)-1)]
	}
	end := set.steps
	where := set.String()
	for _, t := range []int{end, end / 10} {
		now, before := at(t), at(t/10)
		l.loss.saw(now.Loss/before.Loss, where)
		l.norm.saw(now.Norm/before.Norm, where)
	}
	l.plain.saw(at(end).Divergence/tr.Points[0].Divergence, where)
	if set.p > 3 {
		return nil
	}
	half := int(math.Sqrt(float64(end)))
	sup := func(lo, hi int, f func(linear.Point) float64) float64 {
		v := math.Inf(-1)
		for _, pt := range tr.Points {
			if pt.Step >= lo && pt.Step < hi {
				v = max(v, f(pt))
			}
		}
		return v
	}
	byNorm := func(pt linear.Point) float64 { return pt.Divergence * math.Pow(pt.Norm, set.p-1) }
	byLog := func(pt linear.Point) float64 { return pt.Divergence * math.Pow(math.Log(float64(pt.Step)), set.p-1) }
	l.rateNorm.saw(sup(half, end+1, byNorm)/sup(10, half, byNorm), where)
	l.rateLog.saw(sup(half, end+1, byLog)/sup(10, half, byLog), where)
	return nil
}

// ends runs normalised steps, Power and SquaredNorm, and compares with the exact direction.
func (l *limits) ends(ctx context.Context, sub subject, set setting) error {
	u, _, err := sub.direction(set.prob, set.p)
	if err != nil {
		return err
	}
	run := func(psi mirror.Potential, c *check) error {
		d := linear.Descent{Potential: psi, Loss: sub.loss, Normalized: true}
		if d.Eta, err = d.FindStep(ctx, set.prob, nil); err != nil {
			return err
		}
		s, err := d.Start(set.prob, nil)
		if err != nil {
			return err
		}
		if err := s.Run(ctx, quickSteps); err != nil {
			return fmt.Errorf("%v, %v: %w", set, psi, err)
		}
		c.saw(s.Measure(set.p, u).Divergence, set.String())
		return nil
	}
	if len(set.w0) == 2 || set.p <= 3 {
		if err := run(sub.potential(set.p), l.direction); err != nil {
			return err
		}
	}
	if err := run(sub.squared(set.p), l.squared); err != nil {
		return err
	}
	v, err := shuffled(ctx, sub, set)
	if err != nil {
		return err
	}
	l.unique.saw(mirror.Divergence(mirror.Power(set.p), u, v), set.String())
	return nil
}

// shuffled solves the problem with rows doubled and rows and columns in another order, and puts the columns back.
func shuffled(ctx context.Context, sub subject, set setting) ([]float64, error) {
	n, d := set.prob.Dims()
	rng := rand.New(rand.NewPCG(9, uint64(n)))
	cols, order := rng.Perm(d), rng.Perm(n)
	var rows [][]float64
	for _, i := range append(order, order[0]) {
		idx, val := set.prob.X.Row(i)
		row := make([]float64, d)
		for k, v := range val {
			j := k
			if idx != nil {
				j = int(idx[k])
			}
			row[cols[j]] = v
		}
		rows = append(rows, row)
	}
	v, _, err := sub.direction(linear.Problem{X: matrix.FromRows(rows)}, set.p)
	if err != nil {
		return nil, err
	}
	back := make([]float64, d)
	for j, c := range cols {
		back[j] = v[c]
	}
	return back, ctx.Err()
}

// paths follows the regularisation path of three losses.
func (l *limits) paths(ctx context.Context, sub subject, set setting) error {
	u, gamma, err := sub.direction(set.prob, set.p)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		loss margin.Curved
		to   float64
		see  *check
	}{{linear.Exponential{}, 500 / gamma, l.regular}, {linear.Logistic{}, 500 / gamma, l.logistic}, {linear.PolynomialTail{}, 1e4 / gamma, l.poly}} {
		if c.see == l.poly && len(u) == 2 {
			continue // in the plane the two can agree by chance
		}
		points, err := margin.Path{P: set.p, Loss: sub.pathLoss(c.loss), To: c.to}.Run(ctx, set.prob)
		if err != nil {
			return fmt.Errorf("%v, %v: %w", set, c.loss, err)
		}
		at := func(b float64) float64 {
			i, _ := slices.BinarySearchFunc(points, b, func(p margin.PathPoint, b float64) int {
				if p.B < b {
					return -1
				}
				return 1
			})
			w := points[min(i, len(points)-1)].W
			return mirror.Divergence(mirror.Power(set.p), u, scaled(1/mirror.Norm(w, set.p), w))
		}
		end := points[len(points)-1].B
		if last := at(end); c.see == l.poly {
			c.see.saw(last/at(end/10), set.String())
		} else {
			c.see.saw(last, set.String())
		}
	}
	return nil
}

// others are the potentials that are not powers of p-norms.
func (l *limits) others(ctx context.Context, sub subject, set setting) error {
	_, d := set.prob.Dims()
	a := make([]float64, d)
	for j := range a {
		a[j] = 0.5 + float64(j%5)
	}
	exact, err := margin.SolveQuadratic(ctx, set.prob, a, margin.Settings{})
	if err != nil {
		return err
	}
	best := exact.Lower
	run := func(psi mirror.Potential) ([]float64, error) {
		dsc := linear.Descent{Potential: psi, Loss: sub.loss, Normalized: true}
		if dsc.Eta, err = dsc.FindStep(ctx, set.prob, nil); err != nil {
			return nil, err
		}
		s, err := dsc.Start(set.prob, nil)
		if err != nil {
			return nil, err
		}
		err = s.Run(ctx, quickSteps)
		var over *linear.OverflowError
		if errors.As(err, &over) { // sinh overflows: the state before that is as far as floats go
			err = nil
		}
		return s.W, err
	}
	w, err := run(sub.quadratic(a))
	if err != nil {
		return err
	}
	m, _ := set.prob.Margin(w)
	own := math.Sqrt(2 * mirror.Quadratic(a).Value(w))
	l.quadratic.saw(best/(m/own)-1, set.name)

	for _, beta := range []float64{0.01, 1} {
		w, err := run(mirror.HyperbolicEntropy(beta))
		if err != nil {
			return err
		}
		h := hyperbolicLimit{Case: set.name, Beta: beta}
		m, _ := set.prob.Margin(w)
		for _, c := range []struct {
			p   float64
			out *float64
		}{{1, &h.InL1}, {2, &h.InL2}} {
			s, err := margin.Solve(ctx, set.prob, c.p, margin.Settings{Gap: 1e-8})
			if err != nil {
				return err
			}
			*c.out = m / mirror.Norm(w, c.p) / s.Lower
		}
		l.hyperbolic = append(l.hyperbolic, h)
	}
	return nil
}

// regress checks mirror descent with square loss on an under-determined system.
func (l *limits) regress(ctx context.Context, sub subject, p float64, seed uint64) error {
	r := newRegression(seed)
	exact, err := sub.interpolate(r.prob, p)
	if err != nil {
		return err
	}
	where := fmt.Sprintf("10 × 40, seed %d, p = %v", seed, p)
	eta := regressionStep(p)
	s, err := linear.Descent{Potential: sub.potential(p), Loss: sub.square, Eta: eta}.Start(r.prob, nil)
	if err != nil {
		return err
	}
	psi := mirror.Power(p)
	n, d := r.prob.Dims()
	w, f := slices.Clone(s.W), make([]float64, n)
	loss := func(w []float64) (sum float64) {
		r.prob.X.Mul(f, w)
		for i, y := range r.prob.Y {
			f[i] -= y
			sum += f[i] * f[i] / 2 / float64(n)
		}
		return sum
	}
	others := [][]float64{exact} // and two more solutions: the least-norm ones of other geometries
	for _, q := range []float64{1.3, 4} {
		u, err := sub.interpolate(r.prob, q)
		if err != nil {
			return err
		}
		others = append(others, u)
	}
	for t := range 2_000 {
		before := loss(w)
		grad := make([]float64, d)
		for i := range f {
			f[i] /= float64(n)
		}
		r.prob.X.AddMulT(grad, f)
		s.Step()
		dl := loss(s.W) - before
		for j := range grad {
			dl -= grad[j] * (s.W[j] - w[j])
		}
		local := mirror.Divergence(psi, s.W, w) - eta*dl
		if l.interpolation.under(local >= -1e-18) {
			for _, u := range others {
				if e := excess(mirror.Divergence(psi, u, s.W), mirror.Divergence(psi, u, w), psi.Value(u)); !(e <= l.interpolation.worst) {
					l.interpolation.see(e, fmt.Sprintf("%s, step %d", where, t))
				}
			}
		}
		copy(w, s.W)
	}
	if l.interpolation.held > 0 {
		l.interpolation.Cases++
	}
	if p > 3 {
		return nil
	}
	if err := s.Run(ctx, regressionSteps); err != nil {
		return err
	}
	diff := slices.Clone(s.W)
	for j := range diff {
		diff[j] -= exact[j]
	}
	l.leastNorm.saw(mirror.Norm(diff, p)/mirror.Norm(exact, p), where)
	return nil
}
