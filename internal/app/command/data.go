package command

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
)

// DataList is `bregman data list`.
type DataList struct {
	Printed
}

// Texts are the words for its settings.
func (*DataList) Texts() settings.Texts {
	return settings.Texts{
		About: "The data sets that have names, and where images are.",
		Help:  map[string]string{},
	}
}

// Help is shown by --help.
func (*DataList) Help() string {
	return `Example:
  bregman data list`
}

// Check finds nothing wrong.
func (*DataList) Check() error { return nil }

// Do lists the data sets that have names.
func (*DataList) Do(context.Context, *Env) (Result, error) { return dataSets{}, nil }

// dataSets are the sets that have names, and where images are.
type dataSets struct{}

func (dataSets) JSON() any {
	type entry struct {
		Name  string `json:"name"`
		About string `json:"about"`
	}
	var out []entry
	for _, b := range dataset.Builtin {
		out = append(out, entry{b.Name, b.About})
	}
	return map[string]any{"sets": out, "images": images.List()}
}

func (dataSets) Print(w io.Writer) {
	fmt.Fprintln(w, "Tables, for fit, margin and path:")
	var seeded []string
	for _, b := range dataset.Builtin {
		fmt.Fprintf(w, "  %-15s %s\n", b.Name, b.About)
		if b.Seeded() {
			seeded = append(seeded, b.Name)
		}
	}
	fmt.Fprintf(w, "%s take a seed: r100:7. ", strings.Join(seeded, ", "))
	fmt.Fprint(w, `Or name a file: svmlight/libsvm text, CSV of numbers and texts,
.npy or .npz with X and y; each also gzipped. "bregman data get r100 --out r100.svm" writes one.

Images, for train:
`)
	for _, i := range images.List() {
		here := "not here: " + i.How
		if i.Here {
			here = i.Where
		}
		fmt.Fprintf(w, "  %-15s %s\n  %-15s %s\n", i.Name, i.About, "", here)
	}
	fmt.Fprintln(w, "Or name a folder with a folder of pictures per class, an npz file with X_train, y_train, X_test, "+
		"y_test,\nor a packed file: \"bregman data pack\" makes one of pictures of any sizes.")
	fmt.Fprintln(w, "For fit they are tables of pixels: fashion-mnist, fashion-mnist:test, or some classes, "+
		"fashion-mnist:test:4,6.")
}

// DataInfo is `bregman data info`.
type DataInfo struct {
	Data string `arg:"" json:"data" file:""`
	Table
	DataDir string `placeholder:"DIR" json:"data_dir,omitempty" role:"place"`
	Sheet   string `placeholder:"FILE" json:"-" role:"output"`
	Verify  bool   `json:"verify,omitempty"`
	Printed

	ZeroBased bool `json:"zero_based,omitempty"`
}

// Texts are the words for its settings.
func (*DataInfo) Texts() settings.Texts {
	return settings.Texts{
		About: "What a data set holds.",
		Help: map[string]string{
			"data":       "A set that data list names, a data file, a folder of images, or a packed file.",
			"data_dir":   "Where image sets are kept.",
			"sheet":      "Images: write a sheet of samples, a PNG file.",
			"verify":     "Packed file: read every picture and check all checksums.",
			"zero_based": "svmlight columns count from 0, not from 1.",
		},
		Known: map[string][]string{"data": append(dataset.BuiltinNames(), images.Names()...)},
	}
}

// Help is shown by --help.
func (*DataInfo) Help() string {
	return `Examples:
  bregman data info train.csv --label class
  bregman data info titanic.csv --label Survived --drop Name,Ticket
  bregman data info fashion-sample --sheet sheet.png
  bregman data info pictures.pack --verify`
}

// Check finds nothing wrong.
func (d *DataInfo) Check() error { return d.CheckTable() }

