package command

import (
	"context"
	"fmt"
	"runtime"
	"text/tabwriter"

	"golang.org/x/sys/cpu"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/nets"
)

// Doctor is `bregman doctor`: what this machine can do, and what there is to train.
type Doctor struct {
	Try  bool `kong:"name='try',help='Start each engine that was found, to see whether it does.'" json:"-"`
	JSON bool `kong:"name='json',help='Print one JSON object.'" json:"-"`
}

// Help is shown by --help.
func (*Doctor) Help() string {
	return `Examples:
  bregman doctor
  bregman doctor --try

Lists the engines that were found, those that were not and why, the data sets on this machine, the networks, and versions.
A plugin that was found may still not start: --try starts each, which takes seconds and, on a GPU, its memory.`
}

// Run looks around and prints what it sees.
func (d *Doctor) Run(_ context.Context, con *Console) error {
	engines, data := engine.Look(), images.List()
	if d.Try {
		engines = engine.Probe(engines)
	}
	avx := runtime.GOARCH == "amd64" && cpu.X86.HasAVX2 && cpu.X86.HasFMA
	if d.JSON {
		return con.PrintJSON(map[string]any{"version": con.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": runtime.NumCPU(), "avx2": avx,
			"engines": engines, "data": data})
	}
	yes := map[bool]string{true: "yes", false: "no"}
	t := tabwriter.NewWriter(con.Out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(t, "bregman %s, %s, %s/%s, %s, AVX2 kernels: %s\n", con.Version, runtime.Version(), runtime.GOOS,
		runtime.GOARCH, render.Count(runtime.NumCPU(), "core"), yes[avx])
	fmt.Fprint(t, "\nEngines for networks, the best first\nengine\tusable\twhere\twhat\n")
	for _, e := range engines {
		usable := yes[e.Usable]
		if e.Usable && !e.Tried {
			usable = "found, not tried"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", e.Name, usable, e.Where, e.Why)
	}
	fmt.Fprintf(t, "\nImage data; fetched sets go to %s\nname\there\twhere\twhat\n", images.DataDir())
	for _, i := range data {
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
	return t.Flush()
}
