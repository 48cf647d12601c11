package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// Files of a network's run: its weights, and what it has to know of pictures.
const (
	WeightsFile     = train.WeightsFile
	PreparationFile = "preprocessing.json"
)

// PredictPictures is what `bregman predict` does with a network: it answers to pictures.
type PredictPictures struct {
	Run           string   // the run folder
	Best          bool     // the weights of its best epoch, not of its last
	Pictures      []string // as images.Collect reads them
	DataDir       string
	Engine        string
	Resize        bool // pictures of another size
	Unlabeled     bool // the labels mean nothing
	Probabilities bool // of every class, in files
	Out           string
	JSON          bool
}

// trainedRun is the folder of a run that can predict.
type trainedRun struct {
	dir         string
	settings    Train
	weights     *train.Init
	preparation train.Preparation
	engine      string // that trained it
}

// Do predicts.
func (p *PredictPictures) Do(ctx context.Context, env *Env) (Result, error) {
	weights := WeightsFile
	if p.Best {
		weights = train.BestFile
	}
	inputs := []Input{{"--run", filepath.Join(p.Run, weights)}}
	for _, path := range p.Pictures {
		inputs = append(inputs, Input{"--data", path})
	}
	if err := CheckOut(p.Out, inputs...); err != nil {
		return nil, err
	}
	run, err := openTrained(env, p.Run, weights, p.DataDir)
	if err != nil {
		return nil, err
	}
	dataDir := p.DataDir
	if there, err := os.Stat(run.settings.DataDir); dataDir == "" && err == nil && there.IsDir() {
		dataDir = run.settings.DataDir
	}
	var all []*images.Collection
	for _, path := range p.Pictures {
		c, err := images.Collect(path, dataDir, run.preparation.Classes)
		if err != nil {
			return nil, err
		}
		defer c.Close() // only read
		all = append(all, c)
	}
	pictures, err := images.Join(all)
	if err != nil {
		return nil, err
	}
	eng, err := OpenEngine(env, p.Engine)
	if err != nil {
		return nil, err
	}
	out := &Answers{settings: p, run: run, engine: eng.Name, name: pictures.Name, labels: p.labels(env, run, pictures)}
	if err := out.predict(ctx, env, eng, pictures); err != nil {
		return nil, err
	}
	if p.Out != "-" { // there is the table
		out.File = NewFile(p.Out, out.csv())
	}
	if err := out.Save(); err != nil {
		return nil, err
	}
	return out, out.unread(env)
}

// openTrained reads what is needed of a run.
func openTrained(env *Env, dir, weights, dataDir string) (*trainedRun, error) {
	info, err := runlog.ReadInfo(dir)
	if err != nil {
		return nil, fmt.Errorf("--run: %w", NoRun(dir, err))
	}
	r := &trainedRun{dir: dir, engine: info.Engine}
	if r.settings, err = recordedTrain(info); err == nil {
		_, err = nets.ByName(r.settings.Model)
	}
	if err == nil {
		_, err = r.settings.dropout()
	}
	if err != nil {
		return nil, fmt.Errorf("--run %s: %w", dir, err)
	}
	path := filepath.Join(dir, weights)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && weights != WeightsFile {
		return nil, fmt.Errorf("--weights best: %s has no %s: a run keeps it that is trained with --validate", dir, weights)
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--run %s: it has no %s: a run writes it at its end. \"bregman train --resume %s\" continues "+
			"one that was stopped", dir, WeightsFile, settings.Quote(dir))
	}
	if r.weights, err = train.ReadInit(path); err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	path = filepath.Join(dir, PreparationFile)
	err = readJSON(path, &r.preparation)
	if errors.Is(err, fs.ErrNotExist) {
		return r, r.reconstruct(env, info, dataDir)
	}
	if err == nil {
		if err = r.preparation.Check(); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--run: %w: delete the file if the images of the run, %s, are still there: they have the "+
			"same", err, r.settings.Data)
	}
	return r, nil
}

