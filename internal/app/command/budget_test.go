package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/train"
)

// planned is what train --dry-run --json prints.
type planned struct {
	Batch, Epochs, Trials, Parameters int
	P                                 []float64
	Memory                            []holding
	Bytes                             int64 `json:"engine_bytes"`
	Limit                             int64 `json:"engine_limit"`
	Fits                              *bool
	Estimated                         *bool `json:"step_estimated"`
	Largest                           int   `json:"largest_batch"`
	Feed                              string
	Reason                            string `json:"feed_reason"`
	Training                          []struct {
		Resolution, Epochs int
		Step               float64 `json:"seconds_per_step"`
		Rate               float64 `json:"img_per_second"`
		Epoch              float64 `json:"seconds_per_epoch"`
	}
	Evaluation float64 `json:"evaluation_seconds"`
	Finish     float64 `json:"finish_seconds"`
	Run        float64 `json:"run_seconds"`
	Search     float64 `json:"search_seconds"`
	All        float64 `json:"all_seconds"`
}

// dry is a dry run of these settings, which must not write.
func dry(t *testing.T, settings Train) (p planned, s *spoken, err error) {
	t.Helper()
	settings.DryRun = true
	s, err = do(t.Context(), settings)
	if _, missing := os.Stat(settings.Runs); !errors.Is(missing, os.ErrNotExist) {
		t.Errorf("a dry run wrote %s", settings.Runs)
	}
	if settings.JSON {
		if bad := json.Unmarshal(s.out.Bytes(), &p); bad != nil {
			t.Fatalf("%v: %s, %v", bad, s.out.String(), err)
		}
	}
	return p, s, err
}

func TestADryRunSaysWhatARunTakesAndWritesNothing(t *testing.T) {
	one := tiny(t)
	one.P, one.Trials, one.NoStudy = []float64{1.5, 2, 3}, 2, false
	p, _, err := dry(t, one)
	if err != nil {
		t.Fatal(err)
	}
	if p.Batch != 12 || p.Epochs != 6 || p.Trials != 2 || len(p.P) != 3 || p.Parameters == 0 || p.Fits == nil ||
		!*p.Fits ||
		p.Estimated == nil || *p.Estimated || p.Feed != "resident" || p.Reason == "" || p.Largest != 0 || p.Search != 0 {
		t.Errorf("%+v", p)
	}
	if p.Limit != engine.SystemMemory() {
		t.Errorf("limit %d, the system has %d", p.Limit, engine.SystemMemory())
	}
	sum := int64(0)
	for _, h := range p.Memory {
		sum += h.Bytes
	}
	if sum != p.Bytes || len(p.Memory) < 6 {
		t.Errorf("%d bytes in all, %d in %+v", p.Bytes, sum, p.Memory)
	}
	if len(p.Training) != 1 || p.Training[0].Epochs != 6 || !(p.Training[0].Step > 0) || !(p.Training[0].Rate > 0) ||
		!(p.Evaluation > 0) || !(p.Finish > 0) { // times are of this moment: none is surely the longer one
		t.Errorf("%+v", p)
	}
	if got, want := p.Run, 6*p.Training[0].Epoch+p.Finish; got < 0.999*want || got > 1.001*want {
		t.Errorf("a run takes %v s, want %v", got, want)
	}
	if got, want := p.All, 6*p.Run; got < 0.999*want || got > 1.001*want {
		t.Errorf("3 values of p and 2 trials take %v s, want %v", got, want)
	}
	one.JSON, one.LR = false, settings.Auto
	_, s, err := dry(t, one)
	for _, want := range []string{"nothing was written", "a training step: activations", "it fits", "at its size",
		"in all", "3 values of p × 2 trials", "learning rate  about"} {
		if err != nil || !strings.Contains(s.out.String(), want) {
			t.Errorf("%q is missing, %v:\n%s", want, err, s.out.String())
		}
	}
}

// Each resolution is timed, and its epochs are counted.
func TestADryRunTimesEachResolution(t *testing.T) {
	settings := packedTiny(t)
	settings.Resolution, settings.Epochs, settings.Feed = "32-64", 8, "streamed"
	p, _, err := dry(t, settings)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Training) != 2 || p.Training[0].Resolution != 32 || p.Training[1].Resolution != 64 ||
		p.Training[0].Epochs+p.Training[1].Epochs != 8 || p.Feed != "streamed" ||
		!strings.HasSuffix(p.Reason, "--feed streamed") || p.Training[1].Step < p.Training[0].Step {
		t.Errorf("%+v", p)
	}
}

// An engine that does not tell what a step takes gets an estimate, which is said, and refuses nothing.
func TestAnEngineThatDoesNotTellIsEstimated(t *testing.T) {
	if testing.Short() {
		t.Skip("GoMLX's engine is slow")
	}
	settings := tiny(t)
	settings.Engine = "go"
	p, _, err := dry(t, settings)
	if err != nil || p.Estimated == nil || !*p.Estimated || !*p.Fits || !(p.All > 0) {
		t.Errorf("%v, %+v", err, p)
	}
	little(t, 1<<20)
	if _, _, err := dry(t, settings); err == nil || !strings.Contains(err.Error(), "training cnn takes about ") {
		t.Errorf("error %v", err)
	}
	settings.Epochs = 1
	if _, err := do(t.Context(), settings); err != nil {
		t.Errorf("training: %v", err)
	}
}

// little makes the computer's memory this small.
func little(t *testing.T, bytes int64) {
	before := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
}

