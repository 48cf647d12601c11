package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/pool"
	"github.com/bregman-ml/bregman/internal/product"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/train"
)

// Train is `bregman bench train`: training steps beside PyTorch, and on a CPU the matrix product and the update.
type Train struct {
	Models     []string      `placeholder:"NETWORK[:BATCH]" json:"models"`
	Batch      int           `placeholder:"N" json:"batch"`
	P          float64       `name:"p" default:"3" json:"p"`
	Time       time.Duration `placeholder:"TIME" json:"time"`
	Rounds     int           `default:"3" json:"rounds"`
	Side       int           `default:"192" json:"side"`
	Data       string        `placeholder:"FILE" json:"data,omitempty" file:""`
	Engine     string        `default:"cpu" json:"engine" role:"place"`
	Torch      string        `default:"auto" json:"torch"`
	TorchLimit time.Duration `default:"3m" json:"torch_limit"`
	Python     string        `placeholder:"PYTHON" json:"python,omitempty"`
	command.Printed
}

// The choices of --torch.
const (
	torchAuto    = "auto"
	torchOnly    = "compile"
	torchOff     = "off"
	torchDefault = "default" // mode of torch.compile with torchOnly
)

// usual are the defaults that depend on the engine.
type usual struct {
	models string
	batch  int
	time   time.Duration
}

var (
	usualCPU = usual{"resnet18,mobilenetv2,cnn", 32, 6 * time.Second}
	usualGPU = usual{"resnet18:1024,resnet18:512,resnet18:128,vgg11:1024", 1024, 3 * time.Second}
)

// or returns the settings with these defaults.
func (u usual) or(t *Train) *Train {
	out := *t
	if len(out.Models) == 0 {
		for text := range strings.SplitSeq(u.models, ",") {
			name, _, _ := strings.Cut(text, ":")
			if out.Batch > 0 { // which is for all
				text = name
			}
			if !slices.Contains(out.Models, text) {
				out.Models = append(out.Models, text)
			}
		}
	}
	out.Batch, out.Time = cmp.Or(out.Batch, u.batch), cmp.Or(out.Time, u.time)
	return &out
}

// Texts are the words for its settings.
func (*Train) Texts() settings.Texts {
	return settings.Texts{
		About: "Training networks on a CPU or a GPU, beside PyTorch.",
		Help: map[string]string{
			"models": fmt.Sprintf("Networks: %s. By default %s on a CPU and %s on a GPU.", strings.Join(nets.Names(), ", "),
				usualCPU.models, usualGPU.models),
			"batch": fmt.Sprintf("Images a step; by default %d on a CPU and %d on a GPU.", usualCPU.batch, usualGPU.batch),
			"p":     "Geometry.",
			"time": "How long to measure each entry, in rounds of which the quickest counts; by default " +
				fmt.Sprintf("%v on a CPU and %v on a GPU.", usualCPU.time, usualGPU.time),
			"rounds": "Rounds, on a GPU.",
			"side":   "Side of the random images for networks in ImageNet's form; others have 32.",
			"data": "On a GPU, a packed file to train from, too: on the engine, if there is room, and read while training. " +
				"A round is at least one epoch of it.",
			"engine": command.EngineHelp(),
			"torch": "On a GPU, PyTorch beside: auto, if the Python has it; compile, torch.compile alone in its default " +
				"mode, which is ready sooner; or off.",
			"torch_limit": "On a GPU, how long PyTorch may take to get ready: torch.compile can be slow.",
			"python":      "A Python with PyTorch, to show its times beside ours; by default none on a CPU, python3 on a GPU.",
		},
		Choices: map[string][]string{"torch": {torchAuto, torchOnly, torchOff}},
		Known:   map[string][]string{"engine": engine.Names()},
	}
}

