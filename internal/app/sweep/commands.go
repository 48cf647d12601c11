package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/runlog"
)

// Commands are `bregman sweep …`.
type Commands struct {
	Start  Start  `cmd:"" default:"withargs" help:"Run a sweep file: bregman sweep FILE.toml."`
	Status Show   `cmd:"" help:"Show the state of a sweep."`
	Stop   Stop   `cmd:"" help:"Stop a sweep; networks save a checkpoint."`
	Resume Resume `cmd:"" help:"Resume a sweep."`
	Retry  Retry  `cmd:"" help:"Resume a sweep, and run again what failed."`
}

// Start is `bregman sweep FILE.toml`.
type Start struct {
	File      string   `kong:"arg,placeholder='FILE.toml',help='The sweep file, or the name of a built-in one: cifar10 or bias, tables of the paper, or margins, the exact limits of bias.'" json:"file"`
	Overrides []string `kong:"arg,optional,name='key=value',help='Settings to replace, such as p=1.1,2,3 or trials=5.'" json:"overrides"`
	DryRun    bool     `kong:"help='Print the plan and its estimated time only.'" json:"-"`
	Out       string   `kong:"placeholder='DIR',help='Folder of the sweep; default RUNS/sweep-NAME. An existing one is resumed: finished runs are not repeated.'" json:"out"`
	Runs      string   `kong:"default='runs',placeholder='DIR',help='Where the folder of the sweep goes.'" json:"runs"`
	JSON      bool     `kong:"name='json',help='Print one JSON object.'" json:"-"`
	Options   `kong:"embed"`
}

// Help is shown by --help.
func (*Start) Help() string {
	return `Examples:
  bregman sweep p.toml --dry-run
  bregman sweep p.toml p=1.1,2,3 trials=5
  bregman sweep cifar10 --nats nats://queue:4222      (and on each machine: bregman worker --nats nats://queue:4222)
  bregman sweep status runs/sweep-p

A sweep file:
  job    = "fit"                  # train, fit, margin or path
  metric = "norm"                 # a number of its result, which the tables compare
  trials = 5                      # seeds 1 to 5
  [settings]                      # the flags of "bregman fit"
  data   = "r100:{seed}"
  [grid]
  p      = [1.1, 1.5, 2, 3]
  lr     = { from = 1e-4, to = 1e-2, count = 3, scale = "log" }

Running the same sweep again resumes it: each run has an identity, made from its settings, and a finished run is not repeated. docs/sweeps.md has
more.`
}

// Run runs the sweep.
func (s *Start) Run(ctx context.Context, con *command.Console, lib Library) error {
	plan, err := s.Plan(con.Version, lib)
	if err != nil {
		return &command.UsageError{Err: err}
	}
	dir := s.Out
	if dir == "" {
		dir = plan.DefaultFolder(s.Runs)
	}
	if _, err := lib.view(Folder{dir}, plan); err != nil {
		return &command.UsageError{Err: err}
	}
	if !s.DryRun {
		if err := command.CheckFolder("--out", dir); err != nil {
			return err
		}
	}
	if busy, err := runlog.Busy(dir); err == nil && busy && !s.DryRun {
		return &runlog.BusyError{Dir: dir} // before the time is measured
	}
	plan.Command = s.command()
	Announce(ctx, con, plan, dir, s.Options, s.Runs)
	if s.DryRun {
		if s.JSON {
			return con.PrintJSON(plan)
		}
		return nil
	}
	return RunPlan(ctx, con, plan, dir, s.Options, lib, s.JSON)
}

// Announce prints the plan and how long what is left of it will take.
func Announce(ctx context.Context, con *command.Console, plan *Plan, dir string, o Options, runs string) {
	var takes string
	if left := (Folder{dir}).left(plan); len(left) > 0 {
		takes = estimate(ctx, plan, left, o, runs) // before a word is said: a GPU's engine may start the process again
	}
	plan.Describe(con, dir)
	if takes != "" {
		con.Say("%s", takes)
	}
}

