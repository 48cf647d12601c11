package linearmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// Margin is `bregman margin`: the exact maximum ℓₚ margin.
type Margin struct {
	Data    string    `required:"" placeholder:"FILE" json:"data" file:""`
	P       []float64 `name:"p" default:"2" json:"p"`
	Gap     float64   `default:"0" json:"gap"`
	Support bool      `json:"support"`
	Bias    bool      `json:"bias"`
	command.Table
	Intercept bool   `json:"intercept,omitempty" late:"false"`
	Out       string `placeholder:"FILE" json:"out,omitempty" role:"output"`
	command.Printed

	ZeroBased bool `json:"zero_based,omitempty" late:"false"`
}

// Texts are the words for its settings.
func (*Margin) Texts() settings.Texts {
	return settings.Texts{
		About: "The exact maximum lp margin, with certificate.",
		Help: map[string]string{
			"data": "Data of two or more classes, in any format fit reads, or a built-in set.",
			"p":    "One or several p from 1 to Inf, e.g. 1.1,2,10.",
			"gap": "Certified relative gap to reach; 0 aims at 1e-10 and takes what rounding allows, up to 1e-8; with " +
				"--intercept, 1e-6.",
			"support":    "List the support vectors.",
			"bias":       "Add a constant feature, whose weight counts in the norm.",
			"intercept":  "Add an intercept, of several classes one each, which does not count in the norm.",
			"out":        "Write w, scaled to margin 1, as npy: one row per p, of several classes one per p and class.",
			"zero_based": "svmlight columns count from 0, not from 1.",
		},
		Known: map[string][]string{"data": tables()},
	}
}

// Help is shown by --help.
func (*Margin) Help() string {
	return `Examples:
  bregman margin --data r100 --p 1.1,2,10
  bregman margin --data train.svm --p 1.5 --support --out w.npy
  bregman margin --data wine --p 1,2,Inf --intercept

Solves min ‖w‖ₚ subject to y⟨x, w⟩ ≥ 1 for all examples; of several classes, min ‖W‖ₚ over all entries subject to
⟨w_y − w_k, x⟩ ≥ 1 for the class y of every example and every other class k. lower ≤ margin ≤ upper is proved by a
primal and a dual solution. Data that no w separates is an error, proved in exact arithmetic; data that float64 cannot
decide is another.`
}

// MarginResult is one exact margin.
type MarginResult struct {
	P          mirror.Exponent `json:"p"`
	N          int             `json:"n"`
	D          int             `json:"d"`
	Margin     float64         `json:"margin"` // γₚ for ‖w‖ₚ = 1, the lower bound
	Norm       float64         `json:"norm"`   // 1/γₚ
	Lower      float64         `json:"lower"`
	Upper      float64         `json:"upper"`
	Gap        float64         `json:"gap"`
	Iterations int             `json:"iterations"`
	Method     string          `json:"method"`
	Seconds    float64         `json:"seconds"`
	Nonzero    int             `json:"nonzero"` // weights that the certificate needs; the others are 0
	Support    []SupportVector `json:"support"`
	Classes    []string        `json:"classes,omitempty"`   // of a joint margin
	Intercept  bool            `json:"intercept,omitempty"` // free, as --intercept asks
}

// SupportVector is an example at the margin; of a joint margin, an example and the class that its own is ahead of by no
// more.
type SupportVector struct {
	Row     int     `json:"example"` // counted from 1, in the order of the file
	Label   float64 `json:"label"`
	Class   string  `json:"class,omitempty"`   // the text of the label, if it has one
	Against string  `json:"against,omitempty"` // the other class, of a joint margin
	Weight  float64 `json:"weight"`            // its share of the dual solution
}