// Do describes a data set.
func (d *DataInfo) Do(ctx context.Context, env *Env) (Result, error) {
	if d.isImages() {
		s, err := images.Load(d.Data, d.DataDir)
		if err != nil {
			return nil, err
		}
		return d.images(ctx, env, s)
	}
	s, err := dataset.Open(ctx, d.Data, d.Options())
	if err != nil {
		if strings.EqualFold(filepath.Ext(d.Data), ".npz") { // images may be npz, too
			if pictures, err := images.Load(d.Data, d.DataDir); err == nil {
				return d.images(ctx, env, pictures)
			}
		}
		return nil, err
	}
	if d.Sheet != "" {
		return nil, &UsageError{fmt.Errorf("--sheet: %s is a table, which has no pictures", d.Data)}
	}
	return newTableInfo(s), nil
}

// tableInfo is what a table holds.
type tableInfo struct {
	*dataset.Set
	n, d     int
	min, max float64
	counts   map[float64]int // examples by label
}

func newTableInfo(s *dataset.Set) tableInfo {
	t := tableInfo{Set: s, min: math.Inf(1), max: math.Inf(-1), counts: map[float64]int{}}
	t.n, t.d = s.X.Dims()
	for i := range t.n {
		_, val := s.X.Row(i)
		for _, v := range val {
			t.min, t.max = min(t.min, v), max(t.max, v)
		}
	}
	for _, y := range s.Y {
		t.counts[y]++
	}
	return t
}

func (t tableInfo) JSON() any {
	labels := map[string]int{}
	for v, k := range t.counts {
		labels[t.ClassName(v)] = k
	}
	out := map[string]any{"name": t.Name, "n": t.n, "d": t.d, "entries": t.X.NNZ(), "min": t.min, "max": t.max,
		"labels": labels, "row_norm_2": linear.Problem{X: t.X}.RowNorm(2), "hash": t.Hash}
	if len(t.Notes) > 0 {
		out["notes"] = t.Notes
	}
	if t.Indexed {
		out["zero_based"] = t.ZeroBased
	}
	return out
}

func (t tableInfo) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n  %s × %s, %s stored (%.3g %% of the table), from %.6g to %.6g\n", t.Name,
		render.Count(t.n, "example"), render.Count(t.d, "feature"), render.Count(t.X.NNZ(), "value"),
		100*float64(t.X.NNZ())/float64(t.n)/float64(t.d), t.min, t.max)
	if t.Label != "" {
		fmt.Fprintf(w, "  labels in column %q (--label NAME for another)\n", t.Label)
	}
	for _, note := range t.Notes {
		if !strings.HasPrefix(note, "labels are in") { // which was said
			fmt.Fprintf(w, "  %s\n", note)
		}
	}
	switch {
	case t.ZeroBased:
		fmt.Fprintln(w, "  columns counted from 0 (--zero-based)")
	case t.Indexed:
		fmt.Fprintln(w, "  columns counted from 1 (if the file counts from 0, say --zero-based)")
	}
	fmt.Fprintf(w, "  largest row: ‖x‖₂ = %.6g\n", linear.Problem{X: t.X}.RowNorm(2))
	named := t.Encoding != nil && t.Encoding.Classes != nil
	switch classes := t.Classes(); {
	case len(classes) == 1 && named:
		fmt.Fprintf(w, "  one class only, %s\n", t.ClassName(classes[0]))
	case len(classes) == 1:
		fmt.Fprintf(w, "  one label, %v: taken as labels already absorbed\n", classes[0])
	case len(classes) > 20 && !named:
		fmt.Fprintf(w, "  %d different labels from %v to %v: targets of a regression (fit --loss square)\n",
			len(classes), classes[0], classes[len(classes)-1])
	default:
		list := render.Table{Header: []string{"  label", "examples", "share"}}
		for _, c := range classes[:min(len(classes), mostClasses)] {
			list.Rows = append(list.Rows, []render.Cell{render.Text("  %s", t.ClassName(c)), render.Text("%d", t.counts[c]),
				render.Text("%.1f %%", 100*float64(t.counts[c])/float64(t.n))})
		}
		fmt.Fprint(w, list.Text())
		if more := len(classes) - mostClasses; more > 0 {
			fmt.Fprintf(w, "  and %d more\n", more)
		}
	}
	if t.Hash != "" {
		fmt.Fprintf(w, "  %s\n", t.Hash)
	}
}

