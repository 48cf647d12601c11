package nets

import (
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine/cpu"
)

// One backend for all: a tensor that has been on one does not go to another.
// BREGMAN_TEST_ENGINE takes another engine, say go:ops_sequential: GoMLX's own, with the forms that XLA gets.
var newBackend = sync.OnceValues(func() (compute.Backend, error) {
	return compute.NewWithConfig(cmp.Or(os.Getenv("BREGMAN_TEST_ENGINE"), cpu.Name))
})

func testBackend(t *testing.T) compute.Backend {
	t.Helper()
	backend, err := newBackend()
	if err != nil {
		t.Fatal(err)
	}
	return backend
}

func mustNet(t *testing.T, name string) Net {
	t.Helper()
	n, err := ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// array is a float64 tensor on the host.
type array struct {
	flat []float64
	dims []int
}

func random(seed uint64, dims ...int) array {
	r := rand.New(rand.NewPCG(seed, 1))
	a := zeros(dims...)
	for i := range a.flat {
		a.flat[i] = r.NormFloat64()
	}
	return a
}

func zeros(dims ...int) array {
	return array{make([]float64, shapes.Make(dtypes.Float64, dims...).Size()), dims}
}

func (a array) at(i, j, k, l int) *float64 {
	return &a.flat[((i*a.dims[1]+j)*a.dims[2]+k)*a.dims[3]+l]
}

func (a array) tensor() *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(slices.Clone(a.flat), a.dims...)
}

func anyTensors(arrays []array) []any {
	args := make([]any, len(arrays))
	for i, a := range arrays {
		args[i] = a.tensor()
	}
	return args
}

func flat(t *testing.T, x *tensors.Tensor) []float64 {
	t.Helper()
	if x.DType() == dtypes.Float64 {
		return tensors.MustCopyFlatData[float64](x)
	}
	var out []float64
	for _, v := range tensors.MustCopyFlatData[float32](x) {
		out = append(out, float64(v))
	}
	return out
}

// value of a variable below the scope /model.
func value(t *testing.T, store *model.Store, path string) []float64 {
	t.Helper()
	v := store.GetVariable("/model/" + path)
	if v == nil {
		t.Fatalf("no variable %s", path)
	}
	return flat(t, v.MustValue())
}

func setValue(t *testing.T, v *model.Variable, values []float64) {
	t.Helper()
	if err := v.SetValue(array{values, v.Shape().Dimensions}.tensor()); err != nil {
		t.Fatal(err)
	}
}

func eval(t *testing.T, fn func(x []*Node) *Node, inputs ...array) []float64 {
	t.Helper()
	return flat(t, MustNewExec(testBackend(t), fn).MustCall(anyTensors(inputs)...)[0])
}

// weighted makes a scalar of y whose gradient is different everywhere.
func weighted(y *Node) *Node {
	w := Sin(AddScalar(IotaFull(y.Graph(), y.Shape()), 1))
	return ReduceAllSum(Mul(w, y))
}

func close(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Fatalf("%s[%d] = %.12g, want %.12g", what, i, got[i], want[i])
		}
	}
}

// checkGradient compares GoMLX's gradient of loss, by its inputs and by the
// trainable variables under /model, with central differences in float64. With
// steps of 1e-5 these are good to about 1e-10 by truncation and 1e-11 by
// rounding for values and derivatives of order 1; the tolerance is 1e-6.
func checkGradient(t *testing.T, loss func(scope *model.Scope, x []*Node) *Node, inputs ...array) {
	t.Helper()
	const step, tolerance = 1e-5, 1e-6
	store := model.NewStore()
	scope := store.Scope("/model")
	exec := model.MustNewExec(testBackend(t), store, func(_ *model.Scope, x []*Node) []*Node {
		l := loss(scope, x)
		by := slices.Clone(x)
		for _, v := range Params(scope) {
			by = append(by, v.NodeValue(l))
		}
		return append([]*Node{l}, Gradient(l, by...)...)
	})
	call := func() [][]float64 {
		out := exec.MustCall(anyTensors(inputs)...)
		values := make([][]float64, len(out))
		for i, o := range out {
			values[i] = flat(t, o)
		}
		return values
	}
	gradients := call()[1:]

	difference := func(values []float64, i int, set func()) float64 {
		old := values[i]
		values[i] = old + step
		set()
		up := call()[0][0]
		values[i] = old - step
		set()
		down := call()[0][0]
		values[i] = old
		set()
		return (up - down) / (2 * step)
	}
	check := func(what string, values, gradient []float64, set func()) {
		t.Helper()
		// A prime stride visits at most about 40 entries, all over the array.
		stride := 1
		for _, p := range []int{3, 7, 17, 41, 101} {
			if len(values)/stride > 40 {
				stride = p
			}
		}
		largest := 0.0
		for i := 0; i < len(values); i += stride {
			close(t, what, gradient[i:i+1], []float64{difference(values, i, set)}, tolerance)
			largest = max(largest, math.Abs(gradient[i]))
		}
		if largest < 1e-3 {
			t.Fatalf("%s: no gradient above 1e-3, the check sees nothing", what)
		}
	}
	for i, x := range inputs {
		check("input", x.flat, gradients[i], func() {})
	}
	for i, v := range Params(scope) {
		values := flat(t, v.MustValue())
		check(v.Path(), values, gradients[len(inputs)+i], func() { setValue(t, v, values) })
	}
}
