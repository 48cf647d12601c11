package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// Margin is `bregman bench margin`: classifiers on a large sparse problem, beside liblinear.
type Margin struct {
	Rows    settings.Count `default:"100000" json:"rows"`
	Cols    settings.Count `default:"50000" json:"cols"`
	Entries settings.Count `default:"50" json:"entries"`
	Rounds  int            `default:"3" json:"rounds"`
	C       float64        `name:"c" default:"100" json:"c"`
	Scaling bool           `json:"scaling"`
	Out     string         `placeholder:"FILE" json:"out,omitempty" role:"output"`
	command.Printed
}

// Texts are the words for its settings.
func (*Margin) Texts() settings.Texts {
	return settings.Texts{
		About: "Classifiers on a large sparse problem, beside liblinear.",
		Help: map[string]string{
			"rows":    "Examples of the problem, as in bregman data synth.",
			"cols":    "Features.",
			"entries": "Nonzeros in each example.",
			"rounds":  "Repetitions, of which the median counts for each.",
			"c":       "The C of liblinear; ours is l2 = 1/(C n).",
			"scaling": "Measure instead how time and memory grow, with problems from 1e5 to 1e8 nonzeros, or as many " +
				"as --entries times --rows.",
			"out": "With --scaling: write the figure here, as PNG.",
		},
	}
}

// Help is shown by --help.
func (*Margin) Help() string {
	return `Example:
  bregman bench margin
  bregman bench margin --scaling --rows 2e6 --out scaling.png

Makes the problem of "bregman data synth", writes it as svmlight text, and times each task from that file to the
model, reading included: the maximum margin for p = 2 to a certified 0.1 %, for p = 1.5 and 3 to 0.2 %, and
regularised logistic regression. If liblinear-train is installed, it does the same in the same run: -s 3 -c 100 -e
0.001 and -s 0 -c 100.`
}

// marginTask is something to time, here and with liblinear.
type marginTask struct {
	Name       string  `json:"task"`
	Seconds    float64 `json:"seconds"`
	Read       float64 `json:"read_seconds"` // of them, reading
	Steps      int     `json:"steps"`
	Gap        float64 `json:"gap"`
	Value      float64 `json:"value"` // the margin, or the mean loss
	Liblinear  string  `json:"liblinear,omitempty"`
	Theirs     float64 `json:"liblinear_seconds,omitempty"`
	TheirValue float64 `json:"liblinear_value,omitempty"`
	fit        linearmodel.Fit
	w          []float64 // what the mean loss is measured of

	times, reads, theirTimes []float64 // of each round
}

// Check returns the first thing wrong with the settings.
func (m *Margin) Check() error {
	switch {
	case m.Rounds < 1:
		return settings.Errorf("rounds", "--rounds %d: want at least 1", m.Rounds)
	case !(m.C > 0) || math.IsInf(m.C, 1):
		return settings.Errorf("c", "--c %v: want a positive number", m.C)
	case m.Rows < 1 || m.Cols < 1 || m.Entries < 1:
		return settings.Errorf("rows", "--rows %d, --cols %d, --entries %d: want at least 1 of each", m.Rows, m.Cols,
			m.Entries)
	}
	return dataset.Synth{Rows: int(m.Rows), Cols: int(m.Cols), Entries: int(m.Entries)}.Check()
}

// marginTimes are the result of bench margin.
type marginTimes struct {
	*Margin
	tasks    []marginTask
	compared bool // with liblinear
}

var _ command.Result = marginTimes{}

// Do measures.
func (m *Margin) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	if err := command.CheckOut(m.Out); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bregman-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if m.Scaling {
		return m.scaling(ctx, env, dir)
	}
	file := filepath.Join(dir, "synth.svm")
	set, err := m.problem(file, int(m.Rows))
	if err != nil {
		return nil, err
	}
	theirs, _ := exec.LookPath("liblinear-train")
	if theirs == "" {
		env.Say("liblinear-train is not installed: nothing to compare with")
	}
	tasks := m.tasks(set)
	for round := range m.Rounds {
		for k := range tasks {
			t := &tasks[k]
			env.Say("round %d: %s", round+1, t.Name)
			if err := t.run(ctx, file, dir); err != nil {
				return nil, err
			}
			if t.Liblinear != "" && theirs != "" {
				if err := t.liblinear(ctx, theirs, file, dir); err != nil {
					return nil, err
				}
			}
		}
	}
	for k := range tasks {
		if err := tasks[k].compare(set, dir, theirs != ""); err != nil {
			return nil, err
		}
	}
	return marginTimes{m, tasks, theirs != ""}, nil
}

func (m marginTimes) JSON() any {
	return map[string]any{"rows": m.Rows, "cols": m.Cols, "entries": m.Entries, "cores": runtime.GOMAXPROCS(0),
		"tasks": m.tasks}
}

func (m marginTimes) Print(w io.Writer) { fmt.Fprint(w, m.table(m.tasks, m.compared).Text()) }

