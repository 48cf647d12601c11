package pages

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/filter"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/record"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/trials"
)

// recordColumn is a number of a results file that its tables show.
type recordColumn struct {
	title   string
	key     string // in JSON
	percent bool
	of      func(record.Row) float64
}

var recordColumns = []recordColumn{
	{"validation, %", "validation", true, func(r record.Row) float64 { return r.Validation }},
	{"test, %", "test", true, func(r record.Row) float64 { return r.Test }},
	{"with flips, %", "test_flips", true, func(r record.Row) float64 { return r.Flips }},
	{"with shifts, %", "test_shifts", true, func(r record.Row) float64 { return r.Shifts }},
	{"training, %", "train", true, func(r record.Row) float64 { return r.Train }},
	{"loss", "loss", false, func(r record.Row) float64 { return r.Loss }},
}

// recordPage is the result of report --results: the groups of the rows, on a page and as a table.
type recordPage struct {
	command.File
	rows   []record.Row
	groups []*record.Group
	keys   []string // settings that differ
	table  render.Table
	blocks []*block
	notes  []string
}

var _ command.Result = recordPage{}

// Print prints the table and what a reader must know.
func (p recordPage) Print(w io.Writer) {
	if p.Path == "-" {
		return
	}
	fmt.Fprintf(w, "%s%s\n", p.table.Text(), p.table.Note)
	for _, n := range p.notes {
		fmt.Fprintf(w, "• %s\n", n)
	}
	fmt.Fprintf(w, "%s in %s\n", render.Count(len(p.rows), "run"), p.Path)
}

// JSON has a group's settings, means, standard errors and counts.
func (p recordPage) JSON() any {
	groups := []map[string]any{}
	for _, g := range p.groups {
		numbers := map[string]any{}
		for _, c := range recordColumns {
			if s := trials.SampleOf(g.Values(c.of)); s.N > 0 {
				one := map[string]any{"n": s.N, "mean": s.Mean}
				if s.N > 1 {
					one["error"] = s.Error()
				}
				numbers[c.key] = one
			}
		}
		one := map[string]any{"identity": g.Identity, "runs": len(g.Rows), "diverged": g.Diverged(), "numbers": numbers}
		if b, k := p.block(g); b != nil && k != b.Leader() && b.Leader() >= 0 {
			if d := b.Between(k, b.Leader()); !math.IsNaN(d.Mean) {
				one["from_best"] = map[string]any{"of": b.key, "difference": d.Mean, "error": finite(d.SE),
					"chance": finite(d.Chance), "paired": d.Paired, "n": d.N}
			}
		}
		groups = append(groups, one)
	}
	return map[string]any{"report": p.Path, "runs": len(p.rows), "groups": groups,
		"notes": append([]string{}, p.notes...)}
}

// finite is nil if JSON has no number for the value.
func finite(v float64) *float64 {
	if math.IsNaN(v - v) {
		return nil
	}
	return &v
}

// block is the groups that are compared with each other: those of one network, data set, number of epochs, and number
// of training images.
type block struct {
	trials.Column
	key    string // what is compared: validation, if all have it, else test
	groups []*record.Group
}

// compare puts the groups into blocks and compares the accuracies in each.
func (p *recordPage) compare() {
	by := map[string]*block{}
	for _, g := range p.groups {
		s := g.Identity.Settings
		key := strings.Join([]string{s["model"], s["data"], s["epochs"], s["validate"]}, "\x00")
		if by[key] == nil {
			by[key] = &block{}
			p.blocks = append(p.blocks, by[key])
		}
		by[key].groups = append(by[key].groups, g)
	}
	var columns []*trials.Column
	for _, b := range p.blocks {
		for _, c := range recordColumns[:2] { // validation, test
			if b.key == "" && (c.key == "test" || b.have(c)) {
				b.key = c.key
				for _, g := range b.groups {
					values := map[uint64]float64{}
					for _, r := range g.Rows {
						seed, err := r.Identity.Seed()
						if v := c.of(r); err == nil && r.Status == record.Done && !math.IsNaN(v) {
							values[seed] = 100 * v
						}
					}
					b.Values = append(b.Values, values)
				}
			}
		}
		columns = append(columns, &b.Column)
	}
	trials.Compare(columns...)
}

