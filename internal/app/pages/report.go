package pages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/record"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// Report is `bregman report`: several runs on one page.
type Report struct {
	Runs   []string `arg:"" name:"run" json:"runs"`
	Out    string   `default:"report.html" placeholder:"FILE" json:"out" role:"output"`
	Tables string   `placeholder:"DIR" json:"tables,omitempty"`
	// the arguments are results files
	Results bool `json:"results,omitempty"`
	command.Printed
}

// Texts are the words for its settings.
func (*Report) Texts() settings.Texts {
	return settings.Texts{
		About: "Compare runs on one page.",
		Help: map[string]string{
			"runs":    "Run folders, of any commands; with --results, results files and conditions on their rows.",
			"out":     "Where the page goes; - for standard output.",
			"tables":  "Also write the tables there, as CSV, Markdown and LaTeX, and the figures as SVG and PNG.",
			"results": "Read results files, which \"bregman export --to results\" writes, instead of run folders.",
		},
	}
}

// Help is shown by --help.
func (*Report) Help() string {
	return `Examples:
  bregman report runs/*-fit-*-r2-1
  bregman report runs/*-train-cnn-* --out cnn.html --tables tables
  bregman report --results networks.csv
  bregman report --results networks.csv model=resnet18 "epochs>=60" p=2

The page needs nothing beside it: settings that differ, curves by p (runs that differ only in their seed are trials:
their mean and a band of one standard deviation), final numbers, histograms of the weights, and the paper's numbers if
it has any.

With --results the table has a row for the runs that differ in their seed alone: mean ± standard error, how many there
are, how many diverged, how far each is from the best of its network and epochs, and the paper's accuracy. Settings
that no column shows count, too. Conditions choose rows, as in "bregman runs list": KEY=VALUE, also with != < <= > >=.
In all tables bold is the best and what is not significantly worse by a t test with
Holm's correction; with fewer than three seeds nothing is bold.`
}

// Check returns the first thing wrong with the settings.
func (r *Report) Check() error {
	if r.Out == "-" && r.JSON {
		return settings.Errorf("out", "--out - and --json both want standard output: choose one")
	}
	if st, err := os.Stat(r.Out); err == nil && st.IsDir() && r.Out != "-" {
		return settings.Errorf("out", "--out %s is a folder: name the file to write, such as %s", r.Out,
			filepath.Join(r.Out, "report.html"))
	}
	return nil
}

// checkOutputs returns an error if the page or the tables could not be written, or would replace what is read.
func (r *Report) checkOutputs() error {
	var inputs []command.Input
	for _, dir := range r.Runs {
		if r.Results {
			inputs = append(inputs, command.Input{Name: "results", Path: dir},
				command.Input{Name: "weights", Path: record.WeightsPath(dir)})
			continue
		}
		for _, name := range []string{"run.json", "metrics.jsonl", "tables/result.json", "tables/study.json", "model.json"} {
			inputs = append(inputs, command.Input{Name: "run", Path: filepath.Join(dir, filepath.FromSlash(name))})
		}
	}
	if err := command.CheckOut(r.Out, inputs...); err != nil {
		return err
	}
	return command.CheckFolder("--tables", r.Tables)
}

// compared is the result of report.
type compared struct {
	command.File
	runs, groups int
}

var _ command.Result = compared{}

// JSON has the path of the page and what is on it.
func (c compared) JSON() any {
	return map[string]any{"report": c.Path, "runs": c.runs, "groups": c.groups}
}

// Print prints the path of the page, unless the page itself was printed.
func (c compared) Print(w io.Writer) {
	if c.Path != "-" {
		fmt.Fprintf(w, "%s in %s\n", render.Count(c.runs, "run"), c.Path)
	}
}

// Do writes the page.
func (r *Report) Do(_ context.Context, env *command.Env) (command.Result, error) {
	if err := r.checkOutputs(); err != nil {
		return nil, err
	}
	if r.Results {
		return r.recordedRuns()
	}
	var runs []*trials.Run
	var bad []error
	seen := map[string]bool{}
	for _, dir := range r.Runs {
		if seen[filepath.Clean(dir)] {
			continue
		}
		seen[filepath.Clean(dir)] = true
		run, err := readRun(dir)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		for _, t := range run.Trouble {
			env.Say("%s: %s", dir, t)
		}
		if run.Info.Command == "sweep" {
			env.Say("%s is a sweep: its own report.html compares its runs; bregman report %s sets them side by side", dir,
				filepath.Join(dir, "trials", "*"))
		}
		runs = append(runs, run)
	}
	if len(runs) == 0 {
		return nil, errors.Join(bad...)
	}
	for _, err := range bad {
		env.Say("skipped: %v", err)
	}
	var files render.Files
	tables := &folder{dir: r.Tables}
	if r.Tables != "" {
		files = tables
	}
	p, err := NewPage(files, runs, bad...)
	if err == nil {
		err = tables.err
	}
	if err != nil {
		return nil, err
	}
	out := compared{command.NewFile(r.Out, p.Bytes()), len(runs), len(p.groups)}
	return out, out.Save()
}

