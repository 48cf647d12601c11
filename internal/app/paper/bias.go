package paper

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// bias is the paper's experiment in R¹⁰⁰: each p-GD classifier, rescaled to margin 1, in eight norms.
// Theorem: p-GD has the smallest ℓₚ norm of all, the diagonal of the table.
type bias struct {
	steps  int
	early  int // the step count of the paper's text, a quarter of the appendix's
	trials []*trial
	exact  map[uint64][][]float64 // by seed: [p][norm] of the exact ℓₚ max-margin classifiers
	fast   map[uint64][]*fastFit  // by seed: [p] of the accelerated method
}

// fastFit is a classifier of the accelerated method from w = 0, with its default settings.
type fastFit struct {
	Norms []float64
	Steps int
	Gap   float64 // certified
}

// trial is one data set with one reading of w₀ ~ N(0, 0.1·I).
type trial struct {
	Seed    uint64
	Reading dataset.Reading
	Early   [][]float64 // [p][norm] after a quarter of the steps
	Final   [][]float64 // [p][norm]
}

func newBias(steps, seeds int, first uint64) *bias {
	b := &bias{steps: steps, early: steps / 4, exact: map[uint64][][]float64{}, fast: map[uint64][]*fastFit{}}
	for k := range seeds {
		b.exact[first+uint64(k)] = make([][]float64, len(numbers.Ps))
		b.fast[first+uint64(k)] = make([]*fastFit, len(numbers.Ps))
	}
	for _, reading := range []dataset.Reading{dataset.Deviation, dataset.Variance} {
		for k := range seeds {
			b.trials = append(b.trials, &trial{Seed: first + uint64(k), Reading: reading,
				Early: make([][]float64, len(numbers.Ps)), Final: make([][]float64, len(numbers.Ps))})
		}
	}
	return b
}

func (b *bias) tasks() []task {
	var tasks []task
	for _, t := range b.trials {
		for k := range numbers.Ps {
			tasks = append(tasks, task{b.steps, func(ctx context.Context, progress func(int)) (any, error) {
				return b.run(ctx, t, k, progress)
			}})
		}
	}
	for _, t := range b.trials[:len(b.trials)/2] {
		seed, rows := t.Seed, b.exact[t.Seed]
		for k, p := range numbers.Ps {
			tasks = append(tasks, task{1, func(ctx context.Context, progress func(int)) (any, error) {
				prob := problemR100(seed)
				s, err := margin.Solve(ctx, prob, p, margin.Settings{})
				if err != nil {
					return nil, fmt.Errorf("exact margin of seed %d, p = %v: %w", seed, p, err)
				}
				rows[k] = atMarginOne(prob, s.W)
				progress(1)
				return map[string]any{"experiment": "exact", "p": p, "seed": seed, "norms": finite(rows[k]), "gap": s.Gap()}, nil
			}})
			tasks = append(tasks, task{1, func(ctx context.Context, progress func(int)) (any, error) {
				prob := problemR100(seed)
				r, err := linear.Fit(ctx, prob, linear.Settings{P: p})
				if err != nil {
					return nil, fmt.Errorf("accelerated fit of seed %d, p = %v: %w", seed, p, err)
				}
				f := &fastFit{atMarginOne(prob, r.W), r.Steps, r.Gap()}
				b.fast[seed][k] = f
				progress(1)
				return map[string]any{"experiment": "accelerated", "p": p, "seed": seed, "norms": finite(f.Norms), "gap": f.Gap, "step": f.Steps}, nil
			}})
		}
	}
	return tasks
}

// ratios returns for each p the ℓₚ norm of p-GD over the least possible: least, geometric mean and largest over the trials.
func (b *bias) ratios(reading dataset.Reading) (least, mean, largest []float64) {
	for k, p := range numbers.Ps {
		j := normColumn(p)
		lo, sum, hi, n := math.Inf(1), 0.0, 0.0, 0.0
		for _, t := range b.trials {
			if t.Reading == reading {
				r := t.Final[k][j] / b.exact[t.Seed][k][j]
				lo, sum, hi, n = min(lo, r), sum+math.Log(r), max(hi, r), n+1
			}
		}
		least, mean, largest = append(least, lo), append(mean, math.Exp(sum/n)), append(largest, hi)
	}
	return least, mean, largest
}

