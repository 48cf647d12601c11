package command

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/runlog"
)

// builtin are the data sets that come with the program: name, or name:seed.
var builtin = []struct {
	name, about string
	make        func(seed uint64) *dataset.Set
}{
	{"r2", "15 points in R², the paper's Figure 1 (0.15 read as a deviation)", func(s uint64) *dataset.Set { return dataset.R2(s, dataset.Deviation) }},
	{"r2var", "the same with 0.15 read as a variance: not always separable", func(s uint64) *dataset.Set { return dataset.R2(s, dataset.Variance) }},
	{"r100", "15 sparse points in R¹⁰⁰, the paper's tables", dataset.R100},
}

// DataList is `bregman data list`.
type DataList struct {
	JSON bool `kong:"name='json',help='Print JSON.'" json:"-"`
}

// Help is shown by --help.
func (*DataList) Help() string {
	return `Example:
  bregman data list`
}

// Run prints the built-in data sets and the file formats.
func (l *DataList) Run(con *Console) error {
	if l.JSON {
		type entry struct {
			Name  string `json:"name"`
			About string `json:"about"`
		}
		var out []entry
		for _, b := range builtin {
			out = append(out, entry{b.name, b.about})
		}
		return con.PrintJSON(map[string]any{"sets": out, "images": images.List()})
	}
	fmt.Fprintln(con.Out, "Tables, for fit, margin and path:")
	for _, b := range builtin {
		fmt.Fprintf(con.Out, "  %-15s %s\n", b.name, b.about)
	}
	fmt.Fprint(con.Out, `Each takes a seed: r100:7. Or name a file: svmlight/libsvm text, CSV with a header,
.npy or .npz with X and y; each also gzipped. "bregman data get r100 --out r100.svm" writes one.

Images, for train:
`)
	for _, i := range images.List() {
		here := "not here: " + i.How
		if i.Here {
			here = i.Where
		}
		fmt.Fprintf(con.Out, "  %-15s %s\n  %-15s %s\n", i.Name, i.About, "", here)
	}
	fmt.Fprintln(con.Out, "Or name a folder with a folder of pictures per class, or an npz file with X_train, y_train, X_test, y_test.")
	fmt.Fprintln(con.Out, "For fit they are tables of pixels: fashion-mnist, fashion-mnist:test, or some classes, fashion-mnist:test:4,6.")
	return nil
}

// DataInfo is `bregman data info`.
type DataInfo struct {
	Data    string `kong:"arg,help='A set that data list names, a data file, or a folder of images.'" json:"data"`
	Label   string `kong:"help='CSV column with the labels.',placeholder='NAME'" json:"label,omitempty"`
	DataDir string `kong:"placeholder='DIR',help='Where image sets are kept.'" json:"data_dir,omitempty"`
	JSON    bool   `kong:"name='json',help='Print JSON.'" json:"-"`

	ZeroBased bool `kong:"help='svmlight columns count from 0, not from 1.'" json:"zero_based,omitempty"`
}

// Help is shown by --help.
func (*DataInfo) Help() string {
	return `Examples:
  bregman data info train.csv --label class
  bregman data info fashion-sample`
}

