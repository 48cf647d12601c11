package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// trained are the settings of a run as its run.json has them: the precision is what auto stands for.
func trained(t *testing.T, change func(*command.Train)) command.Train {
	t.Helper()
	one := new(command.Train)
	if err := settings.Parse(one, map[string]string{"p": "3"}); err != nil {
		t.Fatal(err)
	}
	c, err := command.Ready(one)
	if err != nil {
		t.Fatal(err)
	}
	one = c.(*command.Train)
	one.Precision = "float32"
	if change != nil {
		change(one)
	}
	return *one
}

// folderOf makes a run folder.
func folderOf(t *testing.T, dir string, info runlog.Info, result string, end error, interrupted bool) string {
	t.Helper()
	info.Engine, info.Version, info.Seed = "cpu", "v7", 1
	r, err := runlog.CreateAt(dir, info)
	if err != nil {
		t.Fatal(err)
	}
	if result != "" {
		if err := r.WriteFile("tables/result.json", []byte(result)); err != nil {
			t.Fatal(err)
		}
	}
	r.Info.Diverged = info.Diverged
	if err := r.Finish(end, interrupted); err != end {
		t.Fatal(err)
	}
	return dir
}

const aResult = `{"p": 3, "seed": 1, "lr": 0.1, "train_loss": 0.5, "train_accuracy": 0.8, "test_accuracy": 0.75,
	"test_accuracy_flip": 0.76}`

func TestOnlyRunsThatEndedHaveRows(t *testing.T) {
	dir := t.TempDir()
	train := runlog.Info{Command: "train", Settings: trained(t, nil)}
	diverged := train
	diverged.Diverged = true
	bad := errors.New("the disk is full")
	folder := func(name string, info runlog.Info, result string, end error, interrupted bool) string {
		return folderOf(t, filepath.Join(dir, name), info, result, end, interrupted)
	}
	for name, want := range map[string]string{
		folder("done", train, aResult, nil, false):                      "",
		folder("diverged", diverged, "", errors.New("NaN"), false):      "",
		folder("failed", train, "", bad, false):                         "failed: the disk is full",
		folder("stopped", train, "", bad, true):                         "interrupted: it is not done",
		folder("fit", runlog.Info{Command: "fit"}, aResult, nil, false): "a run of fit",
		folder("torn", train, `{"p": 3`, nil, false):                    "tables/result.json: ",
		folder("empty", train, "", nil, false):                          "it has no tables/result.json",
		filepath.Join(dir, "nowhere"):                                   "no such file",
	} {
		runs, skipped := Folder(name, "test")
		if want == "" && len(skipped) == 0 && len(runs) == 1 {
			continue
		}
		if len(runs) != 0 || len(skipped) != 1 || want == "" || !strings.Contains(skipped[0].Error(), want) {
			t.Errorf("%s: %d runs, %v; want %q", name, len(runs), skipped, want)
		}
	}
	runs, _ := Folder(filepath.Join(dir, "done"), "test")
	if r := runs[0]; r.Test != 0.75 || r.Flips != 0.76 || r.Loss != 0.5 || r.Train != 0.8 || r.Rate != 0.1 ||
		!math.IsNaN(r.Validation) || r.Run != "done" || r.Version != "v7" || r.Results != Version ||
		r.Precision != "float32" ||
		r.Identity.Settings["precision"] != "auto" || r.Date.IsZero() || !strings.Contains(r.Note, "no histogram") {
		t.Errorf("%+v", r)
	}
	runs, _ = Folder(filepath.Join(dir, "diverged"), "test")
	if r := runs[0]; r.Status != Diverged || !math.IsNaN(r.Test) || r.Rate != 0.8 {
		t.Errorf("%+v", r)
	}
	if _, err := parse("r.csv", encode([]Row{runs[0].Row}, true)); err != nil {
		t.Error(err)
	}
}

// A run of train has the identity of the same run of a sweep, and another precision or setting is another run.
func TestTheIdentityOfARunIsThatOfItsSpec(t *testing.T) {
	spec := new(command.Train)
	if err := settings.Parse(spec, map[string]string{"p": "3"}); err != nil {
		t.Fatal(err)
	}
	c, err := command.Ready(spec)
	if err != nil {
		t.Fatal(err)
	}
	want := Identity{Job: "train", Settings: settings.Identity(c)}.ID()
	for name, s := range map[string]struct {
		change func(*command.Train)
		same   bool
	}{"plain": {nil, true}, "bf16": {func(t *command.Train) { t.Precision = "bf16" }, false},
		"unit":  {func(t *command.Train) { t.Unit = "one" }, true},
		"init":  {func(t *command.Train) { t.Unit = "init" }, false},
		"place": {func(t *command.Train) { t.Runs, t.DataDir, t.Engine = "elsewhere", "/data", "cpu" }, true}} {
		dir := folderOf(t, filepath.Join(t.TempDir(), name), runlog.Info{Command: "train", Settings: trained(t, s.change)},
			aResult, nil, false)
		runs, skipped := Folder(dir, "test")
		if len(runs) != 1 || (runs[0].Identity.ID() == want) != s.same {
			t.Errorf("%s: %+v, %v", name, runs, skipped)
		}
	}
}

