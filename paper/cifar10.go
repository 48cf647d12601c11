package paper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/job"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// Cifar10 is `bregman reproduce cifar10`: the paper's deep networks, each p, several trials.
type Cifar10 struct {
	Models      []string   `kong:"default='vgg11,resnet18,mobilenetv2,regnetx200',help='Networks.'" toml:"models" json:"models"`
	P           []float64  `kong:"name='p',default='1.1,1.5,2,3,6,10',help='Geometries.'" toml:"p" json:"p"`
	Trials      int        `kong:"default='3',help='Runs of each network and p, with seeds seed, seed+1, …; the paper makes 5.'" toml:"trials" json:"trials"`
	Epochs      int        `kong:"default='60',help='Epochs of each run; the paper makes 400.'" toml:"epochs" json:"epochs"`
	Batch       int        `kong:"default='512',help='Images per step.'" toml:"batch" json:"batch"`
	LR          []job.Rate `kong:"name='lr',default='0.1',help='Learning rates, each a table of its own: 0.1 is the papers, auto chooses one for each p.'" toml:"lr" json:"lr"`
	WeightDecay float64    `kong:"default='0',help='Add runs with this decay of w, at the first learning rate.'" toml:"weight_decay" json:"weight_decay,omitempty"`
	Adaptive    float64    `kong:"default='0',help='Add runs of the adaptive variant with this decay, e.g. 0.999, at learning rates chosen by range tests.'" toml:"adaptive" json:"adaptive,omitempty"`
	Seed        uint64     `kong:"default='1',help='The first seed.'" toml:"seed" json:"seed"`
	Data        string     `kong:"default='cifar10',help='Images: cifar10, or another set to try the whole with; see bregman train --help.'" toml:"data" json:"data"`
	Precision   string     `kong:"default='auto',enum='auto,bf16,float32',help='Arithmetic of the networks: bf16 on a GPU, float32 elsewhere, if auto.'" toml:"precision" json:"precision"`
	Engine      string     `kong:"default='auto',help='auto, cuda, cpu, go, or the path of a PJRT plugin; see bregman doctor.'" toml:"engine" json:"engine"`
	DataDir     string     `kong:"placeholder='DIR',help='Where data sets are kept.'" toml:"data_dir" json:"data_dir,omitempty"`
	Resume      string     `kong:"placeholder='RUN',help='Go on with this run folder, with its settings.'" toml:"-" json:"-"`
	Runs        string     `kong:"default='runs',placeholder='DIR',help='Where the run folder goes.'" toml:"runs" json:"runs"`
	JSON        bool       `kong:"name='json',help='Print one JSON object.'" toml:"-" json:"-"`
}

// Help is shown by --help.
func (*Cifar10) Help() string {
	return `Examples:
  bregman reproduce cifar10 --models resnet18 --p 1.1,2,3,10
  bregman reproduce cifar10 --lr 0.1,auto --weight-decay 5e-4 --adaptive 0.999
  bregman reproduce cifar10 --models cnn --data fashion-sample --p 2,3 --trials 2 --epochs 2 --batch 100
  bregman reproduce cifar10 --resume runs/20261115-120000-reproduce-cifar10

Trains every network with every p, several times, and writes one report.html: accuracies beside the paper's, the order of the p where two
standard errors separate them, histograms of the weights, pruning, rounding and margins. Each run has a folder of its own inside, as
"bregman train" leaves it. What was stopped goes on with --resume: runs that are done are kept, one that was under way goes on from its checkpoint.`
}

// Check returns the first thing wrong with the settings.
func (c *Cifar10) Check() error {
	if len(c.Models) == 0 || len(c.P) == 0 || len(c.LR) == 0 {
		return errors.New("--models, --p and --lr: name at least one of each")
	}
	for what, twice := range map[string]bool{"--models": duplicate(c.Models), "--p": duplicate(c.P), "--lr": duplicate(c.LR)} {
		if twice {
			return fmt.Errorf("%s: one is named twice", what)
		}
	}
	for _, v := range c.variants() {
		for _, m := range c.Models {
			t := c.train(m, v)
			if err := t.Check(); err != nil {
				return err
			}
		}
	}
	return nil
}

func duplicate[T comparable](list []T) bool {
	for i, v := range list {
		if slices.Contains(list[:i], v) {
			return true
		}
	}
	return false
}

// variant is a way to train: a table of its own in the report.
type variant struct {
	name  string // of its files and folders: empty for the first
	title string
	lr    job.Rate
	decay float64
	beta  float64 // of the adaptive one
}

