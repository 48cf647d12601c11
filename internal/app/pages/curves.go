package pages

import (
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
)

// maxDrawn is how many points of a curve a figure gets.
const maxDrawn = 2000

// Figure draws a metric of all groups; ok is false if no group has it.
func Figure(groups []*trials.Group, metric string) (fig render.Figure, ok bool) {
	m := trials.MetricOf(metric)
	fig = render.Figure{Title: plain(m.Title), Y: plain(m.Y)}
	for _, g := range groups {
		b := g.Band(metric)
		if len(b.X) == 0 {
			continue
		}
		x, log := g.X()
		fig.X, fig.LogX = axisName(x), log
		keep := render.Thin(b.X, b.Mean, maxDrawn, log)
		s := render.Series{Name: plain(g.Name), Color: render.Color(g.P), Style: render.LineStyle(g.Line)}
		for _, k := range keep {
			s.X, s.Y = append(s.X, b.X[k]), append(s.Y, b.Mean[k])
			s.Low, s.High = append(s.Low, b.Low[k]), append(s.High, b.High[k])
		}
		if len(g.Trials()) == 1 {
			s.Low, s.High = nil, nil
		}
		fig.Series = append(fig.Series, s)
	}
	fig.LogY = m.Log || wide(fig.Series)
	return fig, len(fig.Series) > 0
}

// wide reports whether numbers, all positive, differ so much that most of them would lie on the axis.
func wide(series []render.Series) bool {
	lo, hi := math.Inf(1), 0.0
	for _, s := range series {
		last := s.Y[len(s.Y)-1]
		lo, hi = min(lo, last), max(hi, last)
		if slices.Min(s.Y) <= 0 {
			return false
		}
	}
	return lo > 0 && hi > 50*lo
}

func axisName(x string) string {
	if x == "b" {
		return "radius B of the ball"
	}
	return plain(x)
}

// plain reduces a text of a run to what the figures' font can show.
func plain(s string) string { return render.Showable(s) }
