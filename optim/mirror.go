// Package optim is mirror descent as a GoMLX optimizer.
//
// It replaces SGD or Adam in any GoMLX program by one line,
//
//	trainer := train.NewTrainer(backend, store, modelFn, lossFn, optim.Mirror().P(3).LearningRate(0.1).Done(), …)
//
// or by name, since it is registered as "mirror": set the store's parameter "optimizer" to it.
//
// For each weight w with gradient g, p-GD makes the step of package mirror:
//
//	z = sign(w)|w|^(p−1),   z ← z − η·g,   w = sign(z)|z|^(1/(p−1)).
//
// The weights are the state; p and the learning rate are scalar variables of the store, one pair per parameter group,
// so that one compiled step serves every p. p = 2 is SGD to the bit, by a branch of its own. Where η·g is 0, and
// nothing decays, a weight keeps its bits.
//
// Two powers a step round w by some ε/(p−1) of itself for p < 2, with ε = 6e-8 in float32: by a ten-thousandth for p =
// 1.001, about the least p that float32 serves. For large p, z underflows where |w| < 1e-38^(1/(p−1)): below 6e-5 for p
// = 10, below 0.05 for p = 30. Such a z is taken for 0, which changes nothing beside an η·|g| above 1e-31; with
// DualDecay a weight of gradient 0 goes to 0 there at once. With Units it is |w|/u, u the unit, that must not be so
// small, and not larger than 1e38^(1/(p−1)) either: 21 for p = 30, 6 for p = 50, the largest p that Units takes.
package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/initializer"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/gomlx/gomlx/support/exceptions"
)

// Names in the store: the optimizer's scope, and the parameters FromScope reads.
const (
	Name            = "mirror"
	ParamP          = "mirror_p"
	ParamMomentum   = "mirror_momentum"
	ParamDualDecay  = "mirror_dual_decay"
	ParamDecay      = "mirror_weight_decay"
	ParamAdaptive   = "mirror_adaptive"
	ParamClipByNorm = "mirror_clip_by_norm"
	ParamUnits      = "mirror_units"
)

func init() {
	optimizer.KnownOptimizers[Name] = func(scope *model.Scope) optimizer.Interface {
		return Mirror().FromScope(scope).Done()
	}
}

// Config is the settings of the optimizer; see Mirror.
type Config struct{ config }

type config struct {
	groups   []group // the last one takes what the others leave
	momentum float64
	nesterov bool
	dual     float64 // decay of z
	decay    float64 // decay of w
	beta2    float64 // of the adaptive variant; 0: off
	epsilon  float64
	clip     float64 // largest norm of the whole gradient; 0: none
	units    bool    // kernels are measured in their initial size
	given    bool    // by MeasureUnits, not in the graph
	schedule Schedule
}

// group is parameters with a geometry and a learning rate of their own.
type group struct {
	name      string
	match     Match
	potential Potential
	rate      float64
	own       bool // whether it has a learning rate of its own; the default group's is then not that of the store
}

const (
	defaultGroup = "default"
	unitName     = "unit"
)

// Mirror starts the settings of a mirror descent optimizer: p-GD with p = 2, which is SGD, and the learning rate of the
// store's parameter "learning_rate", else 0.1.
func Mirror() *Config {
	all := func(*model.Variable) bool { return true }
	return &Config{config{groups: []group{{name: defaultGroup, match: all, potential: Power(2)}}, epsilon: 1e-8}}
}

func (c *config) rest() *group { return &c.groups[len(c.groups)-1] }

// P sets the exponent p > 1 of the potential (1/p)‖·‖ₚᵖ.
func (c *Config) P(p float64) *Config { return c.Potential(Power(p)) }

// Potential sets the potential.
func (c *Config) Potential(psi Potential) *Config {
	c.rest().potential = psi
	return c
}

// LearningRate sets the learning rate η ≥ 0.
func (c *Config) LearningRate(rate float64) *Config {
	c.rest().rate, c.rest().own = rate, true
	return c
}

