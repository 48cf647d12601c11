package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/pool"
	"github.com/bregman-ml/bregman/internal/product"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/train"
)

// Train is `bregman bench train`: training steps on a CPU beside PyTorch, the matrix product, and the update.
type Train struct {
	Models []string      `kong:"default='resnet18,mobilenetv2,cnn',help='Networks.'" json:"models"`
	Batch  int           `kong:"default='32',help='Images a step.'" json:"batch"`
	P      float64       `kong:"name='p',default='3',help='Geometry.'" json:"p"`
	Time   time.Duration `kong:"default='6s',help='How long to measure each entry, in rounds of which the quickest counts.'" json:"time"`
	Engine string        `kong:"default='cpu',help='Engine; see bregman doctor.'" json:"engine"`
	Python string        `kong:"placeholder='PYTHON',help='A Python with PyTorch: to show its times beside ours. Needs scripts/torch_bench.py in this folder.'" json:"python,omitempty"`
	JSON   bool          `kong:"name='json',help='Print one JSON object.'" json:"-"`
}

// Help is shown by --help.
func (*Train) Help() string {
	return `Times whole training steps, forward, backward and p-GD, on random images of 32 x 32 x 3, and with --python the same networks in
PyTorch with its SGD, in turns on the same cores. CPU seconds are those of all threads. PyTorch's threads spin while they wait for each
other: on a machine that others use, too, set GOMAXPROCS=1. Then the product of two matrices of 1024 x 1024 on one core, and the update of 11 million weights beside the bare pass w -= eta*g.
Peak memory is that of the whole process so far.

Examples:
  bregman bench train
  bregman bench train --python /usr/bin/python3`
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
	for _, m := range t.Models {
		if _, err := nets.ByName(m); err != nil {
			return err
		}
	}
	if t.Batch < 1 || t.Time <= 0 {
		return fmt.Errorf("--batch %d, --time %v: want both positive", t.Batch, t.Time)
	}
	return nil
}

// Run measures and prints.
func (t *Train) Run(ctx context.Context, con *command.Console) error {
	if err := t.Check(); err != nil {
		return err
	}
	threads := runtime.GOMAXPROCS(0)
	table := render.Table{Title: fmt.Sprintf("training on the %s engine, %d threads, batch %d, p = %v", t.Engine, threads, t.Batch, t.P),
		Header: []string{"network", "img/s", "CPU ms/image", "peak MB", "PyTorch img/s", "CPU ms/image", "peak MB", "its CPU / ours"}}
	var times []trainTime
	for _, name := range t.Models {
		if err := ctx.Err(); err != nil {
			return err
		}
		con.Say("%s", name)
		m, err := t.measure(ctx, name)
		if err != nil {
			return err
		}
		if t.Python != "" {
			if err := t.torch(ctx, &m, threads); err != nil {
				return err
			}
		}
		times = append(times, m)
		row := []render.Cell{render.Text("%s", name), render.Number(m.Rate, 1), render.Number(1e3*m.CPU, 2), render.Number(m.Peak, 0)}
		if m.Torch > 0 {
			row = append(row, render.Number(m.TorchIS, 1), render.Number(1e3*m.Torch, 2), render.Number(m.TorchMB, 0), render.Text("%.2f×", m.Torch/m.CPU))
		} else {
			row = append(row, render.Text("-"), render.Text("-"), render.Text("-"), render.Text("-"))
		}
		table.Rows = append(table.Rows, row)
	}
	con.Say("matrix product")
	gflops := matMul(t.Time / 3)
	blas, err := t.blas(ctx)
	if err != nil {
		return err
	}
	con.Say("update of 11 million weights")
	updates, pass, err := t.updates()
	if err != nil {
		return err
	}
	if t.JSON {
		return con.PrintJSON(map[string]any{"threads": threads, "batch": t.Batch, "training": times, "matmul_1024_gflops": gflops, "openblas_gflops": blas,
			"pass_ms": 1e3 * pass, "updates": updates})
	}
	fmt.Fprint(con.Out, table.Text())
	fmt.Fprintf(con.Out, "\nmatrix product, 1024³, one core: %.1f GFLOP/s", gflops)
	if names := sortedKeys(blas); len(names) > 0 {
		for _, k := range names {
			fmt.Fprintf(con.Out, "; %s %.1f (%.0f %%)", k, blas[k], 100*gflops/blas[k])
		}
	}
	fmt.Fprintf(con.Out, "\nw -= eta*g over 11,173,962 weights, %d threads: %.2f ms\n", threads, 1e3*pass)
	u := render.Table{Title: "p-GD's update of them, beside that pass", Header: []string{"p", "ms", "ratio"}}
	for _, v := range updates {
		u.Rows = append(u.Rows, []render.Cell{render.Text("%v", v.P), render.Number(1e3*v.Seconds, 2), render.Text("%.2f×", v.Seconds/pass)})
	}
	fmt.Fprint(con.Out, u.Text())
	return nil
}