// The runs of a sweep have the identities of its plan, from the sweep's folder or a trial's. One that diverged before
// its run began has a row, too.
func TestTheTrialsOfASweepHaveTheIdentitiesOfItsPlan(t *testing.T) {
	dir := t.TempDir()
	type spec struct {
		ID string `json:"id"`
		Identity
	}
	var specs []spec
	for _, seed := range []string{"1", "2", "3"} {
		i := Identity{First: 1, Job: "train", Settings: map[string]string{"model": "cnn", "data": "x.npz", "p": "3",
			"lr": "auto", "seed": seed}}
		specs = append(specs, spec{i.ID(), i})
	}
	data, _ := json.Marshal(map[string]any{"version": "v5", "results_version": 2, "runs": specs})
	if err := os.WriteFile(filepath.Join(dir, "plan.json"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	trial := func(k int) string { return filepath.Join(dir, "trials", "p3-s1-"+specs[k].ID) }
	folderOf(t, trial(0), runlog.Info{Command: "train", Settings: trained(t, nil)}, aResult, nil, false)
	if err := os.MkdirAll(filepath.Join(trial(1), "tables"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(trial(1), "tables", "result.json"), []byte(`{"diverged": "NaN"}`),
		0o666); err != nil {
		t.Fatal(err)
	}
	runs, skipped := Folder(dir, "test")
	if len(runs) != 2 || len(skipped) != 1 ||
		!strings.Contains(skipped[0].Error(), "1 of 3 runs have no finished folder") {
		t.Fatalf("%+v, %v", runs, skipped)
	}
	for _, r := range runs {
		if id := r.Identity.ID(); r.Results != 2 || !strings.HasSuffix(r.Run, id) || r.Identity.First != 1 {
			t.Errorf("%+v", r)
		}
		if status := map[string]string{specs[0].ID: Done, specs[1].ID: Diverged}[r.Identity.ID()]; status != r.Status {
			t.Errorf("%s is %s", r.Run, r.Status)
		}
	}
	alone, skipped := Folder(trial(0), "test")
	if len(alone) != 1 || alone[0].Identity.ID() != specs[0].ID || alone[0].Results != 2 {
		t.Errorf("%+v, %v", alone, skipped)
	}
}

// The levels of a study go into the file of weights, from the run folder that a sweep or a person has. Without a study,
// or with one that is torn, there is a histogram all the same.
func TestARunsLevelsAreKeptWithItsHistogram(t *testing.T) {
	var weights bytes.Buffer
	if err := safetensors.Encode(&weights, safetensors.File{Tensors: []safetensors.Tensor{
		safetensors.FromFloat32s("conv1.weight", []int{1, 1, 1, 2}, []float32{3, -4})}}); err != nil {
		t.Fatal(err)
	}
	l := someLevels()
	study, err := json.Marshal(train.Study{Accuracy: l.Accuracy, Recalibrated: l.Recalibrated, PrunedEach: l.PrunedEach,
		PrunedAll: l.PrunedAll, Rounded: l.Rounded, RoundedChannels: l.RoundedChannels})
	if err != nil {
		t.Fatal(err)
	}
	older := `{"accuracy": 0.5, "pruned_each": [{"at": 0, "accuracy": 0.5}], "rounded": [{"at": 8, "accuracy": 0.4}]}`
	for text, want := range map[string]*Levels{string(study): l, older: {Accuracy: 0.5,
		PrunedEach: []train.Level{{At: 0, Accuracy: 0.5}}, Rounded: []train.Level{{At: 8, Accuracy: 0.4}}},
		"": nil, "{": nil, `{"accuracy": 7}`: nil} {
		info := runlog.Info{Command: "train", Settings: trained(t, nil)}
		dir := folderOf(t, filepath.Join(t.TempDir(), "run"), info, aResult, nil, false)
		if err := os.WriteFile(filepath.Join(dir, "weights.safetensors"), weights.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, "tables", "study.json"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		runs, skipped := Folder(dir, "test")
		if len(runs) != 1 || runs[0].Weights == nil || runs[0].Note != "" ||
			!reflect.DeepEqual(runs[0].Weights.Levels, want) {
			t.Fatalf("%s: %+v, %v", text, runs, skipped)
		}
		path := filepath.Join(t.TempDir(), "r.csv")
		if _, err := Append(path, runs...); err != nil {
			t.Fatal(err)
		}
		back, err := ReadWeights(path, []Row{runs[0].Row})
		if err != nil || !reflect.DeepEqual(back[0], runs[0].Weights) {
			t.Errorf("%+v, %v", back[0], err)
		}
	}
}
