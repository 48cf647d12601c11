package paper

import (
	"context"
	"fmt"
	"io"
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
	Seed  uint64    `default:"1" json:"seed"`
	Runs  string    `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	// Breakers also breaks the algorithm on purpose.
	Breakers bool `json:"breakers"`
	command.Labels
	command.Printed
}

// Texts are the words for its settings.
func (*Verify) Texts() settings.Texts {
	return settings.Texts{
		About: "Statements of the paper, checked numerically, one line each.",
		Help: map[string]string{
			"p":        "Geometries.",
			"seeds":    "Problems in the plane and in R^100, each.",
			"seed":     "The first seed.",
			"runs":     "Where the run folder goes; empty for none.",
			"breakers": "Also break the algorithm in 19 ways, and show which statements notice: p = 1.5, 2 and 3, one seed.",
		},
	}
}

// Help is shown by --help.
func (*Verify) Help() string {
	return `Example:
  bregman verify --p 1.5,3 --seeds 1

One line per statement, the verdict first: what was measured (the worst over all cases), its bound, the share of steps
on which the statement's condition held, the p without a decision, and the data and losses. "pass" needs every p;
"partly" means that some p decide nothing, and the lines below the table say why; "false" means that the paper's
statement is false as printed for some p, with the counterexample. Lines that the paper does not state begin with
"Ours". Exits with 1 if a statement fails.

  bregman verify --seeds 50 --p 1.05,1.1,1.5,2,3,6,10,20     some ten minutes on two cores
  bregman verify --breakers                                  also shows which broken algorithm fails which statement`
}

// Check returns the first thing wrong with the settings.
func (v *Verify) Check() error {
	if err := v.CheckLabels(); err != nil {
		return err
	}
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
	findings   []Finding
	hyperbolic []hyperbolicLimit
	broken     *breakage // nil: not asked for
	failed     []string  // names
	seconds    float64
	page       string // report.html of the run folder; "": there is none
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
		if err := v.PutLabels(run, ""); err != nil {
			run.Lost("about.json", err)
		}
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
	findings, hyper, err := verify(ctx, ours(ctx), v.P, v.Seed, v.Seeds, func(tasks int) {
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
	out := &verified{findings: findings, hyperbolic: hyper}
	if v.Breakers {
		bar := env.Bar("breakers", 0, int64(len(breakers)+1))
		out.broken, err = breakAll(ctx, breakerPs, 1, func(done, _ int) { bar.Set(int64(done), "") })
		bar.End()
		if err != nil {
			return nil, err
		}
	}
	out.seconds = time.Since(begin).Seconds()
	if run != nil {
		for _, f := range findings {
			if err := run.Append(f); err != nil {
				return nil, err
			}
		}
		writeVerify(run, out, v.P)
		out.page = run.Path("report.html")
	}
	for _, f := range findings {
		if f.Verdict == Fail {
			out.failed = append(out.failed, f.Name)
		}
	}
	if out.broken != nil {
		if missed := out.broken.missed(); len(missed) > 0 {
			err = fmt.Errorf("no broken algorithm fails %s", strings.Join(missed, "; "))
		}
	}
	if len(out.failed) > 0 {
		err = fmt.Errorf("%d of %d statements fail: %s", len(out.failed), len(findings), strings.Join(out.failed, "; "))
	}
	return out, err
}

// JSON has every statement.
func (v *verified) JSON() any {
	verdicts := map[Verdict]int{}
	untested := 0
	for _, f := range v.findings {
		verdicts[f.Verdict]++
		if !f.Tested {
			untested++
		}
	}
	return map[string]any{"statements": v.findings, "passed": verdicts[Pass] + verdicts[Partly], "failed": len(v.failed),
		"untested": untested, "verdicts": verdicts, "hyperbolic": v.hyperbolic, "breakers": v.broken.json(),
		"seconds": v.seconds}
}

// Print shows one line per statement.
func (v *verified) Print(w io.Writer) {
	fmt.Fprint(w, verifyTable(v.findings).Text())
	if v.broken != nil {
		fmt.Fprintf(w, "\n%s", v.broken.table().Text())
	}
	fmt.Fprintf(w, "\n%s (%.1f s)\n", summary(v.findings), v.seconds)
	for _, line := range counterexamples(v.findings) {
		fmt.Fprintf(w, "• False as printed: %s\n", line)
	}
	for _, line := range undecidedPairs(v.findings) {
		fmt.Fprintf(w, "• %s\n", line)
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
func verify(ctx context.Context, sub subject, ps []float64, first uint64, seeds int, progress func(int)) (
	[]Finding, []hyperbolicLimit, error) {
	sets := allSettings(ps, first, seeds)
	groups := allChecks(sub, sets, ps, first, seeds)
	tasks, hyper := hyperbolic(sub, sets)
	for _, g := range groups {
		tasks = append(tasks, g.tasks()...)
	}
	progress(len(tasks))
	if err := runAll(ctx, tasks, func(int) {}, func(any) error { progress(1); return nil }); err != nil {
		return nil, nil, err
	}
	return collect(groups), hyper, nil
}

// collect returns the findings of all groups.
func collect(groups []checks) []Finding {
	var findings []Finding
	for _, g := range groups {
		findings = append(findings, g.findings()...)
	}
	return findings
}

// allChecks are all statements, in the order of the report.
func allChecks(sub subject, sets []setting, ps []float64, first uint64, seeds int) []checks {
	return []checks{
		identities(sub, ps, first, 20*seeds),
		separability(sub, ps, first, 20*seeds),
		inequalities(sub, ps),
		descents(sub, sets, ps),
		paths(sub, sets),
		uniqueness(sub, sets),
		squaredNorms(sub, sets),
		quadratics(sub, sets),
		interpolations(sub, ps, first, seeds),
	}
}
