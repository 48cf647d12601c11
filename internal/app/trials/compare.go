package trials

import (
	"fmt"
	"math"
	"slices"
)

// LeastRuns is how many runs of each setting a test needs: of two, Student's t has one degree of freedom, and two equal
// differences are not rare, as accuracies are multiples of one over the number of images.
const LeastRuns = 3

// Contrast is the difference of the means of two settings, by seeds that both have if there are enough: what is the
// same in a seed, its data or its start, cancels.
type Contrast struct {
	Mean    float64
	SE      float64 // the standard error of Mean, NaN from one run each
	Paired  bool    // over the seeds that both have
	N, M    int     // the runs behind it: of each setting, the same if Paired
	Freedom float64 // degrees of freedom; NaN: there is no test
}

// Error is the standard error of the difference.
func (d Contrast) Error() float64 { return d.SE }

// Chance is the probability of a difference at least as far from delta if delta were the true one, both sides, by
// Student's t. It is NaN, no test, below LeastRuns runs, and if the error is 0.
func (d Contrast) Chance(delta float64) float64 { return student(d.Mean-delta, d.SE, d.Freedom) }

// Runs says how many runs of each a difference is from.
func (d Contrast) Runs() string {
	switch {
	case d.N == 1 && d.M == 1:
		return "one run each"
	case d.Paired || d.N == d.M:
		return fmt.Sprintf("n = %d", d.N)
	}
	return fmt.Sprintf("n = %d and %d", d.N, d.M)
}

// Differ compares two settings by their values for each seed. At least LeastRuns seeds that both have make pairs:
// Student's t with n − 1 degrees of freedom. Else, with as many runs of each, Welch's t compares the means. With fewer
// there is a difference, of pairs if there are any, and no test.
func Differ(a, b map[uint64]float64) Contrast {
	pairs, x, y := paired(a, b), sampleOf(a), sampleOf(b)
	switch {
	case pairs.N >= LeastRuns:
		return Contrast{pairs.Mean, pairs.Error(), true, pairs.N, pairs.N, float64(pairs.N - 1)}
	case x.N >= LeastRuns && y.N >= LeastRuns:
		return welch(x, y)
	case pairs.N > 0:
		return Contrast{pairs.Mean, pairs.Error(), true, pairs.N, pairs.N, math.NaN()}
	case x.N == 0 || y.N == 0:
		return Contrast{Mean: math.NaN(), SE: math.NaN(), Freedom: math.NaN()}
	}
	d := welch(x, y)
	d.Freedom = math.NaN()
	return d
}

// welch is the difference of two means of unpaired values, whose deviations need not be equal, with the degrees of
// freedom of Welch and Satterthwaite.
func welch(a, b Sample) Contrast {
	u, v := a.Error()*a.Error(), b.Error()*b.Error()
	d := Contrast{Mean: a.Mean - b.Mean, SE: math.Sqrt(u + v), N: a.N, M: b.N}
	d.Freedom = (u + v) * (u + v) / (u*u/float64(a.N-1) + v*v/float64(b.N-1))
	return d
}

// Welch is the probability of means as far apart as these if both samples had one mean, for deviations that need not be
// equal, by Welch's t. It is NaN if both deviations are 0.
func Welch(a, b Sample) float64 { return welch(a, b).Chance(0) }

// Pair is the difference of two settings of a column.
type Pair struct {
	I, J int
	Contrast
	Chance float64 // corrected by Holm's method over all comparisons of the table; NaN: there is no test
}

// Column is settings that a table compares with each other.
type Column struct {
	Values []map[uint64]float64 // of each setting, by seed
	Low    bool                 // a low value is better
	Pairs  []Pair               // of all settings, I < J
}

// Pairs are the pairs of the settings of a table with one column.
func Pairs(values []map[uint64]float64) []Pair {
	c := &Column{Values: values}
	Compare(c)
	return c.Pairs
}

// most is how many settings of a column are compared, each with each.
const most = 100

// Compare compares all pairs in each column of a table, and corrects for the number of all of them. Of very many
// settings it compares none.
func Compare(columns ...*Column) {
	var chances []float64
	for _, c := range columns {
		c.Pairs = nil
		for i := range c.Values {
			if len(c.Values) > most {
				break
			}
			for j := i + 1; j < len(c.Values); j++ {
				d := Differ(c.Values[i], c.Values[j])
				c.Pairs, chances = append(c.Pairs, Pair{I: i, J: j, Contrast: d}), append(chances, d.Chance(0))
			}
		}
	}
	chances = Holm(chances)
	for _, c := range columns {
		for k := range c.Pairs {
			c.Pairs[k].Chance = chances[k]
		}
		chances = chances[len(c.Pairs):]
	}
}

