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
	Nonzeros int       `json:"nonzeros"`
	Bytes    int64     `json:"bytes"` // of the file
	Read     float64   `json:"read_seconds"`
	P        []float64 `json:"p"`
	Seconds  []float64 `json:"margin_seconds"` // to a certified margin for each p, without reading
	Heap     float64   `json:"heap_bytes"`     // in use after reading
	Fit      float64   `json:"fit_bytes"`      // and the most while fitting
	Arrays   float64   `json:"arrays_bytes"`   // columns, values, rows and labels
}

// scaleGap is the gap to which margins are certified, for each of scaleP.
const scaleGap = 1e-3

var scaleP = []float64{2, 1.1}

// scaleTimes are the result of bench margin --scaling.
type scaleTimes struct {
	command.File
	points []scalePoint
}

var _ command.Result = scaleTimes{}

// scaling measures how reading, finding margins and memory grow with the number of nonzeros: ten times more rows each
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
		Header: []string{"nonzeros", "file MB", "reading s", "MB/s"}}
	for _, p := range scaleP {
		t.Header = append(t.Header, fmt.Sprintf("margin, p = %v, s", p), "µs a nonzero")
	}
	t.Header = append(t.Header, "arrays MB", "heap after reading", "while fitting")
	for _, p := range s.points {
		mb := float64(p.Bytes) / 1e6
		row := []render.Cell{render.Text("%s", render.Thousands(p.Nonzeros)), render.Number(mb, 1),
			render.Short(p.Read, 3), render.Number(mb/p.Read, 0)}
		for _, seconds := range p.Seconds {
			row = append(row, render.Short(seconds, 3), render.Number(1e6*seconds/float64(p.Nonzeros), 2))
		}
		t.Rows = append(t.Rows, append(row, render.Number(p.Arrays/1e6, 1),
			render.Text("%.2f×", p.Heap/p.Arrays), render.Text("%.2f×", p.Fit/p.Arrays)))
	}
	fmt.Fprint(w, t.Text())
}

func measureScale(ctx context.Context, file string) (scalePoint, error) {
	st, err := os.Stat(file)
	if err != nil {
		return scalePoint{}, err
	}
	pt := scalePoint{Bytes: st.Size(), Read: math.Inf(1), P: scaleP}
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
	for _, p := range scaleP {
		best := math.Inf(1)
		for range rounds {
			debug.FreeOSMemory()
			start := time.Now()
			m := linear.Accelerated{P: p, Gap: scaleGap}
			r, err := m.Fit(ctx, linear.Problem{X: set.X, Y: set.Y}, linear.Hooks{Progress: func(linear.Point) {
				var s runtime.MemStats
				runtime.ReadMemStats(&s)
				pt.Fit = max(pt.Fit, float64(s.HeapInuse)-before)
			}})
			if err != nil {
				return pt, err
			}
			if !(r.Gap() <= scaleGap) {
				return pt, fmt.Errorf("%s nonzeros, p = %v: the gap is %v after %d steps", render.Thousands(pt.Nonzeros), p,
					r.Gap(), r.Steps)
			}
			best = min(best, time.Since(start).Seconds())
		}
		pt.Seconds = append(pt.Seconds, best)
	}
	return pt, nil
}

func scaleFigures(points []scalePoint) []render.Figure {
	var x, read, heap, arrays []float64
	for _, p := range points {
		x, read = append(x, float64(p.Nonzeros)), append(read, p.Read)
		heap, arrays = append(heap, p.Fit/1e6), append(arrays, p.Arrays/1e6)
	}
	ends := []float64{x[0], x[len(x)-1]}
	time := render.Figure{Title: "Time", X: "nonzeros", Y: "seconds", LogX: true, LogY: true, Series: []render.Series{
		{Name: "reading the file", X: x, Y: read}, {X: x, Y: read, Style: render.Discs}}}
	for k, p := range scaleP {
		var seconds []float64
		for _, pt := range points {
			seconds = append(seconds, pt.Seconds[k])
		}
		time.Series = append(time.Series,
			render.Series{Name: fmt.Sprintf("margin to 0.1 %%, p = %v", p), X: x, Y: seconds, Color: render.Color(p)},
			render.Series{X: x, Y: seconds, Color: render.Color(p), Style: render.Discs})
		if k == 0 {
			last := seconds[len(seconds)-1]
			time.Series = append(time.Series, render.Series{Name: "in proportion", X: ends,
				Y: []float64{last * x[0] / x[len(x)-1], last}, Style: render.Dotted})
		}
	}
	return []render.Figure{
		time,
		{Title: "Memory", X: "nonzeros", Y: "MB", LogX: true, LogY: true, Series: []render.Series{
			{Name: "heap while fitting", X: x, Y: heap}, {X: x, Y: heap, Style: render.Discs},
			{Name: "the arrays alone", X: x, Y: arrays, Style: render.Dotted}}},
	}
}
