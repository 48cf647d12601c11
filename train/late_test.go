package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/optim"
)

// late is the CPU engine behind a queue, as a GPU is: an execution returns buffers before they are computed, and who
// reads one waits. Executions that were handed over run in order.
type late struct {
	compute.Backend
	inFlight int         // executions that may be unfinished when another is handed over
	work     chan func() // run by one goroutine

	mu         sync.Mutex
	unfinished []chan struct{}
	handed     int   // executions, steps and others
	atRead     []int // what was handed over when something was read
	failing    int   // the execution that fails, 0 for none
}

func lateEngine(t *testing.T, inFlight int) (*engine.Engine, *late) {
	t.Helper()
	e, err := engine.Open(engine.CPU)
	if err != nil {
		t.Fatal(err)
	}
	b := &late{Backend: e.Backend, inFlight: inFlight, work: make(chan func(), 1<<16)}
	go func() {
		for f := range b.work {
			f()
		}
	}()
	return &engine.Engine{Name: e.Name, Backend: b, InFlight: inFlight}, b
}

func (b *late) Builder(name string) compute.Builder { return &lateBuilder{b.Backend.Builder(name), b} }
func (b *late) HasSharedBuffers() bool              { return false }
func (b *late) NewSharedBuffer(compute.DeviceNum, shapes.Shape) (compute.Buffer, any, error) {
	return nil, nil, errors.New("late buffers are not shared")
}

func (b *late) BufferFromFlatData(d compute.DeviceNum, flat any, s shapes.Shape) (compute.Buffer, error) {
	inner, err := b.Backend.BufferFromFlatData(d, flat, s)
	ready := make(chan struct{})
	close(ready)
	return &lateBuffer{b: b, shape: s, ready: ready, inner: inner}, err
}

type lateBuilder struct {
	compute.Builder
	b *late
}

func (l *lateBuilder) Compile() (compute.Executable, error) {
	e, err := l.Builder.Compile()
	return &lateExecutable{e, l.b}, err
}

type lateExecutable struct {
	compute.Executable
	b *late
}

func (e *lateExecutable) Execute(in []compute.Buffer, donate []bool, d compute.DeviceNum) ([]compute.Buffer, error) {
	b, ready := e.b, make(chan struct{})
	var out []compute.Buffer
	for _, s := range e.Outputs() {
		out = append(out, &lateBuffer{b: b, shape: s, ready: ready})
	}
	b.mu.Lock()
	b.handed++
	fails := b.handed == b.failing
	b.unfinished = append(b.unfinished, ready)
	var oldest chan struct{}
	if len(b.unfinished) > b.inFlight {
		oldest, b.unfinished = b.unfinished[0], b.unfinished[1:]
	}
	b.mu.Unlock()
	b.work <- func() {
		defer close(ready)
		inputs, err := make([]compute.Buffer, len(in)), error(nil)
		for i, x := range in {
			inputs[i] = x.(*lateBuffer).inner
			err = errors.Join(err, x.(*lateBuffer).err)
		}
		if fails {
			err = errors.New("the device failed")
		}
		var results []compute.Buffer
		if err == nil {
			results, err = e.Executable.Execute(inputs, donate, d)
		}
		for i, o := range out {
			o := o.(*lateBuffer)
			if o.err = err; err == nil {
				o.inner = results[i]
			}
		}
	}
	if oldest != nil {
		<-oldest
	}
	return out, nil
}

type lateBuffer struct {
	b     *late
	shape shapes.Shape
	ready chan struct{} // closed when inner or err is set
	inner compute.Buffer
	err   error
}

func (l *lateBuffer) Backend() compute.Backend              { return l.b }
func (l *lateBuffer) Shape() (shapes.Shape, error)          { return l.shape, nil }
func (l *lateBuffer) DeviceNum() (compute.DeviceNum, error) { return 0, nil }
func (l *lateBuffer) Data() (any, error)                    { return nil, errors.New("late buffers are not shared") }
func (l *lateBuffer) CopyToDevice(compute.DeviceNum) (compute.Buffer, error) {
	return nil, errors.New("there is one device")
}

// Finalize frees the buffer when all that was handed over before has run.
func (l *lateBuffer) Finalize() error {
	l.b.work <- func() {
		if l.inner != nil {
			_ = l.inner.Finalize()
		}
	}
	return nil
}

func (l *lateBuffer) ToFlatData(flat any) error {
	l.b.mu.Lock()
	l.b.atRead = append(l.b.atRead, l.b.handed)
	l.b.mu.Unlock()
	if <-l.ready; l.err != nil {
		return l.err
	}
	return l.inner.ToFlatData(flat)
}

// counts returns how many executions were handed over, and how many had been at each read, and begins again.
func (b *late) counts() (handed int, atRead []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	handed, atRead = b.handed, b.atRead
	b.handed, b.atRead = 0, nil
	return handed, atRead
}

func lateSession(t *testing.T, inFlight int, s Settings) (*Session, *late) {
	t.Helper()
	e, b := lateEngine(t, inFlight)
	s.Optimizer = optim.Mirror().Schedule(optim.Triangular(1, 0))
	x, err := New(e, small(t, 120, 47), s)
	if err != nil {
		t.Fatal(err)
	}
	x.test = 10
	return x, b
}

