package paper

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/sweep"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// findings are the sentences the report opens with. Each is made from the numbers of this run.
func (r *networks) findings() []string {
	var out []string
	for _, g := range r.groups {
		if len(g.runs) == 0 {
			if len(g.failed) > 0 && len(g.missing) == 0 {
				out = append(out, fmt.Sprintf("%s, %s: every run diverged.", g.model, g.title))
			}
			continue
		}
		best, soFar := math.NaN(), ""
		for _, p := range g.ps {
			if m := g.over(p, r.paper.test).Mean; math.IsNaN(best) && !math.IsNaN(m) || m > g.over(best, r.paper.test).Mean {
				best = p
			}
			if g.missing[p] > 0 {
				soFar = " so far"
			}
		}
		mean := g.over(best, r.paper.test).Mean
		if len(g.runs) < 2 {
			out = append(out, fmt.Sprintf("%s, %s: test accuracy %.2f %% with p = %v, the only one that has a result: "+
				"nothing is compared.", g.model, g.title, mean, best))
			continue
		}
		out = append(out, fmt.Sprintf("%s, %s: p = %v has the best mean test accuracy%s, %.2f %%%s%s.%s",
			g.model, g.title, best, soFar, mean, r.ahead(g, best), r.besideThePaper(g), g.shape()))
	}
	return out
}

// ahead says what a test says of the p with the best mean, after a comma.
func (r *networks) ahead(g *group, best float64) string {
	worse, all, tested := 0, 0, 0
	for _, c := range r.compare(g) {
		if c.p != best && c.q != best || math.IsNaN(c.ours.Mean) {
			continue
		}
		all++
		if !math.IsNaN(c.ours.Chance) {
			tested++
		}
		if c.significantHere() {
			worse++
		}
	}
	if tested == 0 {
		return ", without a test"
	}
	switch {
	case worse == 1 && all == 1:
		return ", significantly above the other"
	case worse == all:
		return fmt.Sprintf(", significantly above all %d others", all)
	case worse == 0:
		return fmt.Sprintf(", significantly above none of the %s", render.Count(all, "other"))
	}
	return fmt.Sprintf(", significantly above %d of the %d others", worse, all)
}

// besideThePaper compares the order of the p with the paper's.
func (r *networks) besideThePaper(g *group) string {
	paper := r.published(g)
	if paper == nil {
		return ""
	}
	var top []string
	highest := 0.0
	for _, p := range numbers.Ps {
		if paper[p].Best {
			top = append(top, fmt.Sprint(p))
		}
		highest = max(highest, paper[p].Mean)
	}
	if r.paper.trials == 1 {
		return fmt.Sprintf(" (in the paper p = %s, %.2f %%)", strings.Join(top, ", "), highest)
	}
	counts := map[string]int{}
	for _, c := range r.compare(g) {
		counts[c.verdict()]++
	}
	text := fmt.Sprintf(" (the paper marks p = %s as best; its highest is %.2f %%)", strings.Join(top, ", "), highest)
	if counts[asInPaper]+counts[against]+counts[openHere] == 0 {
		return text
	}
	return text + fmt.Sprintf(". Of the pairs of p that a t-test "+
		"separates in both, %d are ordered as in the paper and %d against it; %d are open here",
		counts[asInPaper], counts[against], counts[openHere])
}

// shape names the p with the most small weights, and the one with the flattest weights.
func (g *group) shape() string {
	studies := g.rows()
	if len(studies) < 2 {
		return ""
	}
	sparse, flat := studies[0].P, studies[0].P
	value := map[float64][2]float64{}
	for _, s := range studies {
		small := s.Mean(func(t train.Study) float64 { return t.Scaled.Below[3] })
		over := s.Mean(func(t train.Study) float64 { return t.All.MaxOverMedian() })
		value[s.P] = [2]float64{small, over}
		if small > value[sparse][0] {
			sparse = s.P
		}
		if over < value[flat][1] {
			flat = s.P
		}
	}
	return fmt.Sprintf(" The most weights below a tenth of their layer's RMS has p = %v (%.1f %%), "+
		"the smallest max/median p = %v (%.1f).",
		sparse, 100*value[sparse][0], flat, value[flat][1])
}

