package paper

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// Linear is `bregman reproduce linear`: the paper's experiments on linear models.
type Linear struct {
	Steps settings.Count `default:"1000000" json:"steps"`
	Seeds int            `default:"10" json:"seeds"`
	Seed  uint64         `default:"1" json:"seed" role:"seed"`
	Runs  string         `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	command.Printed
}

// Texts are the words for its settings.
func (*Linear) Texts() settings.Texts {
	return settings.Texts{
		About: "Figure 1, the tables in R^100 and the regression claim.",
		Help: map[string]string{
			"steps": "Steps of each run; the paper has a million.",
			"seeds": "Data sets in R^100.",
			"seed":  "The first seed.",
			"runs":  "Where the run folder goes.",
		},
	}
}

// Help is shown by --help.
func (*Linear) Help() string {
	return `Example:
  bregman reproduce linear --seeds 3

Runs the paper's linear experiments: Figure 1 (convergence in the plane), the tables in R^100 (implicit bias) and the
regression claim, at the paper's full length, and writes tables, figures and a report.html with the paper's numbers beside ours.`
}

// Check returns the first thing wrong with the settings.
func (l *Linear) Check() error {
	switch {
	case l.Steps < 1000:
		return settings.Errorf("steps", "--steps %d: the experiments need at least 1000", l.Steps)
	case l.Seeds < 1:
		return settings.Errorf("seeds", "--seeds %d: want at least 1", l.Seeds)
	case l.Runs == "":
		return settings.Errorf("runs", "--runs: the report needs a folder")
	}
	return nil
}

// linearResults are the three experiments.
type linearResults struct {
	figure1    *figure1
	bias       *bias
	regression *regression
	run        *runlog.Run
	seconds    float64
}

var _ command.Result = (*linearResults)(nil)

// Do runs the experiments and writes the report.
func (l *Linear) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	fig, err := newFigure1(ctx, l.Seed)
	if err != nil {
		return nil, err
	}
	r := &linearResults{figure1: fig, bias: newBias(int(l.Steps), l.Seeds, l.Seed), regression: newRegression(l.Seed)}
	r.run, err = runlog.Create(l.Runs, "reproduce-linear", runlog.Info{Command: "reproduce linear", Settings: l, Seed: l.Seed,
		Engine: "go", Version: env.Version})
	if err != nil {
		return nil, err
	}
	r.run.Say = env.Say
	err = r.run.Finish(l.experiments(ctx, env, r), ctx.Err() != nil)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// experiments runs all descents and writes the report.
func (l *Linear) experiments(ctx context.Context, env *command.Env, r *linearResults) error {
	begin := time.Now()
	tasks := append(r.figure1.tasks(int(l.Steps)), r.regression.tasks()...)
	tasks = append(tasks, r.bias.tasks()...)
	var total, done int64
	for _, t := range tasks {
		total += int64(t.steps)
	}
	env.Say("%s, %.3g million steps in all", render.Count(len(tasks), "fit"), float64(total)/1e6)
	bar := env.Bar("reproduce linear", 0, total)
	err := runAll(ctx, tasks, func(n int) {
		done += int64(n)
		bar.Set(done, "")
	}, func(metric any) error { return r.run.Append(metric) })
	bar.End()
	if err != nil {
		return err
	}
	r.seconds = time.Since(begin).Seconds()
	return r.write(r.run, r.seconds)
}

// Print shows the tables and what they say.
func (r *linearResults) Print(w io.Writer) {
	fmt.Fprintln(w, r.figure1.table().Text())
	first := r.bias.trials[0]
	fmt.Fprintln(w, r.trialTable(first).Text())
	fmt.Fprintln(w, r.bias.frequencyTable().Text())
	fmt.Fprintln(w, normsTable(fmt.Sprintf("Accelerated from w = 0: seed %d, at margin 1", first.Seed), "",
		r.bias.fastRows(first.Seed), 3).Text())
	fmt.Fprintln(w, r.bias.fastTable().Text())
	fmt.Fprintln(w, r.regression.table().Text())
	for _, f := range r.findings() {
		fmt.Fprintf(w, "• %s\n", f)
	}
	fmt.Fprintf(w, "\n* marks the least of a column, or a claim that held every time. %.1f s. Report: %s\n", r.seconds,
		r.run.Path("report.html"))
}

// findings are the sentences the report opens with. Each is made from the numbers of this run.
func (r *linearResults) findings() []string {
	var out []string
	var k, angle []string
	for _, c := range r.figure1.curves {
		angle = append(angle, fmt.Sprintf("%.2f°", c.last().Angle*180/math.Pi))
		if d, _ := c.slopes(); d < 0 {
			k = append(k, fmt.Sprintf("k = %.2f for p = %v (bound %.1f)", d, c.P, 1-c.P))
		}
	}
	out = append(out, fmt.Sprintf("Figure 1: after %s steps the directions are %s from their limits, for p = 1.5, 2, 3.",
		render.Thousands(r.figure1.curves[0].last().Step), strings.Join(angle, ", ")))
	if len(k) > 0 {
		out = append(out, fmt.Sprintf("Over the last two decades of steps the divergence to the max-margin direction falls like logᵏ t with %s.", strings.Join(k, ", ")))
	}
	for _, c := range r.figure1.curves {
		if at, back := c.turning(); back {
			out = append(out, fmt.Sprintf("p = %v passes through its limit direction near step %s and comes back: its divergence falls and rises on the way.", c.P, render.Thousands(at)))
		}
	}
	for _, reading := range []dataset.Reading{dataset.Deviation, dataset.Variance} {
		counts, of := r.bias.frequencies(reading, false)
		var parts []string
		for i, c := range counts {
			parts = append(parts, fmt.Sprintf("%d (p = %v)", c, numbers.Ps[i]))
		}
		out = append(out, fmt.Sprintf("R¹⁰⁰ with 0.1 read as a %v: of %d data sets, p-GD has the smallest ℓₚ norm in %s.", reading, of, strings.Join(parts, ", ")))
	}
	counts, sets := r.bias.fastDiagonals()
	var kept []string
	for i, c := range counts {
		kept = append(kept, fmt.Sprintf("%d (p = %v)", c, numbers.Ps[i]))
	}
	out = append(out, fmt.Sprintf("R¹⁰⁰ with the accelerated method from w = 0, to a certified gap of 0.1 %%: of %d data sets, the diagonal holds in %s.", sets, strings.Join(kept, ", ")))
	all, of := r.bias.exactDiagonals()
	_, mean, _ := r.bias.ratios(dataset.Deviation)
	var still []string
	for k, v := range mean {
		if !math.IsNaN(v) {
			still = append(still, fmt.Sprintf("%.2f (p = %v)", v, numbers.Ps[k]))
		}
	}
	out = append(out, fmt.Sprintf("Solved exactly, the diagonal holds in %d of %d data sets. With w₀ of deviation 0.1 the norm of p-GD is still %s times the least possible.",
		all, of, strings.Join(still, ", ")))
	worst, gap := 0.0, 0.0
	var ps, not []string
	for _, f := range r.regression.fits {
		if !f.settled() {
			not = append(not, fmt.Sprintf("For p = %v a constant step does not settle (residual %.0e).", f.P, f.Residual))
			continue
		}
		ps = append(ps, fmt.Sprint(f.P))
		worst, gap = max(worst, f.Residual), max(gap, math.Abs(f.Gap))
	}
	if len(ps) == 0 {
		return append(out, "Regression: no descent settled. "+strings.Join(not, " "))
	}
	out = append(out, fmt.Sprintf("Regression: for p = %s mirror descent from 0 ends at the solution of least ℓₚ norm, proved to a relative %.0e (residual %.0e). %s",
		strings.Join(ps, ", "), gap, worst, strings.Join(not, " ")))
	return out
}

// JSON is what --json prints.
func (r *linearResults) JSON() any {
	var figs []map[string]any
	for _, c := range r.figure1.curves {
		d, n := c.slopes()
		pt := c.last()
		figs = append(figs, map[string]any{"p": c.P, "divergence": pt.Divergence, "divergence_slope": d, "divergence_bound": 1 - c.P,
			"norm": pt.Norm, "norm_slope": n, "angle": pt.Angle, "margin": c.Margin})
	}
	freq := map[string]any{}
	for _, reading := range []dataset.Reading{dataset.Deviation, dataset.Variance} {
		counts, of := r.bias.frequencies(reading, false)
		freq[reading.String()] = map[string]any{"least": counts, "of": of}
	}
	counts, of := r.bias.fastDiagonals()
	freq["accelerated"] = map[string]any{"least": counts, "of": of}
	var reg []map[string]any
	for _, f := range r.regression.fits {
		reg = append(reg, map[string]any{"p": f.P, "residual": f.Residual, "gap": f.Gap})
	}
	var norms [][]*float64
	for _, row := range r.bias.trials[0].Final {
		norms = append(norms, finite(row))
	}
	return map[string]any{"run": r.run.Dir, "seconds": r.seconds, "figure1": figs, "p": numbers.Ps, "diagonal": freq, "norms": norms,
		"accelerated_norms": r.bias.fastRows(r.bias.trials[0].Seed), "regression": reg}
}
