package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
)

// scalePoint is one size.
type scalePoint struct {
	Nonzeros  int     `json:"nonzeros"`
	Bytes     int64   `json:"bytes"` // of the file
	Read      float64 `json:"read_seconds"`
	Iteration float64 `json:"iteration_seconds"`
	Heap      float64 `json:"heap_bytes"`   // in use after reading
	Fit       float64 `json:"fit_bytes"`    // and while fitting
	Arrays    float64 `json:"arrays_bytes"` // columns, values, rows and labels
}

// scaleIterations are timed on each size, of the accelerated method from its start: no example is dropped yet.
const scaleIterations = 10

// scaleTimes are the result of bench margin --scaling.
type scaleTimes struct {
	command.File
	points []scalePoint
}

var _ command.Result = scaleTimes{}

// scaling measures how reading, an iteration and memory grow with the number of nonzeros: ten times more rows each
// time, and half as many features as rows, up to --cols.
func (m *Margin) scaling(ctx context.Context, env *command.Env, dir string) (command.Result, error) {
	var points []scalePoint
	most := int(m.Rows) * int(m.Entries)
	for nnz := 100_000; nnz <= most && nnz <= 100_000_000; nnz *= 10 {
		env.Say("%s nonzeros", render.Thousands(nnz))
		file := filepath.Join(dir, "synth.svm")
		one, rows := *m, nnz/int(m.Entries)
		one.Cols = min(m.Cols, settings.Count(max(rows/2, int(m.Entries))))
		if _, err := one.problem(file, rows); err != nil {
			return nil, err
		}
		pt, err := measureScale(ctx, file)
		if err != nil {
			return nil, err
		}
		points = append(points, pt)
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("--rows %d with --entries %d: the smallest problem has 100,000 nonzeros", m.Rows, m.Entries)
	}
	out := scaleTimes{points: points}
	if m.Out != "" {
		png, err := render.PNG(scaleFigures(points)...)
		if err != nil {
			return nil, err
		}
		out.File = command.NewFile(m.Out, png)
		if err := out.Save(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s scaleTimes) JSON() any {
	return map[string]any{"cores": runtime.GOMAXPROCS(0), "points": s.points}
}

func (s scaleTimes) Print(w io.Writer) {
	t := render.Table{Title: fmt.Sprintf("Time and memory by the number of nonzeros, %d cores", runtime.GOMAXPROCS(0)),
		Header: []string{"nonzeros", "file MB", "reading s", "MB/s", "ms an iteration", "ns a nonzero", "arrays MB",
			"heap after reading", "while fitting"}}
	for _, p := range s.points {
		mb := float64(p.Bytes) / 1e6
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", render.Thousands(p.Nonzeros)), render.Number(mb, 1),
			render.Short(p.Read, 3), render.Number(mb/p.Read, 0), render.Short(1e3*p.Iteration, 3),
			render.Number(1e9*p.Iteration/float64(p.Nonzeros), 2), render.Number(p.Arrays/1e6, 1),
			render.Text("%.2f×", p.Heap/p.Arrays), render.Text("%.2f×", p.Fit/p.Arrays)})
	}
	fmt.Fprint(w, t.Text())
}

func measureScale(ctx context.Context, file string) (scalePoint, error) {
	st, err := os.Stat(file)
	if err != nil {
		return scalePoint{}, err
	}
	pt := scalePoint{Bytes: st.Size(), Read: math.Inf(1), Iteration: math.Inf(1)}
	heap := func() float64 {
		debug.FreeOSMemory()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return float64(s.HeapInuse)
	}
	before := heap()
	rounds := 3
	if st.Size() > 500_000_000 {
		rounds = 1
	}
	var set *dataset.Set
	for range rounds {
		set = nil
		debug.FreeOSMemory()
		start := time.Now()
		if set, err = dataset.Read(file, dataset.Options{}); err != nil {
			return pt, err
		}
		pt.Read = min(pt.Read, time.Since(start).Seconds())
	}
	pt.Heap = heap() - before
	n, _ := set.X.Dims()
	pt.Nonzeros = set.X.NNZ()
	pt.Arrays = float64(12*pt.Nonzeros + 4*n + 8*n)
	for range rounds {
		last := time.Now()
		m := linear.Accelerated{Steps: scaleIterations, Gap: 1e-9}
		_, err = m.Fit(ctx, linear.Problem{X: set.X, Y: set.Y}, linear.Hooks{Progress: func(p linear.Point) {
			if p.Step > 1 {
				pt.Iteration = min(pt.Iteration, time.Since(last).Seconds())
			}
			last = time.Now()
			if p.Step == scaleIterations && pt.Fit == 0 {
				var s runtime.MemStats
				runtime.ReadMemStats(&s)
				pt.Fit = float64(s.HeapInuse) - before
			}
		}})
		if err != nil {
			return pt, err
		}
	}
	return pt, nil
}

func scaleFigures(points []scalePoint) []render.Figure {
	var x, read, iteration, heap, arrays []float64
	for _, p := range points {
		x, read, iteration = append(x, float64(p.Nonzeros)), append(read, p.Read), append(iteration, p.Iteration)
		heap, arrays = append(heap, p.Fit/1e6), append(arrays, p.Arrays/1e6)
	}
	line := []float64{iteration[len(iteration)-1] * x[0] / x[len(x)-1], iteration[len(iteration)-1]}
	ends := []float64{x[0], x[len(x)-1]}
	return []render.Figure{
		{Title: "Time", X: "nonzeros", Y: "seconds", LogX: true, LogY: true, Series: []render.Series{
			{Name: "reading the file", X: x, Y: read}, {X: x, Y: read, Style: render.Discs},
			{Name: "one iteration, p = 2", X: x, Y: iteration, Color: render.Color(2)},
			{X: x, Y: iteration, Color: render.Color(2), Style: render.Discs},
			{Name: "in proportion", X: ends, Y: line, Style: render.Dotted}}},
		{Title: "Memory", X: "nonzeros", Y: "MB", LogX: true, LogY: true, Series: []render.Series{
			{Name: "heap while fitting", X: x, Y: heap}, {X: x, Y: heap, Style: render.Discs},
			{Name: "the arrays alone", X: x, Y: arrays, Style: render.Dotted}}},
	}
}
