package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// The files that a run writes beside its metrics are read up to this size and so many lines: a run writes less than a
// tenth of that. Of a larger file the end is read.
const (
	maxLive      = 4 << 20
	maxLiveLines = 40_000
	liveTail     = 4096 // where the last lines are
)

// liveAnswer is what a run writes while it is running beside its metrics: single steps, and the machine's load.
type liveAnswer struct {
	Status   string             `json:"status"`
	Progress number             `json:"progress"` // 0 to 1, null if it is not known
	Left     number             `json:"left"`     // seconds, about; null if it is not known
	Step     int                `json:"step"`     // the last one that is known; 0: none
	Epoch    number             `json:"epoch"`    // epochs done after it
	Epochs   number             `json:"epochs"`   // of the run; null if it has none
	Seconds  number             `json:"seconds"`  // of the run until then
	Steps    map[string]samples `json:"steps"`    // loss and gradient_norm, by step
	Machine  map[string]samples `json:"machine"`  // cpu, memory, gpu and gpu_memory, by seconds
	CPUs     int                `json:"cpus"`     // cores of the machine
	Color    [2]string          `json:"color"`
	Note     string             `json:"note"` // what could not be read
}

// getLive returns them, thinned.
func (s *Server) getLive(r *http.Request) (any, error) {
	n, err := points(r)
	if err != nil {
		return nil, err
	}
	id := r.URL.Query().Get("id")
	f, err := s.root.Sub(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if id == "." {
		return nil, fs.ErrNotExist
	}
	sum := summarise(f, id)
	out := liveAnswer{Status: sum.Status, Progress: sum.Progress, Left: sum.Left, Color: sum.Color, Epoch: number(nan),
		Epochs: number(nan), Seconds: number(nan)}
	if epochs, ok := sum.settings["epochs"].(float64); ok {
		out.Epochs = number(epochs)
	}
	if info, err := f.Info(); err == nil {
		out.CPUs = max(0, info.Machine.CPUs)
	}
	steps, bad := readSteps(f, maxLive)
	machine, more := readMachine(f, maxLive)
	out.Steps, out.Machine = steps.thinned(n), machine.thinned(n)
	if k := len(steps.x); k > 0 {
		out.Step, out.Epoch, out.Seconds = int(steps.x[k-1]), number(steps.of("epoch")[k-1]),
			number(steps.of("seconds")[k-1])
	}
	delete(out.Steps, "epoch")
	delete(out.Steps, "seconds")
	if bad += more; bad > 0 {
		out.Note = fmt.Sprintf("%d lines of %s and %s cannot be read", bad, train.StepsFile, command.MachineFile)
	}
	return out, nil
}

// columns are numbers by name over an x that grows; NaN if a line lacks one.
type columns struct {
	x     []float64
	names []string
	y     [][]float64
}

func newColumns(names ...string) *columns {
	return &columns{names: names, y: make([][]float64, len(names))}
}

// add adds a line, unless its x is not beyond the last one.
func (c *columns) add(x float64, values ...*float64) {
	if k := len(c.x); !(x >= 0 && x < 1e15) || k > 0 && x <= c.x[k-1] {
		return
	}
	c.x = append(c.x, x)
	for k, v := range values {
		if v == nil {
			v = &nan
		}
		c.y[k] = append(c.y[k], *v)
	}
}

func (c *columns) of(name string) []float64 {
	for k, n := range c.names {
		if n == name {
			return c.y[k]
		}
	}
	return nil
}

// thinned keeps about n points of each column; one without any is left out.
func (c *columns) thinned(n int) map[string]samples {
	out := map[string]samples{}
	for k, name := range c.names {
		if t := thin(c.x, c.y[k], window{lo: math.Inf(-1), hi: math.Inf(1), points: n}, "line"); len(t.X) > 0 {
			out[name] = t
		}
	}
	return out
}

// readSteps reads at most so many bytes at the end of the step file of a run, and counts the lines that it cannot read.
func readSteps(f *runlog.Folder, most int64) (c *columns, bad int) {
	c = newColumns("loss", "gradient_norm", "epoch", "seconds")
	bad = eachLine(f, train.StepsFile, most, func(r *train.StepRecord) bool {
		c.add(float64(r.Step), r.Loss, r.Gradient, &r.Epoch, &r.Seconds)
		return r.Step > 0
	})
	return c, bad
}

// readMachine reads the machine file of a run.
func readMachine(f *runlog.Folder, most int64) (c *columns, bad int) {
	c = newColumns("cpu", "memory", "gpu", "gpu_memory")
	bad = eachLine(f, command.MachineFile, most, func(u *command.Usage) bool {
		c.add(u.Seconds, u.CPU, u.Memory, u.GPU, u.GPUMemory)
		return true
	})
	return c, bad
}

// eachLine decodes the whole lines at the end of a file of a run, whatever it holds, and counts those that are not
// objects of this kind or that use refuses. A file that does not exist has none.
func eachLine[T any](f *runlog.Folder, name string, most int64, use func(*T) bool) (bad int) {
	data, whole := endOf(f, name, most)
	if !whole { // it begins within a line
		data = data[bytes.IndexByte(data, '\n')+1:]
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1] // the last line may be half written
	lines := 0
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if lines++; lines > maxLiveLines {
			return bad
		}
		var v T
		if json.Unmarshal(line, &v) != nil || !use(&v) {
			bad++
		}
	}
	return bad
}

// endOf reads the last bytes of a file, and reports whether that is all of it.
func endOf(f *runlog.Folder, name string, most int64) (data []byte, whole bool) {
	file, st, err := f.Open(name)
	if err != nil {
		return nil, true
	}
	defer file.Close()
	from := max(0, st.Size()-most)
	data, _ = io.ReadAll(io.NewSectionReader(file, from, min(most, st.Size()))) // what can be read of it
	return data, from == 0
}

// lastStep is the last line of a run's step file, and when it was written; ok is false if there is none.
func lastStep(f *runlog.Folder) (r train.StepRecord, at time.Time, ok bool) {
	st, err := f.Stat(train.StepsFile)
	if err != nil {
		return r, at, false
	}
	eachLine(f, train.StepsFile, liveTail, func(one *train.StepRecord) bool {
		if one.Step > r.Step && one.Epoch > 0 && one.Epoch-one.Epoch == 0 {
			r, ok = *one, true
		}
		return ok
	})
	return r, st.ModTime(), ok
}

// leftNow is what is left now of an estimate that was made then: NaN if there was none, or if it is used up.
func leftNow(left *float64, then time.Time) number {
	if left == nil || !(*left >= 0 && *left < 1e10) {
		return number(nan)
	}
	if rest := *left - max(0, time.Since(then).Seconds()); rest >= 0 {
		return number(math.Ceil(rest))
	}
	return number(nan)
}
