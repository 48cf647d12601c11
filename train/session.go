// Package train is one deep training run, top to bottom: data on the device, the graph of a step, the loop, evaluation,
// checkpoints.
//
// The data set lives on the device as bytes; a packed one that is too large comes from its file, read ahead. What a
// step needs from the host beside that, which examples and how they are shifted, flipped and cut, is drawn for a whole
// epoch at once and sent as one small tensor; the step then runs without the host. One compiled step serves every p,
// learning rate and seed: they are variables of the store.
package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
)

// Settings are what is compiled into a session.
type Settings struct {
	Net       nets.Net
	Batch     int
	Precision string // bf16 or float32: of the network's arithmetic; weights and statistics are float32
	Augment   bool   // flip, shift by up to 2 pixels, cut out 4 × 4; of packed sets: random resized crops and flips
	Optimizer *optim.Config
	Flips     string // nets.Random or, for sets of one size, nets.Alternating
	Shifts    bool   // test a trained network also on shifted images: see Result.Shifted

	Smoothing  float64    // of labels: this share of the target is spread over all classes
	Resolution Resolution // of packed sets
	Stream     bool       // read a packed set from its file as it is needed; else it is put on the engine whole
	Prune      bool       // runs may prune: see Plan.Prune. The step then reads a mask for each weight
	Validate   int        // hold so many training images of a run back, chosen by its seed, and test on them

	// Loading is called now and then while a packed set is put on the engine. Its error ends that. It may be nil.
	Loading func(done, total int) error
}

// Session is a network on an engine with its data, compiled once, for any number of runs.
type Session struct {
	set       *images.Set
	settings  Settings
	net       nets.Net
	opt       *optim.Optimizer
	store     *model.Store
	feed      feed
	step      map[int]*model.Exec // by resolution; of sets without one, 0
	eval      *model.Exec
	valid     *model.Exec // of training images that are held back; compiled when first needed, as are the next
	shifted   *model.Exec // of test images, shifted ones too
	features  *model.Exec // of the training images
	moments   *model.Exec // of batch norm, on the training images
	pruner    *model.Exec // nil without Settings.Prune
	engine    *engine.Engine
	dtype     dtypes.DType
	start     []Layer       // the weights that the run began with; nil: not known
	began     string        // their hash
	next      drawn         // the plan of the next epoch, if it is drawn already
	lastRow   []float32     // of the log of steps, by the last step of the epoch before
	recorder  *stepRecorder // of the run that trains; nil: none
	readEvery time.Duration // how often a recorder reads the log within an epoch; 0: as suits the engine
	answers   *TestAnswers  // to the test images, of the last evaluation if it was of these; they belong to its weights

	best bestWeights // of the run, of sessions that validate

	heldBy     uint64    // the seed that chose what is held back
	kept, held []int     // training images that the run sees, nil for all, and those that are held back
	white      []float32 // the weight of a layer that whitens what the run sees; nil: not computed

	PerEpoch int // steps an epoch; the last incomplete batch is dropped
	Params   int // trainable parameters
	test     int // examples per evaluation batch
}

// Variables of the session in the store, beside the network's and the optimizer's.
const (
	trainImages = "/data/train"
	trainLabels = "/data/train_labels"
	testImages  = "/data/test"
	planVar     = "/data/plan"
	lossVar     = "/stats/loss"
	correctVar  = "/stats/correct"
	firstBadVar = "/stats/first_bad" // the first step of the epoch whose loss was not a finite number, −1 for none
	modelScope  = "model"
)

// New puts the data on the engine and compiles the step and the evaluation.
func New(e *engine.Engine, set *images.Set, s Settings) (*Session, error) {
	var err error
	if s.Optimizer == nil {
		return nil, errors.New("settings without an optimizer: see optim.Mirror")
	}
	if n := set.Train.Len(); s.Batch < 1 || s.Batch > n {
		return nil, fmt.Errorf("batch of %d: there are %d training images", s.Batch, n)
	}
	if err := checkValidation(s.Validate, set.Train.Len(), s.Batch, len(set.Classes)); err != nil {
		return nil, err
	}
	if set.Pack != nil {
		if err := checkPacked(s); err != nil {
			return nil, err
		}
	}
	if s.Flips != nets.Random && s.Flips != nets.Alternating {
		return nil, fmt.Errorf("flips %q: want nets.Random or nets.Alternating", s.Flips)
	}
	if s.Augment && set.Pack == nil && min(set.Height, set.Width) <= cutout {
		return nil, fmt.Errorf("pictures of %d × %d are too small to cut a square of %d × %d out: train without "+
			"augmentation (--no-augment)", set.Height, set.Width, cutout, cutout)
	}
	x := &Session{engine: e, set: set, settings: s, net: s.Net, store: model.NewStore(), step: map[int]*model.Exec{},
		PerEpoch: (set.Train.Len() - s.Validate) / s.Batch, test: min(evalBatch(e.Name), set.Test.Len())}
	switch s.Precision {
	case "bf16":
		x.dtype = dtypes.BFloat16
	case "float32":
		x.dtype = dtypes.Float32
	default:
		return nil, fmt.Errorf("precision %q: choose bf16 or float32", s.Precision)
	}
	err = engine.Try(func() error {
		optimizer := *s.Optimizer
		x.opt = optimizer.HostUnits().Done()
		if err := x.loadData(); err != nil {
			return err
		}
		if _, err := x.stepOf(s.Resolution.Low); err != nil {
			return err
		}
		if x.eval, err = x.evaluation(testPart, false); err != nil {
			return err
		}
		if s.Prune {
			if err := x.compilePruner(); err != nil {
				return err
			}
		}
		x.Params = nets.Count(x.modelScope())
		return nil
	})
	return x, err
}

