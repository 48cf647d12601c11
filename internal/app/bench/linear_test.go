package bench

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/pool"
	"github.com/bregman-ml/bregman/mirror"
)

func BenchmarkStep(b *testing.B) {
	for _, e := range Experiments() {
		for _, p := range numbers.Ps {
			b.Run(fmt.Sprintf("%s/p=%v", e.Name, p), func(b *testing.B) {
				s, err := e.Start(p)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					s.Step()
				}
			})
			b.Run(fmt.Sprintf("%s/p=%v/transcription", e.Name, p), func(b *testing.B) {
				t := NewTranscription(e.X, p, e.W0)
				for b.Loop() {
					t.Step()
				}
			})
		}
	}
}

func TestBenchLinearPrintsBothTimesForEachExperimentAndP(t *testing.T) {
	out, err := (&Linear{Time: time.Millisecond}).Do(t.Context(), &command.Env{Observer: command.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	got := out.(*linearTimes)
	if len(got.steps) != 12 {
		t.Fatalf("%d entries, want 12", len(got.steps))
	}
	for _, m := range got.steps {
		if !(m.Step > 0 && m.Transcription > 0) {
			t.Errorf("%+v: want positive times", m)
		}
	}
	for _, m := range got.updates {
		passes := 2
		if m.Method == "p-GD" {
			passes = 1
		}
		if !(m.NS > 0 && m.Ratio > 0) || m.Passes != passes || passes == 1 && m.Ratio != 1 {
			t.Errorf("%+v: want positive times, and a norm to cost a pass", m)
		}
	}
	if n := len(got.updates); n != 9*min(runtime.GOMAXPROCS(0), 2) {
		t.Errorf("%d updates: want three methods and p, on one core and on all", n)
	}
	var text strings.Builder
	out.Print(&text)
	for _, want := range []string{"transcription", "ratio to p-GD", "steepest"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
}

// The updates in one and two passes are those of package mirror.
func TestUpdatesAreThoseOfTheLibrary(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	const n = 3*updateChunk + 5
	for _, p := range updatePs {
		want := func(step func(w, z, grad []float64)) []float64 {
			u := newUpdater(n, p, workers)
			step(u.w, u.z, u.grad)
			return u.w
		}
		for k, w := range [][]float64{
			want(func(w, z, grad []float64) { mirror.Step(w, z, mirror.Power(p), 1e-9, grad) }),
			want(func(w, z, grad []float64) { mirror.Step(w, z, mirror.SquaredNorm(p), 1e-9, grad) }),
			want(func(w, _, grad []float64) {
				move := make([]float64, n)
				mirror.DualityMap(move, grad, mirror.Conjugate(p))
				for j, v := range move {
					w[j] -= 1e-9 * v
				}
			}),
		} {
			u := newUpdater(n, p, workers)
			updateMethods[k].do(u)
			for j := range w {
				if math.Abs(u.w[j]-w[j]) > 1e-12*math.Abs(w[j]) {
					t.Fatalf("%s, p = %v: w[%d] = %v, want %v", updateMethods[k].name, p, j, u.w[j], w[j])
				}
			}
		}
	}
}