// Check returns the first thing wrong with the settings.
func (m *Margin) Check() error {
	for _, p := range m.P {
		if !(p >= 1) {
			return settings.Errorf("p", "p = %v: a norm needs p from 1 to Inf", p)
		}
	}
	if len(m.P) == 0 {
		return settings.Errorf("p", "--p: name at least one p")
	}
	if !(m.Gap >= 0) || m.Gap > 1 {
		return settings.Errorf("gap", "--gap %v: want a number such as 1e-10", m.Gap)
	}
	if m.Out != "" && !strings.EqualFold(filepath.Ext(m.Out), ".npy") {
		return settings.Errorf("out", "--out %s: weights are written as .npy", m.Out)
	}
	if m.Bias && m.Intercept {
		return settings.Errorf("intercept", "--intercept and --bias: choose one: the weight of --bias counts in the norm")
	}
	return m.CheckTable()
}

// asProblem is the problem of the largest margin: of two classes, of absorbed labels, or the joint one of several
// classes.
func asProblem(set *dataset.Set, intercept bool) (prob linear.Problem, classes []float64, err error) {
	n, _ := set.X.Dims()
	x := set.X
	classes = set.Classes()
	if intercept {
		x = matrix.AppendConstant(x)
	}
	if len(classes) > 2 && len(classes) <= max(20, n/4) { // more are targets
		class := make([]int, n)
		for i, y := range set.Y {
			class[i], _ = slices.BinarySearch(classes, y)
		}
		prob, _ = linear.Joint(x, class, len(classes))
		return prob, classes, nil
	}
	y, classes, err := set.Signs()
	if err == nil && len(classes) == 1 {
		y = nil
		if intercept {
			err = fmt.Errorf("%s: all labels are %s, so they count as absorbed, and --intercept makes no sense there",
				set.Name, set.ClassName(set.Y[0]))
		}
	}
	return linear.Problem{X: x, Y: y}, classes, err
}

// twoClasses loads data with labels of two classes, or absorbed ones.
func twoClasses(ctx context.Context, env *command.Env, data string, opt dataset.Options) (*dataset.Set, linear.Problem,
	error) {
	set, err := loadToLearn(ctx, env, data, opt)
	if err != nil {
		return nil, linear.Problem{}, err
	}
	y, classes, err := set.Signs()
	if err != nil {
		return nil, linear.Problem{}, err
	}
	if len(classes) == 1 {
		y = nil
	}
	return set, linear.Problem{X: set.X, Y: y}, nil
}

// Margins are the result of margin: one for each p that could be solved.
type Margins struct {
	Data    string
	Results []MarginResult
	command.File
	support bool // list the support vectors
}

var _ command.Result = (*Margins)(nil)

// Do solves.
func (m *Margin) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	if err := command.CheckOut(m.Out, command.Input{Name: "--data", Path: m.Data}); err != nil {
		return nil, err
	}
	set, err := loadToLearn(ctx, env, m.Data, m.Options())
	if err != nil {
		return nil, err
	}
	prob, _, err := asProblem(set, m.Intercept)
	if err != nil {
		return nil, err
	}
	solve := margin.Solve
	if m.Intercept {
		solve = margin.SolveIntercept
	}
	out := &Margins{Data: set.Name, support: m.Support}
	var weights [][]float64
	var failed error
	for _, p := range m.P {
		start := time.Now()
		s, err := solve(ctx, prob, p, margin.Settings{Gap: m.Gap})
		var short *margin.GapError
		if err != nil && ctx.Err() == nil && s != nil && s.Lower > 0 {
			env.Say("p = %v: %v", p, err)
			failed = errors.Join(failed, fmt.Errorf("p = %v is only certified to a relative gap of %.1e", p, s.Gap()))
		} else if err != nil {
			if errors.As(err, &short) && short.Scale != nil && short.Cause == nil {
				err = fmt.Errorf("not decided in float64: no positive margin was found (it is at most %.3g), and %s",
					short.Upper, (&fit.UnevenError{Set: set, Scale: short.Scale}).Features()+": "+scaleFlags)
			}
			failed = errors.Join(failed, fmt.Errorf("%s: p = %v: %w", set.Name, p, err))
			break
		}
		r := newMarginResult(set, prob, p, s, time.Since(start))
		r.Intercept = m.Intercept
		out.Results = append(out.Results, r)
		if pairs, ok := prob.X.(*matrix.Pairs); ok {
			weights = append(weights, pairs.Split(s.W)...)
		} else {
			weights = append(weights, s.W)
		}
	}
	if len(out.Results) == 0 {
		return nil, failed
	}
	if m.Out != "" {
		out.File = command.NewFile(m.Out, dataset.EncodeWeights(weights))
		if err := out.Save(); err != nil {
			return nil, err
		}
	}
	if failed != nil && ctx.Err() == nil {
		failed = errors.New(strings.ReplaceAll(failed.Error(), "\n", "; "))
	}
	return out, failed
}

