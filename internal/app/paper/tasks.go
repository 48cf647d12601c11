package paper

import (
	"context"
	"runtime"
	"sync"

	"github.com/bregman-ml/bregman/linear"
)

// task is one descent of an experiment, or one run of verify. It reports its steps as it goes and returns a line for
// metrics.jsonl, nil if there is none.
type task struct {
	steps int
	run   func(ctx context.Context, progress func(steps int)) (metric any, err error)
}

// runAll runs tasks on all cores. progress and finished are called from one goroutine at a time.
// The first error stops the rest.
func runAll(ctx context.Context, tasks []task, progress func(steps int), finished func(metric any) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	report := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		progress(n)
	}
	next := make(chan task)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(tasks)) {
		wg.Go(func() {
			for t := range next {
				metric, err := t.run(ctx, report)
				if err == nil {
					mu.Lock()
					err = finished(metric)
					mu.Unlock()
				}
				if err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for _, t := range tasks {
		select {
		case next <- t:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// runTo runs s to the given step, reporting now and then.
func runTo(ctx context.Context, s *linear.State, steps int, progress func(int)) error {
	const chunk = 50_000
	for s.T < steps {
		from := s.T
		if err := s.Run(ctx, min(steps, from+chunk)); err != nil {
			return err
		}
		progress(s.T - from)
	}
	return nil
}
