package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/train"
)

// Train is `bregman train`: train a network by stochastic p-GD.
type Train struct {
	Model       string    `kong:"default='cnn',help='Network: cnn, mobilenetv2, regnetx200, resnet18 or vgg11.'" toml:"model" json:"model"`
	Data        string    `kong:"help='Images; by default fashion-sample for cnn and cifar10 for the others. cifar10, fashion-mnist, fashion-sample (built in), a folder with a folder per class, or an npz file.'" toml:"data" json:"data"`
	P           []float64 `kong:"name='p',default='2,3',help='Geometries; several run one after another on one compiled step.'" toml:"p" json:"p"`
	Epochs      int       `kong:"help='Epochs; by default 15 for cnn and 60 for the others. The paper trains for 400.'" toml:"epochs" json:"epochs"`
	Batch       int       `kong:"help='Images per step; by default 50 for cnn and 512 for the others. The paper does not name a batch size.'" toml:"batch" json:"batch"`
	LR          Rate      `kong:"name='lr',default='recipe',help='Learning rate, at its peak: a number; recipe, which is 0.1 as in the paper, 0.8 for cnn, and auto with --adaptive; or auto, a search by short runs for each p.'" toml:"lr" json:"lr"`
	Schedule    string    `kong:"default='triangular',enum='triangular,cosine,constant,step',help='triangular (our reading of the cyclic schedule in the paper), cosine, constant, or step (a tenth after each third).'" toml:"schedule" json:"schedule"`
	Peak        float64   `kong:"default='0.2083333',help='Where the triangle peaks, as a share of the run; 5/24 is from the FFCV example that the paper starts from.'" toml:"peak" json:"peak"`
	Seed        uint64    `kong:"default='1',help='First seed: decides initial weights, order and augmentation.'" toml:"seed" json:"seed"`
	Trials      int       `kong:"default='1',help='Runs per p, with seeds seed, seed+1, …'" toml:"trials" json:"trials"`
	Precision   string    `kong:"default='auto',enum='auto,bf16,float32',help='Arithmetic of the network: bf16 on a GPU, float32 elsewhere, if auto.'" toml:"precision" json:"precision"`
	Momentum    float64   `kong:"default='0',help='Momentum in the dual.'" toml:"momentum" json:"momentum"`
	DualDecay   float64   `kong:"default='0',help='Decay of z: regularisation by the p-th power of the lp norm.'" toml:"dual_decay" json:"dual_decay"`
	WeightDecay float64   `kong:"default='0',help='Decay of w: regularisation by the squared Euclidean norm. With p = 3 it can make the weights sparse; for larger p use it with --unit init, or else --dual-decay.'" toml:"weight_decay" json:"weight_decay"`
	Adaptive    float64   `kong:"default='0',help='Scale gradients by a running second moment with this decay, e.g. 0.999; 0 for none.'" toml:"adaptive" json:"adaptive"`
	Unit        string    `kong:"placeholder='one',help='What weights are measured in: one, as in the paper, or init, the root mean square that each layer begins with. One learning rate then means much the same for every p, and biases and batch norm move by gradient descent.'" toml:"unit" json:"unit,omitempty"`
	Init        string    `kong:"placeholder='FILE',help='Start from the weights in this safetensors file, in the names and layouts of PyTorch.'" toml:"init" json:"init,omitempty"`
	NoAugment   bool      `kong:"help='No flips, shifts and cut-outs.'" toml:"no_augment" json:"no_augment"`
	NoStudy     bool      `kong:"help='Do not measure weights, pruning, rounding and margins after training.'" toml:"no_study" json:"no_study,omitempty"`
	Engine      string    `kong:"default='auto',help='auto, cuda, cpu, xla-cpu, go, or the path of a PJRT plugin; see bregman doctor.'" toml:"engine" json:"engine"`
	DataDir     string    `kong:"placeholder='DIR',help='Where data sets are kept.'" toml:"data_dir" json:"data_dir,omitempty"`
	Resume      string    `kong:"placeholder='RUN',help='Resume this run folder, with its settings.'" toml:"-" json:"-"`
	Runs        string    `kong:"default='runs',placeholder='DIR',help='Where run folders go.'" toml:"runs" json:"runs"`
	JSON        bool      `kong:"name='json',help='Print one JSON object.'" toml:"-" json:"-"`
}