// problem generates the data and writes it.
func (m *Margin) problem(file string, rows int) (*dataset.Set, error) {
	set, err := dataset.Synth{Rows: rows, Cols: int(m.Cols), Entries: int(m.Entries), Seed: 1}.Make()
	if err != nil {
		return nil, err
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	return set, errors.Join(dataset.WriteSVM(f, set), f.Close())
}

func (m *Margin) tasks(set *dataset.Set) []marginTask {
	n, _ := set.X.Dims()
	fit := func(p, gap float64) linearmodel.Fit {
		return linearmodel.Fit{P: []float64{p}, Gap: gap, Loss: "exp", Method: "auto", Init: "zero", Scale: "none",
			Steps: 1e6}
	}
	c := strconv.FormatFloat(m.C, 'g', -1, 64)
	logistic := fit(2, 1e-3)
	logistic.Loss, logistic.L2 = "logistic", 1/(m.C*float64(n))
	return []marginTask{
		{Name: "margin, p = 2, to 0.1 %", fit: fit(2, 1e-3), Liblinear: "-s 3 -c " + c + " -e 0.001"},
		{Name: "margin, p = 1.5, to 0.2 %", fit: fit(1.5, 2e-3)},
		{Name: "margin, p = 3, to 0.2 %", fit: fit(3, 2e-3)},
		{Name: "logistic loss", fit: logistic, Liblinear: "-s 0 -c " + c},
	}
}

// run fits once, from the file to the model, and records the time.
func (t *marginTask) run(ctx context.Context, file, dir string) error {
	f := t.fit
	f.Data, f.Out = file, filepath.Join(dir, "model.json")
	start := time.Now()
	out, err := f.Do(ctx, &command.Env{Observer: command.Quiet()})
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	r := out.(*linearmodel.Fitted)
	t.times, t.reads = append(t.times, seconds), append(t.reads, r.TotalSeconds-r.Seconds)
	t.Seconds, t.Read, t.Steps = median(t.times), median(t.reads), r.Steps
	if t.fit.L2 == 0 {
		if r.Margin == nil || r.Gap == nil || *r.Gap > t.fit.Gap {
			return fmt.Errorf("%s: the gap was not reached in %d steps", t.Name, r.Steps)
		}
		t.Value, t.Gap = *r.Margin, *r.Gap
		return nil
	}
	t.Gap = *r.Excess / *r.Objective
	data, err := os.ReadFile(f.Out)
	if err != nil {
		return err
	}
	model, err := fit.DecodeModel(data)
	if err != nil {
		return err
	}
	t.w = model.Weights[0]
	return nil
}

// liblinear times liblinear-train.
func (t *marginTask) liblinear(ctx context.Context, program, file, dir string) error {
	args := append([]string{"-q"}, strings.Fields(t.Liblinear)...)
	cmd := exec.CommandContext(ctx, program, append(args, file, t.modelFile(dir))...)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(out))
	}
	t.theirTimes = append(t.theirTimes, time.Since(start).Seconds())
	t.Theirs = median(t.theirTimes)
	return nil
}

func (t *marginTask) modelFile(dir string) string {
	return filepath.Join(dir, "liblinear"+strings.ReplaceAll(t.Liblinear, " ", ""))
}

// compare measures both results in the same way.
func (t *marginTask) compare(set *dataset.Set, dir string, theirs bool) error {
	prob := linear.Problem{X: set.X, Y: set.Y}
	n, d := prob.Dims()
	value := func(w []float64) float64 {
		if t.fit.L2 == 0 {
			m, _ := prob.Margin(w)
			return m / mirror.Norm(w, t.fit.P[0])
		}
		m := make([]float64, n)
		prob.Margins(m, w)
		return linear.Logistic{}.Sum(m) / float64(n)
	}
	if t.w != nil {
		t.Value = value(t.w)
	}
	if t.Liblinear == "" || !theirs {
		return nil
	}
	w, err := liblinearWeights(t.modelFile(dir), d)
	if err != nil {
		return err
	}
	t.TheirValue = value(w)
	return nil
}

// liblinearWeights reads a model of two classes: the weights are those of the label it names first.
func liblinearWeights(path string, d int) ([]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var w []float64
	sign, body := 1.0, false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text := strings.TrimSpace(lines.Text())
		switch {
		case body && len(w) < d:
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			w = append(w, sign*v)
		case strings.HasPrefix(text, "label -1"):
			sign = -1
		case text == "w":
			body = true
		}
	}
	if len(w) != d {
		return nil, fmt.Errorf("%s: %d weights, want %d", path, len(w), d)
	}
	return w, nil
}

func (m *Margin) table(tasks []marginTask, compared bool) render.Table {
	t := render.Table{Title: fmt.Sprintf("%s × %s, %d nonzeros a row; seconds from the file to the model, median of "+
		"%d, %d cores", render.Thousands(int(m.Rows)), render.Thousands(int(m.Cols)),
		int(m.Entries), m.Rounds, runtime.GOMAXPROCS(0)), Header: []string{"task", "seconds", "reading", "steps", "certified",
		"result", "of p = 2"}}
	if compared {
		t.Header = append(t.Header, "liblinear", "seconds", "result", "ratio")
	}
	for _, k := range tasks {
		row := []render.Cell{render.Text("%s", k.Name), render.Number(k.Seconds, 2), render.Number(k.Read, 2),
			render.Text("%d", k.Steps), render.Text("%.2g %%", 100*k.Gap), render.Short(k.Value, 5),
			render.Text("%.2f×", k.Seconds/tasks[0].Seconds)}
		if compared {
			cells := []render.Cell{render.Text(""), render.Text(""), render.Text(""), render.Text("")}
			if k.Liblinear != "" {
				cells = []render.Cell{render.Text("%s", k.Liblinear), render.Number(k.Theirs, 2), render.Short(k.TheirValue, 5),
					render.Text("%.2f", k.Seconds/k.Theirs)}
			}
			row = append(row, cells...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