// isImages reports whether a set can only be one of images: by its name, as a folder or as a packed file.
func (d *DataInfo) isImages() bool {
	if images.Named(d.Data) || images.IsPack(d.Data) {
		return true
	}
	st, err := os.Stat(d.Data)
	return err == nil && st.IsDir()
}

// DataGet is `bregman data get`.
type DataGet struct {
	Data string `arg:"" json:"data" file:""`
	Table
	Out     string `placeholder:"FILE" json:"out" role:"output"`
	DataDir string `placeholder:"DIR" json:"data_dir,omitempty" role:"place"`

	ZeroBased bool `json:"zero_based,omitempty"`
}

// Texts are the words for its settings.
func (*DataGet) Texts() settings.Texts {
	return settings.Texts{
		About: "Fetch a set of images, or write a table as svmlight text.",
		Help: map[string]string{
			"data":       "Image set, built-in table as name or name:seed, or a data file to convert.",
			"out":        "svmlight file to write, gzipped if it ends in .gz; - is standard output.",
			"data_dir":   "Images: where data sets are kept.",
			"zero_based": "svmlight columns count from 0, not from 1.",
		},
		Known: map[string][]string{"data": append(dataset.BuiltinNames(), images.Names()...)},
	}
}

// Help is shown by --help.
func (*DataGet) Help() string {
	return `Examples:
  bregman data get r100:7 --out r100.svm.gz
  bregman data get iris --out iris.svm
  bregman data get cifar10
  bregman data get fashion-sample:4,6 --out coats-and-shirts.svm

Image sets are fetched, checked against their checksums and kept for train. With --out their pixels are written as
svmlight text, as tables are.`
}

// Check finds nothing wrong: what is needed depends on the data.
func (g *DataGet) Check() error {
	ending := strings.ToLower(filepath.Ext(strings.TrimSuffix(g.Out, ".gz")))
	if slices.Contains([]string{".csv", ".tsv", ".npy", ".npz", ".parquet"}, ending) {
		return settings.Errorf("out", "--out %s: svmlight text is written: name it .svm", g.Out)
	}
	return g.CheckTable()
}

// Do fetches an image set, or writes a table as svmlight text.
func (g *DataGet) Do(ctx context.Context, env *Env) (Result, error) {
	if images.Named(g.Data) && g.Out == "" {
		return nil, images.Get(ctx, g.Data, g.DataDir, func(s string) { env.Say("%s", s) })
	}
	name, _, _ := strings.Cut(g.Data, ":")
	_, err := dataset.Generate(g.Data)
	if err != nil && !errors.Is(err, dataset.ErrNotBuiltin) {
		return nil, err
	}
	if _, missing := os.Stat(g.Data); err != nil && !images.Named(name) && g.Data != "-" && missing != nil {
		return nil, fmt.Errorf("%s: no such data set or file: see `bregman data list`", g.Data)
	}
	switch {
	case g.Out == "":
		return nil, &UsageError{errors.New("--out: name the svmlight file to write, or - for standard output")}
	case g.DataDir != "":
		return nil, &UsageError{fmt.Errorf("--data-dir is for images: %s is a table, which goes to --out alone", g.Data)}
	}
	if err := CheckOut(g.Out, Input{"data", g.Data}); err != nil {
		return nil, err
	}
	s, err := dataset.Open(ctx, g.Data, g.Options())
	if err != nil {
		return nil, err
	}
	for _, note := range s.Notes {
		env.Say("%s: %s", s.Name, note)
	}
	if s.Encoding != nil && s.Encoding.Classes != nil {
		var codes []string
		for k, name := range s.Encoding.Classes {
			codes = append(codes, fmt.Sprintf("%s is %d", name, k))
		}
		env.Say("%s: svmlight text has numbers for labels: %s", s.Name, strings.Join(codes, ", "))
	}
	out := svmFile(g.Out, s)
	return written{out}, out.Save()
}

