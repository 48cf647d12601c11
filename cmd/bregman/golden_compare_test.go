package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

// How close numbers are. The kernels for AVX2 and for AVX-512 have the same bits, on any number of cores: that is what
// -golden.exact checks. The tolerances allow for another version of Go that rounds differently: linear fits are in
// float64, with errors below 1e-9 over all steps, networks are in float32.
const (
	linearRel, linearAbs   = 1e-9, 1e-9
	networkRel, networkAbs = 1e-4, 1e-4
)

// sameKernels reports whether this machine has the kernels that wrote the golden files. Others round differently, and
// an accelerated fit amplifies the difference to other digits and another number of steps. Then only keys are compared.
var sameKernels = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// ignoredKeys are those whose values depend on the machine, the moment or the version, or are prose: in JSON, and as
// columns of CSV. The keys must be there. One that begins with "$." counts at the top of a document only.
var ignoredKeys = map[string]bool{
	// Times.
	"seconds": true, "total_seconds": true, "img_per_second": true, "elapsed": true, "started": true, "finished": true,
	"img/s": true,
	// The version, the machine and the place.
	"version": true, "machine": true, "root": true, "Where": true, "Here": true, "data_dir": true,
	"$.id":   true,               // of a plan: the version is in it
	"offset": true, "size": true, // of files with times in them
	// Where a rounding error is largest.
	"worst": true, "worst case": true,
	// Prose, which may be improved.
	"About": true, "How": true, "about": true, "claim": true, "quantity": true, "slip": true, "help": true, "error": true,
}

// addedKeys are those that came after 67def19, in JSON that it wrote too.
var addedKeys = map[string]bool{
	"data_hash": true, // run.json: also of built-in data
	"separable": true, // the result of fit: whether that is proved
	"none":      true, // the result of fit: why the margin is soft
	"label":     true, // the result of fit: the column of labels
	"trials":    true, // a group of /api/compare
}

// newKeys are those that came after both sets.
var newKeys = map[string]bool{
	"results_version":  true, // a plan: what programs must share to work on it
	"claims":           true, // reproduce linear: what the paper says of its tables, counted
	"regression_moved": true, // reproduce linear: the regressions from w₀ ≠ 0
	"stiffness":        true, // a regression: why a constant step is too slow
	"decades":          true, // reproduce linear: its settings for the plane, and its rates
	"planes":           true,
	"reading":          true,
	"recalibrated":     true, // a study: accuracies with recomputed statistics of batch norm
	"rounded_channels": true, // and with a scale per channel
	"memory":           true, // doctor: how much there is, and what fits
	"rates":            true,

	"error":      true, // a mean: its standard error
	"bold":       true, // a sweep's cell: not significantly worse than the best
	"paired":     true, // a difference: over the seeds that both have
	"statements": true, // reproduce cifar10: what the paper says

	"objective":  true, // fit: what it looks for; a margin in both sets
	"multiclass": true, "class_weight": true, "missing": true, "classes": true, "train_r2": true,
	"effects": true, "scale": true, "encoding": true, "quality": true, "notes": true,
	"test": true, "test_log_loss": true, "test_auc": true, "test_r2": true, "test_rmse": true,
}

// newAPIKeys are those of the dashboard's API that came after both sets.
var newAPIKeys = map[string]bool{
	"title": true, "left": true, "label": true, "from": true, "archived": true, "best": true, // of a run in the list
	"allow_run": true, "chips": true, "lead": true, "sweep": true, "ended": true, "resume": true, // of a run's page
	"explain": true, "axes": true, "at": true, // of metrics and curves
	"final": true, "by": true, "can_group": true, // of a comparison
}

// renewed is about the regressions, which were run for fewer p and are run for all now, about Figure 1 in numbers,
// which has two models of the rate: its curves are in other files, too; and about the tests of a study, which are more.
var (
	// renewedParts are the elements of lists, or lines, that are not compared: by their experiment or name.
	renewedParts = regexp.MustCompile(`^(regression|regression-moved)$`)
	// renewedKeys have other values: only their keys are compared.
	renewedKeys = map[string]bool{"$.regression": true, "$.sets": true, "$.evaluations": true}
	// renewedFiles have other rows.
	renewedFiles = map[string]bool{
		"reproduce-linear/regression.csv":       true,
		"reproduce-linear/regression_moved.csv": true,
		"reproduce-linear/figure1.csv":          true,
	}
)