// Help is shown by --help.
func (*Train) Help() string {
	return `Times whole training steps, forward, backward and p-GD, on random images of 32 x 32 x 3, or of --side for the
networks in ImageNet's form.

On a CPU: with --python the same networks in PyTorch with its SGD, in turns on the same cores. CPU seconds are those
of all threads. PyTorch's threads spin while they wait for each other: on a machine that others use, too, set
GOMAXPROCS=1. Then the product of two matrices of 1024 x 1024 on one core, and the update of 11 million weights
beside the bare pass w -= eta*g. Peak memory is that of the whole process so far.

With --engine cuda: in bf16 with float32 weights and augmentation, p = 2 (SGD) beside other p, steps that wait for
each other, and in PyTorch eager SGD, SGD with torch.compile (max-autotune) and the paper's snippet. PyTorch has no
augmentation and one batch that stays on the GPU. All take turns, and the fastest of --rounds counts. nvidia-smi, if
it is there, tells the share of the time that the GPU is busy. After an interrupt the table has what was measured.

Examples:
  bregman bench train
  bregman bench train --python /usr/bin/python3
  bregman bench train --engine cuda
  bregman bench train --engine cuda --models mobilenetv2,resnet18:512 --torch off --json
  bregman bench train --engine cuda --models resnet18-imagenet:1024,resnet50-imagenet:512 --data imagenet.pack`
}

// trainTime is one network's measurement.
type trainTime struct {
	Model   string  `json:"model"`
	Rate    float64 `json:"img_per_second"`
	CPU     float64 `json:"cpu_seconds_per_image"`
	Peak    float64 `json:"peak_mb"`
	Torch   float64 `json:"torch_cpu_seconds_per_image,omitempty"`
	TorchIS float64 `json:"torch_img_per_second,omitempty"`
	TorchMB float64 `json:"torch_peak_mb,omitempty"`
}

// Check returns the first thing wrong with the settings.
func (t *Train) Check() error {
	if t.Batch < 0 || t.Time < 0 {
		return settings.Errorf("batch", "--batch %d, --time %v: want both positive", t.Batch, t.Time)
	}
	if t.Rounds < 1 {
		return settings.Errorf("rounds", "--rounds %d: want at least 1", t.Rounds)
	}
	if t.Side != 0 && (t.Side < 32 || t.Side > 1024) {
		return settings.Errorf("side", "--side %d: want from 32 to 1024 pixels", t.Side)
	}
	if t.TorchLimit <= 0 {
		return settings.Errorf("torch_limit", "--torch-limit %v: want a positive time", t.TorchLimit)
	}
	_, err := t.models()
	return settings.At("models", err)
}

// sized is a network with a batch size.
type sized struct {
	net   nets.Net
	batch int
	own   bool // the batch is that of this network alone
}

