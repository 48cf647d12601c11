package customop_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/engine/customop"
)

// pluginVariable names a CUDA plugin, for tests that need a GPU:
//
//	BREGMAN_TEST_PLUGIN=…/xla_cuda_plugin.so go test ./engine/customop -run OnAGPU -v
const pluginVariable = "BREGMAN_TEST_PLUGIN"

// noise has numbers between −2 and 2 that differ from place to place, in bfloat16 or, for vectors, float32.
func noise(g *Graph, seed uint32, dtype dtypes.DType, dims ...int) *Node {
	n := shapes.Make(dtypes.Uint32, dims...).Size()
	x := Iota(g, shapes.Make(dtypes.Uint32, n), 0)
	for _, factor := range []uint32{2654435761, 2246822519, 3266489917} {
		x = Mul(AddScalar(x, float64(seed)), Const(g, factor))
		x = BitwiseXor(x, BitwiseShiftRightLogicalScalar(x, uint32(15)))
	}
	f := ConvertDType(BitwiseShiftRightLogicalScalar(x, uint32(8)), dtypes.Float32)
	return Reshape(ConvertDType(AddScalar(MulScalar(f, 4.0/(1<<24)), -2), dtype), dims...)
}

// operation is one of customop: its value and gradients, of pictures x and the gradient v by the value, which has sides
// as a convolution of this stride, or of pool 2 a half.
type operation struct {
	name    string
	stride  int
	half    bool
	between bool // something is rounded between x and the sums
	build   func(x, v *Node) []*Node
}

func (o operation) output(dims []int) []int {
	side := func(n int) int {
		if o.half {
			return n / 2
		}
		return (n-1)/o.stride + 1
	}
	return []int{dims[0], side(dims[1]), side(dims[2]), dims[3]}
}

func withGradients(y, v *Node, by ...*Node) []*Node {
	// The product is as wide as sums are; its gradient is v.
	loss := ReduceAllSum(Mul(ConvertDType(y, dtypes.Float32), ConvertDType(v, dtypes.Float32)))
	return append([]*Node{y}, Gradient(loss, by...)...)
}

func vector(x *Node, seed uint32, scale, shift float64) *Node {
	return AddScalar(MulScalar(noise(x.Graph(), seed, dtypes.Float32, x.Shape().Dimensions[3]), scale), shift)
}

func norm(x *Node, top float64) customop.Norm {
	return customop.Norm{X: x, Weight: vector(x, 2, 0.3, 2), Bias: vector(x, 3, 0.2, 1), Center: vector(x, 4, 0.05, 0.1),
		Inverse: vector(x, 5, 0.1, 1), Top: top}
}

func operations() []operation {
	all := []operation{
		{"moments", 1, false, false, func(x, _ *Node) []*Node { return []*Node{customop.Moments(x, vector(x, 2, 1, 0))} }},
		{"pool of 2", 2, true, false, func(x, v *Node) []*Node { return withGradients(pool(x, 2), v, x) }},
		{"pool of 3", 2, false, false, func(x, v *Node) []*Node { return withGradients(pool(x, 3), v, x) }},
	}
	all = append(all, operation{"norm and shortcut, read twice", 1, false, true, func(x, v *Node) []*Node {
		n := norm(x, customop.Linear)
		shortcut := StopGradient(Neg(v))
		y := n.ApplyAdd(shortcut) // two layers read it, so that its gradient is a sum of two
		return withGradients(Add(y, Mul(y, ConvertDType(vector(x, 8, 0.3, 1), x.DType()))), v, x, n.Weight, n.Bias)
	}})
	for _, top := range []float64{customop.Linear, customop.ReLU, customop.ReLU6} {
		name := fmt.Sprintf("norm clipped at %.3g", top)
		all = append(all, operation{name, 1, false, false, func(x, v *Node) []*Node {
			n := norm(x, top)
			return withGradients(n.Apply(), v, x, n.Weight, n.Bias)
		}})
	}
	for _, stride := range []int{1, 2} {
		name := fmt.Sprintf("depthwise, stride %d", stride)
		all = append(all, operation{name, stride, false, false, func(x, v *Node) []*Node {
			k := noise(x.Graph(), 6, dtypes.Float32, 3, 3, 1, x.Shape().Dimensions[3])
			return withGradients(customop.Depthwise(x, k, stride), v, x, k)
		}})
		for _, top := range []float64{customop.ReLU, customop.ReLU6} {
			name := fmt.Sprintf("depthwise of a norm clipped at %.3g, stride %d", top, stride)
			all = append(all, operation{name, stride, false, true, func(x, v *Node) []*Node {
				n := norm(x, top)
				k := noise(x.Graph(), 6, dtypes.Float32, 3, 3, 1, x.Shape().Dimensions[3])
				y, moments := n.Depthwise(k, stride, vector(x, 7, 1, 0))
				return append(withGradients(y, v, x, k, n.Weight, n.Bias), moments)
			}})
		}
		name = fmt.Sprintf("grouped, stride %d", stride)
		all = append(all, operation{name, stride, false, false, func(x, v *Node) []*Node {
			k := noise(x.Graph(), 6, dtypes.BFloat16, 3, 3, 8, x.Shape().Dimensions[3])
			return withGradients(customop.Grouped(x, k, stride), v, x, k)
		}})
	}
	return all
}

