package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// coordinator runs a sweep to its end: it queues the runs that are not done, gathers their results, and writes the
// report.
type coordinator struct {
	Options
	Folder
	plan *Plan
	lib  Library
	env  *command.Env
	run  *runlog.Run
	q    *queue
	byID map[string]*Spec

	events  chan event
	unwatch context.CancelFunc // ends the current watch
	open    map[string]bool    // runs neither done nor failed
	done    int
	failed  int
	corrupt sync.Map // versions of results that did not arrive complete, by name
	coming  sync.Map // runs whose results are being fetched
	bar     command.Bar

	unrecorded []*Spec // finished runs without a row in the results file
}

// Options are how a sweep is run. They are not part of its identity.
type Options struct {
	Place
	Connection
	command.Labels
	Jobs      int           `default:"-1" role:"place"`
	Listen    string        `placeholder:"HOST:PORT" role:"place"`
	LostAfter time.Duration `default:"30s" role:"place"`
	Results   string        `placeholder:"FILE" role:"place"`
	Minutes   float64       `default:"0" role:"place"`

	began time.Time // when the command started, if the minutes count from there
}

// Texts are the words for its settings.
func (*Options) Texts() settings.Texts {
	return settings.Texts{
		Help: map[string]string{
			"jobs": "Runs at a time in this process; default up to three for networks on a GPU, by " +
				"its memory, and one on a CPU, as many as cores for linear jobs, none with --nats.",
			"listen":     "Let workers of other machines join: listen here with the embedded NATS server.",
			"lost_after": "A worker that is silent for this long counts as dead, and another takes its run.",
			"results": "A results file (see export): a run that has a row there is done, and each run that ends adds one. " +
				"For networks.",
			"minutes": "Stop after so many minutes: no run starts, and networks that are running save a checkpoint. " +
				"0 for no limit.",
		},
	}
}

// Check returns the first thing wrong with the options.
func (o *Options) Check() error {
	if err := o.CheckLabels(); err != nil {
		return err
	}
	switch {
	case o.NATS != "" && o.Listen != "":
		return settings.Errorf("nats", "--nats and --listen: choose an external server or the embedded one")
	case o.LostAfter < 500*time.Millisecond:
		return settings.Errorf("lost_after", "--lost-after %v: want at least 500ms", o.LostAfter)
	case o.Jobs < -1 || o.Jobs > 4096:
		return settings.Errorf("jobs", "--jobs %d: want a number of runs", o.Jobs)
	case o.Jobs == 0 && o.NATS == "" && o.Listen == "":
		return settings.Errorf("jobs", "--jobs 0: nothing would run: add --nats or --listen, or set --jobs 1")
	case !(o.Minutes >= 0 && o.Minutes < 1e6):
		return settings.Errorf("minutes", "--minutes %v: want a number of minutes", o.Minutes)
	case !slices.Contains([]int{1, 3, 5}, o.Replicas):
		return settings.Errorf("replicas", "--replicas %d: want 1, 3 or 5", o.Replicas)
	}
	_, _, err := o.listenAt(o.Listen)
	return err
}

// event is a run that has ended.
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
	Now     int  // how many of Done were done by this process
	TimeUp  bool // --minutes ended it
}

// resumeArgs are the arguments of "sweep resume" or "sweep retry" for the same folder and server. A password in an
// address is not repeated.
func (o Options) resumeArgs(dir string) string {
	line := settings.Quote(dir)
	switch {
	case strings.Contains(o.NATS, "@"):
		line += " --nats URL"
	case o.NATS != "":
		line += " --nats " + settings.Quote(o.NATS)
	case o.Listen != "":
		line += " --listen " + settings.Quote(o.Listen)
	}
	if o.Results != "" {
		line += " --results " + settings.Quote(o.Results)
	}
	if o.Minutes > 0 {
		line += fmt.Sprint(" --minutes ", o.Minutes)
	}
	return line
}