// models are the networks of --models.
func (t *Train) models() ([]sized, error) {
	var out []sized
	for _, text := range t.Models {
		name, batch, own := strings.Cut(text, ":")
		net, err := nets.ByName(name)
		if err != nil {
			return nil, fmt.Errorf("--models %q: choose %s", text, settings.Or(nets.Names()))
		}
		one := sized{net, t.Batch, own}
		if own {
			if one.batch, err = strconv.Atoi(batch); err != nil || one.batch < 1 {
				return nil, fmt.Errorf("--models %q: want a batch size after the colon, as in %s:512", text, name)
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// trainTimes are the result of bench train.
type trainTimes struct {
	*Train
	threads  int
	training []trainTime
	gflops   float64            // of the matrix product
	blas     map[string]float64 // and of others'
	updates  []updateTime
	pass     float64 // seconds of w −= ηg
}

var _ command.Result = (*trainTimes)(nil)

// Do measures.
func (t *Train) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	if t.Torch != torchOff && os.Getenv(engine.GPUMemory) == "" {
		os.Setenv(engine.GPUMemory, "0.5") // the rest is PyTorch's; an engine for CPUs does not look at it
	}
	eng, err := command.OpenEngine(env, t.Engine)
	if err != nil {
		return nil, err
	}
	if eng.IsCUDA() {
		return usualGPU.or(t).onGPU(ctx, env, eng)
	}
	return usualCPU.or(t).onCPU(ctx, env, eng)
}

// onCPU measures training on a CPU, the matrix product and the update.
func (t *Train) onCPU(ctx context.Context, env *command.Env, eng *engine.Engine) (command.Result, error) {
	out := &trainTimes{Train: t, threads: runtime.GOMAXPROCS(0)}
	models, err := t.models()
	if err != nil {
		return nil, err
	}
	for k, one := range models {
		if one.own {
			return nil, &command.UsageError{Err: fmt.Errorf("--models %s: on a CPU all have the same batch: use --batch",
				t.Models[k])}
		}
	}
	for _, one := range models {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		env.Say("%s", one.net.Name)
		m, err := t.measure(ctx, eng, one.net)
		if err != nil {
			return nil, err
		}
		if t.Python != "" {
			if err := t.torch(ctx, &m, out.threads); err != nil {
				return nil, err
			}
		}
		out.training = append(out.training, m)
	}
	env.Say("matrix product")
	out.gflops = matMul(t.Time / 3)
	if out.blas, err = t.blasRates(ctx); err != nil {
		return nil, err
	}
	env.Say("update of 11 million weights")
	out.updates, out.pass, err = t.timeUpdates(eng)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t *trainTimes) JSON() any {
	return map[string]any{"threads": t.threads, "batch": t.Batch, "training": t.training, "matmul_1024_gflops": t.gflops,
		"openblas_gflops": t.blas, "pass_ms": 1e3 * t.pass, "updates": t.updates}
}

func (t *trainTimes) Print(w io.Writer) {
	table := render.Table{Title: fmt.Sprintf("training on the %s engine, %d threads, batch %d, p = %v", t.Engine,
		t.threads, t.Batch, t.P),
		Header: []string{"network", "img/s", "CPU ms/image", "peak MB", "PyTorch img/s", "CPU ms/image", "peak MB",
			"its CPU / ours"}}
	for _, m := range t.training {
		row := []render.Cell{render.Text("%s", m.Model), render.Number(m.Rate, 1), render.Number(1e3*m.CPU, 2),
			render.Number(m.Peak, 0)}
		if m.Torch > 0 {
			row = append(row, render.Number(m.TorchIS, 1), render.Number(1e3*m.Torch, 2), render.Number(m.TorchMB, 0),
				render.Text("%.2f×", m.Torch/m.CPU))
		} else {
			row = append(row, render.Text("-"), render.Text("-"), render.Text("-"), render.Text("-"))
		}
		table.Rows = append(table.Rows, row)
	}
	fmt.Fprint(w, table.Text())
	fmt.Fprintf(w, "\nmatrix product, 1024³, one core: %.1f GFLOP/s", t.gflops)
	for _, k := range slices.Sorted(maps.Keys(t.blas)) {
		fmt.Fprintf(w, "; %s %.1f (%.0f %%)", k, t.blas[k], 100*t.gflops/t.blas[k])
	}
	fmt.Fprintf(w, "\nw -= eta*g over 11,173,962 weights, %d threads: %.2f ms\n", t.threads, 1e3*t.pass)
	u := render.Table{Title: "p-GD's update of them, beside that pass", Header: []string{"p", "ms", "ratio"}}
	for _, v := range t.updates {
		u.Rows = append(u.Rows, []render.Cell{render.Text("%v", v.P), render.Number(1e3*v.Seconds, 2),
			render.Text("%.2f×", v.Seconds/t.pass)})
	}
	fmt.Fprint(w, u.Text())
}

// side is the side of the random images for a network.
func (t *Train) side(net nets.Net) int {
	if net.Classes > 10 {
		return cmp.Or(t.Side, 192)
	}
	return 32
}

// randomImages are n images of ten labels.
func randomImages(n, side, classes int) *images.Set {
	size := side * side * 3
	rng := rand.New(rand.NewPCG(1, 2))
	set := &images.Set{Name: "random", Height: side, Width: side, Channels: 3, Classes: make([]string, classes),
		Mean: []float32{127, 127, 127}, Deviation: []float32{70, 70, 70}}
	set.Train = images.Split{Images: make([]byte, n*size), Labels: make([]uint8, n)}
	for i := range set.Train.Images {
		set.Train.Images[i] = byte(rng.Uint32())
	}
	for i := range set.Train.Labels {
		set.Train.Labels[i] = uint8(rng.IntN(10))
	}
	set.Test = images.Split{Images: set.Train.Images[:size], Labels: set.Train.Labels[:1]}
	return set
}

// measure times the training of a network.
func (t *Train) measure(ctx context.Context, e *engine.Engine, net nets.Net) (trainTime, error) {
	m := trainTime{Model: net.Name, CPU: math.Inf(1)}
	steps := max(2, 2_500_000/net.Params) // a small network takes many, or else starting and ending an epoch would count
	set := randomImages(steps*t.Batch, t.side(net), max(10, net.Classes))
	x, err := train.New(e, set, train.Settings{Net: net, Batch: t.Batch, Precision: "float32", Augment: true,
		Optimizer: optim.Mirror().Schedule(optim.Constant())})
	if err != nil {
		return m, err
	}
	run := train.Plan{P: t.P, LR: 1e-3, Seed: 1, Epochs: 1, Schedule: optim.Constant()}
	if err := x.Start(run); err != nil {
		return m, err
	}
	if _, err := x.Train(ctx, run, 0, func(int) {}); err != nil { // memory is allocated, caches are filled
		return m, err
	}
	for begin, epoch := time.Now(), 1; time.Since(begin) < t.Time; epoch++ {
		cpu, start := cpuSeconds(), time.Now()
		if _, err := x.Train(ctx, run, epoch, func(int) {}); err != nil {
			return m, err
		}
		n := float64(steps * t.Batch)
		m.Rate = max(m.Rate, n/time.Since(start).Seconds())
		m.CPU = min(m.CPU, (cpuSeconds()-cpu)/n)
	}
	m.Peak = peakMB()
	return m, nil
}

// torch times the same network in PyTorch.
func (t *Train) torch(ctx context.Context, m *trainTime, threads int) error {
	var out struct {
		Seconds float64 `json:"seconds"`
		CPU     float64 `json:"cpu_seconds"`
		Peak    float64 `json:"peak_mb"`
	}
	if err := t.torchOnce(ctx, nil, &out, "--nets", m.Model, "--threads", strconv.Itoa(threads), "--batch",
		strconv.Itoa(t.Batch), "--optimizers", "sgd",
		"--seconds", fmt.Sprint(t.Time.Seconds())); err != nil {
		return err
	}
	m.Torch, m.TorchIS, m.TorchMB = out.CPU, 1/out.Seconds, out.Peak
	return nil
}

// blasRates times numpy's matrix product on one core, with the kernels that OpenBLAS chooses and with those for AVX2.
func (t *Train) blasRates(ctx context.Context) (map[string]float64, error) {
	out := map[string]float64{}
	if t.Python == "" {
		return out, nil
	}
	for name, env := range map[string]string{"OpenBLAS": "", "OpenBLAS for AVX2": "OPENBLAS_CORETYPE=Haswell"} {
		var v struct {
			GFlops float64 `json:"gflops"`
		}
		if err := t.torchOnce(ctx, []string{env, "OPENBLAS_NUM_THREADS=1"}, &v, "--matmul", "1024"); err != nil {
			return nil, err
		}
		out[name] = v.GFlops
	}
	return out, nil
}

// torchOnce runs the script for one measurement on a CPU.
func (t *Train) torchOnce(ctx context.Context, env []string, into any, args ...string) error {
	path, remove, err := script()
	if err != nil {
		return err
	}
	defer remove()
	c := exec.CommandContext(ctx, t.Python, append([]string{path, "--device", "cpu"}, args...)...)
	c.Env = append(os.Environ(), env...)
	var stderr tail
	c.Stderr = &stderr
	b, err := c.Output()
	if err != nil {
		return fmt.Errorf("--python %s: %w: %s", t.Python, err, stderr.lastLine())
	}
	return json.Unmarshal(b, into)
}

// matMul is the rate of a product of two matrices of 1024² on one core, in GFLOP/s.
func matMul(total time.Duration) float64 {
	const n = 1024
	p := product.NewMatMul(n, n, n, false, false)
	one := pool.New(1)
	defer one.Close()
	a, b, c := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	for i := range a {
		a[i], b[i] = float32(i%7)-3, float32(i%5)-2
	}
	scratch := make([]float32, p.Scratch(1))
	return 2 * n * n * n / seconds(total, func() { p.Run(one, scratch, c, a, b) }) / 1e9
}

// seconds is the least time of a call.
func seconds(total time.Duration, f func()) float64 {
	best := math.Inf(1)
	for begin := time.Now(); time.Since(begin) < total; {
		start := time.Now()
		f()
		best = min(best, time.Since(start).Seconds())
	}
	return best
}

type updateTime struct {
	P       float64 `json:"p"`
	Seconds float64 `json:"seconds"`
}

// read copies an integer variable to the host.
func read(v *model.Variable) error {
	t, err := v.Value()
	if err != nil {
		return err
	}
	_, err = tensors.CopyFlatData[int64](t)
	return err
}

// timeUpdates times p-GD's update of as many weights as ResNet-18 has, and the bare pass w −= ηg on as many threads.
func (t *Train) timeUpdates(e *engine.Engine) (out []updateTime, pass float64, err error) {
	const n = 11_173_962
	w, g := make([]float32, n), make([]float32, n)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range w {
		w[i], g[i] = float32(rng.NormFloat64()*0.05), float32(rng.NormFloat64()*0.01)
	}
	all := pool.New(0)
	defer all.Close()
	const chunk = 1 << 16
	each := func(_, k int) {
		lo, hi := k*chunk, min((k+1)*chunk, n)
		vec.Axpy32(-1e-3, g[lo:hi], w[lo:hi])
	}
	bare := func() { all.Each((n+chunk-1)/chunk, each) }

	store := model.NewStore()
	opt := optim.Mirror().P(3).LearningRate(1e-3).Done()
	var step *model.Exec
	err = engine.Try(func() error {
		store.RootScope().VariableWithValue("w", tensors.FromFlatDataAndDimensions(slices.Clone(w), n))
		store.RootScope().VariableWithValue("g", tensors.FromFlatDataAndDimensions(g, n)).SetTrainable(false)
		step, err = model.NewExec(e.Backend, store, func(scope *model.Scope, gr *graph.Graph) {
			scope.VariableWithShape("w", shapes.Make(dtypes.Float32, n)).NodeValue(gr)
			grad := scope.VariableWithShape("g", shapes.Make(dtypes.Float32, n)).NodeValue(gr)
			opt.UpdateGraphWithGradients(scope, []*graph.Node{grad}, dtypes.Float32)
		})
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	pass = math.Inf(1)
	for _, p := range numbers.Ps {
		if err := opt.Set(store.RootScope(), "", p, 1e-3); err != nil {
			return nil, 0, err
		}
		var failed error
		run := func() {
			_, err := step.Call()
			if err == nil { // reading something that the step changes waits for its end
				err = read(optimizer.GetGlobalStepVar(store.RootScope()))
			}
			if err != nil {
				failed = err
			}
		}
		run()
		pass = min(pass, seconds(t.Time/20, bare))
		out = append(out, updateTime{p, seconds(t.Time/6, run)})
		if failed != nil {
			return nil, 0, failed
		}
	}
	return out, pass, nil
}
