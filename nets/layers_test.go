package nets

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

func at64(scope *model.Scope, training bool) *Builder {
	return &Builder{scope: scope, root: scope.Scope(), narrow: dtypes.Float64, wide: dtypes.Float64, training: training}
}

// naiveConv is the definition of a 3×3 convolution in groups with padding 1.
// Sums of some ten float64 products: 1e-12 is what it is compared to.
func naiveConv(x, kernel array, groups, stride int) array {
	in, out := kernel.dims[2], kernel.dims[3]
	h, w := (x.dims[1]-1)/stride+1, (x.dims[2]-1)/stride+1
	y := zeros(x.dims[0], h, w, out)
	for n := range x.dims[0] {
		for r := range h {
			for c := range w {
				for o := range out {
					group := o / (out / groups)
					for i := range 3 {
						for j := range 3 {
							for k := range in {
								row, column := r*stride+i-1, c*stride+j-1
								if row < 0 || row >= x.dims[1] || column < 0 || column >= x.dims[2] {
									continue
								}
								*y.at(n, r, c, o) += *x.at(n, row, column, group*in+k) * *kernel.at(i, j, k, o)
							}
						}
					}
				}
			}
		}
	}
	return y
}

func TestConvolutionsAreTheirDefinitions(t *testing.T) {
	for _, stride := range []int{1, 2} {
		for _, side := range []int{4, 5} {
			x := random(1, 2, side, side+1, 6)

			plain := random(2, 3, 3, 6, 5)
			got := eval(t, func(x []*Node) *Node { return convolve(x[0], x[1], stride) }, x, plain)
			close(t, "plain", got, naiveConv(x, plain, 1, stride).flat, 1e-12)

			depth := random(3, 3, 3, 1, 6)
			got = eval(t, func(x []*Node) *Node { return depthwise(x[0], x[1], stride) }, x, depth)
			close(t, "depthwise", got, naiveConv(x, depth, 6, stride).flat, 1e-12)

			grouped := random(4, 3, 3, 2, 9) // three groups, 2 channels to 3
			got = eval(t, func(x []*Node) *Node { return convolve(x[0], blockDiagonal(x[1], 3), stride) }, x, grouped)
			close(t, "grouped", got, naiveConv(x, grouped, 3, stride).flat, 1e-12)
		}
	}
}

func TestGradientOfDepthwiseConvolution(t *testing.T) {
	for _, stride := range []int{1, 2} {
		checkGradient(t, func(_ *model.Scope, x []*Node) *Node {
			return weighted(Square(depthwise(x[0], x[1], stride)))
		}, random(1, 2, 4, 5, 3), random(2, 3, 3, 1, 3))
	}
}

func TestGradientOfGroupedConvolution(t *testing.T) {
	for _, stride := range []int{1, 2} {
		checkGradient(t, func(_ *model.Scope, x []*Node) *Node {
			return weighted(Square(convolve(x[0], blockDiagonal(x[1], 3), stride)))
		}, random(1, 2, 4, 5, 6), random(2, 3, 3, 2, 9))
	}
}

func TestGradientOfBatchNorm(t *testing.T) {
	for _, training := range []bool{true, false} {
		x := random(1, 3, 2, 3, 4)
		for i := range x.flat {
			x.flat[i] += 2 // a mean that is not the running one
		}
		checkGradient(t, func(scope *model.Scope, x []*Node) *Node {
			return weighted(Square(at64(scope, training).Norm("bn", x[0])))
		}, x)
	}
}

func TestGradientOfBiasPoolAndHead(t *testing.T) {
	checkGradient(t, func(scope *model.Scope, x []*Node) *Node {
		b := at64(scope, true)
		return weighted(Square(b.Head("linear", maxPool(b.ConvBias("conv", x[0], 3, 4, 1)), 3)))
	}, random(1, 2, 5, 4, 3))
}