// evalBatch is how many images an evaluation takes at a time. A thousand fill a GPU; on a CPU they only take memory,
// gigabytes for ResNet-18.
func evalBatch(engine string) int {
	if engine == "cuda" {
		return 1000
	}
	return 200
}

// split is a part of the set.
func (x *Session) split(of part) images.Split {
	if of == trainPart {
		return x.set.Train
	}
	return x.set.Test
}

func (x *Session) modelScope() *model.Scope { return x.store.Scope("/" + modelScope) }

// loadData makes the data variables.
func (x *Session) loadData() error {
	x.feed = pixels{x}
	if x.set.Pack != nil {
		x.feed = newPacked(x)
	}
	if err := x.feed.load(context.Background()); err != nil {
		return err
	}
	width := x.feed.rowWidth()
	x.put(planVar, tensors.FromFlatDataAndDimensions(make([]int32, x.PerEpoch*x.settings.Batch*width), x.PerEpoch,
		x.settings.Batch, width))
	x.put(lossVar, tensors.FromScalar(float32(0)))
	x.put(correctVar, tensors.FromScalar(float32(0)))
	x.put(firstBadVar, tensors.FromScalar(int32(-1)))
	return nil
}

// put makes a variable of the session.
func (x *Session) put(path string, t *tensors.Tensor) {
	x.store.VariableWithValue(path, t).SetTrainable(false)
}

// stepOf returns the step for pictures of a side, compiled when it is first needed. Sets of one size have side 0. The
// steps of several sides share all variables.
func (x *Session) stepOf(side int) (*model.Exec, error) {
	if step := x.step[side]; step != nil {
		return step, nil
	}
	var step *model.Exec
	var err error
	if x.feed.streams() {
		step, err = model.NewExec(x.engine.Backend, x.store, func(scope *model.Scope, slots *Node) {
			x.stepGraph(scope, slots.Graph(), slots, side)
		})
	} else {
		step, err = model.NewExec(x.engine.Backend, x.store, func(scope *model.Scope, g *Graph) {
			x.stepGraph(scope, g, nil, side)
		})
	}
	if err != nil {
		return nil, err
	}
	if err := x.engine.Compile(func() error { _, err := step.Compile(x.stepInputs()...); return err }); err != nil {
		return nil, err
	}
	x.step[side] = step
	return step, nil
}

// stepInputs are the shapes of what a step gets from the host.
func (x *Session) stepInputs() []shapes.Shape {
	if !x.feed.streams() {
		return nil
	}
	return []shapes.Shape{shapes.Make(dtypes.Uint8, x.settings.Batch, x.feed.slot())}
}

func (x *Session) node(g *Graph, path string) *Node { return x.store.GetVariable(path).NodeValue(g) }

// add adds to a statistic.
func (x *Session) add(g *Graph, path string, v *Node) {
	variable := x.store.GetVariable(path)
	variable.SetNodeValue(Add(variable.NodeValue(g), ConvertDType(v, dtypes.Float32)))
}

// stepGraph is one training step: pick and augment a batch, forward, loss, backward, mirror step. After a loss that is
// not finite the weights do not change, so that the caller finds the weights that gave it.
func (x *Session) stepGraph(scope *model.Scope, g *Graph, slots *Node, side int) {
	step := optimizer.GetGlobalStepVar(scope).NodeValue(g) // before it is counted up
	k := ConvertDType(Mod(step, ConstAs(step, x.PerEpoch)), dtypes.Int32)
	plan := Gather(x.node(g, planVar), Reshape(k, 1)) // [batch, rowWidth]

	batch, labels := x.feed.batch(plan, slots, side)
	logits := x.net.Logits(scope.In(modelScope), batch, len(x.set.Classes), true)
	logits = ConvertDType(logits, dtypes.Float32)
	loss := crossEntropy(logits, labels, x.settings.Smoothing)
	x.add(g, lossVar, loss)
	x.add(g, correctVar, correct(logits, labels))
	finite := LessOrEqual(Abs(loss), ConstAs(loss, math.MaxFloat32))
	first := x.store.GetVariable(firstBadVar)
	none := LessThan(first.NodeValue(g), ScalarZero(g, dtypes.Int32))
	first.SetNodeValue(Where(LogicalAnd(none, LogicalNot(finite)), k, first.NodeValue(g)))

	// Gradient and rate are 0: nothing moves, not by decay or momentum either. The variable itself keeps its value.
	sound := LogicalAnd(none, finite)
	grads := scope.BuildTrainableVariablesGradientsGraph(loss)
	norm := gradientNorm(grads)
	for i, d := range grads {
		grads[i] = Where(sound, d, ZerosLike(d))
	}
	if x.settings.Prune {
		x.maskGradients(scope, g, grads)
	}
	rate := optimizer.LearningRateVar(x.store.RootScope(), dtypes.Float32, optimizer.SGDDefaultLearningRate)
	given := rate.NodeValue(g)
	rate.SetNodeValue(Where(sound, given, ZerosLike(given)))
	x.opt.UpdateGraphWithGradients(scope, grads, loss.DType())
	rate.SetNodeValue(given)
	x.logStep(g, k, loss, norm)
}

