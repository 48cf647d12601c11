package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/engine"
)

// stopper is a console on which somebody presses Ctrl-C as soon as the engine compiles.
type stopper struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (s *stopper) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(": compiling")) {
		s.cancel()
	}
	return s.Buffer.Write(b)
}

// An interrupt while the engine compiles loses nothing: the run begins and stops at once, and can be resumed.
func TestAnInterruptWhileTheEngineCompiles(t *testing.T) {
	settings := tiny(t)
	settings.P, settings.Trials = []float64{2, 3}, 2
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	said := &stopper{cancel: cancel}
	err := perform(ctx, &settings, &out, said)
	if !errors.Is(err, context.Canceled) || !strings.Contains(said.String(), "not finished:") {
		t.Fatalf("%v: %s", err, said.String())
	}
	a := (&spoken{out: out}).answer(t)
	if len(a.Runs) != 0 || len(a.Left) != 3 { // this one, the other p, the other seed
		t.Fatalf("%+v", a)
	}
	if dirs, err := os.ReadDir(settings.Runs); err != nil || len(dirs) > 1 {
		t.Errorf("%d runs were begun, %v", len(dirs), err)
	}
}

// slowly is an observer that may be asked while others talk.
type slowly struct {
	mu sync.Mutex
	bytes.Buffer
}

func (s *slowly) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Buffer.Write(b)
}

// Who interrupts a compilation that takes long hears that it cannot be stopped; else nothing is said.
func TestAnInterruptedCompilationIsSaidToGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		cancelled bool
		patience  time.Duration
		want      bool
	}{"long": {true, time.Millisecond, true}, "short": {true, time.Hour, false}, "not interrupted": {false, 0, false}} {
		var said slowly
		w := &Trainer{env: &Env{Observer: Lines(&said)}, engine: &engine.Engine{Name: "cuda"}}
		ctx, cancel := context.WithCancel(t.Context())
		compiled := w.promiseToStop(ctx, c.patience)
		if c.cancelled {
			cancel()
		}
		time.Sleep(50 * time.Millisecond)
		for begin := time.Now(); c.want && time.Since(begin) < 10*time.Second; time.Sleep(time.Millisecond) {
			said.mu.Lock()
			n := said.Len()
			said.mu.Unlock()
			if n > 0 {
				break
			}
		}
		compiled()
		cancel()
		if got := strings.Contains(said.String(), "stops as soon as the cuda engine has compiled"); got != c.want {
			t.Errorf("%s: said %q", name, said.String())
		}
	}
}
