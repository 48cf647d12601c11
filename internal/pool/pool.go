// Package pool runs loops on several cores: a fixed set of workers, no allocation per loop.
package pool

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Pool is a set of workers. The goroutine that calls Each is one of them, so a pool of one starts none.
type Pool struct {
	mu      sync.Mutex // one loop at a time
	threads int
	wake    []chan struct{}
	done    sync.WaitGroup
	next    atomic.Int64
	tasks   int64
	body    func(worker, task int)
	failed  atomic.Pointer[failure]
}

type failure struct{ value any }

// New returns a pool of so many workers; 0 is GOMAXPROCS. Close ends it.
func New(threads int) *Pool {
	if threads < 1 {
		threads = runtime.GOMAXPROCS(0)
	}
	p := &Pool{threads: threads, wake: make([]chan struct{}, threads-1)}
	for i := range p.wake {
		wake := make(chan struct{}, 1)
		p.wake[i] = wake
		go func() {
			for range wake {
				p.work(i + 1)
				p.done.Done()
			}
		}()
	}
	return p
}

// Threads is the number of workers: worker is below it in the body of Each.
func (p *Pool) Threads() int { return p.threads }

// Each calls body once for every task below tasks, on all workers, and returns when all are done. Which worker takes a
// task is a matter of luck: what is computed must not depend on it. A body must not call Each. A panic in a body is
// raised here.
func (p *Pool) Each(tasks int, body func(worker, task int)) {
	if tasks <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	helpers := min(p.threads, tasks) - 1
	p.body, p.tasks = body, int64(tasks)
	p.next.Store(0)
	p.done.Add(helpers)
	for _, w := range p.wake[:helpers] {
		w <- struct{}{}
	}
	p.work(0)
	p.done.Wait()
	p.body = nil
	if f := p.failed.Swap(nil); f != nil {
		panic(f.value)
	}
}

func (p *Pool) work(worker int) {
	defer func() {
		if v := recover(); v != nil {
			p.failed.CompareAndSwap(nil, &failure{v})
			p.next.Store(p.tasks) // the others stop at their next task
		}
	}()
	for t := p.next.Add(1) - 1; t < p.tasks; t = p.next.Add(1) - 1 {
		p.body(worker, int(t))
	}
}

// Close ends the workers. The pool cannot be used afterwards.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.wake {
		close(w)
	}
	p.wake, p.threads = nil, 1
}