func readRun(dir string) (*trials.Run, error) {
	f, err := runlog.OpenFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: name run folders, such as those in runs/", err)
	}
	defer f.Close()
	run, err := trials.Read(f, filepath.ToSlash(filepath.Clean(dir)))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a run folder: it has no run.json", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return run, nil
}

// Page is the comparison of runs.
type Page struct {
	*render.Document
	runs   []*trials.Run
	groups []*trials.Group
}

// NewPage compares runs, and lists the skipped ones. Its tables and figures go to files, if that is not nil.
func NewPage(files render.Files, runs []*trials.Run, left ...error) (*Page, error) {
	title := fmt.Sprintf("%d runs side by side", len(runs))
	groups := trials.Groups(runs)
	switch all := commands(runs); {
	case len(runs) == 1:
		title = runs[0].Name()
	case len(all) == 1:
		title = fmt.Sprintf("%s of %s%s", render.Count(len(runs), "run"), all[0], psOf(groups))
	}
	p := &Page{Document: NewDocument(files, title, "bregman report · "+strings.Join(commands(runs), ", ")),
		runs: runs, groups: groups}
	lead := p.lead()
	lead.Put(p.Document)
	p.Section("The runs")
	p.AddTables(render.Named{Name: "runs", Table: p.runTable()})
	p.trouble(left)
	if len(runs) > 1 {
		p.Section("Settings that differ")
		if t := differenceTable(runs); len(t.Rows) > 0 {
			p.AddTables(render.Named{Name: "settings", Table: t})
		} else {
			p.Say("None: these runs have the same settings.")
		}
	}
	if len(p.groups) > 0 {
		p.Section("Final numbers")
		for k, groups := range trials.Kinds(p.groups) {
			for j, t := range FinalTables(groups) {
				p.AddTables(render.Named{Name: fmt.Sprintf("final_%d%s", k+1, [2]string{"", "_geometry"}[j]), Table: t})
				p.Details("The table as LaTeX", string(t.LaTeX()))
			}
		}
		if err := p.curves(); err != nil {
			return nil, err
		}
	}
	p.results()
	if err := errors.Join(p.weights(), p.sizesOverTime()); err != nil {
		return nil, err
	}
	p.paperSays()
	return p, nil
}

