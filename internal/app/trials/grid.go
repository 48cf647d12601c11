package trials

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/train"
)

// Setting is a setting that varies, as on the command line.
type Setting struct{ Key, Value string }

// State is the state of a trial.
type State int

// The states.
const (
	Done     State = iota // it has a value
	None                  // done, without this number: data that is not separated has no margin
	Missing               // not done yet
	Failed                // it failed
	Diverged              // its loss was not finite
)

// Trial is one run of a grid: what varies, its seed and what it measured.
type Trial struct {
	Vary  []Setting // but the seed
	Seed  uint64
	Value float64
	State State
}

// get returns a setting that varies.
func (t Trial) get(key string) string {
	for _, v := range t.Vary {
		if v.Key == key {
			return v.Value
		}
	}
	return ""
}

// Grid is trials by what varies: a row per value of one key, a column per combination of the others. Numbers only.
type Grid struct {
	Metric string
	Low    bool     // a low value is better
	Keys   []string // that vary
	RowKey string   // p if it varies and the metric can be compared between p, else the first key that can
	Rows   []string
	Cols   []string
	cells  map[[2]string]*Cell
}

// Cell is the trials of one combination. Only those with a number are in its mean.
type Cell struct {
	Vary                            []Setting
	Values                          map[uint64]float64 // by seed
	seeds                           []uint64           // in order
	Failed, Diverged, Missing, None int
}

// NewGrid sorts trials into a grid. keys are those that vary, in their order.
func NewGrid(all []Trial, metric string, low bool, keys []string) *Grid {
	g := &Grid{Metric: metric, Low: low, Keys: keys, RowKey: RowKey(metric, keys), cells: map[[2]string]*Cell{}}
	known := map[string]bool{}
	for _, t := range all {
		at := [2]string{t.get(g.RowKey), g.column(t)}
		if !slices.Contains(g.Rows, at[0]) {
			g.Rows = append(g.Rows, at[0])
		}
		if !known[at[1]] {
			known[at[1]] = true
			g.Cols = append(g.Cols, at[1])
		}
		c := g.cells[at]
		if c == nil {
			c = &Cell{Vary: t.Vary, Values: map[uint64]float64{}}
			g.cells[at] = c
		}
		c.add(t)
	}
	if !slices.ContainsFunc(g.Rows, func(s string) bool { return math.IsNaN(Float(s)) }) {
		slices.SortStableFunc(g.Rows, func(a, b string) int { // numbers grow
			if Float(a) < Float(b) {
				return -1
			}
			return 1
		})
	}
	return g
}

func (c *Cell) add(t Trial) {
	switch t.State {
	case Done:
		if _, twice := c.Values[t.Seed]; twice {
			return // one seed run twice is one trial
		}
		c.seeds, c.Values[t.Seed] = append(c.seeds, t.Seed), t.Value
	case None:
		c.None++
	case Missing:
		c.Missing++
	case Failed:
		c.Failed++
	case Diverged:
		c.Diverged++
	}
}

// Get returns a setting of the cell that varies.
func (c *Cell) Get(key string) string { return Trial{Vary: c.Vary}.get(key) }

// Each are the values in the order of the trials: sums do not depend on chance.
func (c *Cell) Each() []float64 {
	if c == nil {
		return nil
	}
	var all []float64
	for _, s := range c.seeds {
		all = append(all, c.Values[s])
	}
	return all
}

// Statistic is a number of a cell that is not one of its counts.
type Statistic struct {
	Key string // in JSON
	Of  func(values []float64) float64
}

// Statistics are those that a sweep's JSON has of every cell.
var Statistics = []Statistic{
	{"mean", func(v []float64) float64 { return SampleOf(v).Mean }},
	{"deviation", func(v []float64) float64 { return SampleOf(v).Deviation }},
	{"error", func(v []float64) float64 { return SampleOf(v).Error() }},
}

// Sample is the mean and the deviation of the values.
func (c *Cell) Sample() Sample { return SampleOf(c.Each()) }

// At is a cell; nil if it has no trial.
func (g *Grid) At(row, col string) *Cell { return g.cells[[2]string{row, col}] }

// Sparse reports whether most places of the grid are empty.
func (g *Grid) Sparse() bool { return 2*len(g.cells) < len(g.Rows)*len(g.Cols) }