// Help is shown by --help.
func (*Train) Help() string {
	return `Examples:
  bregman train                              the small network on the built-in images, with p = 2 and p = 3: half a minute on two cores
  bregman train --model resnet18 --data cifar10 --p 1.1,2,3,10 --epochs 60 --trials 3
  bregman train --model resnet18 --data cifar10 --p 1.1,2,3,10 --unit init
  bregman train --model resnet18 --data cifar10 --p 1.1,2,3,10 --lr auto
  bregman train --model resnet18 --data cifar10 --p 3 --init resnet18.safetensors --lr 0.01
  bregman train --resume runs/20261115-120000-train-resnet18-p3-s1

"bregman data get cifar10" fetches the images. --resume continues a stopped run from its last checkpoint.

--lr auto: one rate means something different for every p. Short runs, each the whole schedule in fewer epochs, look for the rate with the least
training loss: by factors of ten from the recipe's in a thirtieth of the epochs, then by half decades in a tenth (at least two epochs each). That is
about half the time of a run of 60 epochs. The first seed decides, for all trials of a p; for p = 10 another may find a quite different rate, less so
with --unit init. The longer a run, the larger the rate that is best for it, so the one that is found may be small. What was tried is in the run folder.

--unit init: p-GD moves a weight w at the rate η|w|^(2−p)/(p−1), so that a rate for p = 2 is far too large for p = 10, whose first steps overwrite the
initial weights, and for p = 1.1 too small. With |w| measured in the size u that a layer begins with, the rate is η(|w|/u)^(2−p): that of gradient
descent for a weight of that size, whatever p is.

--init reads what torch and safetensors write, save_file(net.state_dict(), FILE), for a network with the layers of pytorch-cifar, and the
weights.safetensors of a run. Kernels are [out, in, height, width] there, linear weights [out, in].

After training, the weights are studied: how their sizes are spread, the accuracy with the smallest ones set to 0 and with all rounded to a few
bits, and the margins of the network and of its last layer. That is 18 evaluations of the test images and one of the training images.`
}

// recipe fills in what the network decides: the small one's own settings, else our reading of the paper's recipe.
func (t *Train) recipe() {
	data, epochs, batch := "cifar10", 60, 512
	if t.Model == "cnn" {
		data, epochs, batch = "fashion-sample", 15, 50
	}
	t.Data = cmp.Or(t.Data, data)
	t.Epochs, t.Batch = cmp.Or(t.Epochs, epochs), cmp.Or(t.Batch, batch)
	switch {
	case t.LR == Recipe && t.Adaptive != 0: // its steps are of another size
		t.LR = Auto
	case t.LR == Recipe:
		t.LR = t.recipeRate()
	}
	if t.Unit == "one" { // what nothing said means
		t.Unit = ""
	}
}

func (t *Train) recipeRate() Rate {
	if t.Model == "cnn" {
		return 0.8
	}
	return 0.1
}