// sameStep says whether one compiled step serves both.
func (v variant) sameStep(w variant) bool { return v.decay == w.decay && v.beta == w.beta }

func (c *Cifar10) variants() []variant {
	var out []variant
	for k, lr := range c.LR {
		v := variant{title: fmt.Sprintf("learning rate %v", lr), lr: lr}
		if lr == job.Auto {
			v.title = "learning rate by range test"
		}
		if k > 0 {
			v.name = fmt.Sprintf("lr-%v", lr)
		}
		out = append(out, v)
	}
	if c.WeightDecay != 0 {
		out = append(out, variant{fmt.Sprintf("decay-%v", c.WeightDecay), fmt.Sprintf("weight decay %v, learning rate %v", c.WeightDecay, c.LR[0]), c.LR[0], c.WeightDecay, 0})
	}
	if c.Adaptive != 0 {
		out = append(out, variant{fmt.Sprintf("adaptive-%v", c.Adaptive), fmt.Sprintf("adaptive %v, learning rate by range test", c.Adaptive), job.Auto, 0, c.Adaptive})
	}
	return out
}

// train is the settings of a network's runs.
func (c *Cifar10) train(model string, v variant) *job.Train {
	return &job.Train{Model: model, Data: c.Data, P: c.P, Epochs: c.Epochs, Batch: c.Batch, LR: v.lr, Schedule: "triangular", Peak: 5. / 24, Seed: c.Seed, Trials: c.Trials,
		Precision: c.Precision, WeightDecay: v.decay, Adaptive: v.beta, Engine: c.Engine, DataDir: c.DataDir, Runs: c.Runs}
}

// trialLine is a line of metrics.jsonl: one finished run.
type trialLine struct {
	Model   string `json:"model"`
	Variant string `json:"variant,omitempty"`
	job.TrainResult
}

// Run trains what is not done yet and writes the report.
func (c *Cifar10) Run(ctx context.Context, con *job.Console) (err error) {
	var run *runlog.Run
	if c.Resume != "" {
		if run, err = c.readBack(); err != nil {
			return fmt.Errorf("--resume %s: %w", c.Resume, err)
		}
		defer run.Release()
	}
	if err := c.Check(); err != nil {
		return err
	}
	eng, err := engine.Open(c.Engine)
	if err != nil {
		return err
	}
	set, err := images.Load(c.Data, c.DataDir)
	if err != nil {
		return err
	}
	con.SayPassed(eng)
	c.Data, c.DataDir = job.AbsoluteData(c.Data), job.Absolute(c.DataDir)
	if c.Resume == "" {
		run, err = runlog.Create(c.Runs, "reproduce-cifar10", runlog.Info{Command: cifar10Command, Settings: c, Seed: c.Seed, Data: set.Name, DataHash: set.Hash, Engine: eng.Name, Version: con.Version})
	} else if err = job.CheckData(run, set); err == nil {
		set.Name = cmp.Or(run.Info.Data, set.Name)
		err = run.GoOn(nil, eng.Name, con.Version)
	}
	if err != nil {
		return err
	}
	err = c.run(ctx, con, run, eng, set)
	return run.Finish(err, ctx.Err() != nil)
}

const cifar10Command = "reproduce cifar10"

// readBack takes the folder and the settings of the run to go on with; the engine and the output are this command's, and the folder of the data
// where it names one.
func (c *Cifar10) readBack() (*runlog.Run, error) {
	run, err := runlog.Take(c.Resume)
	if err != nil {
		return nil, err
	}
	if err := c.settingsOf(run.Info); err != nil {
		return nil, errors.Join(err, run.Release())
	}
	return run, nil
}

func (c *Cifar10) settingsOf(info runlog.Info) error {
	if info.Command != cifar10Command {
		return fmt.Errorf("a run of %q, not of %s", info.Command, cifar10Command)
	}
	data, err := json.Marshal(info.Settings)
	if err != nil {
		return err
	}
	old := Cifar10{}
	if err := json.Unmarshal(data, &old); err != nil {
		return fmt.Errorf("its settings: %w", err)
	}
	old.Engine, old.DataDir, old.JSON, old.Resume = c.Engine, cmp.Or(c.DataDir, old.DataDir), c.JSON, c.Resume
	*c = old
	return nil
}