// column names what else varies.
func (g *Grid) column(t Trial) string {
	var parts []string
	for _, v := range t.Vary {
		switch v.Key {
		case g.RowKey:
		case "model", "data": // the value names it
			parts = append(parts, v.Value)
		default:
			parts = append(parts, v.Key+" = "+v.Value)
		}
	}
	return strings.Join(parts, ", ")
}

// Better reports whether a is better than b.
func (g *Grid) Better(a, b float64) bool {
	if g.Low {
		return a < b
	}
	return a > b
}

// Comparable reports whether the rows of a column can be compared, and AllComparable whether all cells can.
func (g *Grid) Comparable() bool { return Compares(g.Metric, g.RowKey) }

// AllComparable reports whether all cells can be compared.
func (g *Grid) AllComparable() bool {
	return !slices.ContainsFunc(g.Keys, func(k string) bool { return !Compares(g.Metric, k) })
}

// Column are rows of a column, to be compared with each other.
func (g *Grid) Column(rows []string, col string) *Column {
	c := &Column{Values: make([]map[uint64]float64, len(rows)), Low: g.Low}
	for i, row := range rows {
		if x := g.At(row, col); x != nil {
			c.Values[i] = x.Values
		}
	}
	return c
}

// Columns are rows in several columns, compared within each: one table, corrected for all its comparisons.
func (g *Grid) Columns(rows, cols []string) []*Column {
	var out []*Column
	for _, col := range cols {
		out = append(out, g.Column(rows, col))
	}
	Compare(out...)
	return out
}

// HasBest reports whether some column has rows to compare.
func (g *Grid) HasBest() bool {
	return g.Comparable() && slices.ContainsFunc(g.Cols, func(col string) bool {
		return g.Column(g.Rows, col).Leader() >= 0
	})
}

// RowKey chooses what the rows are: p, unless the metric cannot be compared between p and can be between values of
// another key.
func RowKey(metric string, keys []string) string {
	order := slices.Clone(keys)
	slices.SortStableFunc(order, func(a, b string) int {
		rank := func(k string) int {
			switch {
			case !Compares(metric, k) && k != "p":
				return 3
			case !Compares(metric, k):
				return 2
			case k != "p":
				return 1
			}
			return 0
		}
		return rank(a) - rank(b)
	})
	if len(order) == 0 {
		return ""
	}
	return order[0]
}

// Compares reports whether a metric means the same for every value of a setting, so that one can be the best. The ℓₚ
// norm and margin of one p cannot be compared with those of another; nor can objectives with different penalties or
// losses, or numbers of different data.
func Compares(metric, key string) bool {
	switch key {
	case "p":
		return !slices.Contains([]string{"norm", "margin", "max_margin", "lower", "upper", "gap", "b", "divergence",
			"objective",
			"excess"}, metric)
	case "l2", "lp", "soft", "penalty", "objective":
		return !slices.Contains([]string{"norm", "margin", "lower", "upper", "gap", "objective", "excess"}, metric)
	case "loss":
		return !slices.Contains([]string{"loss", "objective", "excess", "gap", "test_loss",
			"validation_loss"}, metric)
	case "data", "test", "label":
		return false
	}
	return true
}

// lowIsBetter are the metrics of which smaller is better.
var lowIsBetter = []string{"norm", "gap", "loss", "train_loss", "test_loss", "validation_loss",
	"test_log_loss", "test_rmse",
	"seconds", "total_seconds", "angle",
	"divergence", "steps", "iterations", "nonzero", "upper", "objective", "excess"}

// LowIsBetter reports whether a smaller value of a metric is better.
func LowIsBetter(metric string) bool { return slices.Contains(lowIsBetter, metric) }

// IsPercent reports whether a metric is a share, shown in %.
func IsPercent(metric string) bool {
	_, studied := train.StudyMetricByName(metric)
	return studied || strings.Contains(metric, "accuracy")
}

// Shown is the displayed name of a metric, with its unit.
func Shown(metric string) string {
	name := strings.ReplaceAll(metric, "_", " ")
	if m, ok := train.StudyMetricByName(metric); ok {
		name = m.Title()
	}
	if IsPercent(metric) {
		name += ", %"
	}
	return name
}

// Float reads a setting as a number, NaN if it is not one.
func Float(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// Probability formats a probability: a dash if there is no test.
func Probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return "–"
	case p < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.2g", p)
}
