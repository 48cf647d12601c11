package job

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sys/cpu"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/report"
)

// Doctor is `bregman doctor`: what this machine can do.
type Doctor struct {
	JSON bool `kong:"name='json',help='Print one JSON object.'" json:"-"`
}

// Help is shown by --help.
func (*Doctor) Help() string {
	return `Example:
  bregman doctor

Lists the engines that were found, those that were not and why, the data sets that are here, and versions.`
}

// Run looks around and prints what it sees.
func (d *Doctor) Run(_ context.Context, con *Console) error {
	engines, data := engine.Look(), images.List()
	avx := runtime.GOARCH == "amd64" && cpu.X86.HasAVX2 && cpu.X86.HasFMA
	if d.JSON {
		return con.PrintJSON(map[string]any{"version": con.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": runtime.NumCPU(), "avx2": avx,
			"engines": engines, "data": data})
	}
	fmt.Fprintf(con.Out, "bregman %s, %s, %s/%s, %d cores, AVX2 kernels: %v\n\n", con.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), avx)
	t := report.Table{Title: "Engines for networks, the best first", Header: []string{"engine", "usable", "where", "what"}}
	yes := map[bool]string{true: "yes", false: "no"}
	for _, e := range engines {
		t.Rows = append(t.Rows, []report.Cell{report.Text("%s", e.Name), report.Text("%s", yes[e.Usable]), report.Text("%s", e.Where), report.Text("%s", e.Why)})
	}
	fmt.Fprintln(con.Out, t.Text())
	t = report.Table{Title: "Image data in " + images.DataDir(), Header: []string{"name", "here", "what"}}
	for _, i := range data {
		t.Rows = append(t.Rows, []report.Cell{report.Text("%s", i.Name), report.Text("%s", yes[i.Here]), report.Text("%s", i.About)})
	}
	fmt.Fprint(con.Out, t.Text())
	return nil
}
