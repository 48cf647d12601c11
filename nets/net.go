// Package nets holds image classifiers as GoMLX graphs: VGG-11, ResNet-18,
// MobileNet-v2 and RegNetX-200MF in the forms made for 32×32 pictures, and a
// small convolutional network for machines without an accelerator.
//
// Pictures are channels last, [batch, height, width, channels]. Weights and
// statistics are float32 whatever the pictures are; convolutions run in the
// pictures' type, so bfloat16 pictures make a mixed-precision network.
// Variables carry the names PyTorch gives them (layer1/0/conv1/weight), with
// convolution kernels stored [height, width, in, out] and linear weights [in, out].
//
// Like all code that builds GoMLX graphs, these functions panic on shapes that
// do not fit.
package nets

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// Net is a network that can be built. Get one from [ByName] or [All], or make one with [New].
type Net struct {
	Name   string
	About  string // one line for a list of networks
	Params int    // trainable, for colour images of Classes classes
	Recipe Recipe
	H200   float64 // images a second on one H200, the ImageNet forms at 192 pixels, without the study; 0: not measured

	Classes int     // that Params counts: 10, or 1000 for the ImageNet forms
	Dropout float64 // rate before the classifier, in training; see [Net.With]
	Draw    Draw    // how initial weights are drawn

	blurPool bool
	build    func(b *Builder, images *Node, classes int) *Node
}

// Recipe is how a network is trained where nothing else is said.
type Recipe struct {
	Data          string // the name of an image set; "": the user must name one
	Epochs, Batch int
	LR            float64 // at the peak of the schedule
	Schedule      string  // the name of a schedule of optim

	Momentum  float64 // with Nesterov's correction
	Smoothing float64 // of labels
	Flips     string  // Random or Alternating
	Shifts    bool    // the trained network is tested on shifted images, too
}

// Flips of training images.
const (
	Random      = ""            // each time with probability ½
	Alternating = "alternating" // every second epoch, from the first or the second one on
)

// paper is our reading of the paper's recipe, shortened from its 400 epochs. The paper names no batch size.
var paper = Recipe{Data: "cifar10", Epochs: 60, Batch: 512, LR: 0.1, Schedule: "triangular"}

// ffcv is the length, batch and rate of the shortest ResNet-18 in FFCV's ImageNet example, which has momentum and decay
// as well. ImageNet cannot be fetched: the user packs it.
var ffcv = Recipe{Epochs: 16, Batch: 1024, LR: 0.5, Schedule: "triangular"}

// All are the networks, in alphabetical order.
var All = []Net{
	{
		Name:   "airbench",
		About:  "a plain network whose first layer whitens, 2.0 M parameters: for studies with many short runs",
		Params: 1_971_362, Classes: 10, build: airbench,
		Recipe: Recipe{Data: "cifar10", Epochs: 15, Batch: 1024, LR: 1.5, Schedule: "triangular", Momentum: 0.85,
			Smoothing: 0.2, Flips: Alternating, Shifts: true},
	}, {
		Name: "cnn", About: "three convolutions and a linear layer, 24 k parameters: trains on a CPU in seconds",
		Params: 24_346, Classes: 10, build: cnn,
		Recipe: Recipe{Data: "fashion-sample", Epochs: 15, Batch: 50, LR: 0.8, Schedule: "triangular"},
	}, {
		Name: "mobilenetv2", About: "MobileNet-v2: inverted residuals with depthwise convolutions, 2.3 M parameters",
		Params: 2_296_922, Classes: 10, build: mobileNetV2, Recipe: paper, H200: 60_000,
	}, {
		Name:   "mobilenetv2-imagenet",
		About:  "MobileNet-v2 as in torchvision, for pictures of 64 to 256 pixels, 3.5 M parameters with 1000 classes",
		Params: 3_504_872, Classes: 1000, build: mobileNetV2ImageNet, Recipe: ffcv, Dropout: 0.2,
		Draw: Draw{FanOut: true, Linear: 0.01}, H200: 26_300,
	}, {
		Name: "regnetx200", About: "RegNetX-200MF: bottlenecks with convolutions in groups of 8 channels, 2.3 M parameters",
		Params: 2_321_946, Classes: 10, build: regNetX200, Recipe: paper, H200: 52_000,
	}, {
		Name: "resnet18", About: "ResNet-18: basic residual blocks, 11.2 M parameters",
		Params: 11_173_962, Classes: 10, build: resNet18, Recipe: paper, H200: 85_000,
	}, {
		Name:   "resnet18-imagenet",
		About:  "ResNet-18 as in torchvision, for pictures of 64 to 256 pixels, 11.7 M parameters with 1000 classes",
		Params: 11_689_512, Classes: 1000, build: resNet18ImageNet, Recipe: ffcv, Draw: Draw{FanOut: true},
		H200: 29_800,
	}, {
		Name:   "resnet50-imagenet",
		About:  "ResNet-50 as in torchvision, for pictures of 64 to 256 pixels, 25.6 M parameters with 1000 classes",
		Params: 25_557_032, Classes: 1000, build: resNet50ImageNet, Recipe: ffcv, Draw: Draw{FanOut: true},
	}, {
		Name: "vgg11", About: "VGG-11 with batch norm: plain convolutions and max pools, 9.2 M parameters",
		Params: 9_231_114, Classes: 10, build: vgg11, Recipe: paper, H200: 250_000,
	},
}