// have reports whether all runs that are done have a number.
func (b *block) have(c recordColumn) bool {
	return !slices.ContainsFunc(b.groups, func(g *record.Group) bool {
		return len(g.Values(c.of)) < len(g.Rows)-g.Diverged()
	})
}

// block returns the block of a group, and its place there.
func (p *recordPage) block(g *record.Group) (*block, int) {
	for _, b := range p.blocks {
		if k := slices.Index(b.groups, g); k >= 0 {
			return b, k
		}
	}
	return nil, -1
}

// recordedRuns writes the page of results files.
func (r *Report) recordedRuns() (command.Result, error) {
	p := recordPage{}
	var weights []*record.Weights
	seen := map[string]bool{}
	paths, conditions, err := r.arguments()
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if seen[filepath.Clean(path)] {
			continue
		}
		seen[filepath.Clean(path)] = true
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%w: name results files, as “bregman export --to results” writes them", err)
		}
		rows, err := record.Read(path)
		if err != nil {
			return nil, err
		}
		more, err := record.ReadWeights(path, rows)
		if err != nil {
			return nil, err
		}
		p.rows, weights = append(p.rows, rows...), append(weights, more...)
	}
	if len(p.rows) == 0 {
		return nil, fmt.Errorf("%s: no rows yet: bregman export --to results adds some", strings.Join(paths, ", "))
	}
	if p.rows, weights, err = chosen(p.rows, weights, conditions); err != nil {
		return nil, err
	}
	p.groups = record.Groups(p.rows, weights)
	p.sort()
	p.compare()
	p.table, p.notes = p.groupTable(), p.warnings()
	var files render.Files
	tables := &folder{dir: r.Tables}
	if r.Tables != "" {
		files = tables
	}
	doc := NewDocument(files, fmt.Sprintf("%s of networks", render.Count(len(p.rows), "run")),
		"bregman report --results · "+strings.Join(r.Runs, ", "))
	lead := p.lead()
	lead.Put(doc)
	doc.Section("Results")
	doc.AddTables(render.Named{Name: "results", Table: p.table})
	doc.Details("The table as LaTeX", string(p.table.LaTeX()))
	if len(p.notes) > 0 {
		doc.Say("Before you compare:")
		doc.List(p.notes...)
	}
	if len(p.groups) > 1 {
		doc.Section("The same in every run")
	} else {
		doc.Section("The settings")
	}
	doc.Tables(p.fixed())
	if err := p.weights(doc); err != nil {
		return nil, err
	}
	if err := p.levels(doc); err != nil {
		return nil, err
	}
	if tables.err != nil {
		return nil, tables.err
	}
	p.File = command.NewFile(r.Out, doc.Bytes())
	return p, p.Save()
}

// arguments are the results files, and conditions on their rows.
func (r *Report) arguments() (paths []string, conditions []filter.Condition, err error) {
	for _, arg := range r.Runs {
		if _, err := os.Stat(arg); err == nil || !strings.ContainsAny(arg, "=<>") {
			paths = append(paths, arg)
			continue
		}
		c, err := filter.Parse(arg)
		if err != nil {
			return nil, nil, err
		}
		conditions = append(conditions, c)
	}
	if len(paths) == 0 {
		return nil, nil, settings.Errorf("run", "name a results file beside the conditions")
	}
	return paths, conditions, nil
}

