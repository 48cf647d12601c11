package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/train"
)

// budget is where the memory of training is, and whether it fits.
type budget struct {
	train.Memory
	limit   int64 // what the engine may take; 0: not known
	largest int   // batch that fits; only found if this one does not
	onGPU   bool
}

// budget measures the session.
func (w *Trainer) budget() (b budget, err error) {
	b.limit, b.onGPU = w.engine.Memory(), w.engine.IsCUDA()
	if b.Memory, err = w.session.Memory(); err != nil || b.fits() {
		return b, err
	}
	b.largest, err = w.session.LargestBatch(b.limit)
	return b, err
}

func (b budget) fits() bool { return b.limit <= 0 || b.Engine() <= b.limit }

// check returns an error that says what to do if training does not fit.
func (b budget) check(w *Trainer) error {
	if b.fits() {
		return nil
	}
	about := map[bool]string{true: "", false: "about "}[b.Told]
	by := ""
	switch {
	case b.onGPU:
		by = " (" + engine.GPUMemory + ")"
	case b.limit == debug.SetMemoryLimit(-1):
		by = " (GOMEMLIMIT)"
	}
	why := fmt.Sprintf("--batch %d: training %s takes %s%s, and the %s engine may take %s%s", w.Batch, w.Model, about,
		render.Bytes(b.Engine()), w.engine.Name, render.Bytes(b.limit), by)
	var can []string
	if w.set.Pack != nil && !w.stream {
		can = append(can, fmt.Sprintf("--feed streamed keeps %s of pictures in their file", render.Bytes(b.Data)))
	}
	if b.largest > 0 {
		can = append([]string{fmt.Sprintf("--batch %d is the largest that fits, by our estimate", b.largest)}, can...)
	}
	if len(can) == 0 {
		can = []string{"no batch of at least 8 fits: choose smaller pictures or a smaller network"}
	}
	return fmt.Errorf("%s: %s", why, strings.Join(can, "; "))
}

// checkBudget refuses what cannot fit. An estimate refuses nothing: the engine will say.
func (w *Trainer) checkBudget() error {
	b, err := w.budget()
	if err != nil || !b.Told {
		return nil // it is not known
	}
	return b.check(w)
}

// foresee returns a warning if, by an estimate that needs no compiled step, a training step takes far more than the
// engine may take: the estimate may be off, and weights and pictures come on top.
func (w *Trainer) foresee(limit int64, r train.Resolution) string {
	if limit <= 0 {
		return ""
	}
	planner, err := train.NewPlanner(w.net(), w.set.Channels, len(w.set.Classes), w.Precision == "bf16")
	if err != nil {
		return "" // the engine will say
	}
	defer planner.Close()
	height, width := cmp.Or(r.High, w.set.Height), cmp.Or(r.High, w.set.Width)
	bytes, err := planner.Step(w.Batch, height, width)
	if err != nil || float64(bytes) <= 1.5*float64(limit) {
		return ""
	}
	room := limit
	if w.set.Pack != nil && !w.stream {
		room -= train.ResidentBytes(w.set)
	}
	smaller := "no batch of at least 8 should"
	if largest, err := planner.LargestBatch(room, w.Batch, height, width); err == nil && largest > 0 {
		smaller = fmt.Sprintf("--batch %d is about the largest that should", largest)
	}
	return fmt.Sprintf("--batch %d will hardly fit: a training step takes about %s, by our estimate, and the %s engine "+
		"may take %s; %s", w.Batch, render.Bytes(bytes), w.engine.Name, render.Bytes(limit), smaller)
}

// smallerBatch names the batch to take when the device has no memory left: the largest by our estimate, and at most
// half of one of which the estimate was wrong.
func (w *Trainer) smallerBatch() string {
	if w.session == nil {
		return "choose a smaller batch"
	}
	largest, err := w.session.LargestBatch(w.engine.Memory())
	if largest >= w.Batch {
		largest = w.Batch / 16 * 8
	}
	if err != nil || largest < 8 {
		return "choose a smaller batch"
	}
	return fmt.Sprintf("choose a smaller batch (by our estimate --batch %d fits)", largest)
}

// holding is a row of the table of a dry run.
type holding struct {
	Where string `json:"where"`
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
}