// reconstruct takes from the images of an older run what it did not store.
func (r *trainedRun) reconstruct(env *Env, info runlog.Info, dataDir string) error {
	if dataDir == "" {
		dataDir = r.settings.DataDir
	}
	lacks := fmt.Sprintf("--run %s: it has no %s, an older version trained it, and the images that it was trained on",
		r.dir, PreparationFile)
	set, err := r.settings.images(dataDir)
	if err != nil {
		return fmt.Errorf("%s are not there: %w. Put them back, or train again", lacks, err)
	}
	defer set.Close() // only read
	if set.Hash != info.DataHash {
		return fmt.Errorf("%s, %s, have changed since: restore them, or train again", lacks, r.settings.Data)
	}
	resolution, err := r.settings.resolution(set)
	if err != nil {
		return fmt.Errorf("--run %s: %w", r.dir, err)
	}
	r.preparation = train.PreparationOf(set, resolution.Test)
	env.Say("%s has no %s, an older version trained it: classes, mean and deviation are read from %s", r.dir,
		PreparationFile, r.settings.Data)
	return nil
}

// labels are the true classes of the pictures, as the run counts them; −1 for none.
func (p *PredictPictures) labels(env *Env, run *trainedRun, pictures *images.Collection) []int {
	out := slices.Repeat([]int{-1}, pictures.Len())
	if p.Unlabeled {
		return out
	}
	classes := run.preparation.Classes
	of, unknown := make([]int, len(pictures.Classes)), map[string]bool{}
	for k, name := range pictures.Classes {
		of[k] = slices.Index(classes, name)
		if pictures.Numbered && of[k] < 0 && k < len(classes) {
			of[k] = k
		}
	}
	for i := range out {
		if k := pictures.Label(i); k >= 0 {
			if out[i] = of[k]; out[i] < 0 {
				unknown[pictures.Classes[k]] = true
			}
		}
	}
	if len(unknown) > 0 {
		var names []string
		for _, name := range pictures.Classes {
			if unknown[name] {
				names = append(names, name)
			}
		}
		env.Say("%s: the run has no class %s: these pictures count as pictures without a label", pictures.Name,
			strings.Join(names[:min(len(names), 5)], ", "))
	}
	return out
}

// Answers are the result of predict with a network.
type Answers struct {
	File
	settings  *PredictPictures
	run       *trainedRun
	engine    string
	precision string
	name      string // of the pictures
	labels    []int
	pictures  []pictureAnswer

	labelled, right, rightOf5 int
}

// pictureAnswer is that to one picture.
type pictureAnswer struct {
	name          string
	top           []int     // the most probable classes
	probability   []float64 // theirs
	probabilities []float64 // of all classes, on request
	err           error
}

var _ Result = (*Answers)(nil)

// topClasses is how many classes a picture's answer names.
const topClasses = 5

// predict fills in the answers.
func (a *Answers) predict(ctx context.Context, env *Env, eng *engine.Engine, pictures *images.Collection) error {
	prep, t := a.run.preparation, &a.run.settings
	if a.precision = t.Precision; a.precision == "auto" {
		a.precision = AutoPrecision(a.run.engine)
	}
	if a.precision == "bf16" && !eng.IsCUDA() {
		a.precision = "float32"
		env.Say("the run computed in bf16, the %s engine predicts in float32: answers may differ in their last digits",
			eng.Name)
	}
	n := pictures.Len()
	s := train.PredictorSettings{Net: t.net(), Precision: a.precision, Preparation: prep, Pictures: n,
		Largest: largestCrop(prep, pictures)}
	predictor, err := train.NewPredictor(eng, a.run.weights, s)
	if err != nil {
		return fmt.Errorf("--run %s: %w", a.run.dir, err)
	}
	defer predictor.Close()
	open := func() train.Read {
		r := pictures.NewReader()
		return func(i int, to *train.Slot) error {
			if prep.Packed == nil {
				return r.Pixels(i, to.Pixels, prep.Height, prep.Width, prep.Channels,
					a.settings.Resize || prep.Resized)
			}
			h, w, copyTo, err := r.Planes(i, prep.Packed.Size, prep.Packed.Side)
			if err != nil {
				return err
			}
			return to.Crop(h, w, copyTo)
		}
	}
	bar := env.Bar("predicting", 0, int64(n))
	defer bar.End()
	return predictor.Predict(ctx, n, open, func(i int, logits []float32, unread error) error {
		bar.Set(int64(i+1), "")
		one := pictureAnswer{name: pictures.PictureName(i), err: unread}
		if unread == nil {
			a.count(&one, logits, a.labels[i])
		}
		a.pictures = append(a.pictures, one)
		return nil
	})
}

