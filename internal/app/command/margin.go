package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
)

// Margin is `bregman margin`: the exact maximum ℓₚ margin.
type Margin struct {
	Data    string    `kong:"required,placeholder='FILE',help='Data of two classes, in any format fit reads, or a built-in set.'" toml:"data" json:"data"`
	P       []float64 `kong:"name='p',default='2',help='One or several p from 1 to Inf, e.g. 1.1,2,10.'" toml:"p" json:"p"`
	Gap     float64   `kong:"default='0',help='Certified relative gap to reach; 0 aims at 1e-10 and takes what rounding allows, up to 1e-8.'" toml:"gap" json:"gap"`
	Support bool      `kong:"help='List the support vectors.'" toml:"support" json:"support"`
	Bias    bool      `kong:"help='Add a constant feature, whose weight counts in the norm.'" toml:"bias" json:"bias"`
	Label   string    `kong:"placeholder='NAME',help='CSV column with the labels.'" toml:"label" json:"label,omitempty"`
	Out     string    `kong:"placeholder='FILE',help='Write w, scaled to margin 1, as npy: one row per p.'" toml:"out" json:"out,omitempty"`
	JSON    bool      `kong:"name='json',help='Print one JSON object.'" toml:"-" json:"-"`

	ZeroBased bool `kong:"help='svmlight columns count from 0, not from 1.'" toml:"zero_based" json:"zero_based,omitempty"`
}

// Help is shown by --help.
func (*Margin) Help() string {
	return `Examples:
  bregman margin --data r100 --p 1.1,2,10
  bregman margin --data train.svm --p 1.5 --support --out w.npy

Solves min ‖w‖ₚ subject to y⟨x, w⟩ ≥ 1 for all examples. lower ≤ margin ≤ upper is proved by a primal and a dual
solution. Data that no w separates is an error, proved in exact arithmetic; data that float64 cannot decide is another.`
}

// MarginResult is one exact margin.
type MarginResult struct {
	P          Exponent        `json:"p"`
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
}

// SupportVector is an example that holds the margin.
type SupportVector struct {
	Row    int     `json:"example"` // counted from 1, in the order of the file
	Label  float64 `json:"label"`
	Weight float64 `json:"weight"` // its share of the dual solution
}

// Check returns the first thing wrong with the settings.
func (m *Margin) Check() error {
	for _, p := range m.P {
		if !(p >= 1) {
			return fmt.Errorf("p = %v: a norm needs p from 1 to Inf", p)
		}
	}
	if len(m.P) == 0 {
		return errors.New("--p: name at least one p")
	}
	if !(m.Gap >= 0) || m.Gap > 1 {
		return fmt.Errorf("--gap %v: want a number such as 1e-10", m.Gap)
	}
	if m.Out != "" && !strings.EqualFold(filepath.Ext(m.Out), ".npy") {
		return fmt.Errorf("--out %s: weights are written as .npy", m.Out)
	}
	return nil
}

// twoClasses loads data with labels of two classes, or absorbed ones.
func twoClasses(ctx context.Context, data string, opt dataset.Options) (*dataset.Set, linear.Problem, error) {
	set, err := loadToLearn(ctx, data, opt)
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

// Run solves.
func (m *Margin) Run(ctx context.Context, con *Console) error {
	if err := m.Check(); err != nil {
		return err
	}
	if err := CheckOut(m.Out, Input{"--data", m.Data}); err != nil {
		return err
	}
	set, prob, err := twoClasses(ctx, m.Data, dataset.Options{Label: m.Label, Bias: m.Bias, ZeroBased: m.ZeroBased})
	if err != nil {
		return err
	}
	var results []MarginResult
	var weights [][]float64
	var failed error
	for _, p := range m.P {
		start := time.Now()
		s, err := margin.Solve(ctx, prob, p, margin.Settings{Gap: m.Gap})
		var short *margin.GapError
		if errors.As(err, &short) && s != nil && s.Lower > 0 {
			con.Say("p = %v: %v", p, err)
			failed = errors.Join(failed, fmt.Errorf("p = %v is only certified to a relative gap of %.1e", p, s.Gap()))
		} else if err != nil {
			if short != nil && short.Scale != nil && short.Cause == nil {
				err = fmt.Errorf("not decided in float64: no positive margin was found (it is at most %.3g), and %s",
					short.Upper, scaleAdvice(short.Scale, set))
			}
			failed = errors.Join(failed, fmt.Errorf("%s: p = %v: %w", set.Name, p, err))
			break
		}
		n, d := prob.Dims()
		r := MarginResult{P: Exponent(p), N: n, D: d, Margin: s.Lower, Norm: 1 / s.Lower, Lower: s.Lower, Upper: s.Upper, Gap: s.Gap(), Iterations: s.Iterations,
			Method: s.Method, Seconds: time.Since(start).Seconds()}
		for _, i := range s.Support {
			r.Support = append(r.Support, SupportVector{i + 1, set.Y[i], s.Dual[i]})
		}
		r.Nonzero = len(s.Nonzero)
		results = append(results, r)
		weights = append(weights, s.W)
	}
	if len(results) == 0 {
		return failed
	}
	if m.Out != "" {
		if err := con.Write(m.Out, dataset.EncodeWeights(weights)); err != nil {
			return err
		}
	}
	if err := m.print(con, set, results); err != nil {
		return err
	}
	if failed != nil && ctx.Err() == nil {
		return errors.New(strings.ReplaceAll(failed.Error(), "\n", "; "))
	}
	return failed
}

func (m *Margin) print(con *Console, set *dataset.Set, results []MarginResult) error {
	if m.JSON {
		if len(results) == 1 {
			return con.PrintJSON(results[0])
		}
		return con.PrintJSON(map[string]any{"data": set.Name, "results": results})
	}
	t := render.Table{Title: fmt.Sprintf("%s: %s × %s", set.Name, render.Count(results[0].N, "example"),
		render.Count(results[0].D, "feature")),
		Header: []string{"p", "margin", "norm", "gap", "support", "nonzero", "iterations", "seconds", "method"}}
	for _, r := range results {
		t.Rows = append(t.Rows, []render.Cell{render.Text("%v", r.P), render.Short(r.Margin, 12), render.Short(r.Norm, 12), render.Text("%.1e", r.Gap),
			render.Text("%d", len(r.Support)), render.Text("%d", r.Nonzero), render.Text("%d", r.Iterations), render.Short(r.Seconds, 2), render.Text("%s", r.Method)})
	}
	fmt.Fprint(con.Out, t.Text())
	if !m.Support {
		return nil
	}
	for _, r := range results {
		t := render.Table{Title: fmt.Sprintf("\nSupport vectors for p = %v", r.P), Header: []string{"example", "label", "weight"}}
		for _, s := range r.Support {
			t.Rows = append(t.Rows, []render.Cell{render.Text("%d", s.Row), render.Text("%v", s.Label), render.Short(s.Weight, 6)})
		}
		fmt.Fprint(con.Out, t.Text())
	}
	return nil
}

// Exponent is a p, "inf" in JSON where it is infinite.
type Exponent float64

// MarshalJSON writes a number, or "inf".
func (p Exponent) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(p), 1) {
		return []byte(`"inf"`), nil
	}
	return strconv.AppendFloat(nil, float64(p), 'g', -1, 64), nil
}
