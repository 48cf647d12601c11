package nets

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// buildOnly makes the graph without compiling it.
func buildOnly(t *testing.T, name string, training bool, dims ...int) (scope *model.Scope, logits *Node) {
	t.Helper()
	g := NewGraph(testBackend(t), name)
	scope = model.NewStore().Scope("/model")
	images := Parameter(g, "images", shapes.Make(dtypes.Float32, dims...))
	n := mustNet(t, name)
	return scope, n.Logits(scope, images, n.Classes, training)
}

func TestParameterCounts(t *testing.T) {
	counts := map[string]int{
		// Whitening and batch norm have but biases.
		"airbench":    24 + 9*(24*64+64*64+64*256+3*256*256) + (2*64 + 4*256) + 256*10 + 10,
		"cnn":         3*3*3*16 + 2*16 + 3*3*16*32 + 2*32 + 3*3*32*64 + 2*64 + 64*10 + 10,
		"mobilenetv2": 2_296_922,
		"regnetx200":  2_321_946,
		"resnet18":    11_173_962,
		"vgg11":       9_231_114,
		// With 1000 classes: convolutions, norms and classifier.
		"mobilenetv2-imagenet": 2_189_760 + 34_112 + 1_281_000,
		"resnet18-imagenet":    11_166_912 + 9_600 + 513_000,
		"resnet50-imagenet":    23_454_912 + 53_120 + 2_049_000,
	}
	for _, name := range Names() {
		scope, logits := buildOnly(t, name, true, 2, 32, 32, 3)
		if got := Count(scope); got != counts[name] {
			t.Errorf("%s has %d parameters, want %d", name, got, counts[name])
		}
		n := mustNet(t, name)
		if n.Params != counts[name] {
			t.Errorf("%s: the list says %d parameters, want %d", name, n.Params, counts[name])
		}
		about := fmt.Sprintf("%.1f M parameters", float64(n.Params)/1e6)
		if n.Params < 1e6 {
			about = fmt.Sprintf("%.0f k parameters", float64(n.Params)/1e3)
		}
		if !strings.Contains(n.About, about) {
			t.Errorf("%s: %q does not say %q", name, n.About, about)
		}
		if err := logits.Shape().Check(dtypes.Float32, 2, n.Classes); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFashionMNISTPicturesFit(t *testing.T) {
	for _, name := range Names() {
		_, logits := buildOnly(t, name, true, 2, 28, 28, 1)
		if err := logits.Shape().Check(dtypes.Float32, 2, mustNet(t, name).Classes); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnknownNameListsTheNetworks(t *testing.T) {
	_, err := ByName("resnet")
	if err == nil || !strings.Contains(err.Error(), "airbench, cnn, mobilenetv2, mobilenetv2-imagenet, regnetx200, "+
		"resnet18, resnet18-imagenet, resnet50-imagenet, vgg11") {
		t.Errorf("got %v", err)
	}
	if !slices.IsSorted(Names()) {
		t.Errorf("names are not sorted: %v", Names())
	}
}

func TestEveryNetworkHasACompleteRecipe(t *testing.T) {
	for _, n := range All {
		r := n.Recipe
		if (r.Data == "") != strings.HasSuffix(n.Name, "-imagenet") ||
			r.Epochs < 1 || r.Batch < 1 || !(r.LR > 0) || r.Schedule == "" {
			t.Errorf("%s: %+v", n.Name, r)
		}
		if n.Name == "" || n.About == "" || n.Params < 1 || n.Classes < 2 || n.H200 < 0 || n.build == nil {
			t.Errorf("%+v lacks something", n)
		}
	}
}

func TestPathsAreThoseOfPyTorch(t *testing.T) {
	for name, paths := range map[string][]string{
		"resnet18":    {"conv1/weight", "layer2/0/shortcut/0/weight", "layer4/1/bn2/running_var", "linear/bias"},
		"vgg11":       {"features/0/bias", "features/1/weight", "features/25/weight", "classifier/weight"},
		"mobilenetv2": {"layers/0/shortcut/1/bias", "layers/16/conv2/weight", "bn2/weight"},
		"regnetx200":  {"layer4/6/conv2/weight"},
	} {
		scope, _ := buildOnly(t, name, true, 2, 32, 32, 3)
		for _, p := range paths {
			if scope.Store().GetVariable("/model/"+p) == nil {
				t.Errorf("%s has no %s", name, p)
			}
		}
	}
}

// Unrolled by group, MobileNet-v2's gradient would have some forty thousand
// nodes more, and both would have convolutions by the group.
func TestGradientGraphsAreNotUnrolled(t *testing.T) {
	convolutions := func(nodes []*Node) (n int) {
		for _, node := range nodes {
			if node.Type() == NodeTypeConvGeneral {
				n++
			}
		}
		return n
	}
	for name, limit := range map[string]int{"mobilenetv2": 10_000, "mobilenetv2-imagenet": 10_000, "regnetx200": 6000} {
		scope, logits := buildOnly(t, name, true, 2, 32, 32, 3)
		forward := convolutions(logits.Graph().Nodes())
		gradients(scope, ReduceAllSum(Square(logits)))
		nodes := logits.Graph().Nodes()
		if len(nodes) > limit {
			t.Errorf("%s: %d nodes, want at most %d", name, len(nodes), limit)
		}
		if all := convolutions(nodes); all > 3*forward { // by input and by kernel
			t.Errorf("%s: %d convolutions of which %d forward", name, all, forward)
		}
	}
}

// Every network's gradient along one random direction d in the space of all its
// weights, against (loss(w + h·d) - loss(w - h·d))/2h in float64. The step is so
// short because d has millions of components of order 1: with 1e-9 some ReLU
// still changes sides. Rounding leaves errors of about 1e-6.
func TestGradientOfEveryNetwork(t *testing.T) {
	const h, tolerance = 1e-10, 1e-5
	for _, name := range Names() {
		if name == "resnet50-imagenet" {
			continue // so many units that some change sides at any step above rounding; its blocks have a test
		}
		t.Run(name, func(t *testing.T) {
			store := model.NewStore()
			scope := store.Scope("/model")
			n := mustNet(t, name)
			loss := func(_ *model.Scope, x *Node) *Node { return weighted(Square(n.Logits(scope, x, 3, true))) }
			backward := model.MustNewExec(testBackend(t), store, func(_ *model.Scope, x *Node) []*Node {
				return gradients(scope, loss(nil, x))
			})
			forward := model.MustNewExec(testBackend(t), store, loss)
			x := random(1, 4, 4, 4, 3)
			if strings.HasSuffix(name, "-imagenet") { // the last batch norm needs more than a pixel of each picture
				x = random(1, 4, 64, 64, 3)
			}
			gradient := backward.MustCall(x.tensor())

			slope := 0.0
			var start, direction [][]float64
			for i, v := range Params(scope) {
				d := random(uint64(i), v.Shape().Dimensions...).flat
				for j, g := range flat(t, gradient[i]) {
					slope += g * d[j]
				}
				start, direction = append(start, flat(t, v.MustValue())), append(direction, d)
			}
			lossAt := func(step float64) float64 {
				for i, v := range Params(scope) {
					w := slices.Clone(start[i])
					for j := range w {
						w[j] += step * direction[i][j]
					}
					setValue(t, v, w)
				}
				return flat(t, forward.MustCall(x.tensor())[0])[0]
			}
			difference := (lossAt(h) - lossAt(-h)) / (2 * h)
			if !(math.Abs(slope-difference) <= tolerance*math.Abs(slope)) || math.Abs(slope) < 1e-3 {
				t.Errorf("slope %.9g, difference %.9g", slope, difference)
			}
		})
	}
}

// gradients of loss by the network's parameters.
func gradients(scope *model.Scope, loss *Node) []*Node {
	var weights []*Node
	for _, v := range Params(scope) {
		weights = append(weights, v.NodeValue(loss))
	}
	return Gradient(loss, weights...)
}

func TestForwardIsFinite(t *testing.T) {
	for _, name := range Names() {
		for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.BFloat16} {
			t.Run(name+"/"+dtype.String(), func(t *testing.T) {
				store := model.NewStore()
				scope := store.Scope("/model")
				x := random(1, 2, 8, 8, 3)
				for _, training := range []bool{true, false} {
					exec := model.MustNewExec(testBackend(t), store, func(_ *model.Scope, x *Node) *Node {
						return mustNet(t, name).Logits(scope, ConvertDType(x, dtype), 10, training)
					})
					logits := exec.MustCall(x.tensor())[0]
					if err := logits.Shape().Check(dtypes.Float32, 2, 10); err != nil {
						t.Fatal(err)
					}
					for _, v := range flat(t, logits) {
						if math.IsNaN(v) || math.IsInf(v, 0) {
							t.Fatalf("training %v: logits %v", training, logits)
						}
					}
				}
			})
		}
	}
}

func TestGradientOfTheSmallNetwork(t *testing.T) {
	n := mustNet(t, "cnn")
	checkGradient(t, func(scope *model.Scope, x []*Node) *Node {
		return weighted(Square(n.Logits(scope, x[0], 3, true)))
	}, random(1, 3, 8, 8, 2))
}

// The last layer applied to the features is the logits, and every network has such features.
func TestFeaturesAreWhatTheLastLayerSees(t *testing.T) {
	store := model.NewStore()
	x := random(3, 4, 12, 12, 1)
	out := model.MustNewExec(testBackend(t), store, func(scope *model.Scope, images *Node) []*Node {
		logits, features := mustNet(t, "cnn").Features(scope.In("model"), images, 3)
		return []*Node{logits, features}
	}).MustCall(x.tensor())
	logits, features := flat(t, out[0]), flat(t, out[1])
	w, b := value(t, store, "linear/weight"), value(t, store, "linear/bias")
	var want []float64
	for i := range 4 {
		for k := range 3 {
			sum := b[k]
			for j := range 64 {
				sum += features[i*64+j] * w[j*3+k]
			}
			want = append(want, sum)
		}
	}
	close(t, "logits", logits, want, 1e-12)

	for name, width := range map[string]int{"resnet18": 512, "vgg11": 512, "mobilenetv2": 1280, "regnetx200": 368,
		"resnet18-imagenet": 512, "resnet50-imagenet": 2048, "mobilenetv2-imagenet": 1280} {
		g := NewGraph(testBackend(t), name)
		_, f := mustNet(t, name).Features(model.NewStore().RootScope().In("model"),
			Parameter(g, "x", shapes.Make(dtypes.Float32, 2, 32, 32, 3)), 10)
		if f == nil || f.Shape().Dimensions[1] != width {
			t.Errorf("%s: features %v, want %d", name, f, width)
		}
	}
}