func newMarginResult(set *dataset.Set, prob linear.Problem, p float64, s *margin.Solution,
	took time.Duration) MarginResult {
	n, d := set.X.Dims()
	r := MarginResult{P: mirror.Exponent(p), N: n, D: d, Margin: s.Lower, Norm: 1 / s.Lower, Lower: s.Lower,
		Upper: s.Upper, Gap: s.Gap(), Iterations: s.Iterations, Method: s.Method, Seconds: took.Seconds(),
		Nonzero: len(s.Nonzero)}
	pairs, joint := prob.X.(*matrix.Pairs)
	classes := set.Classes()
	if joint {
		for _, y := range classes {
			r.Classes = append(r.Classes, set.ClassName(y))
		}
	}
	for _, row := range s.Support {
		i, against := row, 0
		if joint {
			i, against = pairs.Pair(row)
		}
		v := SupportVector{Row: i + 1, Label: set.Y[i], Weight: s.Dual[row]}
		if joint {
			v.Against = set.ClassName(classes[against])
		}
		if set.Encoding != nil && len(set.Encoding.Classes) > 0 {
			v.Class = set.ClassName(v.Label)
		}
		r.Support = append(r.Support, v)
	}
	return r
}

// JSON is the result of one p, or a list of several.
func (m *Margins) JSON() any {
	if len(m.Results) == 1 {
		return m.Results[0]
	}
	return map[string]any{"data": m.Data, "results": m.Results}
}

// Print shows a table, and the support vectors on request.
func (m *Margins) Print(w io.Writer) {
	title := fmt.Sprintf("%s: %s × %s", m.Data, render.Count(m.Results[0].N, "example"),
		render.Count(m.Results[0].D, "feature"))
	if k := len(m.Results[0].Classes); k > 0 {
		title += fmt.Sprintf(", %d classes, each ahead of every other", k)
	}
	if m.Results[0].Intercept {
		title += ", free intercept"
	}
	t := render.Table{Title: title,
		Header: []string{"p", "margin", "norm", "gap", "support", "nonzero", "iterations", "seconds", "method"}}
	for _, r := range m.Results {
		t.Rows = append(t.Rows, []render.Cell{render.Text("%v", r.P), render.Short(r.Margin, 12), render.Short(r.Norm, 12),
			render.Text("%.1e", r.Gap), render.Text("%d", len(r.Support)), render.Text("%d", r.Nonzero),
			render.Text("%d", r.Iterations), render.Short(r.Seconds, 2), render.Text("%s", r.Method)})
	}
	fmt.Fprint(w, t.Text())
	if !m.support {
		return
	}
	for _, r := range m.Results {
		t := render.Table{Title: fmt.Sprintf("\nSupport vectors for p = %v", r.P), Header: []string{"example", "label",
			"weight"}}
		if len(r.Classes) > 0 {
			t.Header = []string{"example", "label", "ahead of", "weight"}
		}
		for _, s := range r.Support {
			row := []render.Cell{render.Text("%d", s.Row), render.Text("%s", cmp.Or(s.Class, fmt.Sprint(s.Label)))}
			if s.Against != "" {
				row = append(row, render.Text("%s", s.Against))
			}
			t.Rows = append(t.Rows, append(row, render.Short(s.Weight, 6)))
		}
		fmt.Fprint(w, t.Text())
	}
}

// Options say how the data are read.
func (m *Margin) Options() dataset.Options {
	opt := m.Table.Options()
	opt.Bias, opt.ZeroBased = m.Bias, m.ZeroBased
	return opt
}