// psOf lists the p of groups, after a colon.
func psOf(groups []*trials.Group) string {
	var all []float64
	for _, g := range groups {
		if !math.IsNaN(g.P) && !slices.Contains(all, g.P) {
			all = append(all, g.P)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	var texts []string
	for _, p := range all {
		texts = append(texts, fmt.Sprint(p))
	}
	return ": p = " + Listed(texts)
}

func commands(runs []*trials.Run) []string {
	var out []string
	for _, r := range runs {
		what := r.Info.Command
		if r.Info.Data != "" {
			what += " on " + r.Info.Data
		}
		out = append(out, what)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// few writes a list of many by its ends.
func few(v any) string {
	if list, ok := v.([]any); ok && len(list) > 4 {
		return trials.SettingText(list[0]) + " … " + trials.SettingText(list[len(list)-1])
	}
	return trials.SettingText(v)
}

func (p *Page) runTable() render.Table {
	t := render.Table{Header: []string{"run", "what", "p", "seed", "status"}}
	var own []trials.ListColumn // of any run
	for _, o := range trials.ListColumns {
		if slices.ContainsFunc(p.runs, func(r *trials.Run) bool { return !math.IsNaN(r.Listed(o)) }) {
			own = append(own, o)
			t.Header = append(t.Header, o.Title)
		}
	}
	// a name that does not say when
	begun := slices.ContainsFunc(p.runs, func(r *trials.Run) bool {
		return !strings.HasPrefix(r.Name(),
			r.Info.Started.Format("20060102-"))
	})
	if begun {
		t.Header = append(t.Header, "started")
	}
	t.Header = append(t.Header, "seconds")
	for _, r := range p.runs {
		// the name has the command
		row := []render.Cell{render.Text("%s", r.Name()),
			render.Text("%s", strings.TrimPrefix(strings.TrimPrefix(r.Kind(), r.Info.Command+" "), "on ")),
			render.Text("%s", few(r.Settings["p"])),
			render.Text("%d", r.Info.Seed), render.Text("%s", r.Status)}
		for _, o := range own {
			if v := r.Listed(o); o.Scale == 100 {
				row = append(row, render.Number(100*v, 2))
			} else {
				row = append(row, render.Short(v, 4))
			}
		}
		if begun {
			row = append(row, render.Text("%s", r.Info.Started.Format("2 Jan 15:04")))
		}
		t.Rows = append(t.Rows, append(row, render.Short(r.Seconds(), 3)))
	}
	if slices.ContainsFunc(p.runs, func(r *trials.Run) bool { return r.Info.Command == "fit" }) {
		t.Note = "Of the model that a fit wrote; of one without a result: the end of its curve."
	}
	return t
}

// trouble lists what a reader must know before the numbers.
func (p *Page) trouble(left []error) {
	var items []string
	for _, err := range left {
		items = append(items, fmt.Sprintf("skipped: %v", err))
	}
	for _, g := range p.groups {
		if all, trials := len(g.Curves), len(g.Trials()); all > trials {
			items = append(items, fmt.Sprintf("%s: %d runs, different seeds among them: %d. "+
				"Of each seed only the first run counts.", g.Name, all, trials))
		}
	}
	for _, r := range p.runs {
		for _, t := range r.Trouble {
			items = append(items, r.Name()+": "+t)
		}
		if r.Info.Error != "" && r.Status != runlog.Interrupted { // the table shows that
			items = append(items, r.Name()+" is not done, it ended with: "+r.Info.Error)
		}
	}
	if len(items) > 0 {
		p.Say("Before you compare:")
		p.List(items...)
	}
}

func differenceTable(runs []*trials.Run) render.Table {
	t := render.Table{Header: []string{"setting"}}
	for _, r := range runs {
		t.Header = append(t.Header, r.Name())
	}
	for _, d := range trials.Differences(runs) {
		row := []render.Cell{render.Text("%s", d.Name)}
		for _, v := range d.Values {
			row = append(row, render.Text("%s", v))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(runs) > 3 { // names of runs are long: a row each
		t = transposed(t)
	}
	return t
}

func transposed(t render.Table) render.Table {
	out := render.Table{Header: []string{"run"}}
	for _, r := range t.Rows {
		out.Header = append(out.Header, r[0].Text)
	}
	for j := 1; j < len(t.Header); j++ {
		row := []render.Cell{render.Text("%s", t.Header[j])}
		for _, r := range t.Rows {
			row = append(row, r[j])
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func (p *Page) curves() error {
	for k, groups := range trials.Kinds(p.groups) {
		if !slices.ContainsFunc(groups, (*trials.Group).Moves) {
			continue
		}
		p.Section("Curves: " + groups[0].Kind)
		var figs []render.Figure
		for _, n := range trials.MetricNames(groups) {
			if f, ok := Figure(groups, n); ok {
				figs = append(figs, f)
			}
		}
		caption := "A colour per p, the same in all figures."
		if slices.ContainsFunc(groups, func(g *trials.Group) bool { return len(g.Trials()) > 1 }) {
			caption += " Several trials: their mean, and one standard deviation to both sides."
		}
		if err := p.AddFigure(fmt.Sprintf("curves_%d", k+1), caption, figs...); err != nil {
			return err
		}
	}
	return nil
}

// studied is a network whose weights were studied.
type studied struct {
	run   *trials.Run
	group *trials.Group // nil: it has no curves
}

// studies are the networks whose weights were studied, in the order of the groups: of each seed the first.
func (p *Page) studies() []studied {
	of := map[*trials.Run]*trials.Group{}
	at := map[*trials.Run]int{} // 0 for those without
	twice := map[*trials.Run]bool{}
	for k, g := range p.groups {
		counted := g.Trials()
		for _, c := range g.Curves {
			of[c.Run], at[c.Run] = g, k+1
			twice[c.Run] = !slices.ContainsFunc(counted, func(t trials.Curve) bool { return t.Run == c.Run })
		}
	}
	var out []studied
	for _, r := range p.runs {
		if !twice[r] && r.Study != nil && drawable(r.Study.Histogram) && drawable(r.Study.ScaledHistogram) {
			out = append(out, studied{r, of[r]})
		}
	}
	slices.SortStableFunc(out, func(a, b studied) int { return at[a.run] - at[b.run] })
	return out
}

// rows puts the trials of a group into one row.
func (p *Page) rows(all []studied) []Studied {
	var out []Studied
	var last *trials.Group
	kinds := len(trials.Kinds(p.groups)) > 1
	for _, s := range all {
		if s.group == nil {
			out = append(out, Studied{Name: s.run.Name(), P: s.run.Study.P, Trials: []train.Study{*s.run.Study}})
			continue
		}
		if s.group != last {
			row := Studied{Name: s.group.Name, P: s.group.P, Style: render.LineStyle(s.group.Line)}
			if kinds {
				row.Name += ", " + s.group.Kind
			}
			out, last = append(out, row), s.group
		}
		out[len(out)-1].Trials = append(out[len(out)-1].Trials, *s.run.Study)
	}
	return out
}

// levels lists the shares and bits of a study.
func levels(s *train.Study) string {
	var b strings.Builder
	for _, of := range [][]train.Level{s.PrunedEach, s.PrunedAll, s.Rounded} {
		for _, l := range of {
			fmt.Fprintf(&b, "%v ", l.At)
		}
		b.WriteByte(';')
	}
	return b.String()
}

// weights shows what the studies of networks found: histograms, spreads, pruning and rounding.
func (p *Page) weights() error {
	all := p.studies()
	rows := p.rows(all)
	if len(rows) == 0 {
		return nil
	}
	sizes := render.Figure{Title: "Sizes of the weights", X: "|w|", Y: "% of the weights"}
	scaled := render.Figure{Title: "Sizes over the RMS of their layer", X: "|w| / RMS", Y: "density", LogY: true,
		Min: [2]float64{0, 1e-3}}
	right, top := 0.0, 0.0
	for _, r := range rows {
		h := r.Trials[0].ScaledHistogram
		x, y := outline(r.Trials[0].Histogram, 100)
		sizes.Series = append(sizes.Series, render.Series{Name: plain(r.Name), X: x, Y: y, Color: render.Color(r.P),
			Style: r.Style})
		x, y = outline(h, float64(len(h.Share))/h.Limit)
		scaled.Series = append(scaled.Series, render.Series{Name: plain(r.Name), X: x, Y: y, Color: render.Color(r.P),
			Style: r.Style})
		right, top = max(right, h.Limit), max(top, slices.Max(y))
	}
	scaled.Max = [2]float64{right, 10 * top}
	p.Section("The weights")
	caption := "Histograms of |w| after training, up to the size that 99.5 % do not exceed."
	if slices.ContainsFunc(rows, func(r Studied) bool { return len(r.Trials) > 1 }) {
		caption += " The first trial of each."
	}
	if err := p.AddFigure("weights", caption, sizes, scaled); err != nil {
		return err
	}
	p.AddTables(render.Named{Name: "weights", Table: SpreadTable(rows)})
	return p.pruning(all)
}

// pruning compares the accuracies after pruning and rounding, of the networks that were studied at the most common
// levels.
func (p *Page) pruning(all []studied) error {
	count := map[string]int{}
	usual := ""
	for _, s := range all {
		if l := levels(s.run.Study); len(s.run.Study.PrunedEach) > 0 && len(s.run.Study.PrunedAll) > 0 &&
			len(s.run.Study.Rounded) > 0 {
			if count[l]++; count[l] > count[usual] {
				usual = l
			}
		}
	}
	if usual == "" {
		return nil
	}
	var alike []studied
	var others []string
	for _, s := range all {
		if levels(s.run.Study) == usual {
			alike = append(alike, s)
		} else {
			others = append(others, s.run.Name())
		}
	}
	p.Section("Pruning and rounding")
	p.Say("Test accuracy with the smallest weights set to 0, and with all rounded to a few bits. Nothing is trained " +
		"after the change.")
	if len(others) > 0 {
		p.Say("Studied at other shares or bits, or not, and skipped: %s.", strings.Join(others, ", "))
	}
	rows := p.rows(alike)
	figs, tables := Levels(rows)
	for _, f := range figs {
		for _, panel := range f.Panels {
			for k := range panel.Series {
				panel.Series[k].Name = plain(panel.Series[k].Name)
			}
		}
		if err := p.AddFigure(f.Name, f.Caption, f.Panels...); err != nil {
			return err
		}
	}
	p.AddTables(tables...)
	return nil
}

// drawable reports whether a histogram, which was read from a file, is valid.
func drawable(h train.Histogram) bool { return len(h.Share) > 0 && h.Limit > 1e-100 && h.Limit < 1e100 }

// outline is the outline of a histogram: two points a bin.
func outline(h train.Histogram, scale float64) (x, y []float64) {
	width := h.Limit / float64(len(h.Share))
	for k, s := range h.Share {
		x = append(x, float64(k)*width, float64(k+1)*width)
		y = append(y, scale*s, scale*s)
	}
	return x, y
}

// folder writes the files of a page into one folder, and records the first error.
type folder struct {
	dir string
	err error
}

var _ render.Files = (*folder)(nil)

func (f *folder) Save(name string, data []byte) {
	if f.err == nil {
		f.err = runlog.WriteFile(filepath.Join(f.dir, path.Base(name)), data)
	}
}