func (c *Cifar10) run(ctx context.Context, con *job.Console, run *runlog.Run, eng *engine.Engine, set *images.Set) error {
	r := &cifar10Results{settings: c, set: set.Name, engine: eng.Name}
	total := len(c.Models) * len(c.variants()) * len(c.P) * c.Trials
	for _, model := range c.Models {
		trainers := &trainers{settings: c, con: con, engine: eng, set: set, model: model}
		for _, v := range c.variants() {
			g := &group{model: model, variant: v}
			r.groups = append(r.groups, g)
			for trial := range c.Trials {
				for _, p := range c.P {
					seed := c.Seed + uint64(trial)
					one, study, err := trainers.run(ctx, run.Path(trialDir(model, v, p, seed)), v, p, seed)
					r.done++
					if bad := (*train.Diverged)(nil); errors.As(err, &bad) { // an answer, too: the others go on
						g.diverge(p)
						con.Say("%d of %d: %s, %s%v", r.done, total, model, prefixed(v.name, ", "), err) // the error names p and seed
						continue
					}
					if err != nil {
						return err
					}
					g.add(one, study)
					if err := run.Append(trialLine{model, v.name, one}); err != nil {
						return err
					}
					con.Say("%d of %d: %s, %sp = %v, seed %d: test %.2f %%", r.done, total, model, prefixed(v.name, ", "), p, seed, 100*one.TestAccuracy)
				}
			}
		}
		trainers.close()
		if err := r.write(run); err != nil { // after every network: a look at what there is
			return err
		}
	}
	if c.JSON {
		return con.PrintJSON(r.summary(run.Dir))
	}
	for _, g := range r.groups {
		fmt.Fprintln(con.Out, r.accuracyTable(g).Text())
	}
	for _, f := range r.findings() {
		fmt.Fprintf(con.Out, "• %s\n", f)
	}
	fmt.Fprintf(con.Out, "\nReport: %s\n", run.Path("report.html"))
	return nil
}

// trainers compile a network when a run that is not done needs it, once for all variants that the step serves.
type trainers struct {
	settings *Cifar10
	con      *job.Console
	engine   *engine.Engine
	set      *images.Set
	model    string
	now      *job.Trainer
	variant  variant // that now is for
}

// run makes a run, or reads it back where it is done.
func (t *trainers) run(ctx context.Context, dir string, v variant, p float64, seed uint64) (one job.TrainResult, study train.Study, err error) {
	one, ok, err := job.ReadResult(dir)
	if err != nil {
		return one, study, err
	}
	if !ok {
		if err = t.compile(v); err != nil {
			return one, study, err
		}
		if one, err = t.now.In(ctx, dir, p, seed); err != nil {
			return one, study, err
		}
	}
	study, err = job.ReadStudy(one.Run)
	return one, study, err
}

func (t *trainers) compile(v variant) (err error) {
	settings := t.settings.train(t.model, v)
	switch {
	case t.now != nil && t.variant == v:
		return nil
	case t.now != nil && t.variant.sameStep(v):
		t.now = t.now.With(settings)
	default:
		t.close()
		t.now, err = settings.Compile(t.con, t.engine, t.set)
	}
	t.variant = v
	return err
}

func (t *trainers) close() {
	if t.now != nil {
		t.now.Close()
		t.now = nil
	}
}

// trialDir is the folder of a run inside the reproduction's.
func trialDir(model string, v variant, p float64, seed uint64) string {
	return filepath.ToSlash(filepath.Join("trials", model+prefixed("-", v.name), fmt.Sprintf("p%v-s%d", p, seed)))
}

// prefixed joins two parts of a name where both are there: the one that may be empty decides.
func prefixed(a, b string) string {
	if a == "" || b == "" {
		return ""
	}
	return a + b
}

// group is the runs of a network in one variant.
type group struct {
	model string
	variant
	ps      []float64
	runs    map[float64][]job.TrainResult
	studies map[float64][]train.Study
	failed  map[float64]int // runs whose loss was no longer a number
}

// see makes a place for p.
func (g *group) see(p float64) {
	if g.runs == nil {
		g.runs, g.studies, g.failed = map[float64][]job.TrainResult{}, map[float64][]train.Study{}, map[float64]int{}
	}
	if !slices.Contains(g.ps, p) {
		g.ps = append(g.ps, p)
	}
}

func (g *group) diverge(p float64) {
	g.see(p)
	g.failed[p]++
}

func (g *group) add(r job.TrainResult, s train.Study) {
	g.see(r.P)
	g.runs[r.P] = append(g.runs[r.P], r)
	g.studies[r.P] = append(g.studies[r.P], s)
}
