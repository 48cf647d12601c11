package linearmodel

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/runlog"
)

// Predict is `bregman predict`: apply a model to data, or a network to pictures.
type Predict struct {
	Run           string   `required:"" xor:"model" placeholder:"RUN" json:"run,omitempty"`
	Model         string   `required:"" xor:"model" placeholder:"FILE" json:"model"`
	Data          string   `placeholder:"DATA" json:"data" file:""`
	Pictures      []string `arg:"" optional:"" name:"picture" json:"-" file:""`
	Label         string   `placeholder:"COLUMN" json:"label,omitempty"`
	ZeroBased     bool     `json:"zero_based,omitempty"`
	Bias          bool     `json:"bias"`
	Unlabeled     bool     `json:"unlabeled"`
	Scores        bool     `json:"scores"`
	Probabilities bool     `json:"probabilities"`
	Resize        bool     `json:"resize,omitempty"`
	Weights       string   `default:"last" json:"weights,omitempty" late:"last"`
	Engine        string   `default:"auto" json:"engine,omitempty" role:"place"`
	DataDir       string   `placeholder:"DIR" json:"data_dir,omitempty" role:"place"`
	Out           string   `default:"-" placeholder:"FILE" json:"out" role:"output"`
	command.Printed
}

// Texts are the words for its settings.
func (*Predict) Texts() settings.Texts {
	return settings.Texts{
		About: "Apply a model to data, or a trained network to pictures.",
		Help: map[string]string{
			"run":   "Run folder of train, which predicts pictures, or of fit, which predicts a table.",
			"model": "Model that fit wrote: JSON, or npy weights (labels are then -1 and 1, the sign of the score).",
			"data": "Data to label, in any format fit reads. For a network pictures: a folder, a picture, an npz or packed " +
				"file, or a set and its part, such as cifar10:test.",
			"picture":    "Pictures, or folders of them, instead of --data.",
			"label":      "CSV column with the labels; default the one that the model was trained on, if it is there.",
			"zero_based": "npy weights only: svmlight columns count from 0; a JSON model stores this.",
			"bias":       "npy weights only: the last weight belongs to a constant feature; a JSON model stores this.",
			"unlabeled":  "The labels in the data mean nothing: predict only.",
			"scores":     "Print the scores beside the labels, of a table.",
			"probabilities": "Write a CSV: a header, then for each example its label and the probability of each " +
				"class. Of pictures: add these columns to the CSV or JSON.",
			"resize": "Networks: resize pictures of another size than those of training until they cover it, and take " +
				"their centre.",
			"weights":  "Networks: those of the last epoch, or of the best one on the images of --validate.",
			"engine":   "Networks: " + command.EngineHelp(),
			"data_dir": "Where the images are; default $BREGMAN_DATA or the user's cache folder.",
			"out": "Where the labels go, one a line; - is standard output. Of pictures: a CSV, and - is a table on " +
				"standard output.",
			"json": "Print one JSON object: how good the predictions are, and the labels unless --out names a file.",
		},
		Choices: map[string][]string{"weights": {"last", "best"}},
		Known:   map[string][]string{"data": tables(), "engine": engine.Names()},
	}
}

// Help is shown by --help.
func (*Predict) Help() string {
	return `Examples:
  bregman predict --model model.json --data test.csv --out labels.txt
  bregman predict --model model.json --data new.csv --probabilities --out new-labels.csv
  bregman predict --run runs/20261119-101500-train-cnn-p3-s1 --data fashion-sample:test
  bregman predict --run RUN holiday.jpg pictures/*.png
  bregman predict --run RUN --data pictures --resize --out predictions.csv

A table: prints one label a line. If the data have labels, it says on standard error how good the predictions are. The
model knows the columns of a CSV, its labels and what was done with both: other columns are ignored, and the labels may
be missing. For svmlight, npy and npz data without labels say --unlabeled; svmlight lines then still start with some
number.

Pictures: prints for each the predicted class, its probability and the next four; --out writes all as CSV. Pictures in a
folder with the name of a class are labelled, as are those of a set: then the accuracy is printed. Classes,
normalisation, size and crop are those of the run. Pictures that cannot be read are listed, the others are predicted,
and the exit code is 1.`
}

// Check returns the first thing wrong with the settings.
func (p *Predict) Check() error {
	switch {
	case p.Scores && p.Probabilities:
		return settings.Errorf("scores", "--scores and --probabilities: choose one")
	case p.Data == "" && len(p.Pictures) == 0:
		return settings.Errorf("data", "--data: name the data to predict")
	case p.Data != "" && len(p.Pictures) > 0:
		return settings.Errorf("data", "--data %s and %s: name all pictures without --data", p.Data, p.Pictures[0])
	}
	return settings.At("engine", engine.CheckName(p.Engine))
}

