package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/linear"
)

// Predict is `bregman predict`: apply a model to data.
type Predict struct {
	Model     string `kong:"required,placeholder='FILE',help='Model that fit wrote: JSON, or npy weights (labels are then -1 and 1, the sign of the score).'" json:"model"`
	Data      string `kong:"required,placeholder='FILE',help='Data to label, in any format fit reads.'" json:"data"`
	Label     string `kong:"placeholder='NAME',help='CSV column with the labels.'" json:"label,omitempty"`
	ZeroBased bool   `kong:"help='npy weights only: svmlight columns count from 0; a JSON model stores this.'" json:"zero_based,omitempty"`
	Bias      bool   `kong:"help='npy weights only: the last weight belongs to a constant feature; a JSON model stores this.'" json:"bias"`
	Unlabeled bool   `kong:"help='The labels in the data mean nothing: predict only.'" json:"unlabeled"`
	Scores    bool   `kong:"help='Print the scores beside the labels.'" json:"scores"`
	Out       string `kong:"default='-',placeholder='FILE',help='Where the labels go, one a line; - is standard output.'" json:"out"`
	JSON      bool   `kong:"name='json',help='Print one JSON object: the accuracy, and the labels unless --out names a file.'" json:"-"`
}

// Help is shown by --help.
func (*Predict) Help() string {
	return `Example:
  bregman predict --model model.json --data test.svm --out labels.txt

Prints one label a line, and the accuracy on standard error. For data without labels say --unlabeled; svmlight lines
then still start with some number.`
}

// Run predicts.
func (p *Predict) Run(ctx context.Context, con *Console) error {
	if err := CheckOut(p.Out, Input{"--model", p.Model}, Input{"--data", p.Data}); err != nil {
		return err
	}
	m, err := p.load()
	if err != nil {
		return err
	}
	set, err := loadFor(ctx, m, p.Data, dataset.Options{Label: p.Label, Unlabeled: p.Unlabeled})
	if err != nil {
		if e := (*dataset.Error)(nil); errors.As(err, &e) && errors.Is(err, dataset.ErrZeroIndex) && m.Format != "" {
			e.Msg = "index 0, but " + p.fromOne()
		}
		return err
	}
	labels, scores, err := m.Predict(set.X)
	if err != nil {
		return fmt.Errorf("%s%s: %w: was it made for other data?", set.Name, counted(set), err)
	}
	var acc *float64
	var noAccuracy error
	if m.Loss != "square" && !p.Unlabeled {
		acc, noAccuracy = accuracy(m, labels, set)
	}
	var b bytes.Buffer
	for i, v := range labels {
		b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
		if p.Scores {
			for _, s := range scores {
				b.WriteString(" " + strconv.FormatFloat(s[i], 'g', -1, 64))
			}
		}
		b.WriteByte('\n')
	}
	if !p.JSON || p.Out != "-" {
		if err := con.Write(p.Out, b.Bytes()); err != nil {
			return err
		}
	}
	if p.JSON {
		out := map[string]any{"n": len(labels), "accuracy": acc}
		if p.Out != "-" {
			out["out"] = p.Out
		} else if out["labels"] = finite(labels); p.Scores {
			out["scores"] = byExample(scores)
		}
		return errors.Join(con.PrintJSON(out), noAccuracy)
	}
	if noAccuracy != nil {
		return noAccuracy
	}
	if acc != nil {
		con.Say("accuracy %.4f (%s)", *acc, render.Count(len(labels), "example"))
	}
	return nil
}

// byExample are the scores as a file has them: of each example one, or one for each class.
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
func (p *Predict) load() (linear.Model, error) {
	if strings.EqualFold(filepath.Ext(p.Model), ".npy") {
		w, err := dataset.ReadWeights(p.Model)
		if err != nil {
			return linear.Model{}, err
		}
		if len(w) > 1 {
			return linear.Model{}, fmt.Errorf("%s: %d weight vectors, and no classes to go with them: use the JSON model", p.Model, len(w))
		}
		return linear.Model{Weights: w, Classes: []float64{-1, 1}, Bias: p.Bias, ZeroBased: p.ZeroBased}, nil
	}
	if st, err := os.Stat(p.Model); err == nil && st.IsDir() {
		return linear.Model{}, fmt.Errorf("%s is a folder: name the model.json that fit writes", p.Model)
	}
	if strings.EqualFold(filepath.Ext(p.Model), ".safetensors") {
		return linear.Model{}, fmt.Errorf("%s holds the weights of a network: predict applies the models that fit writes", p.Model)
	}
	data, err := os.ReadFile(p.Model)
	if errors.Is(err, os.ErrNotExist) {
		return linear.Model{}, fmt.Errorf("%s: no such model: fit writes one with --out", p.Model)
	}
	if err != nil {
		return linear.Model{}, err
	}
	m, err := linear.DecodeModel(data)
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
		"counts from 0, else convert the data with bregman data get %s --zero-based --out FILE", p.Model, Quote(p.Data))
}