// command is what was typed.
func (s *Start) command() string {
	line := "bregman sweep " + command.Quote(s.File)
	for _, o := range s.Overrides {
		line += " " + command.Quote(o)
	}
	return line
}

// Plan reads the file and makes the plan.
func (s *Start) Plan(version string, lib Library) (*Plan, error) {
	data, err := os.ReadFile(s.File)
	if text, ok := lib.Files[s.File]; ok && errors.Is(err, fs.ErrNotExist) {
		data, err = text, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		names := slices.Sorted(maps.Keys(lib.Files))
		return nil, fmt.Errorf("%s: no such file%s; the built-in sweeps are %s", s.File, nearest(s.File, names), strings.Join(names, ", "))
	}
	if err != nil {
		return nil, err
	}
	f, err := ReadFile(s.File, data, s.Overrides)
	if err == nil {
		err = lib.check(f)
	}
	if err != nil {
		return nil, err
	}
	return NewPlan(f, version)
}

// left are the runs that are not done.
func (f Folder) left(p *Plan) []*Spec {
	done := map[string]bool{}
	for _, name := range f.names("trials") {
		done[name] = true
	}
	return slices.DeleteFunc(slices.Clone(p.Runs), func(s *Spec) bool { return done[s.Folder()] })
}

// Describe says what the sweep will do, and in which folder.
func (p *Plan) Describe(con *command.Console, dir string) {
	f := Folder{dir}
	keys, values := p.varying()
	con.Say("%s: %s of %s, %s each", p.File.Name, render.Count(len(p.Runs), "run"), p.File.Job,
		render.Count(p.File.Trials, "trial"))
	for _, k := range keys {
		list := values[k]
		text := strings.Join(list[:min(12, len(list))], ", ")
		if len(list) > 12 {
			text += fmt.Sprintf(", … (%d)", len(list))
		}
		con.Say("  %-10s %s", k, text)
	}
	if n := p.Compilations(); p.File.Job == "train" {
		con.Say("  %s", render.Count(n, "compilation"))
	}
	switch key := rowKey(p.File.Metric, keys); {
	case p.File.Report != "": // has metrics of its own
	case compares(p.File.Metric, key):
		con.Say("  metric     %s, %s is better", p.File.Metric, p.File.Better)
	default:
		con.Say("  metric     %s, not to be compared between different %s", p.File.Metric, key)
	}
	done := len(p.Runs) - len(f.left(p))
	if done > 0 {
		con.Say("  %d are done", done)
	}
	if n := len(f.names("trials")) - done; n > 0 {
		con.Say("  %s of other plans stay%s in the folder, but not in its report", render.Count(n, "run"),
			map[bool]string{true: "s"}[n == 1])
	}
	con.Say("  folder     %s", f.Dir)
}

// RunPlan runs a plan in a folder and prints what came of it.
func RunPlan(ctx context.Context, con *command.Console, plan *Plan, dir string, o Options, lib Library, asJSON bool) error {
	if err := lib.check(plan.File); err != nil {
		return err
	}
	out, err := sweep(ctx, con, plan, dir, o, lib)
	if err != nil && out.Folder == "" {
		return err
	}
	view, late := lib.view(Folder{dir}, plan)
	switch {
	case late != nil:
		return errors.Join(err, late)
	case asJSON:
		if late := con.PrintJSON(view.JSON(out)); late != nil {
			return late
		}
	default:
		view.Print(con.Out)
		con.Say("%d of %s done, in %.1f s", out.Done, render.Count(out.Runs, "run"), out.Seconds)
		if out.Done > 0 {
			fmt.Fprintf(con.Out, "Report: %s\n", filepath.Join(dir, "report.html"))
		}
	}
	if err != nil {
		return err
	}
	if n := len(out.Failed); n > 0 {
		return fmt.Errorf("%d of %s failed, the first (%s): %s. When that is fixed: bregman sweep retry %s",
			n, render.Count(out.Runs, "run"), out.Failed[0].Run, out.Failed[0].Error, o.again(dir))
	}
	return nil
}