// sweep runs a plan in a folder, which is locked for this process, until every run is done or has failed.
func sweep(ctx context.Context, env *command.Env, plan *Plan, dir string, o Options, lib Library) (Outcome, error) {
	c := &coordinator{Options: o, lib: lib, Folder: Folder{dir}, plan: plan, env: env, byID: map[string]*Spec{},
		events: make(chan event, 256), open: map[string]bool{}}
	begin := time.Now()
	if c.DataDir == "" {
		c.DataDir = plan.DataDir
	}
	c.Jobs = o.jobs(plan.File.Job, len(c.left(plan)))
	if plan.DataDir = command.Absolute(c.DataDir); c.Jobs > 0 {
		if err := c.ready(o.Jobs < 0); err != nil {
			return Outcome{}, err
		}
	}
	if err := c.lockFolder(); err != nil {
		return Outcome{}, err
	}
	os.Remove(c.path("stop"))
	before := c.done
	if err := c.record(); err != nil {
		env.Say("%v", err) // at the end it is tried again
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go c.watchStop(ctx, cancel)
	err := c.work(ctx)
	err = errors.Join(err, c.endedLast())
	out := Outcome{Folder: dir, Runs: len(plan.Runs), Done: c.done, Now: c.done - before,
		Seconds: time.Since(begin).Seconds()}
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errTimeUp):
		err, out.TimeUp = nil, true
	case err != nil && errors.Is(context.Cause(ctx), errStopped):
		err = fmt.Errorf("%w; resume with: bregman sweep resume %s", errStopped, o.resumeArgs(dir))
	// not wrapped: this says more than the program's own message about an interrupt
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = fmt.Errorf("interrupted; resume with: bregman sweep resume %s", o.resumeArgs(dir))
	}
	for id, f := range c.failures(plan) {
		if !c.has(c.byID[id]) {
			out.Failed = append(out.Failed, f)
		}
	}
	slices.SortFunc(out.Failed, func(a, b failure) int { return strings.Compare(a.Run, b.Run) })
	os.Remove(c.path("running.json"))
	err = errors.Join(err, c.record())
	if c.done > 0 {
		err = errors.Join(err, c.report())
	}
	if out.TimeUp {
		c.run.Finish(errors.Join(errTimeUp, err), true)
		return out, err
	}
	return out, c.run.Finish(err, ctx.Err() != nil)
}

// ready checks, before networks are trained here, that the engine starts and that the images exist and are still those
// of the finished runs. How many run at a time is by default as the engine allows.
func (c *coordinator) ready(byDefault bool) error {
	left := c.left(c.plan)
	if c.plan.File.Job != "train" || len(left) == 0 {
		return nil
	}
	e, err := command.OpenEngine(c.env.Lane(0, min(c.Jobs, maxLanes)), c.Engine)
	if err != nil {
		return err
	}
	if byDefault && e.Name != engine.CUDA {
		c.Jobs = 1 // the GPU that was found does not start
	}
	hashes, sizes := map[string]string{}, map[string]int{}
	for _, s := range c.plan.Runs {
		data := s.Settings["data"]
		if size := s.Settings["size"]; size != "" {
			data += " at size " + size
		}
		if _, ok := hashes[data]; !ok {
			set, err := command.LoadImages(s.Settings, c.DataDir)
			if err != nil {
				return err
			}
			hashes[data], sizes[data] = set.Hash, set.Train.Len()
			_ = set.Close() // it was only read
		}
		if batch := trials.Float(s.Settings["batch"]); batch > float64(sizes[data]) {
			return fmt.Errorf("%v: batch = %v: %s has %d training images", s, batch, data, sizes[data])
		}
		if info, err := runlog.ReadInfo(c.Trial(s)); err == nil && info.DataHash != "" && info.DataHash != hashes[data] {
			return fmt.Errorf("%s: the data have changed: %s has the hash %.12s…, finished runs had %.12s…: restore the old "+
				"data, or choose another folder", c.Dir, data, hashes[data], info.DataHash)
		}
	}
	return nil
}

