package pages

import (
	"fmt"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// Bounds of a table of results: what a page has room for.
const (
	shownResults = 50
	shownColumns = 9
)

// results shows what runs wrote besides curves, a table for each.
func (p *Page) results() {
	first := true
	for k, r := range p.runs {
		all := r.Results()
		if len(all) == 0 {
			continue
		}
		if first {
			p.Section("Results")
			first = false
		}
		p.AddTables(render.Named{Name: fmt.Sprintf("results_%d", k+1), Table: resultTable(r, all)})
	}
}

func resultTable(r *trials.Run, all []*runlog.Curve) render.Table {
	var group trials.Group
	for _, c := range all {
		group.Curves = append(group.Curves, trials.Curve{Curve: c, Run: r})
	}
	names := trials.MetricNames([]*trials.Group{&group})
	t := render.Table{Title: r.Name(), Header: []string{""}}
	for _, n := range names[:min(len(names), shownColumns)] {
		t.Header = append(t.Header, trials.MetricOf(n).Column)
	}
	for _, c := range all[:min(len(all), shownResults)] {
		row := []render.Cell{render.Text("%s", c.Name)}
		for _, n := range names[:len(t.Header)-1] {
			v := c.At(n, c.Rows-1)
			if trials.MetricOf(n).Scale == 100 {
				row = append(row, render.Number(100*v, 2))
			} else {
				row = append(row, render.Short(v, 4))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if len(all) > shownResults {
		t.Note = fmt.Sprintf("The first %d of %d; bregman export has all.", shownResults, len(all))
	}
	return t
}
