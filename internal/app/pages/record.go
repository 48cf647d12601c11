package pages

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/record"
	"github.com/bregman-ml/bregman/internal/app/render"
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
	notes  []string
}

var _ command.Result = recordPage{}

// Print prints the table and what a reader must know.
func (p recordPage) Print(w io.Writer) {
	if p.Path == "-" {
		return
	}
	fmt.Fprint(w, p.table.Text())
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
		groups = append(groups, map[string]any{"identity": g.Identity, "runs": len(g.Rows), "diverged": g.Diverged(),
			"numbers": numbers})
	}
	return map[string]any{"report": p.Path, "runs": len(p.rows), "groups": groups,
		"notes": append([]string{}, p.notes...)}
}

// recordedRuns writes the page of results files.
func (r *Report) recordedRuns() (command.Result, error) {
	p := recordPage{}
	var weights []*record.Weights
	seen := map[string]bool{}
	for _, path := range r.Runs {
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
		return nil, fmt.Errorf("%s: no rows yet: bregman export --to results adds some", strings.Join(r.Runs, ", "))
	}
	p.groups = record.Groups(p.rows, weights)
	p.sort()
	p.table, p.notes = p.groupTable(), p.warnings()
	var files render.Files
	tables := &folder{dir: r.Tables}
	if r.Tables != "" {
		files = tables
	}
	doc := render.NewDocument(files, fmt.Sprintf("%s of networks", render.Count(len(p.rows), "run")),
		"bregman report --results · "+strings.Join(r.Runs, ", "))
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
	p.levels(doc)
	if tables.err != nil {
		return nil, tables.err
	}
	p.File = command.NewFile(r.Out, doc.Bytes())
	return p, p.Save()
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

// setting is a setting of a group for people: a learning rate that short runs found stands beside "auto".
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
	return text
}

// groupTable has a row per group: what differs, then mean ± standard error.
func (p *recordPage) groupTable() render.Table {
	keys := p.keys
	if len(keys) == 0 {
		keys = []string{"model", "data", "p"}
	}
	t := render.Table{Left: len(keys)}
	for _, k := range keys {
		t.Header = append(t.Header, strings.ReplaceAll(k, "_", " "))
	}
	t.Header = append(t.Header, "n", "diverged")
	first := len(t.Header)
	columns := slices.DeleteFunc(slices.Clone(recordColumns), func(c recordColumn) bool {
		return !slices.ContainsFunc(p.groups, func(g *record.Group) bool { return len(g.Values(c.of)) > 0 })
	})
	for _, c := range columns {
		t.Header = append(t.Header, c.title)
	}
	for _, g := range p.groups {
		var row []render.Cell
		for _, k := range keys {
			row = append(row, render.Text("%s", setting(g, k)))
		}
		diverged := g.Diverged()
		row = append(row, render.Text("%d", len(g.Rows)-diverged), render.Text("%d", diverged))
		for _, c := range columns {
			row = append(row, meanCell(g.Values(c.of), c.percent))
		}
		t.Rows = append(t.Rows, row)
	}
	// what can be compared: runs of one network on one data set
	if same := !slices.Contains(p.keys, "model") && !slices.Contains(p.keys, "data"); same && len(t.Rows) > 1 {
		for j, c := range columns {
			if c.key == "test" || c.key == "validation" {
				t.MarkMost(first + j)
			}
		}
	}
	t.Note = "Mean ± one standard error of the mean over n seeds. Runs that diverged are counted, and are in no mean."
	return t
}

func meanCell(values []float64, percent bool) render.Cell {
	scale := 1.0
	if percent {
		scale = 100
	}
	s := trials.SampleOf(values)
	cell := render.Short(s.Mean, 3)
	if percent {
		cell = render.Number(scale*s.Mean, 2)
	}
	if s.N > 1 {
		if percent {
			cell.Text += fmt.Sprintf(" ± %.2f", scale*s.Error())
		} else {
			cell.Text += fmt.Sprintf(" ± %.1g", s.Error())
		}
	}
	return cell
}

// name names a group by what differs.
func (p *recordPage) name(g *record.Group) string {
	var parts []string
	for _, k := range p.keys {
		parts = append(parts, strings.ReplaceAll(k, "_", " ")+" "+setting(g, k))
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
		caption := "All convolutions and linear layers together, in bins of a tenth of a decade. The first seed."
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