// report writes the report of what is done.
func (c *coordinator) report() error {
	v, err := c.lib.view(c.Folder, c.plan)
	if err != nil {
		return err
	}
	return v.Write(c.run)
}

// errTimeUp is the cause of a sweep's end after --minutes.
var errTimeUp = errors.New("the minutes are up")

// errStopped is the error of a sweep that `bregman sweep stop` ended.
var errStopped = errors.New("stopped")

// lockFolder locks the folder and finds what is done.
func (c *coordinator) lockFolder() (err error) {
	info := runlog.Info{Command: "sweep", Settings: c.plan.File, Seed: c.plan.File.Seed, Engine: c.Engine,
		Version: c.plan.Version}
	old, err := c.readPlan()
	if err == nil && old.results() != c.plan.results() && len(c.names("trials")) > 0 {
		return fmt.Errorf("%s: %w", c.Dir, otherResults(old.results(), old.Version))
	}
	if info, err := runlog.ReadInfo(c.Dir); err == nil && info.Command != "sweep" {
		return fmt.Errorf("%s: holds a run of %q: choose another folder with --out", c.Dir, info.Command)
	}
	var lines []any
	var without []*Spec
	for _, s := range c.plan.Runs {
		c.byID[s.ID] = s
		if r, ok := c.Result(s); ok {
			lines = append(lines, c.metricLine(s, r))
			c.done++
			if s.Recorded == nil {
				c.unrecorded = append(c.unrecorded, s)
			}
		} else {
			without = append(without, s)
		}
	}
	for try := 0; ; try++ { // another process may be testing the lock
		if _, err = os.Stat(c.path("run.json")); err == nil {
			c.run, err = runlog.Resume(c.Dir, lines)
		} else {
			if st, err := os.Lstat(c.Dir); err == nil && st.IsDir() {
				os.Remove(c.Dir) // an empty folder may be used; others are not removed
			}
			if c.run, err = runlog.CreateAt(c.Dir, info); errors.Is(err, fs.ErrExist) {
				err = fmt.Errorf("%s exists and is not the folder of a sweep: choose another with --out", c.Dir)
			}
		}
		if busy := (*runlog.BusyError)(nil); !errors.As(err, &busy) || try == 5 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	c.run.Say = c.env.Say
	if err := c.PutLabels(c.run, ""); err != nil {
		return errors.Join(err, c.run.Finish(err, false))
	}
	if left, err := filepath.Glob(c.path(".incoming-*")); err == nil { // of a process that was killed
		for _, dir := range left {
			os.RemoveAll(dir)
		}
	}
	if old != nil && old.Results == 0 { // an older program wrote the queue, and nothing in it is needed
		if err := os.RemoveAll(c.path("queue")); err != nil {
			return errors.Join(err, c.run.Finish(err, false))
		}
	}
	c.run.Info.Settings, c.run.Info.Version = c.plan.File, c.plan.Version
	if err := c.writePlan(c.plan); err != nil {
		return errors.Join(err, c.run.Finish(err, false))
	}
	for _, s := range without {
		if err := c.removeTorn(s); err != nil {
			return errors.Join(err, c.run.Finish(err, false))
		}
	}
	failed := c.failures(c.plan)
	for _, s := range c.plan.Runs {
		if _, bad := failed[s.ID]; bad && !c.has(s) {
			c.failed++
		} else if !c.has(s) {
			c.open[s.ID] = true
		}
	}
	return nil
}

func (c *coordinator) metricLine(s *Spec, r Result) map[string]any {
	return map[string]any{"run": filepath.Base(c.Trial(s)), "settings": s.Settings, "seed": s.Seed, "result": r}
}

// watchStop ends the sweep on request.
func (c *coordinator) watchStop(ctx context.Context, cancel context.CancelCauseFunc) {
	for sleep(ctx, 200*time.Millisecond) == nil {
		if _, err := os.Stat(c.path("stop")); err == nil {
			cancel(errStopped)
			return
		}
	}
}

// jobs is how many of the runs that are left this process runs at a time.
func (o Options) jobs(job string, left int) int {
	switch {
	case o.Jobs >= 0:
		return o.Jobs
	case o.NATS != "":
		return 0
	case job == "train":
		return min(networkJobs(o.Engine), max(1, left))
	}
	return cores()
}

// work runs the open runs.
func (c *coordinator) work(ctx context.Context) (err error) {
	if len(c.open) == 0 {
		return nil
	}
	if len(c.plan.File.Entries) > 0 && !c.shared() {
		if err := os.RemoveAll(c.path("queue")); err != nil { // its order may be that of an earlier file
			return err
		}
	}
	for {
		err = c.session(ctx)
		if ctx.Err() != nil || !errors.Is(err, errQueueLost) {
			return err
		}
		// The embedded server loses its files when the disk is full. Nothing in them is needed: the folder says what is
		// done.
		for ctx.Err() == nil && room(c.Dir) != nil {
			c.env.Say("%v: waiting for disk space", room(c.Dir))
			sleep(ctx, 5*time.Second)
		}
		if err := os.RemoveAll(c.path("queue")); err != nil {
			return err
		}
	}
}

var errQueueLost = errors.New("the queue was lost")

// session connects, queues and gathers, until nothing is open.
func (c *coordinator) session(ctx context.Context) (err error) {
	if c.q, err = c.connect(ctx); err != nil {
		return err
	}
	defer c.q.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.q.create(ctx, c.Replicas, c.LostAfter); err != nil {
		return err
	}
	if c.q.server != nil && c.Listen == "" {
		if err := c.q.forgetDeliveries(ctx); err != nil {
			return err
		}
	}
	if _, err := c.q.state.Put(ctx, c.plan.ID+".sweep",
		canonicalJSON(manifest{c.plan.File.Name, c.plan.Version, c.plan.results(), len(c.plan.Runs)})); err != nil {
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
	if c.Jobs > 0 {
		w := &worker{name: workerName(), q: c.q, store: local{c.Folder, func(s *Spec) { c.tell(ctx, event{run: s}) }},
			place: c.Place, jobs: c.Jobs, env: c.env}
		switch {
		case c.NATS != "": // like any other worker: another coordinator may wait for the result, too
			w.store = remote{c.q, c.path("work")}
		case c.Listen != "":
			w.store = sharedStore{local{c.Folder, func(s *Spec) { c.tell(ctx, event{run: s}) }}, c.q}
		}
		wg.Go(func() { w.run(ctx, 0) })
	} else {
		url := c.NATS
		if c.q.server != nil {
			url = c.q.server.ClientURL()
		}
		c.env.Say("waiting for workers: bregman worker --nats %s", url)
	}
	return c.gather(ctx, func() { c.watch(ctx, &wg) })
}

// watch follows results and states, in place of an earlier watch: one from before the server restarted notices late.
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

// shared reports whether other machines take part.
func (c *coordinator) shared() bool { return c.NATS != "" || c.Listen != "" }

func (c *coordinator) connect(ctx context.Context) (*queue, error) {
	if c.NATS != "" {
		return connect(ctx, nil, &c.Connection, c.plan.results(), c.env.Say)
	}
	s, err := startServer(c.path("queue"), c.Listen, &c.Connection)
	if err != nil {
		return nil, err
	}
	if c.Listen != "" && c.Jobs > 0 { // else the message about waiting has the address
		c.env.Say("workers join with: bregman worker --nats %s", s.ClientURL())
	}
	return connect(ctx, s, &c.Connection, c.plan.results(), c.env.Say)
}
