package trials

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/npy"
	"github.com/bregman-ml/bregman/runlog"
)

// Export is `bregman export`: a run's metrics for other programs, or what training runs found, for later.
type Export struct {
	Folders []string `arg:"" name:"run" json:"run"`
	To      string   `required:"" placeholder:"csv|npz|results" json:"to"`
	Out     string   `placeholder:"FILE" json:"out" role:"output"`
}

// Texts are the words for its settings.
func (*Export) Texts() settings.Texts {
	return settings.Texts{
		About: "A run's metrics as csv or npz, or a row of results.",
		Help: map[string]string{
			"run": "Run folder; for results several, or folders of sweeps.",
			"to":  "csv: one row per point; npz: one float64 array per column; results: one row per run, added to a file.",
			"out": "Where it goes; - for standard output. Default metrics.csv, metrics.npz or results.csv.",
		},
		Choices: map[string][]string{
			"to": {"csv", "npz", "results"},
		},
	}
}

// Help is shown by --help.
func (*Export) Help() string {
	return `Examples:
  bregman export runs/20261115-120000-fit-p3-r2-1 --to csv --out - | head
  bregman export runs/20261115-120000-train-cnn-p3-s1 --to npz --out cnn.npz
  bregman export runs/sweep-queue runs/*-train-* --to results --out networks.csv

In Python: m = numpy.load("cnn.npz"); plt.plot(m["epoch"], m["test_accuracy"]). A run of several curves (classes,
several p, the statements of verify, the runs of a sweep) has columns "curve", which numbers them from 0, "name" and
"p". A number that a line lacks is empty in csv and NaN in npz.

Histograms of the weights of a network: in npz "sizes" has a row per point and a column per bin of |w|, from
sizes_edges[k] on, the first from 0; in csv a column sizes_X is the number of weights from X on, up to the next
column's.

--to results adds a row for each run of train that is done or has diverged, and a histogram of its weights to the file
beside it (networks-weights.jsonl). A run that is in the file already is not added again. "bregman report --results
networks.csv" makes tables of it; docs/files.md has the columns.`
}

// Check returns the first thing wrong with the settings.
func (e *Export) Check() error {
	switch {
	case e.To != "results" && len(e.Folders) != 1:
		return settings.Errorf("run", "--to %s takes one run folder, not %d", e.To, len(e.Folders))
	case e.To == "results" && e.Out == "-":
		return settings.Errorf("out", "--out -: rows are added to a file: name one, such as results.csv")
	}
	return nil
}

// exported is the result of export: the file.
type exported struct{ command.File }

var _ command.Result = exported{}

func (exported) Print(io.Writer) {}
func (exported) JSON() any       { return nil }

// Do writes the file.
func (e *Export) Do(_ context.Context, env *command.Env) (command.Result, error) {
	if e.To == "results" {
		return e.addResults(env)
	}
	folder, out := e.Folders[0], e.Out
	if out == "" {
		out = "metrics." + e.To
	}
	if err := command.CheckOut(out, command.Input{Name: "run",
		Path: filepath.Join(folder, "metrics.jsonl")}); err != nil {
		return nil, err
	}
	f, err := runlog.OpenFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("%w: name a run folder, such as those in runs/", err)
	}
	defer f.Close()
	log, err := f.Log()
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a run folder: it has no metrics.jsonl", folder)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	if log.Bad > 0 {
		env.Say("%s: %s skipped: %s", folder, render.Count(log.Bad, "line"), log.Why)
	}
	var b bytes.Buffer
	if err := Write(&b, log, e.To); err != nil {
		return nil, err
	}
	file := command.NewFile(out, b.Bytes())
	if err := file.Save(); err != nil {
		return nil, err
	}
	if out != "-" {
		env.Say("%s of %s in %s", render.Count(log.Len(), "point"), filepath.Base(folder), out)
	}
	return exported{file}, nil
}

// Write writes the metrics as "csv" or "npz".
func Write(w io.Writer, log *runlog.Log, to string) error {
	columns := table(log)
	switch to {
	case "csv":
		return writeCSV(w, columns)
	case "npz":
		return writeNPZ(w, columns)
	}
	return fmt.Errorf("%q: choose csv or npz", to)
}

// column is a column of an export, of numbers, of words, or of a row of numbers each.
type column struct {
	name   string
	values []float64
	texts  []string
	rows   [][]float64
	edges  []float64 // of rows
}