// Whether an engine waits for its steps makes no difference to any number: of the run, its study, its weights.
func TestStepsThatAreNotAwaitedGiveTheSameBits(t *testing.T) {
	now := session(t, small(t, 120, 47), quick)
	now.test = 10
	var want, saved string
	for _, inFlight := range []int{-1, 0, 2, 1000} {
		x := now
		if inFlight >= 0 {
			x, _ = lateSession(t, inFlight, quick)
		}
		r := quickRun(x, 3)
		r.Study = true
		out, err := x.Run(t.Context(), r, nil, Silent{})
		if err != nil {
			t.Fatal(err)
		}
		out.Seconds, out.Rate, out.Study.Seconds = 0, 0, 0
		for i := range out.Records {
			out.Records[i].Seconds, out.Records[i].Rate, out.Records[i].Elapsed = 0, 0, 0
		}
		got, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		if inFlight < 0 {
			want, saved = string(got), weights(t, x)
		} else if string(got) != want || weights(t, x) != saved {
			t.Errorf("%d in flight: %s, want %s", inFlight, got, want)
		}
		x.Close()
	}
}

// An interrupt stops a run at the step it comes, and what is saved then is the state after that step.
func TestAnInterruptStopsBeforeTheNextStep(t *testing.T) {
	var saved []string
	for _, inFlight := range []int{0, 2} {
		x, b := lateSession(t, inFlight, quick)
		r := quickRun(x, 2)
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		b.counts()
		ctx, cancel := context.WithCancel(t.Context())
		_, err := x.Train(ctx, r, 0, func(steps int) {
			if steps == 4 {
				cancel()
			}
		})
		if handed, _ := b.counts(); !errors.Is(err, context.Canceled) || handed != 4 {
			t.Errorf("%d steps handed over, %v", handed, err)
		}
		saved = append(saved, weights(t, x))
	}
	if saved[0] != saved[1] {
		t.Error("the states differ")
	}
}

// A step that fails ends the epoch where its results are read, at the latest, and an error of a call names the step.
func TestAStepThatFailsLateEndsTheEpoch(t *testing.T) {
	x, b := lateSession(t, 2, quick)
	r := quickRun(x, 2)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	b.counts()
	b.failing = 3
	if _, err := x.Train(t.Context(), r, 0, func(int) {}); err == nil || !strings.Contains(err.Error(),
		"the device failed") {
		t.Errorf("error %v", err)
	}
	x.step[0].Finalize() // a step that cannot be called
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Train(t.Context(), r, 1, func(int) {}); err == nil || !strings.Contains(err.Error(),
		"epoch 2, step 1 of 6: ") {
		t.Errorf("error %v", err)
	}
}

// An evaluation keeps the engine busy: when it reads the answers to a batch, the next two are handed over.
func TestAnEvaluationHandsOverBeforeItReads(t *testing.T) {
	x, b := lateSession(t, 2, quick)
	if err := x.Start(quickRun(x, 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Evaluate(t.Context(), false); err != nil { // compiles
		t.Fatal(err)
	}
	for _, flip := range []bool{false, true} {
		b.counts()
		var images []int
		_, margins, err := x.evaluate(t.Context(), x.testSample(), flip, func(n int) { images = append(images, n) })
		if err != nil || len(margins) != 47 || fmt.Sprint(images) != "[10 10 10 10 7]" {
			t.Errorf("%d margins, batches %v, %v", len(margins), images, err)
		}
		want := "5 [3 4 5 5 5]"
		if flip {
			want = "10 [6 6 8 8 10 10 10 10 10 10]"
		}
		if handed, atRead := b.counts(); fmt.Sprintln(handed, atRead) != want+"\n" {
			t.Errorf("%d handed over, at the reads %v; want %s", handed, atRead, want)
		}
	}
}

// The plan that is drawn while the last steps run is the one of the next epoch, and no other's.
func TestThePlanDrawnAheadIsTheNextEpochs(t *testing.T) {
	x := session(t, small(t, 120, 47), quick)
	r := quickRun(x, 2)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	for epoch := range r.Epochs {
		epochs(t, x, r, epoch, epoch+1)
		last := epoch+1 == r.Epochs
		if x.next.epoch != epoch+2 && !last || x.next.plan != nil && last {
			t.Errorf("after epoch %d: plan of %d", epoch+1, x.next.epoch)
		}
	}
	x.drawNext(r.Seed, 2)
	for _, c := range []drawn{{seed: r.Seed + 1, epoch: 2}, {seed: r.Seed, epoch: 3}, {seed: r.Seed, epoch: 2}} {
		if _, err := x.setPlan(c.seed, c.epoch); err != nil {
			t.Fatal(err)
		}
		v, err := x.store.GetVariable(planVar).Value()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := v.Value(), x.drawPlan(120, c.seed, c.epoch); fmt.Sprint(got) != fmt.Sprint(nested(want)) {
			t.Errorf("seed %d, epoch %d: another plan", c.seed, c.epoch)
		}
		x.drawNext(r.Seed, 2)
	}
}

// nested is a plan in the shape of the variable.
func nested(plan []int32) [][][]int32 {
	var out [][][]int32
	for len(plan) > 0 {
		var batch [][]int32
		for range quick.Batch {
			batch, plan = append(batch, plan[:planWidth]), plan[planWidth:]
		}
		out = append(out, batch)
	}
	return out
}
