package paper

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/sweep"
	"github.com/bregman-ml/bregman/nets"
)

// Cifar10 is `bregman reproduce cifar10`: the paper's deep networks, each p, several trials. It is the sweep file
// cifar10.toml with other values.
type Cifar10 struct {
	Models      []string        `default:"vgg11,resnet18,mobilenetv2,regnetx200" json:"models"`
	P           []float64       `name:"p" default:"1.1,1.5,2,3,6,10" json:"p"`
	Trials      int             `default:"3" json:"trials" role:"trials"`
	Epochs      int             `default:"60" json:"epochs"`
	Batch       int             `default:"512" json:"batch"`
	Reading     string          `default:"scaled" json:"reading"`
	LR          []settings.Rate `name:"lr" placeholder:"RATE" json:"lr,omitempty"`
	WeightDecay float64         `default:"0" json:"weight_decay,omitempty"`
	Adaptive    float64         `default:"0" json:"adaptive,omitempty"`
	Unit        string          `placeholder:"init" json:"unit,omitempty"`
	Seed        uint64          `default:"1" json:"seed" role:"seed"`
	Data        string          `default:"cifar10" json:"data"`
	Precision   string          `default:"auto" json:"precision"`
	Resume      string          `placeholder:"RUN" json:"-"`
	Runs        string          `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	command.Printed
	sweep.Options
}

// Texts are the words for its settings.
func (*Cifar10) Texts() settings.Texts {
	return settings.Texts{
		About: "Deep networks: accuracy, weights, pruning, rounding, margins.",
		Help: map[string]string{
			"models": "Networks.",
			"p":      "Geometries.",
			"trials": "Runs of each network and p, with seeds seed, seed+1, …; the paper has 5.",
			"epochs": "Epochs of each run; the paper has 400.",
			"batch":  "Images per step; the paper does not name a batch size.",
			"reading": "How the paper's peak learning rate of 0.1 is read: scaled, 0.1 for each 128 images, which is 0.4 " +
				"at a batch of 512; printed, 0.1 at any batch.",
			"lr":           "Learning rates instead, each a table of its own; auto chooses one for each p.",
			"weight_decay": "Add runs with this decay of w, at the first learning rate.",
			"adaptive": "Add runs of the adaptive variant with this decay, e.g. 0.999, at learning rates found by " +
				"short runs.",
			"unit": "Add runs with weights in units of their initial size, at the first learning rate; see bregman " +
				"train --help.",
			"seed":      "The first seed.",
			"data":      "Images: cifar10, or another set to try the whole with; see bregman train --help.",
			"precision": "Arithmetic of the networks: bf16 on a GPU, float32 elsewhere, if auto.",
			"resume":    "Resume this run folder, with its settings.",
			"runs":      "Where the run folder goes.",
		},
		Choices: map[string][]string{"models": nets.Names(), "precision": command.Precisions, "unit": {"one", "init"},
			"reading": numbers.Readings},
	}
}

// Help is shown by --help.
func (*Cifar10) Help() string {
	return `Examples:
  bregman reproduce cifar10 --models resnet18 --p 1.1,2,3,10
  bregman reproduce cifar10 --models resnet18 --epochs 400 --reading printed
  bregman reproduce cifar10 --lr 0.1,auto --unit init --weight-decay 5e-4 --adaptive 0.999
  bregman reproduce cifar10 --models cnn --data fashion-sample --p 2,3 --trials 2 --epochs 2 --batch 100
  bregman reproduce cifar10 --nats nats://queue:4222      (and on each machine: bregman worker --nats nats://queue:4222)
  bregman reproduce cifar10 --resume runs/20261115-120000-reproduce-cifar10

Trains every network with every p, several times, and writes one report.html: accuracies beside the paper's, what the
paper says with what was measured and a verdict, the order of the p if a t-test separates them, histograms of the
weights, pruning, rounding and margins. The recipe is our reading of the paper's: it names a peak rate of 0.1 and 400
epochs, but no batch size and no shape of its cyclic schedule. With a batch of 512 and a peak of 0.4, which has the
step noise of 128 and 0.1, four p of ResNet-18 came within half a point of its table; with 0.1, two of them stayed 1 to
2 points below. Each table says which reading and rate it is of.
"bregman reproduce imagenet" is the paper's other experiment with networks.

It is a sweep: each run has its own folder in trials/, as "bregman train" writes it, and "bregman sweep status", stop,
resume and retry work on the run folder. --resume continues what was stopped or killed: finished runs are not repeated,
the others resume from their checkpoints.`
}

// reproduction is the command as a sweep.
func (c *Cifar10) reproduction() reproduction {
	return reproduction{name: "cifar10", report: networksReport, resume: c.Resume, runs: c.Runs, options: c.Options,
		plan: c.plan}
}

// Check returns the first thing wrong with the settings.
func (c *Cifar10) Check() error { return c.reproduction().check() }

// Do trains what is not done yet and writes the report.
func (c *Cifar10) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	return c.reproduction().do(ctx, env)
}

// rates are the learning rates: those that are set, else the one of the reading.
func (c *Cifar10) rates() []settings.Rate {
	if len(c.LR) > 0 {
		return c.LR
	}
	return []settings.Rate{settings.Rate(numbers.PeakRate(c.Reading, c.Batch))}
}

// plan is the paper's sweep with these settings.
func (c *Cifar10) plan(version string) (*sweep.Plan, error) {
	if c.Reading != "" && !slices.Contains(numbers.Readings, c.Reading) {
		return nil, settings.Errorf("reading", "--reading %s: want %s", c.Reading, strings.Join(numbers.Readings, " or "))
	}
	if c.Batch < 1 {
		return nil, settings.Errorf("batch", "--batch %d: want at least 1", c.Batch)
	}
	rates := c.rates()
	f, err := c.reproduction().file(c.Models, c.P, rates, "trials", c.Trials, "seed", c.Seed, "epochs", c.Epochs,
		"batch", c.Batch, "precision", c.Precision)
	if err != nil {
		return nil, err
	}
	f.Set("settings", "data", command.AbsoluteData(c.Data))
	var all []variant
	for _, lr := range rates {
		all = append(all, variant{lr: lr})
	}
	if c.Unit != "" && c.Unit != "one" {
		all = append(all, variant{lr: rates[0], unit: c.Unit})
	}
	if c.WeightDecay != 0 {
		all = append(all, variant{lr: rates[0], decay: c.WeightDecay})
	}
	if c.Adaptive != 0 {
		all = append(all, variant{lr: settings.Auto, adaptive: c.Adaptive})
	}
	setVariants(f, all)
	p, err := sweep.NewPlan(f, version)
	if err != nil {
		return nil, err
	}
	p.Command = c.command()
	return p, nil
}

// command is the command line of this reproduction.
func (c *Cifar10) command() string {
	rate := "--reading " + cmp.Or(c.Reading, numbers.Scaled)
	if len(c.LR) > 0 {
		rate = "--lr " + list(c.LR)
	}
	s := fmt.Sprintf("bregman reproduce cifar10 --models %s --p %s --trials %d --epochs %d --batch %d %s --seed %d "+
		"--data %s", list(c.Models), list(c.P), c.Trials, c.Epochs, c.Batch, rate, c.Seed, settings.Quote(c.Data))
	if c.Unit != "" {
		s += " --unit " + c.Unit
	}
	if c.WeightDecay != 0 {
		s += fmt.Sprintf(" --weight-decay %v", c.WeightDecay)
	}
	if c.Adaptive != 0 {
		s += fmt.Sprintf(" --adaptive %v", c.Adaptive)
	}
	if cmp.Or(c.Precision, "auto") != "auto" {
		s += " --precision " + c.Precision
	}
	return s
}
