// Package tour is `bregman tour`: a table and a small network, each in several geometries, and a page that explains
// what p did.
package tour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// What the tour looks at: built in, so that nothing is downloaded.
const (
	tableData = "breast_cancer"
	netData   = "fashion-sample"
	netModel  = "cnn"
)

// The geometries of the table and of the network.
var (
	tablePs = []float64{1.1, 2, 10}
	netPs   = []float64{2, 3}
)

// Tour is `bregman tour`.
type Tour struct {
	Epochs int    `default:"15" json:"epochs"`
	Seed   uint64 `default:"1" json:"seed" role:"seed"`
	Engine string `default:"auto" json:"engine" role:"place"`
	Out    string `placeholder:"FILE" json:"out,omitempty" role:"output"`
	Runs   string `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	command.Printed
	command.Labels
}

// Texts are the words for its settings.
func (*Tour) Texts() settings.Texts {
	return settings.Texts{
		About: "See what p does: a table and a small network in a minute, and a page that explains it.",
		Help: map[string]string{
			"epochs": "Epochs of each network.",
			"seed":   "Decides the folds of the table, and the initial weights and the order of the network.",
			"engine": "Where the network trains; see bregman train --help.",
			"out":    "Also write the page here; - for standard output.",
			"runs":   "Where the run folder goes.",
		},
		Known: map[string][]string{"engine": engine.Names()},
	}
}

// Help is shown by --help.
func (*Tour) Help() string {
	return `Example:
  bregman tour

Nothing is downloaded: the data are part of the program. The tour fits a classifier of tumours with p = 1.1, 2 and 10,
as "bregman fit" does, and trains a small network on pictures of clothes with p = 2 and 3, as "bregman train" does. Then
it writes report.html, a page that explains with these numbers what p did. The fits and networks are ordinary runs
inside the folder of the tour: "bregman serve" shows them.

A tour that was stopped does not resume: start it again.`
}

// Check returns the first thing wrong with the settings.
func (t *Tour) Check() error {
	if err := engine.CheckName(t.Engine); err != nil {
		return err
	}
	if err := t.CheckLabels(); err != nil {
		return err
	}
	switch {
	case t.Epochs < 1:
		return settings.Errorf("epochs", "--epochs %d: want at least 1", t.Epochs)
	case t.Runs == "":
		return settings.Errorf("runs", "--runs: the page needs a folder")
	case t.Out == "-" && t.JSON:
		return settings.Errorf("out", "--out - and --json both want standard output: choose one")
	}
	return nil
}

// toured is the result of a tour.
type toured struct {
	command.File
	run     *runlog.Run
	seconds float64
	table   table
	nets    networks
}

var _ command.Result = (*toured)(nil)

// Do fits, trains and writes the page.
func (t *Tour) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	if err := errors.Join(command.CheckOut(t.Out), command.CheckFolder("--runs", t.Runs)); err != nil {
		return nil, err
	}
	run, err := runlog.Create(t.Runs, "tour", runlog.Info{Command: "tour", Settings: t, Seed: t.Seed,
		Data: tableData + " and " + netData, Engine: "go", Version: env.Version})
	if err != nil {
		return nil, err
	}
	run.Say = env.Say
	r := &toured{run: run}
	if err = t.PutLabels(run, ""); err == nil {
		err = r.complete(ctx, env, t)
	}
	if err != nil && ctx.Err() != nil {
		env.Say("start again with: bregman tour")
	}
	if err = run.Finish(err, ctx.Err() != nil); err != nil {
		return nil, err
	}
	return r, r.Save()
}

// complete does the work and writes the page.
func (r *toured) complete(ctx context.Context, env *command.Env, t *Tour) error {
	begin := time.Now()
	var err error
	if r.table, err = fitTable(ctx, env, t, r.run.Dir); err != nil {
		return err
	}
	if r.nets, err = trainNets(ctx, env, t, r.run); err != nil {
		return err
	}
	r.seconds = time.Since(begin).Seconds()
	page, err := r.page()
	if err != nil {
		return err
	}
	r.run.Save("report.html", page)
	r.File = command.NewFile(t.Out, page)
	return r.run.WriteJSON("tables/tour.json", r.JSON())
}

// fitTable fits the table with each p, as bregman fit does.
func fitTable(ctx context.Context, env *command.Env, t *Tour, dir string) (out table, err error) {
	out.Data = tableData
	for _, p := range tablePs {
		env.Say("%s: a linear classifier with p = %v", tableData, p)
		f := new(linearmodel.Fit)
		settings.Defaults(f)
		f.Data, f.P, f.Seed, f.Runs = tableData, linearmodel.Geometry{p}, t.Seed, dir
		fitted, err := do[*linearmodel.Fitted](ctx, env, f)
		if err != nil {
			return out, fmt.Errorf("p = %v: %w", p, err)
		}
		data, err := os.ReadFile(filepath.Join(fitted.Run, "model.json"))
		if err != nil {
			return out, err
		}
		m, err := fit.DecodeModel(data)
		if err != nil {
			return out, err
		}
		w := m.Weights[0]
		if m.Intercept {
			w = w[:len(w)-1]
		}
		if fitted.HeldAccuracy == nil {
			return out, fmt.Errorf("p = %v: the fit has no accuracy on held-out examples", p)
		}
		out.Examples, out.Features, out.names = fitted.N, fitted.D, m.Features
		out.Fits = append(out.Fits, newTableFit(p, *fitted.HeldAccuracy, w, fitted.Run))
	}
	return out, nil
}

// trainNets trains the network with each p, as bregman train does.
func trainNets(ctx context.Context, env *command.Env, t *Tour, run *runlog.Run) (out networks, err error) {
	c := new(command.Train)
	settings.Defaults(c)
	c.Model, c.Data, c.P, c.Epochs = netModel, netData, netPs, t.Epochs
	c.Seed, c.Engine, c.Runs = t.Seed, t.Engine, run.Dir
	trained, err := do[*command.Trained](ctx, env, c)
	if err != nil {
		return out, err
	}
	run.Info.Engine = trained.Engine
	out = networks{Model: netModel, Data: netData, Epochs: t.Epochs, Seed: t.Seed, Parameters: trained.Parameters}
	for _, r := range trained.Runs {
		s, err := command.ReadStudy(r.Run)
		if err != nil {
			return out, fmt.Errorf("p = %v: %w", r.P, err)
		}
		out.Runs = append(out.Runs, newNetwork(r.P, s, r.Run))
	}
	return out, nil
}

// do runs a command whose result is an R.
func do[R command.Result](ctx context.Context, env *command.Env, c command.Command) (out R, err error) {
	if c, err = command.Ready(c); err != nil {
		return out, err
	}
	r, err := c.Do(ctx, env)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return out, err
	}
	return r.(R), nil
}

// JSON has the numbers and what they say.
func (r *toured) JSON() any {
	return map[string]any{"run": r.run.Dir, "report": r.run.Path("report.html"), "seconds": r.seconds, "table": r.table,
		"network": r.nets, "findings": r.findings()}
}

// findings are what p did, a sentence each.
func (r *toured) findings() []string {
	pruned, rounded := r.nets.pruning(), r.nets.rounding()
	return []string{r.table.sparsity() + " " + r.table.accuracy(), pruned.sentence() + pruned.adjustedSaid(),
		rounded.sentence() + rounded.adjustedSaid()}
}

// Print shows what was found, where the page is and what to do next.
func (r *toured) Print(w io.Writer) {
	if r.Path == "-" { // the page itself was printed
		return
	}
	for k, f := range r.findings() {
		fmt.Fprintf(w, "%-9s %s\n", []string{"table", "pruning", "rounding"}[k], f)
	}
	fmt.Fprintf(w, "\npage      %s\n", r.run.Path("report.html"))
	serve := "bregman serve"
	if runs := filepath.Dir(r.run.Dir); runs != "runs" {
		serve += " --runs " + settings.Quote(runs)
	}
	const yours = "bregman fit --data yours.csv"
	wide := max(len(serve), len(yours))
	fmt.Fprintf(w, "next      %s   the page and its five runs in a browser\n", serve+strings.Repeat(" ", wide-len(serve)))
	fmt.Fprintf(w, "          %s   the same for your table\n", yours+strings.Repeat(" ", wide-len(yours)))
}
