package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// program writes an executable shell script.
func program(t *testing.T, name, body string) string {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell")
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// fakeTorch answers as PyTorch's script does: eager trains 1,000 images a second and the snippet 500.
const fakeTorch = `
echo 'a library says hello'
echo '{"torch": "9.9", "cuda": "13.0", "device": "a fake"}'
while read -r line; do
  case "$line" in
  *prepare*compile*) echo '{"error": "RuntimeError: no compiler"}' ;;
  *prepare*) echo '{"seconds": 0.25}' ;;
  *round*eager*) echo '{"images": 1000, "seconds": 1}' ;;
  *round*paper*) echo '{"images": 1000, "seconds": 2}' ;;
  esac
done
`

// onFakeGPU is the measurement for a GPU on the CPU engine, with few pictures.
func onFakeGPU(t *testing.T, values map[string]string) (*gpuBench, *bytes.Buffer) {
	t.Helper()
	e, err := engine.Open(engine.CPU)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Backend.Finalize)
	s := &Train{}
	if err := settings.Parse(s, values); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	said := new(bytes.Buffer)
	return &gpuBench{Train: usualGPU.or(s), env: &command.Env{Observer: command.Lines(said)}, engine: e,
		set: randomImages(32, 32, 10), precision: "float32", device: "cpu"}, said
}

func text(b *gpuBench) string {
	var w bytes.Buffer
	b.Print(&w)
	return w.String()
}

