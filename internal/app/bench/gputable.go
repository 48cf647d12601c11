package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
)

var _ command.Result = (*gpuBench)(nil)

func (b *gpuBench) JSON() any {
	out := map[string]any{"engine": b.engine.Name, "plugin": b.engine.Where, "in_flight": b.inFlight,
		"precision": b.precision, "images": b.set.Train.Len(), "p": b.P, "rounds": b.Rounds,
		"seconds_per_variant": b.Time.Seconds(), "networks": b.cases}
	if b.sampler != nil {
		out["gpu"], out["driver"] = b.sampler.GPU, b.sampler.Driver
	}
	if b.about.Version != "" {
		out["torch"] = b.about
	}
	if b.noTorch != "" {
		out["no_torch"] = b.noTorch
	}
	return out
}

func (b *gpuBench) Print(w io.Writer) {
	fmt.Fprint(w, b.table().Text())
	for _, line := range b.notes() {
		fmt.Fprintln(w, line)
	}
}

// find is the speed of one variant; nil if it has none.
func (c *gpuCase) find(by string, is func(*speed) bool) *speed {
	for _, s := range c.Speeds {
		if s.By == by && is(s) {
			return s
		}
	}
	return nil
}

// rate is the speed of a variant, NaN if it was not measured.
func (s *speed) rate() float64 {
	if s == nil || s.Rate == 0 {
		return math.NaN()
	}
	return s.Rate
}

// label names the variant in a line of its own.
func (s *speed) label() string {
	if s.By == theirName {
		return s.By + ", " + s.Name
	}
	return s.Name
}

// at is the speed of ours with this p.
func (c *gpuCase) at(p float64, waits bool) float64 {
	return c.find(ourName, func(s *speed) bool { return s.P == p && s.Waits == waits }).rate()
}

// torch is the speed of a variant of PyTorch.
func (c *gpuCase) torch(variant string) float64 {
	k := slices.IndexFunc(torchVariants, func(v struct{ variant, name string }) bool { return v.variant == variant })
	return c.find(theirName, func(s *speed) bool { return s.Name == torchVariants[k].name }).rate()
}

// named is the speed of a variant of ours.
func (c *gpuCase) named(name string) float64 {
	return c.find(ourName, func(s *speed) bool { return s.Name == name }).rate()
}

// worst is the slowest p, as a share of p = 2.
func (c *gpuCase) worst(waits bool) (p, share float64) {
	share = math.NaN()
	for _, s := range c.Speeds {
		if s.By != ourName || s.Waits != waits || s.P == 2 {
			continue
		}
		if r := s.rate() / c.at(2, waits); r < share || math.IsNaN(share) {
			p, share = s.P, r
		}
	}
	return p, share
}

// column is a column of the table. One that is empty in each row is left out.
type column struct {
	head string
	cell func(*gpuCase) render.Cell
}

