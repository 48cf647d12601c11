package pages

import (
	"slices"

	"github.com/bregman-ml/bregman/internal/app/record"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/train"
)

// recordedLevels are the levels that each kind of change has in a results file, in the order of levelSeriesAll.
var recordedLevels = []func(*record.Levels) []train.Level{
	func(l *record.Levels) []train.Level { return l.PrunedEach },
	func(l *record.Levels) []train.Level { return l.PrunedAll },
	func(l *record.Levels) []train.Level { return l.Rounded },
	func(l *record.Levels) []train.Level { return l.RoundedChannels },
}

// levels shows the accuracy by the share of pruned weights and by bits: a table for each kind of change.
func (p *recordPage) levels(doc *render.Document) {
	said := false
	for k, of := range recordedLevels {
		t := p.levelTable(levelSeriesAll[k], of)
		if len(t.Rows) == 0 {
			continue
		}
		if !said {
			said = true
			doc.Section("Pruning and rounding")
			doc.Say("Test accuracy in %% with the smallest weights set to 0, or with all weights rounded, without training "+
				"after the change. Statistics recomputed: those of batch norm, from %s training images, after the change.",
				render.Thousands(train.CalibrationImages))
		}
		doc.AddTables(render.Named{Name: levelSeriesAll[k].name, Table: t})
	}
}

// levelTable has a row for each group with such levels, and one more for recomputed statistics.
func (p *recordPage) levelTable(s levelSeries, of func(*record.Levels) []train.Level) render.Table {
	t := render.Table{Title: s.title, Left: 1, Header: []string{"", "n"},
		Note: "Mean ± one standard error of the mean over n seeds."}
	var at []float64
	for _, g := range p.groups {
		for _, l := range g.Levels {
			for _, one := range of(l) {
				if !slices.Contains(at, one.At) {
					at = append(at, one.At)
					t.Header = append(t.Header, s.header(one.At))
				}
			}
		}
	}
	for _, g := range p.groups {
		for k, value := range []func(train.Level) *float64{known, recalibrated} {
			row, most := []render.Cell{render.Text("%s", p.name(g)+[]string{"", recomputed}[k])}, 0
			for _, a := range at {
				var values []float64
				for _, l := range g.Levels {
					for _, one := range of(l) {
						if v := value(one); one.At == a && v != nil {
							values = append(values, *v)
						}
					}
				}
				cell := render.Text("–")
				if len(values) > 0 {
					cell = meanCell(values, true)
				}
				row, most = append(row, cell), max(most, len(values))
			}
			if most > 0 {
				t.Rows = append(t.Rows, slices.Insert(row, 1, render.Text("%d", most)))
			}
		}
	}
	return t
}
