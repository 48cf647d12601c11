package paper

import (
	"fmt"
	"math"
	"strings"

	"github.com/bregman-ml/bregman/job"
	"github.com/bregman-ml/bregman/report"
	"github.com/bregman-ml/bregman/runlog"
)

// cifar10Results is everything that is done.
type cifar10Results struct {
	settings    *Cifar10
	set, engine string
	groups      []*group
	done        int
}

// published returns the paper's accuracies for a group: nil where it has none. Other images than CIFAR-10 and the variants have none.
func (r *cifar10Results) published(g *group) map[float64]accuracy {
	if r.set != "cifar10" || g.decay != 0 || g.beta != 0 {
		return nil
	}
	return publishedAccuracy()[g.model]
}

// over is the mean and the deviation, of a sample, of a number of the runs of p. The deviation of one run is NaN, and so are both of none.
func (g *group) over(p float64, of func(job.TrainResult) float64) accuracy {
	runs := g.runs[p]
	if len(runs) == 0 {
		return accuracy{math.NaN(), math.NaN()}
	}
	var a accuracy
	for _, x := range runs {
		a.mean += of(x) / float64(len(runs))
	}
	for _, x := range runs {
		a.deviation += (of(x) - a.mean) * (of(x) - a.mean)
	}
	a.deviation = math.Sqrt(a.deviation / float64(len(runs)-1)) // 0/0 for one
	return a
}

func testAccuracy(x job.TrainResult) float64 { return 100 * x.TestAccuracy }

// cell writes mean ± deviation.
func (a accuracy) cell() report.Cell {
	c := report.Number(a.mean, 2)
	if !math.IsNaN(a.deviation) {
		c.Text += fmt.Sprintf(" ± %.2f", a.deviation)
	}
	return c
}

// accuracyTable is ours beside the paper's.
func (r *cifar10Results) accuracyTable(g *group) report.Table {
	c := r.settings
	t := report.Table{Title: fmt.Sprintf("%s on %s: %s, %d epochs, %d trials", g.model, r.set, g.title, c.Epochs, c.Trials),
		Note:   "Accuracies in %, mean ± deviation over the trials; the best in bold. Training loss and accuracy are those of the last epoch, with augmentation.",
		Header: []string{"p", "test", "the paper, 400 epochs", "test with flips", "train", "train loss", "learning rate"}}
	paper := r.published(g)
	best, bestPaper := math.Inf(-1), math.Inf(-1)
	for _, p := range g.ps {
		if len(g.runs[p]) > 0 {
			best = max(best, g.over(p, testAccuracy).mean)
		}
		if a, ok := paper[p]; ok {
			bestPaper = max(bestPaper, a.mean)
		}
	}
	for _, p := range g.ps {
		test, theirs := g.over(p, testAccuracy).cell(), report.Text("–")
		test.Best = test.Value == best
		if n := g.failed[p]; n > 0 {
			test.Text += fmt.Sprintf(" (%d diverged)", n)
		}
		if a, ok := paper[p]; ok {
			theirs = a.cell()
			theirs.Best = a.mean == bestPaper
		}
		loss := g.over(p, func(x job.TrainResult) float64 { return x.Loss })
		t.Rows = append(t.Rows, []report.Cell{report.Text("%v", p), test, theirs, g.over(p, func(x job.TrainResult) float64 { return 100 * x.FlipAccuracy }).cell(),
			g.over(p, func(x job.TrainResult) float64 { return 100 * x.Accuracy }).cell(), report.Short(loss.mean, 3), report.Short(g.over(p, func(x job.TrainResult) float64 { return x.LR }).mean, 3)})
	}
	return t
}

// compared is the order of two p in a group.
type compared struct {
	p, q          float64 // p < q
	ours, theirs  float64 // accuracy of p − accuracy of q
	known         bool    // the paper has both
	sure, certain bool    // two standard errors separate them: in ours, in the paper's
}

// compare says for all pairs of p how they are ordered here and in the paper, which has both.
func (r *cifar10Results) compare(g *group) []compared {
	paper := r.published(g)
	var out []compared
	for i, p := range g.ps {
		for _, q := range g.ps[i+1:] {
			a, b := g.over(p, testAccuracy), g.over(q, testAccuracy)
			c := compared{p: p, q: q, ours: a.mean - b.mean}
			// NaN, with one trial, is never sure.
			c.sure = math.Abs(c.ours) > 2*math.Sqrt(a.deviation*a.deviation/float64(len(g.runs[p]))+b.deviation*b.deviation/float64(len(g.runs[q])))
			x, ok := paper[p]
			y, both := paper[q]
			if ok && both {
				c.known, c.theirs = true, x.mean-y.mean
				c.certain = math.Abs(c.theirs) > 2*math.Sqrt((x.deviation*x.deviation+y.deviation*y.deviation)/publishedTrials)
			}
			out = append(out, c)
		}
	}
	return out
}

