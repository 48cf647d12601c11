package paper

import (
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// normsTable is a 6 × 8 table, the least of each column bold and the diagonal marked.
func normsTable(title, note string, rows [][]float64, digits int) render.Table {
	t := render.Table{Title: title, Note: note, Header: []string{""}}
	for _, p := range numbers.Norms {
		t.Header = append(t.Header, numbers.NormName(p))
	}
	for k, p := range numbers.Ps {
		row := []render.Cell{render.Text("p = %v", p)}
		for j, v := range rows[k] {
			c := render.Number(v, digits)
			c.Mark = numbers.Norms[j] == p
			row = append(row, c)
		}
		t.Rows = append(t.Rows, row)
	}
	t.MarkLeast()
	return t
}

// atMarginOne returns the norms of w rescaled to margin 1, NaN if it does not separate the data.
func atMarginOne(prob linear.Problem, w []float64) []float64 {
	m, _ := prob.Margin(w)
	out := make([]float64, len(numbers.Norms))
	for j, p := range numbers.Norms {
		if out[j] = mirror.Norm(w, p) / m; m <= 0 {
			out[j] = math.NaN()
		}
	}
	return out
}

// finite turns NaN into nil, for JSON.
func finite(x []float64) []*float64 {
	out := make([]*float64, len(x))
	for i := range x {
		if !math.IsNaN(x[i]) {
			out[i] = &x[i]
		}
	}
	return out
}

// diagonal returns for each p whether its row is the least in the column of its norm.
func diagonal(rows [][]float64) []bool {
	out := make([]bool, len(numbers.Ps))
	for k, p := range numbers.Ps {
		j := normColumn(p)
		out[k] = !math.IsNaN(rows[k][j])
		for _, r := range rows {
			if r[j] < rows[k][j]*(1-1e-9) { // exact solutions may tie
				out[k] = false
			}
		}
	}
	return out
}

// normColumn is the column of ℓₚ.
func normColumn(p float64) int {
	for j, q := range numbers.Norms {
		if q == p {
			return j
		}
	}
	panic(fmt.Sprintf("paper: no norm %v", p))
}

// divided is a/b, entry by entry.
func divided(a, b [][]float64) [][]float64 {
	out := make([][]float64, len(a))
	for k := range a {
		for j := range a[k] {
			out[k] = append(out[k], a[k][j]/b[k][j])
		}
	}
	return out
}