// rows are the studies of a group, by p.
func (g *group) rows() []pages.Studied {
	var out []pages.Studied
	for _, p := range g.ps {
		if len(g.studies[p]) == 0 {
			continue // every run diverged, or there is no study
		}
		out = append(out, pages.Studied{Name: fmt.Sprintf("p = %v", p), P: p, Trials: g.studies[p]})
	}
	return out
}

// figureOf is the number of the paper's figure with the histograms of a network.
var figureOf = map[string]int{"resnet18": 3, "mobilenetv2": 4, "regnetx200": 5, "vgg11": 6}

// histogramRuns says which runs the histograms of a group are of.
func (r *networks) histogramRuns(g *group) string {
	text := fmt.Sprintf("%s, %s: ", g.model, r.label(g))
	if n := figureOf[g.model]; n > 0 && r.paper == cifar10Table && numbers.Plain(g.settings) {
		text = fmt.Sprintf("Figure %d of the paper, run again. ", n) + text
		if g.model == "resnet18" {
			text = strings.Replace(text, "Figure 3", "Figures 2 and 3", 1)
		}
	}
	var seeds []string
	one := true
	for _, p := range g.ps {
		if len(g.seeds[p]) == 0 {
			continue
		}
		seeds = append(seeds, fmt.Sprintf("p = %v seed %d", p, g.seeds[p][0]))
		one = one && len(seeds) > 0 && strings.HasSuffix(seeds[0], fmt.Sprintf(" seed %d", g.seeds[p][0]))
	}
	if one && len(seeds) > 0 {
		_, seed, _ := strings.Cut(seeds[0], " seed ")
		text += "the run of seed " + seed + " for each p"
	} else {
		text += strings.Join(seeds, ", ")
	}
	var missing []string
	for _, p := range numbers.Ps {
		if len(g.studies[p]) == 0 {
			missing = append(missing, fmt.Sprint(p))
		}
	}
	if len(missing) > 0 {
		text += "; none for p = " + strings.Join(missing, ", ")
	}
	return text + ". "
}

// variantTitle is the title of a variant, empty for the first.
func (g *group) variantTitle() string {
	if g.variant == "" {
		return ""
	}
	return ", " + g.title
}

// file begins the names of a group's files.
func (g *group) file() string {
	if g.variant == "" {
		return g.model
	}
	return g.model + "_" + g.variant
}

