package tour

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/train"
)

// page is the page of the tour.
func (r *toured) page() ([]byte, error) {
	doc := pages.NewDocument(r.run, "What p does", fmt.Sprintf("bregman tour · %s · %.0f s on %s",
		r.run.Info.Started.Format("2 January 2006 15:04"), r.seconds, render.Count(r.run.Info.Machine.CPUs, "core")))
	lead := r.lead()
	lead.Put(doc)
	idea(doc)
	if err := r.table.section(doc); err != nil {
		return nil, err
	}
	if err := r.nets.section(doc); err != nil {
		return nil, err
	}
	next(doc)
	return doc.Bytes(), nil
}

// unbroken is a text that lines do not break; whole keeps together what belongs together in a sentence.
func unbroken(text string) string {
	return strings.NewReplacer(" ", "\u00a0", "/", "/\u2060", "|", "|\u2060").Replace(text)
}

func whole(text string) string {
	return strings.NewReplacer(" %", "\u00a0%", " = ", "\u00a0=\u00a0").Replace(text)
}

// idea is mirror descent in five sentences.
func idea(doc *render.Document) {
	doc.Section("The idea")
	doc.List(
		"A model has weights w, and training changes them in small steps until the loss L is low.",
		"Usually there are many weights with an equally low loss, and the way the steps go decides which of them you get.",
		"Gradient descent, "+unbroken("w ← w − η ∂L/∂w,")+" prefers those of small Euclidean norm.",
		"p-GD takes the same step on a power z of each weight, as below; with p = 2 it is gradient descent.",
		"It prefers weights of small p-norm, "+unbroken("(Σ|w|ᵖ)^(1/p):")+" near p = 1 a few large ones and many "+
			"near 0, with a large p many of similar size.")
	doc.Say("One step of p-GD: %s", unbroken("z = sign(w)·|w|ᵖ⁻¹,")+" "+unbroken("z ← z − η ∂L/∂w,")+" "+
		unbroken("w = sign(z)·|z|^(1/(p−1))."))
	doc.Say("For linear models that preference is a theorem. For networks it is an observation, which the second half " +
		"of this page repeats.")
}

// section shows the table.
func (t table) section(doc *render.Document) error {
	doc.Section("A table")
	doc.Say("The built-in table %s has %d tumours with %d measurements each, and a label: benign or malignant. For each "+
		"p, “bregman fit” looked for the classifier whose loss plus penalty on the p-norm is least. Cross-validation chose "+
		"the strength of the penalty.", t.Data, t.Examples, t.Features)
	doc.List(whole(t.sparsity()), whole(t.evenness()), whole(t.accuracy()))
	if err := doc.AddFigure("table", fmt.Sprintf("All sizes are over that of the largest weight of the same model, and "+
		"of columns that were brought to one scale. (1): every weight, in falling order. (2) and on: the same %d columns, "+
		"those with the largest weights for p = 2.", len(t.largest())),
		append([]render.Figure{t.sizes()}, t.bars()...)...); err != nil {
		return err
	}
	out := render.Table{Header: []string{"p", "held-out accuracy, %", "nearly zero",
		fmt.Sprintf("share of the %d largest, %%", top)},
		Note: fmt.Sprintf("Nearly zero: at most a hundredth of the largest weight, of %d weights. The share is of the sum "+
			"of all |w|.", t.Features)}
	for _, f := range t.Fits {
		out.Rows = append(out.Rows, []render.Cell{render.Text("%v", f.P), render.Number(100*f.HeldOut, 2),
			render.Text("%d", f.NearZero), render.Number(100*f.TopShare, 1)})
	}
	doc.AddTables(render.Named{Name: "table", Table: out})
	return nil
}

// sizes are the sorted weights of each fit.
func (t table) sizes() render.Figure {
	f := render.Figure{Title: "Weights, the largest first", X: "weight number", Y: "|w| / largest |w|"}
	for _, fit := range t.Fits {
		line := render.Series{Name: fmt.Sprintf("p = %v", fit.P), Color: render.Color(fit.P)}
		size := fit.sorted()
		for k, v := range size {
			line.X, line.Y = append(line.X, float64(k+1)), append(line.Y, v/size[0])
		}
		f.Series = append(f.Series, line)
	}
	return f
}

// shown is how many weights the bars show.
const shown = 12

// largest are the columns with the largest weights for p = 2.
func (t table) largest() []int {
	k := max(0, slices.IndexFunc(t.Fits, func(f tableFit) bool { return f.P == 2 }))
	w := t.Fits[k].weights
	var order []int
	for j := range w {
		order = append(order, j)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(w[b]), math.Abs(w[a])) })
	return order[:min(shown, len(order))]
}

// bars are the sizes of the weights of the same columns for each p, over the largest of that p.
func (t table) bars() (out []render.Figure) {
	for _, fit := range t.Fits {
		f := render.Figure{Title: fmt.Sprintf("p = %v", fit.P), X: "|w| / largest |w|"}
		size := fit.sorted()
		for _, j := range t.largest() {
			name := fmt.Sprintf("column %d", j+1)
			if j < len(t.names) {
				name = t.names[j]
			}
			f.Bars = append(f.Bars, render.Bar{Name: name, Value: math.Abs(fit.weights[j]) / size[0]})
		}
		out = append(out, f)
	}
	return out
}