// chosen are the rows that meet the conditions, with their weights.
func chosen(rows []record.Row, weights []*record.Weights, conditions []filter.Condition) ([]record.Row,
	[]*record.Weights, error) {
	var identities []record.Identity
	for _, r := range rows {
		identities = append(identities, r.Identity)
	}
	keys := append(record.Keys(identities), "seed")
	for _, c := range conditions {
		if !slices.Contains(keys, c.Key) {
			return nil, nil, settings.Errorf("run", "no row has %q: there are %s", c.Key, strings.Join(keys, ", "))
		}
	}
	var keptRows []record.Row
	var keptWeights []*record.Weights
	for k, r := range rows {
		fails := func(c filter.Condition) bool { return !c.Holds([]any{settingOf(r, c.Key)}) }
		if !slices.ContainsFunc(conditions, fails) {
			keptRows, keptWeights = append(keptRows, r), append(keptWeights, weights[k])
		}
	}
	if len(keptRows) == 0 {
		return nil, nil, settings.Errorf("run", "none of the %d rows meets the conditions", len(rows))
	}
	return keptRows, keptWeights, nil
}

// settingOf is a setting of a row. If it lacks one that others have, it has the value from before there was a choice.
func settingOf(r record.Row, key string) string {
	missing := "0"
	if key == "unit" {
		missing = "one"
	}
	return cmp.Or(r.Identity.Settings[key], missing)
}

// identities are those of the groups.
func (p *recordPage) identities() []record.Identity {
	var out []record.Identity
	for _, g := range p.groups {
		out = append(out, g.Identity)
	}
	return out
}

// sort puts the groups in the order of what differs, numbers by size.
func (p *recordPage) sort() {
	p.keys = record.Differing(p.identities())
	slices.SortStableFunc(p.groups, func(a, b *record.Group) int {
		for _, k := range p.keys {
			v, w := a.Identity.Settings[k], b.Identity.Settings[k]
			x, y := trials.Float(v), trials.Float(w)
			order := strings.Compare(v, w)
			if x-x == 0 && y-y == 0 {
				order = cmp.Compare(x, y)
			}
			if order != 0 {
				return order
			}
		}
		return 0
	})
}

// setting is a setting of a group for people: a learning rate that short runs found stands beside "auto", and beside
// one that the paper may mean which reading of it that is.
func setting(g *record.Group, key string) string {
	text := cmp.Or(g.Identity.Settings[key], "–")
	if key == "lr" && text == "auto" {
		found := g.Distinct(func(r record.Row) string {
			if math.IsNaN(r.Rate) {
				return ""
			}
			return fmt.Sprintf("%.4g", r.Rate)
		})
		text = strings.TrimSuffix("auto: "+strings.Join(found, ", "), ": ")
	}
	if size, err := strconv.Atoi(g.Identity.Settings["batch"]); key == "lr" && err == nil && inThePaper(g) != nil {
		if reading := numbers.ReadingOf(trials.Float(text), size); reading != "" {
			text += " (" + reading + ")"
		}
	}
	return text
}