// Check fills in what the network decides, and returns the first thing wrong with the settings.
func (t *Train) Check() error {
	t.recipe()
	if _, err := nets.ByName(t.Model); err != nil {
		return err
	}
	for i, p := range t.P {
		if err := mirror.CheckP(p); err != nil {
			return err
		}
		if slices.Contains(t.P[:i], p) {
			return fmt.Errorf("--p: %v is listed twice; --trials sets the number of runs of each", p)
		}
	}
	if err := engine.CheckName(t.Engine); err != nil {
		return err
	}
	switch {
	case len(t.P) == 0:
		return errors.New("--p: name at least one p")
	case t.Epochs < 1 || t.Batch < 1 || t.Trials < 1:
		return fmt.Errorf("--epochs %d, --batch %d, --trials %d: want at least 1 of each", t.Epochs, t.Batch, t.Trials)
	case !(t.LR >= 0) || math.IsInf(float64(t.LR), 1):
		return fmt.Errorf("--lr %v: want a positive number or auto", float64(t.LR))
	case t.LR != Auto && (float32(t.LR) == 0 || math.IsInf(float64(float32(t.LR)), 0)):
		return fmt.Errorf("--lr %v: in float32 that is %v", float64(t.LR), float32(t.LR))
	case !(t.Peak >= 0 && t.Peak <= 1):
		return fmt.Errorf("--peak %v: want a share of the run, from 0 to 1", t.Peak)
	case !(t.Momentum >= 0 && t.Momentum < 1) || !(t.Adaptive >= 0 && t.Adaptive < 1):
		return fmt.Errorf("--momentum %v, --adaptive %v: want at least 0 and below 1", t.Momentum, t.Adaptive)
	case !(t.DualDecay >= 0) || !(t.WeightDecay >= 0):
		return fmt.Errorf("--dual-decay %v, --weight-decay %v: want at least 0", t.DualDecay, t.WeightDecay)
	case t.DualDecay > math.MaxFloat32 || t.WeightDecay > math.MaxFloat32:
		return fmt.Errorf("--dual-decay %v, --weight-decay %v: want finite numbers in float32", t.DualDecay, t.WeightDecay)
	case t.Unit == "init" && slices.Max(t.P) > optim.MaxUnitP:
		return fmt.Errorf("--unit init: want p of at most %d", optim.MaxUnitP)
	case t.Unit != "" && t.Unit != "init":
		return fmt.Errorf("--unit %q: choose one or init", t.Unit)
	case !slices.Contains([]string{"auto", "bf16", "float32"}, t.Precision):
		return fmt.Errorf("--precision %q: choose auto, bf16 or float32", t.Precision)
	case !slices.Contains([]string{"triangular", "cosine", "constant", "step"}, t.Schedule):
		return fmt.Errorf("--schedule %q: choose triangular, cosine, constant or step", t.Schedule)
	case t.Runs == "":
		return errors.New("--runs: training needs a folder for its checkpoints")
	}
	return nil
}

// TrainResult is one finished run.
type TrainResult struct {
	P            float64 `json:"p"`
	Seed         uint64  `json:"seed"`
	LR           float64 `json:"lr"`
	Loss         float64 `json:"train_loss"` // this and the next: means over the last epoch's batches, augmented, as the weights changed
	Accuracy     float64 `json:"train_accuracy"`
	TestLoss     float64 `json:"test_loss"`
	TestAccuracy float64 `json:"test_accuracy"`
	FlipAccuracy float64 `json:"test_accuracy_flip"` // answers averaged with those to the mirror image
	ImgPerSecond float64 `json:"img_per_second"`     // training alone, median over epochs
	Seconds      float64 `json:"seconds"`            // over all legs of a run that was gone on with
	Run          string  `json:"run,omitempty"`      // not in the file: the folder may be moved
	Warning      string  `json:"warning,omitempty"`  // what a reader must know before the numbers
	Error        string  `json:"error,omitempty"`    // of a run that failed: the rest says nothing then
}

// Run trains.
func (t *Train) Run(ctx context.Context, con *Console) error {
	var old *stopped
	if t.Resume != "" {
		var err error
		if old, err = findStopped(t.Resume); err != nil {
			return err
		}
		defer old.run.Release()
		*t = old.settings(*t)
	}
	if err := t.Check(); err != nil {
		return err
	}
	if err := CheckFolder("--runs", t.Runs); err != nil {
		return err
	}
	eng, err := engine.Open(t.Engine)
	if err != nil {
		return err
	}
	con.SayPassed(eng)
	set, err := images.Load(t.Data, t.DataDir)
	if err != nil {
		return err
	}
	if old != nil {
		if err := old.checkData(set); err != nil {
			return err
		}
		set.Name = cmp.Or(old.run.Info.Data, set.Name) // the path that is kept may be longer than what was asked for
	}
	w, err := t.Compile(con, eng, set)
	if err != nil {
		return err
	}
	defer w.Close()
	if old != nil {
		err = w.again(ctx, old)
	} else {
		err = w.all(ctx)
	}
	return errors.Join(w.print(), err)
}

