package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/train"
)

// speed is the speed of one variant of training a network: that of its fastest round.
type speed struct {
	By     string    `json:"by"`   // bregman or PyTorch
	Name   string    `json:"name"` // of the variant
	P      float64   `json:"p"`    // 2 is SGD
	Waits  bool      `json:"waits,omitempty"`
	Rate   float64   `json:"img_per_second"` // of the fastest round; 0: none
	Rounds []float64 `json:"rounds"`         // images a second in each
	Ready  float64   `json:"ready_seconds,omitempty"`
	Load   *load     `json:"gpu,omitempty"`
	Failed string    `json:"failed,omitempty"` // why a round is missing

	spans []span
	// round trains for about this long and returns images a second.
	round func(ctx context.Context, length time.Duration) (float64, error)
}

// The programs.
const (
	ourName   = "bregman"
	theirName = "PyTorch"
)

// The variants of PyTorch, by the names that its script has for them.
const (
	torchCompile = "compile"
	torchEager   = "eager"
	torchPaper   = "paper"
)

// torchVariants are all of them, with their names in tables, in the order in which they get ready. torch.compile is the
// first: if it takes too long, its process is killed, and no other variant is lost.
var torchVariants = []struct{ variant, name string }{
	{torchCompile, "torch.compile"}, {torchEager, "eager"}, {torchPaper, "the paper's snippet"},
}

// gpuCase is a network with a batch size.
type gpuCase struct {
	Model   string   `json:"model"`
	Batch   int      `json:"batch"`
	Side    int      `json:"side"` // of the pictures
	Compile float64  `json:"compile_seconds"`
	Load    *load    `json:"gpu,omitempty"` // with bregman's steps, all p, that do not wait if they need not
	Speeds  []*speed `json:"speeds"`

	spans []span
}

// gpuBench measures training on a GPU.
type gpuBench struct {
	*Train
	env       *command.Env
	engine    *engine.Engine
	set       *images.Set
	precision string
	device    string // of PyTorch
	inFlight  int    // how many steps, as the engine was opened
	sampler   *sampler
	torch     *torch // nil: none runs
	about     torchAbout
	noTorch   string // why PyTorch is not beside
	cases     []*gpuCase
}

// gpuImages is how many random pictures there are: as many as CIFAR-10 has.
const gpuImages = 50_000

// largeBatches is how many batches of large random pictures there are.
const largeBatches = 8

// stillRate is a learning rate so small that the weights stay, to less than 1e-3 for p = 10: every p then trains the
// same network, and none diverges.
const stillRate = 1e-30

// otherPs are measured besides 2 and --p: the paper's least and largest.
var otherPs = []float64{1.1, 10}

// onGPU measures training on a GPU, beside PyTorch.
func (t *Train) onGPU(ctx context.Context, env *command.Env, e *engine.Engine) (command.Result, error) {
	b := &gpuBench{Train: t, env: env, engine: e, precision: "bf16", device: "cuda", inFlight: e.InFlight}
	b.set = randomImages(gpuImages, 32, 10)
	if b.sampler = startSampler(ctx); b.sampler == nil {
		env.Say("nvidia-smi does not answer: the share of the time that the GPU is busy is not measured")
	}
	defer b.sampler.close()
	return b, b.run(ctx)
}

// run measures every case. What was measured before an error stays.
func (b *gpuBench) run(ctx context.Context) error {
	defer b.endTorch()
	if b.Torch == torchOff {
		b.noTorch = "--torch off"
	}
	models, err := b.models()
	if err != nil {
		return err
	}
	for _, m := range models {
		c := &gpuCase{Model: m.net.Name, Batch: m.batch}
		b.cases = append(b.cases, c)
		if err := b.measure(ctx, c, m.net); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%s, batch %d: %w", c.Model, c.Batch, err)
		}
	}
	return nil
}

