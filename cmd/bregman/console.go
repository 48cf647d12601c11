package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// console writes results to standard output, and progress and remarks to standard error.
type console struct {
	command.Observer
	out results
}

// newConsole returns the console of the process. Progress is a bar on a terminal, else a line now and then.
func newConsole() *console {
	c := &console{Observer: command.Lines(os.Stderr), out: results{w: os.Stdout}}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		c.Observer = terminal{c.Observer}
	}
	return c
}

// Finished writes the page of a run. A page that fails does not fail the run.
func (c *console) Finished(dir string) {
	if err := pages.Write(dir); err != nil {
		c.Say("%v: its page is incomplete; bregman report %s shows the run", err, settings.Quote(dir))
	}
}

// results records the first error of writing: a full disk, or a pipe without a reader.
type results struct {
	w   io.Writer
	err error
}

func (r *results) Write(b []byte) (int, error) {
	n, err := r.w.Write(b)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

// terminal is an observer that draws progress bars.
type terminal struct{ command.Observer }

func (terminal) Bar(label string, done, total int64) command.Bar {
	return &bar{label: label, first: done, bar: progressbar.NewOptions64(total-done,
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription(label),
		progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionShowElapsedTimeOnFinish(), progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())}
}

// bar counts only what remains, so that the remaining time is computed from it.
type bar struct {
	label, note string
	first       int64
	bar         *progressbar.ProgressBar
}

func (b *bar) Set(done int64, note string) {
	if note != b.note {
		b.note = note
		b.bar.Describe(b.label + ": " + note)
	}
	b.bar.Set64(done - b.first)
}

func (b *bar) End() { b.bar.Finish() }
