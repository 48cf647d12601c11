package customop

import (
	"fmt"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Mode is what graphs of a backend compute where a kernel could be called.
type Mode int

const (
	Off        Mode = iota // what the network has in place of the kernel
	Kernels                // the kernel
	PlainForms             // what the kernel is meant to compute, in GoMLX's operations, of any type; for tests
)

// modes are those of backends, whose type and identity are GoMLX's.
var modes sync.Map

// Use sets the mode of graphs of b that are built from now on. The engine must replace the functions that stand for
// kernels if it is Kernels; [Probe] tells whether it does.
func Use(b compute.Backend, m Mode) { modes.Store(b, m) }

func mode(b compute.Backend) Mode {
	m, _ := modes.Load(b)
	is, _ := m.(Mode)
	return is
}

// HasKernels reports whether graphs of b call kernels, or compute their plain forms.
func HasKernels(b compute.Backend) bool { return mode(b) != Off }

// Probe runs a small kernel on b and returns an error if its result is wrong or there is none.
func Probe(b compute.Backend) error {
	defer Use(b, mode(b))
	Use(b, Kernels)
	const rows, channels = 1000, 24
	exec, err := NewExec(b, func(g *Graph) *Node {
		x := ConvertDType(Iota(g, shapes.Make(dtypes.Float32, 1, 1, rows, channels), 3), dtypes.BFloat16)
		return Moments(x, Const(g, make([]float32, channels)))
	})
	if err != nil {
		return err
	}
	defer exec.Finalize()
	out, err := exec.Call1()
	if err != nil {
		return err
	}
	for i, got := range tensors.MustCopyFlatData[float32](out) { // whole numbers: they are exact
		c := float32(i % channels)
		want := rows * c
		if i >= channels {
			want *= c
		}
		if got != want {
			return fmt.Errorf("a kernel computed %v instead of %v", got, want)
		}
	}
	return nil
}
