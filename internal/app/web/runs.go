package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// Runs is `bregman runs`: the list of runs in a terminal, and what people say of them.
type Runs struct {
	List RunsList `cmd:"" default:"withargs"`
	Name RunsName `cmd:""`
	Tag  RunsTag  `cmd:""`
	Note RunsNote `cmd:""`
}

// RunsVerbs are the commands of Runs. Without one of them it is list.
var RunsVerbs = []string{"list", "name", "tag", "note"}

// RunsList is `bregman runs list`, and `bregman runs`.
type RunsList struct {
	Filter []string `arg:"" optional:"" json:"filter"`
	Runs   string   `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	Inside bool     `json:"inside"`
	Sort   string   `default:"started" placeholder:"KEY" json:"sort"`
	command.Printed
}

// Texts are the words for its settings.
func (*RunsList) Texts() settings.Texts {
	return settings.Texts{
		About: "The runs in a folder: what they are, how they stand, what they found.",
		Help: map[string]string{
			"filter": "Only runs that meet all of these: a word, KEY=VALUE (or < <= > >= !=), tag:WORD. A key is a setting, " +
				"such as lr, or loss, accuracy, margin, gap, status, command, data, seed, seconds.",
			"runs":   "The folder of run folders.",
			"inside": "Also the runs inside of others, such as the trials of a sweep.",
			"sort": "What to sort by: started, a number of the list, or a setting; with - before it (--sort=-accuracy) the " +
				"largest first.",
		},
	}
}

// Help is shown by --help.
func (*RunsList) Help() string {
	return `The newest runs are last. Columns that are the same in all runs, or empty, are left out.

Examples:
  bregman runs
  bregman runs train lr=0.8 'epochs>=20'
  bregman runs tag:paper status=done --sort=-accuracy
  bregman runs name runs/20261119-101500-train-cnn-p3-s1 'first with decay'
  bregman runs tag runs/*-p3-* +paper -draft
  bregman runs note runs/20261119-101500-train-cnn-p3-s1 'the rate is too small'`
}

// Check returns the first thing wrong with the settings.
func (r *RunsList) Check() error {
	for _, text := range r.Filter {
		if _, err := parseFilter(text); err != nil {
			return err
		}
	}
	return nil
}

// Do reads the runs.
func (r *RunsList) Do(_ context.Context, _ *command.Env) (command.Result, error) {
	root, err := runlog.OpenFolder(r.Runs)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("--runs %s: there is no such folder: runs are made by fit, margin, train and others", r.Runs)
	}
	if err != nil {
		return nil, fmt.Errorf("--runs: %w", err)
	}
	defer root.Close()
	var filters []filter
	for _, text := range r.Filter {
		f, err := parseFilter(text)
		if err != nil {
			return nil, err
		}
		filters = append(filters, f)
	}
	out := &runsFound{root: r.Runs}
	for _, s := range (&lister{root: root}).all() {
		out.all++
		if (r.Inside || s.Inside == "") && !slices.ContainsFunc(filters, func(f filter) bool { return !f.match(&s) }) {
			out.runs = append(out.runs, s)
		}
	}
	out.sort(r.Sort)
	return out, nil
}

// runsFound is the result of runs list.
type runsFound struct {
	root string
	runs []summary
	all  int
}

// sort sorts by a key, the newest or largest last; with - before it, first. Runs that do not have it come first.
func (f *runsFound) sort(by string) {
	key, down := strings.CutPrefix(by, "-")
	key = strings.ReplaceAll(key, "-", "_")
	slices.Reverse(f.runs) // the list has the newest first
	value := func(s *summary) (float64, string) {
		v := s.values(key)
		if len(v) == 0 {
			return math.Inf(-1), ""
		}
		if x, ok := v[0].(float64); ok && x == x {
			return x, ""
		}
		return math.Inf(-1), strings.ToLower(fmt.Sprint(v[0]))
	}
	if key != "started" {
		slices.SortStableFunc(f.runs, func(a, b summary) int {
			x, s := value(&a)
			y, t := value(&b)
			return cmp.Or(cmp.Compare(x, y), strings.Compare(s, t))
		})
	}
	if down {
		slices.Reverse(f.runs)
	}
}

// varying are the settings that are not the same in all runs, at most so many, those that most runs have first.
func (f *runsFound) varying(most int) []string {
	count, values := map[string]int{}, map[string]map[string]bool{}
	for _, s := range f.runs {
		for k, v := range s.settings {
			if slices.Contains([]string{"p", "data", "seed", "runs", "model"}, k) {
				continue
			}
			if values[k] == nil {
				values[k] = map[string]bool{}
			}
			count[k]++
			values[k][fmt.Sprint(v)] = true
		}
	}
	var out []string
	for k, v := range values {
		if len(v) > 1 {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	return out[:min(most, len(out))]
}

// Print writes a table.
func (f *runsFound) Print(w io.Writer) {
	if len(f.runs) == 0 {
		fmt.Fprintf(w, "none of %s in %s\n", render.Count(f.all, "run"), f.root)
		return
	}
	type column struct {
		title string
		of    func(s *summary) render.Cell
	}
	text := func(of func(s *summary) string) func(s *summary) render.Cell {
		return func(s *summary) render.Cell { return render.Text("%s", of(s)) }
	}
	cell := func(of func(s *summary) number, show func(v float64) render.Cell) func(s *summary) render.Cell {
		return func(s *summary) render.Cell {
			if v := float64(of(s)); v-v == 0 {
				return show(v)
			}
			return render.Text("")
		}
	}
	short := func(v float64) render.Cell { return render.Short(v, 4) }
	shown := func(v any) string {
		if list, ok := v.([]any); ok {
			return strings.Trim(fmt.Sprint(list), "[]")
		}
		return fmt.Sprint(v)
	}
	columns := []column{
		{"run", text(func(s *summary) string { return s.title() })},
		{"tags", text(func(s *summary) string { return strings.Join(s.Tags, " ") })},
		{"command", text(func(s *summary) string { return s.Command })},
		{"data", text(func(s *summary) string { return strings.TrimPrefix(s.Model+" on "+s.Data, " on ") })},
		{"p", text(func(s *summary) string {
			var ps []string
			for _, p := range s.P {
				ps = append(ps, fmt.Sprint(p))
			}
			return strings.Join(ps, " ")
		})},
	}
	for _, k := range f.varying(4) {
		columns = append(columns, column{strings.ReplaceAll(k, "_", " "), text(func(s *summary) string {
			if v, ok := s.settings[k]; ok && v != nil {
				return shown(v)
			}
			return ""
		})})
	}
	columns = append(columns,
		column{"status", text(func(s *summary) string { return s.Status })},
		column{"loss", cell(func(s *summary) number { return s.Loss }, short)},
		column{"accuracy, %", cell(func(s *summary) number { return s.Accuracy },
			func(v float64) render.Cell { return render.Number(100*v, 2) })},
		column{"margin", cell(func(s *summary) number { return s.Margin }, short)},
		column{"seconds", cell(func(s *summary) number { return s.Seconds }, short)},
		column{"note", text(func(s *summary) string {
			first, rest, _ := strings.Cut(s.Note, "\n")
			if letters := []rune(first); len(letters) > 40 {
				return string(letters[:40]) + "…"
			} else if rest != "" {
				return first + " …"
			}
			return first
		})})
	t := render.Table{Left: 2}
	t.Rows = make([][]render.Cell, len(f.runs))
	for k, c := range columns {
		cells := make([]render.Cell, len(f.runs))
		same, empty := true, true
		for i := range f.runs {
			cells[i] = c.of(&f.runs[i])
			same, empty = same && cells[i].Text == cells[0].Text, empty && cells[i].Text == ""
		}
		if empty || same && len(f.runs) > 1 && (c.title == "command" || c.title == "status" && cells[0].Text == runlog.Done) {
			continue
		}
		if k < 2 && k > 0 {
			t.Left = 3
		}
		t.Header = append(t.Header, c.title)
		for i := range cells {
			t.Rows[i] = append(t.Rows[i], cells[i])
		}
	}
	fmt.Fprint(w, t.Text())
	if hidden := f.all - len(f.runs); hidden > 0 {
		fmt.Fprintf(w, "%d of %s in %s\n", len(f.runs), render.Count(f.all, "run"), f.root)
	}
}

// JSON is the list with all settings.
func (f *runsFound) JSON() any {
	type run struct {
		summary
		Settings map[string]any `json:"settings,omitempty"`
	}
	out := make([]run, 0, len(f.runs))
	for _, s := range f.runs {
		out = append(out, run{s, s.settings})
	}
	return map[string]any{"root": f.root, "runs": out}
}

// title is what people call the run, or its folder without the time it began.
func (s *summary) title() string { return cmp.Or(s.Name, s.ID) }

// RunsName is `bregman runs name`.
type RunsName struct {
	Run  string `arg:"" json:"run"`
	Name string `arg:"" json:"name"`
}

// Texts are the words for its settings.
func (*RunsName) Texts() settings.Texts {
	return settings.Texts{About: "Give a run another name; its folder keeps its own.",
		Help: map[string]string{"run": "A run folder.", "name": "What to call it; an empty text for its folder's name."}}
}

// Check returns the first thing wrong with the settings.
func (r *RunsName) Check() error {
	if err := (runlog.About{Name: r.Name}).Check(); err != nil {
		return settings.Errorf("name", "%v", err)
	}
	return nil
}

// Do changes the name.
func (r *RunsName) Do(context.Context, *command.Env) (command.Result, error) {
	return said([]string{r.Run}, func(a *runlog.About) { a.Name = r.Name })
}

// RunsNote is `bregman runs note`.
type RunsNote struct {
	Run  string `arg:"" json:"run"`
	Note string `arg:"" json:"note"`
}

// Texts are the words for its settings.
func (*RunsNote) Texts() settings.Texts {
	return settings.Texts{About: "Write a note on a run.",
		Help: map[string]string{"run": "A run folder.",
			"note": "The note, instead of the one there is; an empty text for none."}}
}

// Check returns the first thing wrong with the settings.
func (r *RunsNote) Check() error {
	if err := (runlog.About{Note: r.Note}).Check(); err != nil {
		return settings.Errorf("note", "%v", err)
	}
	return nil
}

// Do changes the note.
func (r *RunsNote) Do(context.Context, *command.Env) (command.Result, error) {
	return said([]string{r.Run}, func(a *runlog.About) { a.Note = r.Note })
}

// RunsTag is `bregman runs tag`.
type RunsTag struct {
	Words []string `arg:"" name:"run and tag" passthrough:"partial" json:"words"`
}

// Texts are the words for its settings.
func (*RunsTag) Texts() settings.Texts {
	return settings.Texts{About: "Tag runs.",
		Help: map[string]string{"words": "Run folders, then +TAG for each tag to add and -TAG for each to remove."}}
}

// parts are the folders, and the tags to add and to remove.
func (r *RunsTag) parts() (runs, add, remove []string) {
	for _, w := range r.Words {
		if tag, ok := strings.CutPrefix(w, "+"); ok {
			add = append(add, tag)
		} else if tag, ok := strings.CutPrefix(w, "-"); ok {
			remove = append(remove, tag)
		} else {
			runs = append(runs, w)
		}
	}
	return runs, add, remove
}

// Check returns the first thing wrong with the settings.
func (r *RunsTag) Check() error {
	runs, add, remove := r.parts()
	if len(runs) == 0 || len(add)+len(remove) == 0 {
		return settings.Errorf("words", "want run folders and tags: bregman runs tag runs/*-p3-* +paper -draft")
	}
	if err := (runlog.About{Tags: append(slices.Clone(add), remove...)}).Check(); err != nil {
		return settings.Errorf("words", "%v", err)
	}
	return nil
}

// Do changes the tags.
func (r *RunsTag) Do(context.Context, *command.Env) (command.Result, error) {
	runs, add, remove := r.parts()
	return said(runs, func(a *runlog.About) {
		a.Tags = slices.DeleteFunc(append(a.Tags, add...), func(t string) bool { return slices.Contains(remove, t) })
	})
}

// saidOf is what is now said of runs.
type saidOf struct {
	dirs  []string
	about []runlog.About
}

// said changes what is said of runs. Those that cannot be changed are named, the others are changed.
func said(dirs []string, change func(*runlog.About)) (command.Result, error) {
	var out saidOf
	var bad []error
	for _, dir := range dirs {
		var now runlog.About
		if err := runlog.UpdateAbout(dir, func(a *runlog.About) {
			change(a)
			slices.Sort(a.Tags)
			a.Tags = slices.Compact(a.Tags)
			now = *a
		}); err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", dir, err))
			continue
		}
		out.dirs, out.about = append(out.dirs, dir), append(out.about, now)
	}
	return out, errors.Join(bad...)
}

// Print writes a line for each run.
func (s saidOf) Print(w io.Writer) {
	for k, a := range s.about {
		line := cmp.Or(a.Name, filepath.Base(s.dirs[k]))
		if len(a.Tags) > 0 {
			line += "  [" + strings.Join(a.Tags, " ") + "]"
		}
		if a.Note != "" {
			line += "  " + a.Note
		}
		fmt.Fprintln(w, line)
	}
}

// JSON has the runs with what is said of them.
func (s saidOf) JSON() any {
	out := map[string]runlog.About{}
	for k, dir := range s.dirs {
		out[dir] = s.about[k]
	}
	return out
}
