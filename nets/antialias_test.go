package nets

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

func TestBlurIsItsDefinition(t *testing.T) {
	x := random(1, 2, 5, 4, 3)
	kernel := zeros(3, 3, 1, 3)
	for i, row := range []float64{1, 2, 1} {
		for j, column := range []float64{1, 2, 1} {
			for c := range 3 {
				*kernel.at(i, j, 0, c) = row * column / 16
			}
		}
	}
	got := eval(t, func(x []*Node) *Node { return blur(x[0]) }, x)
	close(t, "blurred", got, naiveConv(x, kernel, 3, 1).flat, 1e-15)
	checkGradient(t, func(_ *model.Scope, x []*Node) *Node { return weighted(Square(blur(x[0]))) }, x)
}

// A layer with a blur pool is the layer without, of the blurred picture.
func TestBlurPoolBlursTheInputOfStrides(t *testing.T) {
	x := random(1, 2, 7, 6, 16)
	kernel := zeros(3, 3, 1, 16)
	for i, w := range []float64{1, 2, 1, 2, 4, 2, 1, 2, 1} {
		for c := range 16 {
			kernel.flat[i*16+c] = w / 16
		}
	}
	blurred := naiveConv(x, kernel, 16, 1)
	for name, layer := range map[string]func(b *Builder, x *Node, stride int) *Node{
		"plain":     func(b *Builder, x *Node, stride int) *Node { return b.Conv("c", x, 3, 5, stride) },
		"grouped":   func(b *Builder, x *Node, stride int) *Node { return b.GroupConv("c", x, 3, 8, stride) },
		"depthwise": func(b *Builder, x *Node, stride int) *Node { return b.DepthConv("c", x, 3, stride) },
	} {
		run := func(x array, stride int, blurPool bool) []float64 {
			store := model.NewStore()
			return flat(t, model.MustNewExec(testBackend(t), store, func(_ *model.Scope, x *Node) *Node {
				b := at64(store.Scope("/model"), true)
				if blurPool {
					b.blurred = map[*Node]*Node{}
				}
				return layer(b, x, stride)
			}).MustCall(x.tensor())[0])
		}
		close(t, name, run(x, 2, true), run(blurred, 2, false), 1e-12)
		close(t, name+" of stride 1", run(x, 1, true), run(x, 1, false), 0)
	}
}

// ResNet-18's two convolutions of a stride share their input, ResNet-50's do not: its shortcut starts earlier.
func TestBlurPoolsOfEachNetwork(t *testing.T) {
	for name, want := range map[string]int{"resnet18-imagenet": 3, "resnet50-imagenet": 6, "mobilenetv2-imagenet": 4} {
		n := mustNet(t, name)
		x := Parameter(NewGraph(testBackend(t), name), "x", shapes.Make(dtypes.Float32, 2, 64, 64, 3))
		b := n.With(Options{BlurPool: true}).builder(model.NewStore().Scope("/model"), x, true)
		n.build(b, x, 10)
		if got := len(b.blurred); got != want {
			t.Errorf("%s has %d blurs, want %d", name, got, want)
		}
	}
}

// naivePool is the definition of the largest of 3×3, two apart, and says of which pixel it is.
func naivePool(x array) (y array, from []int) {
	d := x.dims
	y = zeros(d[0], (d[1]-1)/2+1, (d[2]-1)/2+1, d[3])
	for n := range d[0] {
		for r := range y.dims[1] {
			for c := range y.dims[2] {
				for k := range d[3] {
					best, at := math.Inf(-1), -1
					for i := max(0, 2*r-1); i <= min(2*r+1, d[1]-1); i++ {
						for j := max(0, 2*c-1); j <= min(2*c+1, d[2]-1); j++ {
							if v := *x.at(n, i, j, k); v > best {
								best, at = v, ((n*d[1]+i)*d[2]+j)*d[3]+k
							}
						}
					}
					*y.at(n, r, c, k) = best
					from = append(from, at)
				}
			}
		}
	}
	return y, from
}