func TestTheGPUTableHasPyTorchBesideAndSaysWhatFailed(t *testing.T) {
	b, said := onFakeGPU(t, map[string]string{"models": "cnn:16,cnn:8", "rounds": "2", "time": "2ms",
		"python": program(t, "python", fakeTorch)})
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := text(b)
	for _, want := range []string{"worst p", "eager", "snippet", "1,000", "500", "PyTorch 9.9",
		"cnn, batch 16, PyTorch, torch.compile: RuntimeError: no compiler", "steps wait for each other"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	// Nothing was measured of these.
	for _, not := range []string{"waiting", "ours / compile", "GPU busy", "hello", "NaN"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in\n%s", not, got)
		}
	}
	for _, want := range []string{"cnn, batch 16, round 2 of 2, p = 10: ",
		"cnn, batch 8, round 1 of 2, PyTorch, eager: 1,000"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	data, err := json.Marshal(b.JSON())
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Networks []gpuCase
		Torch    torchAbout
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range out.Networks[1].Speeds {
		names = append(names, s.Name)
		if s.Failed == "" && (len(s.Rounds) != 2 || s.Rate != slices.Max(s.Rounds)) {
			t.Errorf("%+v", s)
		}
	}
	if want := []string{"p = 2", "p = 3", "p = 1.1", "p = 10", "torch.compile", "eager",
		"the paper's snippet"}; !slices.Equal(names, want) || len(out.Networks) != 2 || out.Torch.Version != "9.9" {
		t.Errorf("%s", data)
	}
}

func TestTheGPUTableComparesAndShowsTheLoad(t *testing.T) {
	s := func(by, name string, p, rate float64, waits bool) *speed {
		return &speed{By: by, Name: name, P: p, Rate: rate, Waits: waits}
	}
	b := &gpuBench{Train: &Train{P: 3, Rounds: 3}, engine: &engine.Engine{Name: "cuda"}, precision: "bf16", inFlight: 2,
		sampler: &sampler{GPU: "NVIDIA H200", Driver: "580"}, about: torchAbout{Version: "2.11.0"}, cases: []*gpuCase{
			{Model: "resnet18", Batch: 1024, Load: &load{Busy: 98.4}, Speeds: []*speed{s(ourName, "p = 2", 2, 100_000, false),
				s(ourName, "p = 3", 3, 99_900, false), s(ourName, "p = 10", 10, 99_500, false),
				s(ourName, "p = 3, waiting", 3, 90_000, true), s(theirName, "torch.compile", 2, 80_000, false),
				s(theirName, "eager", 2, 60_000.4, false), s(theirName, "the paper's snippet", 3, 50_000, false)}},
			{Model: "vgg11", Batch: 512, Speeds: []*speed{s(ourName, "p = 2", 2, 200_000, false)}}, // interrupted
			{Model: "vgg11", Batch: 128}, // before the first round
		}}
	want := `training on the cuda engine, images a second, fastest of 3 rounds
network    batch     p = 2    p = 3           worst p   waiting    eager   compile   snippet   ours / compile   GPU busy
resnet18    1024   100,000   99,900   99.5 % (p = 10)    90,000   60,000    80,000    50,000            1.25×       98 %
vgg11        512   200,000        –                 –         –        –         –         –                –          –
vgg11        128         –        –                 –         –        –         –         –                –          –

NVIDIA H200, driver 580. bregman: bf16 with float32 weights, augmentation, up to 2 steps in flight.
p = 2 is SGD; worst p is the slowest of all, in % of p = 2.
PyTorch 2.11.0: bf16 autocast, channels last, cudnn.benchmark, one batch that stays on the GPU, no augmentation;
eager: SGD; compile: SGD with torch.compile (max-autotune), beside p = 2; snippet: the paper's, eager, p = 3.
GPU busy: the share of the driver's sample periods in which a kernel of ours ran (nvidia-smi).
`
	if got := strings.ReplaceAll(text(b), " \n", "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestWithoutPyTorchOneLineSaysSo(t *testing.T) {
	none := program(t, "python", `echo "Traceback
ModuleNotFoundError: No module named 'torch'" >&2; exit 1`)
	cpuOnly := program(t, "python", `echo '{"error": "PyTorch 9.9 finds no CUDA GPU"}'`)
	for _, c := range []struct{ python, torch, want string }{
		{none, "auto", none + ": ModuleNotFoundError: No module named 'torch'"},
		{cpuOnly, "auto", cpuOnly + ": PyTorch 9.9 finds no CUDA GPU"},
		{"/nowhere/python", "auto", "/nowhere/python: "},
		{none, "off", "--torch off"},
	} {
		b, said := onFakeGPU(t, map[string]string{"models": "cnn:16,cnn:8", "rounds": "1", "time": "1ms",
			"python": c.python, "torch": c.torch})
		if err := b.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := text(b); !strings.Contains(got, "PyTorch is not beside: "+c.want) || strings.Contains(got, "eager") {
			t.Errorf("%s:\n%s", c.python, got)
		}
		if n := strings.Count(said.String(), "no PyTorch beside"); n > 1 || (n == 1) != (c.torch == "auto") {
			t.Errorf("said %d times:\n%s", n, said)
		}
	}
}

// A torch.compile that takes too long loses its own column alone.
func TestACompilerThatTakesTooLongIsLeftOut(t *testing.T) {
	slow := strings.Replace(fakeTorch, `echo '{"error": "RuntimeError: no compiler"}'`, "sleep 100", 1)
	b, _ := onFakeGPU(t, map[string]string{"models": "cnn:16", "rounds": "1", "time": "1ms", "torch_limit": "300ms",
		"python": program(t, "python", slow)})
	begin := time.Now()
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := text(b); !strings.Contains(got, "torch.compile: no answer after 300ms") || !strings.Contains(got, "1,000") {
		t.Error(got)
	}
	if took := time.Since(begin); took > 50*time.Second {
		t.Errorf("it waited for %v", took)
	}
}

// PyTorch may die in a round: what it measured before stays, and ours goes on.
func TestPyTorchMayEnd(t *testing.T) {
	dies := strings.Replace(fakeTorch, `*round*paper*) echo`,
		`*round*paper*) echo "CUDA error: lost" >&2; exit 3; echo`, 1)
	b, _ := onFakeGPU(t, map[string]string{"models": "cnn:16", "rounds": "2", "time": "1ms",
		"python": program(t, "python", dies)})
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := b.cases[0]
	if got := c.torch(torchEager); got != 1000 {
		t.Errorf("eager: %v", got)
	}
	if got := c.torch(torchPaper); !math.IsNaN(got) || !strings.Contains(text(b), "snippet: CUDA error: lost") {
		t.Errorf("the snippet: %v\n%s", got, text(b))
	}
	if n := len(c.Speeds[3].Rounds); n != 2 {
		t.Errorf("%d rounds of ours", n)
	}
}

// An interrupt leaves what was measured, and no process.
func TestAnInterruptLeavesWhatWasMeasured(t *testing.T) {
	hangs := strings.Replace(fakeTorch, `*round*paper*) echo`, "*round*paper*) sleep 100; echo", 1)
	b, said := onFakeGPU(t, map[string]string{"models": "cnn:16,cnn:8", "rounds": "2", "time": "1ms",
		"python": program(t, "python", hangs)})
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	begin := time.Now()
	if err := b.run(ctx); err != ctx.Err() || err == nil {
		t.Fatalf("error %v", err)
	}
	if took := time.Since(begin); took > 50*time.Second {
		t.Errorf("it took %v", took)
	}
	if got := text(b); !strings.Contains(got, "1,000") || strings.Contains(got, "  500 ") || len(b.cases) != 1 {
		t.Errorf("%s\n%s", got, said)
	}
}

func TestWhatTheDriverCountsIsTakenFromWithinARound(t *testing.T) {
	at := time.Date(2026, 11, 17, 1, 2, 3, 0, time.Local)
	s := &sampler{}
	for k := range 60 { // 20 % before, 90 % in the round and 50 % after
		line := at.Add(time.Duration(k)*100*time.Millisecond).Format("2006/01/02 15:04:05.000") + ", "
		line += map[bool]string{true: "20", false: "90"}[k < 20]
		if k > 45 {
			line = strings.Replace(line, " 90", " 50", 1)
		}
		one, ok := parseSample(line+", 40, 512.5", time.Now())
		if !ok {
			t.Fatal(line)
		}
		s.samples = append(s.samples, one)
	}
	round := span{at.Add(1500 * time.Millisecond), at.Add(4500 * time.Millisecond)}
	if got := s.over([]span{round}); got == nil || got.Busy != 90 || got.Memory != 40 || got.Watts != 512.5 ||
		got.Samples != 21 {
		t.Errorf("%+v", got)
	}
	if got := s.over([]span{{round.begin, round.begin.Add(samplePeriod / 2)}}); got != nil {
		t.Errorf("a round shorter than a sample period: %+v", got)
	}
	if got := (*sampler)(nil).over([]span{round}); got != nil {
		t.Errorf("without nvidia-smi: %+v", got)
	}
	for line, ok := range map[string]bool{"2026/11/17 01:02:03.000, 97, [N/A], [N/A]": true, "x, 97, 1, 2": true,
		"2026/11/17 01:02:03.000, [N/A], 1, 2": false, "No devices were found": false, "": false} {
		if one, got := parseSample(line, at); got != ok || ok && (one.busy != 97 || !one.at.Equal(at)) {
			t.Errorf("%q: %+v, %v", line, one, got)
		}
	}
}

func TestNvidiaSMIIsFollowed(t *testing.T) {
	smi := program(t, "nvidia-smi", `
case "$*" in
*name*) echo 'NVIDIA H200, 580.1' ;;
*) while :; do echo 'now, 75, 30, 400.0'; sleep 0.05; done ;;
esac
`)
	t.Setenv("PATH", filepath.Dir(smi)+string(os.PathListSeparator)+os.Getenv("PATH"))
	begin := time.Now().Add(-samplePeriod)
	s := startSampler(t.Context())
	if s == nil {
		t.Fatal("not found")
	}
	for time.Since(begin) < 20*time.Second && s.over([]span{{begin, time.Now()}}) == nil {
		time.Sleep(10 * time.Millisecond)
	}
	s.close()
	if got := s.over([]span{{begin, time.Now()}}); got == nil || got.Busy != 75 || s.GPU != "NVIDIA H200" ||
		s.Driver != "580.1" {
		t.Errorf("%+v, %q, %q", got, s.GPU, s.Driver)
	}
	t.Setenv("PATH", t.TempDir())
	if startSampler(t.Context()) != nil {
		t.Error("it found what is not there")
	}
}

func TestNetworksMayHaveABatchOfTheirOwn(t *testing.T) {
	s := usualGPU.or(&Train{Batch: 256, Models: []string{"vgg11", "resnet18:64"}})
	got, err := s.models()
	if err != nil || got[0].net.Name != "vgg11" || got[0].batch != 256 || got[1].batch != 64 {
		t.Errorf("%+v, %v", got, err)
	}
	s = usualGPU.or(&Train{Batch: 256})
	if got := strings.Join(s.Models, ","); got != "resnet18,vgg11" {
		t.Errorf("with a batch for all: %s", got)
	}
	for _, u := range []usual{usualCPU, usualGPU} {
		if _, err := u.or(&Train{}).models(); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"resnet19", "resnet18:", "resnet18:0", "resnet18:x"} {
		if err := (&Train{Models: []string{bad}, Rounds: 1, TorchLimit: 1}).Check(); err == nil ||
			!strings.Contains(err.Error(), "--models \""+bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	_, err = (&Train{Models: []string{"cnn:8"}, Engine: "cpu"}).Do(t.Context(),
		&command.Env{Observer: command.Quiet(), Engines: new(engine.Pool)})
	if err == nil || !strings.Contains(err.Error(), "use --batch") {
		t.Errorf("error %v", err)
	}
	b := gpuBench{Train: &Train{}}
	for p, want := range map[float64][]float64{3: {2, 3, 1.1, 10}, 2: {2, 1.1, 10}, 10: {2, 10, 1.1}, 1.1: {2, 1.1, 10}} {
		if b.P = p; !slices.Equal(b.ps(), want) {
			t.Errorf("p = %v: %v, want %v", p, b.ps(), want)
		}
	}
}

// pythonWithTorch is a Python that has PyTorch; the test is skipped if there is none.
func pythonWithTorch(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import torch").Run() == nil {
			return python
		}
	}
	t.Skip("no python3 with PyTorch")
	return ""
}

// The script that the program has inside runs on a CPU, too.
func TestTheScriptTrainsInPyTorch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PyTorch")
	}
	b, said := onFakeGPU(t, map[string]string{"models": "cnn:8", "rounds": "2", "time": "100ms",
		"python": pythonWithTorch(t)})
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := b.cases[0]
	for _, v := range []string{torchEager, torchPaper} {
		if !(c.torch(v) > 0) {
			t.Errorf("%s: %v\n%s", v, c.torch(v), said)
		}
	}
	compiled := c.find(theirName, func(s *speed) bool { return s.Name == "torch.compile" })
	if (compiled.Rate > 0) == (compiled.Failed != "") { // Debian's PyTorch has no compiler
		t.Errorf("%+v", compiled)
	}
	t.Logf("%s", text(b))
}

