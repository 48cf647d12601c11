package command

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// CVScore is what cross-validation finds for one p, and one lambda of several: means over the folds.
type CVScore struct {
	P         float64  `json:"p"`
	Lambda    float64  `json:"lambda,omitempty"`
	Accuracy  float64  `json:"accuracy"`
	Deviation float64  `json:"accuracy_deviation"` // between folds
	Sparsity  float64  `json:"sparsity"`           // share of weights below a thousandth of the largest
	Margin    *float64 `json:"margin"`             // the least over weight vectors; null where the data is not separated
	Steps     float64  `json:"steps"`
	Chosen    bool     `json:"chosen"`
}

// cell is one p and lambda on one fold.
type cell struct {
	P      float64 `json:"p"`
	Lambda float64 `json:"lambda,omitempty"` // of --lp
	Fold   int     `json:"fold"`
}

// cellScore is what is measured there.
type cellScore struct {
	Accuracy float64  `json:"accuracy"`
	Sparsity float64  `json:"sparsity"`
	Margin   *float64 `json:"margin"`
	Steps    int      `json:"steps"`
	Soft     float64  `json:"soft"`
}

// cvLine is a line of metrics.jsonl; a run that goes on reads it back.
type cvLine struct {
	CV *struct {
		cell
		cellScore
	} `json:"cv"`
}

func newCVLine(c cell, s cellScore) cvLine {
	return cvLine{&struct {
		cell
		cellScore
	}{c, s}}
}

// folds deals the examples of each class out to k folds, in an order the seed decides.
func folds(labels, classes []float64, k int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0x666f6c6473)) // "folds": a stream of its own
	of := make([]int, len(labels))
	next := 0
	for _, c := range classes {
		var members []int
		for i, y := range labels {
			if y == c {
				members = append(members, i)
			}
		}
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		for _, i := range members {
			of[i] = next % k
			next++
		}
	}
	return of
}

// crossValidate scores every p, with every lambda, and chooses the most accurate, of equals the p nearest to 2 and the largest lambda.
func (w *fitting) crossValidate(ctx context.Context) error {
	fold := folds(w.set.Y, w.classes, w.CV, w.Seed)
	lambdas := []float64(w.LP)
	if len(lambdas) == 0 {
		lambdas = []float64{0}
	}
	bar := w.env.Bar("cross-validation", 0, 1000*int64(len(w.P)*len(lambdas)*w.CV))
	defer bar.End()
	if w.cells == nil {
		w.cells = map[cell]cellScore{}
	}
	done := 0
	for k := range w.CV {
		var train, held []int
		for i, f := range fold {
			if f == k {
				held = append(held, i)
			} else {
				train = append(train, i)
			}
		}
		var part *split
		for j := range len(w.P) * len(lambdas) {
			c := cell{w.P[j/len(lambdas)], lambdas[j%len(lambdas)], k}
			if _, ok := w.cells[c]; !ok {
				if part == nil {
					var err error
					if part, err = w.split(train, held); err != nil {
						return err
					}
				}
				s, err := w.score(ctx, part, c, func(share float64, note string) {
					bar.Set(int64(1000*(float64(done)+share)), fmt.Sprintf("%v, fold %d, %s", c.name(), k+1, note))
				})
				if err != nil {
					return err
				}
				w.cells[c] = s
				if w.run != nil {
					if err := w.run.Append(newCVLine(c, s)); err != nil {
						return err
					}
				}
			}
			done++
		}
	}
	w.cv = summary(w.P, lambdas, w.CV, w.cells)
	soft := 0
	for _, s := range w.cells {
		if s.Soft > 0 && w.Soft == 0 {
			soft++
		}
	}
	if soft > 0 {
		w.env.Say("cross-validation: no positive margin was found in %d of %d fits, which maximise a soft one instead; see also --loss logistic --lp",
			soft, len(w.cells))
	}
	for _, s := range w.cv {
		if !s.Chosen {
			continue
		}
		w.use(s.P, s.Lambda)
		if len(lambdas) > 1 && (s.Lambda == slices.Min(lambdas) || s.Lambda == slices.Max(lambdas)) {
			w.env.Say("lambda = %v is at the end of those that were tried: others beyond it may do better", s.Lambda)
		}
	}
	return nil
}

// use fits with this p, and with this lambda where there is one.
func (w *fitting) use(p, lambda float64) {
	if w.p = p; lambda > 0 {
		w.lambda = lambda
	}
}

// name is how a cell is called.
func (c cell) name() string {
	if c.Lambda > 0 {
		return fmt.Sprintf("p = %v, lambda = %v", c.P, c.Lambda)
	}
	return fmt.Sprintf("p = %v", c.P)
}

