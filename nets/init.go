package nets

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// Draw says how the initial weights of a network are drawn. The zero value is PyTorch's default: weights and biases of
// convolutions and linear layers are uniform in ±1/√(fan-in).
type Draw struct {
	// FanOut draws kernels from a normal distribution with deviation √(2/(side²·out)), as torchvision does. out is the
	// number of all output channels, in depthwise convolutions too.
	FanOut bool
	// Linear draws the weights of linear layers from a normal distribution with this deviation, and makes their biases
	// 0. With 0 they are PyTorch's default.
	Linear float64
}

// Init gives every variable that the network has under scope its initial value:
// weights and biases as n.Draw says, batch-norm scales 1 and offsets 0, running
// means 0 and variances 1, and the seeds of dropout.
//
// Each variable is drawn on the host from the seed and its path below scope,
// so a seed means the same on every engine. Values are set in the store the
// variables live in: a compiled step goes on with them, and trial follows trial
// without another compilation. The variables must exist, that is a graph has
// been built with [Net.Logits] in that scope.
func (n Net) Init(scope *model.Scope, seed uint64) error {
	found := false
	for v := range scope.IterVariables() {
		switch v.Name() {
		case "weight", "bias", "running_mean", "running_var", DropoutSeed:
		default:
			continue // not of a network: an optimizer's state, say
		}
		found = true
		if err := n.Draw.set(scope.Scope(), v, weightOf(scope.Store().Scope(v.Scope()), v), seed); err != nil {
			return fmt.Errorf("initial value of %s: %w", v.Path(), err)
		}
	}
	if !found {
		return errors.New("no network under " + scope.Scope() + ": build its graph before giving it initial values")
	}
	return nil
}

// weightOf is the shape of the weight of the layer at scope, which has the variable v. Its last axis is the output;
// batch norm has no other.
func weightOf(scope *model.Scope, v *model.Variable) []int {
	if v.Name() != "weight" {
		v = scope.GetVariable("weight")
	}
	if v == nil {
		return nil
	}
	return v.Shape().Dimensions
}

// set sets the initial value of v, a variable somewhere below root, of a layer with a weight of these dimensions.
func (d Draw) set(root string, v *model.Variable, weight []int, seed uint64) error {
	path := fnv.New64a()
	path.Write([]byte(strings.Trim(strings.TrimPrefix(v.Path(), root), "/")))
	random := rand.New(rand.NewPCG(seed, path.Sum64()))
	if v.Name() == DropoutSeed {
		return v.SetValue(tensors.FromScalar(int64(random.Uint64())))
	}
	values := make([]float64, v.Shape().Size())
	switch {
	case len(weight) >= 2:
		d.draw(values, v.Name(), weight, random)
	case v.Name() == "weight" || v.Name() == "running_var":
		for i := range values {
			values[i] = 1
		}
	}
	dims := v.Shape().Dimensions
	if v.DType() == dtypes.Float64 {
		return v.SetValue(tensors.FromFlatDataAndDimensions(values, dims...))
	}
	single := make([]float32, len(values))
	for i, x := range values {
		single[i] = float32(x)
	}
	return v.SetValue(tensors.FromFlatDataAndDimensions(single, dims...))
}

// draw draws the weight or bias of a convolution or a linear layer.
func (d Draw) draw(values []float64, name string, weight []int, random *rand.Rand) {
	fanIn, fanOut := 1, 1
	for i, n := range weight {
		if i < len(weight)-1 {
			fanIn *= n
		}
		if i != len(weight)-2 {
			fanOut *= n
		}
	}
	deviation := 0.0
	switch {
	case len(weight) == 2 && d.Linear > 0:
		if name != "weight" {
			return
		}
		deviation = d.Linear
	case len(weight) == 4 && d.FanOut && name == "weight":
		deviation = math.Sqrt(2 / float64(fanOut))
	}
	bound := 1 / math.Sqrt(float64(fanIn))
	for i := range values {
		if deviation > 0 {
			values[i] = random.NormFloat64() * deviation
		} else {
			values[i] = (2*random.Float64() - 1) * bound
		}
	}
}
