package paper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// figure1 is the paper's Figure 1: p-GD on 15 points of the plane, exponential loss, η = 1e-4,
// w₀ ~ N(0, I), p = 1.5, 2, 3.
type figure1 struct {
	plane
	steps  int
	curves []*curve
}

// plane is a data set of Figure 1 with its start.
type plane struct {
	reading dataset.Reading
	seed    uint64
	prob    linear.Problem
	w0      []float64
}

func newPlane(seed uint64, reading dataset.Reading) plane {
	return plane{reading, seed, linear.Problem{X: dataset.R2(seed, reading).X}, start(seed, streamStart2, 2, 1)}
}

// String names the data set.
func (p plane) String() string { return fmt.Sprintf("seed %d, 0.15 is the %v", p.seed, p.reading) }

// curve is one run of p-GD in the plane with the predictions of the theory.
type curve struct {
	P      float64
	U      []float64 // the exact ℓₚ max-margin direction
	Margin float64   // γ̂ₚ
	Points []linear.Point

	limit  *asymptote
	bounds normBounds
}

const eta = 1e-4 // the paper's step in both experiments

// newCurve solves for the limit of p-GD.
func (pl plane) newCurve(ctx context.Context, p float64) (*curve, error) {
	s, err := margin.Solve(ctx, pl.prob, p, margin.Settings{Gap: 1e-12})
	if err != nil {
		return nil, err
	}
	limit, err := newAsymptote(ctx, pl.prob, p)
	if err != nil {
		return nil, err
	}
	n, _ := pl.prob.Dims()
	c := &curve{P: p, U: scaled(s.Lower, s.W), Margin: s.Lower, limit: limit}
	c.bounds = normBounds{p: p, eta: eta, n: n, margin: c.Margin, c: pl.prob.RowNorm(mirror.Conjugate(p)), u: c.U,
		w0: pl.w0}
	return c, nil
}

// descend is the task of a curve: p-GD, step by step. Its metrics are those of an experiment.
func (pl plane) descend(c *curve, steps int, experiment string) task {
	return task{steps, func(ctx context.Context, progress func(int)) (any, error) {
		s, err := linear.Descent{Potential: mirror.Power(c.P), Eta: eta}.Start(pl.prob, pl.w0)
		if err != nil {
			return nil, err
		}
		last := 0
		tr := linear.Trace{P: c.P, Reference: c.U, PerDecade: 40, Each: func(pt linear.Point) {
			progress(pt.Step - last)
			last = pt.Step
		}}
		err = tr.Run(ctx, s, steps)
		c.Points = tr.Points
		metric := map[string]any{"experiment": experiment, "p": c.P, "seed": pl.seed, "points": tr.Points}
		if experiment != "figure1" || pl.reading != dataset.Deviation {
			metric["reading"] = pl.reading.String()
		}
		return metric, err
	}}
}

func newFigure1(ctx context.Context, seed uint64, reading dataset.Reading, steps int) (*figure1, error) {
	f := &figure1{plane: newPlane(seed, reading), steps: steps}
	for _, p := range []float64{1.5, 2, 3} {
		c, err := f.newCurve(ctx, p)
		if none := (*margin.NotSeparableError)(nil); errors.As(err, &none) {
			return nil, fmt.Errorf("the points of Figure 1 (%v) cannot be separated: try another --seed", f.plane)
		} else if err != nil {
			return nil, fmt.Errorf("the data of Figure 1 (%v): %w", f.plane, err)
		}
		f.curves = append(f.curves, c)
	}
	return f, nil
}

// tasks are a descent for each curve.
func (f *figure1) tasks() []task {
	var tasks []task
	for _, c := range f.curves {
		tasks = append(tasks, f.descend(c, f.steps, "figure1"))
	}
	return tasks
}

// panels draws the three panels.
func (f *figure1) panels() []render.Figure {
	return []render.Figure{f.scatter(), f.divergence(), f.norm()}
}

