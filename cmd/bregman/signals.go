package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/paper"
	"github.com/bregman-ml/bregman/internal/app/sweep"
	"github.com/bregman-ml/bregman/internal/app/tour"
	"github.com/bregman-ml/bregman/internal/app/web"
)

// untilStopped returns a context that ends with Ctrl-C, SIGTERM or a terminal that closes. A second Ctrl-C or SIGTERM
// ends the program at once. A second SIGHUP does not: the kernel and the shell both send one. Under nohup SIGHUP stays
// ignored.
func untilStopped() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	if !signal.Ignored(syscall.SIGHUP) {
		hangup := make(chan os.Signal, 1)
		signal.Notify(hangup, syscall.SIGHUP)
		go func() {
			<-hangup
			cancel()
		}()
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, func() { stop(); cancel() }
}

// surviveClosedPipe makes a write to a closed pipe an error, as for any other file, instead of the end of the program.
func surviveClosedPipe() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // not Ignore, which child processes would inherit
}

// keepsResult reports whether a command should finish although its output is closed: its result is also in a file.
func keepsResult(settings any) bool {
	switch c := settings.(type) {
	case *linearmodel.Fit:
		return c.Runs != "" || c.Out != "" || c.Resume != ""
	case *linearmodel.Path:
		return c.Runs != ""
	case *paper.Verify:
		return c.Runs != ""
	case *tour.Tour, *command.Train, *paper.Linear, *paper.Cifar10, *paper.ImageNet, *sweep.Start, *sweep.Resume,
		*sweep.Retry, *sweep.Worker, *web.Serve:
		return true
	}
	return false
}
