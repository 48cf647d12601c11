package pages

import (
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// shownTimes is how many histograms of a run one figure holds, and shownPanels how many runs get one.
const (
	shownTimes  = 5
	shownPanels = 8
)

// sizesOverTime draws how the sizes of a network's weights spread while it trains: a panel for each group, of its first
// run.
func (p *Page) sizesOverTime() error {
	var figs []render.Figure
	var limits []*runlog.Sizes
	for _, g := range p.groups {
		for _, c := range g.Curves {
			if len(c.Sizes) > 0 && len(figs) < shownPanels {
				figs = append(figs, sizesFigure(g, c))
				for _, s := range c.Sizes {
					limits = append(limits, s.Sizes)
				}
				break
			}
		}
	}
	if len(figs) == 0 {
		return nil
	}
	lo, hi := trials.SizeRange(limits)
	for k := range figs { // one scale, so that they compare
		figs[k].Min[0], figs[k].Max[0] = math.Exp2(lo), math.Exp2(hi)
	}
	p.Section("The weights over time")
	return p.AddFigure("sizes", "Sizes |w| of the weights of all layers in bins of half an octave, at some epochs: "+
		"the fainter, the earlier.", figs...)
}

func sizesFigure(g *trials.Group, c trials.Curve) render.Figure {
	x, at := c.Over()
	f := render.Figure{Title: plain(g.Name), X: "|w|", Y: "% of the weights", LogX: true}
	n := len(c.Sizes)
	var chosen []int
	for k := range shownTimes { // evenly on a logarithmic scale: most happens early
		chosen = append(chosen, int(math.Round(math.Pow(float64(n), float64(k)/(shownTimes-1))))-1)
	}
	for j, k := range slices.Compact(chosen) {
		s := c.Sizes[k]
		line := render.Series{Name: fmt.Sprintf("%s %v", plain(x), at[s.Index]), Color: render.Fade(render.Color(g.P),
			float64(len(chosen)-1-j)/float64(len(chosen)))}
		total := float64(max(1, s.Total()))
		for b, count := range s.Counts {
			y := 100 * float64(count) / total
			line.X, line.Y = append(line.X, s.Edge(b), s.Edge(b+1)), append(line.Y, y, y)
		}
		f.Series = append(f.Series, line)
	}
	return f
}