// holdings lists what is where.
func (b budget) holdings() []holding {
	device := "memory"
	if b.onGPU {
		device = "GPU"
	}
	step, after := "a training step: activations, gradients, temporary values", "evaluation, and the study"
	if !b.Told {
		step += " (estimated)"
	}
	if b.Shared {
		after = "evaluation, in the memory of the step"
	}
	out := []holding{
		{device, "weights and running statistics", b.Weights}, {device, "state of the optimizer, log of steps", b.Optimizer},
		{device, "data: pictures, labels, plans of two epochs", b.Data}, {device, "batches that are read ahead", b.Stream},
		{device, step, b.Step}, {device, after + " (estimated)", b.Evaluation},
		{"memory", "data as they were read, copies of the weights", b.Host},
	}
	var some []holding
	for _, h := range out {
		if h.Bytes > 0 {
			some = append(some, h)
		}
	}
	return some
}

// DryRun is the result of train --dry-run: what a run takes.
type DryRun struct {
	w      *Trainer
	budget budget
	pace   *train.Pace // nil: nothing was timed, as it does not fit
	search float64     // seconds of the search for the learning rate of a p
}

var _ Result = (*DryRun)(nil)

// dryRun measures memory and time. It trains a few steps, whose weights are dropped, and writes nothing.
func (w *Trainer) dryRun(ctx context.Context) (Result, error) {
	b, err := w.budget()
	if err != nil {
		return nil, err
	}
	d := &DryRun{w: w, budget: b}
	if err := b.check(w); err != nil {
		return d, err
	}
	w.env.Say("timing a few steps")
	lr := float64(w.LR)
	if w.LR == settings.Auto {
		lr = must(nets.ByName(w.Model)).Recipe.LR
	}
	pace, err := w.session.Pace(ctx, w.plan(w.P[0], w.Seed, lr))
	if err != nil {
		return d, fmt.Errorf("%w%s", err, w.outOfMemory(err))
	}
	d.pace = &pace
	if w.LR == settings.Auto {
		_, all := SearchEpochs(w.Epochs, w.session.PerEpoch)
		d.search = (pace.Run() - pace.Finish) / float64(w.Epochs) * float64(all)
	}
	return d, nil
}

// all is how many seconds all runs take, and the searches for their learning rates.
func (d *DryRun) all() float64 {
	p := float64(len(d.w.P))
	return p*d.search + p*float64(d.w.Trials)*d.pace.Run()
}

// JSON has all numbers.
func (d *DryRun) JSON() any {
	w, b := d.w, d.budget
	feed := map[bool]string{true: "streamed", false: "resident"}[w.stream]
	out := map[string]any{"model": w.Model, "data": w.set.Name, "engine": w.engine.Name, "precision": w.Precision,
		"batch": w.Batch, "epochs": w.Epochs, "p": w.P, "trials": w.Trials, "parameters": w.session.Params,
		"memory": b.holdings(), "engine_bytes": b.Engine(), "engine_limit": b.limit, "step_estimated": !b.Told,
		"fits": b.fits(), "feed": feed, "feed_reason": w.feedReason}
	if !b.fits() {
		out["largest_batch"] = b.largest
	}
	if d.pace != nil {
		out["training"], out["evaluation_seconds"], out["finish_seconds"] = d.pace.Sides, d.pace.Evaluation, d.pace.Finish
		out["run_seconds"], out["search_seconds"], out["all_seconds"] = d.pace.Run(), d.search, d.all()
	}
	return out
}