// count notes an answer, and whether it is right.
func (a *Answers) count(one *pictureAnswer, logits []float32, label int) {
	probabilities, order := train.Probabilities(logits, topClasses)
	one.top = order
	for _, k := range order {
		one.probability = append(one.probability, probabilities[k])
	}
	if a.settings.Probabilities {
		one.probabilities = probabilities
	}
	if label < 0 {
		return
	}
	a.labelled++
	if order[0] == label {
		a.right++
	}
	if train.Among(logits, label, topClasses) {
		a.rightOf5++
	}
}

// largestCrop is the longest side of a crop that pictures from elsewhere may have; 0 if they fit anyway.
func largestCrop(prep train.Preparation, pictures *images.Collection) int {
	if prep.Packed == nil {
		return 0
	}
	pack, entries := pictures.Pack()
	if pack == nil {
		return prep.Packed.Size
	}
	longest := 0
	for _, e := range entries {
		longest = max(longest, int(min(e.Height, e.Width)))
	}
	return longest * 7 / 8 // 224/256
}

// mostListed is how many pictures that cannot be predicted are listed on the console.
const mostListed = 20

// unread lists the pictures that could not be predicted; its error says how many.
func (a *Answers) unread(env *Env) error {
	failed, size, one := 0, false, ""
	for _, p := range a.pictures {
		if p.err == nil {
			continue
		}
		if failed++; failed <= mostListed {
			env.Say("%v", p.err)
		}
		var other *images.SizeError
		if errors.As(p.err, &other) {
			size = true
		}
		one = p.name
	}
	if failed == 0 {
		return nil
	}
	if failed > mostListed {
		env.Say("and %d more", failed-mostListed)
	}
	text := fmt.Sprintf("%s of %d could not be predicted", render.Count(failed, "picture"), len(a.pictures))
	if failed == 1 && len(a.pictures) == 1 {
		text = one + " could not be predicted"
	}
	if size {
		text += ": --resize resizes those of another size and takes their centre"
	}
	return errors.New(text)
}

// class is the name of a class.
func (a *Answers) class(k int) string {
	if k < 0 {
		return ""
	}
	return a.run.preparation.Classes[k]
}

