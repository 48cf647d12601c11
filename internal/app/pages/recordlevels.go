package pages

import (
	"cmp"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/record"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/train"
)

// levels shows the accuracy by the share of pruned weights and by bits: figures, and a table for each kind of change.
func (p *recordPage) levels(doc *render.Document) error {
	rows := p.studied()
	if len(rows) == 0 {
		return nil
	}
	doc.Section("Pruning and rounding")
	doc.Say("Test accuracy with the smallest weights set to 0, or with all weights rounded, without training "+
		"after the change. Statistics recomputed: those of batch norm, from %s training images, after the change.",
		render.Thousands(train.CalibrationImages))
	shown := rows
	if len(rows) > maxCurves {
		doc.Say("The figures show the first %d of %d; report fewer rows for the others.", maxCurves, len(rows))
		shown = rows[:maxCurves]
	}
	figs, _ := Levels(shown)
	for _, f := range append(summary(shown), figs...) {
		if len(f.Panels) == 0 { // a run that lacks a level has no curve
			continue
		}
		if err := doc.AddFigure(f.Name, f.Caption, f.Panels...); err != nil {
			return err
		}
	}
	_, tables := Levels(rows)
	doc.AddTables(tables...)
	return nil
}

// summary is a figure of what is most often asked: the smallest weights of all layers set to 0, and few bits with the
// coarser scale.
func summary(rows []Studied) []LevelFigure {
	pruning, rounding := levelPanels(rows, false, recalibrated), levelPanels(rows, true, recalibrated)
	if len(pruning) < 2 || len(rounding) < 2 {
		return nil
	}
	return []LevelFigure{{"compression", "What the weights allow, with batch-norm statistics recomputed after the " +
		"change: mean and standard error.", []render.Figure{pruning[1], rounding[0]}}}
}

// maxCurves is how many groups the figures of pruning and rounding show: colours and dashes tell so many apart.
const maxCurves = 12

// studied are the groups with levels. Groups of one p differ in their dashes.
func (p *recordPage) studied() []Studied {
	var out []Studied
	of := map[float64]int{}
	for _, g := range p.groups {
		if len(g.Levels) == 0 {
			continue
		}
		s := Studied{Name: p.name(g), P: g.P(), Style: render.LineStyle(of[g.P()])}
		for _, l := range g.Levels {
			s.Trials = append(s.Trials, study(l))
		}
		of[g.P()]++
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b Studied) int { return cmp.Compare(a.P, b.P) })
	return out
}

// study is what a results file keeps of one.
func study(l *record.Levels) train.Study {
	return train.Study{Accuracy: l.Accuracy, Recalibrated: l.Recalibrated, PrunedEach: l.PrunedEach,
		PrunedAll: l.PrunedAll, Rounded: l.Rounded, RoundedChannels: l.RoundedChannels}
}
