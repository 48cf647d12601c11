package nets

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// gradients32 returns the gradients by every parameter of a network for random pictures, computed in the pictures'
// type.
func gradients32[T float32 | float64](t *testing.T, name string, seed uint64, batch, side int) [][]float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 6))
	x := make([]T, batch*side*side*3)
	for i := range x {
		x[i] = T(float32(rng.NormFloat64()))
	}
	net := mustNet(t, name)
	exec, err := model.NewExec(testBackend(t), model.NewStore(), func(scope *model.Scope, x *Node) []*Node {
		y := net.Logits(scope.In("model"), x, 10, true)
		label := Iota(x.Graph(), shapes.Make(dtypes.Int32, batch), 0)
		loss := ReduceAllMean(Mul(LogSoftmax(y), OneHot(Mod(label, ConstAs(label, 10)), 10, y.DType())))
		var params []*Node
		for _, v := range Params(scope) {
			params = append(params, v.NodeValue(x))
		}
		out := Gradient(loss, params...)
		for i := range out {
			out[i] = ConvertDType(out[i], dtypes.Float64)
		}
		return out
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Call(tensors.FromFlatDataAndDimensions(x, batch, side, side, 3))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]float64
	for _, o := range out {
		flat, err := tensors.CopyFlatData[float64](o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, flat)
	}
	return all
}

// In float32 a gradient is a sum of some thousand terms behind others of the same kind: 1e-5 of the tensor's largest
// element allows each of them some twenty roundings of 6e-8. Where a unit's input is within rounding of 0, ReLU may let
// it pass in one type and not in the other, which shows in all gradients before it: the median of three seeds leaves it
// out.
func TestFloat32GradientsAreThoseOfFloat64(t *testing.T) {
	if testBackend(t).Name() != "cpu" {
		t.Skip("GoMLX's engine adds float32 numbers one after another and is ten times less exact")
	}
	const name, bound = "cnn", 1e-5
	var worst [][]float64 // by tensor and seed
	for seed := range uint64(3) {
		got, want := gradients32[float32](t, name, seed, 20, 28), gradients32[float64](t, name, seed, 20, 28)
		if worst == nil {
			worst = make([][]float64, len(got))
		}
		for k := range want {
			var largest, apart float64
			for i, w := range want[k] {
				largest, apart = max(largest, math.Abs(w)), max(apart, math.Abs(w-got[k][i]))
			}
			worst[k] = append(worst[k], apart/largest)
		}
	}
	for k, w := range worst {
		slices.Sort(w)
		if w[1] > bound {
			t.Errorf("parameter %d: off by %v of its largest element", k, w)
		}
	}
}
