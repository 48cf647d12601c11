package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/bregman-ml/bregman/job"
	"github.com/bregman-ml/bregman/runlog"
)

// coordinator sees a sweep through: it queues what is not done, gathers what comes back, and writes the report.
type coordinator struct {
	Options
	Folder
	plan *Plan
	con  *job.Console
	run  *runlog.Run
	q    *queue
	byID map[string]*Spec

	events  chan event
	unwatch context.CancelFunc // of the watch under way
	open    map[string]bool    // runs neither done nor given up
	done    int
	given   int  // given up
	torn    bool // metrics.jsonl has lost lines to a full disk
	bar     *job.Bar
}

// Options are how a sweep is run, which is no part of what it is.
type Options struct {
	Place      `kong:"embed"`
	Connection `kong:"embed"`
	Jobs       int           `kong:"default='-1',help='Runs at a time in this process; default one for networks, as many as cores for linear jobs, none with --nats.'"`
	Listen     string        `kong:"placeholder='HOST:PORT',help='Let workers of other machines join: listen here with the embedded NATS server.'"`
	LostAfter  time.Duration `kong:"default='30s',help='A worker that is silent for so long is taken for dead, and its run goes to another.'"`
}

// Check returns the first thing wrong with the options.
func (o *Options) Check() error {
	switch {
	case o.NATS != "" && o.Listen != "":
		return errors.New("--nats and --listen: either another's server or the embedded one")
	case o.LostAfter < 500*time.Millisecond:
		return fmt.Errorf("--lost-after %v: want at least 500ms", o.LostAfter)
	case o.Jobs < -1 || o.Jobs > 4096:
		return fmt.Errorf("--jobs %d: want a number of runs", o.Jobs)
	case !slices.Contains([]int{1, 3, 5}, o.Replicas):
		return fmt.Errorf("--replicas %d: want 1, 3 or 5", o.Replicas)
	}
	return nil
}

// event is a run that came to its end.
type event struct {
	run     *Spec
	failure *failure // nil: done
}

// Outcome is how a sweep ended.
type Outcome struct {
	Folder  string
	Runs    int
	Done    int
	Failed  []failure
	Seconds float64
}

// sweep runs a plan in a folder, which is locked for this process, until every run is done or given up.
func sweep(ctx context.Context, con *job.Console, plan *Plan, dir string, o Options) (Outcome, error) {
	c := &coordinator{Options: o, Folder: Folder{dir}, plan: plan, con: con, byID: map[string]*Spec{}, events: make(chan event, 256), open: map[string]bool{}}
	begin := time.Now()
	if err := c.take(); err != nil {
		return Outcome{}, err
	}
	os.Remove(c.path("stop"))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go c.watchStop(ctx, cancel)
	err := c.work(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		err = errStopped
	}
	out := Outcome{Folder: dir, Runs: len(plan.Runs), Done: c.done, Seconds: time.Since(begin).Seconds()}
	for _, f := range c.failures(plan) {
		out.Failed = append(out.Failed, f)
	}
	slices.SortFunc(out.Failed, func(a, b failure) int { return strings.Compare(a.Run, b.Run) })
	os.Remove(c.path("running.json"))
	if c.done > 0 {
		err = errors.Join(err, c.mendMetrics(), writeReport(c.run, c.Folder, plan))
	}
	return out, c.run.Finish(err, ctx.Err() != nil)
}

// errStopped is how a sweep ends that `bregman sweep stop` ended.
var errStopped = errors.New("stopped: go on with “bregman sweep resume”")

