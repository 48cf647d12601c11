package command

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
)

// predicted predicts and returns the answers, also if some pictures could not be predicted, and what was said.
func predicted(t *testing.T, p PredictPictures) (*Answers, string, error) {
	t.Helper()
	if p.Out == "" {
		p.Out = "-"
	}
	p.Engine = "cpu"
	var said bytes.Buffer
	r, err := p.Do(t.Context(), &Env{Observer: Lines(&said), Engines: new(engine.Pool)})
	a, _ := r.(*Answers)
	return a, said.String(), err
}

// trainedTiny trains and returns the run folder with its result.
func trainedTiny(t *testing.T, s Train) (string, TrainResult) {
	t.Helper()
	out, err := do(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	r, ok, err := ReadResult(out.answer(t).Runs[0].Run)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return r.Run, r
}

// sameAsRun compares the answers to a run's own test images with what the run stored: the accuracy and, of the wrong
// answers it shows, the probability, bit for bit.
func sameAsRun(t *testing.T, a *Answers, r TrainResult) {
	t.Helper()
	if got := a.accuracy(a.right); got != r.TestAccuracy || a.labelled != a.predicted() {
		t.Errorf("accuracy %v of %d pictures with %d labels, the run has %v", got, a.predicted(), a.labelled, r.TestAccuracy)
	}
	var stored TestAnswers
	if err := readJSON(filepath.Join(r.Run, filepath.FromSlash(AnswersFile)), &stored); err != nil {
		t.Fatal(err)
	}
	if err := stored.Check(); err != nil {
		t.Error(err)
	}
	count := map[[2]int]int{}
	for i, p := range a.pictures {
		count[[2]int{a.labels[i], p.top[0]}]++
	}
	right := 0
	for _, c := range stored.Counts {
		if count[[2]int{c[0], c[1]}] != c[2] {
			t.Errorf("%d images of class %d are answered as %d, the run says %d", count[[2]int{c[0], c[1]}], c[0], c[1], c[2])
		}
		if c[0] == c[1] {
			right += c[2]
		}
	}
	if got := float64(right) / float64(stored.Images); got != r.TestAccuracy || stored.Images != len(a.pictures) {
		t.Errorf("the confusion matrix has %d of %d right, the accuracy is %v", right, stored.Images, r.TestAccuracy)
	}
	for _, w := range stored.Wrong {
		i := slices.IndexFunc(a.pictures, func(p pictureAnswer) bool { return strings.HasSuffix(p.name, w.Picture) })
		if i < 0 {
			t.Fatalf("no picture %s", w.Picture)
		}
		if p := a.pictures[i]; p.top[0] != w.Answer || p.probability[0] != w.Probability || a.labels[i] != w.Class {
			t.Errorf("picture %s: class %d with %v, the run says %d with %v", p.name, p.top[0], p.probability[0], w.Answer,
				w.Probability)
		}
		if len(w.Image) == 0 {
			t.Errorf("picture %s has no image", w.Picture)
		}
	}
}

// On the same engine the network answers to the run's test images as it did in the run.
func TestPredictingTheTestImagesIsTheRunsOwnTest(t *testing.T) {
	s := tiny(t)
	s.Data, s.Epochs, s.Batch, s.P = "fashion-sample", 1, 50, []float64{3}
	for _, validate := range []int{0, 380} {
		s.Validate, s.Runs = validate, filepath.Join(t.TempDir(), "runs")
		dir, r := trainedTiny(t, s)
		a, _, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{"fashion-sample:test"}})
		if err != nil {
			t.Fatal(err)
		}
		sameAsRun(t, a, r)
		if validate > 0 {
			continue
		}
		// The same pictures as files, in folders of their classes.
		folder, set := t.TempDir(), must(images.Load("fashion-sample", ""))
		for i := range set.Test.Len() {
			img := must(set.Picture(false, i))
			class := filepath.Join(folder, filepath.FromSlash(set.Classes[set.Test.Label(i)]))
			var b bytes.Buffer
			if err := errors.Join(os.MkdirAll(class, 0o777), png.Encode(&b, img),
				os.WriteFile(filepath.Join(class, fmt.Sprintf("%04d.png", i)), b.Bytes(), 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		other, _, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{folder}})
		if err != nil {
			t.Fatal(err)
		}
		if other.labelled != 1100 || other.accuracy(other.right) != r.TestAccuracy {
			t.Errorf("%d labels, accuracy %v, the run has %v", other.labelled, other.accuracy(other.right), r.TestAccuracy)
		}
	}
}