// table joins the curves of a log, one below the other.
func table(log *runlog.Log) []column {
	var names []string
	for _, c := range log.Curves {
		for _, n := range c.Names {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	var out []column
	if len(log.Curves) > 1 {
		names = slices.DeleteFunc(names, func(n string) bool { return n == "curve" || n == "name" || n == "p" })
		curve, name, p := column{name: "curve"}, column{name: "name"}, column{name: "p"}
		for k, c := range log.Curves {
			curve.values = append(curve.values, slices.Repeat([]float64{float64(k)}, c.Rows)...)
			name.texts = append(name.texts, slices.Repeat([]string{c.Name}, c.Rows)...)
			p.values = append(p.values, slices.Repeat([]float64{c.P}, c.Rows)...)
		}
		out = append(out, curve, name, p)
	}
	for _, n := range names {
		col := column{name: n}
		for _, c := range log.Curves {
			col.values = append(col.values, c.Column(n)...)
		}
		out = append(out, col)
	}
	if sizes, ok := sizesColumn(log); ok {
		out = append(out, sizes)
	}
	return out
}

// maxCells is a hundred times what a run of many thousand epochs has: it keeps a malicious folder from filling the
// memory.
const maxCells = 1e7

// sizesColumn converts the histograms of all points to the same bins.
func sizesColumn(log *runlog.Log) (column, bool) {
	lo, hi, many := math.Inf(1), math.Inf(-1), 0
	for _, c := range log.Curves {
		many += len(c.Sizes)
		for _, s := range c.Sizes {
			lo, hi = min(lo, s.From), max(hi, s.From+float64(len(s.Counts))/2)
		}
	}
	if !(lo < hi) {
		return column{}, false
	}
	bins := 1 + int(math.Ceil(2*(hi-lo)))
	if many*bins > maxCells {
		return column{}, false
	}
	col := column{name: "sizes", edges: []float64{0}}
	for k := range bins - 1 {
		col.edges = append(col.edges, math.Exp2(lo+float64(k)/2))
	}
	none := slices.Repeat([]float64{math.NaN()}, bins)
	for _, c := range log.Curves {
		first := len(col.rows)
		col.rows = append(col.rows, slices.Repeat([][]float64{none}, c.Rows)...)
		for _, s := range c.Sizes {
			row := make([]float64, bins)
			col.rows[first+s.Index] = row
			row[0] = float64(s.Below)
			for k, n := range s.Counts {
				row[min(bins-1, 1+int(2*(s.From-lo))+k)] += float64(n)
			}
		}
	}
	return col, true
}

// rank sorts the columns that curves are drawn over first.
func rank(name string) int {
	if k := slices.Index([]string{"step", "epoch", "b"}, name); k >= 0 {
		return k
	}
	return 3
}

func writeCSV(w io.Writer, columns []column) error {
	out := csv.NewWriter(w)
	var header []string
	length := 0
	for _, c := range columns {
		length = max(length, len(c.values), len(c.texts), len(c.rows))
		if c.rows == nil {
			header = append(header, c.name)
		}
		for _, e := range c.edges {
			header = append(header, fmt.Sprintf("%s_%.6g", c.name, e))
		}
	}
	out.Write(header)
	for i := range length {
		var record []string
		number := func(v float64) {
			text := ""
			if !math.IsNaN(v) {
				text = strconv.FormatFloat(v, 'g', -1, 64)
			}
			record = append(record, text)
		}
		for _, c := range columns {
			switch {
			case c.texts != nil:
				record = append(record, c.texts[i])
			case c.rows != nil:
				for _, v := range c.rows[i] {
					number(v)
				}
			default:
				number(c.values[i])
			}
		}
		out.Write(record)
	}
	out.Flush()
	return out.Error()
}

// writeNPZ writes one array a column.
func writeNPZ(w io.Writer, columns []column) error {
	z := npy.NewWriter(w)
	for _, c := range columns {
		var err error
		switch {
		case c.texts != nil:
			err = z.Add(c.name, npy.Texts(c.texts))
		case c.rows != nil:
			err = errors.Join(z.Add(c.name, npy.Floats(slices.Concat(c.rows...), len(c.rows), len(c.edges))),
				z.Add(c.name+"_edges", npy.Floats(c.edges, len(c.edges))))
		default:
			err = z.Add(c.name, npy.Floats(c.values, len(c.values)))
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}