// The values are small integers, so that many are equal; some windows have only negative ones beside the border.
func TestMaxPool3GivesTheGradientToTheFirstOfEquals(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 2}, {4, 6}, {5, 7}, {8, 3}} {
		x := random(1, 2, size[0], size[1], 3)
		for i := range x.flat {
			x.flat[i] = math.Round(x.flat[i]) - 2
		}
		y, from := naivePool(x)
		got := eval(t, func(x []*Node) *Node { return maxPool3(x[0]) }, x)
		close(t, "pooled", got, y.flat, 0)
		want := make([]float64, len(x.flat))
		for i, at := range from {
			want[at] += math.Sin(float64(i + 1))
		}
		got = eval(t, func(x []*Node) *Node { return Gradient(weighted(maxPool3(x[0])), x[0])[0] }, x)
		close(t, "gradient", got, want, 1e-14)
	}
	checkGradient(t, func(_ *model.Scope, x []*Node) *Node { return weighted(Square(maxPool3(x[0]))) },
		random(2, 2, 6, 5, 3))
}

func TestReLU6HasNoSlopeAtItsEnds(t *testing.T) {
	x := array{[]float64{-2, 0, 3, 6, 7}, []int{5}}
	close(t, "relu6", eval(t, func(x []*Node) *Node { return ReLU6(x[0]) }, x), []float64{0, 0, 3, 6, 6}, 0)
	slope := func(x []*Node) *Node { return Gradient(ReduceAllSum(ReLU6(x[0])), x[0])[0] }
	close(t, "slope", eval(t, slope, x), []float64{0, 0, 1, 0, 0}, 0)
}

func TestGradientOfTorchvisionsBlocks(t *testing.T) {
	for name, block := range map[string]func(b *Builder, x *Node, stride int) *Node{
		"basic":      func(b *Builder, x *Node, stride int) *Node { return torchBasicBlock(b, x, 4, stride) },
		"bottleneck": func(b *Builder, x *Node, stride int) *Node { return torchBottleneck(b, x, 4, stride) },
		"inverted":   func(b *Builder, x *Node, stride int) *Node { return torchInvertedResidual(b, x, 2, 16, stride) },
		"first":      func(b *Builder, x *Node, stride int) *Node { return torchInvertedResidual(b, x, 1, 16, stride) },
	} {
		for _, stride := range []int{1, 2} {
			t.Run(name, func(t *testing.T) {
				checkGradient(t, func(scope *model.Scope, x []*Node) *Node {
					b := at64(scope, true)
					b.draw, b.blurred = Draw{FanOut: true}, map[*Node]*Node{}
					return weighted(Square(block(b, x[0], stride)))
				}, random(1, 3, 5, 4, 16))
			})
		}
	}
}

func TestWithChangesOnlyWhatItNames(t *testing.T) {
	n := mustNet(t, "mobilenetv2-imagenet")
	if got := n.With(Options{BlurPool: true, Dropout: OwnDropout}); got.Dropout != 0.2 || !got.blurPool {
		t.Errorf("dropout %v, blur %v", got.Dropout, got.blurPool)
	}
	if got := n.With(Options{}); got.Dropout != 0 || got.blurPool || n.Dropout != 0.2 {
		t.Errorf("dropout %v, blur %v", got.Dropout, got.blurPool)
	}
	for _, rate := range []float64{1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a rate of %v is accepted", rate)
				}
			}()
			n.With(Options{Dropout: rate})
		}()
	}
	plain, _ := buildOnly(t, "cnn", true, 2, 8, 8, 3)
	scope := model.NewStore().Scope("/model")
	x := Parameter(NewGraph(testBackend(t), "cnn"), "x", shapes.Make(dtypes.Float32, 2, 8, 8, 3))
	mustNet(t, "cnn").With(Options{BlurPool: true, Dropout: 0.5}).Logits(scope, x, 10, true)
	if !slices.EqualFunc(Params(plain), Params(scope), func(a, b *model.Variable) bool { return a.Path() == b.Path() }) {
		t.Error("the options change the parameters")
	}
}
