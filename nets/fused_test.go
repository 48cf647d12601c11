package nets

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine/customop"
)

// blocks use every kernel, on pictures of so many channels.
var blocks = map[string]struct {
	channels int
	build    func(b *Builder, x *Node) *Node
}{
	"basic block": {8, func(b *Builder, x *Node) *Node { return basicBlock(b, x, 16, 2) }},
	"same shape":  {8, func(b *Builder, x *Node) *Node { return basicBlock(b, x, 8, 1) }},
	"two blocks": {8, func(b *Builder, x *Node) *Node {
		return basicBlock(b.In("1"), basicBlock(b.In("0"), x, 8, 1), 8, 1)
	}},
	"bias":        {8, func(b *Builder, x *Node) *Node { return maxPool(b.convBiasNormReLU("0", "1", x, 16)) }},
	"inverted":    {8, func(b *Builder, x *Node) *Node { return invertedResidual(b, x, 3, 8, 1) }},
	"stride":      {8, func(b *Builder, x *Node) *Node { return invertedResidual(b, x, 2, 16, 2) }},
	"torch":       {8, func(b *Builder, x *Node) *Node { return torchInvertedResidual(b, x, 2, 16, 2) }},
	"not widened": {8, func(b *Builder, x *Node) *Node { return torchInvertedResidual(b, x, 1, 16, 1) }},
	"groups":      {8, func(b *Builder, x *Node) *Node { return groupedBottleneck(b, x, 24, 1) }},
	"groups of 2": {8, func(b *Builder, x *Node) *Node { return groupedBottleneck(b, x, 16, 2) }},
	"pool":        {8, func(b *Builder, x *Node) *Node { return maxPool3(b.NormReLU6("n", x)) }},
}

// What kernels are meant to compute, by their plain forms, is what the networks' layers compute without them: values,
// gradients by the pictures and all weights, and the running statistics. All in float64, so that only the order of
// additions differs. A bias before batch norm has a gradient of 0, and without kernels nearly so.
func TestKernelsAreMeantToComputeTheSame(t *testing.T) {
	defer customop.Use(testBackend(t), customop.Off)
	for name, block := range blocks {
		for _, side := range [][2]int{{6, 7}, {5, 4}} {
			for _, blurred := range []bool{false, true} {
				x := random(7, 3, side[0], side[1], block.channels)
				run := func(backend compute.Backend) map[string][]float64 {
					store := model.NewStore()
					scope := store.Scope("/model")
					var names []string
					exec, err := model.NewExec(backend, store, func(scope *model.Scope, x *Node) []*Node {
						b := at64(scope.At("model"), true)
						if blurred {
							b.blurred = map[*Node]*Node{}
						}
						// Moments away from 0 and slopes that clip some values at 6.
						y := block.build(b, AddScalar(MulScalar(x, 4), 1))
						params := Params(scope.At("model"))
						by := []*Node{x}
						names = []string{"x"}
						for _, v := range params {
							by, names = append(by, v.NodeValue(x)), append(names, v.Path())
						}
						return append([]*Node{y}, Gradient(weighted(Square(y)), by...)...)
					})
					if err != nil {
						t.Fatal(err)
					}
					out, err := exec.Call(x.tensor())
					if err != nil {
						t.Fatalf("%s: %.300v", name, err)
					}
					results := map[string][]float64{"value": flat(t, out[0])}
					for i, o := range out[1:] {
						results["by "+names[i]] = flat(t, o)
					}
					for v := range scope.IterVariables() {
						results[v.Path()] = flat(t, v.MustValue())
					}
					return results
				}
				backend := testBackend(t)
				want := run(backend)
				customop.Use(backend, customop.PlainForms)
				got := run(backend)
				customop.Use(backend, customop.Off)
				if len(got) != len(want) {
					t.Errorf("%s: %d results, want %d", name, len(got), len(want))
				}
				for what, w := range want {
					closeTo(t, fmt.Sprintf("%s, %v, blurred %v: %s", name, side, blurred, what), got[what], w, 1e-9)
				}
			}
		}
	}
}

// closeTo fails if got is further from want than this share of the largest want, or of 1.
func closeTo(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	scale := max(1, slices.Max(want), -slices.Min(want))
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= tolerance*scale) {
			t.Errorf("%s: number %d is %v, want %v", what, i, got[i], w)
			return
		}
	}
}
