// Command bregman trains linear models and networks by mirror descent and measures the geometry they end up in.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/internal/app/bench"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/compare"
	"github.com/bregman-ml/bregman/internal/app/paper"
	"github.com/bregman-ml/bregman/internal/app/sweep"
	"github.com/bregman-ml/bregman/internal/app/web"
)

type cli struct {
	Reproduce struct {
		Linear  paper.Linear  `cmd:"" help:"Figure 1, the tables in R^100 and the regression claim."`
		Cifar10 paper.Cifar10 `cmd:"" name:"cifar10" help:"Deep networks: accuracy, weights, pruning, rounding, margins."`
	} `cmd:"" help:"The paper's linear and CIFAR-10 experiments, with its numbers beside ours. ImageNet is not included."`
	Fit     command.Fit     `cmd:"" help:"Train a linear classifier in a chosen geometry, with a certificate on its margin."`
	Predict command.Predict `cmd:"" help:"Apply a model to data."`
	Margin  command.Margin  `cmd:"" help:"The exact maximum lp margin, with certificate."`
	Path    command.Path    `cmd:"" help:"The regularisation path, against the max-margin direction."`
	Verify  paper.Verify    `cmd:"" help:"Statements of the paper, checked numerically, one line each."`
	Data    struct {
		List command.DataList `cmd:"" help:"The data sets that have names, and where images are."`
		Info command.DataInfo `cmd:"" help:"What a data set holds."`
		Get  command.DataGet  `cmd:"" help:"Fetch a set of images, or write a table as svmlight text."`

		Synth command.DataSynth `cmd:"" help:"Make a sparse separable problem of any size."`
	} `cmd:"" help:"Data sets."`
	Train  command.Train  `cmd:"" help:"Train a network by stochastic p-GD."`
	Report compare.Report `cmd:"" help:"Compare runs on one page."`
	Export compare.Export `cmd:"" help:"A run's metrics as csv or npz."`
	Serve  web.Serve      `cmd:"" help:"The dashboard: runs in a browser, live."`
	Sweep  sweep.Commands `cmd:"" help:"Grids of runs, on this machine or on many."`
	Worker sweep.Worker   `cmd:"" help:"Take runs of a sweep from a NATS server."`
	Doctor command.Doctor `cmd:"" help:"What this machine can do: engines, data, networks, versions."`
	Bench  struct {
		Linear bench.Linear `cmd:"" help:"One step of p-GD in both linear experiments."`
		Margin bench.Margin `cmd:"" help:"Classifiers on a large sparse problem, beside liblinear."`
		Train  bench.Train  `cmd:"" help:"Training networks on a CPU, the matrix product and the update, beside PyTorch."`
	} `cmd:"" help:"Benchmarks, as ratios within one run."`
	Version versionCmd `cmd:"" help:"The version of this program."`
}

type versionCmd struct{}

func (versionCmd) Run(con *command.Console) error {
	_, err := fmt.Fprintln(con.Out, "bregman", con.Version)
	return err
}

func main() {
	os.Exit(guard(func() int { return run(os.Args[1:]) }))
}

// guard makes a panic a failure: Go's own exit code for it, 2, is that of bad usage here.
func guard(run func() int) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "bregman: this is a bug: %v\n\n%s", r, debug.Stack())
			code = 1
		}
	}()
	return run()
}

// selected is the command that was not understood, as far as it was.
func selected(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil {
		if node := wrong.Context.Selected(); node != nil {
			return strings.TrimSpace(node.FullPath())
		}
	}
	return "bregman"
}

// newParser returns the parser of the command line.
func newParser(ctx context.Context, con *command.Console) *kong.Kong {
	return kong.Must(new(cli), kong.Name("bregman"),
		kong.Description("Mirror descent for linear models and networks: run it, trace it, certify it."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(con, paper.Library()))
}

// run returns the exit code: 0 done, 1 failed, 2 bad usage.
func run(args []string) (code int) {
	ctx, stop := untilStopped()
	defer stop()

	con := command.NewConsole(version())
	parser := newParser(ctx, con)
	if len(args) == 0 || args[0] == "help" { // help COMMAND is COMMAND --help
		args = append(slices.Clone(args[min(1, len(args)):]), "--help")
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bregman: %v\nTry: %s --help\n", err, selected(err))
		return 2
	}
	if err = command.CheckResume(given(k)); err == nil {
		err = command.CheckZero(given(k), k.Selected().Target.Addr().Interface())
	}
	if err == nil {
		err = command.CheckUsage(k.Selected().Target.Addr().Interface())
	}
	long := keepsResult(k.Selected().Target.Addr().Interface())
	if long {
		surviveClosedPipe()
	}
	if err == nil {
		err = k.Run()
	}
	var usage *command.UsageError
	if errors.As(err, &usage) {
		fmt.Fprintf(os.Stderr, "bregman: %v\n", err)
		return 2
	}
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, "bregman: interrupted; the run folder, if there is one, has what was done")
		} else {
			fmt.Fprintf(os.Stderr, "bregman: %v\n", err)
		}
		return 1
	}
	if err := con.Failed(); err != nil && !(long && errors.Is(err, syscall.EPIPE)) {
		fmt.Fprintf(os.Stderr, "bregman: cannot write the result: %v\n", err)
		return 1
	}
	return 0
}

// given are the names of the flags on the command line.
func given(k *kong.Context) []string {
	var names []string
	for _, p := range k.Path {
		if p.Flag != nil {
			names = append(names, p.Flag.Name)
		}
	}
	return names
}

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	if v == "" {
		v = "devel"
	}
	return v
}