// Print shows two tables, of memory and of time.
func (d *DryRun) Print(out io.Writer) {
	w, b := d.w, d.budget
	memory := render.Table{Title: fmt.Sprintf("%s on %s, batch %d, %s on the %s engine; nothing was written", w.Model,
		w.set.Name, w.Batch, w.Precision, w.engine.Name), Header: []string{"where", "what", "size"}, Left: 2}
	for _, h := range b.holdings() {
		memory.Rows = append(memory.Rows, []render.Cell{render.Text("%s", h.Where), render.Text("%s", h.What),
			render.Text("%s", render.Bytes(h.Bytes))})
	}
	fmt.Fprint(out, memory.Text())
	limit := "how much there is, is not known"
	if b.limit > 0 {
		limit = "of " + render.Bytes(b.limit)
	}
	fmt.Fprintf(out, "on the engine  %s, %s: %s\n", render.Bytes(b.Engine()), limit,
		map[bool]string{true: "it fits", false: "it does not fit"}[b.fits()])
	fmt.Fprintf(out, "feed           %s\n", w.feedReason)
	if d.pace == nil {
		return
	}
	times := render.Table{Header: []string{"training", "s a step", "img/s", "epochs", "an epoch"}}
	for _, s := range d.pace.Sides {
		name := "at its size"
		if s.Side > 0 {
			name = fmt.Sprintf("at %d px", s.Side)
		}
		times.Rows = append(times.Rows, []render.Cell{render.Text("%s", name), render.Short(s.Step, 3),
			render.Number(s.Rate, 0), render.Text("%d", s.Epochs), render.Text("%s", lasts(s.Epoch))})
	}
	fmt.Fprintf(out, "\n%s", times.Text())
	fmt.Fprintf(out, "evaluation     %s, once an epoch\n", lasts(d.pace.Evaluation))
	fmt.Fprintf(out, "a run          about %s: %s, then %s of last measures\n", lasts(d.pace.Run()),
		render.Count(w.Epochs, "epoch"), lasts(d.pace.Finish))
	if d.search > 0 {
		fmt.Fprintf(out, "learning rate  about %s for each p: short runs\n", lasts(d.search))
	}
	fmt.Fprintf(out, "in all         about %s: %s × %s\n", lasts(d.all()),
		render.Count(len(w.P), "value")+" of p", render.Count(w.Trials, "trial"))
}

// lasts is a duration in words, with as many digits as an estimate has.
func lasts(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f hours", d.Hours())
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}

// typical are the trainings that doctor looks at: with the bytes of their pictures on the device.
var typical = []struct {
	what, net            string
	batch, side, classes int
	data                 int64
}{
	{"CIFAR-10", "resnet18", 512, 32, 10, 50_000*36*36*3 + 10_000*32*32*3},
	{"ImageNet, streamed", "resnet18-imagenet", 1024, 192, 1000, 4 * 1024 * 256 * 342 * 3 / 2},
}

// Budget is what doctor says of memory.
type Budget struct {
	GPU     int64     `json:"gpu,omitempty"`     // bytes
	GPUMay  int64     `json:"gpu_may,omitempty"` // that bregman may take
	System  int64     `json:"system"`            // that bregman may take of the computer's
	Typical []Typical `json:"typical"`
}

// Typical is whether a training fits, by our estimate: on the GPU in bf16, or else on the CPU in float32.
type Typical struct {
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
	Fits  bool   `json:"fits"`
}

// findBudget measures the machine; gpu: networks will run on one.
func findBudget(gpu bool) (Budget, error) {
	b := Budget{System: engine.SystemMemory()}
	limit := b.System
	if gpu {
		b.GPU, b.GPUMay = engine.GPU()
		limit = b.GPUMay
	}
	for _, c := range typical {
		net := must(nets.ByName(c.net))
		planner, err := train.NewPlanner(net, 3, c.classes, gpu)
		if err != nil {
			return b, err
		}
		bytes, err := planner.Step(c.batch, c.side, c.side)
		planner.Close()
		if err != nil {
			return b, err
		}
		bytes += c.data + 4*int64(net.Params)
		where := "bf16 on the GPU"
		if !gpu {
			where = "float32 on the CPU"
		}
		b.Typical = append(b.Typical, Typical{fmt.Sprintf("%s, %s, batch %d, %d px, %s", c.what, c.net, c.batch, c.side,
			where), bytes, limit <= 0 || bytes <= limit})
	}
	return b, nil
}

// print adds the lines of doctor.
func (b Budget) print(w io.Writer) {
	fmt.Fprint(w, "\nMemory\n")
	if b.GPU > 0 {
		fmt.Fprintf(w, "GPU\t%s, of which bregman may take %s (%s)\n", render.Bytes(b.GPU), render.Bytes(b.GPUMay),
			engine.GPUMemory)
	}
	if b.System > 0 {
		fmt.Fprintf(w, "computer\tbregman may take %s (GOMEMLIMIT sets less)\n", render.Bytes(b.System))
	}
	fmt.Fprint(w, "\nTraining\ttakes about\tfits\n")
	for _, c := range b.Typical {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.What, render.Bytes(c.Bytes), map[bool]string{true: "yes", false: "no"}[c.Fits])
	}
}