// verdict is what a comparison says about the paper's order.
func (c compared) verdict() string {
	switch {
	case !c.known:
		return "–"
	case !c.sure && !c.certain:
		return "open in both"
	case !c.certain:
		return "new: the paper leaves it open"
	case !c.sure:
		return "open here"
	case (c.ours > 0) == (c.theirs > 0):
		return "as in the paper"
	}
	return "against the paper"
}

func (r *cifar10Results) orderTable(g *group) report.Table {
	t := report.Table{Title: fmt.Sprintf("%s, %s: the order of the p", g.model, g.title),
		Note:   "Differences of test accuracy in points. “Sure” means more than two standard errors apart, √(s²/n + s′²/n′); one trial has none, and is never sure.",
		Header: []string{"pair", "ours", "", "the paper", "", "verdict"}}
	sure := func(b bool) report.Cell {
		if b {
			return report.Text("sure")
		}
		return report.Text("open")
	}
	for _, c := range r.compare(g) {
		theirs, theirSure := report.Text("–"), report.Text("–")
		if c.known {
			theirs, theirSure = report.Number(c.theirs, 2), sure(c.certain)
		}
		t.Rows = append(t.Rows, []report.Cell{report.Text("%v, %v", c.p, c.q), report.Number(c.ours, 2), sure(c.sure), theirs, theirSure, report.Text("%s", c.verdict())})
	}
	return t
}

// findings are the sentences the report opens with. Each is made from the numbers of this run.
func (r *cifar10Results) findings() []string {
	var out []string
	for _, g := range r.groups {
		studies := g.rows()
		if len(studies) == 0 {
			out = append(out, fmt.Sprintf("%s, %s: every run diverged.", g.model, g.title))
			continue
		}
		best, sparse, flat := studies[0].P, studies[0].P, studies[0].P
		value := map[float64][2]float64{}
		for _, s := range studies {
			var small, over float64
			for _, t := range s.Trials {
				small += t.Scaled.Below[3] / float64(len(s.Trials))
				over += t.All.MaxOverMedian() / float64(len(s.Trials))
			}
			value[s.P] = [2]float64{small, over}
		}
		for _, s := range studies {
			p := s.P
			if g.over(p, testAccuracy).mean > g.over(best, testAccuracy).mean {
				best = p
			}
			if value[p][0] > value[sparse][0] {
				sparse = p
			}
			if value[p][1] < value[flat][1] {
				flat = p
			}
		}
		line := fmt.Sprintf("%s, %s: p = %v has the best test accuracy, %.2f %%", g.model, g.title, best, g.over(best, testAccuracy).mean)
		if paper := r.published(g); paper != nil {
			top := g.ps[0]
			for p := range paper {
				if paper[p].mean > paper[top].mean {
					top = p
				}
			}
			counts := map[string]int{}
			for _, c := range r.compare(g) {
				counts[c.verdict()]++
			}
			line += fmt.Sprintf(" (the paper: p = %v, %.2f %%). Of the pairs of p that two standard errors separate in both, %d are ordered as in the paper and %d against it; %d are open here",
				top, paper[top].mean, counts["as in the paper"], counts["against the paper"], counts["open here"])
		}
		out = append(out, line+fmt.Sprintf(". The most weights below a tenth of their layer's RMS has p = %v (%.1f %%), the smallest max/median p = %v (%.1f).",
			sparse, 100*value[sparse][0], flat, value[flat][1]))
	}
	return out
}

// rows are the studies of a group, by p.
func (g *group) rows() []job.Studies {
	var out []job.Studies
	for _, p := range g.ps {
		if len(g.studies[p]) == 0 {
			continue // every run diverged
		}
		out = append(out, job.Studies{Name: fmt.Sprintf("p = %v", p), P: p, Trials: g.studies[p]})
	}
	return out
}

// variantTitle is empty for the first variant, which needs no saying.
func (g *group) variantTitle() string {
	if g.variant.name == "" {
		return ""
	}
	return g.title
}

// file begins the names of a group's files.
func (g *group) file() string {
	return g.model + strings.ReplaceAll(prefixed("_", g.variant.name), "-", "_")
}