// better says whether s is to be chosen rather than t.
func (s CVScore) better(t CVScore) bool {
	near := func(p float64) float64 { return math.Abs(math.Log(p / 2)) }
	if d := s.Accuracy - t.Accuracy; math.Abs(d) > 1e-12 {
		return d > 0
	}
	return near(s.P) < near(t.P) || s.P == t.P && s.Lambda > t.Lambda
}

// summary takes the folds together.
func summary(ps, lambdas []float64, folds int, cells map[cell]cellScore) []CVScore {
	var out []CVScore
	best := 0
	for j := range len(ps) * len(lambdas) {
		s := CVScore{P: ps[j/len(lambdas)], Lambda: lambdas[j%len(lambdas)]}
		var square, margin float64
		separated := true
		for k := range folds {
			c := cells[cell{s.P, s.Lambda, k}]
			s.Accuracy += c.Accuracy / float64(folds)
			square += c.Accuracy * c.Accuracy / float64(folds)
			s.Sparsity += c.Sparsity / float64(folds)
			s.Steps += float64(c.Steps) / float64(folds)
			if separated = separated && c.Margin != nil; separated {
				margin += *c.Margin / float64(folds)
			}
		}
		s.Deviation = math.Sqrt(max(square-s.Accuracy*s.Accuracy, 0) * float64(folds) / float64(folds-1))
		if separated {
			s.Margin = &margin
		}
		if out = append(out, s); s.better(out[best]) {
			best = j
		}
	}
	out[best].Chosen = true
	return out
}

// split is the data of one fold.
type split struct {
	train, held matrix.Matrix
	targets     [][]float64
	labels      []float64 // of those held out
}