// Write writes the report.
func (r *networks) Write(run *runlog.Run) error {
	doc := pages.NewDocument(run, "Deep networks: the paper's "+r.paper.images+" experiments, run again",
		fmt.Sprintf("%s · %s · %d of %s%s", r.command(),
			run.Info.Started.Format("2 January 2006 15:04"), r.done, render.Count(len(r.plan.Runs), "run"), r.where()))
	lead := r.lead()
	lead.Put(doc)
	if w := sweep.Warnings(r.folder, r.plan); len(w) > 0 {
		doc.Section("Warnings")
		doc.List(w...)
	}
	doc.Say("Stochastic p-GD on %s: each network with each p, %s of %s. %s",
		r.images(), render.Count(r.plan.File.Trials, "trial"), r.recipe(), r.paper.intro)
	if all := r.findings(); len(all) > 1 { // a single one is the lead
		doc.Section("Results")
		doc.List(all...)
	}
	if r.done > 0 {
		doc.Section("What the paper says")
		doc.AddTables(r.claimTables()...)
	}
	doc.Section("Accuracy")
	for _, g := range r.groups {
		doc.AddTables(render.Named{Name: g.file() + "_accuracy", Table: r.accuracyTable(g)})
	}
	if figs := r.accuracyFigures(); len(figs) > 0 {
		has := func(style render.Style) bool {
			return slices.ContainsFunc(figs, func(f render.Figure) bool {
				return slices.ContainsFunc(f.Series, func(s render.Series) bool { return s.Style == style })
			})
		}
		caption := "Test accuracy against p."
		if has(render.Crosses) {
			caption += " Lines: means over the trials; crosses: the trials."
		}
		if has(render.Dashed) {
			caption += fmt.Sprintf(" Dashed: the paper, after %d epochs.", r.paper.epochs)
		}
		if err := doc.AddFigure("accuracy", caption, figs...); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(r.groups, func(g *group) bool { return len(g.runs) > 1 }) {
		doc.Section("The order of the p")
	}
	for _, g := range r.groups {
		if len(g.runs) < 2 {
			continue
		}
		doc.AddTables(render.Named{Name: g.file() + "_order", Table: r.orderTable(g)})
	}
	for _, g := range r.groups {
		if rows := g.rows(); len(rows) > 0 {
			if err := pages.AddStudies(doc, g.file(), g.model+g.variantTitle(), r.histogramRuns(g), rows); err != nil {
				return err
			}
		}
	}
	doc.Section("Where paper and measurement differ")
	doc.List(r.differencesFromPaper()...)
	doc.Section("How to get these numbers")
	doc.Say("Run “%s”. Every number is in tables/*.csv beside this page, every run in trials/, with its own report. "+
		"A seed decides everything on one engine.", r.plan.Command)
	doc.Save()
	return nil
}

// lead states what was found of the first network, how many runs are missing, and what was found of the next ones.
func (r *networks) lead() (l pages.Lead) {
	findings := r.findings()
	if len(findings) == 0 {
		l.Say("No run has a result yet: %d of %s done.", r.done, render.Count(len(r.plan.Runs), "run"))
		return l
	}
	l.Say("%s", findings[0])
	if missing := len(r.plan.Runs) - r.done; missing > 0 {
		l.Claim("%d of %s are not done: means and tests are of the others.", missing,
			render.Count(len(r.plan.Runs), "run"))
	}
	if !r.asPaper() {
		l.Claim("These runs have %s, the paper's %d: differences from its numbers may be due to that.", r.each(epochs),
			r.paper.epochs)
	}
	for _, f := range findings[1:] {
		l.Claim("%s", f)
	}
	return l
}

// where says where the runs ran, and of how many there is only a row of a results file.
func (r *networks) where() string {
	text := ""
	if r.engine != "" {
		text = " on the " + r.engine + " engine"
	}
	if r.rows > 0 {
		text += fmt.Sprintf(", %d by a row of a results file, which has no weights", r.rows)
	}
	return text
}

// command is the command of the reproduction, without what was set.
func (r *networks) command() string {
	words := strings.Fields(r.plan.Command)
	if len(words) < 3 {
		return "bregman sweep"
	}
	return strings.Join(words[:3], " ")
}

// each lists a text about the settings of every run, once, in the order of the runs.
func (r *networks) each(say func(map[string]string) string) string {
	var all []string
	for _, s := range r.plan.Runs {
		if text := say(s.Settings); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, " or ")
}

// recipe describes how the runs were trained.
func (r *networks) recipe() string {
	return strings.Join([]string{r.each(epochs), r.each(batch), r.each(schedule), r.each(func(s map[string]string) string {
		if m := s["momentum"]; m != "" && m != "0" {
			return "momentum " + m
		}
		return "no momentum"
	}), r.each(func(s map[string]string) string {
		switch {
		case r.paper.packed:
			return pictures(s)
		case s["no_augment"] == "true":
			return "no augmentation"
		}
		return "flips, shifts and cut-outs"
	}), r.each(func(s map[string]string) string {
		if v := s["label_smoothing"]; v != "" && v != "0" {
			return "label smoothing " + v
		}
		return "no label smoothing"
	})}, ", ") + r.units()
}

// units describes in which tables weights are measured in their initial size: all, some or none.
func (r *networks) units() string {
	n := 0
	for _, g := range r.groups {
		if g.settings["unit"] != "" {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case len(r.groups):
		return ", weights in units of their initial size"
	}
	return ", in some tables weights in units of their initial size"
}

func batch(settings map[string]string) string { return "batch " + settings["batch"] }

// schedule describes the learning rate over the run.
func schedule(settings map[string]string) string {
	switch settings["schedule"] {
	case "triangular":
		return "a triangular learning rate with its peak at " + peak(settings) + " of the run"
	case "step":
		return "a learning rate that falls to a tenth after each third of the run"
	}
	return "a " + settings["schedule"] + " learning rate"
}

func peak(settings map[string]string) string {
	if v, err := strconv.ParseFloat(settings["peak"], 64); err == nil && math.Abs(v-5./24) < 1e-6 {
		return "5/24"
	}
	return settings["peak"]
}

// differencesFromPaper lists the differences from the runs of the paper.
func (r *networks) differencesFromPaper() []string {
	var out []string
	if !r.asPaper() {
		out = append(out, fmt.Sprintf("%s here, %d in the paper.", r.each(epochs), r.paper.epochs))
	}
	if !r.paper.ours(r) {
		out = append(out, "The images here are "+r.images()+", in the paper "+r.paper.images+".")
	}
	out = append(out, r.paper.differences(r)...)
	if r.units() != "" {
		out = append(out, "The paper measures no weights in units of their initial size: those tables have no numbers of "+
			"its own beside them.")
	}
	return out
}

// Print prints the tables.
func (r *networks) Print(w io.Writer) {
	if r.done == 0 {
		return
	}
	for _, g := range r.groups {
		fmt.Fprintln(w, r.accuracyTable(g).Text())
	}
	fmt.Fprintln(w, r.claimLines().Text())
	for _, f := range append(r.findings(), sweep.Warnings(r.folder, r.plan)...) {
		fmt.Fprintf(w, "• %s\n", f)
	}
	fmt.Fprintln(w)
}

// epochs describes the number of epochs of the runs.
func epochs(settings map[string]string) string {
	n, _ := strconv.Atoi(settings["epochs"])
	return render.Count(n, "epoch")
}

// JSON is what --json prints.
func (r *networks) JSON(o sweep.Outcome) any {
	var groups []map[string]any
	for _, g := range r.groups {
		var rows []map[string]any
		for _, p := range g.ps {
			if len(g.runs[p]) == 0 {
				rows = append(rows, map[string]any{"p": p, "trials": 0, "diverged": g.failed[p], "not_done": g.missing[p]})
				continue
			}
			a := g.over(p, r.paper.test)
			row := map[string]any{
				"p":              p,
				"test_accuracy":  a.Mean,
				"deviation":      finite([]float64{a.Deviation})[0],
				"error":          finite([]float64{a.Error()})[0],
				"trials":         len(g.runs[p]),
				"diverged":       g.failed[p],
				"not_done":       g.missing[p],
				"train_accuracy": g.over(p, trainAccuracy).Mean,
				"train_loss":     g.over(p, func(x command.TrainResult) float64 { return x.Loss }).Mean,
				"lr":             g.over(p, func(x command.TrainResult) float64 { return x.LR }).Mean,
			}
			if theirs, ok := r.published(g)[p]; ok {
				row["paper"], row["paper_deviation"] = theirs.Mean, finite([]float64{theirs.Deviation})[0]
			}
			rows = append(rows, row)
		}
		groups = append(groups, map[string]any{"model": g.model, "variant": g.title, "rows": rows})
	}
	epochs, _ := strconv.Atoi(r.plan.Runs[0].Settings["epochs"])
	out := map[string]any{"run": o.Folder, "data": r.set, "engine": r.engine, "epochs": epochs,
		"runs": o.Runs, "done": o.Done, "failed": o.Failed, "groups": groups, "statements": r.allClaims(),
		"warnings": append([]string{}, sweep.Warnings(r.folder, r.plan)...)}
	return out
}