// write writes the report.
func (r *cifar10Results) write(run *runlog.Run) error {
	c := r.settings
	doc := job.NewDocument(run, "Deep networks: the paper's experiments, run again",
		fmt.Sprintf("bregman reproduce cifar10 · %s · %d runs on the %s engine", run.Info.Started.Format("2 January 2006 15:04"), r.done, r.engine))
	doc.Say("Stochastic p-GD on %s: each network with each p, %d trials of %d epochs, batch %d, a triangular learning rate with its peak at 5/24 of the run, no momentum, no label smoothing. "+
		"The paper (Sun, Ahn, Thrampoulidis and Azizan, NeurIPS 2022) makes 5 trials of 400 epochs at 0.1 for every p; one rate means something different for every p, so --lr auto "+
		"chooses one for each by a range test.", r.set, c.Trials, c.Epochs, c.Batch)
	doc.Section("What came out")
	doc.List(r.findings()...)
	doc.Section("Accuracy")
	for _, g := range r.groups {
		if err := doc.AddTables(job.Named{Name: g.file() + "_accuracy", Table: r.accuracyTable(g)}); err != nil {
			return err
		}
	}
	if err := doc.AddFigure("accuracy", "Test accuracy against p: ours solid, the paper's dashed, at 400 epochs.", r.accuracyFigures()...); err != nil {
		return err
	}
	doc.Section("The order of the p")
	for _, g := range r.groups {
		if len(g.ps) < 2 {
			continue
		}
		if err := doc.AddTables(job.Named{Name: g.file() + "_order", Table: r.orderTable(g)}); err != nil {
			return err
		}
	}
	for _, g := range r.groups {
		if rows := g.rows(); len(rows) > 0 {
			if err := doc.AddStudies(g.file(), g.model+prefixed(", ", g.variantTitle()), rows); err != nil {
				return err
			}
		}
	}
	doc.Section("Where paper and measurement differ")
	doc.List(fmt.Sprintf("%d epochs here, 400 in the paper, unless --epochs says so: the order of the p shows early, the accuracies rise with more.", c.Epochs),
		"The paper says that the largest weight is smallest for p = 10. The first steps throw every weight to about 0.3 there, because |w|⁹ is far below η|g|; behind batch norm only the shape counts, and max/median says what is meant.",
		"The paper does not say which forms of the networks for small pictures it takes, nor where the learning rate peaks; here they are those of the pytorch-cifar collection, and 5/24 as in the recipe it starts from.")
	doc.Section("How to get these numbers")
	doc.Say("Run “%s”. Every number is in tables/*.csv beside this page, every run in trials/, with its own report. A seed decides everything on one engine.", c.command())
	return doc.Save()
}

// command is what to type for this reproduction.
func (c *Cifar10) command() string {
	list := func(v any) string { return strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ",") }
	s := fmt.Sprintf("bregman reproduce cifar10 --models %s --p %s --trials %d --epochs %d --batch %d --lr %s --seed %d --data %s", list(c.Models), list(c.P), c.Trials, c.Epochs, c.Batch, list(c.LR), c.Seed, c.Data)
	if c.WeightDecay != 0 {
		s += fmt.Sprintf(" --weight-decay %v", c.WeightDecay)
	}
	if c.Adaptive != 0 {
		s += fmt.Sprintf(" --adaptive %v", c.Adaptive)
	}
	return s
}

// accuracyFigures is a panel per network.
func (r *cifar10Results) accuracyFigures() []report.Figure {
	var out []report.Figure
	for _, model := range r.settings.Models {
		f := report.Figure{Title: model, X: "p − 1", Y: "test accuracy, %", LogX: true, LegendLow: true}
		k := 0
		for _, g := range r.groups {
			if g.model != model {
				continue
			}
			var x, y []float64
			for _, r := range g.rows() {
				x, y = append(x, r.P-1), append(y, g.over(r.P, testAccuracy).mean)
			}
			color := report.Color([]float64{3, 1.1, 10, 6, 2}[k%5])
			f.Series = append(f.Series, report.Series{Name: g.title, X: x, Y: y, Color: color})
			if paper := r.published(g); paper != nil && k == 0 {
				var px, py []float64
				for _, p := range g.ps {
					if a, ok := paper[p]; ok {
						px, py = append(px, p-1), append(py, a.mean)
					}
				}
				f.Series = append(f.Series, report.Series{Name: "the paper", X: px, Y: py, Style: report.Dashed})
			}
			k++
		}
		if k == 0 {
			continue // not there yet
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, s := range f.Series {
			for _, y := range s.Y {
				lo, hi = min(lo, y), max(hi, y)
			}
		}
		span := max(hi-lo, 1)
		f.Min[1], f.Max[1] = lo-span*(0.1+0.09*float64(len(f.Series))), hi+0.05*span // room for the legend below
		out = append(out, f)
	}
	return out
}

// summary is what --json prints.
func (r *cifar10Results) summary(dir string) any {
	var groups []map[string]any
	for _, g := range r.groups {
		var rows []map[string]any
		for _, p := range g.ps {
			if len(g.runs[p]) == 0 {
				rows = append(rows, map[string]any{"p": p, "trials": 0, "diverged": g.failed[p]})
				continue
			}
			a := g.over(p, testAccuracy)
			row := map[string]any{"p": p, "test_accuracy": a.mean, "deviation": finite([]float64{a.deviation})[0], "trials": len(g.runs[p]), "diverged": g.failed[p],
				"train_accuracy": g.over(p, func(x job.TrainResult) float64 { return 100 * x.Accuracy }).mean, "train_loss": g.over(p, func(x job.TrainResult) float64 { return x.Loss }).mean,
				"lr": g.over(p, func(x job.TrainResult) float64 { return x.LR }).mean}
			if theirs, ok := r.published(g)[p]; ok {
				row["paper"], row["paper_deviation"] = theirs.mean, theirs.deviation
			}
			rows = append(rows, row)
		}
		groups = append(groups, map[string]any{"model": g.model, "variant": g.title, "rows": rows})
	}
	return map[string]any{"run": dir, "data": r.set, "engine": r.engine, "epochs": r.settings.Epochs, "runs": r.done, "groups": groups}
}
