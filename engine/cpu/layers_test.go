package cpu_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/gotype"
	"github.com/gomlx/compute/gobackend"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/layers/attention"
	"github.com/gomlx/gomlx/ml/layers/attention/pos"
	"github.com/gomlx/gomlx/ml/layers/lstm"
	"github.com/gomlx/gomlx/ml/layers/norm"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine/cpu"
)

// layer is a part of somebody's network.
type layer struct {
	dims  []int // of x; with integers, numbers below 7
	ints  bool
	but   string // an operation that may run on GoMLX's engine
	apply func(scope *model.Scope, x *Node) *Node
}

var gomlxLayers = map[string]layer{
	"embedding": {dims: []int{4, 6, 1}, ints: true, apply: func(scope *model.Scope, x *Node) *Node {
		return layers.Embedding(scope, x, dtypes.Float32, 7, 8)
	}},
	"dense": {dims: []int{3, 4, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		return layers.Dense(scope, x, true, 5)
	}},
	"layer norm": {dims: []int{3, 4, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		return norm.LayerNorm(scope, x, -1).Done()
	}},
	"root mean square norm": {dims: []int{3, 4, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		return norm.RMSNorm(scope, x).Done()
	}},
	"batch norm": {dims: []int{8, 3, 3, 4}, apply: func(scope *model.Scope, x *Node) *Node {
		return norm.BatchNorm(scope, x, -1).UseBackendInference(false).Done()
	}},
	"dropout": {dims: []int{3, 40}, but: "RNGBitGenerator", apply: func(scope *model.Scope, x *Node) *Node {
		return layers.Dropout(scope, x, Const(x.Graph(), float32(0.25)))
	}},
	"GELU": {dims: []int{3, 40}, apply: func(scope *model.Scope, x *Node) *Node { return activation.Gelu(x) }},
	"GELU by tanh": {dims: []int{3, 40}, apply: func(scope *model.Scope, x *Node) *Node {
		return activation.GeluApproximate(Abs(x)) // the gradient of a power of a negative number is NaN in GoMLX
	}},
	"SwiGLU":  {dims: []int{3, 40}, apply: func(scope *model.Scope, x *Node) *Node { return activation.SwiGLU(x) }},
	"softmax": {dims: []int{3, 4, 8}, apply: func(scope *model.Scope, x *Node) *Node { return Softmax(x) }},
	"attention": {dims: []int{3, 6, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		return attention.SelfAttention(scope, x, 2, 4).Done()
	}},
	"causal attention with RoPE": {dims: []int{3, 6, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		return attention.SelfAttention(scope, x, 2, 4).WithCausalMask(true).WithPositionalEncoder(pos.NewRoPE(10000)).Done()
	}},
	"attention in groups": {dims: []int{3, 6, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		return attention.SelfAttention(scope, x, 4, 4).WithNumKVHeads(2).Done()
	}},
	"LSTM": {dims: []int{3, 6, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		all, _, _ := lstm.New(scope, x, 5).Direction(lstm.DirBidirectional).Done()
		return all
	}},
	"convolution along an axis": {dims: []int{3, 9, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		x = layers.Convolution(scope, x).Channels(6).KernelSize(3).PadSame().Done()
		return layers.Convolution(scope.In("second"), x).Channels(5).KernelSize(3).NoPadding().Strides(2).Done()
	}},
	"convolution": {dims: []int{3, 9, 9, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		return layers.Convolution(scope, x).Channels(6).KernelSize(3).PadSame().Strides(2).Done()
	}},
	"max pool": {dims: []int{3, 9, 9, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		return MaxPool(x).Window(3).Strides(2).PadSame().Done()
	}},
	"mean pool": {dims: []int{3, 9, 9, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		return MeanPool(x).Window(3).Strides(2).NoPadding().Done()
	}},
	"mean pool of all": {dims: []int{3, 7, 7, 4}, apply: func(scope *model.Scope, x *Node) *Node {
		return MeanPool(x).Window(7).Done()
	}},
	"max pool along an axis": {dims: []int{3, 10, 8}, apply: func(scope *model.Scope, x *Node) *Node {
		return MaxPool(x).Window(2).Done()
	}},
}