// Leader is the setting with the best mean; −1 if fewer than two have one: the only result is not the best of anything.
func (c *Column) Leader() int {
	best, n := -1, 0
	for i, v := range c.Values {
		if len(v) == 0 {
			continue
		}
		a, b := sampleOf(v).Mean, math.NaN()
		if best >= 0 {
			b = sampleOf(c.Values[best]).Mean
		}
		if n++; best < 0 || !c.Low && a > b || c.Low && a < b {
			best = i
		}
	}
	if n < 2 {
		return -1
	}
	return best
}

// enough reports whether every setting that has runs has enough for a test, and there are two.
func (c *Column) enough() bool {
	if len(c.Values) > most {
		return false
	}
	for _, v := range c.Values {
		if len(v) > 0 && len(v) < LeastRuns {
			return false
		}
	}
	return c.Leader() >= 0
}

// Between returns the difference of setting i − setting j with its corrected chance.
func (c *Column) Between(i, j int) Pair {
	for _, p := range c.Pairs {
		switch {
		case p.I == i && p.J == j:
			return p
		case p.I == j && p.J == i:
			p.I, p.J, p.Mean, p.N, p.M = i, j, -p.Mean, p.M, p.N
			return p
		}
	}
	nan := math.NaN()
	return Pair{I: i, J: j, Contrast: Contrast{Mean: nan, SE: nan, Freedom: nan}, Chance: nan}
}

// Bold are the best setting and those that are not significantly worse. It is none if a setting has too few runs for a
// test, or if none is significantly worse: then bold would have no test behind it.
func (c *Column) Bold() []bool {
	out := make([]bool, len(c.Values))
	best := c.Leader()
	if !c.separated() {
		return out
	}
	for i, v := range c.Values {
		out[i] = len(v) > 0 && (i == best || !(c.Between(i, best).Chance < Significant))
	}
	return out
}

// separated reports whether some setting is significantly worse than the best.
func (c *Column) separated() bool {
	best := c.Leader()
	return c.enough() && slices.ContainsFunc(c.Pairs, func(p Pair) bool {
		return (p.I == best || p.J == best) && p.Chance < Significant
	})
}

// Tests counts the comparisons of a table that have a test.
func Tests(columns ...*Column) int {
	n := 0
	for _, c := range columns {
		for _, p := range c.Pairs {
			if !math.IsNaN(p.Chance) {
				n++
			}
		}
	}
	return n
}

// Line says what is bold in a table and how it was tested, or why nothing is; empty if nothing is compared.
func Line(columns ...*Column) string {
	bold, level, few, many := 0, 0, 0, 0
	for _, c := range columns {
		switch {
		case c.Leader() < 0:
		case len(c.Values) > most:
			many++
		case !c.enough():
			few++
		case c.separated():
			bold++
		default:
			level++
		}
	}
	how := "t tests at 5 %, over the seeds that two settings share, else Welch's; " + Correction(Tests(columns...))
	switch {
	case bold+level+few+many == 0:
		return ""
	case many > 0:
		return fmt.Sprintf("Nothing is bold: more than %d settings are not compared with each other.", most)
	case bold+level == 0:
		return "Nothing is bold: a test needs three runs of each."
	case bold == 0:
		return "Nothing is bold: none is significantly worse than the best (" + how + ")."
	}
	text := "Bold: the best, and what is not significantly worse (" + how + ")."
	switch {
	case few > 0 && level > 0:
		text += " Nothing is bold in a column with fewer than three runs of a setting, or without a significant difference."
	case few > 0:
		text += " Nothing is bold in a column with fewer than three runs of a setting."
	case level > 0:
		text += " Nothing is bold in a column in which none is significantly worse."
	}
	return text
}

// Correction says how many comparisons Holm's method corrects for.
func Correction(n int) string {
	switch n {
	case 0:
		return "no comparison has a test"
	case 1:
		return "one comparison, nothing to correct for"
	}
	return fmt.Sprintf("Holm's correction for %d comparisons", n)
}