// Compile puts the images on the engine and compiles the step: one for every p, seed and learning rate.
func (t *Train) Compile(con *Console, eng *engine.Engine, set *images.Set) (*Trainer, error) {
	if t.Precision == "auto" {
		t.Precision = "float32"
		if eng.Name == "cuda" {
			t.Precision = "bf16"
		}
	}
	if t.Batch > set.Train.Len() {
		return nil, fmt.Errorf("--batch %d: %s has %d training images", t.Batch, set.Name, set.Train.Len())
	}
	w := &Trainer{Train: t, con: con, set: set, engine: eng, rates: map[float64]train.RateSearch{}}
	var err error
	if t.Init != "" && t.Resume == "" { // a run that goes on has its weights in its checkpoint
		if w.init, err = train.ReadInit(t.Init); err != nil {
			return nil, fmt.Errorf("--init: %w", err)
		}
	}
	con.Say("%s on %s, %d + %d images, %s on the %s engine: compiling", t.Model, set.Name, set.Train.Len(), set.Test.Len(), t.Precision, eng.Name)
	begin := time.Now()
	w.session, err = train.New(eng, set, train.Settings{Net: t.Model, Batch: t.Batch, Precision: t.Precision, Augment: !t.NoAugment, Optimizer: t.optimizer(set.Train.Len() / t.Batch)})
	if err != nil {
		return nil, err
	}
	con.Say("%s parameters, compiled in %.1f s", render.Thousands(w.session.Params), time.Since(begin).Seconds())
	if w.init != nil {
		if err := w.session.CheckInit(w.init); err != nil {
			return nil, fmt.Errorf("--init: %w", err)
		}
	}
	return w, nil
}

func (t *Train) schedule(perEpoch int) optim.Schedule {
	steps := t.Epochs * perEpoch
	switch t.Schedule {
	case "triangular":
		return optim.Triangular(steps, int(math.Round(t.Peak*float64(steps))))
	case "cosine":
		return optim.Cosine(steps)
	case "step":
		return optim.Step(max(1, (steps+2)/3), 0.1)
	}
	return optim.Constant()
}

func (t *Train) optimizer(perEpoch int) *optim.Config {
	c := optim.Mirror().P(t.P[0]).LearningRate(float64(t.LR)).Momentum(t.Momentum).DualDecay(t.DualDecay).WeightDecay(t.WeightDecay).Adaptive(t.Adaptive).
		Schedule(t.schedule(perEpoch))
	if t.Unit == "init" {
		c.Units()
	}
	return c
}

// print shows what was done, also where not all was.
func (w *Trainer) print() error {
	for k, command := range w.left {
		if k == 0 {
			w.con.Say("not finished:")
		}
		w.con.Say("  %s", command)
	}
	if w.JSON {
		runs := []any{}
		for _, r := range w.results {
			if r.Error != "" {
				runs = append(runs, map[string]any{"p": r.P, "seed": r.Seed, "lr": Rate(r.LR), "run": r.Run, "error": r.Error})
			} else {
				runs = append(runs, r)
			}
		}
		out := map[string]any{"model": w.Model, "data": w.set.Name, "engine": w.engine.Name, "precision": w.Precision, "parameters": w.session.Params,
			"epochs": w.Epochs, "runs": runs, "train_loss_and_accuracy": w.runningMean()}
		if len(w.left) > 0 {
			out["left"] = w.left
		}
		return w.con.PrintJSON(out)
	}
	t := render.Table{Title: fmt.Sprintf("%s on %s, %s", w.Model, w.set.Name, render.Count(w.Epochs, "epoch")),
		Header: []string{"p", "seed", "lr", "train loss", "train %", "test %", "test % with flips", "img/s", "seconds"}}
	for _, r := range w.results {
		row := []render.Cell{render.Text("%v", r.P), render.Text("%d", r.Seed), render.Text("%v", Rate(r.LR))}
		if r.Error != "" {
			row = append(row, render.Text("failed"))
			for len(row) < len(t.Header) {
				row = append(row, render.Text("–"))
			}
		} else {
			row = append(row, render.Short(r.Loss, 3), render.Number(100*r.Accuracy, 2), render.Number(100*r.TestAccuracy, 2),
				render.Number(100*r.FlipAccuracy, 2), render.Number(r.ImgPerSecond, 0), render.Number(r.Seconds, 1))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	fmt.Fprint(w.con.Out, t.Text())
	fmt.Fprintf(w.con.Out, "train loss and train %%: %s\n", w.runningMean())
	for _, r := range w.results {
		if r.Run != "" {
			fmt.Fprintf(w.con.Out, "run  %s\n", r.Run)
		}
		if r.Warning != "" {
			fmt.Fprintf(w.con.Out, "     %s\n", r.Warning)
		}
	}
	if !slices.ContainsFunc(w.results, func(r TrainResult) bool { return r.Error == "" }) {
		return nil
	}
	fmt.Fprintln(w.con.Out, "The figures are in the report.html of each run; \"bregman report RUN…\" compares several.")
	return nil
}