func sortedKeys(m map[string]float64) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// randomImages are a set of so many steps.
func randomImages(n int) *images.Set {
	const size = 32 * 32 * 3
	rng := rand.New(rand.NewPCG(1, 2))
	set := &images.Set{Name: "random", Height: 32, Width: 32, Channels: 3, Classes: make([]string, 10), Mean: []float32{127, 127, 127}, Deviation: []float32{70, 70, 70}}
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

// measure trains a network for a while.
func (t *Train) measure(ctx context.Context, name string) (trainTime, error) {
	m := trainTime{Model: name, CPU: math.Inf(1)}
	e, err := engine.Open(t.Engine)
	if err != nil {
		return m, err
	}
	steps := 2
	if name == "cnn" {
		steps = 100
	}
	x, err := train.New(e, randomImages(steps*t.Batch), train.Settings{Net: name, Batch: t.Batch, Precision: "float32", Augment: true,
		Optimizer: optim.Mirror().Schedule(optim.Constant())})
	if err != nil {
		return m, err
	}
	run := train.Run{P: t.P, LR: 1e-3, Seed: 1, Epochs: 1, Schedule: optim.Constant()}
	if err := x.Start(run); err != nil {
		return m, err
	}
	if _, err := x.Train(ctx, run, 0, func(int) {}); err != nil { // memory is made, caches are filled
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

const torchScript = "scripts/torch_bench.py"

// torch times the same network in PyTorch.
func (t *Train) torch(ctx context.Context, m *trainTime, threads int) error {
	var out struct {
		Seconds float64 `json:"seconds"`
		CPU     float64 `json:"cpu_seconds"`
		Peak    float64 `json:"peak_mb"`
	}
	if err := t.python(ctx, nil, &out, "--nets", m.Model, "--threads", strconv.Itoa(threads), "--batch", strconv.Itoa(t.Batch), "--optimizers", "sgd",
		"--seconds", fmt.Sprint(t.Time.Seconds())); err != nil {
		return err
	}
	m.Torch, m.TorchIS, m.TorchMB = out.CPU, 1/out.Seconds, out.Peak
	return nil
}

// blas times numpy's matrix product on one core, with the kernels OpenBLAS would take and with those for AVX2.
func (t *Train) blas(ctx context.Context) (map[string]float64, error) {
	out := map[string]float64{}
	if t.Python == "" {
		return out, nil
	}
	for name, env := range map[string]string{"OpenBLAS": "", "OpenBLAS for AVX2": "OPENBLAS_CORETYPE=Haswell"} {
		var v struct {
			GFlops float64 `json:"gflops"`
		}
		if err := t.python(ctx, []string{env, "OPENBLAS_NUM_THREADS=1"}, &v, "--matmul", "1024"); err != nil {
			return nil, err
		}
		out[name] = v.GFlops
	}
	return out, nil
}

func (t *Train) python(ctx context.Context, env []string, into any, args ...string) error {
	if _, err := os.Stat(torchScript); err != nil {
		return fmt.Errorf("--python: %s is not here: run this in the source folder", torchScript)
	}
	c := exec.CommandContext(ctx, t.Python, append([]string{torchScript, "--device", "cpu"}, args...)...)
	c.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	b, err := c.Output()
	if err != nil {
		last := ""
		for s := bufio.NewScanner(&stderr); s.Scan(); {
			last = s.Text()
		}
		return fmt.Errorf("--python %s: %w: %s", t.Python, err, strings.TrimSpace(last))
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

// updates times p-GD's update of as many weights as ResNet-18 has, and the bare pass w −= ηg on as many threads.
func (t *Train) updates() (out []updateTime, pass float64, err error) {
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

	e, err := engine.Open(t.Engine)
	if err != nil {
		return nil, 0, err
	}
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
	for _, p := range Ps {
		if err := opt.Set(store.RootScope(), "", p, 1e-3); err != nil {
			return nil, 0, err
		}
		var failed error
		run := func() {
			if _, err := step.Call(); err != nil {
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
