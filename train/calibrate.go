package train

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine"
)

// CalibrationImages is how many training images batch-norm statistics are recomputed from; fewer if the run saw fewer.
const CalibrationImages = 2000

// calibrationBatch is how many images have their statistics taken together. It is the same on every engine, since the
// statistics depend on it.
const calibrationBatch = 200

// normVars are the running means and variances of batch norm.
func (x *Session) normVars() []*model.Variable {
	var out []*model.Variable
	for v := range x.modelScope().IterVariables() {
		if v.DType() == dtypes.Float32 && (v.Name() == "running_mean" || v.Name() == "running_var") {
			out = append(out, v)
		}
	}
	return out
}

// normStatistics copies the running statistics to the host. SetWeights restores them.
func (x *Session) normStatistics() ([]Layer, error) {
	return layersOf(x.normVars(), func(v *model.Variable) string { return torchName(strings.TrimPrefix(v.Path(), "/")) })
}

// Recalibrate sets the running statistics of batch norm to those of the weights as they are: the means, over batches of
// 200 training images without augmentation, of the mean and the unbiased variance of each channel. The images are
// CalibrationImages that the run saw, the same in every call.
func (x *Session) Recalibrate(ctx context.Context) error {
	b := min(calibrationBatch, x.seen())
	n := min(CalibrationImages, x.seen()) / b * b
	examples := x.order(rand.New(rand.NewPCG(0, CalibrationImages)), n)
	return engine.Try(func() error {
		if err := x.compileCalibration(); err != nil {
			return err
		}
		stream := x.feed.scan(trainPart, slices.Concat(examples[:b], examples), b)
		defer stream.close()
		for k := range n/b + 1 {
			if err := ctx.Err(); err != nil {
				return err
			}
			in, err := stream.next(ctx)
			if err != nil {
				return err
			}
			// With 1, 1/2, 1/3, … the running statistics become the means over the batches. The first batch comes twice: sums
			// are taken from the running mean, which may have been far away.
			rate := tensors.FromScalar(float32(1 / float64(max(k, 1))))
			if _, err := x.moments.Call(in.arguments(rate)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// compileCalibration compiles the graph of Recalibrate when it is first needed.
func (x *Session) compileCalibration() (err error) {
	if x.moments != nil {
		return nil
	}
	graph := func(scope *model.Scope, where, slots, rate *Node) {
		pictures := x.feed.inOrder(trainPart, where, slots, 0, x.settings.Resolution.Test)
		x.net.Calibrate(scope.In(modelScope), pictures, len(x.set.Classes), rate)
	}
	if x.feed.streams() {
		x.moments, err = model.NewExec(x.engine.Backend, x.store, graph)
	} else {
		x.moments, err = model.NewExec(x.engine.Backend, x.store, func(scope *model.Scope, where, rate *Node) {
			graph(scope, where, nil, rate)
		})
	}
	return err
}