// csv has a line for each picture.
func (a *Answers) csv() []byte {
	classes := a.run.preparation.Classes
	top := min(topClasses, len(classes))
	t := render.Table{Header: []string{"picture", "label", "probability"}}
	for k := 2; k <= top; k++ {
		t.Header = append(t.Header, fmt.Sprintf("label_%d", k), fmt.Sprintf("probability_%d", k))
	}
	t.Header = append(t.Header, "true_label", "correct", "error")
	if a.settings.Probabilities {
		for _, name := range classes {
			t.Header = append(t.Header, "P("+name+")")
		}
	}
	for i, p := range a.pictures {
		row := []render.Cell{render.Text("%s", p.name)}
		for k := range top {
			if p.err != nil {
				row = append(row, render.Text(""), render.Text(""))
				continue
			}
			row = append(row, render.Text("%s", a.class(p.top[k])), render.Text("%.6g", p.probability[k]))
		}
		right, why := "", ""
		if p.err != nil {
			why = p.err.Error()
		} else if a.labels[i] >= 0 {
			right = fmt.Sprint(p.top[0] == a.labels[i])
		}
		row = append(row, render.Text("%s", a.class(a.labels[i])), render.Text("%s", right), render.Text("%s", why))
		if a.settings.Probabilities {
			for k := range classes {
				if p.err != nil {
					row = append(row, render.Text(""))
				} else {
					row = append(row, render.Text("%.6g", p.probabilities[k]))
				}
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t.CSV()
}

// mostRows is how many pictures the table on a terminal has.
const mostRows = 40

// Print shows a table of the pictures, or says where they are.
func (a *Answers) Print(w io.Writer) {
	defer func() { fmt.Fprint(w, a.summary()) }()
	if a.Path != "" {
		return
	}
	labelled := a.labelled > 0
	t := render.Table{Header: []string{"picture"}}
	if labelled {
		t.Header = append(t.Header, "true")
	}
	t.Header = append(t.Header, "prediction", "%", "then")
	t.Left = len(t.Header)
	left := 0
	for i, p := range a.pictures {
		if p.err != nil {
			continue
		}
		if len(t.Rows) == mostRows {
			left++
			continue
		}
		row := []render.Cell{render.Text("%s", p.name)}
		name := a.class(p.top[0])
		if labelled {
			row = append(row, render.Text("%s", cmp.Or(a.class(a.labels[i]), "–")))
			if a.labels[i] >= 0 && a.labels[i] != p.top[0] {
				name = "✗ " + name
			}
		}
		var then []string
		for k, class := range p.top[1:] {
			then = append(then, fmt.Sprintf("%s %.1f", a.class(class), 100*p.probability[k+1]))
		}
		t.Rows = append(t.Rows, append(row, render.Text("%s", name), render.Text("%5.1f", 100*p.probability[0]),
			render.Text("%s", strings.Join(then, ", "))))
	}
	if len(t.Rows) > 0 {
		fmt.Fprint(w, t.Text())
	}
	if left > 0 {
		fmt.Fprintf(w, "… and %s: --out FILE.csv has all of them\n", render.Count(left, "more picture"))
	}
}

// summary says how good the answers are.
func (a *Answers) summary() string {
	n := a.predicted()
	best := ""
	if a.settings.Best {
		best = ", its best epoch"
	}
	text := fmt.Sprintf("%s predicted by %s (%s, p = %v%s)\n", render.Count(n, "picture"), a.run.dir,
		a.run.settings.Model, a.run.settings.P[0], best)
	if a.labelled > 0 {
		of := ""
		if a.labelled < n {
			of = " with a label"
		}
		text += fmt.Sprintf("accuracy %.2f %%: %d of %d%s", 100*a.accuracy(a.right), a.right, a.labelled, of)
		if len(a.run.preparation.Classes) > topClasses {
			text += fmt.Sprintf("; in the top five %.2f %%", 100*a.accuracy(a.rightOf5))
		}
		text += "\n"
	}
	if a.Path != "" {
		text += "written to " + a.Path + "\n"
	}
	return text
}

func (a *Answers) accuracy(right int) float64 { return float64(right) / float64(a.labelled) }

// predicted is how many pictures have an answer.
func (a *Answers) predicted() int {
	n := 0
	for _, p := range a.pictures {
		if p.err == nil {
			n++
		}
	}
	return n
}

// JSON has every picture, unless they are in a file.
func (a *Answers) JSON() any {
	type guess struct {
		Label       string  `json:"label"`
		Probability float64 `json:"probability"`
	}
	type picture struct {
		Picture string `json:"picture"`
		guess
		Top           []guess   `json:"top5"`
		True          string    `json:"true_label,omitempty"`
		Right         *bool     `json:"correct,omitempty"`
		Probabilities []float64 `json:"probabilities,omitempty"`
	}
	type problem struct {
		Picture string `json:"picture"`
		Error   string `json:"error"`
	}
	pictures, failed := []picture{}, []problem{}
	for i, p := range a.pictures {
		if p.err != nil {
			failed = append(failed, problem{p.name, p.err.Error()})
			continue
		}
		one := picture{Picture: p.name, True: a.class(a.labels[i]), Probabilities: p.probabilities}
		for k, class := range p.top {
			one.Top = append(one.Top, guess{a.class(class), p.probability[k]})
		}
		one.guess = one.Top[0]
		if a.labels[i] >= 0 {
			one.Right = new(p.top[0] == a.labels[i])
		}
		pictures = append(pictures, one)
	}
	out := map[string]any{"run": a.run.dir, "model": a.run.settings.Model, "p": a.run.settings.P[0], "data": a.name,
		"engine": a.engine, "precision": a.precision, "n": len(a.pictures), "predicted": len(pictures), "failed": failed,
		"classes": a.run.preparation.Classes, "labelled": a.labelled, "accuracy": nil, "top5_accuracy": nil}
	if a.labelled > 0 {
		out["accuracy"], out["top5_accuracy"] = a.accuracy(a.right), a.accuracy(a.rightOf5)
	}
	if a.settings.Best {
		out["weights"] = "best"
	}
	if a.Path != "" {
		out["out"] = a.Path
	} else {
		out["pictures"] = pictures
	}
	return out
}

// storePreparation writes what predict has to know of the run's pictures.
func (w *Trainer) storePreparation(run *runlog.Run) error {
	return w.store(run, PreparationFile, w.session.Preparation())
}