// Show is `bregman sweep status`.
type Show struct {
	Dir  string `kong:"arg,placeholder='DIR',help='Folder of the sweep.'"`
	JSON bool   `kong:"name='json',help='Print one JSON object.'"`
}

// Run prints the status.
func (s *Show) Run(con *command.Console) error {
	st, err := Folder{s.Dir}.Status()
	if err != nil {
		return err
	}
	if s.JSON {
		return con.PrintJSON(st)
	}
	fmt.Fprintf(con.Out, "%s: %s, %d of %d done, %d running, %d queued, %d failed\n", s.Dir, st.State, st.Done, st.Runs, len(st.Running), st.Queued, len(st.Failed))
	for _, a := range st.Running {
		fmt.Fprintf(con.Out, "  running    %s, on %s for %v\n", a.Run, a.Worker, time.Since(a.Since).Round(time.Second))
	}
	for _, f := range st.Failed {
		fmt.Fprintf(con.Out, "  failed     %s, after %s: %s\n", f.Run, render.Count(f.Attempts, "attempt"), f.Error)
	}
	return nil
}

// Stop is `bregman sweep stop`.
type Stop struct {
	Dir        string `kong:"arg,placeholder='DIR',help='Folder of the sweep.'"`
	Connection `kong:"embed"`
}

