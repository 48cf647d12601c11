package paper

import (
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/app/render"
)

const (
	drawn     = 30           // decades that the figure shows
	lastDrawn = 1.000001e+30 // the end of its axis: the last point may be rounded up
)

// panels draws the divergence on both data sets, and the norm on the first.
func (r *rates) panels() []render.Figure {
	var out []render.Figure
	for _, v := range r.shown {
		out = append(out, v.divergence(v.title()))
	}
	return append(out, r.shown[0].growth("Norm, on the data of (1)"))
}

// title says what a data set is an example of, by p = 2.
func (v *shown) title() string {
	switch a := v.limits[1]; {
	case !a.Spread:
		return "One support vector"
	case a.K > 0:
		return "Two support vectors: D ~ K / ‖w‖²"
	default:
		return "Three, symmetric: D ~ " + a.powerOfT()
	}
}

// powerOfT writes the power of t of a law.
func (a *asymptote) powerOfT() string {
	if l := a.law(); math.Abs(l.Power-1./3) > 1e-9 {
		return fmt.Sprintf("t^(−%.2g)", l.Power)
	}
	return "t^(−1/3)"
}

// lawAt returns a power of log t, the limit law of D, at ‖w‖, but for its constant if there is one support vector.
func (a *asymptote) lawAt(norm float64) float64 {
	if !a.Spread {
		return math.Pow(norm, -2*(a.P-1))
	}
	return a.K / (norm * norm)
}

// divergence draws D against t: steps, flow and limit law.
func (v *shown) divergence(title string) render.Figure {
	fig := render.Figure{Title: title, X: "step t", Y: "D", LogX: true, LogY: true,
		Min: [2]float64{1, 1e-16}, Max: [2]float64{lastDrawn, 20}}
	var flows, laws []render.Series
	for k, c := range v.curves {
		col := render.Color(c.P)
		steps := render.Series{Name: fmt.Sprintf("p = %v", c.P), Color: col}
		for _, pt := range c.Points {
			steps.X, steps.Y = append(steps.X, float64(pt.Step)), append(steps.Y, pt.Divergence)
		}
		fig.Series = append(fig.Series, steps)
		a, t := v.limits[k], v.tracks[k]
		flow := render.Series{Color: col, Style: render.LongDashed}
		law := render.Series{Color: col, Style: render.Dotted}
		scale := 1.0
		if n := t.at(drawn); !a.Spread && n >= 0 { // through the last point
			scale = t.divergence[n] / a.lawAt(t.norm[n])
		}
		for i := range min(drawn*perDecade, len(t.logT)) {
			x := math.Exp(t.logT[i])
			if x > float64(c.last().Step) {
				flow.X, flow.Y = append(flow.X, x), append(flow.Y, t.divergence[i])
			}
			if x >= 1/eta && a.polylog() {
				law.X, law.Y = append(law.X, x), append(law.Y, scale*a.lawAt(t.norm[i]))
			}
		}
		flows, laws = append(flows, flow), append(laws, law)
	}
	flows[0].Name, laws[0].Name = "flow: small steps", "limit law"
	if a := v.limits[1]; !a.polylog() { // the power of t is that of every p: one line, below that of p = 2
		line := render.Series{Name: a.powerOfT(), Style: render.Dotted}
		t := v.tracks[1]
		end := t.at(drawn)
		for _, logT := range t.logT[end/3 : end+1] {
			line.X = append(line.X, math.Exp(logT))
			line.Y = append(line.Y, 0.05*t.divergence[end]*math.Exp(-a.law().Power*(logT-t.logT[end])))
		}
		laws = []render.Series{line}
	}
	fig.Series = append(append(fig.Series, flows...), laws...)
	return fig
}

// growth draws γ̂‖w‖ against t with the paper's bounds.
func (v *shown) growth(title string) render.Figure {
	fig := render.Figure{Title: title, X: "step t", Y: "γ · p-norm of w", LogX: true,
		Min: [2]float64{1, 0}, Max: [2]float64{lastDrawn, 105}}
	var flows, bounds []render.Series
	for k, c := range v.curves {
		col := render.Color(c.P)
		steps := render.Series{Name: fmt.Sprintf("p = %v", c.P), Color: col}
		for _, pt := range c.Points {
			steps.X, steps.Y = append(steps.X, float64(pt.Step)), append(steps.Y, c.Margin*pt.Norm)
		}
		fig.Series = append(fig.Series, steps)
		t := v.tracks[k]
		flow := render.Series{Color: col, Style: render.LongDashed}
		low, up := render.Series{Color: col, Style: render.Dotted}, render.Series{Color: col, Style: render.Dashed}
		for i := range min(drawn*perDecade, len(t.logT)) {
			x := math.Exp(t.logT[i])
			if x > float64(c.last().Step) {
				flow.X, flow.Y = append(flow.X, x), append(flow.Y, c.Margin*t.norm[i])
			}
			if y := c.Margin * c.bounds.upper(x); y <= fig.Max[1] {
				up.X, up.Y = append(up.X, x), append(up.Y, y)
			}
			if y := c.Margin * c.bounds.sharper(x); y >= 0 {
				low.X, low.Y = append(low.X, x), append(low.Y, y)
			}
		}
		flows, bounds = append(flows, flow), append(bounds, up, low)
	}
	bounds[0].Name, bounds[1].Name = "upper bounds", "lower bounds"
	fig.Series = append(append(fig.Series, flows...), bounds...)
	return fig
}