// gradient runs a layer with weights of a seed, and the gradient of the sum of its squares by all weights and x.
func (l layer) gradient(t *testing.T, backend compute.Backend) (results []*tensors.Tensor, g *Graph) {
	t.Helper()
	store := model.NewStore()
	store.SetParam("/"+model.ParamInitialSeed, int64(42))
	size := 1
	for _, d := range l.dims {
		size *= d
	}
	x := tensors.FromFlatDataAndDimensions(normals(size), l.dims...)
	if l.ints {
		x = tensors.FromFlatDataAndDimensions(remainders[int32](size, 7), l.dims...)
	}
	exec, err := model.NewExec(backend, store, func(scope *model.Scope, x *Node) []*Node {
		store.SetTraining(x.Graph(), true)
		scope = scope.In("layer")
		y := l.apply(scope, x)
		loss := ReduceAllSum(Mul(y, Sin(IotaFull(y.Graph(), y.Shape()))))
		out := []*Node{y}
		of := []*Node{}
		if !l.ints {
			of = append(of, x)
		}
		for v := range scope.IterVariables() {
			if v.Trainable {
				of = append(of, v.NodeValue(x.Graph()))
			}
		}
		return append(out, Gradient(loss, of...)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	results, g, err = exec.CallWithGraph(x)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return results, g
}

func remainders[T gotype.NumericNotComplex](size, of int) []T {
	out := make([]T, size)
	for i := range out {
		out[i] = T(i * 5 % of)
	}
	return out
}

// Forward and backward, GoMLX's layers need nothing of GoMLX's engine, and have the results they have there.
func TestGoMLXsLayersAreNative(t *testing.T) {
	ours, err := cpu.New("threads=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ours.Finalize)
	theirs, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range gomlxLayers {
		t.Run(name, func(t *testing.T) {
			got, g := l.gradient(t, ours)
			for _, op := range cpu.OnGoMLXsEngine(g.Executable()) {
				if l.but == "" || !strings.HasPrefix(op, l.but) {
					t.Errorf("on GoMLX's engine: %s", op)
				}
			}
			want, _ := l.gradient(t, theirs)
			for i := range want {
				a, b := tensors.MustCopyFlatData[float32](got[i]), tensors.MustCopyFlatData[float32](want[i])
				for k := range b {
					if d := math.Abs(float64(a[k] - b[k])); !(d <= 1e-4*(1+math.Abs(float64(b[k])))) {
						t.Fatalf("result %d, element %d: %v, want %v", i, k, a[k], b[k])
					}
				}
			}
		})
	}
}

// plainBatchNorm is a batch norm in elementary operations, with gradients through mean and variance.
func plainBatchNorm(scope *model.Scope, x *Node, axis int) *Node {
	var others []int
	dims := slices.Repeat([]int{1}, x.Rank())
	for i := range x.Rank() {
		if i == axis || i == axis+x.Rank() {
			dims[i] = x.Shape().Dimensions[i]
		} else {
			others = append(others, i)
		}
	}
	number := func(name string, v float32) *Node {
		count := x.Shape().Dim(axis)
		return Reshape(scope.VariableWithValue(name, slices.Repeat([]float32{v}, count)).NodeValue(x.Graph()), dims...)
	}
	scale, offset := number("scale", 1), number("offset", 0)
	centred := Sub(x, ReduceAndKeep(x, ReduceMean, others...))
	root := Sqrt(AddScalar(ReduceAndKeep(Square(centred), ReduceMean, others...), 1e-3))
	return Add(Mul(Div(centred, root), scale), offset)
}

// GoMLX's batch norm asks for one operation, which GoMLX's engine does not have. It is that of elementary operations.
func TestBatchNormInOneOperation(t *testing.T) {
	ours, err := cpu.New("threads=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ours.Finalize)
	of := func(axis int, one bool) []*tensors.Tensor {
		l := layer{dims: []int{8, 3, 3, 4}, apply: func(scope *model.Scope, x *Node) *Node {
			if !one {
				return plainBatchNorm(scope, x, axis)
			}
			return norm.BatchNorm(scope, x, axis).Epsilon(1e-3).Done()
		}}
		results, g := l.gradient(t, ours)
		for _, op := range cpu.OnGoMLXsEngine(g.Executable()) {
			t.Errorf("axis %d: on GoMLX's engine: %s", axis, op)
		}
		return results
	}
	for _, axis := range []int{-1, 1} {
		got, want := of(axis, true), of(axis, false)
		for i := range want {
			a, b := tensors.MustCopyFlatData[float32](got[i]), tensors.MustCopyFlatData[float32](want[i])
			for k := range b {
				if d := math.Abs(float64(a[k] - b[k])); !(d <= 1e-4*(1+math.Abs(float64(b[k])))) {
					t.Fatalf("axis %d, result %d, element %d: %v, want %v", axis, i, k, a[k], b[k])
				}
			}
		}
	}
}

// The gradient of ⟨v, pool x⟩ is the adjoint of a pool that is linear: its product with x is the same number. GoMLX's
// engine cannot cut the borders off.
func TestMeanPoolsWithBordersHaveTheirAdjoints(t *testing.T) {
	ours, err := cpu.New("threads=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ours.Finalize)
	for _, dims := range [][]int{{2, 9, 9, 8}, {2, 10, 7, 3}, {1, 6, 5, 1}} {
		exec := MustNewExec(ours, func(x *Node) []*Node {
			y := MeanPool(x).Window(3).Strides(2).PadSame().Done()
			loss := ReduceAllSum(Mul(y, Sin(IotaFull(y.Graph(), y.Shape()))))
			return []*Node{loss, ReduceAllSum(Mul(x, Gradient(loss, x)[0]))}
		})
		size := 1
		for _, d := range dims {
			size *= d
		}
		out := exec.MustCall(tensors.FromFlatDataAndDimensions(normals(size), dims...))
		a, b := tensors.ToScalar[float32](out[0]), tensors.ToScalar[float32](out[1])
		if d := a - b; d > 1e-4 || d < -1e-4 || a == 0 {
			t.Errorf("%v: %v and %v", dims, a, b)
		}
	}
}
