// Package bench measures, always as ratios within one run: machines differ and are noisy.
package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// Linear is `bregman bench linear`: the time of one p-GD step in both of the paper's linear experiments, and of the
// update of a long vector.
type Linear struct {
	Time time.Duration `default:"200ms" json:"time"`
	command.Printed
}

// Texts are the words for its settings.
func (*Linear) Texts() settings.Texts {
	return settings.Texts{
		About: "One step of p-GD, and its update beside other methods.",
		Help: map[string]string{
			"time": "How long to measure each entry, in several rounds.",
		},
	}
}

// Help is shown by --help.
func (*Linear) Help() string {
	return `Times one step of p-GD (dual state, vector kernels) beside a literal transcription of the paper's snippet
(two math.Pow per coordinate, plain dense loops) in the same run, on one core. The quickest round counts.

Then times the update of a million weights, the gradient given, beside the p-norm algorithm and steepest descent, on
one core and on all. These need a norm of the whole vector, and so a second pass over it; p-GD goes coordinate by
coordinate. The methods take turns; medians of the rounds count.

Example:
  bregman bench linear --time 1s`
}

// linearTime is one measurement.
type linearTime struct {
	Experiment    string  `json:"experiment"`
	P             float64 `json:"p"`
	Step          float64 `json:"ns"`
	Transcription float64 `json:"transcription_ns"`
}

// Check returns the first thing wrong with the settings.
func (l *Linear) Check() error {
	if l.Time <= 0 {
		return settings.Errorf("time", "--time %v: want a positive time", l.Time)
	}
	return nil
}

// linearTimes are the result of bench linear.
type linearTimes struct {
	steps   []linearTime
	updates []updateCost
}

var _ command.Result = (*linearTimes)(nil)

// Do measures.
func (l *Linear) Do(ctx context.Context, _ *command.Env) (command.Result, error) {
	out := &linearTimes{}
	for _, e := range Experiments() {
		for _, p := range numbers.Ps {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			s, err := e.Start(p)
			if err != nil {
				return nil, err
			}
			out.steps = append(out.steps, linearTime{e.Name, p, quickest(l.Time, s.Step),
				quickest(l.Time, NewTranscription(e.X, p, e.W0).Step)})
		}
	}
	var err error
	if out.updates, err = timeUpdates(ctx, updateCoordinates, l.Time); err != nil {
		return nil, err
	}
	return out, nil
}

func (l *linearTimes) JSON() any {
	return map[string]any{"arch": runtime.GOARCH, "steps": l.steps, "updates": l.updates}
}

func (l *linearTimes) Print(w io.Writer) {
	t := render.Table{Title: fmt.Sprintf("ns per step of p-GD, one core, %s/%s", runtime.GOOS, runtime.GOARCH),
		Header: []string{"experiment", "p", "ns", "transcription", "ratio"}}
	for _, m := range l.steps {
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", m.Experiment), render.Text("%v", m.P),
			render.Number(m.Step, 0),
			render.Number(m.Transcription, 0), render.Text("%.1f×", m.Transcription/m.Step)})
	}
	fmt.Fprintf(w, "%s\n%s", t.Text(), updateTable(l.updates).Text())
}

// Experiment is one of the paper's linear experiments, ready to run.
type Experiment struct {
	Name string
	X    matrix.Matrix
	W0   []float64
}

// Experiments returns the two of seed 1.
func Experiments() []Experiment {
	return []Experiment{
		{"R²", dataset.R2(1, dataset.Deviation).X, normal(2, 1)},
		{"R¹⁰⁰", dataset.R100(1).X, normal(100, 0.1)},
	}
}

// normal draws a start as the paper does.
func normal(d int, deviation float64) []float64 {
	rng := rand.New(rand.NewPCG(1, 1))
	w := make([]float64, d)
	for j := range w {
		w[j] = deviation * rng.NormFloat64()
	}
	return w
}

// Start returns p-GD at its first step.
func (e Experiment) Start(p float64) (*linear.State, error) {
	return linear.Descent{Potential: mirror.Power(p)}.Start(linear.Problem{X: e.X}, e.W0)
}

// quickest returns the time of one call in ns: the least of rounds that together take about the given time.
// Noise on a machine only adds.
func quickest(total time.Duration, step func()) float64 {
	n := 64
	for {
		start := time.Now()
		for range n {
			step()
		}
		if time.Since(start) > total/20 {
			break
		}
		n *= 2
	}
	best := math.Inf(1)
	for begin := time.Now(); time.Since(begin) < total; {
		start := time.Now()
		for range n {
			step()
		}
		best = min(best, float64(time.Since(start).Nanoseconds())/float64(n))
	}
	return best
}
