package paper

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// Linear is `bregman reproduce linear`: the paper's experiments on linear models.
type Linear struct {
	Steps settings.Count `default:"1000000" json:"steps"`
	Seeds int            `default:"10" json:"seeds"`
	Seed  uint64         `default:"1" json:"seed" role:"seed"`

	Decades int    `default:"0" json:"decades" late:"0"`
	Planes  int    `default:"100" json:"planes" late:"100"`
	Reading string `default:"deviation" json:"reading" late:"deviation"`

	Runs string `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	command.Labels
	command.Printed
}

// Texts are the words for its settings.
func (*Linear) Texts() settings.Texts {
	return settings.Texts{
		About: "Figure 1, its rates, the tables in R^100 and the regression claim.",
		Help: map[string]string{
			"steps":   "Steps of each run; the paper has a million.",
			"seeds":   "Data sets in R^100.",
			"seed":    "The first seed.",
			"decades": "Decades of steps in the plane instead of --steps; 9 take about seven minutes on two cores.",
			"planes":  "Data sets in the plane, of each reading of 0.15, for the rates.",
			"reading": "What 0.15 is for the points of Figure 1.",
			"runs":    "Where the run folder goes.",
		},
		Choices: map[string][]string{"reading": {dataset.Deviation.String(), dataset.Variance.String()}},
	}
}

// Help is shown by --help.
func (*Linear) Help() string {
	return `Example:
  bregman reproduce linear --seeds 3
  bregman reproduce linear --decades 9

Runs the paper's linear experiments: Figure 1 (convergence in the plane) and its rates, the tables in R^100 (implicit
bias) and the regression claim, at the paper's full length, and writes tables, figures and a report.html with the
paper's numbers beside ours.`
}

// Check returns the first thing wrong with the settings.
func (l *Linear) Check() error {
	if err := l.CheckLabels(); err != nil {
		return err
	}
	switch {
	case l.Steps < 1000:
		return settings.Errorf("steps", "--steps %d: the experiments need at least 1000", l.Steps)
	case l.Seeds < 1:
		return settings.Errorf("seeds", "--seeds %d: want at least 1", l.Seeds)
	case l.Planes < 1:
		return settings.Errorf("planes", "--planes %d: want at least 1", l.Planes)
	case l.Decades != 0 && (l.Decades < 3 || l.Decades > 11):
		return settings.Errorf("decades", "--decades %d: want 3 to 11, or 0 for as many steps as --steps", l.Decades)
	case l.Runs == "":
		return settings.Errorf("runs", "--runs: the report needs a folder")
	}
	return nil
}

// linearResults are the experiments, once they have run.
type linearResults struct {
	settings    *Linear
	experiments []experiment
	run         *runlog.Run
	seconds     float64
}

var _ command.Result = (*linearResults)(nil)

// experiments are all experiments on linear models, in the order of the report.
func (l *Linear) experiments(ctx context.Context) ([]experiment, error) {
	steps := int(l.Steps)
	planeSteps, reading := steps, dataset.Deviation
	if l.Decades > 0 {
		planeSteps = int(math.Pow10(l.Decades))
	}
	if l.Reading == dataset.Variance.String() {
		reading = dataset.Variance
	}
	figure1, err := newFigure1(ctx, l.Seed, reading, planeSteps)
	if err != nil {
		return nil, err
	}
	rates, err := newRates(ctx, figure1, l.Planes)
	if err != nil {
		return nil, err
	}
	return []experiment{
		figure1,
		rates,
		newBias(steps, l.Seeds, l.Seed),
		newRegression(l.Seed),
	}, nil
}

// Do runs the experiments and writes the report.
func (l *Linear) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	all, err := l.experiments(ctx)
	if err != nil {
		return nil, err
	}
	r := &linearResults{settings: l, experiments: all}
	r.run, err = runlog.Create(l.Runs, "reproduce-linear", runlog.Info{Command: "reproduce linear", Settings: l,
		Seed: l.Seed, Engine: "go", Version: env.Version})
	if err != nil {
		return nil, err
	}
	r.run.Say = env.Say
	if err := l.PutLabels(r.run, ""); err != nil {
		r.run.Lost("about.json", err)
	}
	err = r.run.Finish(r.complete(ctx, env), ctx.Err() != nil)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// complete runs the tasks of all experiments and writes the report.