func TestPredictingAPackedTestSetIsTheRunsOwnTest(t *testing.T) {
	s := packedTiny(t)
	s.Epochs = 1
	for _, feed := range []string{"resident", "streamed"} {
		s.Feed, s.Runs = feed, filepath.Join(t.TempDir(), "runs")
		dir, r := trainedTiny(t, s)
		a, _, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{s.Data}})
		if err != nil {
			t.Fatal(err)
		}
		sameAsRun(t, a, r)
	}
	// Pictures of other sizes are shrunk as packing does, without --resize.
	dir, _ := trainedTiny(t, s)
	folder := t.TempDir()
	writePicture(t, filepath.Join(folder, "light", "large.png"), 90, 61, 220)
	writePicture(t, filepath.Join(folder, "dark", "long.png"), 7, 300, 30)
	a, said, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{folder}})
	if err != nil || a.labelled != 2 || a.right != 2 {
		t.Errorf("%v, %d of %d right, %s", err, a.right, a.labelled, said)
	}
}

// writePicture writes a grey PNG.
func writePicture(t *testing.T, path string, height, width, level int) {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = uint8(level + i*7%11)
	}
	var b bytes.Buffer
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), png.Encode(&b, img),
		os.WriteFile(path, b.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
}

func TestBrokenPicturesAreListedAndTheOthersPredicted(t *testing.T) {
	dir, _ := trainedTiny(t, tiny(t))
	folder := t.TempDir()
	writePicture(t, filepath.Join(folder, "light", "a.png"), 12, 12, 230)
	writePicture(t, filepath.Join(folder, "dark", "b.png"), 12, 12, 30)
	writePicture(t, filepath.Join(folder, "dark", "large.png"), 30, 24, 30)
	writePicture(t, filepath.Join(folder, "c.png"), 12, 12, 30)
	for name, text := range map[string]string{"empty.jpg": "", "cut.png": "\x89PNG\r\n\x1a\n", "d.gif": "GIF89a",
		".hidden.png": ""} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "answers.csv")
	a, said, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{folder}, Out: file, Probabilities: true})
	if err == nil || !strings.Contains(err.Error(), "4 pictures of 7 could not be predicted: --resize ") {
		t.Fatalf("%v, said %s", err, said)
	}
	for _, want := range []string{"empty.jpg: an empty file", "cut.png: a truncated PNG", "d.gif: a GIF picture",
		"large.png: 24×30 pixels (width × height), the network was trained on 12×12"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
	if a.labelled != 2 || a.right != 2 || a.predicted() != 3 {
		t.Errorf("%d of %d right, %d predicted", a.right, a.labelled, a.predicted())
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 8 || strings.Join(rows[0], " ") !=
		"picture label probability label_2 probability_2 true_label correct error P(dark) P(light)" {
		t.Errorf("%v, %q", err, rows)
	}
	if resized, _, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{folder + "/dark", folder + "/c.png"},
		Resize: true}); err != nil || resized.predicted() != 3 || resized.labelled != 0 {
		t.Errorf("%v, %+v", err, resized)
	}
}

func TestPredictingWithARunOfAnOlderVersion(t *testing.T) {
	s := tiny(t)
	dir, r := trainedTiny(t, s)
	path := filepath.Join(dir, PreparationFile)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	a, said, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{s.Data + ":test"}})
	if err != nil || !strings.Contains(said, "an older version trained it") {
		t.Fatalf("%v, %s", err, said)
	}
	if got := a.accuracy(a.right); got != r.TestAccuracy {
		t.Errorf("accuracy %v, the run has %v", got, r.TestAccuracy)
	}
	writePicture(t, filepath.Join(s.Data, "dark", "new.png"), 12, 12, 30)
	if _, _, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{s.Data}}); err == nil ||
		!strings.Contains(err.Error(), "have changed since: restore them, or train again") {
		t.Error(err)
	}
	if err := os.RemoveAll(s.Data); err != nil {
		t.Fatal(err)
	}
	if _, _, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{"fashion-sample"}}); err == nil ||
		!strings.Contains(err.Error(), "are not there") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	for text, want := range map[string]string{"{": "preprocessing.json", `{"classes":["a","b"],"channels":1}`: "mean"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{"fashion-sample"}}); err == nil ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "delete the file") {
			t.Error(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, WeightsFile)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{"fashion-sample"}}); err == nil ||
		!strings.Contains(err.Error(), "bregman train --resume") {
		t.Error(err)
	}
}