// newFiles are those that came after both sets: the statements of reproduce cifar10, the largest margins of a path, for
// its page, the claims and rates of reproduce linear, what a fit says of features and classes, a study's levels with
// recomputed statistics or with a scale per channel; its roundings have a figure of their own; what predict needs to
// know of a network's pictures, and the answers to its test images; single steps, and the load of the machine.
var newFiles = regexp.MustCompile(`-path-[^/]*/tables/result\.json$|-reproduce-linear/(tables|figures)/(rates|claims)|` +
	`-fit-[^/]*/(tables|figures)/(effects|quality|confusion|classes)|-reproduce-cifar10/tables/[^/]*statements|` +
	`/figures/(cnn_)?rounding\.|/(tables|figures)/(cnn_)?(rounding_channels|\w+_recomputed)|` +
	`/preprocessing\.json$|/(steps|machine)\.jsonl$|/tables/answers\.json$|/(tables|figures)/(confusion|confused|classes)\.`)

// newLines are lines of metrics that came after both sets: the descents for the rates.
var newLines = regexp.MustCompile(`"experiment":"rates"`)

// droppedKeys are those that 67def19 wrote and today's program does not.
var droppedKeys = map[string]bool{
	"out": true, // run.json of a sweep's run: in a folder that is renamed once the run is done
}

// changedKeys have other values than with 67def19.
var changedKeys = map[string]bool{
	"iterations": true, "nonzero": true, "weight": true, // of the exact solver, which has changed
	"norms":       true, // of exact limits, by that solver
	"evaluations": true, // of a study: how they are counted
	"name":        true, // of a statement: its number in the paper
	"statement":   true,
	"fields":      true, // of a form: a setting was added
}

// changedFiles have other numbers or words than with 67def19.
var changedFiles = map[string]bool{
	"reproduce-linear/exact.csv":          true, // as the norms above
	"reproduce-linear/relative_exact.csv": true,
	"api/weights-fit":                     true, // another choice of points
}

// comparison compares the output and the files of the program under test with golden files.
type comparison struct {
	t        *testing.T
	set      string
	name     string // of the case
	at       string // the file
	rel, abs float64
	shape    bool // keys only
	resumed  bool // the run was resumed: run.json has it
	faults   int
}

// fault reports a difference, of which the first few are enough.
func (c *comparison) fault(format string, args ...any) {
	c.t.Helper()
	if c.faults++; c.faults <= 8 {
		c.t.Errorf("%s: %s", c.at, fmt.Sprintf(format, args...))
	}
}

// dated is the date and time in the name of a run folder.
var dated = regexp.MustCompile(`\d{8}-\d{6}-`)

// undated is a text with all such dates the same, as in the golden files.
func undated(text string) string { return dated.ReplaceAllString(text, "20260101-000000-") }

// dataFolder is where the golden commands find their data.
var dataFolder = regexp.MustCompile(`^(/.*|OUT|\.\.)/data/`)

// plain is a text without dates and absolute paths.
func plain(text string) string { return dataFolder.ReplaceAllString(undated(text), "data/") }

// found is a file, in whose path the date may be another.
func (c *comparison) found(dir, name string) string {
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		return filepath.Join(dir, name)
	}
	pattern := strings.ReplaceAll(name, "20260101-000000-", "[0-9]*-[0-9]*-")
	all, _ := filepath.Glob(filepath.Join(dir, pattern))
	if len(all) != 1 {
		c.fault("%d such files", len(all))
		return ""
	}
	return all[0]
}