// take locks the folder and finds what is done.
func (c *coordinator) take() (err error) {
	info := runlog.Info{Command: "sweep", Settings: c.plan.File, Seed: c.plan.File.Seed, Engine: c.Engine, Version: c.plan.Version}
	if old, err := c.readPlan(); err == nil && old.Version != c.plan.Version && len(c.names("trials")) > 0 {
		return fmt.Errorf("%s: its runs were made by bregman %s, this is %s: versions do not mix in a sweep. Finish it with that version, or choose another folder with --out", c.Dir, old.Version, c.plan.Version)
	}
	var lines []any
	for _, s := range c.plan.Runs {
		c.byID[s.ID] = s
		if r, ok := c.result(s); ok {
			lines = append(lines, metricLine(s, r))
			c.done++
		}
	}
	for try := 0; ; try++ { // somebody may be looking at the lock for an instant
		if _, err = os.Stat(c.path("run.json")); err == nil {
			c.run, err = runlog.Resume(c.Dir, lines)
		} else if c.run, err = runlog.CreateAt(c.Dir, info); err != nil {
			err = fmt.Errorf("%w (a folder that is no sweep? choose another with --out)", err)
		}
		if busy := (*runlog.BusyError)(nil); !errors.As(err, &busy) || try == 5 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	c.run.Info.Settings, c.run.Info.Version = c.plan.File, c.plan.Version
	if err := c.writePlan(c.plan); err != nil {
		return errors.Join(err, c.run.Finish(err, false))
	}
	failed := c.failures(c.plan)
	for _, s := range c.plan.Runs {
		if _, bad := failed[s.ID]; bad && !c.has(s) {
			c.given++
		} else if !c.has(s) {
			c.open[s.ID] = true
		}
	}
	return nil
}

func metricLine(s *Spec, r Result) map[string]any {
	return map[string]any{"run": s.Folder(), "settings": s.Settings, "seed": s.Seed, "result": r}
}

// watchStop ends the sweep when somebody asks for it.
func (c *coordinator) watchStop(ctx context.Context, cancel context.CancelCauseFunc) {
	for sleep(ctx, 200*time.Millisecond) == nil {
		if _, err := os.Stat(c.path("stop")); err == nil {
			cancel(errStopped)
			return
		}
	}
}

// jobs is how many runs are made here at a time: networks use the whole of a GPU, or of the processor, one by one.
func (c *coordinator) jobs() int {
	switch {
	case c.Jobs >= 0:
		return c.Jobs
	case c.NATS != "":
		return 0
	case c.plan.File.Job == "train":
		return 1
	}
	return cores()
}

// work makes the open runs.
func (c *coordinator) work(ctx context.Context) (err error) {
	if len(c.open) == 0 {
		return nil
	}
	for {
		err = c.session(ctx)
		if ctx.Err() != nil || !errors.Is(err, errQueueLost) {
			return err
		}
		// The embedded server gives up its files when the disk is full. Nothing in them is needed: the folder says what is done.
		for ctx.Err() == nil && room(c.Dir) != nil {
			c.con.Say("%v: waiting for room", room(c.Dir))
			sleep(ctx, 5*time.Second)
		}
		if err := os.RemoveAll(c.path("queue")); err != nil {
			return err
		}
	}
}

var errQueueLost = errors.New("the queue is lost")

// session connects, queues and gathers, until nothing is open.
func (c *coordinator) session(ctx context.Context) (err error) {
	if c.q, err = c.connect(ctx); err != nil {
		return err
	}
	defer c.q.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.q.make(ctx, c.Replicas, c.LostAfter); err != nil {
		return err
	}
	if c.q.server != nil && c.Listen == "" {
		if err := c.q.forgetDeliveries(ctx); err != nil {
			return err
		}
	}
	if _, err := c.q.state.Put(ctx, c.plan.ID+".sweep", canonicalJSON(manifest{c.plan.File.Name, c.plan.Version, len(c.plan.Runs)})); err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel() // before waiting
	if c.shared() {
		if err := c.gatherAll(ctx); err != nil {
			return err
		}
	}
	c.watch(ctx, &wg)
	if err := c.reconcile(ctx); err != nil {
		return err
	}
	if n := c.jobs(); n > 0 {
		w := &worker{name: workerName(), q: c.q, store: local{c.Folder, func(s *Spec) { c.tell(ctx, event{run: s}) }}, place: c.Place, jobs: n, say: c.con.Say}
		switch {
		case c.NATS != "": // like any other worker: another coordinator may wait for the result, too
			w.store = remote{c.q, c.path("work")}
		case c.Listen != "":
			w.store = sharedStore{local{c.Folder, func(s *Spec) { c.tell(ctx, event{run: s}) }}, c.q}
		}
		wg.Go(func() { w.run(ctx, 0) })
	} else {
		c.con.Say("waiting for workers: bregman worker --nats %s", c.NATS)
	}
	return c.gather(ctx, func() { c.watch(ctx, &wg) })
}

// watch follows results and states, in place of an earlier watch: one from before the server went takes long to notice.
func (c *coordinator) watch(ctx context.Context, wg *sync.WaitGroup) {
	if c.unwatch != nil {
		c.unwatch()
	}
	ctx, c.unwatch = context.WithCancel(ctx)
	if c.shared() {
		wg.Go(func() { c.watchResults(ctx) })
	}
	wg.Go(func() { c.watchStates(ctx) })
}

// shared says whether other machines take part.
func (c *coordinator) shared() bool { return c.NATS != "" || c.Listen != "" }

func (c *coordinator) connect(ctx context.Context) (*queue, error) {
	if c.NATS != "" {
		return connect(ctx, nil, &c.Connection, c.plan.Version, c.con.Say)
	}
	s, err := startServer(c.path("queue"), c.Listen, &c.Connection)
	if err != nil {
		return nil, err
	}
	if c.Listen != "" {
		c.con.Say("workers join with: bregman worker --nats %s", s.ClientURL())
	}
	return connect(ctx, s, &c.Connection, c.plan.Version, c.con.Say)
}

// tell passes on that a run has ended.
func (c *coordinator) tell(ctx context.Context, e event) {
	select {
	case c.events <- e:
	case <-ctx.Done():
	}
}

// lookEvery is how often the coordinator looks for what was lost on the way.
const lookEvery = 5 * time.Second

// gather takes in what ends until nothing is open. Now and then it looks whether something was lost on the way, and refreshes the report.
func (c *coordinator) gather(ctx context.Context, watchAgain func()) error {
	c.bar = c.con.Bar("sweep "+c.plan.File.Name, int64(len(c.plan.Runs)))
	defer func() { c.bar.Done() }()
	check := time.NewTicker(lookEvery)
	defer check.Stop()
	reported, at, again := c.done, time.Now(), false
	for len(c.open) > 0 {
		c.bar.Set(int64(c.done + c.given))
		select {
		case e := <-c.events:
			if err := c.ended(e); err != nil {
				return err
			}
		case <-c.q.back:
			check.Reset(500 * time.Millisecond) // it may have forgotten everything
			again = true
		case <-check.C:
			check.Reset(lookEvery)
			if c.q.server != nil && !c.q.server.JetStreamEnabled() {
				return errQueueLost
			}
			if err := c.reconcile(ctx); err != nil && ctx.Err() == nil {
				c.con.Say("the queue: %v", err)
			} else if again {
				watchAgain()
				again = false
			}
			if c.done > reported && time.Since(at) > 30*time.Second {
				reported, at = c.done, time.Now()
				if err := writeReport(c.run, c.Folder, c.plan); err != nil {
					c.con.Say("the report: %v", err)
				}
			}
		case <-ctx.Done():
			if c.shared() && errors.Is(context.Cause(ctx), errStopped) {
				stopPlan(c.q, c.plan.ID)
			}
			return ctx.Err()
		}
	}
	return nil
}

// ended counts a run that is done or given up, once.
func (c *coordinator) ended(e event) error {
	if !c.open[e.run.ID] {
		return nil
	}
	if e.failure != nil {
		if err := c.writeFailure(*e.failure); isFull(err) {
			c.con.Say("%v", err)
			return nil // it is still open, and reconcile comes back to it
		} else if err != nil {
			return err
		}
		delete(c.open, e.run.ID)
		c.given++
		c.con.Say("%v: given up after %d: %s", e.run, e.failure.Attempts, e.failure.Error)
		return nil
	}
	r, ok := c.result(e.run)
	if !ok {
		return nil // it is still open, and reconcile queues it again
	}
	delete(c.open, e.run.ID)
	c.done++
	if v, ok := r.number(c.plan.File.Metric); ok && c.plan.File.Job == "train" {
		c.con.Say("%d of %d: %v: %s %.5g", c.done, len(c.plan.Runs), e.run, c.plan.File.Metric, v)
	}
	err := c.run.Append(metricLine(e.run, r))
	if isFull(err) { // perhaps half a line: all are written again in the end
		c.con.Say("%v", err)
		c.torn, err = true, nil
	}
	return err
}

// mendMetrics writes metrics.jsonl again where a full disk has torn it.
func (c *coordinator) mendMetrics() error {
	if !c.torn {
		return nil
	}
	var b []byte
	for _, s := range c.plan.Runs {
		if r, ok := c.result(s); ok {
			b = append(append(b, canonicalJSON(metricLine(s, r))...), '\n')
		}
	}
	return c.run.WriteFile("metrics.jsonl", b)
}

// reconcile queues every open run that is not queued. What is neither open nor queued nor here was lost with the server, or is on its way.
func (c *coordinator) reconcile(ctx context.Context) error {
	if len(c.open) == 0 {
		return nil
	}
	queued, err := c.q.queued(ctx, c.plan)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrNoStreamResponse) {
		if err = c.q.make(ctx, c.Replicas, c.LostAfter); err == nil {
			queued, err = c.q.queued(ctx, c.plan)
		}
	}
	if err != nil {
		return err
	}
	var missing []*Spec
	for _, s := range c.plan.Runs {
		switch {
		case !c.open[s.ID]:
		case c.has(s):
			c.tellLater(ctx, event{run: s})
		case !queued[s.ID]:
			missing = append(missing, s)
		}
	}
	missing, err = c.unknown(ctx, missing)
	if err != nil || len(missing) == 0 {
		return err
	}
	return c.q.publish(ctx, c.plan, missing)
}