// evaluation answers a batch of a part's images, or their mirror images with flip. With shifts the answers are means
// over shifted images.
func (x *Session) evaluation(from part, shifts bool) (*model.Exec, error) {
	if x.feed.streams() {
		return model.NewExec(x.engine.Backend, x.store, func(scope *model.Scope, where, slots, flip *Node) *Node {
			return x.evalGraph(scope, from, where, slots, flip, shifts)
		})
	}
	return model.NewExec(x.engine.Backend, x.store, func(scope *model.Scope, where, flip *Node) *Node {
		return x.evalGraph(scope, from, where, nil, flip, shifts)
	})
}

// evalGraph is the graph of evaluation.
func (x *Session) evalGraph(scope *model.Scope, from part, where, slots, flip *Node, shifts bool) *Node {
	pictures := x.feed.inOrder(from, where, slots, x.test, x.settings.Resolution.Test)
	pictures = Where(flip, Reverse(pictures, 2), pictures)
	n := pictures.Shape().Dimensions[0]
	if shifts {
		pictures = Concatenate([]*Node{pictures, displaced(pictures, 1), displaced(pictures, -1)}, 0)
	}
	logits := ConvertDType(x.net.Logits(scope.In(modelScope), pictures, len(x.set.Classes), false), dtypes.Float32)
	if shifts {
		of := func(k int) *Node { return Slice(logits, AxisRange(k*n, (k+1)*n)) }
		logits = Add(MulScalar(of(0), 0.5), MulScalar(Add(of(1), of(2)), 0.25))
	}
	return logits
}

// displaced shifts pictures down and to the right by so many pixels, or up and to the left by −by. The border has the
// mean colour.
func displaced(pictures *Node, by int) *Node {
	d := pictures.Shape().Dimensions
	size := max(by, -by)
	border := PadAxis{Start: size, End: size}
	zero := ScalarZero(pictures.Graph(), pictures.DType())
	padded := Pad(pictures, zero, PadAxis{}, border, border, PadAxis{})
	at := func(axis int) SliceAxisSpec { return AxisRange(size-by, size-by+d[axis]) }
	return Slice(padded, AxisRange(), at(1), at(2), AxisRange())
}

// featureGraph returns the answers to a batch of training images as they are, and the features that the last layer
// computes them from.
func (x *Session) featureGraph(scope *model.Scope, where *Node) (logits, features *Node) {
	return x.featuresStreamed(scope, where, nil)
}

// featuresStreamed is featureGraph of pictures in slots from the host.
func (x *Session) featuresStreamed(scope *model.Scope, where, slots *Node) (logits, features *Node) {
	pictures := x.feed.inOrder(trainPart, where, slots, 0, x.settings.Resolution.Test)
	logits, features = x.net.Features(scope.In(modelScope), pictures, len(x.set.Classes))
	return ConvertDType(logits, dtypes.Float32), ConvertDType(features, dtypes.Float32)
}

// trainBatch is how many training images an evaluation takes at a time.
func (x *Session) trainBatch() int {
	return min(evalBatch(x.engine.Name), len(x.studied()))
}

// Close frees what the session holds on the engine.
func (x *Session) Close() {
	for _, e := range append(slices.Collect(maps.Values(x.step)), x.eval, x.valid, x.shifted, x.features, x.moments,
		x.pruner) {
		if e != nil {
			e.Finalize()
		}
	}
	_ = x.next.drop() // the session ends
	if x.feed != nil {
		x.feed.free()
	}
	x.store.Finalize()
}

// crossEntropy is the mean over the examples. Of each target the share smoothing is spread evenly over all classes.
func crossEntropy(logits, labels *Node, smoothing float64) *Node {
	classes := logits.Shape().Dimensions[1]
	hot := OneHot(labels, classes, logits.DType())
	if smoothing > 0 {
		hot = AddScalar(MulScalar(hot, 1-smoothing), smoothing/float64(classes))
	}
	return ReduceAllMean(Neg(ReduceSum(Mul(hot, LogSoftmax(logits)), -1)))
}

// correct counts right answers.
func correct(logits, labels *Node) *Node {
	return ReduceAllSum(ConvertDType(Equal(ArgMax(StopGradient(logits), -1, dtypes.Int32), labels), dtypes.Float32))
}
