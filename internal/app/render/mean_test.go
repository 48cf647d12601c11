package render

import (
	"math"
	"testing"
)

func TestMeansHaveTheirErrorAndNumberOfRuns(t *testing.T) {
	for _, c := range []struct {
		mean, se     float64
		runs, digits int
		want         string
	}{
		{92.75, 0.1015, 3, 2, "92.75 ± 0.10 (n = 3)"}, {92.75, math.NaN(), 1, 2, "92.75 (one run)"},
		{92.75, 0, 3, 2, "92.75 ± 0.00 (n = 3)"}, {0.0104787, 0.000386, 3, -1, "0.01048 ± 0.00039 (n = 3)"},
		{3, 0, 3, -1, "3 ± 0 (n = 3)"}, {123456, 1234, 2, -1, "123456 ± 1.2e+03 (n = 2)"},
		{0.5, math.NaN(), 1, -1, "0.5 (one run)"}, {math.NaN(), math.NaN(), 0, 2, "–"},
	} {
		if got := Mean(c.mean, c.se, c.runs, c.digits).Text; got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	cell := Mean(1, 0.5, 2, 2)
	if cell.Add("%d diverged", 1); cell.Text != "1.00 ± 0.50 (n = 2, 1 diverged)" {
		t.Error(cell.Text)
	}
	// In CSV the errors are columns behind the others: those that were there stay where they were.
	table := Table{Header: []string{"p", "test", "lr"}, Rows: [][]Cell{{Text("2"), Mean(91.5, 0.25, 4, 2), Number(0.1, 1)},
		{Text("3"), Mean(92, math.NaN(), 1, 2), Number(0.1, 1)}}}
	want := "p,test,lr,\"test, standard error\",\"test, n\"\n2,91.5,0.1,0.25,4\n3,92,0.1,,1\n"
	if got := string(table.CSV()); got != want {
		t.Errorf("%s", got)
	}
}
