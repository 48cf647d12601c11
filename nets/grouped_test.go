package nets

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// The two other forms of a grouped convolution are checked by finite differences in float64; this one has to agree with
// them, value and gradients, to what float32 sums of at most 2·9·9·3 terms lose.
func TestGroupedConvolutionsAgreeWithTheirOtherForms(t *testing.T) {
	backend := testBackend(t)
	if backend.Name() != "cpu" {
		t.Skip("this engine takes the other forms")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	random := func(dims ...int) *tensors.Tensor {
		n := 1
		for _, d := range dims {
			n *= d
		}
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return tensors.FromFlatDataAndDimensions(v, dims...)
	}
	for _, c := range []struct{ h, w, channels, width, out, side, stride int }{
		{8, 8, 6, 1, 6, 3, 1}, {9, 7, 6, 1, 6, 3, 2}, {8, 8, 40, 1, 40, 3, 2}, {8, 8, 24, 8, 24, 3, 1},
		{8, 9, 24, 8, 24, 3, 2}, {6, 6, 4, 2, 8, 3, 2}, {7, 7, 4, 2, 8, 1, 2}, {5, 5, 3, 1, 3, 5, 1},
	} {
		groups := c.channels / c.width
		x, k := random(2, c.h, c.w, c.channels), random(c.side, c.side, c.width, c.out)
		pad := (c.side - 1) / 2
		oh, ow := (c.h+2*pad-c.side)/c.stride+1, (c.w+2*pad-c.side)/c.stride+1
		v := random(2, oh, ow, c.out)
		forms := map[string]func(x, k *Node) *Node{
			"grouped":        func(x, k *Node) *Node { return grouped(x, k, groups, c.stride) },
			"block diagonal": func(x, k *Node) *Node { return convolve(x, blockDiagonal(k, groups), c.stride) },
		}
		if c.width == 1 && c.out == c.channels {
			forms["shifted"] = func(x, k *Node) *Node { return depthwise(x, k, c.stride) }
		}
		results := map[string][][]float32{}
		for name, form := range forms {
			out, err := CallOnceN(backend, func(x, k, v *Node) []*Node {
				y := form(x, k)
				return append([]*Node{y}, Gradient(ReduceAllSum(Mul(y, v)), x, k)...)
			}, x, k, v)
			if err != nil {
				t.Fatalf("%+v, %s: %+v", c, name, err)
			}
			for _, o := range out {
				flat, err := tensors.CopyFlatData[float32](o)
				if err != nil {
					t.Fatal(err)
				}
				results[name] = append(results[name], flat)
			}
		}
		for name, got := range results {
			for i, what := range []string{"value", "gradient by the input", "gradient by the kernel"} {
				want := results["block diagonal"][i]
				for j, w := range want {
					if math.Abs(float64(got[i][j]-w)) > 1e-4 {
						t.Fatalf("%+v, %s, %s at %d: %v, want %v", c, name, what, j, got[i][j], w)
					}
				}
			}
		}
	}
}
