package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/mirror"
)

const paperPlane = "On such points, those of Figure 1, the paper proves for a constant step that the direction tends " +
	"to the max-margin direction and that ‖w‖ₚ grows as log t: straight in the norm's figure, whose x axis is logarithmic."

// PaperSays is a sentence with the paper's numbers for this run; empty if it has none.
func PaperSays(r *trials.Run) string {
	model, _ := r.Settings["model"].(string)
	switch p := r.P(); {
	case r.Info.Command == "train" && r.Info.Data == "cifar10":
		if a, ok := numbers.Accuracies(model)[p]; ok {
			return fmt.Sprintf("The paper, for this network and p: %.2f ± %.2f %% test accuracy after 400 epochs, five trials.",
				a.Mean, a.Deviation)
		}
	case r.Info.Command == "fit" && strings.HasPrefix(r.Info.Data, "r2:"):
		return paperPlane
	case r.Info.Command == "fit" && strings.HasPrefix(r.Info.Data, "r100:"):
		norms, ok := numbers.NormsOf(p)
		if k := slices.Index(numbers.Norms, p); ok && k >= 0 {
			return fmt.Sprintf("The paper, for this p, after a million steps on its own draw of this distribution: norm "+
				"%.3f in %s at margin 1, the margin being 1/%.3f = %.4f.", norms[k], numbers.NormName(p), norms[k], 1/norms[k])
		}
	}
	return ""
}

// paperSays compares the runs with the paper's numbers, if it has some.
func (p *Page) paperSays() {
	var tables []render.Named
	if t := p.paperAccuracy(); len(t.Rows) > 0 {
		tables = append(tables, render.Named{Name: "paper_accuracy", Table: t})
	}
	if t := p.paperNorms(); len(t.Rows) > 0 {
		tables = append(tables, render.Named{Name: "paper_norms", Table: t})
	}
	planes := slices.ContainsFunc(p.runs, func(r *trials.Run) bool {
		return r.Info.Command == "fit" &&
			strings.HasPrefix(r.Info.Data, "r2:")
	})
	if len(tables) == 0 && !planes {
		return
	}
	p.Section("What the paper says")
	if planes {
		p.Say(paperPlane)
	}
	for _, t := range tables {
		p.AddTables(t)
	}
}

func (p *Page) paperAccuracy() render.Table {
	t := render.Table{Title: "Test accuracy on CIFAR-10, %", Header: []string{"", "these runs", "the paper"},
		Note: Means + " The paper: 400 epochs, mean ± deviation over five trials."}
	for _, g := range p.groups {
		r := g.Curves[0].Run
		model, _ := r.Settings["model"].(string)
		if a, ok := numbers.Accuracies(model)[g.P]; ok && r.Info.Command == "train" && r.Info.Data == "cifar10" {
			theirs := render.Number(a.Mean, 2)
			theirs.Text += fmt.Sprintf(" ± %.2f", a.Deviation)
			theirs.Best = a.Best
			t.Rows = append(t.Rows, []render.Cell{render.Text("%s, %s%s", model, g.Name, epochsOf(r)),
				final(g, "test_accuracy", endOfCurve), theirs})
		}
	}
	if len(t.Rows) > 1 {
		t.Note += " In its column, what it marks as best."
	} else if len(t.Rows) == 1 {
		t.Rows[0][2].Best = false // nothing to compare with
	}
	return t
}

// epochsOf says how many epochs a run has, if fewer than the paper's.
func epochsOf(r *trials.Run) string {
	if n, ok := r.Settings["epochs"].(float64); ok && n < numbers.Epochs {
		return fmt.Sprintf(", %v epochs", n)
	}
	return ""
}

// paperNorms measures classifiers of the R¹⁰⁰ sets in the paper's eight norms.
func (p *Page) paperNorms() render.Table {
	t := render.Table{Title: "Classifiers in R¹⁰⁰, rescaled to margin 1, in eight norms", Header: []string{""},
		Note: "The theorem: in the limit the classifier of p has the least ℓₚ norm. The paper's rows are its first " +
			"trial, other draws of the same distribution."}
	for _, q := range numbers.Norms {
		t.Header = append(t.Header, numbers.NormName(q))
	}
	row := func(name string, norms []float64, p float64) {
		cells := []render.Cell{render.Text("%s", name)}
		for k, v := range norms {
			c := render.Number(v, 3)
			c.Mark = numbers.Norms[k] == p
			cells = append(cells, c)
		}
		t.Rows = append(t.Rows, cells)
	}
	for _, r := range p.runs {
		margin := r.Number("margin")
		if r.Model == nil || len(r.Model.Weights) != 1 || !strings.HasPrefix(r.Info.Data, "r100:") || !(margin > 0) {
			continue
		}
		w := r.Model.Weights[0]
		scale := margin * mirror.Norm(w, r.P()) // the smallest y⟨x, w⟩
		var norms []float64
		for _, q := range numbers.Norms {
			norms = append(norms, mirror.Norm(w, q)/scale)
		}
		row(fmt.Sprintf("p = %v", r.P()), norms, r.P())
		if theirs, ok := numbers.NormsOf(r.P()); ok {
			row(fmt.Sprintf("the paper, p = %v", r.P()), theirs, r.P())
		}
	}
	return t
}
