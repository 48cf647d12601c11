package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// NewCommands returns the commands, which use this library.
func NewCommands(lib Library) Commands {
	return Commands{Start: Start{Library: lib}, Resume: Resume{Library: lib}, Retry: Retry{Resume{Library: lib}}}
}

// Commands are `bregman sweep …`.
type Commands struct {
	Start  Start  `cmd:"" default:"withargs"`
	Status Show   `cmd:""`
	Stop   Stop   `cmd:""`
	Resume Resume `cmd:""`
	Retry  Retry  `cmd:""`
}

// Start is `bregman sweep FILE.toml`.
type Start struct {
	File      string   `arg:"" placeholder:"FILE.toml" json:"file"`
	Overrides []string `arg:"" optional:"" name:"key=value" json:"overrides"`
	DryRun    bool     `json:"-"`
	Out       string   `placeholder:"DIR" json:"out" role:"output"`
	Runs      string   `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	command.Printed
	Options
	Library Library `kong:"-" json:"-"`
}

// Texts are the words for its settings.
func (*Start) Texts() settings.Texts {
	return settings.Texts{
		About: "Run a sweep file: bregman sweep FILE.toml.",
		Help: map[string]string{
			"file": "The sweep file, or the name of a built-in one: cifar10, imagenet or bias, tables of the paper, or " +
				"margins, the exact limits of bias.",
			"overrides": "Settings to replace, such as p=1.1,2,3 or trials=5.",
			"dry_run":   "Print the plan and its estimated time only.",
			"out": "Folder of the sweep; default RUNS/sweep-NAME. An existing one is resumed: finished runs are not " +
				"repeated.",
			"runs": "Where the folder of the sweep goes.",
		},
	}
}

// Help is shown by --help.
func (*Start) Help() string {
	return `Examples:
  bregman sweep p.toml --dry-run
  bregman sweep p.toml p=1.1,2,3 trials=5
  bregman sweep cifar10 --nats nats://queue:4222      (and on each machine: bregman worker --nats nats://queue:4222)
  bregman sweep queue.toml --results networks.csv --minutes 9      (as often as there are minutes)
  bregman sweep status runs/sweep-p

A sweep file:
  job    = "fit"                  # train, fit, margin or path
  metric = "norm"                 # a number of its result, which the tables compare; of train also of its study:
                                  # pruned_all_70, rounded_3, …
  trials = 5                      # seeds 1 to 5
  [settings]                      # the flags of "bregman fit"
  data   = "r100:{seed}"
  [grid]
  p      = [1.1, 1.5, 2, 3]
  lr     = { from = 1e-4, to = 1e-2, count = 3, scale = "log" }

Running the same sweep again resumes it: each run has an identity, made from its settings, and a finished run is not
repeated. With --results a run is finished if its identity has a row in that file, whether or not its folder is here.
A file with [[entry]] tables is a queue: each has its own [entry.settings] and [entry.grid], and they run in the order
of the file. docs/sweeps.md has more.`
}

// Check returns the first thing wrong with the settings. The file is read when the sweep starts.
func (s *Start) Check() error { return s.Options.Check() }

// Do runs the sweep.
func (s *Start) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	s.began = time.Now()
	plan, err := s.Plan(env.Version)
	if err != nil {
		return nil, &command.UsageError{Err: err}
	}
	dir := s.Out
	if dir == "" {
		dir = plan.DefaultFolder(s.Runs)
	}
	if _, err := s.Library.view(Folder{dir}, plan); err != nil {
		return nil, &command.UsageError{Err: err}
	}
	if !s.DryRun {
		if err := command.CheckFolder("--out", dir); err != nil {
			return nil, err
		}
	}
	if busy, err := runlog.Busy(dir); err == nil && busy && !s.DryRun {
		return nil, &runlog.BusyError{Dir: dir} // before the time is measured
	}
	if err := plan.readResults(s.Results); err != nil {
		return nil, err
	}
	plan.Command = s.command()
	Announce(ctx, env, plan, dir, s.Options, s.Runs)
	if s.DryRun {
		return DryRun(plan), nil
	}
	return RunPlan(ctx, env, plan, dir, s.Options, s.Library)
}

// DryRun is the result of --dry-run: [Announce] has printed the plan.
func DryRun(plan *Plan) command.Result { return dryRun{plan} }

type dryRun struct{ plan *Plan }

func (d dryRun) Print(io.Writer) {}
func (d dryRun) JSON() any       { return d.plan }

// Announce prints the plan and how long the rest of it will take.
func Announce(ctx context.Context, env *command.Env, plan *Plan, dir string, o Options, runs string) {
	plan.readResults(o.Results) // RunPlan returns the error
	var takes string
	var first time.Duration
	if left := (Folder{dir}).left(plan); len(left) > 0 {
		// before anything is printed: a GPU's engine may restart the process
		takes, first = estimate(ctx, env, plan, left, o, runs)
	}
	plan.Describe(env, dir)
	if takes != "" {
		env.Say("%s", takes)
	}
	if text := o.tooLong(plan.File.Job, first, dir); text != "" {
		env.Say("%s", text)
	}
}

// command is what was typed.
func (s *Start) command() string {
	line := "bregman sweep " + settings.Quote(s.File)
	for _, o := range s.Overrides {
		line += " " + settings.Quote(o)
	}
	return line
}

// Plan reads the file and returns its plan.
func (s *Start) Plan(version string) (*Plan, error) {
	lib := s.Library
	data, err := os.ReadFile(s.File)
	if text, ok := lib.Files[s.File]; ok && errors.Is(err, fs.ErrNotExist) {
		data, err = text, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		names := slices.Sorted(maps.Keys(lib.Files))
		return nil, fmt.Errorf("%s: no such file%s; the built-in sweeps are %s", s.File, settings.Nearest(s.File, names),
			strings.Join(names, ", "))
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

// left returns the runs that are not done.
func (f Folder) left(p *Plan) []*Spec {
	done := f.byID("trials")
	return slices.DeleteFunc(slices.Clone(p.Runs), func(s *Spec) bool { return s.Recorded != nil || done[s.ID] != "" })
}

// Describe prints what the sweep will do, and in which folder.
func (p *Plan) Describe(env command.Observer, dir string) {
	f := Folder{dir}
	keys, values := p.varying()
	if n := len(p.File.Entries); n > 0 {
		env.Say("%s: %s of %s, a queue of %s", p.File.Name, render.Count(len(p.Runs), "run"), p.File.Job,
			map[bool]string{true: "1 entry", false: fmt.Sprintf("%d entries", n)}[n == 1])
	} else {
		env.Say("%s: %s of %s, %s each", p.File.Name, render.Count(len(p.Runs), "run"), p.File.Job,
			render.Count(p.File.Trials, "trial"))
	}
	for _, k := range keys {
		list := values[k]
		text := strings.Join(list[:min(12, len(list))], ", ")
		if len(list) > 12 {
			text += fmt.Sprintf(", … (%d)", len(list))
		}
		env.Say("  %-10s %s", k, text)
	}
	if n := p.Compilations(); p.File.Job == "train" {
		env.Say("  %s", render.Count(n, "compilation"))
	}
	switch key := trials.RowKey(p.File.Metric, keys); {
	case p.File.Report != "": // has metrics of its own
	case trials.Compares(p.File.Metric, key):
		env.Say("  metric     %s, %s is better%s", p.File.Metric, p.File.Better, seenByChoice(p.File))
	default:
		env.Say("  metric     %s, not to be compared between different %s", p.File.Metric, key)
	}
	left := f.left(p)
	done := len(p.Runs) - len(left)
	others := maps.Clone(f.byID("trials")) // folders of runs that are not in the plan
	for _, s := range p.Runs {
		delete(others, s.ID)
	}
	switch n := p.recorded(); {
	case n > 0:
		env.Say("  %d are done, %d by their rows in the results file", done, n)
	case done > 0:
		env.Say("  %d are done", done)
	}
	p.describeEntries(env, left)
	if n := len(others); n > 0 {
		env.Say("  %s of other plans stay%s in the folder, but not in its report", render.Count(n, "run"),
			map[bool]string{true: "s"}[n == 1])
	}
	env.Say("  folder     %s", f.Dir)
}

// describeEntries prints what is left of a queue, in its order.
func (p *Plan) describeEntries(env command.Observer, left []*Spec) {
	for k, e := range p.File.Entries {
		n, all := 0, 0
		for _, s := range p.Runs {
			if s.Entry == k+1 {
				all++
			}
		}
		for _, s := range left {
			if s.Entry == k+1 {
				n++
			}
		}
		if n > 0 {
			env.Say("  left       %d of %d: %s", n, all, cmp.Or(e.Why, fmt.Sprintf("entry %d", k+1)))
		}
	}
}

// RunPlan runs a plan in a folder. If runs failed, it returns the result and an error.
func RunPlan(ctx context.Context, env *command.Env, plan *Plan, dir string, o Options, lib Library) (command.Result,
	error) {
	if err := lib.check(plan.File); err != nil {
		return nil, err
	}
	if err := plan.readResults(o.Results); err != nil {
		return nil, err
	}
	ctx, stop := o.limit(ctx)
	defer stop()
	out, err := sweep(ctx, env, plan, dir, o, lib)
	if err != nil && out.Folder == "" {
		return nil, err
	}
	view, late := lib.view(Folder{dir}, plan)
	if late != nil {
		return nil, errors.Join(err, late)
	}
	env.Say("%d of %s done, in %.1f s", out.Done, render.Count(out.Runs, "run"), out.Seconds)
	if out.TimeUp {
		env.Say("%v minutes are up: %d done now, %d left; continue with: bregman sweep resume %s", o.Minutes, out.Now,
			out.Runs-out.Done-len(out.Failed), o.resumeArgs(dir))
	}
	if n := len(out.Failed); err == nil && n > 0 {
		err = fmt.Errorf("%d of %s failed, the first (%s): %s. When that is fixed: bregman sweep retry %s",
			n, render.Count(out.Runs, "run"), out.Failed[0].Run, out.Failed[0].Error, o.resumeArgs(dir))
	}
	return swept{view, out}, err
}

// swept is the result of a sweep.
type swept struct {
	View
	out Outcome
}

func (s swept) JSON() any { return s.View.JSON(s.out) }

func (s swept) Print(w io.Writer) {
	s.View.Print(w)
	if s.out.Done > 0 {
		fmt.Fprintf(w, "Report: %s\n", filepath.Join(s.out.Folder, "report.html"))
	}
}

// Show is `bregman sweep status`.
type Show struct {
	Dir string `arg:"" placeholder:"DIR"`
	command.Printed
}

// Texts are the words for its settings.
func (*Show) Texts() settings.Texts {
	return settings.Texts{
		About: "Show the state of a sweep.",
		Help: map[string]string{
			"dir": "Folder of the sweep.",
		},
	}
}

// Check finds nothing wrong: Do reads the folder.
func (*Show) Check() error { return nil }

// Do reads the status.
func (s *Show) Do(context.Context, *command.Env) (command.Result, error) {
	st, err := Folder{s.Dir}.Status()
	if err != nil {
		return nil, err
	}
	return st, nil
}

// JSON is the status itself.
func (s Status) JSON() any { return s }

// Print shows a line, and one for each run that is running or failed.
func (s Status) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s, %d of %d done, %d running, %d queued, %d failed\n", s.Sweep, s.State, s.Done, s.Runs,
		len(s.Running), s.Queued, len(s.Failed))
	for _, a := range s.Running {
		fmt.Fprintf(w, "  running    %s, on %s for %v\n", a.Run, a.Worker, time.Since(a.Since).Round(time.Second))
	}
	for _, f := range s.Failed {
		fmt.Fprintf(w, "  failed     %s, after %s: %s\n", f.Run, render.Count(f.Attempts, "attempt"), f.Error)
	}
}

// Stop is `bregman sweep stop`.
type Stop struct {
	Dir string `arg:"" placeholder:"DIR"`
	Connection
}

// Texts are the words for its settings.
func (*Stop) Texts() settings.Texts {
	return settings.Texts{
		About: "Stop a sweep; networks save a checkpoint.",
		Help: map[string]string{
			"dir": "Folder of the sweep.",
		},
	}
}

// Check finds nothing wrong: Do reads the folder.
func (*Stop) Check() error { return nil }

// Do asks the process of the sweep to stop and waits for it. If that process is gone, --nats takes the sweep off the
// queue.
func (s *Stop) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	return nil, s.stop(ctx, env)
}

func (s *Stop) stop(ctx context.Context, env *command.Env) error {
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
		q, err := connect(ctx, nil, &s.Connection, plan.results(), env.Say)
		if err != nil {
			return err
		}
		defer q.close()
		if err := q.find(ctx, env.Say); err != nil {
			return err
		}
		env.Say("%s: removed from the queue", s.Dir)
		return stopPlan(q, plan.ID)
	}
	if !busy {
		env.Say("%s: no process runs it (if it has workers on a NATS server, name the server with --nats)", s.Dir)
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
	env.Say("%s: stopped; resume with: bregman sweep resume %s", s.Dir,
		Options{Connection: s.Connection}.resumeArgs(s.Dir))
	return nil
}

// Resume is `bregman sweep resume`.
type Resume struct {
	Dir string `arg:"" placeholder:"DIR"`
	command.Printed
	Options
	Library Library `kong:"-" json:"-"`
}

// Texts are the words for its settings.
func (*Resume) Texts() settings.Texts {
	return settings.Texts{
		About: "Resume a sweep.",
		Help: map[string]string{
			"dir": "Folder of the sweep.",
		},
	}
}

// Check returns the first thing wrong with the settings.
func (r *Resume) Check() error { return r.Options.Check() }

// Do resumes the plan in the folder.
func (r *Resume) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	plan, err := ReadPlan(r.Dir)
	if err != nil {
		return nil, err
	}
	return RunPlan(ctx, env, plan, r.Dir, r.Options, r.Library)
}

// Retry is `bregman sweep retry`.
type Retry struct{ Resume }

// Texts are the words for its settings.
func (*Retry) Texts() settings.Texts {
	return settings.Texts{About: "Resume a sweep, and run again what failed."}
}

// Do forgets the failures and resumes the sweep.
func (r *Retry) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	f := Folder{r.Dir}
	plan, err := ReadPlan(r.Dir)
	if err != nil {
		return nil, err
	}
	if busy, err := runlog.Busy(r.Dir); err != nil || busy {
		return nil, errors.Join(err, fmt.Errorf("%s: a process is running it: stop it first, with: bregman sweep stop %s",
			r.Dir, settings.Quote(r.Dir)))
	}
	failed := f.failures(plan)
	if err := os.RemoveAll(f.path("failed")); err != nil {
		return nil, err
	}
	if err := resetAttempts(ctx, env, f, plan, failed, r.Options); err != nil {
		return nil, err
	}
	return r.Resume.Do(ctx, env)
}

// resetAttempts makes the server forget how often runs failed.
func resetAttempts(ctx context.Context, env *command.Env, f Folder, plan *Plan, failed map[string]failure,
	o Options) error {
	if o.NATS == "" {
		return os.RemoveAll(f.path("queue")) // of this machine alone: nothing there is needed
	}
	q, err := connect(ctx, nil, &o.Connection, plan.results(), env.Say)
	if err != nil {
		return err
	}
	defer q.close()
	if err := q.create(ctx, o.Replicas, o.LostAfter); err != nil {
		return err
	}
	for id := range failed {
		if err := q.state.Purge(ctx, plan.ID+"."+id); err != nil {
			return err
		}
	}
	return nil
}

// seenByChoice says what to do for a choice that the test images do not see.
func seenByChoice(f *File) string {
	if _, studied := train.StudyMetricByName(f.Metric); studied {
		return "; the study measures it on the test images"
	}
	if f.Job != "train" || !strings.HasPrefix(f.Metric, "test_") || f.Report != "" {
		return ""
	}
	return "; validate = 5000 in [settings] compares on training images held back instead"
}
