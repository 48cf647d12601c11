package pool

import (
	"sync/atomic"
	"testing"
)

func TestEveryTaskRunsOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 5} {
		p := New(threads)
		defer p.Close()
		for _, tasks := range []int{0, 1, 3, 1000} {
			count := make([]atomic.Int32, tasks)
			p.Each(tasks, func(worker, task int) {
				if worker < 0 || worker >= p.Threads() {
					t.Errorf("worker %d of %d", worker, p.Threads())
				}
				count[task].Add(1)
			})
			for i := range count {
				if count[i].Load() != 1 {
					t.Errorf("%d threads: task %d of %d ran %d times", threads, i, tasks, count[i].Load())
				}
			}
		}
	}
}

func TestAPanicReachesTheCallerAndThePoolGoesOn(t *testing.T) {
	p := New(3)
	defer p.Close()
	func() {
		defer func() {
			if v := recover(); v != "bad task" {
				t.Errorf("recovered %v", v)
			}
		}()
		p.Each(100, func(_, task int) {
			if task == 50 {
				panic("bad task")
			}
		})
	}()
	var n atomic.Int32
	p.Each(10, func(int, int) { n.Add(1) })
	if n.Load() != 10 {
		t.Errorf("%d of 10 tasks after a panic", n.Load())
	}
}

func TestEachAllocatesNothing(t *testing.T) {
	p := New(2)
	defer p.Close()
	body := func(int, int) {}
	if n := testing.AllocsPerRun(100, func() { p.Each(8, body) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAPoolCanBeClosedBeforeItsWorkersRun(t *testing.T) {
	for range 1000 {
		New(4).Close()
	}
}

func TestLoopRunsEveryTaskOnceAndMayNest(t *testing.T) {
	for _, tasks := range []int{0, 1, 3, 1000} {
		count := make([]atomic.Int32, tasks)
		Loop(tasks, func(task int) {
			var inner atomic.Int32
			Loop(5, func(int) { inner.Add(1) })
			count[task].Add(inner.Load())
		})
		for i := range count {
			if count[i].Load() != 5 {
				t.Errorf("task %d of %d counted %d, want 5", i, tasks, count[i].Load())
			}
		}
	}
	defer func() {
		if v := recover(); v != "bad task" {
			t.Errorf("recovered %v", v)
		}
	}()
	Loop(10, func(task int) {
		if task == 5 {
			panic("bad task")
		}
	})
}

// Many short loops, so that workers wake in the middle of later ones.
func TestLateWorkersDoNoHarm(t *testing.T) {
	p := New(4)
	defer p.Close()
	sum := make([]int, 8)
	for k := range 20000 {
		p.Each(1+k%8, func(_, task int) { sum[task] += k }) // the race detector sees two workers on one task
	}
	want := make([]int, 8)
	for k := range 20000 {
		for task := range 1 + k%8 {
			want[task] += k
		}
	}
	for i := range sum {
		if sum[i] != want[i] {
			t.Errorf("task %d summed to %d, want %d", i, sum[i], want[i])
		}
	}
}
