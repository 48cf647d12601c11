package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/runlog"
)

// tell reports that a run has ended.
func (c *coordinator) tell(ctx context.Context, e event) {
	select {
	case c.events <- e:
	case <-ctx.Done():
	}
}

// lookEvery is how often the coordinator looks for lost messages.
const lookEvery = 5 * time.Second

// gather collects results until no run is open. Now and then it looks for lost messages and refreshes the report.
func (c *coordinator) gather(ctx context.Context, watchAgain func()) error {
	c.bar = c.env.Bar("sweep "+c.plan.File.Name, int64(c.done+c.failed), int64(len(c.plan.Runs)))
	defer c.bar.End()
	check := time.NewTicker(lookEvery)
	defer check.Stop()
	reported, at, reconnected := c.done, time.Now(), false
	for len(c.open) > 0 {
		c.bar.Set(int64(c.done+c.failed), "")
		select {
		case e := <-c.events:
			if err := c.ended(e); err != nil {
				return err
			}
		case <-c.q.back:
			check.Reset(500 * time.Millisecond) // the server may have lost everything
			reconnected = true
		case <-check.C:
			check.Reset(lookEvery)
			if c.q.server != nil && !c.q.server.JetStreamEnabled() {
				return errQueueLost
			}
			if err := c.reconcile(ctx); err != nil && ctx.Err() == nil {
				c.env.Say("the queue: %v", err)
			} else if reconnected {
				watchAgain()
				reconnected = false
			}
			if c.done > reported && time.Since(at) > 30*time.Second {
				reported, at = c.done, time.Now()
				if err := c.report(); err != nil {
					c.env.Say("the report: %v", err)
				}
			}
		case <-ctx.Done():
			if cause := context.Cause(ctx); c.shared() && (errors.Is(cause, errStopped) || errors.Is(cause, errTimeUp)) {
				stopPlan(c.q, c.plan.ID)
			}
			return ctx.Err()
		}
	}
	return nil
}

// ended counts a run that is done or has failed, once.
func (c *coordinator) ended(e event) error {
	if !c.open[e.run.ID] {
		return nil
	}
	if e.failure != nil {
		if err := c.writeFailure(*e.failure); isFull(err) {
			c.env.Say("%v", err)
			return nil // it is still open: reconcile handles it later
		} else if err != nil {
			return err
		}
		delete(c.open, e.run.ID)
		c.failed++
		c.env.Say("%v: failed after %s: %s", e.run, render.Count(e.failure.Attempts, "attempt"), e.failure.Error)
		return nil
	}
	r, ok := c.Result(e.run)
	if !ok {
		return c.removeTorn(e.run) // it is still open: reconcile queues it again
	}
	delete(c.open, e.run.ID)
	c.done++
	if why, bad := r.Diverged(); bad {
		c.env.Say("%d of %d: %v diverged: %s", c.done, len(c.plan.Runs), e.run, why)
	} else if v, ok := c.number(e.run, r, c.plan.File.Metric); ok && c.plan.File.Job == "train" {
		c.env.Say("%d of %d: %v: %s %.5g", c.done, len(c.plan.Runs), e.run, c.plan.File.Metric, v)
	}
	c.unrecorded = append(c.unrecorded, e.run)
	if err := c.record(); err != nil {
		c.env.Say("%v: its row is not in %s yet: %v", e.run, c.Results, err) // at the end it is tried again
	}
	return c.run.Append(c.metricLine(e.run, r))
}

// endedLast counts the runs that ended while the sweep was interrupted: their rows must not wait for the next start,
// which may be without this folder.
func (c *coordinator) endedLast() error {
	for _, s := range c.plan.Runs {
		if c.open[s.ID] && c.HasFolder(s) {
			if err := c.ended(event{run: s}); err != nil {
				return err
			}
		}
	}
	return nil
}

