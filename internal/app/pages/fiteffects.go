package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/render"
)

const (
	shownEffects = 15 // bars of a panel
	mostBars     = 6  // classes with a panel each
	eachWay      = 3  // features of a class in the table of more classes
	shownClasses = 50 // rows of that table
)

// addEffects shows which features count.
func addEffects(doc *render.Document, r *linearmodel.FitResult) error {
	if len(r.Effects) == 0 {
		return nil
	}
	doc.Section("Feature effects")
	var classes []string
	of := map[string][]linearmodel.Effect{}
	for _, e := range r.Effects {
		if of[e.Class] == nil {
			classes = append(classes, e.Class)
		}
		of[e.Class] = append(of[e.Class], e)
	}
	what := "score of its class"
	if len(r.Classes) == 2 {
		what = fmt.Sprintf("score of class %s", classes[0])
	}
	if len(r.Classes) == 0 {
		what = "predicted value"
	}
	doc.Say("How much the %s changes when a feature rises by one standard deviation of its column: the weight times the "+
		"deviation. Columns of different units can be compared by it.", what)
	doc.SaveTable("effects", effectTable(r.Effects, len(r.Classes) > 2))
	if len(classes) > mostBars {
		doc.AddTables(render.Named{Name: "effects_classes", Table: classEffects(classes, of)})
		return nil
	}
	var figs []render.Figure
	for _, class := range classes {
		f := render.Figure{Title: "Effect of one standard deviation", X: "change of the " + plain(what)}
		if len(r.Classes) > 2 {
			f.Title, f.X = plain("class "+class), "change of its score"
		}
		for _, e := range of[class][:min(shownEffects, len(of[class]))] {
			f.Bars = append(f.Bars, render.Bar{Name: e.Feature, Value: e.Effect})
		}
		figs = append(figs, f)
	}
	caption := "To the right a feature raises it, to the left it lowers it."
	if len(r.Classes) == 2 {
		caption = fmt.Sprintf("To the right a feature speaks for class %s, to the left for class %s.", r.Classes[1],
			r.Classes[0])
	}
	if slices.ContainsFunc(classes, func(c string) bool { return len(of[c]) > shownEffects }) {
		caption += fmt.Sprintf(" The %d largest effects.", shownEffects)
	}
	if err := doc.AddFigure("effects", caption, figs...); err != nil {
		return err
	}
	if len(classes) == 1 {
		doc.Tables(effectTable(r.Effects[:min(shownEffects, len(r.Effects))], false))
	}
	return nil
}

// effectTable lists effects with the weights in the data's own unit.
func effectTable(effects []linearmodel.Effect, classes bool) render.Table {
	t := render.Table{Header: []string{"feature", "weight", "effect"},
		Note: "The weight belongs to the column as it is in the data, before any scaling."}
	if classes {
		t.Header = []string{"feature", "class", "weight", "effect"}
	}
	for _, e := range effects {
		row := []render.Cell{render.Text("%s", e.Feature)}
		if classes {
			row = append(row, render.Text("%s", e.Class))
		}
		t.Rows = append(t.Rows, append(row, render.Short(e.Weight, 5), render.Short(e.Effect, 5)))
	}
	return t
}

// classEffects has a row for each class with what raises and what lowers its score most.
func classEffects(classes []string, of map[string][]linearmodel.Effect) render.Table {
	t := render.Table{Header: []string{"class", "raise its score", "lower its score"}, Left: 3}
	if len(classes) > shownClasses {
		t.Note = fmt.Sprintf("The first %d of %d classes; the table of effects has all.", shownClasses, len(classes))
	}
	for _, class := range classes[:min(shownClasses, len(classes))] {
		row := []render.Cell{render.Text("%s", class)}
		for _, sign := range []float64{1, -1} {
			var names []string
			for _, e := range of[class] {
				if e.Effect*sign > 0 && len(names) < eachWay {
					by := strings.Replace(fmt.Sprintf("%+.3g", e.Effect), "-", "−", 1)
					names = append(names, fmt.Sprintf("%s (%s)", e.Feature, by))
				}
			}
			row = append(row, render.Text("%s", strings.Join(names, ", ")))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
