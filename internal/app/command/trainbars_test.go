package command

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/bregman-ml/bregman/engine"
)

// bars is an observer that remembers its bars, each with how far it came.
type bars struct {
	Observer
	labels []string
	done   []int64
}

func (b *bars) Bar(label string, done, _ int64) Bar {
	b.labels, b.done = append(b.labels, label), append(b.done, done)
	return &oneBar{b, len(b.labels) - 1}
}

type oneBar struct {
	all *bars
	k   int
}

func (b *oneBar) Set(done int64, _ string) { b.all.done[b.k] = done }
func (b *oneBar) End()                     {}

func TestTheStudyAfterTrainingShowsItsProgress(t *testing.T) {
	settings := tiny(t)
	settings.Epochs, settings.NoStudy = 1, false
	seen := &bars{Observer: Lines(new(bytes.Buffer))}
	if err := Run(t.Context(), &Env{Observer: seen, Engines: new(engine.Pool)}, &settings, io.Discard); err != nil {
		t.Fatal(err)
	}
	k := slices.Index(seen.labels, "p = 2, seed 1: study of the weights")
	if k < 0 || seen.done[k] != 1000 {
		t.Errorf("the study has no bar of its own, or it does not reach its end: %v, %v", seen.labels, seen.done)
	}
}