// A packed file adds two columns: its pictures on the engine, and read while training.
func TestTheGPUTableTrainsFromAPackedFile(t *testing.T) {
	b, _ := onFakeGPU(t, map[string]string{"models": "resnet18-imagenet:4", "rounds": "1", "time": "1ms", "side": "32",
		"torch": "off", "p": "2", "data": packOf(t, 12, 40)})
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := text(b)
	for _, want := range []string{"packed", "from file"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, name := range []string{fromEngine, fromFile} {
		if rate := b.cases[0].named(name); !(rate > 0) {
			t.Errorf("%s: %v img/s", name, rate)
		}
	}
}

// packOf packs pictures of two classes, wider than high.
func packOf(t *testing.T, each, side int) string {
	t.Helper()
	dir := t.TempDir()
	for class := range 2 {
		folder := filepath.Join(dir, "pictures", fmt.Sprint("class", class))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range each {
			m := image.NewGray(image.Rect(0, 0, side+side/2, side))
			for k := range m.Pix {
				m.Pix[k] = byte(k * (class + i + 1))
			}
			var b bytes.Buffer
			if err := png.Encode(&b, m); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i, ".png")), b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := filepath.Join(dir, "pictures.pack")
	var d command.DataPack
	if err := settings.Parse(&d, map[string]string{"source": filepath.Join(dir, "pictures"), "out": out}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Do(t.Context(), &command.Env{Observer: command.Quiet()}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReadingIsMeasured(t *testing.T) {
	b := &Images{Data: []string{packOf(t, 12, 40)}, Batch: 8, Time: 20 * time.Millisecond}
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	r, err := b.Do(t.Context(), &command.Env{Observer: command.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	one := r.(readingTimes).files[0]
	if !(one.Rate > 0) || one.Images < 8 || one.Stored != "jpeg" || !(one.Bytes > 100) || one.Heap == 0 {
		t.Errorf("%+v", one)
	}
	if _, err := (&Images{Data: []string{"fashion-sample"}, Batch: 8, Time: 1}).Do(t.Context(),
		&command.Env{Observer: command.Quiet()}); err == nil || !strings.Contains(err.Error(), "not a packed file") {
		t.Errorf("a set that is not packed: %v", err)
	}
}
