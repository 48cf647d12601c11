// Package trials reads runs back and computes with them: what differs in their settings, curves grouped by everything
// but the seed, means, deviations, paired tests, and grids by p. It draws nothing. It also writes a run's numbers for
// other programs.
package trials

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// Run is a run folder as it was read. Trouble says what could not be read, and has the warnings of the run.
type Run struct {
	ID       string // its name, or its path below the folder of runs
	Info     runlog.Info
	Status   string // as in Info, or runlog.Killed
	Settings map[string]any
	Log      *runlog.Log
	Result   map[string]any // tables/result.json
	Study    *train.Study   // of a network
	Model    *fit.Model     // of a fit
	Trouble  []string
}

// Files of a run are read up to these sizes.
const (
	maxResult = 1 << 20
	maxStudy  = 8 << 20
	maxModel  = 16 << 20
)

// Read reads a run folder. It is an error only if run.json cannot be read.
func Read(f *runlog.Folder, id string) (*Run, error) {
	r, err := ReadHead(f, id)
	if err != nil {
		return nil, err
	}
	if r.Log, err = f.Log(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.trouble(err)
	}
	if r.Log.Bad > 0 {
		r.Trouble = append(r.Trouble, fmt.Sprintf("%s (%d such lines)", r.Log.Why, r.Log.Bad))
	}
	return r, nil
}

// ReadHead reads all but the metrics.
func ReadHead(f *runlog.Folder, id string) (*Run, error) {
	r := &Run{ID: id, Log: &runlog.Log{}}
	var err error
	if r.Info, err = f.Info(); err != nil {
		return nil, err
	}
	r.Status = f.Status(r.Info)
	r.Trouble = append(r.Trouble, r.Info.Warnings...)
	r.Settings, _ = r.Info.Settings.(map[string]any)
	optional := func(name string, limit int64, v any) bool {
		err := f.ReadJSON(name, limit, v)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.trouble(err)
		}
		return err == nil
	}
	optional("tables/result.json", maxResult, &r.Result)
	if text, ok := r.Result["warning"].(string); ok && text != "" {
		r.Trouble = append(r.Trouble, text)
	}
	if s := new(train.Study); optional("tables/study.json", maxStudy, s) {
		r.Study = s
	}
	if data, err := f.ReadFile("model.json", maxModel); err == nil {
		if m, err := fit.DecodeModel(data); err == nil {
			r.Model = &m
		} else {
			r.trouble(err)
		}
	}
	return r, nil
}

func (r *Run) trouble(err error) { r.Trouble = append(r.Trouble, err.Error()) }

// Name is the last part of the ID.
func (r *Run) Name() string { return r.ID[strings.LastIndexByte(r.ID, '/')+1:] }

// P returns the p of the run, or the one that cross-validation chose; NaN if it has none or several.
func (r *Run) P() float64 {
	ps := Ps(r.Settings)
	if len(ps) != 1 {
		ps = Ps(r.Result)
	}
	if len(ps) != 1 {
		return math.NaN()
	}
	return ps[0]
}

// Ps returns the p of a run's settings, or of its result.
func Ps(settings map[string]any) []float64 {
	all, ok := settings["p"].([]any)
	if !ok {
		all = []any{settings["p"]}
	}
	var out []float64
	for _, e := range all {
		switch p := e.(type) {
		case float64:
			out = append(out, p)
		case string: // JSON has no infinity
			if v, err := strconv.ParseFloat(p, 64); err == nil {
				out = append(out, v)
			}
		}
	}
	return out
}

// Number is a number of the result, NaN if there is none.
func (r *Run) Number(name string) float64 {
	if v, ok := r.Result[name].(float64); ok {
		return v
	}
	return math.NaN()
}

// ListColumn is a number of a run for lists of runs: the first of these names that its result has. Only a fit or a
// training that has no result yet shows the end of its curve: the two are not of the same weights, as a fit may scale
// those of its model to margin 1.
type ListColumn struct {
	Title string
	Names []string
	Scale float64
}

