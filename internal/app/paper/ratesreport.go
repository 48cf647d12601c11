package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/render"
)

var _ experiment = (*rates)(nil)

// lawKinds are the three laws: by how many support vectors there are, and how D falls.
var lawKinds = []struct {
	support, law string
	is           func(a *asymptote) bool
}{
	{"1", "log^(−2(p−1)) t", func(a *asymptote) bool { return !a.Spread }},
	{"2", "log^(−2) t", func(a *asymptote) bool { return a.K > 0 }},
	{"3, symmetric", "t^(−a), a ≤ 1/3", func(a *asymptote) bool { return !a.polylog() }},
}

// kindCount counts the data sets of a kind, for one p.
func (r *rates) kindCount(reading dataset.Reading, kind, k int) (n int) {
	for _, s := range r.of(reading) {
		if lawKinds[kind].is(s.limits[k]) {
			n++
		}
	}
	return n
}

// laws is the table of the support vectors and what they mean.
func (r *rates) laws() render.Table {
	t := render.Table{Title: "How fast? The support vectors decide",
		Header: []string{"0.15 is the", "support vectors", "D(uₚ, w/‖w‖ₚ) falls like"},
		Note: "In how many data sets. Two support vectors: D‖w‖² tends to a constant, whatever p is. Three: (1/6, 1/2), " +
			"(1/2, 1/6) and (1/3, 1/3), on a line and symmetric; a is 1/3, or less if another point is near the margin."}
	for _, p := range ratePs {
		t.Header = append(t.Header, fmt.Sprintf("p = %v", p))
	}
	for _, reading := range readings {
		for kind, l := range lawKinds {
			row := []render.Cell{render.Text("%v", reading), render.Text("%s", l.support), render.Text("%s", l.law)}
			for k := range ratePs {
				row = append(row, render.Number(float64(r.kindCount(reading, kind, k)), 0))
			}
			t.Rows = append(t.Rows, row)
		}
		if n := r.skipped[reading]; n > 0 {
			row := []render.Cell{render.Text("%v", reading), render.Text("not separable"), render.Text("–")}
			for range ratePs {
				row = append(row, render.Number(float64(n), 0))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// orderTimes are the decades at which divergences of different p are compared.
var orderTimes = []int{6, 9, 30, lastTime}

// orders is the table of “faster for larger p”.
func (r *rates) orders() render.Table {
	t := render.Table{Title: "Faster for larger p? (p = 1.5, 2, 3)", Header: []string{"at t ="},
		Note: "In how many data sets D is smaller for each larger p, larger for each larger p, or neither, by the mirror " +
			"flow; in the limit by the exact solution."}
	for _, reading := range readings {
		for _, word := range []string{"faster", "slower", "neither"} {
			t.Header = append(t.Header, fmt.Sprintf("%v: %s", reading, word))
		}
	}
	row := func(name string, orders []order) {
		cells := []render.Cell{render.Text("%s", name)}
		for _, o := range orders {
			for _, n := range []int{o.Faster, o.Slower, o.Neither} {
				cells = append(cells, render.Number(float64(n), 0))
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	for _, decades := range orderTimes {
		var orders []order
		for _, reading := range readings {
			orders = append(orders, r.orderAt(reading, decades))
		}
		row(fmt.Sprintf("10^%d", decades), orders)
	}
	var limits []order
	for _, reading := range readings {
		o, _ := r.orderInTheLimit(reading)
		limits = append(limits, o)
	}
	row("∞", limits)
	return t
}

// models is the table of the two models in windows of time.
func (r *rates) models() render.Table {
	t := render.Table{Title: "A power of log t, or of t? (p = 1.5, 2, 3)",
		Header: []string{"t", "0.15 is the", "flows", "D falls throughout", "log^(−k) t fits better", "t^(−a) fits better",
			"the better one is right"},
		Note: "Two parameters each, the same points, least squares of log D. “Right” is the model that the exact " +
			"solution proves for t → ∞."}
	for _, w := range windows {
		for _, reading := range readings {
			v := r.judge(reading, w)
			row := []render.Cell{render.Text("10^%d to 10^%d", w.from, w.to), render.Text("%v", reading)}
			for _, n := range []int{v.Flows, v.Falling, v.Log, v.Power, v.Right} {
				row = append(row, render.Number(float64(n), 0))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// growthTimes are the decades at which the growth of the norm is measured.
var growthTimes = []int{6, 9, 30, lastTime}

// growth is the table of the norm's growth.
func (r *rates) growth() render.Table {
	t := render.Table{Title: "γ̂ₚ‖w‖ₚ per log t, over the two decades before t", Header: []string{"t ="},
		Note: "Median and range over the data sets of both readings. The limit is 1; the paper's upper bound is p/(p−1). " +
			"For finite t it is about 1 − (p−2)/log(ηt)."}
	for _, p := range ratePs {
		t.Header = append(t.Header, fmt.Sprintf("p = %v", p))
	}
	for _, decades := range growthTimes {
		row := []render.Cell{render.Text("10^%d", decades)}
		for k := range ratePs {
			v := r.growths(k, decades)
			if len(v) == 0 {
				row = append(row, render.Text("–"))
				continue
			}
			row = append(row, render.Text("%.2f (%.2f–%.2f)", median(v), v[0], v[len(v)-1]))
		}
		t.Rows = append(t.Rows, row)
	}
	bound := []render.Cell{render.Text("bound p/(p−1)")}
	for _, p := range ratePs {
		bound = append(bound, render.Number(p/(p-1), 2))
	}
	t.Rows = append(t.Rows, bound)
	return t
}

// median returns the middle of sorted numbers.
func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

// tables are those of the report, all of them small.
func (r *rates) tables() []render.Table {
	return []render.Table{r.laws(), r.orders(), r.models(), r.growth()}
}

// findings are about the paper's sentences on rates.
func (r *rates) findings() []string {
	const p2 = 1 // the index of p = 2
	both := func(count func(dataset.Reading) int) string {
		return fmt.Sprintf("%d and %d", count(dataset.Deviation), count(dataset.Variance))
	}
	faster := func(decades int) string {
		return both(func(reading dataset.Reading) int { return r.orderAt(reading, decades).Faster })
	}
	out := []string{
		fmt.Sprintf("How fast p-GD converges in the plane depends on the support vectors. Counts are of %s separable data "+
			"sets, with 0.15 as the deviation and as the variance.",
			both(func(reading dataset.Reading) int { return len(r.of(reading)) })),
		fmt.Sprintf("“Exactly poly-logarithmic” is right in %s. In the others the paper's three fixed points are the "+
			"support vectors, and D falls like a power of t.", both(func(reading dataset.Reading) int {
			return r.kindCount(reading, 0, p2) + r.kindCount(reading, 1, p2)
		})),
		fmt.Sprintf("“Faster for larger p” (p = 1.5, 2, 3) is right in %s at t = 10⁶, in %s at t = 10⁹ and in %s in the "+
			"limit, due to a larger exponent in %s. With two support vectors D ~ K/‖w‖² for every p.", faster(6), faster(9),
			both(func(reading dataset.Reading) int {
				o, _ := r.orderInTheLimit(reading)
				return o.Faster
			}), both(func(reading dataset.Reading) int {
				_, n := r.orderInTheLimit(reading)
				return n
			})),
	}
	if v := r.ratios(lastTime); len(v) > 0 {
		near := 0
		for _, x := range v {
			if math.Abs(x-1) < 0.1 {
				near++
			}
		}
		out = append(out, fmt.Sprintf("With two support vectors D‖w‖²/K is within 10 %% of 1 at t = 10^%d for %d of %d "+
			"curves (median %.3f).", lastTime, near, len(v), median(v)))
	}
	var fits []string
	for _, w := range windows[1:] {
		var right, falling int
		for _, reading := range readings {
			v := r.judge(reading, w)
			right, falling = right+v.Right, falling+v.Falling
		}
		fits = append(fits, fmt.Sprintf("%d of %d curves from 10^%d to 10^%d", right, falling, w.from, w.to))
	}
	out = append(out, fmt.Sprintf("Of log^(−k) t and t^(−a), fitted to a D that falls throughout, the better one is the "+
		"true one for %s.", strings.Join(fits, " and ")),
		fmt.Sprintf("w passes through its limit direction after t = 10³ in %s: D falls to 0, rises and falls again.",
			both(r.passing)), r.normFinding(p2))
	d, n := r.flowError()
	return append(out, fmt.Sprintf("Beyond the steps of p-GD the mirror flow is followed, their limit for small η. "+
		"After %s steps on %s the two differ by at most %.1g of D and %.1g of ‖w‖.", render.Thousands(r.figure.steps),
		render.Count(len(r.shown), "data set"), d, n))
}

// normFinding is about the growth of the norm.
func (r *rates) normFinding(k int) string {
	all := "All"
	if n := r.outside(); n > 0 {
		all = fmt.Sprintf("All but %d", n)
	}
	v := r.growths(k, lastTime)
	if len(v) == 0 {
		v = []float64{math.NaN()}
	}
	return fmt.Sprintf("The norm grows like log t/γ̂ₚ: for p = %v, γ̂ₚ‖w‖ₚ per log t is %.3f to %.3f near t = 10^%d. %s "+
		"curves stay between the paper's bounds from t = 100 on, the O(1) of the lower one written out.", ratePs[k], v[0],
		v[len(v)-1], lastTime, all)
}

// section writes the tables, the figure and, for CSV, every data set.
func (r *rates) section(doc *render.Document) error {
	doc.Section("How fast?")
	doc.Say("w = ‖w‖u + δ, and δ stays bounded if there are two support vectors: the ratio of their weights e^(−⟨w, x⟩) " +
		"tends to that of their dual weights, which are fixed. Hence D(u, w/‖w‖)·‖w‖² → K = ½δᵀ∇²ψ(u)δ for every p, and " +
		"‖w‖ ~ log t/γ̂. With one support vector the dual vector z differs from a multiple of it by a constant, and " +
		"D ~ ‖w‖^(−2(p−1)). If the support vectors are symmetric, as the paper's three fixed points are, K = 0, and D " +
		"falls like a power of t.")
	doc.Say("Example by hand: the points (1, 0) and (0, 1/2). Their coordinates do not depend on each other, " +
		"w₁ − w₂/2 → p log 2, and D‖w‖² → ½(p−1)(p log 2)²·2^p·(1 + 2^p)^(2/p−2). For p > 3 this is slower than the " +
		"paper's O(‖w‖^−(p−1)) and O(1/log^(p−1) t).")
	var sets []string
	for i, v := range r.shown {
		sets = append(sets, fmt.Sprintf("(%d) %v", i+1, v.plane))
	}
	caption := fmt.Sprintf("D(u, w/‖w‖) on data sets of the plane: %s; and γ̂ₚ‖w‖ₚ. Solid: p-GD, %s steps. Long "+
		"dashes: the mirror flow, the limit of small steps. Dotted in D: the limit law. Short dashes: the upper bound "+
		"p/(p−1)·log t. Dotted in the norm: the lower bound of Lemma 16 with its O(1), and γ̂ₚ for C.",
		strings.Join(sets, ", "), render.Thousands(r.figure.steps))
	if err := doc.AddFigure("rates", caption, r.panels()...); err != nil {
		return err
	}
	doc.AddTables(render.Named{Name: "rates_laws", Table: r.laws()}, render.Named{Name: "rates_orders", Table: r.orders()})
	doc.AddTables(render.Named{Name: "rates_models", Table: r.models()},
		render.Named{Name: "rates_norms", Table: r.growth()})
	doc.SaveCSV("rates", r.all())
	return nil
}

// all is a row for every data set and p.
func (r *rates) all() render.Table {
	t := render.Table{Header: []string{"reading", "seed", "p", "support", "power of t", "power of log t", "K", "margin",
		"kappa", "gap"}}
	for _, decades := range orderTimes {
		t.Header = append(t.Header, fmt.Sprintf("divergence at 1e%d", decades), fmt.Sprintf("norm at 1e%d", decades))
	}
	for _, w := range windows {
		at := fmt.Sprintf("1e%d to 1e%d", w.from, w.to)
		t.Header = append(t.Header, "k, "+at, "rms of log^(-k) t, "+at, "a, "+at, "rms of t^(-a), "+at)
	}
	for _, s := range r.sets {
		for k, a := range s.limits {
			l, tr := a.law(), s.tracks[k]
			row := []render.Cell{render.Text("%v", s.reading), render.Text("%d", s.seed), render.Text("%v", a.P),
				render.Text("%d", len(a.Support)), render.Short(l.Power, 8), render.Short(l.Log, 8), render.Short(a.K, 8),
				render.Short(a.Margin, 8), render.Short(a.Settle, 8), render.Short(a.Gap, 8)}
			for _, decades := range orderTimes {
				d, n := math.NaN(), math.NaN()
				if i := tr.at(decades); i >= 0 {
					d, n = tr.divergence[i], tr.norm[i]
				}
				row = append(row, render.Short(d, 8), render.Short(n, 8))
			}
			for _, w := range windows {
				f, ok := fitRate(tr.logT, tr.divergence, float64(w.from)*math.Ln10, float64(w.to)*math.Ln10)
				if !ok || !f.Falls || tr.at(w.to) < 0 {
					row = append(row, slices.Repeat([]render.Cell{render.Text("–")}, 4)...)
					continue
				}
				row = append(row, render.Short(f.K, 6), render.Short(f.OffK, 4), render.Short(f.A, 6), render.Short(f.OffA, 4))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// differences are what the paper says of rates and is not so.
func (r *rates) differences() []string {
	return []string{"Corollaries 15 and 17, O(‖w‖^−(p−1)) and O(1/log^(p−1) t), cannot hold for p > 3 if there are two " +
		"support vectors, unless they are symmetric: D‖w‖² tends to a constant. For p ≤ 3 they hold.",
		"The rate that the paper calls exactly poly-logarithmic is a power of t on data sets whose support vectors are its " +
			"three fixed points."}
}

// json has the counts.
func (r *rates) json() map[string]any {
	var out []map[string]any
	for _, reading := range readings {
		var laws, orders, models []map[string]any
		for k, p := range ratePs {
			laws = append(laws, map[string]any{"p": p, "one": r.kindCount(reading, 0, k), "two": r.kindCount(reading, 1, k),
				"power": r.kindCount(reading, 2, k)})
		}
		for _, decades := range orderTimes {
			orders = append(orders, map[string]any{"decades": decades, "count": r.orderAt(reading, decades).json()})
		}
		for _, w := range windows {
			v := r.judge(reading, w)
			models = append(models, map[string]any{"from": w.from, "to": w.to, "flows": v.Flows, "falling": v.Falling,
				"log": v.Log, "power": v.Power, "right": v.Right})
		}
		limit, exponent := r.orderInTheLimit(reading)
		out = append(out, map[string]any{"reading": reading.String(), "data_sets": len(r.of(reading)),
			"not_separable": r.skipped[reading], "laws": laws, "order": orders, "order_in_the_limit": limit.json(),
			"faster_by_exponent": exponent, "models": models, "passing": r.passing(reading)})
	}
	return map[string]any{"rates": out}
}

func (o order) json() map[string]int {
	return map[string]int{"faster": o.Faster, "slower": o.Slower, "neither": o.Neither}
}