// svmFile is a set as svmlight text, gzipped if the name says so.
func svmFile(path string, s *dataset.Set) File {
	if !strings.HasSuffix(path, ".gz") {
		return File{path, func(w io.Writer) error { return dataset.WriteSVM(w, s) }}
	}
	return File{path, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		return errors.Join(dataset.WriteSVM(z, s), z.Close())
	}}
}

// written is the result of a command that writes a file and prints nothing.
type written struct{ File }

func (written) Print(io.Writer) {}
func (written) JSON() any       { return nil }

// DataSynth is `bregman data synth`.
type DataSynth struct {
	Rows    settings.Count `default:"100000" json:"rows"`
	Cols    settings.Count `default:"50000" json:"cols"`
	Entries settings.Count `default:"50" json:"entries"`
	Digits  int            `default:"4" json:"digits"`
	Seed    uint64         `default:"1" json:"seed"`
	Out     string         `required:"" placeholder:"FILE" json:"out" role:"output"`
}

// Texts are the words for its settings.
func (*DataSynth) Texts() settings.Texts {
	return settings.Texts{
		About: "Make a sparse separable problem of any size.",
		Help: map[string]string{
			"rows":    "Examples.",
			"cols":    "Features.",
			"entries": "Nonzeros in each example.",
			"digits":  "Decimals of the values.",
			"seed":    "Decides everything.",
			"out":     "svmlight file to write, gzipped if it ends in .gz; - is standard output.",
		},
	}
}

// Check returns the first thing wrong with the settings.
func (g *DataSynth) Check() error {
	if g.Rows < 1 || g.Cols < 1 || g.Entries < 1 {
		return settings.Errorf("rows", "--rows %d, --cols %d, --entries %d: want at least 1 of each", g.Rows, g.Cols,
			g.Entries)
	}
	return dataset.Synth{Rows: int(g.Rows), Cols: int(g.Cols), Entries: int(g.Entries), Digits: g.Digits}.Check()
}

// Help is shown by --help.
func (*DataSynth) Help() string {
	return `Example:
  bregman data synth --rows 1e6 --cols 5e4 --out big.svm

A sparse separable problem: the places of an example are uniform without repetition, its values normal of deviation
0.258, rounded, and its label is the sign of its product with a hidden normal vector. The defaults are the problem
that "bregman bench margin" measures.`
}

// Do draws the problem and writes it.
func (g *DataSynth) Do(_ context.Context, env *Env) (Result, error) {
	if err := CheckOut(g.Out); err != nil {
		return nil, err
	}
	s, err := dataset.Synth{Rows: int(g.Rows), Cols: int(g.Cols), Entries: int(g.Entries), Digits: g.Digits,
		Seed: g.Seed}.Make()
	if err != nil {
		return nil, err
	}
	out := svmFile(g.Out, s)
	if err := out.Save(); err != nil {
		return nil, err
	}
	if g.Out != "-" {
		env.Say("%s: %s", g.Out, s.Name)
	}
	return written{out}, nil
}

// Options say how the data are read.
func (d *DataInfo) Options() dataset.Options {
	opt := d.Table.Options()
	opt.ZeroBased = d.ZeroBased
	return opt
}

// Options say how the data are read.
func (g *DataGet) Options() dataset.Options {
	opt := g.Table.Options()
	opt.ZeroBased = g.ZeroBased
	return opt
}