// reconcile queues every open run that is not queued. A run that is neither queued nor here was lost with the server,
// or its result is on its way.
func (c *coordinator) reconcile(ctx context.Context) error {
	if len(c.open) == 0 {
		return nil
	}
	queued, err := c.q.queued(ctx, c.plan)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrNoStreamResponse) {
		if err = c.q.create(ctx, c.Replicas, c.LostAfter); err == nil {
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

// unknown returns those of the runs that have not ended as far as the server knows.
func (c *coordinator) unknown(ctx context.Context, runs []*Spec) ([]*Spec, error) {
	if len(runs) > 1000 { // the first time, of a large sweep: gatherAll and the watch of the states handle them
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

// fetch copies a run from another machine, unless it is being copied already.
func (c *coordinator) fetch(ctx context.Context, s *Spec) {
	if _, busy := c.coming.LoadOrStore(s.ID, true); busy {
		return
	}
	defer c.coming.Delete(s.ID)
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
				c.env.Say("%v: its result cannot be fetched yet: %v", s, err)
			}
			if bad := (*corrupt)(nil); errors.As(err, &bad) {
				c.discard(ctx, bad)
			}
			return // reconcile tries again
		}
	}
	c.tell(ctx, event{run: s})
}

// discard removes a result that is corrupt for the second time, so that the run is repeated. Its worker may do so
// first.
func (c *coordinator) discard(ctx context.Context, bad *corrupt) {
	if before, again := c.corrupt.Swap(bad.name, bad.id); !again || before != bad.id {
		return
	}
	if err := c.q.remove(ctx, bad.name, func(o *jetstream.ObjectInfo) bool { return o.NUID == bad.id }); err != nil {
		c.env.Say("%s: %v", bad.name, err)
	}
}

// gatherAll fetches the results that the server already has.
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
				c.env.Say("%v: %v", e.run, err)
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
		c.env.Say("checking for results every five seconds only: %v", err)
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

// watchStates follows what workers report: which runs are running, for running.json, and which failed.
func (c *coordinator) watchStates(ctx context.Context) {
	watch, err := c.q.state.Watch(ctx, c.plan.ID+".*")
	if err != nil {
		c.env.Say("checking the states of runs every five seconds only: %v", err)
		return
	}
	defer watch.Stop()
	running := map[string]active{}
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
			for _, a := range running {
				list = append(list, a)
			}
			slices.SortFunc(list, func(a, b active) int { return a.Since.Compare(b.Since) })
			data, _ := json.Marshal(list)
			if err := runlog.WriteFile(c.path("running.json"), data); err != nil {
				c.env.Say("%v", err)
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
			delete(running, s.ID)
			switch p.State {
			case "running":
				running[s.ID] = active{s.ID, s.String(), p.Worker, p.Since}
			case "failed":
				c.tell(ctx, event{s, c.failure(s, p)})
			}
		}
	}
}

// sharedStore is the store of workers in the process of a sweep that other machines take part in: they must see that a
// run is done.
type sharedStore struct {
	local
	q *queue
}

// Checkpoints are exchanged, too: the next worker resumes the run from its checkpoint.
func (s sharedStore) fetch(ctx context.Context, t task, work string) error {
	return remote{q: s.q}.fetch(ctx, t, work)
}

func (s sharedStore) checkpoint(ctx context.Context, t task, work string) error {
	return remote{q: s.q}.checkpoint(ctx, t, work)
}

func (s sharedStore) has(ctx context.Context, t task) (bool, error) {
	if there, _ := s.local.has(ctx, t); there {
		return true, nil
	}
	return s.q.has(ctx, object(t.Plan, t.Run.ID))
}

// stopPlan removes a sweep from the queue and tells workers to stop its runs.
func stopPlan(q *queue, plan string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(q.stream.Purge(ctx, jetstream.WithPurgeSubject(q.subject(plan, "*"))), func() error {
		_, err := q.state.PutString(ctx, plan+".stop", time.Now().Format(time.RFC3339))
		return err
	}())
}