// scatter is panel 1: the points with labels drawn at random, and the ℓ₂ max-margin line.
func (f *figure1) scatter() render.Figure {
	rng := rand.New(rand.NewPCG(f.seed, streamLabels))
	var plus, minus render.Series
	reach := 0.0
	n, _ := f.prob.Dims()
	for i := range n {
		_, x := f.prob.X.Row(i)
		reach = max(reach, math.Abs(x[0]), math.Abs(x[1]))
		s, sign := &plus, 1.0
		if rng.IntN(2) == 0 {
			s, sign = &minus, -1
		}
		s.X, s.Y = append(s.X, sign*x[0]), append(s.Y, sign*x[1])
	}
	plus.Name, plus.Style, plus.Color = "y = +1", render.Crosses, render.Color(1.1)
	minus.Name, minus.Style, minus.Color = "y = −1", render.Discs, render.Color(6)
	reach = math.Ceil(reach*5+1) / 5 // room for the legend
	u := f.curves[1].U               // p = 2
	line := render.Series{Name: "ℓ₂ max margin", Style: render.Dotted}
	for k := -1.0; k <= 1; k += 0.02 { // it is not drawn outside the frame
		t := 1.5 * k * reach
		if x, y := -u[1]*t, u[0]*t; max(math.Abs(x), math.Abs(y)) <= reach {
			line.X, line.Y = append(line.X, x), append(line.Y, y)
		}
	}
	return render.Figure{Title: "The data", X: "x₁", Y: "x₂", Square: true,
		Min: [2]float64{-reach, -reach}, Max: [2]float64{reach, reach}, Series: []render.Series{line, plus, minus}}
}

// rateConstant is the least c for which c/log^(p−1) t lies above the divergence from step 100 on:
// the bound is an O(·), so its constant is ours.
func (c *curve) rateConstant() float64 {
	var k float64
	for _, pt := range c.Points {
		if pt.Step >= 100 {
			k = max(k, pt.Divergence*math.Pow(math.Log(float64(pt.Step)), c.P-1))
		}
	}
	return k
}

// divergence is panel 2: D_ψ(uₚ, w_t/‖w_t‖ₚ) and the bound O(1/log^(p−1) t).
func (f *figure1) divergence() render.Figure {
	fig := render.Figure{Title: "Divergence to the max-margin direction", X: "step t", Y: "D(u, w/‖w‖)",
		LogX: true, LogY: true,
		Min: [2]float64{1, 1e-6}, Max: [2]float64{float64(f.curves[0].last().Step), 10}}
	var bounds []render.Series
	for _, c := range f.curves {
		curve := render.Series{Name: fmt.Sprintf("p = %v", c.P), Color: render.Color(c.P)}
		bound := render.Series{Color: render.Color(c.P), Style: render.Dashed}
		k := c.rateConstant()
		for _, pt := range c.Points {
			t := float64(pt.Step)
			curve.X, curve.Y = append(curve.X, t), append(curve.Y, pt.Divergence)
			if pt.Step >= 100 {
				bound.X, bound.Y = append(bound.X, t), append(bound.Y, k*math.Pow(math.Log(t), 1-c.P))
			}
		}
		fig.Series = append(fig.Series, curve)
		bounds = append(bounds, bound)
	}
	bounds[1].Name = "bounds c / log^(p−1) t"
	fig.Series = append(fig.Series, bounds...)
	return fig
}

// norm is panel 3: ‖w_t‖ₚ and the two bounds of order log t.
func (f *figure1) norm() render.Figure {
	fig := render.Figure{Title: "Norm of the iterate", X: "step t", Y: "p-norm of w",
		LogX: true, LogY: true,
		Min: [2]float64{1, 0.3}, Max: [2]float64{float64(f.curves[0].last().Step), 3000}}
	var bounds []render.Series
	for _, c := range f.curves {
		col := render.Color(c.P)
		curve := render.Series{Name: fmt.Sprintf("p = %v", c.P), Color: col}
		low, up := render.Series{Color: col, Style: render.Dotted}, render.Series{Color: col, Style: render.Dashed}
		if c.P == 2 {
			up.Name = "upper bounds p / ((p−1) γ) · log t"
			low.Name = "lower bounds (log t − p log log t) / C + O(1)"
		}
		for _, pt := range c.Points {
			t := float64(pt.Step)
			curve.X, curve.Y = append(curve.X, t), append(curve.Y, pt.Norm)
			if pt.Step >= 3 {
				up.X, up.Y = append(up.X, t), append(up.Y, c.bounds.upper(t))
			}
			if v := c.bounds.lower(t); v > 0 {
				low.X, low.Y = append(low.X, t), append(low.Y, v)
			}
		}
		fig.Series = append(fig.Series, curve)
		bounds = append(bounds, up, low)
	}
	fig.Series = append(fig.Series, bounds...)
	return fig
}