func TestAnInterruptEndsPrediction(t *testing.T) {
	dir, _ := trainedTiny(t, tiny(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := PredictPictures{Run: dir, Pictures: []string{"fashion-sample"}, Resize: true, Engine: "cpu", Out: "-"}
	if _, err := p.Do(ctx, &Env{Observer: Lines(new(bytes.Buffer)), Engines: new(engine.Pool)}); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
}

func TestJSONHasEveryAnswer(t *testing.T) {
	s := tiny(t)
	dir, r := trainedTiny(t, s)
	a, _, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{s.Data + ":test"}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(a.JSON())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Accuracy float64
		Pictures []struct {
			Picture, Label, True_label string
			Probability                float64
			Correct                    *bool
			Top5                       []struct{ Label string }
		}
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Accuracy != r.TestAccuracy || len(got.Pictures) != 8 {
		t.Fatalf("%s", data)
	}
	for _, p := range got.Pictures {
		if p.Label == "" || p.Correct == nil || *p.Correct != (p.Label == p.True_label) || len(p.Top5) != 2 ||
			!(p.Probability >= 0.5) || !strings.Contains(p.Picture, p.True_label+"/") {
			t.Errorf("%+v", p)
		}
	}
	var out bytes.Buffer
	a.Print(&out)
	want := fmt.Sprintf("accuracy %.2f %%: %d of 8\n", 100*r.TestAccuracy, a.right)
	if !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in %q", want, out.String())
	}
}

// An archive has its labels as numbers; those of another size are named by their number.
func TestPredictingAnArchiveOfArrays(t *testing.T) {
	s := tiny(t)
	set := must(images.Load(s.Data, ""))
	s.Data = filepath.Join(t.TempDir(), "pictures.npz")
	writeNPZ(t, s.Data, set)
	dir, r := trainedTiny(t, s)
	a, _, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{s.Data}})
	if err != nil {
		t.Fatal(err)
	}
	sameAsRun(t, a, r)
	_, said, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{"fashion-sample"}})
	const size = "fashion-sample, picture 0: 28×28 pixels (width × height), the network was trained on 12×12"
	if err == nil || !strings.Contains(err.Error(), "1100 pictures of 1100 could not be predicted: --resize") ||
		!strings.Contains(said, size) ||
		!strings.Contains(said, "the run has no class T-shirt/top, trouser") {
		t.Errorf("%v, %s", err, said)
	}
}

// writeNPZ writes a set as an archive of NumPy arrays.
func writeNPZ(t *testing.T, path string, set *images.Set) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name, shape string, data []byte) {
		w, err := z.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%s), }", shape)
		header += strings.Repeat(" ", 63-(len(header)+10)%64) + "\n"
		if _, err := fmt.Fprintf(w, "\x93NUMPY\x01\x00%c%c%s%s", len(header)%256, len(header)/256, header, data); err != nil {
			t.Fatal(err)
		}
	}
	for name, part := range map[string]images.Split{"train": set.Train, "test": set.Test} {
		add("X_"+name, fmt.Sprintf("%d, %d, %d, %d", part.Len(), set.Height, set.Width, set.Channels), part.Images)
		add("y_"+name, fmt.Sprintf("%d,", part.Len()), part.Labels)
	}
	if err := errors.Join(z.Close(), os.WriteFile(path, b.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// The weights of the best epoch predict as they were tested at the end of the run; a run that keeps none says so.
func TestPredictingWithTheBestWeights(t *testing.T) {
	s := tiny(t)
	s.Validate, s.LR, s.Schedule = 24, 3, "constant"
	dir, r := trainedTiny(t, s)
	a, _, err := predicted(t, PredictPictures{Run: dir, Best: true, Pictures: []string{s.Data + ":test"}})
	if err != nil {
		t.Fatal(err)
	}
	if r.BestEpoch == 0 || r.BestTestAccuracy == nil || a.accuracy(a.right) != *r.BestTestAccuracy {
		t.Errorf("%v, the run has %v of epoch %d", a.accuracy(a.right), r.BestTestAccuracy, r.BestEpoch)
	}
	if !strings.Contains(a.summary(), "its best epoch") {
		t.Error(a.summary())
	}
	page, err := os.ReadFile(filepath.Join(dir, "tables", "result.json"))
	if err != nil || !strings.Contains(string(page), `"best_epoch"`) {
		t.Errorf("%s, %v", page, err)
	}
	s.Validate, s.Runs = 0, filepath.Join(t.TempDir(), "runs")
	dir, r = trainedTiny(t, s)
	_, _, err = predicted(t, PredictPictures{Run: dir, Best: true, Pictures: []string{s.Data + ":test"}})
	if err == nil || !strings.Contains(err.Error(), "--validate") || r.BestEpoch != 0 {
		t.Errorf("%v, %d", err, r.BestEpoch)
	}
}

// Early stopping needs images that are held back and a rate that stays: else a run is refused.
func TestWhatPatienceNeeds(t *testing.T) {
	for want, change := range map[string]func(*Train){
		"add --validate":          func(s *Train) { s.Schedule = "constant" },
		"add --schedule constant": func(s *Train) { s.Validate = 12 },
		"--prune-to plans":        func(s *Train) { s.Validate, s.Schedule, s.PruneTo = 12, "constant", 0.5 },
		"want a number of epochs": func(s *Train) { s.Patience = -1 },
	} {
		s := tiny(t)
		s.Patience = 2
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s := tiny(t)
	s.Validate, s.Schedule, s.Patience, s.Epochs, s.LR = 24, "constant", 1, 40, 0.4
	_, r := trainedTiny(t, s)
	if r.StoppedAfter == 0 || r.StoppedAfter != r.BestEpoch+1 || !strings.Contains(r.BestText(), "stopped after epoch") {
		t.Errorf("best in %d, stopped after %d: %s", r.BestEpoch, r.StoppedAfter, r.BestText())
	}
}