// groupTable has a row per group: what differs, mean ± standard error and n, how far it is from the best, and the
// paper's accuracy.
func (p *recordPage) groupTable() render.Table {
	keys := p.keys
	if len(keys) == 0 {
		keys = []string{"model", "data", "p"}
	}
	t := render.Table{Left: len(keys), Note: Means}
	for _, k := range keys {
		t.Header = append(t.Header, strings.ReplaceAll(k, "_", " "))
	}
	columns := slices.DeleteFunc(slices.Clone(recordColumns), func(c recordColumn) bool {
		return c.key != "test" && !slices.ContainsFunc(p.groups, func(g *record.Group) bool {
			return len(g.Values(c.of)) > 0
		})
	})
	compared := slices.ContainsFunc(p.blocks, func(b *block) bool { return b.Leader() >= 0 })
	theirs := slices.ContainsFunc(p.groups, func(g *record.Group) bool { return inThePaper(g) != nil })
	diverged := slices.ContainsFunc(p.groups, func(g *record.Group) bool { return g.Diverged() > 0 })
	for _, c := range columns {
		if t.Header = append(t.Header, c.title); c.key != "test" {
			continue
		}
		if diverged {
			t.Header = append(t.Header, "diverged")
		}
		if compared {
			t.Header = append(t.Header, "from the best")
		}
		if theirs {
			t.Header = append(t.Header, "the paper, %")
		}
	}
	var tested []*trials.Column
	bold := map[*record.Group]bool{}
	for _, b := range p.blocks {
		tested = append(tested, &b.Column)
		for k, best := range b.Bold() {
			bold[b.groups[k]] = best
		}
	}
	for _, g := range p.groups {
		var row []render.Cell
		for _, k := range keys {
			row = append(row, render.Text("%s", setting(g, k)))
		}
		b, at := p.block(g)
		for _, c := range columns {
			cell := meanCell(g.Values(c.of), c.percent)
			cell.Best = bold[g] && c.key == b.key
			if row = append(row, cell); c.key != "test" {
				continue
			}
			if diverged {
				row = append(row, render.Text("%d", g.Diverged()))
			}
			if compared {
				row = append(row, b.fromBest(at))
			}
			if theirs {
				row = append(row, paperCell(inThePaper(g)))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = joined(t.Note, trials.Line(tested...))
	if diverged {
		t.Note += " Runs that diverged are counted, and are in no mean."
	}
	if compared {
		t.Note += " From the best: in points of " + p.measure() + " accuracy, among rows of one network, data set, " +
			"number of epochs and number of training images; p is the corrected probability of chance."
	}
	if theirs {
		t.Note += fmt.Sprintf(" The paper: %d epochs, mean ± deviation of %d trials.",
			numbers.Epochs, numbers.Trials)
	}
	return t
}

// measure names the accuracies that are compared.
func (p *recordPage) measure() string {
	var keys []string
	for _, b := range p.blocks {
		if b.Leader() >= 0 && !slices.Contains(keys, b.key) {
			keys = append(keys, b.key)
		}
	}
	return strings.Join(keys, " or ")
}

// fromBest is how far a group is from the best of its block.
func (b *block) fromBest(k int) render.Cell {
	switch best := b.Leader(); {
	case best < 0 || len(b.Values[k]) == 0:
		return render.Text("–")
	case k == best:
		return render.Text("best")
	default:
		d := b.Between(k, best)
		c := ContrastCell(d, true)
		if d.N == len(b.Values[k]) && d.M == len(b.Values[best]) { // as the table has them
			c.Text = strings.Replace(c.Text, "("+d.Runs()+", ", "(", 1)
			c.Text = strings.TrimSuffix(c.Text, " ("+d.Runs()+")")
		}
		c.Best = false
		return c
	}
}

// inThePaper is the paper's accuracy for the network and p of a group, nil if it has none: it has none with decay,
// momentum, other units or images than its own.
func inThePaper(g *record.Group) *numbers.Accuracy {
	s := g.Identity.Settings
	if s["data"] != "cifar10" || !numbers.Plain(s) {
		return nil
	}
	if a, ok := numbers.Accuracies(s["model"])[g.P()]; ok {
		return &a
	}
	return nil
}

func paperCell(a *numbers.Accuracy) render.Cell {
	if a == nil {
		return render.Text("–")
	}
	c := render.Number(a.Mean, 2)
	c.Text += fmt.Sprintf(" ± %.2f", a.Deviation)
	return c
}

func meanCell(values []float64, percent bool) render.Cell {
	if percent {
		values = slices.Clone(values)
		for k := range values {
			values[k] *= 100
		}
	}
	return meanOf(trials.SampleOf(values), percent)
}

// name names a group by what differs.
func (p *recordPage) name(g *record.Group) string {
	var parts []string
	for _, k := range p.keys {
		part := strings.ReplaceAll(k, "_", " ") + " " + setting(g, k)
		if k == "p" {
			parts = slices.Insert(parts, 0, part)
		} else if g.Identity.Settings[k] != "" {
			parts = append(parts, part)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "all runs")
}

// warnings are what a reader must know before the numbers.
func (p *recordPage) warnings() []string {
	var out []string
	for _, g := range p.groups {
		if v := g.Distinct(record.ResultsText); len(v) > 1 {
			out = append(out, fmt.Sprintf("%s: numbers of the versions %s are in one mean.", p.name(g),
				strings.Join(v, " and ")))
		}
		if v := g.Distinct(func(r record.Row) string { return r.Precision }); len(v) > 1 {
			out = append(out, fmt.Sprintf("%s: runs in %s are in one mean.", p.name(g), strings.Join(v, " and ")))
		}
		if n := len(g.Again); n > 0 {
			out = append(out, fmt.Sprintf("%s: %s of seeds that are there already; of each seed the first counts.", p.name(g),
				render.Count(n, "row")))
		}
	}
	all := &record.Group{Rows: p.rows}
	if v := all.Distinct(record.ResultsText); len(v) > 1 {
		out = append(out, fmt.Sprintf("There are numbers of the versions %s.", strings.Join(v, " and ")))
	}
	return out
}

// fixed is what does not differ.
func (p *recordPage) fixed() render.Table {
	t := render.Table{Header: []string{"setting", ""}, Left: 2}
	for _, k := range record.Keys(p.identities()) {
		if !slices.Contains(p.keys, k) {
			t.Rows = append(t.Rows, []render.Cell{render.Text("%s", strings.ReplaceAll(k, "_", " ")),
				render.Text("%s", setting(p.groups[0], k))})
		}
	}
	programs := (&record.Group{Rows: p.rows}).Distinct(func(r record.Row) string { return r.Version })
	t.Rows = append(t.Rows, []render.Cell{render.Text("bregman"), render.Text("%s", strings.Join(programs, ", "))})
	return t
}

// maxFamilies is how many figures of weights a page has.
const maxFamilies = 16

// weights draws the sizes of the weights: a figure for each family of runs, a curve for each p.
func (p *recordPage) weights(doc *render.Document) error {
	families := map[string][]*record.Group{}
	var order []string
	for _, g := range p.groups {
		if g.Weights == nil {
			continue
		}
		key := g.Identity.Family()
		if families[key] == nil {
			order = append(order, key)
		}
		families[key] = append(families[key], g)
	}
	if len(order) == 0 {
		return nil
	}
	doc.Section("The weights")
	if n := len(order); n > maxFamilies {
		doc.Say("The first %d of %d; report fewer rows for the others.", maxFamilies, n)
		order = order[:maxFamilies]
	}
	for k, key := range order {
		groups := families[key]
		sizes := render.Figure{Title: "Sizes of the weights", X: "|w|", Y: "% of the weights", LogX: true}
		scaled := render.Figure{Title: "Sizes over the RMS of their layer", X: "|w| / RMS", Y: "% of the weights",
			LogX: true}
		for _, g := range groups {
			name := plain("p = " + g.Identity.Settings["p"])
			sizes.Series = append(sizes.Series, decades(name, g.P(), g.Weights.Kernels))
			scaled.Series = append(scaled.Series, decades(name, g.P(), g.Weights.Scaled))
		}
		var what []string
		for _, key := range p.keys {
			if key != "p" {
				what = append(what, strings.ReplaceAll(key, "_", " ")+" "+setting(groups[0], key))
			}
		}
		caption := "All convolutions and linear layers together, in bins of a tenth of a decade. The first run of each."
		if len(what) > 0 {
			caption = strings.Join(what, ", ") + ". " + caption
		}
		if err := doc.AddFigure(fmt.Sprintf("weights_%d", k+1), caption, sizes, scaled); err != nil {
			return err
		}
	}
	return nil
}

// decades is a histogram as an outline.
func decades(name string, p float64, h record.Histogram) render.Series {
	s := render.Series{Name: name, Color: render.Color(p)}
	for k, n := range h.Counts {
		y := 100 * float64(n) / float64(max(1, h.Count))
		s.X, s.Y = append(s.X, h.Edge(k), h.Edge(k+1)), append(s.Y, y, y)
	}
	return s
}