// ofRun returns the command on pictures, if the run is of train; of a run of fit it takes the model.
func (p *Predict) ofRun() (*command.PredictPictures, error) {
	info, err := runlog.ReadInfo(p.Run)
	if err != nil {
		return nil, fmt.Errorf("--run: %w", command.NoRun(p.Run, err))
	}
	switch info.Command {
	case "fit":
		p.Model = filepath.Join(p.Run, "model.json")
		if p.Weights == "best" {
			return nil, &command.UsageError{Err: fmt.Errorf("--weights best: %s is the run of a fit, which has one model",
				p.Run)}
		}
		return nil, nil
	case "train":
	default:
		return nil, fmt.Errorf("--run %s: a run of %q has no model: predict takes those of train and fit", p.Run,
			info.Command)
	}
	for _, f := range []struct {
		flag  string
		given bool
	}{{"label", p.Label != ""}, {"zero-based", p.ZeroBased}, {"bias", p.Bias}, {"scores", p.Scores}} {
		if f.given {
			return nil, &command.UsageError{Err: fmt.Errorf("--%s: it is for tables, and %s is the run of a network: leave it "+
				"out", f.flag, p.Run)}
		}
	}
	pictures := p.Pictures
	if p.Data != "" {
		pictures = []string{p.Data}
	}
	return &command.PredictPictures{Run: p.Run, Best: p.Weights == "best", Pictures: pictures, DataDir: p.DataDir,
		Engine: p.Engine, Resize: p.Resize, Unlabeled: p.Unlabeled, Probabilities: p.Probabilities,
		Out: p.Out, JSON: p.JSON}, nil
}

// Predictions are the result of predict.
type Predictions struct {
	command.File
	model    fit.Model
	labels   []float64
	scores   [][]float64 // nil: not asked for
	probs    [][]float64 // by class; nil: not asked for
	accuracy *float64    // nil: there is none
	quality  *fit.Quality
}

var _ command.Result = (*Predictions)(nil)

// Do predicts.
func (p *Predict) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	if p.Run != "" {
		pictures, err := p.ofRun()
		if err != nil {
			return nil, err
		}
		if pictures != nil {
			return pictures.Do(ctx, env)
		}
	}
	if len(p.Pictures) > 0 || p.Resize || p.Weights == "best" {
		return nil, &command.UsageError{Err: errors.New("pictures need --run RUN, the folder of a network's run; a table " +
			"is named by --data")}
	}
	if err := command.CheckOut(p.Out, command.Input{Name: "--model", Path: p.Model},
		command.Input{Name: "--data", Path: p.Data}); err != nil {
		return nil, err
	}
	m, err := p.load()
	if err != nil {
		return nil, err
	}
	set, err := loadFor(ctx, env, m, p.Data, dataset.Options{Label: p.Label, Unlabeled: p.Unlabeled})
	if err != nil {
		if e := (*dataset.Error)(nil); errors.As(err, &e) && errors.Is(err, dataset.ErrZeroIndex) && m.Format != "" {
			e.Msg = "index 0, but " + p.fromOne()
		}
		return nil, err
	}
	if _, d := set.X.Dims(); d != m.Dim() {
		constant := 0
		if m.Bias {
			constant = 1
		}
		return nil, fmt.Errorf("%s%s: the data has %s, the model %d: was it made for other data?", set.Name, counted(set),
			render.Count(d-constant, "feature"), m.Dim()-constant)
	}
	labels, scores, err := m.Predict(set.X)
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", set.Name, counted(set), err)
	}
	out := &Predictions{model: m, labels: labels}
	if p.Scores {
		out.scores = scores
	}
	if p.Probabilities {
		if out.probs = m.ProbabilitiesOf(scores); out.probs == nil {
			return nil, fmt.Errorf("--probabilities: %s has none: it is %s", p.Model, kindOf(m))
		}
	}
	var notMeasured error
	if !p.Unlabeled && !set.Unlabeled {
		notMeasured = out.measure(set, scores)
	}
	if out.File = command.NewFile(p.Out, out.lines()); p.JSON && p.Out == "-" {
		out.File = command.File{} // the labels are in the object
	}
	if err := out.Save(); err != nil {
		return nil, err
	}
	switch {
	case p.JSON:
	case out.quality != nil:
		env.Say("%s: %s", render.Count(len(labels), "example"), qualityLine(out.quality))
	case out.accuracy != nil:
		env.Say("%s: accuracy %.2f %%", render.Count(len(labels), "example"), 100**out.accuracy)
	}
	return out, notMeasured
}

// kindOf says what kind of model has no probabilities.
func kindOf(m fit.Model) string {
	switch {
	case len(m.Classes) == 0:
		return "a regression"
	case m.Method == string(linear.MethodNewton):
		return fmt.Sprintf("of the %s loss, which has probabilities for two classes only", m.Loss)
	}
	return "the largest margin without held-out examples: fit with --objective auto"
}

