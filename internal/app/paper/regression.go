package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// regression is the left column of the paper's Table 1: mirror descent with square loss on an under-determined
// system converges to the interpolating w nearest to w₀ in D_ψ(·, w₀); for w₀ = 0, to the one of least ℓₚ norm.
type regression struct {
	prob  linear.Problem
	x     *mat.Dense
	w0    []float64 // the start other than 0
	fits  []*interpolation
	moved []*movedStart
}

// interpolation is one run from 0 and the proof of its optimality.
type interpolation struct {
	P         float64
	W         []float64 // the end of the run, moved to the solutions of the equations
	Residual  float64   // max|⟨xᵢ, w⟩ − yᵢ| of the end itself
	Gap       float64   // ‖W‖ₚ·‖Xᵀλ‖_q/⟨λ, y⟩ − 1: how far ‖W‖ₚ can be from the least
	Stiffness float64   // see regression.stiffness
}

// movedStart is one run from w₀ ≠ 0: Table 1 writes ‖w − w₀‖ₚ where the theorem has D_ψ(w, w₀). Two solutions are
// measured by both: the limit of p-GD, and the nearest to w₀ in ‖· − w₀‖ₚ.
type movedStart struct {
	P                float64
	Residual         float64 // as above
	Least            float64 // no solution has a smaller divergence: of margin.Project
	Gap              float64 // Divergence[0]/Least − 1
	Divergence, Norm [2]float64
}

// settledGap is the gap below which the digits of the tables are those of the limit.
const settledGap = 1e-6

func (f *interpolation) settled() bool { return math.Abs(f.Gap) < settledGap }
func (m *movedStart) settled() bool    { return math.Abs(m.Gap) < settledGap }

const (
	regressionRows = 10
	regressionCols = 40
	constantSteps  = 300_000
	shrinkingCount = 1_000_000
)

// constantStep is the step for p ≤ 3: ψ″ falls with p where weights are below 1, and so must the step. For larger p
// steps shrink, see shrinkingSteps.
func constantStep(p float64) float64 {
	if p > 2 {
		return 1e-4
	}
	return 1e-2
}

// shrinks reports whether the steps of p shrink.
func shrinks(p float64) bool { return p > 3 }

func newRegression(seed uint64) *regression {
	rng := rand.New(rand.NewPCG(seed, streamRegression))
	normal := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	data := normal(regressionRows * regressionCols)
	r := &regression{x: mat.NewDense(regressionRows, regressionCols, data)}
	r.prob = linear.Problem{X: matrix.NewDense(regressionCols, data), Y: normal(regressionRows)}
	r.w0 = normal(regressionCols)
	for _, p := range numbers.Ps {
		r.fits = append(r.fits, &interpolation{P: p})
		r.moved = append(r.moved, &movedStart{P: p})
	}
	return r
}

// descend runs p-GD with square loss from w0, nil meaning 0, and returns the weights and their dual vector.
func (r *regression) descend(ctx context.Context, p float64, w0 []float64, progress func(int)) (
	w, z []float64, err error) {
	if shrinks(p) {
		s := newSquareDescent(r.prob, mirror.Power(p), linear.Square{}, w0)
		first, last := shrinkingSteps(r.prob, p, w0)
		err := s.shrink(ctx, first, last, shrinkingCount, progress)
		return s.w, s.z, err
	}
	s, err := linear.Descent{Potential: mirror.Power(p), Loss: linear.Square{}, Eta: constantStep(p)}.Start(r.prob, w0)
	if err != nil {
		return nil, nil, err
	}
	err = runTo(ctx, s, constantSteps, progress)
	return s.W, s.Z, err
}

// tasks are the descents from 0 and from w₀, two for each p.
func (r *regression) tasks() []task {
	var tasks []task
	for i, p := range numbers.Ps {
		steps := constantSteps
		if shrinks(p) {
			steps = shrinkingCount
		}
		tasks = append(tasks, task{steps, r.fits[i].run(r)}, task{steps, r.moved[i].run(r)})
	}
	return tasks
}

