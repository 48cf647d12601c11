// Package engine chooses where graphs run: on a CUDA GPU through XLA's PJRT plugins, on our own engine for CPUs, on a
// CPU through XLA, or on GoMLX's engine in Go.
package engine

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // "go"

	_ "github.com/bregman-ml/bregman/engine/cpu" // "cpu"
)

// Engine is a place to run graphs.
type Engine struct {
	Name    string // a name of All but "auto", or "plugin"
	Where   string // the plugin's path
	Backend compute.Backend
	Passed  []string // better ones that "auto" found, tried and passed over, and why: who asked should hear of it

	// InFlight is how many steps of a program may be unfinished when the next is handed over; 0: each is awaited. Waits
	// says why, where the plugin does not let it be otherwise: who asked should hear of it, too.
	InFlight int
	Waits    string

	// Plain says why kernels of ours are not used, where they could have been: who asked should hear of it.
	Plain string

	memory    float64     // of a GPU: the share that the engine takes
	noKernels string      // why no kernels of ours are used; "" on a GPU: they are
	queues    bool        // the plugin's steps go through queues of ours, so that InFlight can change
	compiling *sync.Mutex // of all engines of a pool; nil: none
}

// Compile calls f, which compiles a program, when no other engine of the pool compiles. XLA tries which kernels are
// fastest, for which it needs a GPU for itself, and keeps what it found: the next engine need not.
func (e *Engine) Compile(f func() error) error {
	if e.compiling != nil {
		e.compiling.Lock()
		defer e.compiling.Unlock()
	}
	return f()
}

// Finding is one place where an engine was looked for, for doctor.
type Finding struct {
	Name   string `json:"name"`
	Where  string `json:"where"`
	Usable bool   `json:"usable"` // it was found and, where it was tried, starts
	Tried  bool   `json:"tried"`
	Why    string `json:"why"` // why not, or what it is

	what string // what it is, without what the settings add
}

// The names of engines.
const (
	Auto   = "auto"
	CUDA   = "cuda"
	CPU    = "cpu"
	XLACPU = "xla-cpu"
	Go     = "go"
	Plugin = "plugin" // of an engine that was opened by its path
)

// Info is what Open takes by name, and what to say of it.
type Info struct {
	Name  string
	About string // one line for a list of engines
}

// All are the names that Open takes, besides the path of a PJRT plugin: "auto", and then the engines, the best first.
var All = []Info{
	{Auto, "the best that starts"},
	{CUDA, "XLA on an NVIDIA GPU, through a PJRT plugin"},
	{CPU, "our engine for CPUs: Go and assembly"},
	{XLACPU, "XLA on a CPU, through a PJRT plugin"},
	{Go, "GoMLX's engine in Go: slow, the yardstick for the others"},
}

// Names lists the names of All.
func Names() []string {
	names := make([]string, len(All))
	for i, e := range All {
		names[i] = e.Name
	}
	return names
}

// Look finds the engines of this machine, the best first. It starts none.
func Look() []Finding {
	var found []Finding
	cuda, cpu := lookXLA()
	for _, e := range All {
		switch e.Name {
		case Auto:
		case CUDA:
			found = append(found, withSteps(cuda)...)
		case XLACPU:
			found = append(found, cpu...)
		default:
			found = append(found, Finding{Name: e.Name, Where: "built in", Usable: true, Tried: true, Why: e.About})
		}
	}
	return found
}

// Probe starts each engine that Look found, one after the other, and returns what came of it. As Open, it may start the
// process again.
func Probe(found []Finding) []Finding {
	out := slices.Clone(found)
	for i, f := range out {
		if !f.Usable || f.Tried {
			continue
		}
		out[i].Tried = true
		e, err := open(f)
		if err != nil {
			out[i].Usable, out[i].Why = false, "does not start: "+firstLine(err)
			continue
		}
		if f.what != "" {
			out[i].Why = f.what + "; " + e.steps() + "; " + e.kernels()
		}
		e.Backend.Finalize()
	}
	return out
}

// GPUMemory is the environment variable that says how much of a GPU's memory to take, so that several programs can
// share one.
const GPUMemory = "BREGMAN_GPU_MEMORY"

// Open starts an engine: "auto" is the best that starts, another of Names demands it, a path is a PJRT plugin.
// It may start the process again with library paths that a CUDA plugin needs: call it early.
func Open(name string) (*Engine, error) { return openWith(open, name) }