// Run asks the process of the sweep to stop and waits for it. If that process is gone, --nats takes the sweep off the queue.
func (s *Stop) Run(ctx context.Context, con *command.Console) error {
	f := Folder{s.Dir}
	plan, err := f.readPlan()
	if err != nil {
		return err
	}
	busy, err := runlog.Busy(s.Dir)
	if err != nil {
		return err
	}
	if !busy && s.NATS != "" {
		q, err := connect(ctx, nil, &s.Connection, plan.Version, con.Say)
		if err != nil {
			return err
		}
		defer q.close()
		if err := q.find(ctx, con.Say); err != nil {
			return err
		}
		con.Say("%s: removed from the queue", s.Dir)
		return stopPlan(q, plan.ID)
	}
	if !busy {
		con.Say("%s: no process runs it (if it has workers on a NATS server, name the server with --nats)", s.Dir)
		return nil
	}
	if err := runlog.WriteFile(f.path("stop"), nil); err != nil {
		return err
	}
	for begin := time.Now(); busy; busy, _ = runlog.Busy(s.Dir) {
		if time.Since(begin) > 2*time.Minute {
			return fmt.Errorf("%s: asked to stop, and still running: it may be finishing an epoch", s.Dir)
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	con.Say("%s: stopped; resume with: bregman sweep resume %s", s.Dir, Options{Connection: s.Connection}.again(s.Dir))
	return nil
}

// Resume is `bregman sweep resume`.
type Resume struct {
	Dir     string `kong:"arg,placeholder='DIR',help='Folder of the sweep.'"`
	JSON    bool   `kong:"name='json',help='Print one JSON object.'"`
	Options `kong:"embed"`
}

// Run resumes the plan in the folder.
func (r *Resume) Run(ctx context.Context, con *command.Console, lib Library) error {
	plan, err := ReadPlan(r.Dir, con.Version)
	if err != nil {
		return err
	}
	return RunPlan(ctx, con, plan, r.Dir, r.Options, lib, r.JSON)
}

// Retry is `bregman sweep retry`.
type Retry struct{ Resume }

// Run forgets what failed and resumes the sweep.
func (r *Retry) Run(ctx context.Context, con *command.Console, lib Library) error {
	f := Folder{r.Dir}
	plan, err := f.readPlan()
	if err != nil {
		return err
	}
	if busy, err := runlog.Busy(r.Dir); err != nil || busy {
		return errors.Join(err, fmt.Errorf("%s: a process is running it: stop it first, with: bregman sweep stop %s", r.Dir, command.Quote(r.Dir)))
	}
	failed := f.failures(plan)
	if err := os.RemoveAll(f.path("failed")); err != nil {
		return err
	}
	if err := forgive(ctx, con, f, plan, failed, r.Options); err != nil {
		return err
	}
	return r.Resume.Run(ctx, con, lib)
}

// forgive makes the server forget how often runs failed.
func forgive(ctx context.Context, con *command.Console, f Folder, plan *Plan, failed map[string]failure, o Options) error {
	if o.NATS == "" {
		return os.RemoveAll(f.path("queue")) // of this machine alone: nothing there is needed
	}
	q, err := connect(ctx, nil, &o.Connection, plan.Version, con.Say)
	if err != nil {
		return err
	}
	defer q.close()
	if err := q.make(ctx, o.Replicas, o.LostAfter); err != nil {
		return err
	}
	for id := range failed {
		if err := q.state.Purge(ctx, plan.ID+"."+id); err != nil {
			return err
		}
	}
	return nil
}

// Worker is `bregman worker`.
type Worker struct {
	Place      `kong:"embed"`
	Connection `kong:"embed"`
	Jobs       int           `kong:"default='1',help='Runs at a time: one for networks, as many as cores for linear jobs.'"`
	Scratch    string        `kong:"default='bregman-scratch',placeholder='DIR',help='Scratch folder for runs, until they are sent.'"`
	Idle       time.Duration `kong:"default='0s',help='Exit after this long without a run; 0 waits for ever.'"`
}

// Help is shown by --help.
func (*Worker) Help() string {
	return `Example:
  bregman worker --nats nats://queue:4222 --engine cuda

Takes runs from the queue that “bregman sweep FILE.toml --nats URL” fills, and sends results, logs and weights back. Data files must be
where the sweep file says, on this machine too. Start one on each machine, or for each GPU; stop one at any time: another resumes its
run, from the last checkpoint.`
}

// Check returns the first thing wrong with the settings.
func (w *Worker) Check() error {
	switch {
	case w.NATS == "":
		return errors.New("--nats: name the server that the sweep uses, such as nats://host:4222")
	case w.Jobs < 1:
		return fmt.Errorf("--jobs %d: want at least 1", w.Jobs)
	}
	return nil
}

// Run works until it is stopped.
func (w *Worker) Run(ctx context.Context, con *command.Console) error {
	if err := w.Check(); err != nil {
		return err
	}
	q, err := connect(ctx, nil, &w.Connection, con.Version, con.Say)
	if err != nil {
		return err
	}
	defer q.close()
	if err := q.find(ctx, con.Say); err != nil {
		return err
	}
	// Two workers on one machine must not meet in a folder: a run that went from one to the other may be in both.
	scratch, free, err := ownScratch(w.Scratch)
	if err != nil {
		return err
	}
	defer free()
	con.Say("waiting for runs from %s", q.nc.ConnectedUrlRedacted())
	me := &worker{name: workerName(), q: q, store: remote{q, scratch}, place: w.Place, jobs: w.Jobs, say: con.Say}
	return me.run(ctx, w.Idle)
}

// ownScratch takes the first numbered folder under root that no living worker has, with what a dead one left there.
func ownScratch(root string) (string, func() error, error) {
	for n := 1; n < 1000; n++ {
		dir := filepath.Join(root, fmt.Sprintf("worker-%d", n))
		run, err := openScratch(dir)
		if busy := (*runlog.BusyError)(nil); errors.As(err, &busy) {
			continue
		}
		if err != nil {
			return "", nil, fmt.Errorf("--scratch: %w", err)
		}
		return dir, func() error { return run.Finish(nil, false) }, nil
	}
	return "", nil, fmt.Errorf("--scratch %s: a thousand workers are running there", root)
}

func openScratch(dir string) (*runlog.Run, error) {
	if _, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
		return runlog.Resume(dir, nil)
	}
	run, err := runlog.CreateAt(dir, runlog.Info{Command: "worker"})
	if errors.Is(err, fs.ErrExist) {
		return nil, &runlog.BusyError{Dir: dir} // another is making it right now
	}
	return run, err
}

func workerName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

func cores() int { return runtime.GOMAXPROCS(0) }