// run is the task of a descent from 0.
func (f *interpolation) run(r *regression) func(context.Context, func(int)) (any, error) {
	return func(ctx context.Context, progress func(int)) (any, error) {
		w, z, err := r.descend(ctx, f.P, nil, progress)
		if err != nil {
			return nil, err
		}
		f.W = r.solution(f.P, w)
		f.Residual, f.Gap = r.certify(f.P, w, z)
		f.Stiffness = r.stiffness(f.P, f.W)
		return map[string]any{"experiment": "regression", "p": f.P, "residual": f.Residual, "gap": f.Gap,
			"stiffness": f.Stiffness}, nil
	}
}

// run is the task of a descent from w₀.
func (m *movedStart) run(r *regression) func(context.Context, func(int)) (any, error) {
	return func(ctx context.Context, progress func(int)) (any, error) {
		w, _, err := r.descend(ctx, m.P, r.w0, progress)
		if err != nil {
			return nil, err
		}
		exact, err := margin.Project(ctx, r.prob, m.P, r.w0, margin.Settings{})
		if err != nil {
			return nil, err
		}
		nearest, err := r.nearest(ctx, m.P)
		if err != nil {
			return nil, err
		}
		m.Residual = r.residual(w)
		for k, w := range [][]float64{r.solution(m.P, w), nearest} {
			m.Divergence[k] = mirror.Divergence(mirror.Power(m.P), w, r.w0)
			m.Norm[k] = mirror.Norm(minus(w, r.w0), m.P)
		}
		m.Least, m.Gap = exact.Lower, m.Divergence[0]/exact.Lower-1
		return map[string]any{"experiment": "regression-moved", "p": m.P, "divergence": m.Divergence, "norm": m.Norm,
			"residual": m.Residual, "least": m.Least, "gap": m.Gap}, nil
	}
}

// nearest is the solution nearest to w₀ in ‖· − w₀‖ₚ: its distance to w₀ is the least-norm solution of X·Δ = y − Xw₀.
func (r *regression) nearest(ctx context.Context, p float64) ([]float64, error) {
	y := make([]float64, regressionRows)
	r.prob.X.Mul(y, r.w0)
	step, err := margin.LeastNorm(ctx, linear.Problem{X: r.prob.X, Y: minus(r.prob.Y, y)}, p, margin.Settings{})
	if err != nil {
		return nil, err
	}
	for j := range step.W {
		step.W[j] += r.w0[j]
	}
	return step.W, nil
}

// minus returns x − y.
func minus(x, y []float64) []float64 {
	out := make([]float64, len(x))
	for j := range x {
		out[j] = x[j] - y[j]
	}
	return out
}

// residual is max|⟨xᵢ, w⟩ − yᵢ|.
func (r *regression) residual(w []float64) float64 {
	f := make([]float64, regressionRows)
	r.prob.X.Mul(f, w)
	return mirror.Norm(minus(f, r.prob.Y), math.Inf(1))
}

// root is 1/√ψ″ = |w|^(1−p/2)/√(p−1) of every weight. For p > 2 weights count as at least a millionth of the largest.
func root(p float64, w []float64) []float64 {
	least := 0.0
	if p > 2 {
		least = 1e-6 * mirror.Norm(w, math.Inf(1))
	}
	out := make([]float64, len(w))
	for j, v := range w {
		out[j] = math.Pow(max(math.Abs(v), least), 1-p/2) / math.Sqrt(p-1)
	}
	return out
}

// scaled is X with its columns multiplied.
func (r *regression) scaled(by []float64) *mat.Dense {
	var out mat.Dense
	out.Apply(func(_, j int, x float64) float64 { return x * by[j] }, r.x)
	return &out
}

// solution moves w to the solutions of the equations, by the least step in the metric ψ″(w).
func (r *regression) solution(p float64, w []float64) []float64 {
	f := make([]float64, regressionRows)
	r.prob.X.Mul(f, w)
	by := root(p, w)
	var step mat.VecDense
	if err := step.SolveVec(r.scaled(by), mat.NewVecDense(regressionRows, minus(r.prob.Y, f))); err != nil {
		return w // by is too uneven for an accurate step
	}
	out := slices.Clone(w)
	for j := range out {
		out[j] += step.AtVec(j) * by[j]
	}
	return out
}