// measure says how good the predictions are.
func (p *Predictions) measure(set *dataset.Set, scores [][]float64) (err error) {
	if p.accuracy, err = accuracy(p.model, p.labels, set); err != nil || len(p.model.Classes) == 1 {
		return err
	}
	p.quality, err = p.model.QualityOf(scores, set.Y)
	return err
}

// label is the i-th label as the training data wrote it.
func (p *Predictions) label(i int) string { return p.model.ClassName(p.labels[i]) }

// lines are the labels, one a line, with the scores on request; or a CSV with probabilities.
func (p *Predictions) lines() []byte {
	var b bytes.Buffer
	if p.probs != nil {
		w := csv.NewWriter(&b)
		w.Write(append([]string{"label"}, p.model.ClassNames()...))
		for i := range p.labels {
			row := []string{p.label(i)}
			for _, of := range p.probs {
				row = append(row, strconv.FormatFloat(of[i], 'g', 6, 64))
			}
			w.Write(row)
		}
		w.Flush()
		return b.Bytes()
	}
	for i := range p.labels {
		b.WriteString(p.label(i))
		for _, s := range p.scores {
			b.WriteString(" " + strconv.FormatFloat(s[i], 'g', -1, 64))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Print adds nothing to the labels.
func (p *Predictions) Print(io.Writer) {}

// JSON has the labels, unless they are in a file.
func (p *Predictions) JSON() any {
	out := map[string]any{"n": len(p.labels), "accuracy": p.accuracy}
	if p.quality != nil {
		out["quality"] = p.quality
	}
	if p.Path != "" {
		out["out"] = p.Path
		return out
	}
	out["labels"] = finite(p.labels)
	if p.model.Encoding != nil && len(p.model.Encoding.Classes) > 0 {
		names := make([]string, len(p.labels))
		for i := range names {
			names[i] = p.label(i)
		}
		out["labels"] = names
	}
	if p.scores != nil {
		out["scores"] = byExample(p.scores)
	}
	if p.probs != nil {
		out["classes"], out["probabilities"] = p.model.ClassNames(), byExample(p.probs)
	}
	return out
}

// byExample are the scores as a file has them: one for each example, or one for each class.
func byExample(scores [][]float64) any {
	if len(scores) == 1 {
		return finite(scores[0])
	}
	out := make([][]any, len(scores[0]))
	for _, of := range scores {
		for i, s := range finite(of) {
			out[i] = append(out[i], s)
		}
	}
	return out
}

// finite writes numbers for JSON, which has no infinity: null.
func finite(v []float64) []any {
	out := make([]any, len(v))
	for i, x := range v {
		if x-x == 0 {
			out[i] = x
		}
	}
	return out
}

// load reads a model, or npy weights.
func (p *Predict) load() (fit.Model, error) {
	if strings.EqualFold(filepath.Ext(p.Model), ".npy") {
		w, err := dataset.ReadWeights(p.Model)
		if err != nil {
			return fit.Model{}, err
		}
		if len(w) > 1 {
			return fit.Model{}, fmt.Errorf("%s: %d weight vectors, and no classes to go with them: use the JSON model", p.Model,
				len(w))
		}
		return fit.Model{Weights: w, Classes: []float64{-1, 1}, Bias: p.Bias, ZeroBased: p.ZeroBased}, nil
	}
	if st, err := os.Stat(p.Model); err == nil && st.IsDir() {
		return fit.Model{}, fmt.Errorf("%s is a folder: name the model.json that fit writes, or say --run for a run folder",
			p.Model)
	}
	if strings.EqualFold(filepath.Ext(p.Model), ".safetensors") {
		return fit.Model{}, fmt.Errorf("%s holds the weights of a network: say --run and the run folder of train that it "+
			"is in", p.Model)
	}
	data, err := os.ReadFile(p.Model)
	if errors.Is(err, os.ErrNotExist) {
		return fit.Model{}, fmt.Errorf("%s: no such model: fit writes one with --out", p.Model)
	}
	if err != nil {
		return fit.Model{}, err
	}
	m, err := fit.DecodeModel(data)
	if err != nil {
		return m, fmt.Errorf("%s: %w", p.Model, err)
	}
	if p.Bias && !m.Bias {
		return m, fmt.Errorf("%s was fitted without --bias", p.Model)
	}
	if p.ZeroBased && !m.ZeroBased {
		return m, errors.New("--zero-based: " + p.fromOne())
	}
	return m, nil
}

// fromOne says what to do with data that counts columns from 0 if the model does not.
func (p *Predict) fromOne() string {
	return fmt.Sprintf("%s was fitted to columns counted from 1: fit it again with --zero-based if its training data "+
		"counts from 0, else convert the data with bregman data get %s --zero-based --out FILE", p.Model,
		settings.Quote(p.Data))
}
