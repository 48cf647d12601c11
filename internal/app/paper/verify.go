package paper

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// Verify is `bregman verify`: statements of the paper, checked numerically, and a few beyond it.
type Verify struct {
	P     []float64 `name:"p" default:"1.1,1.5,2,3,6,10" json:"p"`
	Seeds int       `default:"3" json:"seeds"`
	Runs  string    `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	command.Printed
}

// Texts are the words for its settings.
func (*Verify) Texts() settings.Texts {
	return settings.Texts{
		About: "Statements of the paper, checked numerically, one line each.",
		Help: map[string]string{
			"p":     "Geometries.",
			"seeds": "Problems in the plane and in R^100, each.",
			"runs":  "Where the run folder goes; empty for none.",
		},
	}
}

// Help is shown by --help.
func (*Verify) Help() string {
	return `Example:
  bregman verify --p 1.5,3 --seeds 1

One line per statement: what was measured (the worst over all cases), its bound, and the share of steps on which the
statement's condition held. Lines that the paper does not state begin with "Beyond the paper". Not every statement of the
paper is checked; the report lists what is left out. Exits with 1 if a statement fails.`
}

// Check returns the first thing wrong with the settings.
func (v *Verify) Check() error {
	if len(v.P) == 0 {
		return settings.Errorf("p", "--p: name at least one geometry")
	}
	for _, p := range v.P {
		if err := mirror.CheckP(p); err != nil {
			return err
		}
		if p < 1.05 || p > 20 {
			return fmt.Errorf("p = %v: the checks are made for p from 1.05 to 20", p)
		}
	}
	if v.Seeds < 1 {
		return settings.Errorf("seeds", "--seeds %d: want at least 1", v.Seeds)
	}
	return nil
}

// verified is the result of verify.
type verified struct {
	findings         []Finding
	hyperbolic       []hyperbolicLimit
	failed, untested []string // names
	seconds          float64
	page             string // report.html of the run folder; "": there is none
}

var _ command.Result = (*verified)(nil)

// Do checks the statements.
func (v *Verify) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	var run *runlog.Run
	if v.Runs != "" {
		var err error
		run, err = runlog.Create(v.Runs, "verify", runlog.Info{Command: "verify", Settings: v, Engine: "go", Version: env.Version})
		if err != nil {
			return nil, err
		}
		run.Say = env.Say
	}
	out, err := v.statements(ctx, env, run)
	if run != nil {
		err = run.Finish(err, ctx.Err() != nil)
	}
	if out == nil {
		return nil, err
	}
	return out, err
}

// statements checks all of them. If one fails, the result comes with an error.
func (v *Verify) statements(ctx context.Context, env *command.Env, run *runlog.Run) (*verified, error) {
	begin := time.Now()
	var bar command.Bar
	done := 0
	findings, hyper, err := verify(ctx, ours(ctx), v.P, v.Seeds, func(tasks int) {
		if bar == nil {
			bar = env.Bar("verify", 0, int64(tasks))
			return
		}
		done += tasks
		bar.Set(int64(done), "")
	})
	if bar != nil {
		bar.End()
	}
	if err != nil {
		return nil, err
	}
	out := &verified{findings: findings, hyperbolic: hyper, seconds: time.Since(begin).Seconds()}
	if run != nil {
		for _, f := range findings {
			if err := run.Append(f); err != nil {
				return nil, err
			}
		}
		writeVerify(run, findings, hyper, out.seconds)
		out.page = run.Path("report.html")
	}
	for _, f := range findings {
		if !f.Tested && !math.IsNaN(float64(f.Measured)) {
			out.untested = append(out.untested, f.Name)
		} else if !f.Pass {
			out.failed = append(out.failed, f.Name)
		}
	}
	if len(out.failed) > 0 {
		err = fmt.Errorf("%d of %d statements fail: %s", len(out.failed), len(findings), strings.Join(out.failed, "; "))
	}
	return out, err
}

// JSON has every statement.
func (v *verified) JSON() any {
	return map[string]any{"statements": v.findings, "passed": len(v.findings) - len(v.failed) - len(v.untested),
		"failed": len(v.failed), "untested": len(v.untested), "hyperbolic": v.hyperbolic, "seconds": v.seconds}
}

// Print shows one line per statement.
func (v *verified) Print(w io.Writer) {
	fmt.Fprint(w, verifyTable(v.findings).Text())
	fmt.Fprintf(w, "\n%s, %d fail (%.1f s)\n", hold(v.findings), len(v.failed), v.seconds)
	if len(v.untested) > 0 {
		fmt.Fprintf(w, "%d not tested with these p and seeds: %s\n", len(v.untested), strings.Join(v.untested, "; "))
	}
	if v.page != "" {
		fmt.Fprintf(w, "Report: %s\n", v.page)
	}
}

// verify runs all checks on a subject. progress is called first with the number of tasks, then with 1 after each.
func verify(ctx context.Context, sub subject, ps []float64, seeds int, progress func(int)) ([]Finding, []hyperbolicLimit, error) {
	steps, ends := newAlongRun(0), newLimits()
	var mu sync.Mutex
	var tasks []task
	// Each task has checks of its own; they are put together under the lock.
	onRun := func(k int, set setting) {
		tasks = append(tasks, task{1, func(context.Context, func(int)) (any, error) {
			a := newAlongRun(uint64(k))
			err := walk(ctx, sub, set, a.step)
			mu.Lock()
			defer mu.Unlock()
			for i, c := range a.all() {
				if c.Worst != "" {
					c.Cases = 1
				}
				if err != nil {
					c.broke(err)
				}
				steps.all()[i].merge(c)
			}
			return nil, ctx.Err()
		}})
	}
	onLimits := func(run func(*limits) error, about func(*limits) []*check) {
		tasks = append(tasks, task{1, func(context.Context, func(int)) (any, error) {
			l := newLimits()
			if err := run(l); err != nil {
				for _, c := range about(l) {
					c.broke(err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for i, c := range l.all() {
				ends.all()[i].merge(c)
			}
			ends.hyperbolic = append(ends.hyperbolic, l.hyperbolic...)
			return nil, ctx.Err()
		}})
	}
	for k, set := range cases(ps, seeds, 20_000, 5_000) {
		onRun(k, set)
		onLimits(func(l *limits) error { return l.ends(ctx, sub, set) }, func(l *limits) []*check { return []*check{l.direction, l.squared, l.unique} })
		onLimits(func(l *limits) error { return l.paths(ctx, sub, set) }, func(l *limits) []*check { return []*check{l.regular, l.logistic, l.poly} })
		if len(set.w0) == 2 {
			long := set
			long.steps = longSteps
			onLimits(func(l *limits) error { return l.plane(ctx, sub, long) },
				func(l *limits) []*check { return []*check{l.loss, l.norm, l.plain, l.rateNorm, l.rateLog} })
		} else if set.p == ps[0] {
			onLimits(func(l *limits) error { return l.others(ctx, sub, set) }, func(l *limits) []*check { return []*check{l.quadratic} })
		}
	}
	for seed := range seeds {
		for _, p := range ps {
			onLimits(func(l *limits) error { return l.regress(ctx, sub, p, uint64(seed+1)) },
				func(l *limits) []*check { return []*check{l.interpolation, l.leastNorm} })
		}
	}
	progress(len(tasks))
	if err := runAll(ctx, tasks, func(int) {}, func(any) error { progress(1); return nil }); err != nil {
		return nil, nil, err
	}
	findings := identities(sub, ps, 20*seeds)
	for _, c := range slices.Concat(steps.all(), ends.all()) {
		findings = append(findings, c.done())
	}
	return findings, ends.hyperbolic, nil
}

// hold counts the statements that hold, those of the paper apart from those beyond it.
func hold(findings []Finding) string {
	paper, beyond := 0, 0
	for _, f := range findings {
		switch {
		case f.Pass && f.Beyond:
			beyond++
		case f.Pass:
			paper++
		}
	}
	return fmt.Sprintf("%d statements of the paper and %d beyond it hold", paper, beyond)
}

// verifyTable is one line per statement.
func verifyTable(findings []Finding) render.Table {
	t := render.Table{Title: "Statements of the paper", Header: []string{"statement", "measured", "bound", "condition held", "cases", "worst case", ""}}
	for _, f := range findings {
		bound := fmt.Sprintf("≤ %.0e", f.Bound)
		if f.Bound >= 0.01 {
			bound = fmt.Sprintf("≤ %g", f.Bound)
		}
		if f.AtLeast {
			bound = fmt.Sprintf("≥ %g", f.Bound)
		}
		share := render.Text("always")
		if f.Share != nil {
			share = render.Text("%.1f %%", 100**f.Share)
		}
		verdict := render.Text("pass")
		switch {
		case !f.Tested && !math.IsNaN(float64(f.Measured)):
			verdict = render.Text("not tested")
		case !f.Pass:
			verdict = render.Text("FAIL")
		}
		measured := render.Text("–")
		if f.Tested {
			measured = render.Short(float64(f.Measured), 2)
		}
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", f.Name), measured, render.Text("%s", bound), share, render.Text("%d", f.Cases),
			render.Text("%s", f.Worst), verdict})
	}
	return t
}