// stiffness is the ratio of the largest to the smallest eigenvalue of XAXᵀ, A = diag(1/ψ″(w)): near its limit w a
// descent with a constant step needs about as many steps for each factor e.
func (r *regression) stiffness(p float64, w []float64) float64 {
	var svd mat.SVD
	if !svd.Factorize(r.scaled(root(p, w)), mat.SVDNone) {
		return math.NaN()
	}
	values := svd.Values(nil)
	ratio := values[0] / values[len(values)-1]
	return ratio * ratio
}

// certify checks w by weak duality: any λ gives ‖v‖ₚ ≥ ⟨λ, y⟩/‖Xᵀλ‖_q for every interpolating v, here the solution
// beside w. λ is read off the dual vector, which stays in the row space: z = Xᵀλ.
func (r *regression) certify(p float64, w, z []float64) (residual, gap float64) {
	var lambda mat.VecDense
	if err := lambda.SolveVec(r.x.T(), mat.NewVecDense(len(z), z)); err != nil {
		return math.NaN(), math.NaN()
	}
	var v mat.VecDense
	v.MulVec(r.x.T(), &lambda)
	dual := mirror.Norm(v.RawVector().Data, mirror.Conjugate(p))
	bound := mat.Dot(&lambda, mat.NewVecDense(len(r.prob.Y), r.prob.Y)) / dual
	return r.residual(w), mirror.Norm(r.solution(p, w), p)/bound - 1
}

// table has the norms of the six limits in the six geometries, with their proofs.
func (r *regression) table() render.Table {
	t := render.Table{Header: []string{""},
		Title: "Least-norm interpolation: 10 random equations, 40 unknowns, from w₀ = 0",
		Note: "Residual is max|⟨xᵢ, w⟩ − yᵢ| of the last w; norms and gap are of the solution beside it. Gap is the " +
			"proved relative distance of its ℓₚ norm to the least of any solution. " + r.steps()}
	for _, p := range numbers.Ps {
		t.Header = append(t.Header, numbers.NormName(p))
	}
	t.Header = append(t.Header, "residual", "gap")
	for _, f := range r.fits {
		row := []render.Cell{render.Text("p = %v", f.P)}
		for _, p := range numbers.Ps {
			c := render.Number(mirror.Norm(f.W, p), 5)
			c.Mark = p == f.P
			if !f.settled() {
				c.Value = math.NaN() // it is not the limit, so its norm is not compared
			}
			row = append(row, c)
		}
		gap := render.Text("%.0e", math.Abs(f.Gap)) // a negative one is rounding
		if !f.settled() {
			gap = render.Text("–")
		}
		t.Rows = append(t.Rows, append(row, render.Text("%.0e", f.Residual), gap))
	}
	t.MarkLeast()
	return t
}

// steps says which steps shrink, and why.
func (r *regression) steps() string {
	var which, many []string
	for _, f := range r.fits {
		if shrinks(f.P) {
			which = append(which, fmt.Sprint(f.P))
			many = append(many, fmt.Sprintf("%.0e", f.Stiffness))
		}
	}
	return fmt.Sprintf("For p = %s the step shrinks geometrically, by 10^(3(p−2)) over %s steps: a weight near 0 has "+
		"next to no ψ″, and a constant step short enough for it would take some %s steps for each factor e of the others.",
		strings.Join(which, " and "), render.Thousands(shrinkingCount), strings.Join(many, " and "))
}

