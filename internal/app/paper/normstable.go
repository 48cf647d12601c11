package paper

import (
	"fmt"
	"math"
	"slices"

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
		out[k] = least(rows, p, numbers.Ps)
	}
	return out
}

// least reports whether the row of p is the least of some rows in the column of its norm.
func least(rows [][]float64, p float64, among []float64) bool {
	j := normColumn(p)
	own := rows[slices.Index(numbers.Ps, p)][j]
	return !math.IsNaN(own) && !slices.ContainsFunc(among, func(q float64) bool {
		return smaller(rows[slices.Index(numbers.Ps, q)][j], own)
	})
}

// smaller reports whether the norm a is below b. Exact solutions may tie. A classifier that does not separate the data
// has NaN for a norm: any that does is smaller.
func smaller(a, b float64) bool {
	return a < b*(1-1e-9) || !math.IsNaN(a) && math.IsNaN(b)
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