func (b *gpuBench) columns() []column {
	always := b.inFlight == 0 // the steps wait in any case
	images := func(v float64) render.Cell {
		if math.IsNaN(v) {
			return render.Number(v, 0)
		}
		return render.Cell{Text: render.Thousands(int(v + 0.5)), Value: v}
	}
	percent := func(v float64, format string, args ...any) render.Cell {
		if math.IsNaN(v) {
			return render.Number(v, 0)
		}
		return render.Cell{Text: fmt.Sprintf(format, args...), Value: v}
	}
	all := []column{
		{"p = 2", func(c *gpuCase) render.Cell { return images(c.at(2, always)) }},
	}
	if b.P != 2 {
		all = append(all, column{fmt.Sprintf("p = %v", b.P),
			func(c *gpuCase) render.Cell { return images(c.at(b.P, always)) }})
	}
	return append(all,
		column{"worst p", func(c *gpuCase) render.Cell {
			p, share := c.worst(always)
			return percent(share, "%.1f %% (p = %v)", 100*share, p)
		}},
		column{"waiting", func(c *gpuCase) render.Cell {
			if always {
				return images(math.NaN())
			}
			return images(c.at(b.P, true))
		}},
		column{"packed", func(c *gpuCase) render.Cell { return images(c.named(fromEngine)) }},
		column{"from file", func(c *gpuCase) render.Cell { return images(c.named(fromFile)) }},
		column{"eager", func(c *gpuCase) render.Cell { return images(c.torch(torchEager)) }},
		column{"compile", func(c *gpuCase) render.Cell { return images(c.torch(torchCompile)) }},
		column{"snippet", func(c *gpuCase) render.Cell { return images(c.torch(torchPaper)) }},
		column{"ours / compile", func(c *gpuCase) render.Cell {
			ratio := c.at(2, always) / c.torch(torchCompile)
			return percent(ratio, "%.2f×", ratio)
		}},
		column{"GPU busy", func(c *gpuCase) render.Cell {
			if c.Load == nil {
				return images(math.NaN())
			}
			return percent(c.Load.Busy, "%.0f %%", c.Load.Busy)
		}})
}

func (b *gpuBench) table() render.Table {
	t := render.Table{Header: []string{"network", "batch"}}
	t.Title = fmt.Sprintf("training on the %s engine, images a second, fastest of %d rounds", b.engine.Name, b.Rounds)
	t.Rows = make([][]render.Cell, len(b.cases))
	for i, c := range b.cases {
		t.Rows[i] = []render.Cell{render.Text("%s", c.Model), render.Text("%d", c.Batch)}
	}
	for k, column := range b.columns() {
		cells, some := make([]render.Cell, len(b.cases)), k == 0
		for i, c := range b.cases {
			cells[i] = column.cell(c)
			some = some || !math.IsNaN(cells[i].Value)
		}
		if !some {
			continue
		}
		t.Header = append(t.Header, column.head)
		for i, cell := range cells {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
}

// notes say how it was measured, and what is missing.
func (b *gpuBench) notes() []string {
	steps := fmt.Sprintf("up to %d steps in flight", b.inFlight)
	if b.inFlight == 0 {
		steps = "steps wait for each other"
	}
	out := []string{"", fmt.Sprintf("bregman: %s with float32 weights, augmentation, %s.", b.precision, steps),
		"p = 2 is SGD; worst p is the slowest of all, in % of p = 2."}
	if b.sampler != nil && b.sampler.GPU != "" {
		out[1] = fmt.Sprintf("%s, driver %s. %s", b.sampler.GPU, b.sampler.Driver, out[1])
	}
	switch {
	case b.about.Version != "":
		out = append(out, fmt.Sprintf("PyTorch %s: bf16 autocast, channels last, cudnn.benchmark, one batch that stays on "+
			"the GPU, no augmentation;", b.about.Version))
		if b.Torch == torchOnly {
			out = append(out, "compile: SGD with torch.compile (default mode), beside p = 2.")
			break
		}
		out = append(out, fmt.Sprintf("eager: SGD; compile: SGD with torch.compile (max-autotune), beside p = 2; snippet: "+
			"the paper's, eager, p = %v.", b.P))
	case b.noTorch != "":
		out = append(out, "PyTorch is not beside: "+b.noTorch)
	}
	if slices.ContainsFunc(b.cases, func(c *gpuCase) bool { return c.Load != nil }) {
		out = append(out, "GPU busy: the share of the driver's sample periods in which a kernel of ours ran (nvidia-smi).")
	}
	for _, c := range b.cases {
		for _, s := range c.Speeds {
			if s.Failed != "" {
				out = append(out, fmt.Sprintf("%s, batch %d, %s: %s", c.Model, c.Batch, s.label(), s.Failed))
			}
		}
	}
	return out
}

// python is the Python to ask for PyTorch.
func (b *gpuBench) python() string {
	if b.Python == "" {
		return "python3"
	}
	return b.Python
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
