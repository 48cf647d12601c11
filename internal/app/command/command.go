// Package command holds the commands that compute: one settings struct each, with its checks and its work.
//
// Settings go down, results come back as values and as files in a run folder. A command prints nothing: the command
// line prints its Result, a sweep stores it, the dashboard reads the folder.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// Command is a settings struct that can be run. Its settings are plain values.
type Command interface {
	// Check returns the first thing wrong with the settings, whatever the data. It changes nothing.
	Check() error
	// Do does the work and prints nothing. It may return both a result and an error, after an interrupt say: both are
	// shown.
	Do(ctx context.Context, env *Env) (Result, error)
}

// Resolver is a command with settings whose defaults depend on others, such as a network's recipe.
type Resolver interface {
	// Resolve returns a copy with all settings filled in.
	Resolve() (Command, error)
}

// Result is what a command found.
type Result interface {
	Print(w io.Writer) // as text
	JSON() any         // for --json
}

// Piped is a result with a file that --out - sends to standard output, before anything else.
type Piped interface{ Pipe(w io.Writer) error }

// Ongoing is a result that is shown before the work is done: Go does the rest.
type Ongoing interface {
	Go(ctx context.Context) error
}

// Env is the environment of a command.
type Env struct {
	Observer
	Version string       // of the program
	Engines *engine.Pool // opened once a process

	Commands func() []HelpText // the help of all commands; nil: none

	SaveEvery time.Duration // how much work a killed run may lose; 0: 15 seconds
}

// HelpText is the help of a command.
type HelpText struct {
	Name  string // without the program's: fit, data get; "" is the program itself
	About string // one line
	Text  string // what --help prints
	Page  string // where the guide says more: a file of docs/, perhaps with an anchor
	Group bool   // a group of commands
}

// Lane is the environment of runs that share a GPU with those of other lanes: lane i of n, counted from 0.
func (e *Env) Lane(i, n int) *Env {
	other := *e
	other.Engines = e.Engines.Lane(i, n)
	return &other
}

// Observer follows the progress of the work. Say may be called by several goroutines.
type Observer interface {
	Say(format string, args ...any)
	Bar(label string, done, total int64) Bar // of total units of work, some of them done
	Finished(dir string)                     // a run folder is done: its page can be written
}

// Bar shows progress.
type Bar interface {
	Set(done int64, note string) // done of the total, and a short note
	End()
}

// Ready resolves and checks a command. Its error is a *UsageError.
func Ready(c Command) (Command, error) {
	if r, ok := c.(Resolver); ok {
		var err error
		if c, err = r.Resolve(); err != nil {
			return nil, &UsageError{err}
		}
	}
	err := settings.CheckChoices(c)
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		return nil, &UsageError{err}
	}
	return c, nil
}

// Run runs a command that is ready and shows its result, also if there is an error: as JSON, if the command says so.
func Run(ctx context.Context, env *Env, c Command, out io.Writer) error {
	r, err := c.Do(ctx, env)
	if r == nil {
		return err
	}
	if late := show(r, c, out); late != nil {
		if err == nil {
			return late
		}
		return errors.Join(err, late)
	}
	if on, ok := r.(Ongoing); ok && err == nil {
		return on.Go(ctx)
	}
	return err
}

func show(r Result, c Command, out io.Writer) error {
	if p, ok := r.(Piped); ok {
		if err := p.Pipe(out); err != nil {
			return err
		}
	}
	if j, ok := c.(interface{ AsJSON() bool }); !ok || !j.AsJSON() {
		r.Print(out)
		return nil
	}
	data, err := json.MarshalIndent(r.JSON(), "", "  ")
	if err == nil {
		_, err = out.Write(append(data, '\n'))
	}
	return err
}

// UsageError says that a command has settings that make no sense: the program exits with 2, not 1.
type UsageError struct{ Err error }

// Error is that of the settings.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the settings.
func (e *UsageError) Unwrap() error { return e.Err }

// Printed is part of the commands that can print their result as JSON.
type Printed struct {
	JSON bool `name:"json" json:"-" role:"output"`
}

// Texts are the words for its settings.
func (*Printed) Texts() settings.Texts {
	return settings.Texts{Help: map[string]string{"json": "Print one JSON object."}}
}

// AsJSON reports whether the result is to be printed as JSON.
func (p Printed) AsJSON() bool { return p.JSON }

// File is a file that --out names, or standard output, which the command line writes.
type File struct {
	Path  string // "": none; "-": standard output
	write func(io.Writer) error
}

// NewFile returns the file with these bytes.
func NewFile(path string, data []byte) File {
	return File{path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}}
}

// Save writes the file, whole or not at all, unless it is standard output.
func (f File) Save() error {
	if f.Path == "" || f.Path == "-" {
		return nil
	}
	return runlog.WriteTo(f.Path, f.write)
}

// Pipe writes what --out - sends to standard output.
func (f File) Pipe(w io.Writer) error {
	if f.Path != "-" {
		return nil
	}
	return f.write(w)
}

var _ Piped = File{}
