package command

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/train"
)

// Train is `bregman train`: train a network by stochastic p-GD.
type Train struct {
	Model       string          `default:"cnn" json:"model"`
	Data        string          `json:"data" file:""`
	P           []float64       `name:"p" default:"2,3" json:"p" live:""`
	Epochs      int             `json:"epochs" live:""`
	Batch       int             `json:"batch"`
	LR          settings.Rate   `name:"lr" default:"recipe" json:"lr" live:""`
	Schedule    string          `placeholder:"NAME" json:"schedule"`
	Peak        float64         `default:"0.2083333" json:"peak" live:""`
	Seed        uint64          `default:"1" json:"seed" role:"seed"`
	Trials      int             `default:"1" json:"trials" role:"trials"`
	Precision   string          `default:"auto" json:"precision"`
	Momentum    settings.Amount `default:"recipe" json:"momentum"`
	Nesterov    bool            `json:"nesterov,omitempty" late:"false"`
	DualDecay   float64         `default:"0" json:"dual_decay"`
	WeightDecay float64         `default:"0" json:"weight_decay"`
	Adaptive    float64         `default:"0" json:"adaptive"`
	Unit        string          `placeholder:"one" json:"unit,omitempty"`
	Init        string          `placeholder:"RUN" json:"init,omitempty" file:""`
	NoAugment   bool            `json:"no_augment"`
	Flips       string          `placeholder:"random" json:"flips,omitempty"`
	Resolution  string          `placeholder:"PIXELS" json:"resolution,omitempty"`

	TestResolution int             `placeholder:"PIXELS" json:"test_resolution,omitempty" late:"0"`
	LabelSmoothing settings.Amount `default:"recipe" json:"label_smoothing,omitempty" late:"0"`
	Dropout        string          `placeholder:"RATE" json:"dropout,omitempty"`
	BlurPool       bool            `json:"blur_pool,omitempty" late:"false"`

	PruneTo     float64 `default:"0" placeholder:"SHARE" json:"prune_to,omitempty" late:"0"`
	PruneDuring string  `placeholder:"0.1-0.75" json:"prune_during,omitempty" live:""`

	Validate int `default:"0" placeholder:"IMAGES" json:"validate,omitempty" late:"0"`
	Patience int `default:"0" placeholder:"EPOCHS" json:"patience,omitempty" late:"0" live:""`

	Size       int  `placeholder:"PIXELS" json:"size,omitempty" late:"0"`
	SkipBroken bool `json:"skip_broken,omitempty" late:"false"`

	Feed       string `placeholder:"auto" json:"feed,omitempty" role:"place"`
	NoStudy    bool   `json:"no_study,omitempty" live:""`
	CheckSteps bool   `json:"check_steps,omitempty" role:"place"`
	Engine     string `default:"auto" json:"engine" role:"place"`
	DataDir    string `placeholder:"DIR" json:"data_dir,omitempty" role:"place"`
	Resume     string `placeholder:"RUN" json:"-"`
	DryRun     bool   `json:"-"`
	Runs       string `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	Labels
	Printed
}

// Texts are the words for its settings.
func (*Train) Texts() settings.Texts {
	return settings.Texts{
		About: "Train a network by stochastic p-GD.",
		Help: map[string]string{
			"model": "Network: " + settings.Or(nets.Names()) + ".",
			"data": "Images; by default " + byNetwork(func(r nets.Recipe) any { return r.Data }) + ". " +
				strings.Join(images.Names(), ", ") + ", a folder with a folder per class, an npz file, or a packed file.",
			"p": "Geometries; several run one after another on one compiled step.",
			"epochs": "Epochs; by default " + byNetwork(func(r nets.Recipe) any { return r.Epochs }) +
				". The paper trains for 400.",
			"batch": "Images per step; by default " + byNetwork(func(r nets.Recipe) any { return r.Batch }) +
				". The paper does not name a batch size.",
			"lr": "Learning rate, at its peak: a number; recipe, which is " +
				byNetwork(func(r nets.Recipe) any { return r.LR }) + " (the paper has 0.1), and auto with --adaptive; " +
				"or auto, a search by short runs for each p.",
			"schedule": scheduleHelp(),
			"peak": "Where the triangle peaks, as a share of the run; 5/24 is from the FFCV example that the paper " +
				"starts from.",
			"seed":      "First seed: decides initial weights, order and augmentation.",
			"trials":    "Runs per p, with seeds seed, seed+1, …",
			"precision": "Arithmetic of the network: bf16 on a GPU, float32 elsewhere, if auto.",
			"momentum": "Momentum in the dual; by default " + byNetwork(func(r nets.Recipe) any { return r.Momentum }) +
				".",
			"nesterov":   "Momentum in Nesterov's form. Where the momentum is that of the network's recipe, it has this form.",
			"dual_decay": "Decay of z: regularisation by the p-th power of the lp norm.",
			"weight_decay": "Decay of w: regularisation by the squared Euclidean norm. With p = 3 it can make the " +
				"weights sparse; for larger p use it with --unit init, or else --dual-decay.",
			"adaptive": "Scale gradients by a running second moment with this decay, e.g. 0.999; 0 for none.",
			"unit": "What weights are measured in: one, as in the paper, or init, the root mean square that each " +
				"layer begins with. One learning rate then means much the same for every p, and biases and batch norm " +
				"move by gradient descent.",
			"init": "Start from the weights of this finished run, with its settings but for those given here, and a schedule " +
				"that starts anew; or from a safetensors file in the names and layouts of PyTorch. With another number of " +
				"classes the last layer starts from random weights.",
			"no_augment": "No flips, shifts and cut-outs; of packed pictures no random crops and flips.",
			"flips": "Flip training images at random, or alternating: every second epoch. By default " +
				byNetwork(func(r nets.Recipe) any { return cmp.Or(r.Flips, randomFlips) }) + ".",
			"resolution": "Side of packed pictures in training: one number, or 160-192 to grow in the last quarter of the " +
				"run. By default 160-192, or the size of smaller pictures.",
			"test_resolution": "Side of packed pictures in tests; by default 4/3 of the side in training, if they are that " +
				"large.",
			"label_smoothing": "Share of each target that is spread over all classes; by default " +
				byNetwork(func(r nets.Recipe) any { return r.Smoothing }) + ". The training loss includes it.",
			"dropout":   "Rate of dropout before the last layer; by default " + ownDropout() + ".",
			"blur_pool": "Blur the input of convolutions that have a stride, as the FFCV recipe does.",
			"prune_to": "Set weights to 0 while the network trains, the smallest of all layers together, until this share " +
				"of them is 0, e.g. 0.8; 0 for none.",
			"prune_during": "Shares of the run at which pruning begins and ends; by default 0.1-0.75.",
			"validate": "Hold this many training images back, of each class its share, chosen by the seed. The curve of a run " +
				"is of them, and so is what --lr auto and sweeps choose by; the test images are seen once, in the end. " +
				"The weights of the best epoch are kept, too: weights-best.safetensors.",
			"patience": "Stop when so many epochs in a row were no better on the images of --validate than one before them; " +
				"0 for never. It needs a rate that stays the same: --schedule constant.",
			"size": "Resize the pictures of a folder until they cover a square of so many pixels, and take its middle, e.g. " +
				"32: for folders of pictures of several sizes.",
			"skip_broken": "Leave out pictures of a folder that cannot be read.",
			"feed": "Where packed pictures are: resident, on the engine; streamed, read from the file while the network " +
				"trains; auto, resident if there is room.",
			"no_study": "Do not measure weights, pruning, rounding and margins after training.",
			"check_steps": "Train every epoch twice and compare all weights bit for bit: a race or a faulty GPU shows. " +
				"Twice the time.",
			"engine":   EngineHelp(),
			"data_dir": "Where data sets are kept.",
			"resume":   "Resume this run folder, with its settings.",
			"dry_run": "Only say what memory a run takes, whether it fits, and how long it takes: a few steps are timed, " +
				"and nothing is written.",
			"runs": "Where run folders go.",
		},
		Choices: map[string][]string{
			"model":     nets.Names(),
			"schedule":  optim.ScheduleNames(),
			"precision": Precisions,
			"unit":      {"one", "init"},
			"flips":     {randomFlips, nets.Alternating},
			"feed":      Feeds,
		},
		Known: map[string][]string{"data": images.Names(), "engine": engine.Names()},
	}
}

// Help is shown by --help.
func (*Train) Help() string {
	return `Examples:
  bregman train                              the small network on built-in images, p = 2 and 3: half a minute
  bregman train --model resnet18 --data cifar10 --p 1.1,2,3,10 --epochs 60 --trials 3
  bregman train --model resnet18 --data cifar10 --p 1.1,2,3,10 --unit init
  bregman train --model resnet18 --data cifar10 --p 1.1,2,3,10 --lr auto
  bregman train --model resnet18 --data cifar10 --p 3 --init resnet18.safetensors --lr 0.01
  bregman train --model resnet18 --data cifar10 --p 2,3 --prune-to 0.9
  bregman train --init runs/20261115-120000-train-resnet18-p3-s1 --epochs 20
  bregman train --resume runs/20261115-120000-train-resnet18-p3-s1
  bregman train --model resnet18 --data cifar10 --p 1.1,2,3,10 --dry-run

"bregman data get cifar10" fetches the images. --resume continues a stopped run from its last checkpoint, as it was
asked. --init extends a finished run by a new one: the network, the data, p and all else are those of that run unless
given, and the schedule starts anew. The learning rate is that of the run, too, unless p, the unit or --adaptive change.

--lr auto: one rate means something different for every p. Short runs, each the whole schedule in fewer epochs, look
for the rate with the best accuracy on training images that are held back: those of --validate, or else 5,000, or a
tenth if that is less, only while it searches. It goes by factors of ten from the recipe's rate in a thirtieth of the
epochs, by half decades in an eighth and in half of them (at least two epochs each). All of that takes about two and a
half times as long as a run. The first seed decides, for all trials of a p. What was tried is in the run folder.

--unit init: p-GD moves a weight w at the rate η|w|^(2−p)/(p−1), so that a rate for p = 2 is far too large for p = 10,
whose first steps overwrite the initial weights, and for p = 1.1 too small. With |w| measured in the size u that a
layer begins with, the rate is η(|w|/u)^(2−p): that of gradient descent for a weight of that size, whatever p is.

--init reads what torch and safetensors write, save_file(net.state_dict(), FILE), for a network with the layers of
pytorch-cifar or, for the networks named -imagenet, of torchvision, and the weights.safetensors of a run. Kernels are
[out, in, height, width] there, linear weights [out, in].

--prune-to: gradual magnitude pruning (Zhu & Gupta 2017). The share of zeros grows by their cubic schedule, in up to a
hundred steps from a tenth to three quarters of the run (--prune-during). Each time the smallest weights of all layers
together become 0, as in the study, and stay 0.

After training, the weights are studied: how their sizes are spread, the accuracy with the smallest ones set to 0 and
with all rounded to a few bits, with one scale per tensor and one per output channel, and the margins of the network
and of its last layer. Each accuracy is also measured with the statistics of batch norm recomputed from 2,000 training
images. That is 45 evaluations of the test images, 23 passes over those 2,000, and one over the training images.`
}

// Resolve fills in what the network's recipe decides.
func (t *Train) Resolve() (Command, error) {
	net, err := nets.ByName(t.Model)
	if err != nil {
		return nil, settings.At("model", err)
	}
	one := *t
	one.Data = cmp.Or(t.Data, net.Recipe.Data)
	one.Epochs, one.Batch = cmp.Or(t.Epochs, net.Recipe.Epochs), cmp.Or(t.Batch, net.Recipe.Batch)
	one.Schedule = cmp.Or(t.Schedule, net.Recipe.Schedule)
	switch {
	case t.LR == settings.Recipe && t.Adaptive != 0: // its steps are of another size
		one.LR = settings.Auto
	case t.LR == settings.Recipe:
		one.LR = settings.Rate(net.Recipe.LR)
	}
	if t.Momentum == settings.FromRecipe && net.Recipe.Momentum > 0 {
		one.Nesterov = true
	}
	one.Momentum = t.Momentum.Or(net.Recipe.Momentum)
	one.LabelSmoothing = t.LabelSmoothing.Or(net.Recipe.Smoothing)
	if one.Flips = cmp.Or(t.Flips, net.Recipe.Flips); one.Flips == randomFlips && net.Recipe.Flips == nets.Random {
		one.Flips = ""
	}
	if p, err := t.pruning(); err == nil && (p.To == 0 || p == (train.Pruning{To: p.To, From: 0.1, Until: 0.75})) {
		one.PruneDuring = "" // the default, or nothing that it changes
	}
	if t.Unit == "one" { // the default
		one.Unit = ""
	}
	if t.Feed == "auto" {
		one.Feed = ""
	}
	return &one, nil
}

// pruning is that of the plan.
func (t *Train) pruning() (train.Pruning, error) {
	p := train.Pruning{To: t.PruneTo, From: 0.1, Until: 0.75}
	if !(p.To >= 0 && p.To < 1) {
		return p, settings.Errorf("prune_to", "--prune-to %v: want a share of the weights, at least 0 and below 1, such "+
			"as 0.8", p.To)
	}
	if t.PruneDuring == "" {
		return p, nil
	}
	from, until, _ := strings.Cut(t.PruneDuring, "-")
	var err, err2 error
	p.From, err = strconv.ParseFloat(from, 64)
	p.Until, err2 = strconv.ParseFloat(until, 64)
	if err != nil || err2 != nil || (train.Pruning{To: 0.5, From: p.From, Until: p.Until}).Check() != nil {
		return p, settings.Errorf("prune_during", "--prune-during %s: want two shares of the run, the first below the "+
			"second, such as 0.1-0.75", t.PruneDuring)
	}
	return p, nil
}

// randomFlips is nets.Random on the command line.
const randomFlips = "random"

// Check returns the first thing wrong with the settings.
func (t *Train) Check() error {
	if err := t.CheckLabels(); err != nil {
		return err
	}
	for i, p := range t.P {
		if err := mirror.CheckP(p); err != nil {
			return settings.At("p", err)
		}
		if slices.Contains(t.P[:i], p) {
			return settings.Errorf("p", "--p: %v is listed twice; --trials sets the number of runs of each", p)
		}
	}
	if err := engine.CheckName(t.Engine); err != nil {
		return settings.At("engine", err)
	}
	for _, n := range []struct {
		key   string
		value int
	}{{"epochs", t.Epochs}, {"batch", t.Batch}, {"trials", t.Trials}} {
		if n.value < 1 {
			return settings.Errorf(n.key, "--%s %d: want at least 1", n.key, n.value)
		}
	}
	for _, x := range []struct {
		key   string
		value float64
	}{{"momentum", float64(t.Momentum)}, {"adaptive", t.Adaptive}} {
		if !(x.value >= 0 && x.value < 1) {
			return settings.Errorf(x.key, "--%s %v: want at least 0 and below 1", x.key, x.value)
		}
	}
	for _, x := range []struct {
		key, flag string
		value     float64
	}{{"dual_decay", "dual-decay", t.DualDecay}, {"weight_decay", "weight-decay", t.WeightDecay}} {
		if !(x.value >= 0 && x.value <= math.MaxFloat32) {
			return settings.Errorf(x.key, "--%s %v: want at least 0, and a finite number in float32", x.flag, x.value)
		}
	}
	switch {
	case t.Data == "":
		return settings.Errorf("data", "--data: %s has no images of its own. \"bregman data pack\" makes a file of your "+
			"pictures: name it with --data", t.Model)
	case len(t.P) == 0:
		return settings.Errorf("p", "--p: name at least one p")
	case !(t.LR >= 0) || math.IsInf(float64(t.LR), 1):
		return settings.Errorf("lr", "--lr %v: want a positive number or auto", float64(t.LR))
	case t.LR != settings.Auto && (float32(t.LR) == 0 || math.IsInf(float64(float32(t.LR)), 0)):
		return settings.Errorf("lr", "--lr %v: in float32 that is %v", float64(t.LR), float32(t.LR))
	case !(t.Peak >= 0 && t.Peak <= 1):
		return settings.Errorf("peak", "--peak %v: want a share of the run, from 0 to 1", t.Peak)
	case t.Nesterov && t.Momentum == 0:
		return settings.Errorf("nesterov", "--nesterov: it changes the momentum: set --momentum, 0.9 say")
	case t.NoAugment && t.Flips == nets.Alternating && t.Recipe().Flips == nets.Random:
		return settings.Errorf("flips", "--flips alternating: --no-augment leaves all flips out")
	case t.Unit == "init" && slices.Max(t.P) > optim.MaxUnitP:
		return settings.Errorf("unit", "--unit init: want p of at most %d", optim.MaxUnitP)
	case t.Validate < 0:
		return settings.Errorf("validate", "--validate %d: want a number of training images, or 0", t.Validate)
	case t.Size < 0 || t.Size > largestSide:
		return settings.Errorf("size", "--size %d: want a side of up to %d pixels", t.Size, largestSide)
	case t.Patience < 0:
		return settings.Errorf("patience", "--patience %d: want a number of epochs, or 0", t.Patience)
	case t.Patience > 0 && t.Validate == 0:
		return settings.Errorf("patience", "--patience %d: it goes by images that are held back: add --validate 5000, say",
			t.Patience)
	case t.Patience > 0 && t.Schedule != "constant":
		return settings.Errorf("patience", "--patience %d: add --schedule constant. The others plan the rate of the whole "+
			"run, and the best epochs are its last", t.Patience)
	case t.Patience > 0 && t.PruneTo > 0:
		return settings.Errorf("patience", "--patience %d: --prune-to plans the whole run: leave one of them out",
			t.Patience)
	case t.DryRun && t.Resume != "":
		return settings.Errorf("dry_run", "--dry-run: it is for new runs; leave --resume out")
	case t.Runs == "":
		return settings.Errorf("runs", "--runs: training needs a folder for its checkpoints")
	}
	if _, err := t.pruning(); err != nil {
		return err
	}
	return t.checkPictures()
}

// Do trains.
func (t *Train) Do(ctx context.Context, env *Env) (Result, error) {
	if t.DryRun {
		w, err := newTrainer(ctx, env, t, nil)
		if err != nil {
			return nil, err
		}
		defer w.Close()
		return w.dryRun(ctx)
	}
	var old *stoppedTrain
	if t.Resume != "" {
		var err error
		if old, err = findStoppedTrain(t.Resume); err != nil {
			return nil, err
		}
		defer old.run.Release()
		if t, err = old.settings(t); err != nil {
			return nil, err
		}
	}
	if err := CheckFolder("--runs", t.Runs); err != nil {
		return nil, err
	}
	w, err := newTrainer(ctx, env, t, old)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if old != nil {
		err = w.resumeRun(ctx, old)
	} else {
		err = w.all(ctx)
	}
	if err == nil {
		err = w.repeatable()
	}
	for k, line := range w.remaining {
		if k == 0 {
			env.Say("not finished:")
		}
		env.Say("  %s", line)
	}
	return w.trained(), err
}

// repeatable returns an error if an epoch that was trained twice had two results.
func (w *Trainer) repeatable() error {
	checked, differ := 0, 0
	for _, r := range w.results {
		checked, differ = checked+r.Checked, differ+r.Differ
	}
	if differ == 0 {
		return nil
	}
	return fmt.Errorf("--check-steps: %d of %d epochs did not end at the same weights twice: metrics.jsonl says where. "+
		"If XLA chose a kernel that adds in any order, XLA_FLAGS=--xla_gpu_exclude_nondeterministic_ops=true avoids it; if "+
		"not, do not trust this machine", differ, checked)
}

// NewTrainer opens the engine, puts the images on it and compiles the step: one for every p, seed and learning rate.
// The settings are resolved and checked.
func NewTrainer(ctx context.Context, env *Env, t *Train) (*Trainer, error) {
	return newTrainer(ctx, env, t, nil)
}

// newTrainer is NewTrainer for a run that may be resumed.
func newTrainer(ctx context.Context, env *Env, t *Train, old *stoppedTrain) (*Trainer, error) {
	eng, err := OpenEngine(env, t.Engine)
	if err != nil {
		return nil, err
	}
	set, err := t.images(t.DataDir)
	sayBroken(env, set, err)
	if err != nil && old != nil {
		return nil, fmt.Errorf("--resume %s: the run was trained on %s, which has to be there: %w", old.run.Dir, t.Data, err)
	}
	if err != nil {
		return nil, err
	}
	if old != nil {
		if err := old.checkData(set); err != nil {
			return nil, err
		}
		set.Name = cmp.Or(old.run.Info.Data, set.Name) // as in run.json: an absolute path may differ
	}
	one := *t
	if one.Precision == "auto" {
		one.Precision = AutoPrecision(eng.Name)
	}
	w := &Trainer{Train: &one, env: env, set: set, engine: eng, rates: new(Rates)}
	return w, w.compile(ctx)
}

// AutoPrecision is the precision that auto stands for on an engine.
func AutoPrecision(engine string) string {
	if engine == "cuda" {
		return "bf16"
	}
	return "float32"
}

// OpenEngine opens an engine, once a process, and reports which better ones were found and did not start, and if it has
// to wait where it should not.
func OpenEngine(env *Env, name string) (*engine.Engine, error) {
	eng, err := env.Engines.Open(name)
	if err != nil {
		return nil, err
	}
	for _, p := range eng.Passed {
		env.Say("%s", p)
	}
	for _, why := range []string{eng.Waits, eng.Plain} {
		if why != "" {
			env.Say("%s", why)
		}
	}
	return eng, nil
}

// compile compiles the session.
func (w *Trainer) compile(ctx context.Context) error {
	if n := w.set.Train.Len(); w.Batch > n {
		return fmt.Errorf("--batch %d: %s has %d training images", w.Batch, w.set.Name, n)
	}
	var err error
	if w.Init != "" && w.Resume == "" { // a resumed run has its weights in its checkpoint
		if w.init, err = train.ReadInit(w.Init); err != nil {
			return fmt.Errorf("--init: %w", err)
		}
	}
	w.env.Say("%s on %s, %d + %d images, %s on the %s engine: compiling", w.Model, w.set.Name, w.set.Train.Len(),
		w.set.Test.Len(), w.Precision, w.engine.Name)
	begin := time.Now()
	resolution, err := w.resolution(w.set)
	if err != nil {
		return err
	}
	if w.stream, w.feedReason, err = w.chooseFeed(); err != nil {
		return err
	}
	if w.set.Pack != nil {
		w.env.Say("%s", w.feedReason)
	}
	if w.engine.IsCUDA() { // XLA compiles for minutes before it says so
		if line := w.foresee(w.engine.Memory(), resolution); line != "" {
			w.env.Say("%s", line)
		}
	}
	compiled := w.promiseToStop(ctx, patience)
	w.session, err = train.New(w.engine, w.set, train.Settings{Net: w.net(), Batch: w.Batch, Precision: w.Precision,
		Augment: !w.NoAugment, Flips: w.flips(), Shifts: w.Recipe().Shifts,
		Optimizer: w.optimizer((w.set.Train.Len() - w.Validate) / w.Batch),
		Smoothing: float64(w.LabelSmoothing), Resolution: resolution, Stream: w.stream, Prune: w.PruneTo > 0,
		Validate: w.Validate,
		Loading:  w.loading(ctx)})
	compiled()
	if err != nil {
		return fmt.Errorf("%w%s", err, w.outOfMemory(err))
	}
	w.env.Say("%s parameters, compiled in %.1f s", render.Thousands(w.session.Params), time.Since(begin).Seconds())
	if w.init != nil {
		if err := w.session.CheckInit(w.init); err != nil {
			return fmt.Errorf("--init: %w", err)
		}
		if text := w.session.NewHead(w.init); text != "" {
			w.env.Say("--init %s", text)
		}
	}
	if w.DryRun { // it shows first what does not fit
		return nil
	}
	return w.checkBudget()
}

// patience is how long an interrupted program may take to stop without a word.
const patience = 500 * time.Millisecond

// promiseToStop says that the program stops later if it is interrupted while the engine compiles, which nothing can
// interrupt, and goes on for longer than patience. It does so until the function that it returns is called.
func (w *Trainer) promiseToStop(ctx context.Context, patience time.Duration) func() {
	compiled := make(chan struct{})
	var said sync.WaitGroup
	said.Go(func() {
		select {
		case <-compiled:
			return
		case <-ctx.Done():
		}
		select {
		case <-compiled:
		case <-time.After(patience):
			w.env.Say("interrupted: stops as soon as the %s engine has compiled; Ctrl-C again ends it at once", w.engine.Name)
		}
	})
	return func() {
		close(compiled)
		said.Wait()
	}
}

func (t *Train) schedule(perEpoch int) optim.Schedule {
	return must(optim.ScheduleByName(t.Schedule)).New(t.Epochs*perEpoch, t.Peak)
}

func (t *Train) optimizer(perEpoch int) *optim.Config {
	c := optim.Mirror().P(t.P[0]).LearningRate(float64(t.LR)).Momentum(float64(t.Momentum)).Adaptive(t.Adaptive).
		DualDecay(t.DualDecay).WeightDecay(t.WeightDecay).
		Schedule(t.schedule(perEpoch))
	if t.Unit == "init" {
		c.Units()
	}
	if t.Nesterov {
		c.Nesterov()
	}
	return c
}

// flips are those of train.Settings.
func (t *Train) flips() string {
	if t.Flips == randomFlips {
		return nets.Random
	}
	return t.Flips
}

// Recipe is that of the network.
func (t *Train) Recipe() nets.Recipe { return must(nets.ByName(t.Model)).Recipe }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
