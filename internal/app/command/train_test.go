package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// pictures writes a folder of tiny pictures of two classes that differ in brightness.
func picturesIn(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pictures")
	for class, level := range map[string]int{"dark": 40, "light": 180} {
		folder := filepath.Join(dir, class)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for k := range 40 {
			img := image.NewGray(image.Rect(0, 0, 12, 12))
			for i := range img.Pix {
				img.Pix[i] = uint8(level + (i*7+k*13)%70)
			}
			var b bytes.Buffer
			if err := errors.Join(png.Encode(&b, img), os.WriteFile(filepath.Join(folder, fmt.Sprintf("%02d.png", k)), b.Bytes(),
				0o666)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// tiny are settings that train in a moment.
func tiny(t *testing.T) Train {
	return Train{Model: "cnn", Data: picturesIn(t), P: []float64{2}, Epochs: 6, Batch: 12, LR: 0.2, Schedule: "triangular",
		Peak: 0.2083333, Seed: 1, Trials: 1, Precision: "auto",
		Engine: "cpu", NoStudy: true, Runs: filepath.Join(t.TempDir(), "runs"), Printed: Printed{JSON: true}}
}

// spoken is a console's output.
type spoken struct {
	out  bytes.Buffer
	said bytes.Buffer
}

type answer struct {
	Runs []struct {
		P, LR, Seconds float64
		Run, Error     string
	}
	Left []string
	Note string `json:"train_loss_and_accuracy"`
}

func (s *spoken) answer(t *testing.T) (a answer) {
	t.Helper()
	if err := json.Unmarshal(s.out.Bytes(), &a); err != nil {
		t.Fatalf("%v in %q; %s", err, s.out.String(), s.said.String())
	}
	return a
}

func do(ctx context.Context, settings Train) (*spoken, error) {
	s := &spoken{}
	return s, perform(ctx, &settings, &s.out, &s.said)
}

// broken trains and returns the folder of a process that was killed when all epochs were done.
func broken(t *testing.T, settings Train) string {
	t.Helper()
	s, err := do(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	dir := s.answer(t).Runs[0].Run
	edit(t, dir, func(info map[string]any) { info["status"] = runlog.Running })
	return dir
}

// edit changes run.json.
func edit(t *testing.T, dir string, change func(info map[string]any)) {
	t.Helper()
	var info map[string]any
	path := filepath.Join(dir, "run.json")
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &info)
	}
	if err == nil {
		change(info)
		b, err = json.Marshal(info)
	}
	if err = errors.Join(err, os.WriteFile(path, b, 0o666)); err != nil {
		t.Fatal(err)
	}
}

// checkpoints lists those of a run folder, the newest first.
func checkpoints(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "epoch-*.safetensors"))
	slices.Reverse(all)
	return all
}

func resume(t *testing.T, dir string, change ...func(*Train)) (*spoken, error) {
	t.Helper()
	settings := Train{Engine: "cpu", Resume: dir, Printed: Printed{JSON: true}, P: []float64{2}, Trials: 1, Runs: "runs"}
	for _, c := range change {
		c(&settings)
	}
	return do(t.Context(), settings)
}

// interrupt is a context that ends in the fourth epoch of a run, between two of its steps.
type interrupt struct {
	context.Context
	runs   string
	asked  int
	events int64 // bytes for TensorBoard by then
}

func (i *interrupt) Err() error {
	found, _ := filepath.Glob(filepath.Join(i.runs, "*", "metrics.jsonl"))
	for _, path := range found {
		if b, err := os.ReadFile(path); err == nil && bytes.Count(b, []byte("\n")) >= 3 {
			i.asked++
		}
	}
	if i.asked >= 5 { // twice at the end of the third epoch, then after each step
		if found, _ := filepath.Glob(filepath.Join(i.runs, "*", "events.out.*")); i.asked == 5 && len(found) == 1 {
			if st, err := os.Stat(found[0]); err == nil {
				i.events = st.Size()
			}
		}
		return context.Canceled
	}
	return i.Context.Err()
}

// stop starts a run and interrupts it.
func stop(t *testing.T, settings Train) (dir string, s *spoken) {
	t.Helper()
	ctx := &interrupt{Context: t.Context(), runs: settings.Runs}
	s, err := do(ctx, settings)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if ctx.events < 3*13*16 { // three epochs of 13 values with their names: TensorBoard shows every epoch
		t.Errorf("%d bytes of events after three epochs", ctx.events)
	}
	found, _ := filepath.Glob(filepath.Join(settings.Runs, "*"))
	if len(found) != 1 {
		t.Fatalf("run folders %v", found)
	}
	return found[0], s
}

// geometryOf is what every epoch of a run says of its weights and answers.
func geometryOf(t *testing.T, dir string) string {
	t.Helper()
	var out []byte
	for _, l := range linesOf(t, dir) {
		if l.Sizes == nil || l.Divergence == nil {
			t.Fatalf("epoch %d of %s: %+v", l.Epoch.Epoch, dir, l)
		}
		b, err := json.Marshal([]any{l.Score, l.Geometry})
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, b...), '\n')
	}
	return string(out)
}