// section shows the networks.
func (n networks) section(doc *render.Document) error {
	doc.Section("A network")
	doc.Say("A small network, %s with %s parameters, was trained twice to tell ten kinds of clothes apart: the same "+
		"seed, the same %s, the same pictures, once with p = %v and once with p = %v. Then the smallest weights were "+
		"set to 0, or all rounded to few bits, without any training after that.", n.Model, render.Thousands(n.Parameters),
		render.Count(n.Epochs, "epoch"), n.Runs[0].P, n.Runs[1].P)
	said := []string{n.accuracySaid(), n.sizesSaid(), n.pruning().sentence(), n.rounding().sentence()}
	if c, ok := n.pruning().adjusted(); ok {
		said = append(said, "Set to 0, then adjusted: "+c.sentence())
	}
	if c, ok := n.rounding().adjusted(); ok {
		said = append(said, "Rounded, then adjusted: "+c.sentence())
	}
	for k := range said {
		said[k] = whole(said[k])
	}
	doc.List(said...)
	sizes, accuracies := n.figures()
	if err := doc.AddFigure("network_weights", "The sizes of the weights of all layers, each over the root mean square "+
		"(RMS) of its layer.", sizes); err != nil {
		return err
	}
	if err := doc.AddFigure("network", "What remains of the accuracy when weights are changed. Adjusted: batch norm has "+
		"measured the changed network on training pictures again, which is not training.", accuracies...); err != nil {
		return err
	}
	doc.AddTables(
		render.Named{Name: "pruning", Table: n.levels("set to 0", "%.0f %%", 100,
			func(r network) []train.Level { return r.Pruned })},
		render.Named{Name: "rounding", Table: n.levels("bits", "%.0f", 1,
			func(r network) []train.Level { return r.Rounded })})
	doc.Say("This is one run for each p, with seed %d. Another seed, more epochs or another learning rate can change "+
		"these numbers, and which p is ahead where the curves are close. Compare several seeds before you decide: bregman "+
		"train --p 2,3 --trials 3.", n.Seed)
	return nil
}

// figures are the sizes of the weights, and the accuracies after changes.
func (n networks) figures() (sizes render.Figure, accuracies []render.Figure) {
	sizes = render.Figure{Title: "Sizes of the weights", X: "|w| / RMS of the layer", Y: "% of the weights"}
	for _, r := range n.Runs {
		h := r.series()
		width := r.sizes.Limit / float64(max(1, len(r.sizes.Share)))
		for k, s := range r.sizes.Share {
			h.X = append(h.X, float64(k)*width, float64(k+1)*width)
			h.Y = append(h.Y, 100*s, 100*s)
		}
		sizes.Series = append(sizes.Series, h)
	}
	add := func(title string, c change, f render.Figure, scale float64) {
		f.Title, f.Y, f.Max = title, "test accuracy, %", [2]float64{0, 100}
		for k, r := range n.Runs {
			line := r.series()
			for _, l := range c.levels[k] {
				line.X, line.Y = append(line.X, scale*l.At), append(line.Y, 100*l.Accuracy)
			}
			f.Series = append(f.Series, line)
		}
		accuracies = append(accuracies, f)
	}
	pruned, rounded := render.Figure{X: "% of the weights set to 0"}, render.Figure{X: "bits a weight", Falling: true}
	add("Small weights set to 0", n.pruning(), pruned, 100)
	if c, ok := n.pruning().adjusted(); ok {
		add("Set to 0, then adjusted", c, pruned, 100)
	}
	add("Weights rounded", n.rounding(), rounded, 1)
	if c, ok := n.rounding().adjusted(); ok {
		add("Rounded, then adjusted", c, rounded, 1)
	}
	return sizes, accuracies
}

// series is a curve of this network without points.
func (r network) series() render.Series {
	return render.Series{Name: fmt.Sprintf("p = %v", r.P), Color: render.Color(r.P)}
}

// levels has a row for each level: the accuracies as they are, and with batch norm's statistics recomputed.
func (n networks) levels(name, format string, scale float64, of func(network) []train.Level) render.Table {
	t := render.Table{Header: []string{name}, Note: "Test accuracy in %. Adjusted: with the statistics of batch norm " +
		"recomputed from training pictures after the change, which needs no training either."}
	for _, r := range n.Runs {
		t.Header = append(t.Header, fmt.Sprintf("p = %v", r.P))
	}
	for _, r := range n.Runs {
		t.Header = append(t.Header, fmt.Sprintf("p = %v, adjusted", r.P))
	}
	for k, l := range of(n.Runs[0]) {
		row := []render.Cell{render.Text(format, scale*l.At)}
		for _, r := range n.Runs {
			row = append(row, render.Number(100*of(r)[k].Accuracy, 1))
		}
		for _, r := range n.Runs {
			v := math.NaN()
			if a := of(r)[k].Recalibrated; a != nil {
				v = 100 * *a
			}
			row = append(row, render.Number(v, 1))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// next is what to type next.
func next(doc *render.Document) {
	doc.Section("With your own data")
	doc.List(
		"bregman fit --data yours.csv --p auto: a classifier or regression of your table, with the p that predicts best",
		"bregman train --data pictures/ --p 2,3: a network for a folder that has a folder of pictures per class",
		"bregman serve: these runs and yours in a browser, with a guide")
}