// Group gives the parameters that match a potential and a learning rate of their own; a rate of 0 takes the default's.
// Groups are tried in the order they were added, and have different names. Building a step panics if a group has no
// parameters.
func (c *Config) Group(name string, match Match, psi Potential, rate float64) *Config {
	last := len(c.groups) - 1
	c.groups = append(c.groups[:last], group{name, match, psi, rate, rate != 0}, c.groups[last])
	return c
}

// Momentum keeps a running sum m ← μm + g in the dual space and steps along it.
func (c *Config) Momentum(mu float64) *Config {
	c.momentum = mu
	return c
}

// Nesterov steps along g + μm instead of m, with m updated before: the momentum that the next step would have without a
// gradient. It needs [Config.Momentum].
func (c *Config) Nesterov() *Config {
	c.nesterov = true
	return c
}

// DualDecay shrinks z by ηλ a step: the gradient of (λ/p)‖w‖ₚᵖ, regularisation in the geometry itself.
func (c *Config) DualDecay(lambda float64) *Config {
	c.dual = lambda
	return c
}

// WeightDecay adds λw to the gradient: the gradient of (λ/2)‖w‖₂², whatever the geometry.
func (c *Config) WeightDecay(lambda float64) *Config {
	c.decay = lambda
	return c
}

// Adaptive divides the gradient by the root of a running mean of its square before the mirror step, as Adam does
// without its first moment: s ← βs + (1−β)g², g/(√(s/(1−βᵗ)) + 1e-8).
func (c *Config) Adaptive(beta float64) *Config {
	c.beta2 = beta
	return c
}

// ClipByNorm scales the whole gradient down to this Euclidean norm where it is larger.
func (c *Config) ClipByNorm(norm float64) *Config {
	c.clip = norm
	return c
}

// Units measures the weights of each kernel, a tensor of two axes or more, in units of its root mean square u at the
// first step: the potential is
//
//	ψ(w) = Σ u²/(p(p−1)) |w/u|ᵖ,   and the step
//	z = sign(w)|w/u|^(p−1),   z ← z − η·(p−1)/u·g,   w = u·sign(z)|z|^(1/(p−1)).
//
// A weight of size u moves as in gradient descent whatever p is, for p > 2 larger ones slower and smaller ones faster,
// for p < 2 the other way round. So one learning rate means much the same for every p. It does not without units, where
// a weight moves at the rate η|w|^(2−p)/(p−1): a step of p = 10 overwrites the initial weights of a deep network. A
// tensor makes the steps of plain p-GD at the rate η(p−1)u^(p−2), so that its limit direction is the same.
//
// Biases and the like, tensors of one axis, move by gradient descent: they start at 0 or at 1, where p < 2 would freeze
// the ones and p > 2 throw them. A kernel that starts at 0 has the unit 1/√(inputs of an output). DualDecay is then the
// gradient of λψ, of ½λ‖w‖₂² for biases.
//
// The size is measured in the graph, a pass over the weights in every step, of which the first counts. HostUnits saves
// that.
func (c *Config) Units() *Config {
	c.units = true
	return c
}

// HostUnits lets the steps of Units only read the units, which is 1 to 2 % faster on a GPU. Call
// [Optimizer.MeasureUnits] before the first step.
func (c *Config) HostUnits() *Config {
	c.given = true
	return c
}

// Schedule sets how the learning rate changes with the step; the default is constant.
func (c *Config) Schedule(s Schedule) *Config {
	c.schedule = s
	return c
}

// FromScope reads the settings from the hyperparameters of a scope. What the scope does not say stays as it is.
func (c *Config) FromScope(scope *model.Scope) *Config {
	if p, found := scope.GetParam(ParamP); found && p != nil {
		c.P(model.GetParamOr(scope, ParamP, 2.0))
	}
	c.units = model.GetParamOr(scope, ParamUnits, c.units)
	return c.Momentum(model.GetParamOr(scope, ParamMomentum, c.momentum)).
		DualDecay(model.GetParamOr(scope, ParamDualDecay, c.dual)).WeightDecay(model.GetParamOr(scope, ParamDecay, c.decay)).
		Adaptive(model.GetParamOr(scope, ParamAdaptive, c.beta2)).ClipByNorm(model.GetParamOr(scope, ParamClipByNorm, c.clip))
}

