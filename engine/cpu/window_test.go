package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/engine/cpu"
)

// poolByReshape is a max pool of 2 × 2 in other operations: lines two by two, then columns.
func poolByReshape(x *Node) *Node {
	d := x.Shape().Dimensions
	x = ReduceMax(Reshape(x, d[0]*d[1]/2, 2, d[2]*d[3]), 1)
	x = ReduceMax(Reshape(x, d[0]*d[1]/2*d[2]/2, 2, d[3]), 1)
	return Reshape(x, d[0], d[1]/2, d[2]/2, d[3])
}

func pools() map[string]func(x *Node) *Node {
	return map[string]func(x *Node) *Node{
		"reshape":  poolByReshape,
		"MaxPool":  func(x *Node) *Node { return MaxPool(x).Window(2).Done() },
		"MeanPool": func(x *Node) *Node { return MeanPool(x).Window(2).Done() },
		"MaxPool3": func(x *Node) *Node { return MaxPool(x).Window(3).Strides(2).PadSame().Done() },
	}
}

func normals(size int) []float32 {
	rng := rand.New(rand.NewPCG(7, 8))
	out := make([]float32, size)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

func BenchmarkPools(b *testing.B) {
	backend, err := cpu.New("")
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Finalize()
	for _, dims := range [][]int{{64, 32, 32, 64}, {128, 28, 28, 16}, {64, 8, 8, 256}} {
		size := dims[0] * dims[1] * dims[2] * dims[3]
		x := tensors.FromFlatDataAndDimensions(normals(size), dims...)
		for _, name := range []string{"reshape", "MaxPool", "MeanPool", "MaxPool3"} {
			pool := pools()[name]
			v := tensors.FromFlatDataAndDimensions(normals(size/4), dims[0], dims[1]/2, dims[2]/2, dims[3])
			forward := MustNewExec(backend, func(x *Node) *Node { return pool(x) })
			back := MustNewExec(backend, func(x, v *Node) *Node {
				return Gradient(ReduceAllSum(Mul(pool(x), v)), x)[0]
			})
			b.Run(fmt.Sprint(name, "/forward/", dims), func(b *testing.B) {
				for b.Loop() {
					forward.MustCall(x)[0].MustFinalizeAll()
				}
			})
			b.Run(fmt.Sprint(name, "/gradient/", dims), func(b *testing.B) {
				for b.Loop() {
					back.MustCall(x, v)[0].MustFinalizeAll()
				}
			})
		}
	}
}
