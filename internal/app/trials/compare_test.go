package trials

import (
	"math"
	"strings"
	"testing"
)

// bySeed numbers values by seed, from the first on.
func bySeed(first uint64, values ...float64) map[uint64]float64 {
	out := map[uint64]float64{}
	for k, v := range values {
		out[first+uint64(k)] = v
	}
	return out
}

// Student's own data of 1908, R's "sleep": hours of sleep that ten patients gained with two drugs. R 4's manual page of
// t.test prints t = −4.0621, df = 9, p = 0.002833 for pairs and t = −1.8608, df = 17.776, p = 0.07939 for Welch's test.
func TestStudentsSleepData(t *testing.T) {
	one := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	two := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	for _, c := range []struct {
		name                string
		first               uint64 // seed of the second drug
		t, freedom, chance  float64
		paired              bool
		digits, freedomness float64 // half of the last digit that R prints
	}{
		{"pairs", 1, -4.0621, 9, 0.002833, true, 5e-7, 1e-12},
		{"Welch", 101, -1.8608, 17.776, 0.07939, false, 5e-6, 5e-4},
	} {
		d := Differ(bySeed(1, one...), bySeed(c.first, two...))
		if d.Paired != c.paired || math.Abs(d.Mean+1.58) > 1e-12 || math.Abs(d.Mean/d.SE-c.t) > 5e-5 ||
			math.Abs(d.Freedom-c.freedom) > c.freedomness || math.Abs(d.Chance(0)-c.chance) > c.digits || d.N != 10 {
			t.Errorf("%s: %+v, t = %v, chance %v", c.name, d, d.Mean/d.SE, d.Chance(0))
		}
		if half := d.Chance(d.Mean); math.Abs(half-1) > 1e-12 { // of itself
			t.Errorf("%s: %v", c.name, half)
		}
	}
}

// The two-sided 5 %, 1 % and 0.1 % points of t as statistical tables print them.
func TestCriticalValuesOfTables(t *testing.T) {
	for _, c := range []struct{ freedom, five, one, tenth float64 }{
		{1, 12.706, 63.657, 636.619}, {2, 4.303, 9.925, 31.599}, {3, 3.182, 5.841, 12.924}, {4, 2.776, 4.604, 8.610},
		{5, 2.571, 4.032, 6.869}, {9, 2.262, 3.250, 4.781}, {10, 2.228, 3.169, 4.587}, {30, 2.042, 2.750, 3.646},
		{120, 1.980, 2.617, 3.373},
	} {
		for _, point := range []struct{ x, chance float64 }{{c.five, 0.05}, {c.one, 0.01}, {c.tenth, 0.001}} {
			// three decimals: half a unit of the last, times the density's share of the tail, at most 3e-3 of the chance
			if got := student(point.x, 1, c.freedom); math.Abs(got/point.chance-1) > 3e-3 {
				t.Errorf("%v degrees of freedom, t = %v: %v, want %v", c.freedom, point.x, got, point.chance)
			}
		}
	}
}

// R: p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm") is 0.04 0.06 0.06 0.06.
func TestHolmAsR(t *testing.T) {
	for k, p := range Holm([]float64{0.01, 0.02, 0.03, 0.04}) {
		if want := []float64{0.04, 0.06, 0.06, 0.06}[k]; math.Abs(p-want) > 1e-15 {
			t.Errorf("%d: %v, want %v", k, p, want)
		}
	}
}