func (c *curve) last() linear.Point { return c.Points[len(c.Points)-1] }

// slopes fits the last two decades of steps: the exponent of D against log t, and ‖w‖ₚ per unit of log t. A divergence
// that does not fall throughout has no exponent: NaN.
func (c *curve) slopes() (divergence, norm float64) {
	var logLog, logD, log, n []float64
	end := float64(c.last().Step)
	for _, pt := range c.Points {
		if t := float64(pt.Step); t >= max(end/100, 10) && pt.Divergence > 0 {
			log, n = append(log, math.Log(t)), append(n, pt.Norm)
			logLog, logD = append(logLog, math.Log(math.Log(t))), append(logD, math.Log(pt.Divergence))
		}
	}
	if len(log) < 3 {
		return math.NaN(), math.NaN()
	}
	if divergence = math.NaN(); slices.IsSortedFunc(logD, func(a, b float64) int { return cmp.Compare(b, a) }) {
		_, divergence = stat.LinearRegression(logLog, logD, nil, false)
	}
	_, norm = stat.LinearRegression(log, n, nil, false)
	return divergence, norm
}

// rate fits both models to the last two decades of steps. It returns false if the divergence does not fall throughout.
func (c *curve) rate() (rateFit, bool) {
	var logT, d []float64
	for _, pt := range c.Points {
		if pt.Step >= 10 {
			logT, d = append(logT, math.Log(float64(pt.Step))), append(d, pt.Divergence)
		}
	}
	end := math.Log(float64(c.last().Step))
	f, ok := fitRate(logT, d, end-2*math.Ln10, end)
	return f, ok && f.Falls
}

// table compares the measurements with the theory, a column per p.
func (f *figure1) table() render.Table {
	t := render.Table{Title: "Figure 1 in numbers",
		Header: []string{fmt.Sprintf("after %s steps", render.Thousands(f.curves[0].last().Step))},
		Note: "The models of D are fitted to the last two decades of steps, if it falls throughout, with what remains " +
			"of log D (rms) in brackets. In the limit it is the support vectors that decide: see “How fast?”. The lower " +
			"bound on ‖w‖ₚ has its O(1) written out: it contains log η = −9.2, and says nothing before step 10⁷ or so."}
	rows := make([][]render.Cell, 11)
	for i, name := range []string{
		"D(uₚ, w/‖w‖ₚ)",
		"angle between w and uₚ",
		"log^(−k) t: k",
		"t^(−a): a",
		"bound: log^(−k) t with k = p−1",
		"in the limit",
		"‖w‖ₚ",
		"γ̂ₚ·‖w‖ₚ per log t, in the limit 1",
		"upper bound on it: p/(p−1)",
		"lower bound on ‖w‖ₚ",
		"upper bound on ‖w‖ₚ",
	} {
		rows[i] = []render.Cell{render.Text("%s", name)}
	}
	for _, c := range f.curves {
		t.Header = append(t.Header, fmt.Sprintf("p = %v", c.P))
		_, n := c.slopes()
		last := c.last()
		at := float64(last.Step)
		k, a := render.Text("–"), render.Text("–")
		if r, ok := c.rate(); ok {
			k, a = render.Text("%.2f (%.3f)", r.K, r.OffK), render.Text("%.2f (%.3f)", r.A, r.OffA)
		}
		low := render.Text("–")
		if v := c.bounds.lower(at); v > 0 {
			low = render.Number(v, 2)
		}
		for i, cell := range []render.Cell{
			render.Short(last.Divergence, 3),
			render.Text("%.2f°", last.Angle*180/math.Pi),
			k,
			a,
			render.Number(c.P-1, 2),
			render.Text("%s", c.limit.words()),
			render.Number(last.Norm, 3),
			render.Number(c.Margin*n, 3),
			render.Number(c.P/(c.P-1), 3),
			low,
			render.Number(c.bounds.upper(at), 2),
		} {
			rows[i] = append(rows[i], cell)
		}
	}
	t.Rows = rows
	return t
}