// measure measures one case: all get ready, then they take turns.
func (b *gpuBench) measure(ctx context.Context, c *gpuCase, net nets.Net) error {
	b.env.Say("%s, batch %d: compiling", c.Model, c.Batch)
	begin := time.Now()
	set := b.set
	if c.Side = b.side(net); c.Side != set.Height {
		set = randomImages(largeBatches*c.Batch, c.Side, net.Classes)
	}
	s := train.Settings{Net: net, Batch: c.Batch, Precision: b.precision, Augment: true,
		Optimizer: optim.Mirror().Schedule(optim.Constant())}
	x, err := train.New(b.engine, set, s)
	if err != nil {
		return err
	}
	defer x.Close()
	c.Compile = time.Since(begin).Seconds()
	defer b.engine.SetInFlight(b.inFlight)
	if err := b.ours(ctx, c, x); err != nil {
		return err
	}
	if b.Data != "" {
		end, err := b.fromFile(ctx, c, s)
		defer end()
		if err != nil {
			return err
		}
	}
	if b.noTorch == "" {
		defer b.endTorch()
		if err := b.theirs(ctx, c); err != nil {
			return err
		}
	}
	defer c.readLoads(b.sampler)
	for round := range b.Rounds {
		for _, s := range c.Speeds {
			if err := b.turn(ctx, c, s, round); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn is one round of one variant. A failure of PyTorch's is recorded, one of ours is an error.
func (b *gpuBench) turn(ctx context.Context, c *gpuCase, s *speed, round int) error {
	if s.Failed != "" {
		return nil
	}
	begin := time.Now()
	rate, err := s.round(ctx, b.Time/time.Duration(b.Rounds))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.Failed = firstLine(err)
		b.env.Say("%s, batch %d, %s: %s", c.Model, c.Batch, s.label(), s.Failed)
		if s.By == ourName {
			return err
		}
		return nil
	}
	now := span{begin, time.Now()}
	s.spans = append(s.spans, now)
	if s.By == ourName && s.Waits == (b.inFlight == 0) { // one after the other: one span of all p
		if s.P == 2 {
			c.spans = append(c.spans, now)
		}
		c.spans[len(c.spans)-1].end = now.end
	}
	s.Rounds = append(s.Rounds, rate)
	s.Rate = max(s.Rate, rate)
	b.env.Say("%s, batch %d, round %d of %d, %s: %s img/s", c.Model, c.Batch, round+1, b.Rounds, s.label(),
		render.Thousands(int(rate+0.5)))
	return nil
}

// The variants that train from a packed file.
const (
	fromEngine = "packed, on the engine"
	fromFile   = "packed, read while training"
)

// fromFile adds the variants that train from the packed file. end frees what they hold.
func (b *gpuBench) fromFile(ctx context.Context, c *gpuCase, s train.Settings) (end func(), err error) {
	var sessions []*train.Session
	set, err := images.Load(b.Data, "")
	if err != nil {
		return func() {}, err
	}
	end = func() {
		for _, x := range sessions {
			x.Close()
		}
		_ = set.Close() // it was only read
	}
	if set.Pack == nil {
		return end, fmt.Errorf("--data %s: not a packed file; \"bregman data pack\" makes one", b.Data)
	}
	s.Resolution = train.Resolution{Low: c.Side, High: c.Side, Test: c.Side}
	bytes := train.ResidentBytes(set)
	for _, s.Stream = range []bool{false, true} {
		name := fromFile
		if !s.Stream {
			if bytes > b.engine.Room() {
				b.env.Say("%s: %s do not fit on the engine", b.Data, render.Bytes(bytes))
				continue
			}
			name = fromEngine
		}
		x, err := train.New(b.engine, set, s)
		if err != nil {
			return end, err
		}
		sessions = append(sessions, x)
		if err := b.add(ctx, c, x, name, 2); err != nil {
			return end, err
		}
	}
	return end, nil
}

// add adds one variant of a session of its own.
func (b *gpuBench) add(ctx context.Context, c *gpuCase, x *train.Session, name string, p float64) error {
	add, err := b.variants(ctx, c, x)
	if err == nil {
		add(name, p, b.inFlight)
	}
	return err
}

// ours adds bregman's variants.
func (b *gpuBench) ours(ctx context.Context, c *gpuCase, x *train.Session) error {
	add, err := b.variants(ctx, c, x)
	if err != nil {
		return err
	}
	for _, p := range b.ps() {
		add(fmt.Sprintf("p = %v", p), p, b.inFlight)
	}
	if b.inFlight > 0 {
		add(fmt.Sprintf("p = %v, waiting", b.P), b.P, 0)
	}
	return nil
}

// variants returns the function that adds a variant of a session, after an epoch that allocates and loads what steps
// need.
func (b *gpuBench) variants(ctx context.Context, c *gpuCase, x *train.Session) (add func(name string, p float64,
	inFlight int), err error) {
	plan := train.Plan{P: 2, LR: stillRate, Seed: 1, Epochs: 1 << 30, Schedule: optim.Constant()}
	if err := x.Start(plan); err != nil {
		return nil, err
	}
	epoch := 0
	run := func(ctx context.Context) (train.Epoch, error) {
		epoch++
		return x.Train(ctx, plan, epoch-1, func(int) {})
	}
	if _, err := run(ctx); err != nil {
		return nil, err
	}
	return func(name string, p float64, inFlight int) {
		s := &speed{By: ourName, Name: name, P: p, Waits: inFlight == 0}
		s.round = func(ctx context.Context, length time.Duration) (float64, error) {
			if err := errors.Join(x.Change(p, stillRate), b.engine.SetInFlight(inFlight)); err != nil {
				return 0, err
			}
			images, seconds := 0, 0.0
			for seconds < length.Seconds() {
				e, err := run(ctx)
				if err != nil {
					return 0, err
				}
				images, seconds = images+x.PerEpoch*c.Batch, seconds+e.Seconds
			}
			return float64(images) / seconds, nil
		}
		c.Speeds = append(c.Speeds, s)
	}, nil
}

// ps are the p to measure: 2 is the first, --p the second, unless it is 2.
func (b *gpuBench) ps() []float64 {
	ps := []float64{2}
	for _, p := range append([]float64{b.P}, otherPs...) {
		if p != 2 && (len(ps) == 1 || p != b.P) {
			ps = append(ps, p)
		}
	}
	return ps
}

// theirs adds PyTorch's variants. Each case has its own process, so that torch.compile does not know of other shapes.
// Without PyTorch it says so once.
func (b *gpuBench) theirs(ctx context.Context, c *gpuCase) error {
	for _, n := range torchVariants {
		mode := ""
		if b.Torch == torchOnly {
			if n.variant != torchCompile {
				continue
			}
			mode = torchDefault
		}
		s := &speed{By: theirName, Name: n.name, P: 2}
		if n.variant == torchPaper {
			s.P = b.P
		}
		if b.torch == nil || b.torch.gone != nil { // the first, or the last one took too long
			if err := b.startTorch(ctx); err != nil {
				return ctx.Err()
			}
		}
		process := b.torch
		b.env.Say("%s, batch %d: PyTorch, %s, is getting ready", c.Model, c.Batch, n.name)
		a, err := process.ask(ctx, b.TorchLimit, torchRequest{Do: "prepare", Variant: n.variant, Net: c.Model,
			Batch: c.Batch, P: s.P, Side: c.Side, Mode: mode})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.Ready = a.Seconds
		if err != nil {
			s.Failed = firstLine(err)
			b.env.Say("%s, batch %d, %s: %s", c.Model, c.Batch, s.label(), s.Failed)
		}
		s.round = func(ctx context.Context, length time.Duration) (float64, error) {
			a, err := process.ask(ctx, torchStart, torchRequest{Do: "round", Variant: n.variant, Seconds: length.Seconds()})
			if err == nil && !(a.Seconds > 0) {
				err = errors.New("PyTorch measured no time")
			}
			if err != nil {
				return 0, err
			}
			return a.Images / a.Seconds, nil
		}
		c.Speeds = append(c.Speeds, s)
	}
	return nil
}

// startTorch starts a PyTorch process. The first failure decides: there is no PyTorch.
func (b *gpuBench) startTorch(ctx context.Context) error {
	t, err := startTorch(ctx, b.python(), b.device)
	if err != nil {
		if ctx.Err() == nil {
			b.noTorch = fmt.Sprintf("%s: %s", b.python(), firstLine(err))
			b.env.Say("no PyTorch beside: %s", b.noTorch)
		}
		return err
	}
	b.torch, b.about = t, t.about
	return nil
}

func (b *gpuBench) endTorch() {
	if b.torch != nil {
		b.torch.close()
		b.torch = nil
	}
}

// readLoads reads what the driver counted.
func (c *gpuCase) readLoads(s *sampler) {
	c.Load = s.over(c.spans)
	for _, one := range c.Speeds {
		one.Load = s.over(one.spans)
	}
}
