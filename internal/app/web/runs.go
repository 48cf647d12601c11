package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

	Archive RunsArchive `cmd:""`
	Delete  RunsDelete  `cmd:""`
	Restore RunsRestore `cmd:""`
}

// RunsVerbs are the commands of Runs. Without one of them it is list.
var RunsVerbs = []string{"list", "name", "tag", "note", "archive", "delete", "restore"}

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
			"filter": "Only runs that meet all of these: a word, KEY=VALUE (or < <= > >= !=), tag:WORD, is:archived. A key is " +
				"a setting, such as lr, or loss, accuracy, margin, gap, status, command, data, seed, seconds.",
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
  bregman runs note runs/20261119-101500-train-cnn-p3-s1 'the rate is too small'
  bregman runs archive runs/*-p10-*              left out of lists, but for is:archived
  bregman runs delete runs/*-p10-*               into runs/.trash, which nothing empties
  bregman runs restore runs/.trash/*             and back`
}

// Check returns the first thing wrong with the settings.
func (r *RunsList) Check() error {
	_, err := parseListing(r.Filter)
	return err
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
	l, err := parseListing(r.Filter)
	if err != nil {
		return nil, err
	}
	l.inside, l.sort = r.Inside, r.Sort
	all := (&lister{root: root}).all()
	return &runsFound{root: r.Runs, runs: l.of(all), all: len(all)}, nil
}

// runsFound is the result of runs list.
type runsFound struct {
	root string
	runs []summary
	all  int
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
	keys := varying(f.runs)
	for _, k := range keys[:min(autoColumns, len(keys))] {
		columns = append(columns, column{strings.ReplaceAll(k, "_", " "),
			text(func(s *summary) string { return s.texts[k] })})
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

// RunsArchive is `bregman runs archive`.
type RunsArchive struct {
	Runs []string `arg:"" name:"run" json:"runs"`
	Undo bool     `json:"undo"`
}

// Texts are the words for its settings.
func (*RunsArchive) Texts() settings.Texts {
	return settings.Texts{About: "Leave runs out of lists; is:archived lists them.",
		Help: map[string]string{"runs": "Run folders.", "undo": "List them again."}}
}

// Check finds nothing wrong: folders are looked at when they are changed.
func (*RunsArchive) Check() error { return nil }

// Do changes what is said of them.
func (r *RunsArchive) Do(context.Context, *command.Env) (command.Result, error) {
	return said(r.Runs, func(a *runlog.About) { a.Archived = !r.Undo })
}

// RunsDelete is `bregman runs delete`.
type RunsDelete struct {
	Runs []string `arg:"" name:"run" json:"runs"`
}

// Texts are the words for its settings.
func (*RunsDelete) Texts() settings.Texts {
	return settings.Texts{About: "Move runs into the trash beside them.",
		Help: map[string]string{"runs": "Run folders."}}
}

// Help is shown by --help.
func (*RunsDelete) Help() string {
	return `The trash is the folder .trash beside the runs. Nothing empties it; "bregman runs restore" brings runs back.`
}

// Check finds nothing wrong: folders are looked at when they are moved.
func (*RunsDelete) Check() error { return nil }

// Do moves them.
func (r *RunsDelete) Do(context.Context, *command.Env) (command.Result, error) {
	return move(r.Runs, runlog.Trash)
}

// RunsRestore is `bregman runs restore`.
type RunsRestore struct {
	Runs []string `arg:"" name:"run" json:"runs"`
}

// Texts are the words for its settings.
func (*RunsRestore) Texts() settings.Texts {
	return settings.Texts{About: "Move runs out of the trash.",
		Help: map[string]string{"runs": "Run folders in a folder called .trash."}}
}

// Check finds nothing wrong: folders are looked at when they are moved.
func (*RunsRestore) Check() error { return nil }

// Do moves them.
func (r *RunsRestore) Do(context.Context, *command.Env) (command.Result, error) {
	return move(r.Runs, runlog.Restore)
}

// moved are runs with their new places.
type moved struct{ From, To []string }

// move moves runs. Those that cannot be moved are named, the others are moved.
func move(dirs []string, how func(string) (string, error)) (command.Result, error) {
	var out moved
	var bad []error
	for _, dir := range dirs {
		to, err := how(dir)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		out.From, out.To = append(out.From, dir), append(out.To, to)
	}
	return out, errors.Join(bad...)
}

// Print writes a line for each run.
func (m moved) Print(w io.Writer) {
	for k := range m.To {
		fmt.Fprintf(w, "%s is now %s\n", m.From[k], m.To[k])
	}
}

// JSON has where each run is now.
func (m moved) JSON() any {
	out := map[string]string{}
	for k := range m.To {
		out[m.From[k]] = m.To[k]
	}
	return out
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