func (r *linearResults) complete(ctx context.Context, env *command.Env) error {
	begin := time.Now()
	var tasks []task
	for _, e := range r.experiments {
		tasks = append(tasks, e.tasks()...)
	}
	var total, done int64
	fits := 0
	for _, t := range tasks {
		if total += int64(t.steps); t.steps > 0 {
			fits++
		}
	}
	env.Say("%s, %.3g million steps in all", render.Count(fits, "fit"), float64(total)/1e6)
	bar := env.Bar("reproduce linear", 0, total)
	err := runAll(ctx, tasks, func(n int) {
		done += int64(n)
		bar.Set(done, "")
	}, func(metric any) error {
		if metric == nil {
			return nil
		}
		return r.run.Append(metric)
	})
	bar.End()
	if err != nil {
		return err
	}
	r.seconds = time.Since(begin).Seconds()
	return r.write()
}

// Print shows the tables and the findings.
func (r *linearResults) Print(w io.Writer) {
	for _, e := range r.experiments {
		for _, t := range e.tables() {
			fmt.Fprintln(w, t.Text())
		}
	}
	for _, f := range r.findings() {
		fmt.Fprintf(w, "• %s\n", f)
	}
	fmt.Fprintf(w, "\n* marks the least of a column, or a claim that held every time. %.1f s. Report: %s\n", r.seconds,
		r.run.Path("report.html"))
}

// findings are those of all experiments.
func (r *linearResults) findings() []string {
	var out []string
	for _, e := range r.experiments {
		out = append(out, e.findings()...)
	}
	return out
}

// JSON is what --json prints.
func (r *linearResults) JSON() any {
	out := map[string]any{"run": r.run.Dir, "seconds": r.seconds}
	for _, e := range r.experiments {
		maps.Copy(out, e.json())
	}
	return out
}

// write writes the report.
func (r *linearResults) write() error {
	doc := pages.NewDocument(r.run, "Linear models: the paper's experiments, run again",
		fmt.Sprintf("bregman reproduce linear · %s · %.0f s on %s", r.run.Info.Started.Format("2 January 2006 15:04"),
			r.seconds, render.Count(r.run.Info.Machine.CPUs, "core")))
	lead := findingsLead(r.findings())
	lead.Put(doc)
	doc.Say("p-GD is mirror descent with ψ(w) = (1/p)‖w‖ₚᵖ. On separable data its direction tends to the classifier of " +
		"largest ℓₚ margin (Sun, Ahn, Thrampoulidis and Azizan, NeurIPS 2022). This page runs the paper's linear " +
		"experiments and sets its numbers beside ours.")
	doc.Section("Results")
	doc.List(r.findings()...)
	var differences []string
	for _, e := range r.experiments {
		if err := e.section(doc); err != nil {
			return err
		}
		differences = append(differences, e.differences()...)
	}
	doc.Section("Where paper and measurement differ")
	doc.List(differences...)
	doc.Section("How to get these numbers")
	doc.Say("Run “bregman reproduce linear %s”. Every number is in tables/*.csv beside this page, every curve in "+
		"figures/, every run in metrics.jsonl. A seed decides everything.", r.settings.flags())
	doc.Save()
	return nil
}

// findingsLead puts findings at the top of a page: what the theorems are about first, the norms, then regression and
// the directions in the plane.
func findingsLead(findings []string) (l pages.Lead) {
	for _, about := range []string{"R¹⁰⁰", "Regression", "Figure 1", ""} {
		for _, f := range findings {
			if !strings.HasPrefix(f, about) || f == l.Sentence || slices.Contains(l.Claims, f) {
				continue
			}
			if l.Sentence == "" {
				l.Sentence = f
			} else {
				l.Claim("%s", f)
			}
			if about != "" {
				break
			}
		}
	}
	return l
}

// flags are the command line of these settings.
func (l *Linear) flags() string {
	out := fmt.Sprintf("--steps %d --seeds %d --seed %d --planes %d --reading %s", l.Steps, l.Seeds, l.Seed, l.Planes,
		l.Reading)
	if l.Decades > 0 {
		out += fmt.Sprintf(" --decades %d", l.Decades)
	}
	return out
}