// ratioTable sets p-GD beside the exact solutions.
func (b *bias) ratioTable() render.Table {
	t := render.Table{Title: fmt.Sprintf("p-GD after %s steps: its ℓₚ norm at margin 1 over the exact least", render.Thousands(b.steps)), Header: []string{""},
		Note: "1 would be the limit of the theorem. Geometric mean over the data sets, and the range."}
	for _, p := range numbers.Ps {
		t.Header = append(t.Header, fmt.Sprintf("p = %v", p))
	}
	for _, reading := range []dataset.Reading{dataset.Deviation, dataset.Variance} {
		least, mean, largest := b.ratios(reading)
		row := []render.Cell{render.Text("w₀ of %v 0.1", reading)}
		for k := range numbers.Ps {
			cell := render.Text("–") // a run too short to separate every data set
			if !math.IsNaN(mean[k]) {
				cell = render.Text("%.3f (%.2f–%.2f)", mean[k], least[k], largest[k])
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// exactDiagonals counts the data sets in which the exact solutions keep the whole diagonal.
func (b *bias) exactDiagonals() (all, of int) {
	for _, rows := range b.exact {
		of++
		if !slices.Contains(diagonal(rows), false) {
			all++
		}
	}
	return all, of
}

// fastRows is the table of the accelerated method for a seed.
func (b *bias) fastRows(seed uint64) [][]float64 {
	var rows [][]float64
	for _, f := range b.fast[seed] {
		rows = append(rows, f.Norms)
	}
	return rows
}

// fastDiagonals counts for each p the data sets in which the accelerated fit keeps its place on the diagonal.
func (b *bias) fastDiagonals() (counts []int, of int) {
	counts = make([]int, len(numbers.Ps))
	for seed := range b.fast {
		of++
		for k, ok := range diagonal(b.fastRows(seed)) {
			if ok {
				counts[k]++
			}
		}
	}
	return counts, of
}

// fastTable says what the accelerated method took.
func (b *bias) fastTable() render.Table {
	t := render.Table{Title: fmt.Sprintf("Accelerated from w = 0, default settings, %d data sets", len(b.fast)), Header: []string{""},
		Note: "Iterations to a certified gap of 0.1 %: median and largest."}
	steps, ratio, holds := []render.Cell{render.Text("iterations")}, []render.Cell{render.Text("ℓₚ norm over the exact least, largest")}, []render.Cell{render.Text("diagonal holds")}
	counts, of := b.fastDiagonals()
	for k, p := range numbers.Ps {
		t.Header = append(t.Header, fmt.Sprintf("p = %v", p))
		var taken []int
		worst := 0.0
		for seed, fits := range b.fast {
			taken = append(taken, fits[k].Steps)
			j := normColumn(p)
			worst = max(worst, fits[k].Norms[j]/b.exact[seed][k][j])
		}
		slices.Sort(taken)
		steps = append(steps, render.Text("%d, %d", taken[len(taken)/2], taken[len(taken)-1]))
		ratio = append(ratio, render.Number(worst, 5))
		holds = append(holds, render.Cell{Text: fmt.Sprintf("%d of %d", counts[k], of), Value: float64(counts[k]), Best: counts[k] == of})
	}
	t.Rows = [][]render.Cell{steps, ratio, holds}
	return t
}

// run trains one classifier and measures it twice.
func (b *bias) run(ctx context.Context, t *trial, k int, progress func(int)) (any, error) {
	deviation := 0.1
	if t.Reading == dataset.Variance {
		deviation = math.Sqrt(0.1)
	}
	prob := linear.Problem{X: dataset.R100(t.Seed).X}
	_, d := prob.Dims()
	s, err := linear.Descent{Potential: mirror.Power(numbers.Ps[k]), Eta: eta}.Start(prob, start(t.Seed, streamStart100, d, deviation))
	if err != nil {
		return nil, err
	}
	if err := runTo(ctx, s, b.early, progress); err != nil {
		return nil, err
	}
	t.Early[k] = atMarginOne(prob, s.W)
	if err := runTo(ctx, s, b.steps, progress); err != nil {
		return nil, err
	}
	t.Final[k] = atMarginOne(prob, s.W)
	pt := s.Measure(numbers.Ps[k], nil)
	return map[string]any{"experiment": "bias", "p": numbers.Ps[k], "seed": t.Seed, "start": t.Reading.String(), "step": s.T, "loss": pt.Loss, "margin": pt.Margin,
		"norms": finite(t.Final[k])}, nil
}

// atMarginOne returns the norms of w rescaled to margin 1, NaN where it does not separate the data.
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

func normColumn(p float64) int {
	for j, q := range numbers.Norms {
		if q == p {
			return j
		}
	}
	panic(fmt.Sprintf("paper: no norm %v", p))
}

// frequencies counts over the trials of a reading how often each diagonal entry is its column's least.
func (b *bias) frequencies(reading dataset.Reading, early bool) (counts []int, of int) {
	counts = make([]int, len(numbers.Ps))
	for _, t := range b.trials {
		if t.Reading != reading {
			continue
		}
		of++
		rows := t.Final
		if early {
			rows = t.Early
		}
		for k, ok := range diagonal(rows) {
			if ok {
				counts[k]++
			}
		}
	}
	return counts, of
}

func (b *bias) frequencyTable() render.Table {
	t := render.Table{Title: "How often p-GD has the smallest ℓₚ norm of the six classifiers", Header: []string{"w₀ ~ N(0, 0.1·I), steps"},
		Note: "The paper's own two trials: yes for every p but 1.1 (by its marks), and by its digits no for p = 6 in trial 1."}
	for _, p := range numbers.Ps {
		t.Header = append(t.Header, fmt.Sprintf("%s: p = %v", numbers.NormName(p), p))
	}
	for _, reading := range []dataset.Reading{dataset.Deviation, dataset.Variance} {
		for _, early := range []bool{true, false} {
			steps := b.steps
			if early {
				steps = b.early
			}
			counts, of := b.frequencies(reading, early)
			row := []render.Cell{render.Text("0.1 is the %v, %s steps", reading, render.Thousands(steps))}
			for _, c := range counts {
				row = append(row, render.Cell{Text: fmt.Sprintf("%d of %d", c, of), Value: float64(c), Best: c == of})
			}
			t.Rows = append(t.Rows, row)
		}
	}
	counts, of := b.fastDiagonals()
	row := []render.Cell{render.Text("accelerated from w = 0, gap 0.1 %%")}
	for _, c := range counts {
		row = append(row, render.Cell{Text: fmt.Sprintf("%d of %d", c, of), Value: float64(c), Best: c == of})
	}
	t.Rows = append(t.Rows, row)
	for k, rows := range numbers.R100() {
		row := []render.Cell{render.Text("paper, trial %d, by its digits", k+1)}
		for _, ok := range diagonal(rows) {
			row = append(row, render.Text("%s", map[bool]string{true: "yes", false: "no"}[ok]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

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

// relative is the geometric mean over the trials of a reading of each entry divided by its column's least.
func (b *bias) relative(reading dataset.Reading) [][]float64 {
	sum, n := make([][]float64, len(numbers.Ps)), 0.0
	for k := range sum {
		sum[k] = make([]float64, len(numbers.Norms))
	}
	for _, t := range b.trials {
		if t.Reading != reading {
			continue
		}
		n++
		for j := range numbers.Norms {
			least := math.Inf(1)
			for _, r := range t.Final {
				least = min(least, r[j])
			}
			for k, r := range t.Final {
				sum[k][j] += math.Log(r[j] / least)
			}
		}
	}
	for _, r := range sum {
		for j := range r {
			r[j] = math.Exp(r[j] / n)
		}
	}
	return sum
}

// all is every number, for CSV.
func (b *bias) all() render.Table {
	t := render.Table{Header: []string{"start", "seed", "steps", "p"}}
	for _, p := range numbers.Norms {
		t.Header = append(t.Header, numbers.NormName(p))
	}
	for _, tr := range b.trials {
		for _, m := range []struct {
			steps int
			rows  [][]float64
		}{{b.early, tr.Early}, {b.steps, tr.Final}} {
			for k, p := range numbers.Ps {
				row := []render.Cell{render.Text("%v", tr.Reading), render.Text("%d", tr.Seed), render.Text("%d", m.steps), render.Text("%v", p)}
				for _, v := range m.rows[k] {
					row = append(row, render.Short(v, 6))
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}