// Done checks the settings, which panics on bad ones as GoMLX's own do, and returns the optimizer.
func (c *Config) Done() *Optimizer {
	// Set's name for the default, and where the schedule's variables are
	seen := map[string]bool{"": true, scheduleScope: true}
	for i, g := range c.groups {
		if seen[g.name] || g.name == defaultGroup && i < len(c.groups)-1 {
			exceptions.Panicf("optim: a group cannot be called %q, which is taken: groups share their variables by name", g.name)
		}
		seen[g.name] = true
		if g.match == nil {
			exceptions.Panicf("optim: group %s: match is nil: optim.Kernels, optim.Biases and optim.Under are some", g.name)
		}
		if err := g.potential.check(g.potential.value); err != nil {
			exceptions.Panicf("optim: group %s: %v", g.name, err)
		}
		if err := c.checkUnits(g.potential, g.potential.value); err != nil {
			exceptions.Panicf("optim: group %s: %v", g.name, err)
		}
		if !(g.rate >= 0) || math.IsInf(g.rate, 1) {
			exceptions.Panicf("optim: group %s: learning rate %v: want a number of at least 0", g.name, g.rate)
		}
	}
	for what, v := range map[string]float64{"momentum": c.momentum, "adaptive β": c.beta2} {
		if !(v >= 0 && v < 1) {
			exceptions.Panicf("optim: %s %v: want at least 0 and below 1", what, v)
		}
	}
	for what, v := range map[string]float64{"dual decay": c.dual, "weight decay": c.decay, "clipping norm": c.clip} {
		if !(v >= 0) {
			exceptions.Panicf("optim: %s %v: want a number of at least 0", what, v)
		}
	}
	if err := c.schedule.check(); err != nil {
		exceptions.Panicf("optim: %v", err)
	}
	out := &Optimizer{c.config}
	out.groups = slices.Clone(c.groups) // Done leaves c to be changed and used again
	return out
}

// MaxUnitP is the largest p that Units takes: there |w|^(p−1) of a weight of six units is the largest number of
// float32.
const MaxUnitP = 50

func (c *config) checkUnits(psi Potential, parameter float64) error {
	switch {
	case c.units && !psi.isPower():
		return fmt.Errorf("units are for p-GD, not for the %s potential", psi.name)
	case c.units && parameter > MaxUnitP:
		return fmt.Errorf("p = %v in units: want at most %d", parameter, MaxUnitP)
	}
	return nil
}

// Optimizer is mirror descent. It is a GoMLX optimizer, also for accumulated gradients.
type Optimizer struct{ config }

var _ optimizer.Interface = (*Optimizer)(nil)

// UpdateGraph builds one step from the loss.
func (o *Optimizer) UpdateGraph(scope *model.Scope, _ *Graph, loss *Node) {
	if !loss.Shape().IsScalar() {
		exceptions.Panicf("optim: the loss must be a scalar, got %s", loss.Shape())
	}
	o.UpdateGraphWithGradients(scope, scope.BuildTrainableVariablesGradientsGraph(loss), loss.DType())
}

// UpdateGraphWithGradients builds one step from gradients, given in the order of the scope's trainable variables. The
// update is made in each variable's own type, whatever the loss's.
func (o *Optimizer) UpdateGraphWithGradients(scope *model.Scope, grads []*Node, _ dtypes.DType) {
	if len(grads) == 0 {
		return
	}
	g := grads[0].Graph()
	step := optimizer.IncrementGlobalStep(g, dtypes.Float32) // counted from 1
	factor := o.schedule.factor(scope, g, step)
	grads = o.clipped(grads)
	var updated []*model.Variable
	for v := range scope.IterVariables() {
		if !v.Trainable || !v.InUseByGraph(g) {
			continue
		}
		if len(updated) == len(grads) {
			exceptions.Panicf("optim: more trainable variables than gradients: was %s made after the gradients?", v.Path())
		}
		o.update(scope, v, grads[len(updated)], step, factor)
		updated = append(updated, v)
	}
	if len(updated) != len(grads) {
		exceptions.Panicf("optim: %d gradients for %d trainable variables", len(grads), len(updated))
	}
	if err := o.checkGroups(updated); err != nil {
		exceptions.Panicf("optim: %v", err)
	}
}

