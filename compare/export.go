package compare

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/job"
	"github.com/bregman-ml/bregman/runlog"
)

// Export is `bregman export`: a run's metrics for other programs.
type Export struct {
	Folder string `kong:"arg,name='run',help='Run folder.'" json:"run"`
	To     string `kong:"required,enum='csv,npz',placeholder='csv|npz',help='csv: one row per point; npz: one float64 array per column.'" json:"to"`
	Out    string `kong:"placeholder='FILE',help='Where it goes; - for standard output. Default metrics.csv or metrics.npz.'" json:"out"`
}

// Help is shown by --help.
func (*Export) Help() string {
	return `Examples:
  bregman export runs/20261115-120000-fit-p3-r2-1 --to csv --out - | head
  bregman export runs/20261115-120000-train-cnn-p3-s1 --to npz --out cnn.npz

In Python: m = numpy.load("cnn.npz"); plt.plot(m["epoch"], m["test_accuracy"]). A run of several curves (classes, or several p) has a column
"curve" that numbers them from 0. A number that a line lacks is empty in csv and NaN in npz.`
}

// Run writes the file.
func (e *Export) Run(_ context.Context, con *job.Console) error {
	f, err := runlog.OpenFolder(e.Folder)
	if err != nil {
		return fmt.Errorf("%w: name a run folder, such as those in runs/", err)
	}
	defer f.Close()
	log, err := f.Log()
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is no run folder: it has no metrics.jsonl", e.Folder)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.Folder, err)
	}
	if log.Bad > 0 {
		con.Say("%s: %d lines were passed over: %s", e.Folder, log.Bad, log.Why)
	}
	out := e.Out
	if out == "" {
		out = "metrics." + e.To
	}
	var b bytes.Buffer
	if err := Write(&b, log, e.To); err != nil {
		return err
	}
	if err := con.Write(out, b.Bytes()); err != nil {
		return err
	}
	if out != "-" {
		con.Say("%d points of %s in %s", log.Len(), filepath.Base(e.Folder), out)
	}
	return nil
}

// Write writes the metrics as "csv" or "npz".
func Write(w io.Writer, log *runlog.Log, to string) error {
	names, columns := table(log)
	switch to {
	case "csv":
		return writeCSV(w, names, columns)
	case "npz":
		return writeNPZ(w, names, columns)
	}
	return fmt.Errorf("%q: choose csv or npz", to)
}

// table joins the curves of a log, one below the other.
func table(log *runlog.Log) (names []string, columns [][]float64) {
	for _, c := range log.Curves {
		for _, n := range c.Names {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	labels := len(log.Curves) > 1
	if labels {
		names = append([]string{"curve", "p"}, slices.DeleteFunc(names, func(n string) bool { return n == "curve" || n == "p" })...)
	}
	columns = make([][]float64, len(names))
	for k, c := range log.Curves {
		for j, n := range names {
			switch {
			case labels && j == 0:
				columns[j] = append(columns[j], slices.Repeat([]float64{float64(k)}, c.Rows)...)
			case labels && j == 1:
				columns[j] = append(columns[j], slices.Repeat([]float64{c.P}, c.Rows)...)
			default:
				columns[j] = append(columns[j], c.Column(n)...)
			}
		}
	}
	return names, columns
}

// rank puts the columns that curves are drawn over first.
func rank(name string) int {
	if k := slices.Index([]string{"step", "epoch", "b"}, name); k >= 0 {
		return k
	}
	return 3
}

func writeCSV(w io.Writer, names []string, columns [][]float64) error {
	out := csv.NewWriter(w)
	out.Write(names)
	record := make([]string, len(names))
	for i := 0; len(columns) > 0 && i < len(columns[0]); i++ {
		for j := range columns {
			record[j] = ""
			if v := columns[j][i]; !math.IsNaN(v) {
				record[j] = strconv.FormatFloat(v, 'g', -1, 64)
			}
		}
		out.Write(record)
	}
	out.Flush()
	return out.Error()
}

// writeNPZ writes what numpy.savez writes: a zip of npy files, version 1.0.
func writeNPZ(w io.Writer, names []string, columns [][]float64) error {
	z := zip.NewWriter(w)
	for j, name := range names {
		// a name from a file of metrics must not become a path
		f, err := z.Create(strings.NewReplacer("/", "_", `\`, "_", "\x00", "_").Replace(name) + ".npy")
		if err != nil {
			return err
		}
		header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }", len(columns[j]))
		header += strings.Repeat(" ", (64-(10+len(header)+1)%64)%64) + "\n"
		data := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
		data = append(data, header...)
		for _, v := range columns[j] {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
		if _, err := f.Write(data); err != nil {
			return err
		}
	}
	return z.Close()
}