func TestWhatIsComparedWithWhat(t *testing.T) {
	for _, c := range []struct {
		name   string
		a, b   map[uint64]float64
		mean   float64
		paired bool
		runs   string
		test   bool
	}{
		{"three seeds in common", bySeed(1, 1, 2, 4, 9), bySeed(1, 0, 0, 1), 2, true, "n = 3", true},
		{"two in common of three", bySeed(1, 1, 2, 4), bySeed(2, 0, 1, 2.5), 7./3 - 3.5/3, false, "n = 3", true},
		{"none in common", bySeed(1, 1, 2, 4), bySeed(9, 0, 1, 2, 5), 7./3 - 2, false, "n = 3 and 4", true},
		{"two seeds", bySeed(1, 1, 2), bySeed(1, 0, 0), 1.5, true, "n = 2", false},
		{"one of two in common", bySeed(1, 1, 2), bySeed(2, 0, 0), 2, true, "one run each", false},
		{"one run each", bySeed(1, 1), bySeed(1, 0), 1, true, "one run each", false},
		{"other seeds, too few", bySeed(1, 1), bySeed(2, 0, 1), 0.5, false, "n = 1 and 2", false},
		{"one has none", bySeed(1, 1), nil, math.NaN(), false, "n = 0", false},
		{"differences that are equal", bySeed(1, 1, 2, 3), bySeed(1, 0, 1, 2), 1, true, "n = 3", false},
		{"no deviation at all", bySeed(1, 1, 1, 1), bySeed(5, 0, 0, 0), 1, false, "n = 3", false},
	} {
		d := Differ(c.a, c.b)
		same := math.Abs(d.Mean-c.mean) < 1e-12 || math.IsNaN(d.Mean) && math.IsNaN(c.mean)
		if !same || d.Paired != c.paired || d.Runs() != c.runs || math.IsNaN(d.Chance(0)) == c.test {
			t.Errorf("%s: %+v, %s, chance %v", c.name, d, d.Runs(), d.Chance(0))
		}
	}
}

// Bold are the best and those that no test puts below it, and nothing without enough runs.
func TestBoldHasATestBehindIt(t *testing.T) {
	high, near, low := bySeed(1, 90, 90.2, 90.1), bySeed(1, 90.1, 90, 89.9), bySeed(1, 80, 80.3, 80.05)
	for _, c := range []struct {
		name   string
		column Column
		want   []bool
		line   string
	}{
		{"a tie", Column{Values: []map[uint64]float64{low, high, near}}, []bool{false, true, true},
			"Holm's correction for 3 comparisons"},
		{"low is better", Column{Values: []map[uint64]float64{low, high, near}, Low: true}, []bool{true, false, false},
			"Bold: the best"},
		{"two", Column{Values: []map[uint64]float64{low, high}}, []bool{false, true}, "one comparison, nothing to correct"},
		{"two seeds", Column{Values: []map[uint64]float64{bySeed(1, 80, 80.1), high}}, []bool{false, false},
			"Nothing is bold: a test needs three runs of each."},
		{"nothing is worse", Column{Values: []map[uint64]float64{near, high}}, []bool{false, false},
			"Nothing is bold: none is significantly worse than the best"},
		{"a setting without runs", Column{Values: []map[uint64]float64{low, nil, high}}, []bool{false, false, true}, "Bold"},
		{"one setting", Column{Values: []map[uint64]float64{high, nil}}, []bool{false, false}, ""},
	} {
		Compare(&c.column)
		got := c.column.Bold()
		for k, want := range c.want {
			if got[k] != want {
				t.Errorf("%s: %v, want %v: %+v", c.name, got, c.want, c.column.Pairs)
			}
		}
		if line := Line(&c.column); (line == "") != (c.line == "") || !strings.Contains(line, c.line) {
			t.Errorf("%s: %q, want %q", c.name, line, c.line)
		}
	}
	// Two columns are one family: what one alone would call significant, 30 comparisons do not.
	alone := &Column{Values: []map[uint64]float64{bySeed(1, 3, 4, 4.5), bySeed(1, 2, 2.9, 3.6)}}
	Compare(alone)
	crowd := &Column{}
	for k := range 8 {
		crowd.Values = append(crowd.Values, bySeed(1, float64(k), 1, float64(k*k%5)))
	}
	before := alone.Pairs[0].Chance
	Compare(alone, crowd)
	if after := alone.Pairs[0].Chance; !(before < Significant) || !(after > Significant) ||
		Tests(alone, crowd) < 20 || !strings.Contains(Line(alone, crowd), "comparisons") {
		t.Errorf("%v alone, %v among %d", before, after, Tests(alone, crowd))
	}
}