// openWith is Open with another way to start what was found.
func openWith(start func(Finding) (*Engine, error), name string) (*Engine, error) {
	if strings.ContainsRune(name, os.PathSeparator) {
		return start(Finding{Name: Plugin, Where: name, Usable: true})
	}
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return openFirst(start, name, Look())
}

// First is the name of the engine that Open starts first; whether it starts is not known.
func First(name string) string {
	if name != "" && name != Auto {
		return name
	}
	for _, f := range Look() {
		if f.Usable {
			return f.Name
		}
	}
	return CPU
}

// CheckName returns an error for what Open never takes, on any machine.
func CheckName(name string) error {
	if name != "" && !slices.Contains(Names(), name) && !strings.ContainsRune(name, os.PathSeparator) {
		return fmt.Errorf("engine %q: choose %s, or the path of a PJRT plugin", name, strings.Join(Names(), ", "))
	}
	return nil
}

// openFirst starts the first that does of those found, or of those of this name.
func openFirst(start func(Finding) (*Engine, error), name string, found []Finding) (*Engine, error) {
	var why, passed []string
	for _, f := range found {
		if name != Auto && name != "" && f.Name != name {
			continue
		}
		if !f.Usable {
			why = append(why, f.Why)
			continue
		}
		e, err := start(f)
		if err == nil {
			e.Passed = passed
			return e, nil
		}
		passed = append(passed, fmt.Sprintf("%s does not start: %v", f.Where, firstLine(err)))
		why = append(why, passed[len(passed)-1])
	}
	if len(why) == 0 {
		why = append(why, "none was found; see bregman doctor")
	}
	return nil, fmt.Errorf("no engine %q: %s", name, strings.Join(why, "; "))
}

func open(f Finding) (*Engine, error) { return openShare(f, 1) }

// defaultMemory is the share of a GPU's memory that XLA takes by itself.
const defaultMemory = 0.75

// openShare starts what was found. A GPU gets one of so many shares of the memory that the program takes.
func openShare(f Finding, shares int) (*Engine, error) {
	config, memory := f.Name, defaultMemory
	switch f.Name {
	case CPU:
	case Go:
		config = "go:ops_sequential" // its parallel mode can deadlock on few cores
	default:
		if err := prepare(f.Where); err != nil {
			return nil, err
		}
		config = "xla:" + f.Where
		if f.Name == CUDA {
			config += ",preallocate=true" // 7 to 10 % quicker than allocating as it goes
			if text := os.Getenv(GPUMemory); text != "" {
				var err error
				if memory, err = strconv.ParseFloat(text, 64); err != nil || !(memory > 0 && memory < 1) {
					return nil, fmt.Errorf("%s=%s: want a share of the GPU's memory, say 0.3", GPUMemory, text)
				}
			}
			config += fmt.Sprintf(",memory_fraction=%.4g", memory/float64(shares))
		}
	}
	e := &Engine{Name: f.Name, Where: f.Where, memory: memory / float64(shares)}
	if isCUDA(f) {
		opening.Lock()
		defer opening.Unlock()
		if err := e.letRun(); err != nil {
			return nil, err
		}
	}
	err := Try(func() error {
		var err error
		e.Backend, err = compute.NewWithConfig(config)
		return err
	})
	if err == nil && isCUDA(f) {
		e.useKernels()
	}
	return e, err
}

// Try runs f and turns a panic, by which GoMLX reports errors of graph building, into an error. It is the one place
// that does.
func Try(f func() error) (err error) {
	defer func() {
		switch thrown := recover().(type) {
		case nil:
		case runtime.Error:
			err = &Panic{thrown, debug.Stack()}
		case error:
			err = thrown
		default:
			err = &Panic{fmt.Errorf("%v", thrown), debug.Stack()}
		}
	}()
	return f()
}

// Panic is an error that was thrown and is no error of graph building: a bug, here or in an engine. %+v shows where.
type Panic struct {
	Err   error
	Stack []byte
}

func (p *Panic) Error() string { return p.Err.Error() }
func (p *Panic) Unwrap() error { return p.Err }

// Format writes the stack, too, for %+v.
func (p *Panic) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, fmt.FormatString(plain{s}, verb), p.Err)
	if verb == 'v' && s.Flag('+') {
		fmt.Fprintf(s, "\n%s", p.Stack)
	}
}

// plain is a state without the + flag.
type plain struct{ fmt.State }

func (p plain) Flag(c int) bool { return c != '+' && p.State.Flag(c) }

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
