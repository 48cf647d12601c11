package linearmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// Path is `bregman path`: the regularisation path.
type Path struct {
	Data string    `required:"" placeholder:"FILE" json:"data" file:""`
	P    []float64 `name:"p" default:"2" json:"p"`
	Loss string    `default:"exp" json:"loss"`
	To   float64   `default:"300" json:"to"`
	Bias bool      `json:"bias"`
	command.Table
	Runs string `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	command.Labels
	command.Printed

	ZeroBased bool `json:"zero_based,omitempty" late:"false"`
}

// Texts are the words for its settings.
func (*Path) Texts() settings.Texts {
	return settings.Texts{
		About: "The regularisation path, against the max-margin direction.",
		Help: map[string]string{
			"data":       "Data of two classes, in any format fit reads, or a built-in set.",
			"p":          "One or several geometries p > 1.",
			"loss":       "Loss: " + settings.Or(pathLosses()) + "; see bregman fit --help.",
			"to":         "How far to go: until B times the best margin is this.",
			"bias":       "Add a constant feature, whose weight counts in the norm.",
			"runs":       "Where the run folder goes; empty for none.",
			"zero_based": "svmlight columns count from 0, not from 1.",
		},
		Choices: map[string][]string{"loss": pathLosses()},
		Known:   map[string][]string{"data": tables()},
	}
}

// pathLosses are the losses that have a path: those with a tail.
func pathLosses() []string {
	var names []string
	for _, l := range linear.Losses {
		if _, ok := l.Loss.(margin.Curved); ok && !l.Loss.Residual() {
			names = append(names, l.Name)
		}
	}
	return names
}

// Help is shown by --help.
func (*Path) Help() string {
	return `Example:
  bregman path --data r100 --p 1.5,2,3 --loss logistic

Follows argmin L(w) over ‖w‖ₚ ≤ B for growing B, each point certified, and compares its direction with the
max-margin direction: for losses with an exponential tail they agree in the limit.`
}

// Check returns the first thing wrong with the settings.
func (s *Path) Check() error {
	if err := s.CheckLabels(); err != nil {
		return err
	}
	if len(s.P) == 0 {
		return settings.Errorf("p", "--p: name at least one p")
	}
	for _, p := range s.P {
		if err := mirror.CheckP(p); err != nil {
			return settings.At("p", err)
		}
	}
	if !(s.To > 0) || math.IsInf(s.To, 1) {
		return settings.Errorf("to", "--to %v: want a positive number such as 300", s.To)
	}
	return s.CheckTable()
}

// PathResult is one path.
type PathResult struct {
	P      float64     `json:"p"`
	Margin float64     `json:"max_margin"`
	Points []PathPoint `json:"points"`
}

// PathPoint is a point of it, with its direction against the max-margin direction u.
type PathPoint struct {
	B          float64 `json:"b"`
	Loss       float64 `json:"loss"`
	Gap        float64 `json:"gap"`
	Margin     float64 `json:"margin"`
	Divergence float64 `json:"divergence"` // D(u, w/B)
	Angle      float64 `json:"angle"`
}

// Paths are the result of path.
type Paths struct {
	Data, Loss string
	Paths      []PathResult
	page       string // report.html of the run folder; "": there is none
}

var _ command.Result = (*Paths)(nil)

// JSON has every point.
func (r *Paths) JSON() any { return map[string]any{"data": r.Data, "loss": r.Loss, "paths": r.Paths} }

// Print shows where each path ends.
func (r *Paths) Print(w io.Writer) {
	fmt.Fprint(w, r.Table().Text())
	if r.page != "" {
		fmt.Fprintf(w, "Report: %s\n", r.page)
	}
}

// PathEnd is where a path ends: what a sweep stores of it.
type PathEnd struct {
	P          float64 `json:"p"`
	Max        float64 `json:"max_margin"`
	Points     int     `json:"points"`
	B          float64 `json:"b"`
	Loss       float64 `json:"loss"`
	Gap        float64 `json:"gap"`
	Margin     float64 `json:"margin"`
	Divergence float64 `json:"divergence"`
	Angle      float64 `json:"angle"`
}

// End is where the path ends. It has a point.
func (r PathResult) End() PathEnd {
	end := r.Points[len(r.Points)-1]
	return PathEnd{r.P, r.Margin, len(r.Points), end.B, end.Loss, end.Gap, end.Margin, end.Divergence, end.Angle}
}

// Do follows the paths.
func (s *Path) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	if err := command.CheckFolder("--runs", s.Runs); err != nil {
		return nil, err
	}
	set, prob, err := twoClasses(ctx, env, s.Data, s.Options())
	if err != nil {
		return nil, err
	}
	if n, d := prob.Dims(); min(n, d) > 3000 || float64(n)*float64(d) > 5e7 { // it works on dense rows
		return nil, fmt.Errorf("%s: %d × %d is too large for the path, which factors a matrix of the smaller side", set.Name,
			n, d)
	}
	var run *runlog.Run
	if s.Runs != "" {
		run, err = runlog.Create(s.Runs, "path-"+filepath.Base(set.Name), runlog.Info{Command: "path", Settings: s,
			Data: set.Name, DataHash: set.Hash, Engine: "go", Version: env.Version})
		if err != nil {
			return nil, err
		}
		run.Say = env.Say
		if err := s.PutLabels(run, ""); err != nil {
			run.Lost("about.json", err)
		}
	}
	out := &Paths{Data: set.Name, Loss: s.Loss}
	for _, p := range s.P {
		var r PathResult
		if r, err = s.follow(ctx, env, prob, p, run); err != nil {
			err = fmt.Errorf("%s: p = %v: %w", set.Name, p, err)
			break
		}
		out.Paths = append(out.Paths, r)
	}
	if err == nil && run != nil {
		out.page = run.Path("report.html")
		if err := run.WriteJSON(command.ResultFile, out.maxMargins()); err != nil {
			run.Lost(command.ResultFile, err)
		}
	}
	if run != nil {
		if err = run.Finish(err, ctx.Err() != nil); err == nil {
			env.Finished(run.Dir)
		}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (s *Path) follow(ctx context.Context, env *command.Env, prob linear.Problem, p float64,
	run *runlog.Run) (PathResult,
	error) {
	exact, err := margin.Solve(ctx, prob, p, margin.Settings{Gap: 1e-9})
	if err != nil {
		return PathResult{}, err
	}
	r := PathResult{P: p, Margin: exact.Lower}
	u := make([]float64, len(exact.W))
	for j, v := range exact.W {
		u[j] = v * exact.Lower
	}
	psi := mirror.Power(p)
	var logErr error
	_, err = margin.Path{P: p, Loss: must(linear.LossByName(s.Loss)).(margin.Curved), To: s.To / exact.Lower,
		Each: func(pt margin.PathPoint) {
			w := make([]float64, len(pt.W))
			for j, v := range pt.W {
				w[j] = v / pt.B
			}
			q := PathPoint{pt.B, pt.Loss, pt.Gap, pt.Margin, mirror.Divergence(psi, u, w), linear.Angle(u, w)}
			r.Points = append(r.Points, q)
			if run != nil {
				logErr = errors.Join(logErr, run.Append(map[string]any{"p": p, "b": q.B, "loss": q.Loss, "gap": q.Gap,
					"margin": q.Margin, "divergence": q.Divergence, "angle": q.Angle}))
			}
		}}.Run(ctx, prob)
	if err == nil {
		err = logErr
	}
	if err == nil && len(r.Points) == 0 {
		err = errors.New("no point of the path was reached: go further with --to")
	}
	if n := len(r.Points); err == nil && r.Points[n-1].B < s.To/exact.Lower {
		env.Say("p = %v: the path ends at B times the best margin = %.0f, where the loss underflows or has its minimum", p,
			r.Points[n-1].B*exact.Lower)
	}
	return r, err
}

// PathMargin is the largest margin of a p, which the points of its path tend to.
type PathMargin struct {
	P      float64 `json:"p"`
	Margin float64 `json:"max_margin"`
}

// PathMargins are what a run folder of path has beside its points.
type PathMargins struct {
	Paths []PathMargin `json:"paths"`
}

func (r *Paths) maxMargins() (out PathMargins) {
	for _, p := range r.Paths {
		out.Paths = append(out.Paths, PathMargin{p.P, p.Margin})
	}
	return out
}

// Table shows where each path ends.
func (r *Paths) Table() render.Table {
	t := render.Table{Title: fmt.Sprintf("%s: end of the regularisation path, %s loss", filepath.Base(r.Data), r.Loss),
		Header: []string{"p", "points", "B", "loss", "margin", "max margin", "D(u, w/B)", "angle to u", "worst gap"}}
	for _, p := range r.Paths {
		end := p.End()
		worst := 0.0
		for _, pt := range p.Points {
			worst = max(worst, pt.Gap)
		}
		t.Rows = append(t.Rows, []render.Cell{render.Text("%v", p.P), render.Text("%d", end.Points), render.Short(end.B, 4),
			render.Short(end.Loss, 4), render.Short(end.Margin, 8), render.Short(p.Margin, 8), render.Short(end.Divergence, 3),
			render.Text("%.4f°", end.Angle*180/math.Pi), render.Text("%.0e", worst)})
	}
	return t
}

// Options say how the data are read.
func (s *Path) Options() dataset.Options {
	opt := s.Table.Options()
	opt.Bias, opt.ZeroBased = s.Bias, s.ZeroBased
	return opt
}