// turning returns the step at which the divergence was least, and whether it has risen tenfold since: the iterate
// passed through its limit direction and is returning to it.
func (c *curve) turning() (step int, back bool) {
	least := math.Inf(1)
	for _, pt := range c.Points {
		if pt.Divergence < least {
			step, least = pt.Step, pt.Divergence
		}
	}
	return step, c.last().Divergence > 10*least
}

// tables is the figure in numbers.
func (f *figure1) tables() []render.Table { return []render.Table{f.table()} }

// findings say how far the directions are from their limits, and how fast they approach them.
func (f *figure1) findings() []string {
	var angles, rates []string
	for _, c := range f.curves {
		angles = append(angles, fmt.Sprintf("%.2f°", c.last().Angle*180/math.Pi))
		if r, ok := c.rate(); ok {
			rates = append(rates, fmt.Sprintf("for p = %v log^−%.1f t leaves %.2g and t^−%.2f %.2g", c.P, r.K, r.OffK, r.A,
				r.OffA))
		}
	}
	out := []string{fmt.Sprintf("Figure 1 (%v): after %s steps the directions are %s from their limits, for "+
		"p = 1.5, 2, 3.", f.plane, render.Thousands(f.curves[0].last().Step), strings.Join(angles, ", "))}
	if len(rates) > 0 {
		out = append(out, "Fitted to the divergence of the last two decades of steps, "+strings.Join(rates, "; ")+
			" (rms of log D): such a fit does not say what happens in the limit.")
	}
	for _, c := range f.curves {
		if at, back := c.turning(); back {
			out = append(out, fmt.Sprintf("p = %v passes through its limit direction near step %s and comes back: "+
				"its divergence falls and rises on the way.", c.P, render.Thousands(at)))
		}
	}
	return out
}

// section writes the figure, its numbers and, for CSV, its curves.
func (f *figure1) section(doc *render.Document) error {
	doc.Section("Figure 1: convergence in the plane")
	doc.Say("Fifteen points of the plane (%v), exponential loss, step 10⁻⁴, w₀ ~ N(0, I). The reference direction uₚ is "+
		"the exact ℓₚ max-margin direction.", f.plane)
	caption := "(1) The points with labels drawn at random and the ℓ₂ max-margin line. (2) The divergence to the " +
		"max-margin direction; dashed, the bound O(1/log^(p−1) t) with the least constant that holds from step 100 on. " +
		"(3) The norm of the iterate; dashed and dotted, the paper's bounds of order log t for each p, the lower one with " +
		"its O(1) written out, where it is above 0. Both are bounds, not fits."
	if err := doc.AddFigure("figure1", caption, f.panels()...); err != nil {
		return err
	}
	doc.AddTables(render.Named{Name: "figure1", Table: f.table()})
	curves := render.Table{Header: []string{"p", "step", "loss", "margin", "norm", "divergence", "angle"}}
	for _, c := range f.curves {
		for _, pt := range c.Points {
			curves.Rows = append(curves.Rows, []render.Cell{render.Text("%v", c.P), render.Text("%d", pt.Step),
				render.Short(pt.Loss, 8), render.Short(pt.Margin, 8), render.Short(pt.Norm, 8),
				render.Short(pt.Divergence, 8), render.Short(pt.Angle, 8)})
		}
	}
	doc.SaveTable("figure1_curves", curves)
	return nil
}

// differences is how its random draws are read, and those of R¹⁰⁰.
func (f *figure1) differences() []string {
	return []string{"0.15·I and 0.1·I can be read as variances or as deviations. Figure 1 takes the deviation, since " +
		"the text wants a direction close to (1, 1), or with --reading variance the variance, the more common meaning " +
		"of N(·, Σ); some of its data sets are not separable. Both are shown for the rates and for w₀ in R¹⁰⁰."}
}

// json has the end of each curve beside its bounds.
func (f *figure1) json() map[string]any {
	var curves []map[string]any
	for _, c := range f.curves {
		d, n := c.slopes()
		pt := c.last()
		curves = append(curves, map[string]any{"p": c.P, "divergence": pt.Divergence, "divergence_slope": d,
			"divergence_bound": 1 - c.P, "norm": pt.Norm, "norm_slope": n, "angle": pt.Angle, "margin": c.Margin})
	}
	return map[string]any{"figure1": curves}
}