// New makes a network from the function that builds its graph: of pictures [batch, height, width, channels] it returns
// logits [batch, classes], most simply by [Builder.Head]. Variables that the builder makes are drawn from a run's seed
// and saved with it.
func New(name string, build func(b *Builder, pictures *Node, classes int) *Node) Net {
	return Net{Name: name, build: build}
}

// Names lists the networks in alphabetical order.
func Names() []string {
	names := make([]string, len(All))
	for i, n := range All {
		names[i] = n.Name
	}
	return names
}

// ByName returns the network of that name.
func ByName(name string) (Net, error) {
	i := slices.IndexFunc(All, func(n Net) bool { return n.Name == name })
	if i < 0 {
		return Net{}, fmt.Errorf("no network is called %q: there are %s", name, strings.Join(Names(), ", "))
	}
	return All[i], nil
}

// Logits builds the forward pass for normalised images [batch, height, width,
// channels] of type float32, bfloat16 or float64, and returns logits
// [batch, classes] in float32 (float64 for float64 images).
//
// Weights are variables under scope, of the type of the logits. A variable not
// there yet is created with the value [Net.Init] gives it for seed 0; one that is
// there is used as it is, so a training and an evaluation graph share a store.
// With training, batch norm uses the statistics of the batch and updates the
// running ones, and dropout is applied; without, batch norm uses the running ones.
func (n Net) Logits(scope *model.Scope, images *Node, classes int, training bool) *Node {
	return n.build(n.builder(scope, images, training), images, classes)
}

// Calibrate builds the forward pass of training without dropout: batch norm uses the statistics of the batch, and the
// running ones move by the share rate, a scalar, towards them. With the rates 1, 1/2, 1/3, … batch after batch they
// become the means over the batches, whatever they were before.
func (n Net) Calibrate(scope *model.Scope, images *Node, classes int, rate *Node) {
	b := n.builder(scope, images, true)
	b.rate, b.dropout = rate, 0
	n.build(b, images, classes)
}

// Features is Logits without training, and beside the logits what the last layer makes them of: [batch, features].
func (n Net) Features(scope *model.Scope, images *Node, classes int) (logits, features *Node) {
	b := n.builder(scope, images, false)
	b.features = &features
	return n.build(b, images, classes), features
}

func (n Net) builder(scope *model.Scope, images *Node, training bool) *Builder {
	images.AssertRank(4)
	b := &Builder{scope: scope, root: scope.Scope(), narrow: images.DType(), wide: dtypes.Float32, training: training,
		draw: n.Draw, dropout: n.Dropout}
	if n.blurPool {
		b.blurred = map[*Node]*Node{}
	}
	if b.narrow == dtypes.Float64 {
		b.wide = dtypes.Float64
	}
	return b
}

// Params lists the trainable variables under scope in the order of their creation.
func Params(scope *model.Scope) []*model.Variable {
	var params []*model.Variable
	for v := range scope.IterVariables() {
		if v.Trainable {
			params = append(params, v)
		}
	}
	return params
}

// Count is the number of trainable parameters under scope.
func Count(scope *model.Scope) int {
	count := 0
	for _, v := range Params(scope) {
		count += v.Shape().Size()
	}
	return count
}
