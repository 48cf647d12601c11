package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
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
	got := out.(linearTimes)
	if len(got) != 12 {
		t.Fatalf("%d entries, want 12", len(got))
	}
	for _, m := range got {
		if !(m.Step > 0 && m.Transcription > 0) {
			t.Errorf("%+v: want positive times", m)
		}
	}
}
