package command

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"

	"golang.org/x/sys/cpu"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/nets"
)

// Doctor is `bregman doctor`: what this machine can do, and what there is to train.
type Doctor struct {
	Try bool `name:"try" json:"-"`
	Printed
}

// Texts are the words for its settings.
func (*Doctor) Texts() settings.Texts {
	return settings.Texts{
		About: "What this machine can do: engines, data, networks, versions.",
		Help: map[string]string{
			"try": "Start each engine that was found, to see whether it does.",
		},
	}
}

// Help is shown by --help.
func (*Doctor) Help() string {
	return `Examples:
  bregman doctor
  bregman doctor --try

Lists the engines that were found, those that were not and why, the memory and whether two typical trainings fit, the
data sets on this machine, the networks, and versions. A plugin that was found may still not start, or not let steps
run without waiting: --try starts each, which takes seconds and, on a GPU, its memory.`
}

// Check finds nothing wrong.
func (*Doctor) Check() error { return nil }

// Machine is the result of doctor: what this machine has.
type Machine struct {
	version string
	avx     bool
	engines []engine.Finding
	memory  Budget
	data    []images.Info
}

var _ Result = (*Machine)(nil)

// Do finds them.
func (d *Doctor) Do(_ context.Context, env *Env) (Result, error) {
	m := &Machine{version: env.Version, avx: runtime.GOARCH == "amd64" && cpu.X86.HasAVX2 && cpu.X86.HasFMA,
		engines: engine.Look(), data: images.List()}
	if d.Try {
		m.engines = engine.Probe(m.engines)
	}
	var err error
	m.memory, err = findBudget(slices.ContainsFunc(m.engines, func(f engine.Finding) bool {
		return f.Usable && f.Name == engine.CUDA
	}))
	return m, err
}

// JSON has everything but the networks.
func (m *Machine) JSON() any {
	return map[string]any{"version": m.version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		"cpus": runtime.NumCPU(), "avx2": m.avx, "engines": m.engines, "memory": m.memory, "data": m.data}
}

// Print shows tables.
func (m *Machine) Print(w io.Writer) {
	yes := map[bool]string{true: "yes", false: "no"}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintf(t, "bregman %s, %s, %s/%s, %s, AVX2 kernels: %s\n", m.version, runtime.Version(), runtime.GOOS,
		runtime.GOARCH, render.Count(runtime.NumCPU(), "core"), yes[m.avx])
	fmt.Fprint(t, "\nEngines for networks, the best first\nengine\tusable\twhere\twhat\n")
	for _, e := range m.engines {
		usable := yes[e.Usable]
		if e.Usable && !e.Tried {
			usable = "found, not tried"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", e.Name, usable, e.Where, e.Why)
	}
	m.memory.print(t)
	fmt.Fprintf(t, "\nImage data; fetched sets go to %s\nname\there\twhere\twhat\n", images.DataDir())
	for _, i := range m.data {
		where := ""
		if i.Here {
			where = i.Where
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", i.Name, yes[i.Here], where, i.About)
	}
	fmt.Fprint(t, "\nNetworks\nname\twhat\n")
	for _, name := range nets.Names() {
		fmt.Fprintf(t, "%s\t%s\n", name, must(nets.ByName(name)).About)
	}
	t.Flush()
}
