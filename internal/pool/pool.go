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
	loop
}

// loop is a loop that several goroutines share. None waits for one that has not woken yet: who wakes late finds nothing
// to do.
type loop struct {
	tasks   int64
	body    func(worker, task int)
	left    atomic.Int64 // tasks that nobody has taken
	pending atomic.Int64 // tasks that have not ended
	ended   chan struct{}
	failed  atomic.Pointer[failure]
}

type failure struct{ value any }

// New returns a pool of so many workers; 0 is GOMAXPROCS. Close ends it.
func New(threads int) *Pool {
	if threads < 1 {
		threads = runtime.GOMAXPROCS(0)
	}
	p := &Pool{threads: threads, wake: make([]chan struct{}, threads-1)}
	p.ended = make(chan struct{}, 1)
	for i := range p.wake {
		wake := make(chan struct{}, 1)
		p.wake[i] = wake
		go func() {
			for range wake {
				p.work(i + 1)
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
	p.run(tasks, body)
}

func (p *Pool) run(tasks int, body func(worker, task int)) {
	p.begin(tasks, body)
	for _, w := range p.wake[:min(p.threads, tasks)-1] {
		select {
		case w <- struct{}{}:
		default: // it has not seen the last one yet
		}
	}
	p.end()
}

// Shared is the pool of the process, on all cores.
var Shared = sync.OnceValue(func() *Pool { return New(0) })

// Loop calls body once for every task below tasks, on all cores, and returns when all are done. While the shared pool
// is busy, as in the body of another Loop, it runs on this goroutine alone. A body must not call Each of the shared
// pool, as large products of package matrix do. A panic in a body is raised here.
func Loop(tasks int, body func(task int)) {
	p := Shared()
	if tasks <= 1 || !p.mu.TryLock() {
		for task := range tasks {
			body(task)
		}
		return
	}
	defer p.mu.Unlock()
	p.run(tasks, func(_, task int) { body(task) })
}

func (l *loop) begin(tasks int, body func(worker, task int)) {
	l.body, l.tasks = body, int64(tasks)
	l.pending.Store(l.tasks)
	l.left.Store(l.tasks) // from here on others may take tasks
}

// end works, too, and waits for the tasks that others have taken.
func (l *loop) end() {
	l.work(0)
	<-l.ended
	l.body = nil
	if f := l.failed.Swap(nil); f != nil {
		panic(f.value)
	}
}

func (l *loop) work(worker int) {
	for {
		left := l.left.Load()
		if left <= 0 {
			return
		}
		if l.left.CompareAndSwap(left, left-1) {
			l.do(worker, int(l.tasks-left))
		}
	}
}

// do does a task, or after a panic nothing.
func (l *loop) do(worker, task int) {
	defer func() {
		if v := recover(); v != nil {
			l.failed.CompareAndSwap(nil, &failure{v})
		}
		if l.pending.Add(-1) == 0 {
			l.ended <- struct{}{}
		}
	}()
	if l.failed.Load() == nil {
		l.body(worker, task)
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