// What does not fit is refused, before it is tried, with the largest batch that does; and that one fits.
func TestWhatDoesNotFitNamesTheLargestBatch(t *testing.T) {
	settings := tiny(t)
	settings.Data, settings.Batch = "fashion-sample", 1000
	little(t, 150<<20)
	p, _, err := dry(t, settings)
	if err == nil || !strings.Contains(err.Error(), "--batch 1000: training cnn takes") ||
		!strings.Contains(err.Error(), "the cpu engine may take 157 MB (GOMEMLIMIT): --batch ") {
		t.Fatalf("error %v", err)
	}
	var usage *UsageError
	if errors.As(err, &usage) || p.Fits == nil || *p.Fits || p.Largest%8 != 0 || p.Largest < 100 || p.Largest > 500 ||
		p.Training != nil {
		t.Errorf("%v, %+v", err, p)
	}
	if _, trained := do(t.Context(), settings); trained == nil || trained.Error() != err.Error() {
		t.Errorf("training: %v\nwant %v", trained, err)
	}
	settings.Batch = p.Largest
	if p, _, err := dry(t, settings); err != nil || !*p.Fits {
		t.Errorf("batch %d: %v, %+v", settings.Batch, err, p)
	}
	little(t, 20<<20)
	settings.JSON = false
	if _, s, err := dry(t, settings); err == nil || !strings.Contains(err.Error(), "no batch of at least 8 fits") ||
		!strings.Contains(s.out.String(), "it does not fit") {
		t.Errorf("%v\n%s", err, s.out.String())
	}
}

func TestPicturesThatDoNotFitAreStreamed(t *testing.T) {
	settings := packedTiny(t)
	little(t, 20_000)
	settings.Feed = "resident"
	if _, err := do(t.Context(), settings); err == nil || !strings.Contains(err.Error(), "--feed streamed") {
		t.Errorf("error %v", err)
	}
	settings.Feed = "auto"
	s, err := do(t.Context(), settings)
	if !strings.Contains(s.said.String(), "as they are needed: more than the 10 kB for pictures") || err == nil {
		t.Errorf("error %v, said %s", err, s.said.String())
	}
}

func TestAFullDeviceNamesASmallerBatch(t *testing.T) {
	settings := tiny(t)
	settings.Batch, settings.Precision = 64, "float32"
	w, err := NewTrainer(t.Context(), &Env{Observer: Lines(io.Discard), Engines: new(engine.Pool)}, &settings)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	full := errors.New("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9.00GiB")
	if text := w.outOfMemory(full); !strings.Contains(text, "smaller batch (by our estimate --batch 32 fits)") {
		t.Error(text)
	}
}

// What is far too large is said before the engine compiles it, with the batch that the estimate after compiling names,
// too.
func TestWhatIsFarTooLargeIsForeseen(t *testing.T) {
	settings := tiny(t)
	settings.Data, settings.Batch, settings.Precision = "fashion-sample", 1000, "bf16"
	w, err := NewTrainer(t.Context(), &Env{Observer: Lines(io.Discard), Engines: new(engine.Pool)}, &settings)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	planner, err := train.NewPlanner(w.net(), 1, 10, true)
	if err != nil {
		t.Fatal(err)
	}
	defer planner.Close()
	step, err := planner.Step(1000, 28, 28)
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]string{
		0: "", step: "", step * 7 / 10: "",
		step / 2: "--batch 1000 will hardly fit: a training step takes about " + render.Bytes(step) + ", by our estimate, " +
			"and the cpu engine may take " + render.Bytes(step/2) + "; --batch ",
		1000: "; no batch of at least 8 should",
	} {
		if got := w.foresee(limit, train.Resolution{}); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%d bytes: %q", limit, got)
		}
	}
	largest, err := planner.LargestBatch(step/2, 1000, 28, 28)
	if err != nil || largest%8 != 0 || largest < 400 || largest > 520 {
		t.Errorf("batch %d, %v", largest, err)
	}
	w.Model, w.Batch, w.set.Channels = "resnet18-imagenet", 20480, 3 // 8.6 GB were measured for 1024
	if got := w.foresee(107e9, train.Resolution{Low: 160, High: 192, Test: 256}); !strings.Contains(got, "--batch 20480 "+
		"will hardly fit") || !strings.Contains(got, "; --batch 11") {
		t.Error(got)
	}
}

func TestDoctorSaysWhatFits(t *testing.T) {
	var out bytes.Buffer
	m := &Machine{}
	var err error
	if m.memory, err = findBudget(false); err != nil {
		t.Fatal(err)
	}
	m.Print(&out)
	for _, want := range []string{"CIFAR-10, resnet18, batch 512, 32 px, float32 on the CPU", "2.7", "bregman may take"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
	little(t, 4e9)
	b, err := findBudget(false)
	if err != nil || len(b.Typical) != 2 || !b.Typical[0].Fits || b.Typical[1].Fits {
		t.Errorf("with 4 GB: %v, %+v", err, b)
	}
}

func TestDoctorSaysWhatFitsOnAGPU(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv(engine.GPUMemory, "0.25")
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\necho 24564\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := findBudget(true)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	b.print(&out)
	if b.GPU != 24564<<20 || b.GPUMay != b.GPU/4 || !b.Typical[0].Fits || b.Typical[1].Fits ||
		!strings.Contains(out.String(), "of which bregman may take 6.44 GB (BREGMAN_GPU_MEMORY)") ||
		!strings.Contains(out.String(), "32 px, bf16 on the GPU") {
		t.Errorf("%+v\n%s", b, out.String())
	}
}
