// Command bregman trains linear models by mirror descent and measures the geometry they end up in.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/bench"
	"github.com/bregman-ml/bregman/job"
	"github.com/bregman-ml/bregman/paper"
)

type cli struct {
	Reproduce struct {
		Linear paper.Linear `cmd:"" help:"Figure 1, the tables in R^100 and the regression claim."`
	} `cmd:"" help:"The paper's experiments, with its numbers beside ours."`
	Fit     job.Fit      `cmd:"" help:"Train a linear classifier in a chosen geometry, with a certificate on its margin."`
	Predict job.Predict  `cmd:"" help:"Apply a model to data."`
	Margin  job.Margin   `cmd:"" help:"The exact maximum lp margin, with certificate."`
	Path    job.Path     `cmd:"" help:"The regularisation path, against the max-margin direction."`
	Verify  paper.Verify `cmd:"" help:"The paper's statements, checked numerically, one line each."`
	Data    struct {
		List job.DataList `cmd:"" help:"The built-in data sets."`
		Info job.DataInfo `cmd:"" help:"What a data set holds."`
		Get  job.DataGet  `cmd:"" help:"Write a data set as svmlight text."`

		Synth job.DataSynth `cmd:"" help:"Make a sparse separable problem of any size."`
	} `cmd:"" help:"Data sets."`
	Train  job.Train  `cmd:"" help:"Train a network by stochastic p-GD."`
	Doctor job.Doctor `cmd:"" help:"What this machine can do: engines, data, versions."`
	Bench  struct {
		Linear bench.Linear `cmd:"" help:"One step of p-GD in both linear experiments."`
		Margin bench.Margin `cmd:"" help:"Classifiers on a large sparse problem, beside liblinear."`
	} `cmd:"" help:"Benchmarks, as ratios within one run."`
	Version versionCmd `cmd:"" help:"The version of this program."`
}

type versionCmd struct{}

func (versionCmd) Run(con *job.Console) error {
	_, err := fmt.Fprintln(con.Out, "bregman", con.Version)
	return err
}

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit code: 0 done, 1 failed, 2 bad usage.
func run(args []string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once

	var c cli
	con := job.NewConsole(version())
	parser, err := kong.New(&c, kong.Name("bregman"),
		kong.Description("Mirror descent for linear models: run it, trace it, certify it."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(con))
	if err != nil {
		panic(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bregman: %v\nTry: bregman --help\n", err)
		return 2
	}
	if err := k.Run(); err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, "bregman: interrupted; the run folder, where there is one, keeps what was done")
		} else {
			fmt.Fprintf(os.Stderr, "bregman: %v\n", err)
		}
		return 1
	}
	if err := con.Failed(); err != nil {
		fmt.Fprintf(os.Stderr, "bregman: cannot write the result: %v\n", err)
		return 1
	}
	return 0
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