// movedTable measures both solutions of the moved start in both ways.
func (r *regression) movedTable() render.Table {
	t := render.Table{Title: "From a start w₀ ≠ 0: nearest in which sense?",
		Header: []string{"", "D(w, w₀)", "least, proved", "gap", "‖w − w₀‖ₚ", "D, nearest in norm", "‖·‖ₚ, nearest in norm",
			"residual"},
		Note: "The paper's Table 1 writes ‖w − w₀‖ₚ. For p ≠ 2 and w₀ ≠ 0 the limit w of p-GD minimises the divergence " +
			"instead, and the solution nearest in ‖· − w₀‖ₚ is another one. Least is the divergence below which there is no " +
			"solution (margin.Project), gap is how far D(w, w₀) is above it."}
	for _, m := range r.moved {
		row := []render.Cell{render.Text("p = %v", m.P), render.Number(m.Divergence[0], 5), render.Number(m.Least, 5),
			render.Text("%.0e", math.Abs(m.Gap)), render.Number(m.Norm[0], 5), render.Number(m.Divergence[1], 5),
			render.Number(m.Norm[1], 5), render.Text("%.0e", m.Residual)}
		row[1].Best, row[6].Best = m.settled(), true
		t.Rows = append(t.Rows, row)
	}
	return t
}

// tables are the norms of the limits, and the divergences from the other start.
func (r *regression) tables() []render.Table { return []render.Table{r.table(), r.movedTable()} }

// findings say for which p the limit is proved to be the nearest solution.
func (r *regression) findings() []string {
	worst, gap := 0.0, 0.0
	var settled, unsettled []string
	for i, f := range r.fits {
		m := r.moved[i]
		if !f.settled() || !m.settled() {
			unsettled = append(unsettled, fmt.Sprintf("For p = %v the descent has not settled (residual %.0e from 0, %.0e "+
				"from w₀).", f.P, f.Residual, m.Residual))
			continue
		}
		settled = append(settled, fmt.Sprint(f.P))
		worst, gap = max(worst, f.Residual, m.Residual), max(gap, math.Abs(f.Gap), math.Abs(m.Gap))
	}
	if len(settled) == 0 {
		return []string{"Regression: no descent settled. " + strings.Join(unsettled, " ")}
	}
	return []string{strings.TrimSpace(fmt.Sprintf("Regression: for p = %s mirror descent ends at the solution nearest "+
		"to its start in the divergence, from 0 (that of least ℓₚ norm) and from a random w₀: proved to a relative %.0e "+
		"(residual %.0e). %s", strings.Join(settled, ", "), gap, worst, strings.Join(unsettled, " ")))}
}

// section writes both tables.
func (r *regression) section(doc *render.Document) error {
	doc.Section("Regression: the nearest interpolation")
	doc.Say("With square loss on an under-determined system mirror descent tends to the solution nearest to its start " +
		"in the divergence; from 0, to the solution of least ℓₚ norm. The gap proves it: no solution is nearer by more.")
	doc.AddTables(render.Named{Name: "regression", Table: r.table()},
		render.Named{Name: "regression_moved", Table: r.movedTable()})
	return nil
}

// differences is what Table 1 writes.
func (r *regression) differences() []string {
	for _, m := range r.moved {
		if m.P == 3 {
			return []string{fmt.Sprintf("Table 1, regression: it has ‖w − w₀‖ₚ where the limit of mirror descent minimises "+
				"D(w, w₀). From w₀ ≠ 0 and with p = 3 p-GD ends at D = %.3f and ‖w − w₀‖₃ = %.3f, the solution nearest in the "+
				"norm has %.3f and %.3f. From 0, and for p = 2, both are the same.", m.Divergence[0], m.Norm[0],
				m.Divergence[1], m.Norm[1])}
		}
	}
	return nil
}

// json has the certificates of each p.
func (r *regression) json() map[string]any {
	var fits, moved []map[string]any
	for i, f := range r.fits {
		fits = append(fits, map[string]any{"p": f.P, "residual": f.Residual, "gap": f.Gap, "stiffness": f.Stiffness})
		m := r.moved[i]
		moved = append(moved, map[string]any{"p": m.P, "residual": m.Residual, "gap": m.Gap, "least": m.Least,
			"divergence": m.Divergence, "norm": m.Norm})
	}
	return map[string]any{"regression": fits, "regression_moved": moved}
}