// unknown leaves those of the runs that the server knows no end of.
func (c *coordinator) unknown(ctx context.Context, runs []*Spec) ([]*Spec, error) {
	if len(runs) > 1000 { // the first time, of a large sweep: gatherAll and the watch of the states see to them
		return runs, nil
	}
	var out []*Spec
	for _, s := range runs {
		if p := c.q.progress(ctx, c.plan.ID, s.ID); p.State == "failed" {
			c.tellLater(ctx, event{s, c.failure(s, p)})
			continue
		}
		if c.shared() {
			there, err := c.q.has(ctx, object(c.plan.ID, s.ID))
			if err != nil {
				return nil, err
			}
			if there {
				go c.fetch(ctx, s)
				continue
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// tellLater is tell for the goroutine that also reads the events.
func (c *coordinator) tellLater(ctx context.Context, e event) { go c.tell(ctx, e) }

func (c *coordinator) failure(s *Spec, p progress) *failure {
	return &failure{ID: s.ID, Run: s.String(), Error: p.Error, Attempts: p.Attempts, Worker: p.Worker, When: p.Since}
}

// fetch brings a run of another machine here.
func (c *coordinator) fetch(ctx context.Context, s *Spec) {
	if !c.has(s) {
		dir, err := os.MkdirTemp(c.path(), ".incoming-*")
		if err == nil {
			defer os.RemoveAll(dir)
			if err = c.q.receive(ctx, object(c.plan.ID, s.ID), filepath.Join(dir, "run")); err == nil {
				err = c.place(s, filepath.Join(dir, "run"))
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				c.con.Say("%v: its result cannot be had yet: %v", s, err)
			}
			return // reconcile tries again
		}
	}
	c.tell(ctx, event{run: s})
}

// gatherAll fetches what the server has from before.
func (c *coordinator) gatherAll(ctx context.Context) error {
	all, err := c.q.results.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return err
	}
	for _, o := range all {
		if s := c.mine(o.Name); s != nil && c.open[s.ID] {
			c.q.nc.Flush()
			c.fetchNow(ctx, s)
		}
	}
	return nil
}

// fetchNow is fetch for the goroutine that also reads the events.
func (c *coordinator) fetchNow(ctx context.Context, s *Spec) {
	done := make(chan struct{})
	go func() { defer close(done); c.fetch(ctx, s) }()
	for {
		select {
		case e := <-c.events:
			if err := c.ended(e); err != nil {
				c.con.Say("%v: %v", e.run, err)
			}
		case <-done:
			return
		}
	}
}

// mine returns the run whose result an object is; nil for other sweeps' and for checkpoints.
func (c *coordinator) mine(name string) *Spec {
	plan, id, _ := strings.Cut(name, "/")
	if plan != c.plan.ID {
		return nil
	}
	return c.byID[id]
}

// watchResults fetches results as they come.
func (c *coordinator) watchResults(ctx context.Context) {
	watch, err := c.q.results.Watch(ctx, jetstream.UpdatesOnly())
	if err != nil {
		c.con.Say("results are looked for every five seconds only: %v", err)
		return
	}
	defer watch.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case o, ok := <-watch.Updates():
			if !ok {
				return
			}
			if o != nil && !o.Deleted {
				if s := c.mine(o.Name); s != nil {
					c.fetch(ctx, s)
				}
			}
		}
	}
}

// watchStates follows what workers say of runs: who is at work, for running.json, and what was given up.
func (c *coordinator) watchStates(ctx context.Context) {
	watch, err := c.q.state.Watch(ctx, c.plan.ID+".*")
	if err != nil {
		c.con.Say("the states of runs are looked at every five seconds only: %v", err)
		return
	}
	defer watch.Stop()
	under := map[string]active{}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	changed := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !changed {
				continue
			}
			changed = false
			list := []active{}
			for _, a := range under {
				list = append(list, a)
			}
			slices.SortFunc(list, func(a, b active) int { return a.Since.Compare(b.Since) })
			data, _ := json.Marshal(list)
			if err := runlog.WriteFile(c.path("running.json"), data); err != nil {
				c.con.Say("%v", err)
			}
		case e, ok := <-watch.Updates():
			if !ok {
				return
			}
			if e == nil {
				continue
			}
			s := c.byID[strings.TrimPrefix(e.Key(), c.plan.ID+".")]
			var p progress
			if s == nil || json.Unmarshal(e.Value(), &p) != nil {
				continue
			}
			changed = true
			delete(under, s.ID)
			switch p.State {
			case "running":
				under[s.ID] = active{s.ID, s.String(), p.Worker, p.Since}
			case "failed":
				c.tell(ctx, event{s, c.failure(s, p)})
			}
		}
	}
}

// sharedStore is that of workers in the process of a sweep that others take part in: they must see that a run is done.
type sharedStore struct {
	local
	q *queue
}

func (s sharedStore) has(ctx context.Context, t task) (bool, error) {
	if there, _ := s.local.has(ctx, t); there {
		return true, nil
	}
	return s.q.has(ctx, object(t.Plan, t.Run.ID))
}

// stopPlan takes a sweep off the queue and tells workers to leave its runs.
func stopPlan(q *queue, plan string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(q.stream.Purge(ctx, jetstream.WithPurgeSubject(q.subject(plan, "*"))), func() error {
		_, err := q.state.PutString(ctx, plan+".stop", time.Now().Format(time.RFC3339))
		return err
	}())
}
