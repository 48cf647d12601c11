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

// Net is a network that can be built. Get one from [ByName].
type Net struct {
	Name  string
	About string // one line for a list of networks
	build func(b *builder, images *Node, classes int) *Node
}

var all = []Net{
	{"cnn", "three convolutions and a linear layer, 24 k parameters: trains on a CPU in seconds", cnn},
	{"mobilenetv2", "MobileNet-v2: inverted residuals with depthwise convolutions, 2.3 M parameters", mobileNetV2},
	{"regnetx200", "RegNetX-200MF: bottlenecks with convolutions in groups of 8 channels, 2.3 M parameters", regNetX200},
	{"resnet18", "ResNet-18: basic residual blocks, 11.2 M parameters", resNet18},
	{"vgg11", "VGG-11 with batch norm: plain convolutions and max pools, 9.2 M parameters", vgg11},
}

// Names lists the networks in alphabetical order.
func Names() []string {
	names := make([]string, len(all))
	for i, n := range all {
		names[i] = n.Name
	}
	return names
}

// ByName returns the network of that name.
func ByName(name string) (Net, error) {
	i := slices.IndexFunc(all, func(n Net) bool { return n.Name == name })
	if i < 0 {
		return Net{}, fmt.Errorf("no network is called %q: there are %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}

// Logits builds the forward pass for normalised images [batch, height, width,
// channels] of type float32, bfloat16 or float64, and returns logits
// [batch, classes] in float32 (float64 for float64 images).
//
// Weights are variables under scope, of the type of the logits. A variable not
// there yet is created with the value [Init] gives it for seed 0; one that is
// there is used as it is, so a training and an evaluation graph share a store.
// With training, batch norm uses the statistics of the batch and updates the
// running ones; without, it uses the running ones.
func (n Net) Logits(scope *model.Scope, images *Node, classes int, training bool) *Node {
	return n.build(newBuilder(scope, images, training), images, classes)
}

// Features is Logits without training, and beside the logits what the last layer makes them of: [batch, features].
func (n Net) Features(scope *model.Scope, images *Node, classes int) (logits, features *Node) {
	b := newBuilder(scope, images, false)
	b.features = &features
	return n.build(b, images, classes), features
}

func newBuilder(scope *model.Scope, images *Node, training bool) *builder {
	images.AssertRank(4)
	b := &builder{scope: scope, root: scope.Scope(), narrow: images.DType(), wide: dtypes.Float32, training: training}
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