// folders compares every file of a golden case with that of the program under test.
func (c *comparison) folders(got, want string) {
	c.t.Helper()
	err := filepath.WalkDir(want, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(want, file)
		if err != nil || name == "args" || name == "files.txt" || strings.Contains(name, "checkpoints") {
			return err
		}
		if file := c.name + "/" + filepath.Base(name); renewedFiles[file] || c.old() && changedFiles[file] {
			return nil
		}
		c.at, c.faults = name, 0
		mine := c.found(got, name)
		if mine == "" {
			return nil
		}
		g, err := os.ReadFile(mine)
		if err != nil {
			return err
		}
		w, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		switch ext := filepath.Ext(name); {
		case ext == ".jsonl":
			c.lines(g, w)
		case ext == ".csv", name == "stdout" && !bytes.HasPrefix(w, []byte("{")):
			c.csv(g, w)
		case ext == ".json", name == "stdout":
			c.json(g, w)
		case !*goldenExact || c.old(): // weights: their norms are in the metrics
		case !bytes.Equal(g, w):
			c.fault("differs")
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// lines compares files of one JSON object a line.
func (c *comparison) lines(got, want []byte) {
	c.t.Helper()
	g, w := bytes.Split(bytes.TrimSpace(got), []byte("\n")), bytes.Split(bytes.TrimSpace(want), []byte("\n"))
	g = slices.DeleteFunc(g, newLines.Match)
	if c.resumed && len(g) == len(w)+1 {
		g = dropOne(g, w, stepOf)
	}
	renewed := func(line []byte) bool {
		var l any
		json.Unmarshal(line, &l) // else it is compared as it stands
		return isRenewed(l)
	}
	g, w = slices.DeleteFunc(g, renewed), slices.DeleteFunc(w, renewed)
	if c.shape {
		g, w = g[:min(len(g), len(w))], w[:min(len(g), len(w))]
	}
	if len(g) != len(w) {
		c.fault("%d lines, want %d", len(g), len(w))
		return
	}
	if c.name == "reproduce-linear" { // its fits end in any order
		slices.SortStableFunc(g, byLabels)
		slices.SortStableFunc(w, byLabels)
	}
	for i := range g {
		if len(g[i])+len(w[i]) > 0 {
			c.json(g[i], w[i])
		}
	}
}

// isRenewed reports whether an element of a list, or a line, is not compared.
func isRenewed(v any) bool {
	part, _ := v.(map[string]any)
	for _, key := range []string{"experiment", "name"} {
		if name, ok := part[key].(string); ok && renewedParts.MatchString(name) {
			return true
		}
	}
	return false
}

// stepOf is the step that a line of metrics is of, -1 if it has none.
func stepOf(line []byte) int {
	l := struct{ Step int }{-1}
	json.Unmarshal(line, &l) // else it is compared as it stands
	return l.Step
}

// dropOne removes the point of the step at which a fit was interrupted: it stays in the trace.
func dropOne[T any](got, want []T, step func(T) int) []T {
	for i := range got {
		at := step(got[i])
		if at >= 0 && !slices.ContainsFunc(want, func(w T) bool { return step(w) == at }) {
			return slices.Delete(slices.Clone(got), i, i+1)
		}
	}
	return got
}

// byLabels orders lines by what they are of, not by what was measured.
func byLabels(a, b []byte) int {
	label := func(line []byte) string {
		var l struct {
			Experiment, Start string
			P                 float64
			Seed              int
		}
		json.Unmarshal(line, &l) // else it is compared as it stands
		return fmt.Sprintf("%s %s %g %d", l.Experiment, l.Start, l.P, l.Seed)
	}
	return strings.Compare(label(a), label(b))
}

// json compares two documents: keys, numbers and texts.
func (c *comparison) json(got, want []byte) {
	c.t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		c.fault("%v in %.200s", err, got)
		return
	}
	if err := json.Unmarshal(want, &w); err != nil {
		c.t.Fatal(err)
	}
	c.value("$", g, w)
}

func (c *comparison) value(at string, got, want any) {
	c.t.Helper()
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			c.fault("%s: not an object", at)
			return
		}
		c.object(at, got, want)
	case []any:
		got, ok := got.([]any)
		got, want = slices.DeleteFunc(got, isRenewed), slices.DeleteFunc(want, isRenewed)
		if !ok || len(got) != len(want) && !c.shape {
			c.fault("%s: %d elements, want %d", at, len(got), len(want))
			return
		}
		for i := range min(len(got), len(want)) {
			c.value(fmt.Sprintf("%s[%d]", at, i), got[i], want[i])
		}
	case float64:
		if got, ok := got.(float64); !c.shape && (!ok || !c.close(got, want)) {
			c.fault("%s: %v, want %v", at, got, want)
		}
	case string:
		if got, ok := got.(string); !c.shape && (!ok || plain(got) != plain(want)) {
			c.fault("%s: %q, want %q", at, got, want)
		}
	default:
		if !c.shape && got != want {
			c.fault("%s: %v, want %v", at, got, want)
		}
	}
}