func linesOf(t *testing.T, dir string) (out []train.Record) {
	t.Helper()
	if err := runlog.ReadMetrics(dir, func(b json.RawMessage) error {
		var l train.Record
		err := json.Unmarshal(b, &l)
		out = append(out, l)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// A resumed run that began with a file measures its divergence from there; if the file is gone, it continues without.
func TestTheDivergenceIsFromTheStartOfTheRun(t *testing.T) {
	settings := tiny(t)
	first, err := do(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	settings.Init = filepath.Join(t.TempDir(), "start.safetensors")
	start := weightsOf(t, first.answer(t).Runs[0].Run)
	settings.Epochs, settings.LR = 40, 0.1
	var want string
	for _, c := range []struct{ what, said string }{{"there", ""}, {"changed", "initial weights of the run have changed"},
		{"gone", "no such file"}} {
		if err := os.WriteFile(settings.Init, []byte(start), 0o666); err != nil {
			t.Fatal(err)
		}
		s := settings
		s.Runs = filepath.Join(t.TempDir(), "runs")
		dir, _ := stop(t, s)
		before := linesOf(t, dir)
		switch c.what {
		case "changed":
			err = os.WriteFile(settings.Init, []byte(weightsOf(t, want)), 0o666)
		case "gone":
			err = os.Remove(settings.Init)
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := resume(t, dir)
		if err != nil || !strings.Contains(again.said.String(), c.said) {
			t.Fatalf("%s: %v, %s", c.what, err, again.said.String())
		}
		after := linesOf(t, dir)
		if len(after) != 40 || *after[0].Divergence != *before[0].Divergence ||
			(after[39].Divergence != nil) != (c.said == "") {
			t.Errorf("%s: %d lines, the last %+v", c.what, len(after), after[len(after)-1])
		}
		if want == "" {
			want = dir
			if !(*after[39].Divergence > *after[0].Divergence) {
				t.Errorf("the divergence is %v after 40 epochs, %v after one", *after[39].Divergence, *after[0].Divergence)
			}
		}
	}
}

func weightsOf(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestARunDoesNotGoOnWithOtherDataOrSettings(t *testing.T) {
	settings := tiny(t)
	dir := broken(t, settings)
	for what, c := range map[string]struct {
		change func(info map[string]any)
		want   string
	}{
		"p": {func(i map[string]any) { i["settings"].(map[string]any)["p"] = []float64{3} },
			"was made with p 2, the run has 3"},
		"lr":     {func(i map[string]any) { i["settings"].(map[string]any)["lr"] = 0.3 }, "was made with lr 0.2"},
		"batch":  {func(i map[string]any) { i["settings"].(map[string]any)["batch"] = 10 }, "was made with batch 12"},
		"epochs": {func(i map[string]any) { i["settings"].(map[string]any)["epochs"] = 3 }, "was made with epochs 6"},
		"data":   {func(i map[string]any) { i["data_hash"] = "0123456789abcdef" }, "the data have changed"},
	} {
		before, err := os.ReadFile(filepath.Join(dir, "run.json"))
		if err != nil {
			t.Fatal(err)
		}
		edit(t, dir, c.change)
		if _, err := resume(t, dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", what, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "run.json"), before, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "checkpoints/epoch-00006.safetensors"),
		filepath.Join(dir, "checkpoints/epoch-00007.safetensors")); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(t, dir); err == nil || !strings.Contains(err.Error(), "epoch") {
		t.Errorf("an epoch beyond the last: %v", err)
	}
}

// Whatever is lost, damaged checkpoints or lines of metrics, the run resumes from the rest and ends with the same
// weights.
func TestARunGoesOnFromWhatIsLeft(t *testing.T) {
	settings := tiny(t)
	settings.Epochs = 40
	settings.LR = 0.1
	whole, err := do(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	want, geometry := weightsOf(t, whole.answer(t).Runs[0].Run), geometryOf(t, whole.answer(t).Runs[0].Run)
	damage := func(path string) error { return os.Truncate(path, 1000) }
	flip := func(path string) error { // one bit of the last weight
		b, err := os.ReadFile(path)
		if err == nil {
			b[len(b)-2] ^= 1
			err = os.WriteFile(path, b, 0o666)
		}
		return err
	}
	older := func(path string) error { // as it was before checkpoints had checksums
		f, err := safetensors.Read(path)
		delete(f.Metadata, safetensors.ChecksumKey)
		delete(f.Metadata, "format")
		var b bytes.Buffer
		return errors.Join(err, safetensors.Encode(&b, f), os.WriteFile(path, b.Bytes(), 0o666))
	}
	for what, c := range map[string]struct {
		harm func(dir string, all []string) error
		said string
	}{
		"nothing":               {func(string, []string) error { return nil }, "resuming after epoch"},
		"the newest checkpoint": {func(_ string, all []string) error { return damage(all[0]) }, "skipped: "},
		"a bit of the newest":   {func(_ string, all []string) error { return flip(all[0]) }, "resuming after epoch 1 of"},
		"the checksums":         {func(_ string, all []string) error { return older(all[0]) }, "has no checksum"},
		"all checkpoints": {func(_ string, all []string) error { return errors.Join(damage(all[0]), damage(all[1])) },
			"starting again"},
		"no checkpoints": {func(dir string, _ []string) error {
			return os.RemoveAll(filepath.Join(dir,
				"checkpoints"))
		}, "starting again"},
		"the last line": {func(dir string, _ []string) error {
			path := filepath.Join(dir, "metrics.jsonl")
			b, err := os.ReadFile(path)
			lines := bytes.SplitAfter(b, []byte("\n"))
			return errors.Join(err, os.WriteFile(path, bytes.Join(lines[:len(lines)-2], nil), 0o666))
		}, "has no line of epoch"},
		"a line in the middle": {func(dir string, _ []string) error {
			path := filepath.Join(dir, "metrics.jsonl")
			b, err := os.ReadFile(path)
			lines := bytes.SplitAfter(b, []byte("\n"))
			return errors.Join(err, os.WriteFile(path, bytes.Join(append(lines[:1:1], lines[2:]...), nil), 0o666))
		}, "lacks 1 of"},
	} {
		if testing.Short() && what != "a bit of the newest" && what != "the last line" {
			continue
		}
		s := settings
		s.Runs = filepath.Join(t.TempDir(), "runs")
		dir, _ := stop(t, s)
		all := checkpoints(dir)
		// after the first epoch, and when it was interrupted
		if len(all) != 2 || !strings.HasSuffix(all[1], "epoch-00001.safetensors") {
			t.Fatalf("%s: checkpoints %v", what, all)
		}
		if err := c.harm(dir, all); err != nil {
			t.Fatal(err)
		}
		again, err := resume(t, dir)
		if err != nil || !strings.Contains(again.said.String(), c.said) {
			t.Errorf("%s: %v, %s", what, err, again.said.String())
			continue
		}
		if weightsOf(t, dir) != want {
			t.Errorf("%s: other weights", what)
		}
		if got := geometryOf(t, dir); what != "a line in the middle" && got != geometry {
			t.Errorf("%s: other norms, margins, divergences or sizes", what)
		}
		info, err := runlog.ReadInfo(dir)
		if err != nil || len(info.Resumed) != 1 || info.Resumed[0].Engine != "cpu" || info.Resumed[0].Version != "test" {
			t.Errorf("%s: %+v, %v", what, info, err)
		}
	}
}

// An interrupt during the evaluation of the test images ends it: the epoch is saved, and evaluated after a resume.
func TestAnInterruptedEvaluationIsMadeUpFor(t *testing.T) {
	settings := tiny(t)
	settings.Epochs = 2
	whole, err := do(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	dir := whole.answer(t).Runs[0].Run
	want, geometry := linesOf(t, dir), geometryOf(t, dir)
	edit(t, dir, func(info map[string]any) { info["status"] = runlog.Interrupted })
	lines := linesOf(t, dir)
	last := lines[1]
	last.Score, last.Geometry, last.Unevaluated = train.Score{}, train.Geometry{}, true
	a, _ := json.Marshal(lines[0])
	b, _ := json.Marshal(last)
	if err := os.WriteFile(filepath.Join(dir, "metrics.jsonl"), fmt.Appendf(nil, "%s\n%s\n", a, b), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(t, dir); err != nil {
		t.Fatal(err)
	}
	if got := linesOf(t, dir); len(got) != 2 || got[1].Unevaluated || geometryOf(t, dir) != geometry {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// If one run fails, the others still run; what is done is printed, and the error names p, seed and step.
func TestOnePThatFailsDoesNotThrowAwayTheOthers(t *testing.T) {
	settings := tiny(t)
	settings.P, settings.LR, settings.Schedule = []float64{1.1, 2}, 20, "constant"
	s, err := do(t.Context(), settings)
	var bad *train.Diverged
	if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), "p = 1.1, seed 1: the loss is") {
		t.Errorf("error %v", err)
	}
	a := s.answer(t)
	if len(a.Runs) != 2 || a.Runs[0].Error == "" || a.Runs[1].Error != "" || a.Runs[1].P != 2 {
		t.Errorf("%s", s.out.String())
	}
	if !strings.Contains(a.Note, "augmented batches") {
		t.Errorf("note %q", a.Note)
	}
	settings.JSON = false
	s, _ = do(t.Context(), settings)
	if !strings.Contains(s.out.String(), "failed") || !strings.Contains(s.out.String(), "augmented batches") {
		t.Errorf("%s", s.out.String())
	}
}

func TestAnInterruptPrintsWhatIsDoneAndWhatIsLeft(t *testing.T) {
	settings := tiny(t)
	settings.P, settings.Trials, settings.Epochs, settings.Momentum = []float64{2.5, 7}, 2, 200, 0.5
	dir, s := stop(t, settings)
	a := s.answer(t)
	if len(a.Left) != 3 || a.Left[0] != "bregman train --resume "+dir || !strings.Contains(a.Left[1], "--p 7 ") ||
		!strings.Contains(a.Left[1], "--momentum 0.5") ||
		strings.Contains(a.Left[1], "--seed") || !strings.Contains(a.Left[2], "--p 2.5,7") ||
		!strings.Contains(a.Left[2], "--seed 2") {
		t.Errorf("left %q", a.Left)
	}
	if n := strings.Count(s.said.String(), "finishing this epoch; Ctrl-C again to stop now"); n != 1 ||
		!strings.Contains(s.said.String(), "not finished:\n  bregman train --resume") {
		t.Errorf("said %s", s.said.String())
	}
	// The epoch is finished and saved, without waiting for its evaluation.
	b, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil || bytes.Count(b, []byte("\n")) != 4 || bytes.Count(b, []byte(`"unevaluated":true`)) != 1 ||
		!strings.HasSuffix(checkpoints(dir)[0], "epoch-00004.safetensors") {
		t.Errorf("metrics %s, %v", b, err)
	}
}

// The remaining commands have the learning rates that were found: another seed would find others.
func TestWhatIsLeftHasTheRatesThatWereFound(t *testing.T) {
	w := &Trainer{Train: &Train{P: []float64{2, 3, 7}, Trials: 3, Seed: 5, Epochs: 9, LR: settings.Auto, Runs: "my runs"},
		rates: &Rates{byP: map[float64]*rate{2: {found: &train.RateSearch{Rate: 0.25}},
			3: {found: &train.RateSearch{Rate: 0.5}}}}}
	w.noteRemaining(TrainResult{Run: "my runs/a"}, 0, 1) // interrupted in p = 3 of the first trial
	want := []string{"--resume 'my runs/a'", "--p 7 --epochs", "--p 2 --epochs", "--p 3 --epochs", "--p 7 --epochs"}
	rates := []string{"", "--lr auto", "--lr 0.25", "--lr 0.5", "--lr auto"}
	seeds := []string{"", "--seed 5 --precision", "--seed 6 --trials 2", "--seed 6 --trials 2", "--seed 6 --trials 2"}
	if len(w.remaining) != len(want) {
		t.Fatalf("%q", w.remaining)
	}
	for k, l := range w.remaining {
		if !strings.Contains(l, want[k]) || !strings.Contains(l, rates[k]) || !strings.Contains(l, seeds[k]) {
			t.Errorf("%s\nwant %s %s %s", l, want[k], rates[k], seeds[k])
		}
	}
}

// The folder is taken before anything is compiled.
func TestABusyRunIsRefusedBeforeCompiling(t *testing.T) {
	dir := broken(t, tiny(t))
	taken, err := runlog.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Release()
	s, err := resume(t, dir)
	var busy *runlog.BusyError
	if !errors.As(err, &busy) || strings.Contains(s.said.String(), "compiling") {
		t.Errorf("error %v, said %s", err, s.said.String())
	}
}

func TestARunKeepsAbsolutePathsAndItsFolderOfData(t *testing.T) {
	settings := tiny(t)
	t.Chdir(filepath.Dir(settings.Data))
	settings.Data, settings.DataDir = "pictures", "sets"
	dir := broken(t, settings)
	t.Chdir(t.TempDir())
	old, err := findStoppedTrain(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer old.run.Release()
	if !filepath.IsAbs(old.recorded.Data) || !filepath.IsAbs(old.recorded.DataDir) {
		t.Errorf("data %s, folder %s", old.recorded.Data, old.recorded.DataDir)
	}
	if got := must(old.settings(&Train{})); got.DataDir != old.recorded.DataDir {
		t.Errorf("the folder of the data is %q", got.DataDir)
	}
	if got := must(old.settings(&Train{DataDir: "other"})); got.DataDir != "other" {
		t.Errorf("the folder of the data is %q", got.DataDir)
	}
}

// The remaining time is computed from the work since the resume, and the seconds are those of all legs.
func TestTimesOfARunThatGoesOn(t *testing.T) {
	b := Quiet().Bar("x", 90, 100).(*lineBar)
	if left := b.left(95, b.start.Add(10*time.Second)); math.Abs(left.Seconds()-10) > 1e-6 {
		t.Errorf("%v left, want 10 s", left)
	}
	settings := tiny(t)
	dir := broken(t, settings)
	path := filepath.Join(dir, "metrics.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	var last train.Record
	if err := json.Unmarshal(lines[5], &last); err != nil {
		t.Fatal(err)
	}
	last.Elapsed = 1000
	line, _ := json.Marshal(last)
	lines[5] = append(line, '\n')
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := resume(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if a := s.answer(t); !(a.Runs[0].Seconds > 1000) {
		t.Errorf("%v seconds", a.Runs[0].Seconds)
	}
}

func TestAFullGPUSaysWhatHelps(t *testing.T) {
	w := &Trainer{Train: new(Train)}
	full := errors.New("epoch 1, step 3 of 97: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9.00GiB")
	if text := w.describeError(full, 2, 1).Error(); !strings.Contains(text, "smaller batch") ||
		!strings.Contains(text, "RESOURCE_EXHAUSTED") {
		t.Error(text)
	}
	if text := w.outOfMemory(errors.New("INTERNAL: CUDA_ERROR_LAUNCH_FAILED")); text != "" {
		t.Error(text)
	}
}

// A run that prunes ends with its share of zeros, also if it was stopped in between, and with the same weights. The
// setting is part of what a run is, and runs without it are what they were.
func TestARunThatPrunesEndsWithItsShareOfZeros(t *testing.T) {
	settled := tiny(t)
	settled.PruneTo, settled.PruneDuring, settled.Momentum = 0.8, "0.1-0.75", 0.9
	resolved, err := settled.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	s := *resolved.(*Train)
	s.Runs = filepath.Join(t.TempDir(), "runs")
	dir := broken(t, s)
	var r TrainResult
	if err := readJSON(filepath.Join(dir, filepath.FromSlash(ResultFile)), &r); err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.Zeros-0.8) > 1e-3 {
		t.Errorf("%v of the weights are 0", r.Zeros)
	}
	lines, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil || strings.Count(string(lines), `"zeros":`) != s.Epochs {
		t.Errorf("%v\n%s", err, lines)
	}
	want, err := os.ReadFile(filepath.Join(dir, "weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	newest := filepath.Join(dir, "checkpoints", fmt.Sprintf("epoch-%05d.safetensors", s.Epochs))
	if err := errors.Join(os.Remove(newest), os.Remove(filepath.Join(dir, "weights.safetensors"))); err != nil {
		t.Fatal(err)
	}
	again := tiny(t)
	again.Resume = dir
	if _, err := do(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "weights.safetensors")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the resumed run ends with other weights, %v", err)
	}

	plain := tiny(t)
	if id := settings.Identity(&plain); id["prune_to"] != "" || id["prune_during"] != "" {
		t.Errorf("a run that does not prune has %v", id)
	}
	if id := settings.Identity(&s); id["prune_to"] != "0.8" || id["prune_during"] != "" {
		t.Errorf("%v: want the share, and no default", id)
	}
	if settings.Graph(&s) == settings.Graph(&plain) {
		t.Error("a run that prunes shares a compiled step with one that does not")
	}
	for during, ok := range map[string]bool{"": true, "0-1": true, "0.2-0.2": false, "0.2": false, "-0.1-0.5": false,
		"0-2": false, "a-b": false} {
		one := s
		if one.PruneDuring = during; (one.Check() == nil) != ok {
			t.Errorf("--prune-during %q: %v", during, one.Check())
		}
	}
	for _, share := range []float64{-0.1, 1, math.NaN()} {
		if one := s; true {
			if one.PruneTo = share; one.Check() == nil {
				t.Errorf("--prune-to %v is allowed", share)
			}
		}
	}
}
