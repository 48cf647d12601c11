package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
)

const (
	maxAttempts   = 3        // a run that fails is retried twice
	maxDeliveries = 20       // a run that was delivered more often probably kills its workers
	freeSpace     = 32 << 20 // bytes that must be free for a run to start
	maxLanes      = 4        // engines that share a GPU; more runs at a time share an engine
)

// store is where a worker puts its results: the sweep's folder, or the object store.
type store interface {
	has(ctx context.Context, t task) (bool, error)
	fetch(ctx context.Context, t task, work string) error      // the checkpoint of another worker, if there is one
	checkpoint(ctx context.Context, t task, work string) error // sends one
	deliver(ctx context.Context, t task, dir string) error
	work(t task) string // where the run is running
}

// worker takes runs from the queue and runs them.
type worker struct {
	name  string
	q     *queue
	store store
	place Place
	jobs  int
	env   *command.Env

	rates sharedRates

	mu      sync.Mutex
	running map[string]context.CancelFunc // cancels a run, by plan and run
}

// run works until the context ends or, if idle is not 0, until the queue has been empty for idle.
func (w *worker) run(ctx context.Context, idle time.Duration) error {
	w.running = map[string]context.CancelFunc{}
	var wg sync.WaitGroup
	errs := make(chan error, w.jobs)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go w.watchStops(ctx)
	for i := range w.jobs {
		lanes := min(w.jobs, maxLanes)
		wg.Go(func() {
			if err := w.loop(ctx, w.env.Lane(i%lanes, lanes), idle); err != nil && ctx.Err() == nil {
				errs <- err
				cancel()
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// networkJobs is how many networks run at a time by default. A CPU is full with one.
func networkJobs(engineName string) int {
	if engine.First(engineName) == engine.CUDA {
		return engine.Lanes()
	}
	return 1
}

// loop runs one run after another, in an environment of its own.
func (w *worker) loop(ctx context.Context, env *command.Env, idle time.Duration) error {
	r := newRunner(w.place, env)
	r.rates = &w.rates
	defer r.close()
	last := time.Now()
	for ctx.Err() == nil {
		if err := room(w.store.work(task{})); err != nil {
			w.env.Say("%v: no run starts until there is", err)
			sleep(ctx, 5*time.Second)
			continue
		}
		// short: a request that a restarting server lost is soon repeated
		wait, stop := context.WithTimeout(ctx, 2*time.Second)
		msg, err := w.q.runs.Next(jetstream.FetchContext(wait))
		stop()
		switch {
		case err == nil:
			w.handle(ctx, r, msg)
			last = time.Now()
		case ctx.Err() != nil:
		case errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, jetstream.ErrNoMessages):
			if idle > 0 && time.Since(last) > idle {
				return nil
			}
			if err := w.q.refuse(ctx); err != nil {
				return err
			}
		default: // the server is gone or lost the queue: the coordinator creates it again
			sleep(ctx, time.Second)
		}
	}
	return nil
}

// handle runs a run and acknowledges its message in the end. Until then it reports now and then that the run is
// running.
func (w *worker) handle(ctx context.Context, r *runner, msg jetstream.Msg) {
	t, err := readTask(msg.Data())
	if err != nil {
		w.env.Say("a message in the queue is not a run: %v", err)
		msg.Term()
		return
	}
	meta, err := msg.Metadata()
	if err != nil {
		msg.Nak()
		return
	}
	done, err := w.store.has(ctx, t)
	if err != nil {
		msg.NakWithDelay(time.Second)
		return
	}
	if done {
		msg.Ack()
		return
	}
	if meta.NumDelivered > maxDeliveries {
		w.reportFailure(ctx, t, msg, fmt.Errorf("%d workers took it and stopped answering", maxDeliveries), maxAttempts)
		return
	}
	key := t.Plan + "." + t.Run.ID
	run, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	w.running[key] = cancel
	w.mu.Unlock()
	announced := w.beat(run, t, msg)
	err = w.execute(run, r, t)
	cancel()
	<-announced
	w.mu.Lock()
	delete(w.running, key)
	w.mu.Unlock()
	if err == nil {
		w.answer(msg.Ack)
		return
	}
	w.failed(ctx, t, msg, err)
}

// beat reports that the run is running, until its context ends: to the queue, which else delivers it to another worker,
// and to the user.
func (w *worker) beat(ctx context.Context, t task, msg jetstream.Msg) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		began := time.Now()
		if sleep(ctx, min(time.Second, w.q.wait/3)) != nil {
			return // most linear runs are over
		}
		before := w.q.progress(ctx, t.Plan, t.Run.ID)
		p := progress{State: "running", Worker: w.name, Since: began, Attempts: before.Attempts, Error: before.Error}
		every := min(10*time.Second, w.q.wait/3)
		saved, busy, sent := "", false, make(chan string, 1)
		for {
			msg.InProgress()
			w.q.report(ctx, t.Plan, t.Run.ID, p)
			select {
			case saved = <-sent:
				busy = false
			default:
			}
			if now := newestCheckpoint(w.store.work(t)); now != saved && !busy {
				busy = true
				go func(before string) { // in the background: on a slow line it takes longer than the queue waits
					if w.store.checkpoint(ctx, t, w.store.work(t)) != nil {
						now = before
					}
					sent <- now
				}(saved)
			}
			if sleep(ctx, every) != nil {
				if busy {
					<-sent
				}
				p.State = "waiting" // the next worker reports more
				late, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
				w.q.report(late, t.Plan, t.Run.ID, p)
				stop()
				return
			}
		}
	}()
	return done
}

func newestCheckpoint(work string) string {
	all, _ := filepath.Glob(filepath.Join(work, "run", "checkpoints", "*"))
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// execute runs the run and delivers its result.
func (w *worker) execute(ctx context.Context, r *runner, t task) error {
	work := w.store.work(t)
	if err := w.store.fetch(ctx, t, work); err != nil && ctx.Err() == nil {
		w.env.Say("%v: its checkpoint cannot be fetched, it starts from the beginning: %v", t.Run, err)
	}
	dir, err := r.run(ctx, t.Run, work)
	if err != nil {
		return err
	}
	for { // a result is never dropped because the server is gone
		err := w.store.deliver(ctx, t, dir)
		if err == nil {
			return os.RemoveAll(work)
		}
		if ctx.Err() != nil || isFull(err) {
			return err
		}
		w.env.Say("%v: its result cannot be delivered yet: %v", t.Run, err)
		sleep(ctx, 2*time.Second)
	}
}

// failed acknowledges the message of a run that failed or was stopped.
func (w *worker) failed(ctx context.Context, t task, msg jetstream.Msg, err error) {
	final := permanent{}
	switch {
	case ctx.Err() != nil, errors.Is(err, context.Canceled): // this worker stops: another may resume the run
		late, stop := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer stop()
		if newestCheckpoint(w.store.work(t)) != "" {
			if err := w.store.checkpoint(late, t, w.store.work(t)); err != nil {
				w.env.Say("%v: its checkpoint was not delivered: %v", t.Run, err)
			}
		}
		w.answer(msg.Nak)
		return
	case isFull(err):
		w.env.Say("%v: %v: it runs again when there is disk space", t.Run, err)
		msg.NakWithDelay(5 * time.Second)
		return
	case errors.As(err, &final):
		w.reportFailure(ctx, t, msg, err, 1)
		return
	}
	p := w.q.progress(ctx, t.Plan, t.Run.ID)
	p.Attempts++
	if p.Attempts >= maxAttempts {
		w.reportFailure(ctx, t, msg, err, p.Attempts)
		return
	}
	w.env.Say("%v: attempt %d of %d failed: %v", t.Run, p.Attempts, maxAttempts, err)
	p.State, p.Worker, p.Error, p.Since = "waiting", w.name, err.Error(), time.Now()
	w.q.report(ctx, t.Plan, t.Run.ID, p)
	msg.NakWithDelay(200 * time.Millisecond)
}

// reportFailure reports a run as failed. The run leaves the queue only once the server has recorded that.
func (w *worker) reportFailure(ctx context.Context, t task, msg jetstream.Msg, err error, n int) {
	if late := w.q.report(ctx, t.Plan, t.Run.ID, progress{State: "failed", Worker: w.name, Since: time.Now(), Attempts: n,
		Error: err.Error()}); late != nil {
		msg.Nak()
		return
	}
	w.answer(msg.Ack)
}

// answer acknowledges a message. If that is lost, the run is delivered again, and found to be done.
func (w *worker) answer(send func() error) {
	if err := send(); err != nil {
		w.env.Say("the queue does not answer: %v", err)
	}
}

// watchStops ends the runs of sweeps that are told to stop.
func (w *worker) watchStops(ctx context.Context) {
	watch, err := w.q.state.WatchFiltered(ctx, []string{"*.stop"}, jetstream.UpdatesOnly())
	if err != nil {
		return
	}
	defer watch.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-watch.Updates():
			if !ok {
				return
			}
			if e == nil || e.Operation() != jetstream.KeyValuePut {
				continue
			}
			plan := strings.TrimSuffix(e.Key(), ".stop")
			w.mu.Lock()
			for key, cancel := range w.running {
				if strings.HasPrefix(key, plan+".") {
					cancel()
				}
			}
			w.mu.Unlock()
		}
	}
}

// isFull reports whether an error is that of a full disk.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, errFull) }

var errFull = errors.New("the disk is full")

// room returns an error if the disk that holds dir is nearly full.
func room(dir string) error {
	for {
		free, ok := command.FreeBytes(dir)
		if ok {
			if free < freeSpace {
				return fmt.Errorf("%s: %w: %d MB are free, a run needs %d", dir, errFull, free>>20, freeSpace>>20)
			}
			return nil
		}
		up := filepath.Dir(dir)
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || up == dir {
			return nil
		}
		dir = up
	}
}

// local is the store of workers in the sweep's own process.
type local struct {
	Folder
	done func(*Spec)
}

func (l local) has(_ context.Context, t task) (bool, error) { return l.Folder.has(t.Run), nil }

func (l local) fetch(context.Context, task, string) error { return nil } // it is already in the folder

func (l local) checkpoint(context.Context, task, string) error { return nil }

func (l local) work(t task) string {
	if t.Run == nil {
		return l.path("work")
	}
	return l.Folder.work(t.Run)
}

func (l local) deliver(_ context.Context, t task, dir string) error {
	err := l.place(t.Run, dir)
	if err == nil {
		l.done(t.Run)
	}
	return err
}

// remote is the store of workers on other machines, with a scratch folder of their own.
type remote struct {
	q       *queue
	scratch string
}

func (r remote) work(t task) string {
	if t.Run == nil {
		return r.scratch
	}
	return filepath.Join(r.scratch, t.Plan, t.Run.Folder())
}

func (r remote) has(ctx context.Context, t task) (bool, error) {
	return r.q.has(ctx, object(t.Plan, t.Run.ID))
}

func (r remote) fetch(ctx context.Context, t task, work string) error {
	if t.Run.Job != "train" {
		return nil
	}
	name := checkpoint(t.Plan, t.Run.ID)
	latest, err := r.q.latest(ctx, name)
	// names grow with the epochs: ours is as new, or there is none
	if err != nil || latest <= filepath.Base(newestCheckpoint(work)) {
		return err
	}
	if err := os.RemoveAll(filepath.Join(work, "run")); err != nil {
		return err
	}
	return r.q.receive(ctx, name, filepath.Join(work, "run"))
}

func (r remote) checkpoint(ctx context.Context, t task, work string) error {
	ours := filepath.Base(newestCheckpoint(work))
	if ours == "." { // there is none
		return nil
	}
	name := checkpoint(t.Plan, t.Run.ID)
	// another worker took over while this one was disconnected, and has a newer checkpoint
	if latest, err := r.q.latest(ctx, name); err != nil || latest > ours {
		return err
	}
	return r.q.send(ctx, name, filepath.Join(work, "run"), ours)
}

func (r remote) deliver(ctx context.Context, t task, dir string) error {
	name := object(t.Plan, t.Run.ID)
	if there, err := r.q.has(ctx, name); err != nil || there { // another worker took over and was faster
		return err
	}
	if err := r.q.send(ctx, name, dir, ""); err != nil {
		return err
	}
	if t.Run.Job == "train" {
		r.q.results.Delete(ctx, checkpoint(t.Plan, t.Run.ID)) // if this fails, it is removed with the rest, later
	}
	return nil
}