// Run prints what a data set holds.
func (d *DataInfo) Run(ctx context.Context, con *Console) error {
	if d.isImages() {
		s, err := images.Load(d.Data, d.DataDir)
		if err != nil {
			return err
		}
		return d.describe(con, s)
	}
	s, err := Load(ctx, d.Data, dataset.Options{Label: d.Label, ZeroBased: d.ZeroBased})
	if err != nil {
		if strings.EqualFold(filepath.Ext(d.Data), ".npz") { // images come so too
			if pictures, err := images.Load(d.Data, d.DataDir); err == nil {
				return d.describe(con, pictures)
			}
		}
		return err
	}
	n, dim := s.X.Dims()
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range n {
		_, val := s.X.Row(i)
		for _, v := range val {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	counts := map[float64]int{}
	for _, y := range s.Y {
		counts[y]++
	}
	classes := s.Classes()
	if d.JSON {
		labels := map[string]int{}
		for v, k := range counts {
			labels[strconv.FormatFloat(v, 'g', -1, 64)] = k
		}
		out := map[string]any{"name": s.Name, "n": n, "d": dim, "entries": s.X.NNZ(), "min": lo, "max": hi,
			"labels": labels, "row_norm_2": linear.Problem{X: s.X}.RowNorm(2), "hash": s.Hash}
		if s.Indexed {
			out["zero_based"] = s.ZeroBased
		}
		return con.PrintJSON(out)
	}
	fmt.Fprintf(con.Out, "%s\n  %s × %s, %s stored (%.3g %% of the table), from %.6g to %.6g\n", s.Name,
		render.Count(n, "example"), render.Count(dim, "feature"), render.Count(s.X.NNZ(), "value"),
		100*float64(s.X.NNZ())/float64(n)/float64(dim), lo, hi)
	if s.Label != "" {
		fmt.Fprintf(con.Out, "  labels in column %q (--label NAME for another)\n", s.Label)
	}
	switch {
	case s.ZeroBased:
		fmt.Fprintln(con.Out, "  columns counted from 0 (--zero-based)")
	case s.Indexed:
		fmt.Fprintln(con.Out, "  columns counted from 1 (if the file counts from 0, say --zero-based)")
	}
	fmt.Fprintf(con.Out, "  largest row: ‖x‖₂ = %.6g\n", linear.Problem{X: s.X}.RowNorm(2))
	switch {
	case len(classes) == 1:
		fmt.Fprintf(con.Out, "  one label, %v: taken as labels already absorbed\n", classes[0])
	case len(classes) > 20:
		fmt.Fprintf(con.Out, "  %d different labels from %v to %v: targets of a regression (fit --loss square)\n", len(classes), classes[0], classes[len(classes)-1])
	default:
		t := render.Table{Header: []string{"  label", "examples", "share"}}
		for _, c := range classes {
			t.Rows = append(t.Rows, []render.Cell{render.Text("  %v", c), render.Text("%d", counts[c]), render.Text("%.1f %%", 100*float64(counts[c])/float64(n))})
		}
		fmt.Fprint(con.Out, t.Text())
	}
	if s.Hash != "" {
		fmt.Fprintf(con.Out, "  %s\n", s.Hash)
	}
	return nil
}

// isImages says whether a set can only be one of images: by its name, or as a folder.
func (d *DataInfo) isImages() bool {
	if namedImages(d.Data) {
		return true
	}
	st, err := os.Stat(d.Data)
	return err == nil && st.IsDir()
}

func namedImages(name string) bool {
	return slices.ContainsFunc(images.List(), func(i images.Info) bool { return i.Name == name })
}

// describe prints what a set of images holds.
func (d *DataInfo) describe(con *Console, s *images.Set) error {
	train, test := make([]int, len(s.Classes)), make([]int, len(s.Classes))
	for _, y := range s.Train.Labels {
		train[y]++
	}
	for _, y := range s.Test.Labels {
		test[y]++
	}
	if d.JSON {
		return con.PrintJSON(map[string]any{"name": s.Name, "height": s.Height, "width": s.Width, "channels": s.Channels, "train": s.Train.Len(), "test": s.Test.Len(),
			"classes": s.Classes, "train_per_class": train, "test_per_class": test, "mean": s.Mean, "deviation": s.Deviation, "hash": s.Hash})
	}
	fmt.Fprintf(con.Out, "%s\n  %s training and %s test images of %d×%d×%d bytes (height, width, channels)\n", s.Name, render.Thousands(s.Train.Len()), render.Thousands(s.Test.Len()), s.Height, s.Width, s.Channels)
	fmt.Fprintf(con.Out, "  mean of each channel %.4g, deviation %.4g, of 255\n", s.Mean, s.Deviation)
	t := render.Table{Header: []string{"  class", "training", "test"}}
	for i, c := range s.Classes {
		t.Rows = append(t.Rows, []render.Cell{render.Text("  %s", c), render.Text("%d", train[i]), render.Text("%d", test[i])})
	}
	fmt.Fprintf(con.Out, "%s  hash %s, as in a run's run.json\n", t.Text(), s.Hash)
	return nil
}

// DataGet is `bregman data get`.
type DataGet struct {
	Data    string `kong:"arg,help='Image set, built-in table as name or name:seed, or a data file to convert.'" json:"data"`
	Label   string `kong:"placeholder='NAME',help='CSV column with the labels.'" json:"label,omitempty"`
	Out     string `kong:"placeholder='FILE',help='svmlight file to write, gzipped if it ends in .gz; - is standard output.'" json:"out"`
	DataDir string `kong:"placeholder='DIR',help='Images: where data sets are kept.'" json:"data_dir,omitempty"`

	ZeroBased bool `kong:"help='svmlight columns count from 0, not from 1.'" json:"zero_based,omitempty"`
}

// Help is shown by --help.
func (*DataGet) Help() string {
	return `Examples:
  bregman data get r100:7 --out r100.svm.gz
  bregman data get cifar10
  bregman data get fashion-sample:4,6 --out coats-and-shirts.svm

Image sets are fetched, checked against their checksums and kept for train. With --out their pixels are written as svmlight text, as tables are.`
}

// Run fetches an image set, or writes a table as svmlight text.
func (g *DataGet) Run(ctx context.Context, con *Console) error {
	if namedImages(g.Data) && g.Out == "" {
		return images.Get(ctx, g.Data, g.DataDir, func(s string) { con.Say("%s", s) })
	}
	name, _, _ := strings.Cut(g.Data, ":")
	if set, err := builtIn(g.Data); err != nil {
		return err
	} else if _, missing := os.Stat(g.Data); set == nil && !namedImages(name) && g.Data != "-" && missing != nil {
		return fmt.Errorf("%s: no such data set or file: see `bregman data list`", g.Data)
	}
	switch {
	case g.Out == "":
		return &UsageError{errors.New("--out: name the svmlight file to write, or - for standard output")}
	case g.DataDir != "":
		return &UsageError{fmt.Errorf("--data-dir is for images: %s is a table, which goes to --out alone", g.Data)}
	}
	if err := CheckOut(g.Out, Input{"data", g.Data}); err != nil {
		return err
	}
	s, err := Load(ctx, g.Data, dataset.Options{Label: g.Label, ZeroBased: g.ZeroBased})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if !strings.HasSuffix(g.Out, ".gz") {
		if err := dataset.WriteSVM(&b, s); err != nil {
			return err
		}
		return con.Write(g.Out, b.Bytes())
	}
	z := gzip.NewWriter(&b)
	if err := errors.Join(dataset.WriteSVM(z, s), z.Close()); err != nil {
		return err
	}
	return con.Write(g.Out, b.Bytes())
}

// DataSynth is `bregman data synth`.
type DataSynth struct {
	Rows    Count  `kong:"default='100000',help='Examples.'" json:"rows"`
	Cols    Count  `kong:"default='50000',help='Features.'" json:"cols"`
	Entries Count  `kong:"default='50',help='Nonzeros in each example.'" json:"entries"`
	Digits  int    `kong:"default='4',help='Decimals of the values.'" json:"digits"`
	Seed    uint64 `kong:"default='1',help='Decides everything.'" json:"seed"`
	Out     string `kong:"required,placeholder='FILE',help='svmlight file to write, gzipped if it ends in .gz; - is standard output.'" json:"out"`
}

// Check returns the first thing wrong with the settings.
func (g *DataSynth) Check() error {
	if g.Rows < 1 || g.Cols < 1 || g.Entries < 1 {
		return fmt.Errorf("--rows %d, --cols %d, --entries %d: want at least 1 of each", g.Rows, g.Cols, g.Entries)
	}
	return dataset.Synth{Rows: int(g.Rows), Cols: int(g.Cols), Entries: int(g.Entries), Digits: g.Digits}.Check()
}

// Help is shown by --help.
func (*DataSynth) Help() string {
	return `Example:
  bregman data synth --rows 1e6 --cols 5e4 --out big.svm

A sparse separable problem: the places of an example are uniform without repetition, its values normal of deviation 0.258, rounded,
and its label is the sign of its product with a hidden normal vector. The defaults are the problem that "bregman bench margin" measures.`
}

// Run draws the problem and writes it.
func (g *DataSynth) Run(con *Console) error {
	if err := CheckOut(g.Out); err != nil {
		return err
	}
	s, err := dataset.Synth{Rows: int(g.Rows), Cols: int(g.Cols), Entries: int(g.Entries), Digits: g.Digits, Seed: g.Seed}.Make()
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return dataset.WriteSVM(w, s) }
	if strings.HasSuffix(g.Out, ".gz") {
		plain := write
		write = func(w io.Writer) error {
			z := gzip.NewWriter(w)
			return errors.Join(plain(z), z.Close())
		}
	}
	if g.Out == "-" {
		return write(con.Out)
	}
	if err := runlog.WriteTo(g.Out, write); err != nil {
		return err
	}
	con.Say("%s: %s", g.Out, s.Name)
	return nil
}