// ListColumns are those numbers.
var ListColumns = []ListColumn{
	{"loss", []string{"train_loss", "loss"}, 1},
	// of test images or examples if there are some, else of what cross-validation held out
	{"accuracy, %", []string{"test_accuracy", "validation_accuracy",
		"held_out_accuracy", "train_accuracy", "accuracy"}, 100},
	{"margin", []string{"margin"}, 1},
	{"gap", []string{"gap"}, 1},
}

// Listed returns it, NaN if the run has none.
func (r *Run) Listed(o ListColumn) float64 {
	of := r.Number
	if r.Result == nil && r.OneLine() {
		of = r.Last
	}
	for _, n := range o.Names {
		if v := of(n); v-v == 0 {
			return v
		}
	}
	return math.NaN()
}

// OneLine reports whether the last line of metrics says how the run stands; the last line of other commands is one of
// many. "gomlx" is the command of package looplog.
func (r *Run) OneLine() bool {
	return slices.Contains([]string{"fit", "train", "gomlx"}, r.Info.Command)
}

// Last is the last number of a column of the metrics, over all curves.
func (r *Run) Last(name string) float64 {
	for _, c := range slices.Backward(r.Log.Curves) {
		col := c.Column(name)
		for _, v := range slices.Backward(col) {
			if v-v == 0 {
				return v
			}
		}
	}
	return math.NaN()
}

// Seconds is how long it ran. It is NaN for a run without an end, or with one before its start: the clock was changed.
func (r *Run) Seconds() float64 {
	if r.Info.Finished.IsZero() || r.Info.Finished.Before(r.Info.Started) {
		return math.NaN()
	}
	return r.Info.Finished.Sub(r.Info.Started).Seconds()
}

// Fit returns the settings of a fit.
func (r *Run) Fit() (f linearmodel.Fit, ok bool) {
	data, err := json.Marshal(r.Settings)
	return f, err == nil && r.Info.Command == "fit" && json.Unmarshal(data, &f) == nil
}

// SettingText formats a setting as on the command line.
func SettingText(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case string:
		return v
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, SettingText(e))
		}
		return strings.Join(parts, ", ")
	case float64:
		if v != 0 && math.Abs(v) < 1e-4 {
			return strconv.FormatFloat(v, 'g', -1, 64) // without trailing zeros
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// Difference is a setting that is not the same in all runs.
type Difference struct {
	Name   string   `json:"name"`
	Values []string `json:"values"` // one per run
}

// Differences returns the settings that differ, p and seed first, then by name. Settings that say where it ran, not
// what, are skipped; of runs of several commands only the settings that all of them have are compared.
func Differences(runs []*Run) []Difference {
	names := map[string]bool{}
	for _, r := range runs {
		for n := range r.Settings {
			names[n] = true
		}
	}
	var out []Difference
	add := func(name string, of func(*Run) string) {
		d := Difference{Name: name}
		for _, r := range runs {
			d.Values = append(d.Values, of(r))
		}
		if len(slices.Compact(slices.Clone(d.Values))) > 1 {
			out = append(out, d)
		}
	}
	add("command", func(r *Run) string { return r.Info.Command })
	mixed := slices.ContainsFunc(runs, func(r *Run) bool { return r.Info.Command != runs[0].Info.Command })
	for n := range names {
		// another engine may round differently
		if role := kinds.Role(n); role == settings.Output || role == settings.Place && n != "engine" {
			continue
		}
		if mixed && slices.ContainsFunc(runs, func(r *Run) bool { _, has := r.Settings[n]; return !has }) {
			continue
		}
		add(n, func(r *Run) string { return SettingText(r.Settings[n]) })
	}
	add("version", func(r *Run) string { return r.Info.Version })
	add("engine used", func(r *Run) string { return r.Info.Engine })
	rank := func(d Difference) int {
		if k := slices.Index([]string{"command", "model", "data", "p", "lr", "seed"}, d.Name); k >= 0 {
			return k
		}
		return 100
	}
	slices.SortStableFunc(out, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Name, b.Name))
	})
	return out
}