// clipped scales the gradients so that their common norm is at most o.clip.
func (o *Optimizer) clipped(grads []*Node) []*Node {
	if o.clip == 0 {
		return grads
	}
	var square *Node
	for _, d := range grads {
		s := ReduceAllSum(Square(ConvertDType(d, dtypes.Float32)))
		if square == nil {
			square = s
		} else {
			square = Add(square, s)
		}
	}
	norm := Sqrt(square)
	scale := Div(ConstAs(norm, o.clip), Max(norm, ConstAs(norm, o.clip)))
	out := make([]*Node, len(grads))
	for i, d := range grads {
		out[i] = Mul(d, ConvertDType(scale, d.DType()))
	}
	return out
}

// update builds the step of one variable.
func (o *Optimizer) update(scope *model.Scope, v *model.Variable, grad, step, factor *Node) {
	g, dtype := grad.Graph(), v.DType()
	w := v.NodeValue(g)
	gr := o.groupOf(v)
	as := func(n *Node) *Node { return ConvertDType(n, dtype) }
	param := gr.parameter(scope).NodeValue(g)
	rate := as(Mul(o.rateVar(scope, gr).NodeValue(g), factor))

	if o.beta2 > 0 {
		s := state(scope, v, "second_moment")
		// β itself may round to 1 in float32; 1 − β and log β do not round to 0.
		before := s.NodeValue(g)
		now := Add(before, MulScalar(Sub(Square(grad), before), 1-o.beta2))
		s.SetNodeValue(now)
		correction := as(Neg(Expm1(MulScalar(step, math.Log(o.beta2))))) // 1 − βᵗ
		grad = Div(grad, AddScalar(Sqrt(Div(now, correction)), o.epsilon))
	}
	if o.decay > 0 {
		grad = Add(grad, MulScalar(w, o.decay))
	}
	if o.momentum > 0 {
		m := state(scope, v, "momentum")
		sum := Add(MulScalar(m.NodeValue(g), o.momentum), grad)
		m.SetNodeValue(sum)
		if o.nesterov {
			sum = Add(grad, MulScalar(sum, o.momentum))
		}
		grad = sum
	}
	switch {
	case !o.units:
		v.SetNodeValue(gr.potential.step(w, grad, rate, param, o.dual, nil))
	case w.Rank() < 2:
		v.SetNodeValue(descend(w, Mul(rate, grad), rate, o.dual))
	default:
		v.SetNodeValue(gr.potential.step(w, grad, rate, param, o.dual, o.unit(scope, v, w)))
	}
}

// unit is the root mean square of a kernel when it is first asked for. Unless MeasureUnits sets it, it is measured in
// every step, a pass over the weights, and kept from the first.
func (o *Optimizer) unit(scope *model.Scope, v *model.Variable, w *Node) *Node {
	kept := unitVar(scope, v)
	before := kept.NodeValue(w.Graph())
	if o.given {
		return before
	}
	now := Sqrt(ReduceAllMean(Square(w)))
	now = Where(Equal(now, ZerosLike(now)), ConstAs(now, unitOfZeros(v)), now)
	now = Where(Equal(before, ZerosLike(before)), now, before)
	kept.SetNodeValue(now)
	return now
}

// unitVar holds the unit of a kernel; 0: not measured.
func unitVar(scope *model.Scope, v *model.Variable) *model.Variable {
	return stateOf(scope, v, unitName, shapes.Make(v.DType()))
}

// unitOfZeros is the unit of a kernel that starts at 0.
func unitOfZeros(v *model.Variable) float64 {
	d := v.Shape().Dimensions
	return math.Sqrt(float64(d[len(d)-1]) / float64(v.Shape().Size()))
}

