// Command bregman trains linear models and networks by mirror descent and measures the geometry they end up in.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/bench"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/paper"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/sweep"
	"github.com/bregman-ml/bregman/internal/app/tour"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/internal/app/web"
)

// cli is the command line. The help of a command and its settings is in its struct.
type cli struct {
	Tour      tour.Tour `cmd:""`
	Reproduce struct {
		Linear   paper.Linear   `cmd:""`
		Cifar10  paper.Cifar10  `cmd:"" name:"cifar10"`
		ImageNet paper.ImageNet `cmd:"" name:"imagenet"`
	} `cmd:"" help:"The paper's linear, CIFAR-10 and ImageNet experiments, with its numbers beside ours."`
	Fit     linearmodel.Fit     `cmd:""`
	Predict linearmodel.Predict `cmd:""`
	Margin  linearmodel.Margin  `cmd:""`
	Path    linearmodel.Path    `cmd:""`
	Verify  paper.Verify        `cmd:""`
	Data    struct {
		List  command.DataList  `cmd:""`
		Info  command.DataInfo  `cmd:""`
		Get   command.DataGet   `cmd:""`
		Pack  command.DataPack  `cmd:""`
		Synth command.DataSynth `cmd:""`
	} `cmd:"" help:"Data sets."`
	Train  command.Train  `cmd:""`
	Report pages.Report   `cmd:""`
	Export trials.Export  `cmd:""`
	Serve  web.Serve      `cmd:""`
	Runs   web.Runs       `cmd:"" help:"The runs in a folder: list, name, tag and note them."`
	Sweep  sweep.Commands `cmd:"" help:"Grids of runs, on this machine or on many."`
	Worker sweep.Worker   `cmd:""`
	Doctor command.Doctor `cmd:""`
	Bench  struct {
		Linear bench.Linear `cmd:""`
		Margin bench.Margin `cmd:""`
		Images bench.Images `cmd:""`
		Train  bench.Train  `cmd:""`
	} `cmd:"" help:"Benchmarks, as ratios within one run."`
	Version    versionCmd    `cmd:"" help:"The version of this program, its commit, and its engines."`
	Completion completionCmd `cmd:""`
	Help       helpCmd       `cmd:""`
}

func main() {
	os.Exit(guard(func() int { return run(os.Args[1:]) }))
}

// guard turns a panic into exit code 1: Go's own, 2, is that of bad usage here.
func guard(run func() int) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "bregman: this is a bug: %v\n\n%s", r, debug.Stack())
			code = 1
		}
	}()
	return run()
}

// selected is the part of the command line that was understood.
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
func newParser() *kong.Kong {
	return kong.Must(&cli{Sweep: sweep.NewCommands(paper.Library())}, kong.Name("bregman"),
		kong.Description("Mirror descent for linear models and networks: run it, trace it, certify it."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}), kong.PostBuild(describe),
		kong.Help(printHelp),
		kong.ExplicitGroups(groups))
}

// groups are the titles under which a long help lists flags.
var groups = []kong.Group{
	{Key: "csv", Title: "Columns of a CSV:"},
	{Key: "svmlight", Title: "svmlight text:"},
	{Key: "margin", Title: "The largest margin (all but --bias select --objective margin):"},
}

// run returns the exit code: 0 done, 1 failed, 2 bad usage.
func run(args []string) (code int) {
	if len(args) > 0 && args[0] == completing {
		return complete(args[1:], os.Stdout)
	}
	args = helpFirst(args)
	if args[0] == "runs" && !(len(args) > 1 && slices.Contains(append(web.RunsVerbs, "--help", "-h"), args[1])) {
		args = slices.Insert(slices.Clone(args), 1, "list") // with flags, too
	}
	k, err := newParser().Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bregman: %v\nTry: %s --help\n", err, selected(err))
		return 2
	}
	ctx, stop := untilStopped()
	defer stop()
	con := newConsole()
	long, err := do(ctx, con, k)
	if usage := (*command.UsageError)(nil); errors.As(err, &usage) {
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
	if err := con.out.err; err != nil && !(long && errors.Is(err, syscall.EPIPE)) {
		fmt.Fprintf(os.Stderr, "bregman: cannot write the result: %v\n", err)
		return 1
	}
	return 0
}

// do checks and runs the selected command, and shows its result, also if there is an error. It reports whether the
// result is also in a file.
func do(ctx context.Context, con *console, k *kong.Context) (long bool, err error) {
	c, err := ready(k)
	if err != nil {
		return false, err
	}
	if long = keepsResult(c); long {
		surviveClosedPipe()
	}
	env := &command.Env{Observer: con, Version: version(), Engines: new(engine.Pool), Commands: helpTexts}
	err = command.Run(ctx, env, c, &con.out)
	if err == con.out.err {
		return long, nil // the caller handles it
	}
	return long, err
}

// ready returns the selected command, resolved and checked.
func ready(k *kong.Context) (command.Command, error) {
	c := k.Selected().Target.Addr().Interface().(command.Command)
	said := given(k, c)
	err := settings.CheckResume(c, slices.Collect(maps.Keys(said)))
	if err == nil {
		err = settings.CheckZero(c, said)
	}
	if err == nil {
		c, err = command.Follow(c, slices.Collect(maps.Keys(said)))
	}
	if err != nil {
		return nil, &command.UsageError{Err: err}
	}
	return command.Ready(c)
}

// given are the settings on the command line, by key.
func given(k *kong.Context, c command.Command) map[string]string {
	said := map[string]string{}
	for _, p := range k.Path {
		for _, f := range settings.Fields(c) {
			if p.Flag != nil && p.Flag.Name == f.Flag {
				said[f.Key] = settings.Format(p.Flag.Target.Interface())
			}
		}
	}
	return said
}
