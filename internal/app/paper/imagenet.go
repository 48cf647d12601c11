package paper

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/sweep"
	"github.com/bregman-ml/bregman/nets"
)

// ImageNet is `bregman reproduce imagenet`: the paper's networks on ImageNet, each p. It is the sweep file
// imagenet.toml with other values.
type ImageNet struct {
	Data           string          `placeholder:"FILE" json:"data" file:""`
	Models         []string        `default:"resnet18-imagenet,mobilenetv2-imagenet" json:"models"`
	P              []float64       `name:"p" default:"1.1,1.5,2,3,6,10" json:"p"`
	Trials         int             `default:"1" json:"trials" role:"trials"`
	Epochs         int             `default:"120" json:"epochs"`
	Batch          int             `default:"1024" json:"batch"`
	LR             []settings.Rate `name:"lr" default:"0.5" json:"lr"`
	WeightDecay    float64         `default:"0" json:"weight_decay,omitempty"`
	Seed           uint64          `default:"1" json:"seed" role:"seed"`
	Resolution     string          `default:"160-192" json:"resolution"`
	TestResolution int             `default:"256" json:"test_resolution"`
	Precision      string          `default:"auto" json:"precision"`
	DryRun         bool            `json:"-"`
	Resume         string          `placeholder:"RUN" json:"-"`
	Runs           string          `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	command.Printed
	sweep.Options
}

// Texts are the words for its settings.
func (*ImageNet) Texts() settings.Texts {
	return settings.Texts{
		About: "Networks on ImageNet: accuracy beside the paper's, its statements, weights.",
		Help: map[string]string{
			"data": "The pictures, as \"bregman data pack\" writes them: ImageNet's, or a smaller set to try the whole " +
				"with.",
			"models": "Networks.",
			"p":      "Geometries.",
			"trials": "Runs of each network and p, with seeds seed, seed+1, …; the paper has 1.",
			"epochs": "Epochs of each run; the paper has 120, the shortest form of the FFCV example 16.",
			"batch":  "Images per step; 1024 is from the FFCV example, the paper names none.",
			"lr": "Learning rates, each a table of its own: 0.5 is the peak rate of the paper, auto chooses one for " +
				"each p.",
			"weight_decay": "Add runs of p = 2 with this decay of w, at the first learning rate, to measure what its " +
				"absence costs; 5e-5 is that of the FFCV example.",
			"seed": "The first seed.",
			"resolution": "Side of the pictures in training: one number, or two to grow in the last quarter of the run, " +
				"as in the FFCV example.",
			"test_resolution": "Side of the pictures in tests.",
			"precision":       "Arithmetic of the networks: bf16 on a GPU, float32 elsewhere, if auto.",
			"dry_run":         "Print the plan and its estimated time only.",
			"resume":          "Resume this run folder, with its settings.",
			"runs":            "Where the run folder goes.",
		},
		Choices: map[string][]string{"models": nets.Names(), "precision": command.Precisions},
	}
}

// Help is shown by --help.
func (*ImageNet) Help() string {
	return `Examples:
  bregman data pack ILSVRC2012_img_train.tar ILSVRC2012_img_val.tar --out imagenet.pack
  bregman reproduce imagenet --data imagenet.pack --dry-run
  bregman reproduce imagenet --data imagenet.pack --models resnet18-imagenet --p 2,3 --epochs 16
  bregman reproduce imagenet --data imagenet.pack --weight-decay 5e-5
  bregman reproduce imagenet --resume runs/20261115-120000-reproduce-imagenet

Trains ResNet-18 and MobileNet-v2 with every p and writes one report.html: accuracies beside the paper's, and each of
its statements on ImageNet with what was measured and a verdict. The recipe is our reading of the paper's: a peak rate
of 0.5, 120 epochs, and no momentum, decay or label smoothing are its words. The rest is from the FFCV example that it
starts from: batch 1024, a triangular rate with its peak after two epochs, blur pools, a resolution that grows, and
tests with mirror images. MobileNet-v2 has a dropout of 0.2, as in torchvision. The paper has one run of each, so that
chance is not measured: --trials 3 or more does.

On other pictures the report has the same statements, without the paper's accuracies. The program has never been run
on ImageNet itself.

It is a sweep: each run has its own folder in trials/, as "bregman train" writes it, and "bregman sweep status", stop,
resume and retry work on the run folder. --resume continues what was stopped or killed: finished runs are not repeated,
the others resume from their checkpoints.`
}

// reproduction is the command as a sweep.
func (c *ImageNet) reproduction() reproduction {
	return reproduction{name: "imagenet", report: imageNetReport, resume: c.Resume, runs: c.Runs, dryRun: c.DryRun,
		options: c.Options, plan: c.plan}
}

// Check returns the first thing wrong with the settings.
func (c *ImageNet) Check() error {
	if c.Data == "" && c.Resume == "" {
		return settings.Errorf("data", "--data: name the packed pictures; \"bregman data pack "+
			"ILSVRC2012_img_train.tar ILSVRC2012_img_val.tar --out imagenet.pack\" writes ImageNet's")
	}
	return c.reproduction().check()
}

// Do trains what is not done yet and writes the report.
func (c *ImageNet) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	r := c.reproduction()
	if c.Resume == "" {
		paper, err := c.isImageNet(env)
		if err != nil {
			return nil, err
		}
		r.plan = func(version string) (*sweep.Plan, error) {
			p, err := c.plan(version)
			if err == nil && paper {
				p.File.Published = published(numbers.ImageNet())
			}
			return p, err
		}
	}
	return r.do(ctx, env)
}

// What ILSVRC2012 has, and how many training pictures may be missing: a few may be damaged.
const (
	imageNetTrain, imageNetTest, imageNetClasses = 1_281_167, 50_000, 1000
	imageNetFirst, imageNetLast                  = "n01440764", "n15075141"
	imageNetMissing                              = 100
)

// isILSVRC2012 reports whether a set with these classes and so many pictures is ImageNet's.
func isILSVRC2012(classes []string, train, test int) bool {
	return len(classes) == imageNetClasses && classes[0] == imageNetFirst && classes[imageNetClasses-1] == imageNetLast &&
		test == imageNetTest && train <= imageNetTrain && train >= imageNetTrain-imageNetMissing
}

// isImageNet reports whether the pictures are ImageNet's, so that the paper's accuracies may stand beside. It says so.
func (c *ImageNet) isImageNet(env *command.Env) (bool, error) {
	if _, err := os.Stat(c.Data); err == nil && !images.IsPack(c.Data) {
		return false, fmt.Errorf("--data %s: not a packed file: \"bregman data pack\" writes one", c.Data)
	}
	pack, err := images.OpenPack(c.Data)
	if err != nil {
		return false, err
	}
	defer pack.Close()
	if n := len(pack.Train); c.Batch > n {
		return false, settings.Errorf("batch", "--batch %d: %s has %d training images", c.Batch, c.Data, n)
	}
	classes, train, test := pack.Classes, len(pack.Train), len(pack.Test)
	if isILSVRC2012(classes, train, test) {
		return true, nil
	}
	env.Say("%s is not ImageNet (%d + %d pictures, %d classes): the paper's accuracies are not set beside", c.Data, train,
		test, len(classes))
	return false, nil
}

// peakShare is where the learning rate peaks, as a share of the run: after two epochs, as in the FFCV example, but not
// after the middle.
func peakShare(epochs int) float64 { return min(0.5, 2/float64(max(epochs, 1))) }

// plan is the paper's sweep with these settings.
func (c *ImageNet) plan(version string) (*sweep.Plan, error) {
	f, err := c.reproduction().file(c.Models, c.P, c.LR, "trials", c.Trials, "seed", c.Seed, "epochs", c.Epochs,
		"batch", c.Batch, "precision", c.Precision, "peak", peakShare(c.Epochs), "resolution", c.Resolution,
		"test_resolution", c.TestResolution)
	if err != nil {
		return nil, err
	}
	if c.WeightDecay != 0 && !slices.Contains(c.P, 2) {
		return nil, settings.Errorf("weight_decay", "--weight-decay adds runs of p = 2, which --p does not have: add it")
	}
	f.Set("settings", "data", command.AbsoluteData(c.Data))
	var all []variant
	for _, lr := range c.LR {
		all = append(all, variant{lr: lr})
	}
	if c.WeightDecay != 0 {
		all = append(all, variant{lr: c.LR[0], decay: c.WeightDecay})
	}
	setVariants(f, all)
	p, err := sweep.NewPlan(f, version)
	if err != nil {
		return nil, err
	}
	if c.WeightDecay != 0 { // the paper compares p = 2 with and without
		p.Keep(func(s *sweep.Spec) bool { return numbers.Plain(s.Settings) || s.Settings["p"] == "2" })
	}
	p.Command = c.command()
	return p, nil
}

// command is the command line of this reproduction.
func (c *ImageNet) command() string {
	s := fmt.Sprintf("bregman reproduce imagenet --data %s --models %s --p %s --trials %d --epochs %d --batch %d "+
		"--lr %s --seed %d --resolution %s --test-resolution %d", settings.Quote(c.Data), list(c.Models), list(c.P),
		c.Trials, c.Epochs, c.Batch, list(c.LR), c.Seed, c.Resolution, c.TestResolution)
	if c.WeightDecay != 0 {
		s += fmt.Sprintf(" --weight-decay %v", c.WeightDecay)
	}
	if cmp.Or(c.Precision, "auto") != "auto" {
		s += " --precision " + c.Precision
	}
	return s
}
