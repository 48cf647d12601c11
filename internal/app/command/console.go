// Package command holds the commands: one settings struct each, with its checks and its Run.
// The command line, run.json and whatever else describes a run are views of these structs.
package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/runlog"
)

// Console is where a command speaks: results on Out, progress and remarks on Err.
type Console struct {
	Out, Err io.Writer
	Version  string
	terminal bool
}

// NewConsole returns the console of the process. A result that cannot be written, to a full disk say, is in Failed.
func NewConsole(version string) *Console {
	return &Console{Out: &results{w: os.Stdout}, Err: os.Stderr, Version: version, terminal: term.IsTerminal(int(os.Stderr.Fd()))}
}

// results remembers the first error of writing.
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

// Failed returns the first error of writing to Out.
func (c *Console) Failed() error {
	if r, ok := c.Out.(*results); ok {
		return r.err
	}
	return nil
}

// Say prints a remark.
func (c *Console) Say(format string, args ...any) { fmt.Fprintf(c.Err, format+"\n", args...) }

// SayPassed says which better engines were found and did not start.
func (c *Console) SayPassed(e *engine.Engine) {
	for _, p := range e.Passed {
		c.Say("%s", p)
	}
}

// PrintJSON prints one JSON object. An error that Failed remembers is not returned: it is the console's, not the run's.
func (c *Console) PrintJSON(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if _, err = c.Out.Write(append(data, '\n')); c.Failed() != nil {
		return nil
	}
	return err
}

// Write writes a file the user asked for, "-" meaning standard output.
func (c *Console) Write(path string, data []byte) error {
	if path == "-" {
		_, err := c.Out.Write(data)
		return err
	}
	return runlog.WriteFile(path, data)
}

// Bar shows progress: a bar on a terminal, else a line every five seconds. It is not safe for concurrent use.
type Bar struct {
	c     *Console
	label string
	total int64
	first int64 // done before the bar began
	done  int64
	bar   *progressbar.ProgressBar
	start time.Time
	last  time.Time
	note  string
}

// Bar starts a progress bar over total units of work.
func (c *Console) Bar(label string, total int64) *Bar { return c.BarFrom(label, 0, total) }

// BarFrom starts a progress bar over total units of work of which the first are done: the time left is reckoned from the others. On a terminal
// the bar is over what is left.
func (c *Console) BarFrom(label string, first, total int64) *Bar {
	b := &Bar{c: c, label: label, total: total, first: first, done: first, start: time.Now(), last: time.Now()}
	if c.terminal {
		b.bar = progressbar.NewOptions64(total-first, progressbar.OptionSetWriter(c.Err), progressbar.OptionSetDescription(label),
			progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionShowElapsedTimeOnFinish(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())
	}
	return b
}

// Set reports the work done so far.
func (b *Bar) Set(done int64) {
	b.done = done
	if b.bar != nil {
		b.bar.Set64(done - b.first)
		return
	}
	if now := time.Now(); now.Sub(b.last) >= 5*time.Second && b.total > 0 {
		b.last = now
		text := fmt.Sprintf("%s: %d %%", b.label, 100*done/b.total)
		if b.note != "" {
			text += ", " + b.note
		}
		if 50*(done-b.first) >= b.total-b.first { // of less than a fiftieth nothing follows
			text += fmt.Sprintf(", about %v left", b.left(now).Round(time.Second))
		}
		b.c.Say("%s", text)
	}
}

// left is the time that the rest will take at the pace so far.
func (b *Bar) left(now time.Time) time.Duration {
	return time.Duration(float64(now.Sub(b.start)) * float64(b.total-b.done) / float64(max(b.done-b.first, 1)))
}

// Say shows a remark beside the bar, or as a line.
func (b *Bar) Say(s string) {
	if b.bar != nil {
		b.bar.Describe(b.label + ": " + s)
		return
	}
	b.note = s
}

// Add reports more work done.
func (b *Bar) Add(n int64) { b.Set(b.done + n) }

// Done ends the bar.
func (b *Bar) Done() {
	if b.bar != nil {
		b.bar.Finish()
	}
}
