package paper

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
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
statement's condition held. Lines that the paper does not state begin with "Beyond the paper". Not every statement of
the paper is checked; the report lists the others. Exits with 1 if a statement fails.`
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
		run, err = runlog.Create(v.Runs, "verify",
			runlog.Info{Command: "verify", Settings: v, Engine: "go", Version: env.Version})
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

// statements checks all of them. If one fails, it returns the result and an error.
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

// checks is a group of statements: the tasks that check them, and the findings once these are done.
type checks interface {
	tasks() []task
	findings() []Finding
}

// verify checks all statements on a subject, in the order of the report. progress is called first with the number of
// tasks, then with 1 after each.
func verify(ctx context.Context, sub subject, ps []float64, seeds int, progress func(int)) (
	[]Finding, []hyperbolicLimit, error) {
	sets := allSettings(ps, seeds)
	groups := []checks{
		identities(sub, ps, 20*seeds),
		inequalities(sub, ps),
		steps(sub, sets),
		limits(sub, sets),
		potentials(sub, sets),
		interpolations(sub, ps, seeds),
	}
	tasks, hyper := hyperbolic(sub, sets)
	for _, g := range groups {
		tasks = append(tasks, g.tasks()...)
	}
	progress(len(tasks))
	if err := runAll(ctx, tasks, func(int) {}, func(any) error { progress(1); return nil }); err != nil {
		return nil, nil, err
	}
	var findings []Finding
	for _, g := range groups {
		findings = append(findings, g.findings()...)
	}
	return findings, hyper, nil
}