// pool is a max pool.
func pool(x *Node, side int) *Node {
	return customop.Pool(x, side, func() *Node {
		p := MaxPool(x).Window(side).Strides(2)
		if side == 3 {
			return p.PaddingPerDim([][2]int{{1, 1}, {1, 1}}).Done()
		}
		return p.NoPadding().Done()
	})
}

// Kernels compute what their plain forms do: at 512, 1000 and 1024 pictures, of 32, 64, 96 and 192 pixels and odd
// sides.
//
// Pictures are rounded to bfloat16, 2⁻⁹ of their size; where the two forms round another way they are one unit apart,
// 2⁻⁸, and a convolution adds nine such. Sums in float32 differ by less than 1e-3 of the largest, but for those behind
// a depthwise convolution of a norm: XLA leaves out the rounding of its plain form to bfloat16 in between.
func TestKernelsOnAGPU(t *testing.T) {
	path := os.Getenv(pluginVariable)
	if path == "" {
		t.Skip(pluginVariable + " names no plugin")
	}
	e, err := engine.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Backend.Finalize()
	if !customop.HasKernels(e.Backend) {
		t.Fatalf("no kernels: %s", e.Plain)
	}
	for _, dims := range [][]int{{512, 32, 32, 96}, {1000, 32, 32, 24}, {1024, 32, 32, 144}, {1024, 16, 16, 152},
		{1000, 8, 8, 368}, {1024, 4, 4, 960}, {512, 64, 64, 64}, {1000, 64, 64, 32}, {1024, 96, 96, 32}, {512, 96, 96, 96},
		{256, 192, 192, 32}, {1000, 6, 6, 960}, {100, 33, 47, 56}, {3, 13, 5, 8}} {
		t.Run(fmt.Sprint(dims), func(t *testing.T) {
			for _, op := range operations() {
				compare(t, e, op, dims)
			}
		})
	}
}

// compare fails if kernels and plain forms differ. The pictures are made by a program of their own: XLA would leave out
// the rounding to bfloat16 within one.
func compare(t *testing.T, e *engine.Engine, op operation, dims []int) {
	t.Helper()
	made, err := ExecOnceN(e.Backend, func(g *Graph) []*Node {
		return []*Node{noise(g, 1, dtypes.BFloat16, dims...), noise(g, 9, dtypes.BFloat16, op.output(dims)...)}
	})
	if err != nil {
		t.Fatal(err)
	}
	var rounded []bool
	results, err := ExecOnceN(e.Backend, func(x, v *Node) []*Node {
		ours := op.build(x, v)
		customop.Use(e.Backend, customop.PlainForms)
		defer customop.Use(e.Backend, customop.Kernels)
		var out []*Node
		rounded = nil
		for i, plain := range op.build(x, v) {
			rounded = append(rounded, plain.DType() == dtypes.BFloat16)
			a, b := ConvertDType(ours[i], dtypes.Float32), ConvertDType(plain, dtypes.Float32)
			out = append(out, ReduceAllMax(Abs(Sub(a, b))), ReduceAllMax(Abs(b)))
		}
		return out
	}, made[0], made[1])
	if err != nil {
		t.Errorf("%s, %v: %.2000v", op.name, dims, err)
		return
	}
	text := ""
	for i := 0; i < len(results); i += 2 {
		off, largest := tensors.ToScalar[float32](results[i]), tensors.ToScalar[float32](results[i+1])
		text += fmt.Sprintf(" %.1e", off/largest)
		tolerance := float32(1e-3)
		switch {
		case rounded[i/2]:
			tolerance = 1.0 / 64
		case op.between:
			tolerance = 1.0 / 256
		}
		if !(off <= tolerance*largest) || largest == 0 {
			t.Errorf("%s, %v: result %d is off by %v of %v", op.name, dims, i/2, off, largest)
		}
	}
	t.Logf("%s, %v:%s", op.name, dims, text)
	for _, m := range made {
		m.MustFinalizeAll()
	}
}