func (w *fitting) split(train, held []int) (*split, error) {
	s := &split{train: matrix.Select(w.set.X, train), held: matrix.Select(w.set.X, held)}
	for _, t := range w.targets {
		s.targets = append(s.targets, pick(t, train))
	}
	s.labels = pick(w.set.Y, held)
	if w.Scale == "std" || w.Scale == "max" { // learned without what is held out
		scale, err := linear.NewScaler(w.Scale, s.train, w.Bias)
		if err != nil {
			return nil, w.nameFeature(err)
		}
		if err := scale.Apply(s.train); err != nil {
			return nil, err
		}
		if err := scale.Apply(s.held); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func pick(x []float64, rows []int) []float64 {
	out := make([]float64, len(rows))
	for k, i := range rows {
		out[k] = x[i]
	}
	return out
}

// score fits one p and lambda on one fold and measures it.
func (w *fitting) score(ctx context.Context, part *split, c cell, show func(share float64, note string)) (cellScore, error) {
	w.use(c.P, c.Lambda)
	w.quiet = true
	defer func() { w.quiet = false }()
	fits, err := w.all(ctx, part.train, part.targets, w.Soft, false, show)
	if err != nil {
		return cellScore{}, err
	}
	m := linear.Model{Classes: w.classes}
	s := cellScore{Soft: w.soft}
	margin := math.Inf(1)
	for _, r := range fits {
		m.Weights = append(m.Weights, r.W)
		s.Steps = max(s.Steps, r.Steps)
		margin = min(margin, r.Lower)
	}
	_, d := part.train.Dims()
	s.Sparsity = 1 - float64(nonzero(m.Weights))/float64(d)
	if margin > 0 && !math.IsInf(margin, 1) && w.soft == 0 { // a soft one is not comparable
		s.Margin = &margin
	}
	labels, _, err := m.Predict(part.held)
	if err != nil {
		return s, err
	}
	for i, v := range labels {
		if v == part.labels[i] {
			s.Accuracy += 1 / float64(len(labels))
		}
	}
	return s, nil
}

// nonzero returns the number of weights above a thousandth of the largest, the mean over weight vectors.
func nonzero(weights [][]float64) int {
	var count float64
	for _, w := range weights {
		var top float64
		for _, v := range w {
			top = max(top, math.Abs(v))
		}
		for _, v := range w {
			if math.Abs(v) > 1e-3*top {
				count++
			}
		}
	}
	return int(math.Round(count / float64(max(len(weights), 1))))
}

// byP returns the best lambda of each p, in the order of the p.
func (r *FitResult) byP() []CVScore {
	var out []CVScore
	for _, s := range r.CV {
		if k := len(out) - 1; k < 0 || out[k].P != s.P {
			out = append(out, s)
		} else if s.better(out[k]) {
			out[k] = s
		}
	}
	return out
}

// lambdas are those cross-validation has tried, none without --lp.
func (r *FitResult) lambdas() []float64 {
	var out []float64
	for _, s := range r.CV {
		if s.Lambda > 0 && !slices.Contains(out, s.Lambda) {
			out = append(out, s.Lambda)
		}
	}
	return out
}

// cvTable shows every p, with its best lambda.
func (r *FitResult) cvTable() render.Table {
	t := render.Table{Title: fmt.Sprintf("Cross-validation: p = %v is chosen", r.P), Header: []string{"p", "accuracy", "± between folds", "weights near 0", "margin", "steps"},
		Note: "Accuracy on what was held out, mean over the folds. A weight is near 0 below a thousandth of the largest."}
	several := len(r.lambdas()) > 0
	if several {
		t.Title += fmt.Sprintf(" with lambda = %v", r.LP)
		t.Header = slices.Insert(t.Header, 1, "best lambda")
	}
	for _, s := range r.byP() {
		margin := math.NaN()
		if s.Margin != nil {
			margin = *s.Margin
		}
		acc := render.Cell{Text: fmt.Sprintf("%.2f %%", 100*s.Accuracy), Value: s.Accuracy, Best: s.Chosen}
		row := []render.Cell{render.Text("%v", s.P), acc, render.Text("%.2f", 100*s.Deviation), render.Text("%.1f %%", 100*s.Sparsity), render.Short(margin, 4), render.Number(s.Steps, 0)}
		if several {
			row = slices.Insert(row, 1, render.Text("%v", s.Lambda))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// cvGrid shows the accuracy of every p with every lambda.
func (r *FitResult) cvGrid() render.Table {
	lambdas := r.lambdas()
	t := render.Table{Title: "Accuracy by p and lambda", Header: []string{"p"}}
	for _, v := range lambdas {
		t.Header = append(t.Header, fmt.Sprint(v))
	}
	for k, s := range r.CV {
		if k%len(lambdas) == 0 {
			t.Rows = append(t.Rows, []render.Cell{render.Text("%v", s.P)})
		}
		row := &t.Rows[len(t.Rows)-1]
		*row = append(*row, render.Cell{Text: fmt.Sprintf("%.2f %%", 100*s.Accuracy), Value: s.Accuracy, Best: s.Chosen})
	}
	return t
}

// cvFigures draw accuracy and sparsity over p, and where there are several lambda the accuracy over them.
func (r *FitResult) cvFigures() []render.Figure {
	var p, acc, lo, hi, sparse []float64
	for _, s := range r.byP() {
		p, acc, sparse = append(p, s.P), append(acc, 100*s.Accuracy), append(sparse, 100*s.Sparsity)
		lo, hi = append(lo, 100*(s.Accuracy-s.Deviation)), append(hi, 100*(s.Accuracy+s.Deviation))
	}
	c := render.Color(2)
	least, most := slices.Min(lo), slices.Max(hi)
	room := 0.3*(most-least) + 0.1 // for the legend
	figs := []render.Figure{
		{Title: "Accuracy on held-out data", X: "p", Y: "%", ByP: true, LegendLow: true, Min: [2]float64{0, least - room}, Max: [2]float64{0, most}, Series: []render.Series{
			{Name: "mean over folds", X: p, Y: acc, Color: c}, {X: p, Y: acc, Color: c, Style: render.Discs},
			{Name: "one deviation between folds", X: p, Y: lo, Color: c, Style: render.Dashed}, {X: p, Y: hi, Color: c, Style: render.Dashed}}},
		{Title: "Weights near 0", X: "p", Y: "% of the features", ByP: true, Series: []render.Series{
			{X: p, Y: sparse, Color: render.Color(1.1)}, {X: p, Y: sparse, Color: render.Color(1.1), Style: render.Discs}}},
	}
	lambdas := r.lambdas()
	if len(lambdas) < 2 {
		return figs
	}
	grid := render.Figure{Title: "Accuracy by lambda", X: "lambda", Y: "%", LogX: true, LegendLow: true}
	order := slices.Clone(lambdas)
	slices.Sort(order)
	least, most = 100, 0
	for k := 0; k < len(r.CV); k += len(lambdas) {
		var y []float64
		for _, v := range order {
			y = append(y, 100*r.CV[k+slices.Index(lambdas, v)].Accuracy)
		}
		least, most = min(least, slices.Min(y)), max(most, slices.Max(y))
		col := render.Color(r.CV[k].P)
		grid.Series = append(grid.Series, render.Series{Name: fmt.Sprintf("p = %v", r.CV[k].P), X: order, Y: y, Color: col}, render.Series{X: order, Y: y, Color: col, Style: render.Discs})
	}
	room = 0.1*float64(len(p))*(most-least) + 0.1
	grid.Min, grid.Max = [2]float64{0, least - room}, [2]float64{0, most}
	return slices.Insert(figs, 1, grid)
}

// readCells reads what cross-validation had done back from metrics.jsonl.
func readCells(line json.RawMessage, cells map[cell]cellScore) bool {
	var l cvLine
	if json.Unmarshal(line, &l) != nil || l.CV == nil {
		return false
	}
	cells[l.CV.cell] = l.CV.cellScore
	return true
}