// state is a variable of the optimizer beside a parameter, of its shape.
func state(scope *model.Scope, v *model.Variable, name string) *model.Variable {
	return stateOf(scope, v, name, v.Shape())
}

// Momentum is the running sum of a parameter's gradients, nil if the optimizer has no momentum.
func (o *Optimizer) Momentum(scope *model.Scope, v *model.Variable) *model.Variable {
	if o.momentum == 0 {
		return nil
	}
	return state(scope, v, "momentum")
}

func stateOf(scope *model.Scope, v *model.Variable, name string, shape shapes.Shape) *model.Variable {
	path := strings.ReplaceAll(strings.TrimPrefix(v.Path(), model.RootScopePath), model.ScopeSeparator, ".")
	return scope.Store().RootScope().At(optimizer.Scope).At(Name).At("%s",
		path).WithInitializer(initializer.Zero).VariableWithShape(name, shape).SetTrainable(false)
}

// scalar is a scalar variable of a group.
func scalar(scope *model.Scope, group, name string, value float64) *model.Variable {
	return scope.Store().RootScope().At(optimizer.Scope).At(Name).At("%s", group).VariableWithValue(name,
		float32(value)).SetTrainable(false)
}

// parameter is p, β or a scale, in float64: 1/(p−1) of a float32 p would be off by 1e-6 for p = 1.1.
func (g *group) parameter(scope *model.Scope) *model.Variable {
	return scope.Store().RootScope().At(optimizer.Scope).At(Name).At("%s", g.name).VariableWithValue(g.potential.parameter,
		g.potential.value).SetTrainable(false)
}

// rateVar is the group's learning rate. The default group's is where GoMLX keeps it, so that its tools see it.
func (o *Optimizer) rateVar(scope *model.Scope, g *group) *model.Variable {
	if g != o.rest() && g.own {
		return scalar(scope, g.name, optimizer.ParamLearningRate, g.rate)
	}
	rate := o.rest().rate
	if !o.rest().own {
		if rate = model.GetParamOr(scope, optimizer.ParamLearningRate, optimizer.SGDDefaultLearningRate); !(rate >= 0) {
			exceptions.Panicf("optim: parameter %s is %v: want a number of at least 0", optimizer.ParamLearningRate, rate)
		}
	}
	return optimizer.LearningRateVar(scope.Store().RootScope(), dtypes.Float32, rate)
}

// Set changes the potential's parameter (p, β or a scale) of a group, "default" if empty, and its learning rate,
// between steps: nothing is compiled again. A rate of 0 leaves it as it is; a group made without a rate of its own
// takes no other.
func (o *Optimizer) Set(scope *model.Scope, name string, parameter, rate float64) error {
	if name == "" {
		name = defaultGroup
	}
	for i := range o.groups {
		g := &o.groups[i]
		if g.name != name {
			continue
		}
		if err := errors.Join(g.potential.check(parameter), o.checkUnits(g.potential, parameter)); err != nil {
			return err
		}
		switch {
		case !(rate >= 0) || math.IsInf(rate, 1):
			return fmt.Errorf("group %s: learning rate %v: want a positive number, or 0 to leave it", name, rate)
		case rate > 0 && g != o.rest() && !g.own:
			return fmt.Errorf("group %s has the default's learning rate: make it with one of its own, or pass 0", name)
		}
		if err := setScalar(g.parameter(scope), parameter); err != nil {
			return err
		}
		if rate > 0 {
			return setScalar(o.rateVar(scope, g), rate)
		}
		return nil
	}
	return fmt.Errorf("no parameter group %q", name)
}

// Clear deletes the optimizer's variables.
func (o *Optimizer) Clear(scope *model.Scope) error {
	root := scope.Store().RootScope().At(optimizer.Scope)
	var paths []string
	for v := range root.At(Name).IterVariables() {
		paths = append(paths, v.Path())
	}
	for _, p := range paths {
		if err := scope.Store().DeleteVariable(p); err != nil {
			return err
		}
	}
	return nil
}
