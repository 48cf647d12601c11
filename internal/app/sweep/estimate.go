package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/runlog"
)

// estimate describes how long the remaining runs will take on this machine. first is the time of the first of them, 0
// if it is not known.
func estimate(ctx context.Context, env *command.Env, p *Plan, left []*Spec, o Options,
	runs string) (text string, first time.Duration) {
	jobs := max(1, o.jobs(p.File.Job, len(left)))
	if p.File.Job == "train" {
		return estimateTraining(left, o, runs, jobs)
	}
	one, err := probe(ctx, env, left[0])
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("  time       unknown: the first of %s takes more than a second",
			render.Count(len(left), "run")), 0
	}
	if err != nil {
		return fmt.Sprintf("  time       unknown: the first of %s fails: %v", render.Count(len(left), "run"), err), 0
	}
	total := time.Duration(float64(one) * float64(len(left)) / float64(jobs))
	most := ""
	if left[0].Settings["gap"] != "0" && p.File.Job == "fit" {
		most = "at most "
	}
	return fmt.Sprintf("  time       %sabout %s: %s of %s, %d at a time", most, brief(total),
		render.Count(len(left), "run"), brief(one), jobs), one
}

// brief formats a duration with one unit.
func brief(d time.Duration) string {
	switch {
	case d > time.Minute:
		return d.Round(time.Second).String()
	case d > time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}

// probe times a linear run, for a second at most: a long fit by its first thousands of steps.
func probe(ctx context.Context, env *command.Env, s *Spec) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	timed := func(steps int) (time.Duration, error) {
		dir, err := os.MkdirTemp("", "bregman-probe-*")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		one := *s
		if steps > 0 {
			one.Settings = maps.Clone(s.Settings)
			one.Settings["steps"] = strconv.Itoa(steps)
		}
		begin := time.Now()
		_, err = newRunner(Place{}, env).run(ctx, &one, dir)
		return time.Since(begin), err
	}
	steps, _ := strconv.Atoi(s.Settings["steps"])
	const part = 20_000
	if s.Job != "fit" || steps < 4*part || s.Settings["objective"] != "" { // a path of penalties has no steps to limit
		timed(0) // the first is slow: code and data come from the disk
		return timed(0)
	}
	least := func(steps int) (best time.Duration, err error) { // of three: the rest is noise
		for k := range 3 {
			d, late := timed(steps)
			if best = min(best, d); k == 0 {
				best = d
			}
			err = late
		}
		return best, err
	}
	a, err := least(part)
	if err != nil {
		return 0, err
	}
	b, err := least(3 * part)
	return a + time.Duration(float64(max(0, b-a))*float64(steps-part)/(2*part)), err
}

// estimateTraining uses the speed of earlier runs on this machine, or else the speeds in docs/measurements/gpu.md.
func estimateTraining(left []*Spec, o Options, runs string, jobs int) (text string, first time.Duration) {
	var total time.Duration
	graphs, searches, from, shared := map[string]bool{}, map[string]bool{}, "", false
	sizes := map[string]int{}
	for _, s := range left {
		data := s.Settings["data"]
		if _, ok := sizes[data]; !ok {
			set, err := command.LoadImages(s.Settings, o.DataDir)
			if err != nil {
				return fmt.Sprintf("  time       unknown: %v", err), 0
			}
			sizes[data] = set.Train.Len()
			_ = set.Close() // it was only read
		}
		rate, source, trial := imageRate(runs, s.Settings["model"])
		net, err := nets.ByName(s.Settings["model"])
		if rate == 0 && err == nil && o.onGPU() {
			rate, source = net.H200, "the speed of an H200, since there is no run from this machine"
		}
		if rate == 0 {
			one := s.Settings["model"]
			if err == nil && net.Recipe.Data == "" {
				one += " --data " + settings.Quote(data)
			}
			return fmt.Sprintf("  time       unknown: no run of %s in %s shows its speed; one epoch does: bregman train "+
				"--model %s --epochs 1", s.Settings["model"], runs, one), 0
		}
		from, shared = source, trial
		epochs, _ := strconv.Atoi(s.Settings["epochs"])
		total += time.Duration(float64(epochs*sizes[data]) / rate * float64(time.Second))
		graphs[s.graph()] = true
		if key := s.rates() + " " + s.Settings["p"]; s.Settings["lr"] == "auto" && !searches[key] {
			searches[key] = true // one for all seeds
			batch, _ := strconv.Atoi(s.Settings["batch"])
			_, all := command.SearchEpochs(epochs, max(1, sizes[data]/max(1, batch)))
			total += time.Duration(float64(all*sizes[data]) / rate * float64(time.Second))
		}
		if first == 0 {
			first = total
		}
	}
	search := ""
	if n := len(searches); n > 0 {
		search = fmt.Sprintf(", with %d search%s for a learning rate", n, map[bool]string{true: "", false: "es"}[n == 1])
	}
	// A run alone nearly fills a GPU: several at a time are little faster in all. The trials of a sweep shared theirs.
	if !o.onGPU() || shared {
		total /= time.Duration(jobs)
	}
	return fmt.Sprintf("  time       about %s and %s, %d at a time%s, by %s", brief(total),
		render.Count(len(graphs), "compilation"), jobs, search, from), first
}

// imageRate is how many images a second a network trained at, in the newest run that this machine has of it, and
// whether that was a trial of a sweep.
func imageRate(runs, model string) (rate float64, from string, trial bool) {
	host, _ := os.Hostname()
	all, _ := filepath.Glob(filepath.Join(runs, "*", "tables", "result.json"))
	trials, _ := filepath.Glob(filepath.Join(runs, "*", "trials", "*", "tables", "result.json"))
	all = append(all, trials...)
	slices.Sort(all)
	slices.Reverse(all)
	for _, path := range all {
		dir := filepath.Dir(filepath.Dir(path))
		info, err := runlog.ReadInfo(dir)
		settings, _ := info.Settings.(map[string]any)
		if err != nil || info.Command != "train" || info.Machine.Host != host || settings["model"] != model {
			continue
		}
		var r command.TrainResult
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &r) == nil && r.ImgPerSecond > 0 {
			return r.ImgPerSecond, "the speed of " + dir, slices.Contains(trials, path)
		}
	}
	return 0, "", false
}

// onGPU reports whether networks are trained on a GPU; workers elsewhere are assumed to have one. It starts no engine:
// the sweep does, with a share of the memory for each run.
func (o Options) onGPU() bool {
	if o.NATS != "" {
		return true
	}
	return engine.First(o.Engine) == engine.CUDA
}
