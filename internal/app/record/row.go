package record

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Row is what a run found. Its identity decides which run it is; most of the columns beside it repeat the identity for
// people.
type Row struct {
	Identity   Identity
	Rate       float64 // the learning rate, also if short runs found it; NaN if none was found
	Validation float64 // accuracies are shares; NaN: there is none
	Test       float64
	Flips      float64 // test accuracy of answers averaged with those to the mirror image
	Shifts     float64 // and of those averaged over shifted images, too
	Loss       float64 // of training: means over the last epoch, as the weights changed
	Train      float64
	Status     string // Done or Diverged
	Engine     string
	Precision  string
	Version    string // of the program
	Results    int    // see Version; 0: not known
	Date       time.Time
	Run        string // the name of its folder
}

// The states of a run that has a row. Runs that were interrupted or failed have none.
const (
	Done     = "done"
	Diverged = "diverged"
)

// Columns are the header of a results file.
var Columns = []string{"network", "data", "p", "rate", "units", "decay", "epochs", "batch", "seed", "validation",
	"test", "test_flips", "test_shifts", "loss", "train", "status", "engine", "precision", "version", "results", "date",
	"run", "identity"}

// laterColumns are those that files of older versions lack.
var laterColumns = []string{"test_shifts"}

// The columns before the numbers, which the identity decides, but for the rate.
const (
	rateColumn = 3
	settled    = 9
)

// record is the row as fields of a CSV file.
func (r Row) record() []string {
	s := r.Identity.Settings
	decay := s["weight_decay"]
	if dual := s["dual_decay"]; dual != "" && dual != "0" {
		decay = strings.TrimPrefix(decay+" dual "+dual, "0 ")
	}
	unit := s["unit"]
	if unit == "" {
		unit = "one"
	}
	version := ""
	if r.Results > 0 {
		version = strconv.Itoa(r.Results)
	}
	return []string{s["model"], s["data"], s["p"], number(r.Rate), unit, decay, s["epochs"], s["batch"], s["seed"],
		number(r.Validation), number(r.Test), number(r.Flips), number(r.Shifts), number(r.Loss), number(r.Train), r.Status,
		r.Engine, r.Precision, r.Version, version, r.Date.UTC().Format(time.RFC3339), r.Run, string(r.Identity.json())}
}

func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// checkHeader returns an error if these are not the columns of this version, or of an older one.
func checkHeader(columns []string) error {
	want := slices.DeleteFunc(slices.Clone(Columns), func(c string) bool {
		return slices.Contains(laterColumns, c) && !slices.Contains(columns, c)
	})
	if !slices.Equal(columns, want) {
		return fmt.Errorf("not a results file of this version: its first line should be %s", strings.Join(Columns, ","))
	}
	return nil
}

// parseRow reads the fields of a row, of these columns.
func parseRow(columns, record []string) (r Row, err error) {
	if len(record) != len(columns) {
		return r, fmt.Errorf("%d fields, want %d", len(record), len(columns))
	}
	field := func(name string) string {
		if k := slices.Index(columns, name); k >= 0 {
			return record[k]
		}
		return ""
	}
	if r.Identity, err = parseIdentity(field("identity")); err != nil {
		return r, err
	}
	for name, to := range map[string]*float64{"rate": &r.Rate, "validation": &r.Validation, "test": &r.Test,
		"test_flips": &r.Flips, "test_shifts": &r.Shifts, "loss": &r.Loss, "train": &r.Train} {
		text := field(name)
		*to = math.NaN()
		if text == "" {
			continue
		}
		if *to, err = strconv.ParseFloat(text, 64); err != nil || *to-*to != 0 {
			return r, fmt.Errorf("%s is %s, not a number", name, shorten(text))
		}
	}
	r.Status, r.Engine, r.Precision, r.Version, r.Run = field("status"), field("engine"), field("precision"),
		field("version"), field("run")
	switch {
	case r.Status != Done && r.Status != Diverged:
		return r, fmt.Errorf("status is %s: want %s or %s", shorten(r.Status), Done, Diverged)
	case r.Status == Done && math.IsNaN(r.Test):
		return r, fmt.Errorf("test is empty: a run that is done has a test accuracy")
	case r.Run == "":
		return r, fmt.Errorf("run is empty")
	}
	if text := field("results"); text != "" {
		if r.Results, err = strconv.Atoi(text); err != nil || r.Results < 1 {
			return r, fmt.Errorf("results is %s: want a whole number from 1", shorten(text))
		}
	}
	if r.Date, err = time.Parse(time.RFC3339, field("date")); err != nil || r.Date.Year() < 1 || r.Date.Year() > 9998 {
		return r, fmt.Errorf("date is %s: want a time such as 2026-11-16T15:54:23Z", shorten(field("date")))
	}
	for k, want := range r.record()[:settled] {
		if k != rateColumn && record[k] != want {
			return r, fmt.Errorf("%s is %s, and the identity of the run has %s", Columns[k], shorten(record[k]),
				shorten(want))
		}
	}
	return r, nil
}

// key says which run a row is: a run of this name with other settings is another one, and so is one whose numbers are
// of another version.
func (r Row) key() string { return fmt.Sprintf("%s\x00%s\x00%d", r.Run, r.Identity.ID(), r.Results) }

// Numbers are those of a result that a row has, by the names that a result gives them.
func (r Row) Numbers() map[string]any {
	out := map[string]any{}
	for name, v := range map[string]float64{"p": parseFloat(r.Identity.Settings["p"]), "lr": r.Rate,
		"train_loss": r.Loss, "train_accuracy": r.Train, "test_accuracy": r.Test, "test_accuracy_flip": r.Flips,
		"test_accuracy_shift": r.Shifts, "validation_accuracy": r.Validation} {
		if !math.IsNaN(v) {
			out[name] = v
		}
	}
	return out
}

func parseFloat(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v-v != 0 {
		return math.NaN()
	}
	return v
}
