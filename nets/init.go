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

// Init gives every variable that a network has under scope its initial value,
// as PyTorch does by default: weights and biases of convolutions and linear
// layers uniform in ±1/√(fan-in), batch-norm scales 1 and offsets 0, running
// means 0 and variances 1.
//
// Each variable is drawn on the host from the seed and its path below scope,
// so a seed means the same on every engine. Values are set in the store the
// variables live in: a compiled step goes on with them, and trial follows trial
// without another compilation. The variables must exist, that is a graph has
// been built with [Net.Logits] in that scope.
func Init(scope *model.Scope, seed uint64) error {
	found := false
	for v := range scope.IterVariables() {
		switch v.Name() {
		case "weight", "bias", "running_mean", "running_var":
		default:
			continue // not of a network: an optimizer's state, say
		}
		found = true
		if err := draw(scope.Scope(), v, fanIn(scope.Store().Scope(v.Scope()), v), seed); err != nil {
			return fmt.Errorf("initial value of %s: %w", v.Path(), err)
		}
	}
	if !found {
		return errors.New("no network under " + scope.Scope() + ": build its graph before giving it initial values")
	}
	return nil
}

// fanIn is how many inputs the layer at scope sums over, or 0 for batch norm.
// The layer's weight tells: its last axis is the output, and batch norm has no other.
func fanIn(scope *model.Scope, v *model.Variable) int {
	weight := v
	if v.Name() != "weight" {
		weight = scope.GetVariable("weight")
	}
	if weight == nil || weight.Shape().Rank() < 2 {
		return 0
	}
	dims := weight.Shape().Dimensions
	n := 1
	for _, d := range dims[:len(dims)-1] {
		n *= d
	}
	return n
}

// draw sets the initial value of v, a variable somewhere below root.
func draw(root string, v *model.Variable, fanIn int, seed uint64) error {
	values := make([]float64, v.Shape().Size())
	switch {
	case fanIn > 0:
		path := fnv.New64a()
		path.Write([]byte(strings.Trim(strings.TrimPrefix(v.Path(), root), "/")))
		random := rand.New(rand.NewPCG(seed, path.Sum64()))
		bound := 1 / math.Sqrt(float64(fanIn))
		for i := range values {
			values[i] = (2*random.Float64() - 1) * bound
		}
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