func (c *comparison) object(at string, got, want map[string]any) {
	c.t.Helper()
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok && !c.mayAdd(key) {
			c.fault("%s: a new key %s", at, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[key]
		if !ok && c.old() && droppedKeys[key] {
			continue
		}
		if !ok {
			c.fault("%s: no key %s", at, key)
		} else if !ignoredKeys[key] && !ignoredKeys[at+"."+key] && !(c.old() && changedKeys[key]) {
			part := *c
			part.shape = c.shape || renewedKeys[at+"."+key]
			part.value(at+"."+key, g, want[key])
			c.faults = part.faults
		}
	}
}

// old reports whether the golden files are from a program without some of today's keys.
func (c *comparison) old() bool { return c.set != goldenLast }

// mayAdd reports whether there may be a key that the golden file lacks.
func (c *comparison) mayAdd(key string) bool {
	return newKeys[key] || strings.HasPrefix(c.at, "api/") && newAPIKeys[key] || c.old() && addedKeys[key] ||
		c.resumed && filepath.Base(c.at) == "run.json" && key == "resumed"
}

// close reports whether two numbers are the same, or as close as on another machine.
func (c *comparison) close(got, want float64) bool {
	if *goldenExact && !c.old() {
		return got == want
	}
	return math.Abs(got-want) <= c.abs+c.rel*math.Max(math.Abs(got), math.Abs(want))
}

// csv compares tables by their cells.
func (c *comparison) csv(got, want []byte) {
	c.t.Helper()
	g, err := csv.NewReader(bytes.NewReader(got)).ReadAll()
	if err != nil {
		c.fault("%v", err)
		return
	}
	w, err := csv.NewReader(bytes.NewReader(want)).ReadAll()
	if err != nil {
		c.t.Fatal(err)
	}
	if c.resumed && len(g) == len(w)+1 {
		column := slices.Index(w[0], "step")
		g = dropOne(g, w, func(row []string) int {
			if column < 0 {
				return -1
			}
			n, err := strconv.Atoi(row[column])
			if err != nil {
				return -1
			}
			return n
		})
	}
	if c.shape {
		g, w = g[:min(1, len(g))], w[:min(1, len(w))]
	}
	if len(g) > 0 && len(w) > 0 {
		// behind the columns of both sets there may be the errors of means and their numbers of runs
		if n := len(w[0]); len(g[0]) > n && strings.HasSuffix(g[0][n], ", standard error") {
			for i := range g {
				g[i] = g[i][:n]
			}
		}
	}
	if len(g) != len(w) || len(g) > 0 && !slices.Equal(g[0], w[0]) {
		c.fault("%d rows of %q, want %d of %q", len(g), g[:min(1, len(g))], len(w), w[:min(1, len(w))])
		return
	}
	for i := range w {
		for k := range w[i] {
			if ignoredKeys[w[0][k]] || c.old() && changedKeys[w[0][k]] || plain(g[i][k]) == plain(w[i][k]) {
				continue
			}
			if w[0][k] == "gap" && g[i][k] == "" && w[i][k] == "+Inf" {
				continue // JSON has no infinity, and the page is made from metrics.jsonl: no gap is none
			}
			a, errA := strconv.ParseFloat(g[i][k], 64)
			b, errB := strconv.ParseFloat(w[i][k], 64)
			if errA != nil || errB != nil || !c.close(a, b) {
				c.fault("row %d, %s: %q, want %q", i, w[0][k], g[i][k], w[i][k])
			}
		}
	}
}

// sameFiles compares the names of all files that a command wrote with those recorded.
func sameFiles(t *testing.T, got, want string) {
	t.Helper()
	var names []string
	err := filepath.WalkDir(got, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == "queue" { // of the NATS server
			return filepath.SkipDir
		}
		name, err := filepath.Rel(got, file)
		if err == nil && !e.IsDir() && !slices.Contains([]string{"args", "stdout", "files.txt"}, name) {
			names = append(names, undated(filepath.ToSlash(name)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile(filepath.Join(want, "files.txt"))
	if err != nil {
		t.Fatal(err)
	}
	g, w := certain(names), certain(strings.Fields(string(recorded)))
	for _, name := range g {
		if !slices.Contains(w, name) && !newFiles.MatchString(name) {
			t.Errorf("a new file %s", name)
		}
	}
	for _, name := range w {
		if !slices.Contains(g, name) {
			t.Errorf("no file %s", name)
		}
	}
}

// certain are the names that do not depend on time. Checkpoints during a run are written as time passes.
func certain(names []string) []string {
	var out []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		name = regexp.MustCompile(`events\.out\.tfevents.*`).ReplaceAllString(name, "events.out.tfevents")
		dir, file := path.Split(name)
		if file == "fit.safetensors" {
			continue
		}
		if n := len(out); n > 0 && path.Base(dir) == "checkpoints" && path.Dir(out[n-1]) == path.Clean(dir) {
			out = out[:n-1] // only the last one is certain
		}
		out = append(out, name)
	}
	return out
}