func TestMaxPoolTakesTheLargestOfFour(t *testing.T) {
	x := random(1, 2, 5, 4, 3) // the fifth row is dropped
	want := zeros(2, 2, 2, 3)
	for n := range 2 {
		for r := range 2 {
			for c := range 2 {
				for k := range 3 {
					*want.at(n, r, c, k) = max(*x.at(n, 2*r, 2*c, k), *x.at(n, 2*r, 2*c+1, k),
						*x.at(n, 2*r+1, 2*c, k), *x.at(n, 2*r+1, 2*c+1, k))
				}
			}
		}
	}
	pool := func(x []*Node) *Node { return maxPool(x[0]) }
	close(t, "pooled", eval(t, pool, x), want.flat, 0)

	single := random(2, 2, 1, 1, 3)
	close(t, "a single pixel", eval(t, pool, single), single.flat, 0)
}

func TestReLUHasNoSlopeAtZero(t *testing.T) {
	x := array{[]float64{-2, 0, 3}, []int{3}}
	slope := func(x []*Node) *Node { return Gradient(ReduceAllSum(ReLU(x[0])), x[0])[0] }
	close(t, "slope", eval(t, slope, x), []float64{0, 0, 1}, 0)
	close(t, "relu", eval(t, func(x []*Node) *Node { return ReLU(x[0]) }, x), []float64{0, 0, 3}, 0)
}

// One channel with the values 1, 2, 3, 6: mean 3, variance 3.5 (biased), 14/3 (unbiased).
func TestBatchNormKeepsRunningStatistics(t *testing.T) {
	store := model.NewStore()
	scope := store.Scope("/model")
	exec := func(training bool) func(x array) []float64 {
		e := model.MustNewExec(testBackend(t), store, func(_ *model.Scope, x *Node) *Node {
			return at64(scope, training).Norm("bn", x)
		})
		return func(x array) []float64 { return flat(t, e.MustCall(x.tensor())[0]) }
	}
	train, evaluate := exec(true), exec(false)
	x := array{[]float64{1, 2, 3, 6}, []int{2, 1, 2, 1}}
	normalised := func(mean, variance float64) []float64 {
		y := make([]float64, 4)
		for i, v := range x.flat {
			y[i] = (v - mean) / math.Sqrt(variance+1e-5)
		}
		return y
	}
	statistics := func(mean, variance float64) {
		t.Helper()
		close(t, "running mean", value(t, store, "bn/running_mean"), []float64{mean}, 1e-14)
		close(t, "running variance", value(t, store, "bn/running_var"), []float64{variance}, 1e-14)
	}

	close(t, "first training output", train(x), normalised(3, 3.5), 1e-12)
	mean, variance := 0.9*0+0.1*3, 0.9*1+0.1*14/3
	statistics(mean, variance)

	close(t, "second training output", train(x), normalised(3, 3.5), 1e-12)
	mean, variance = 0.9*mean+0.1*3, 0.9*variance+0.1*14/3
	statistics(mean, variance)

	close(t, "evaluation output", evaluate(x), normalised(mean, variance), 1e-12)
	statistics(mean, variance)
}

// In float32 E[x²]-E[x]² has no correct digit for a mean of 10⁴ deviations;
// the shift by the running mean keeps the variance to what the values of x,
// themselves rounded to 1e-3 of a deviation, allow.
func TestBatchNormSurvivesALargeMean(t *testing.T) {
	store := model.NewStore()
	scope := store.Scope("/model")
	exec := model.MustNewExec(testBackend(t), store, func(_ *model.Scope, x *Node) *Node {
		b := at64(scope, true)
		b.narrow, b.wide = dtypes.Float32, dtypes.Float32
		return b.Norm("bn", ConvertDType(x, dtypes.Float32))
	})
	x := array{make([]float64, 64), []int{64, 1, 1, 1}}
	want := make([]float64, 64)
	for i := range x.flat {
		want[i] = float64(1 - 2*(i%2))
		x.flat[i] = 1e4 + want[i]
	}
	for range 200 { // 0.9²⁰⁰ brings the running mean to 1e4
		exec.MustCall(x.tensor())
	}
	close(t, "output", flat(t, exec.MustCall(x.tensor())[0]), want, 2e-3)
}
