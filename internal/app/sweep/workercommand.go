package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// Worker is `bregman worker`.
type Worker struct {
	Place
	Connection
	Jobs    int           `default:"-1" role:"place"`
	Scratch string        `default:"bregman-scratch" placeholder:"DIR" role:"place"`
	Idle    time.Duration `default:"0s" role:"place"`
}

// Texts are the words for its settings.
func (*Worker) Texts() settings.Texts {
	return settings.Texts{
		About: "Take runs of a sweep from a NATS server.",
		Help: map[string]string{
			"jobs": "Runs at a time; default up to three where there is a GPU, by its memory, else one. For linear " +
				"jobs choose as many as cores.",
			"scratch": "Scratch folder for runs, until they are sent.",
			"idle":    "Exit after this long without a run; 0 waits for ever.",
		},
	}
}

// Help is shown by --help.
func (*Worker) Help() string {
	return `Example:
  bregman worker --nats nats://queue:4222 --engine cuda

Takes runs from the queue that “bregman sweep FILE.toml --nats URL” fills, and sends results, logs and weights back.
Data files must be where the sweep file says, on this machine too. Start one on each machine, or for each GPU; stop
one at any time: another resumes its run, from the last checkpoint.`
}

// Check returns the first thing wrong with the settings.
func (w *Worker) Check() error {
	switch {
	case w.NATS == "":
		return settings.Errorf("nats", "--nats: name the server that the sweep uses, such as nats://host:4222")
	case w.Jobs < 1 && w.Jobs != -1:
		return settings.Errorf("jobs", "--jobs %d: want at least 1", w.Jobs)
	}
	return nil
}

// Do works until it is stopped.
func (w *Worker) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	return nil, w.work(ctx, env)
}

func (w *Worker) work(ctx context.Context, env *command.Env) error {
	q, err := connect(ctx, nil, &w.Connection, ResultsVersion, env.Say)
	if err != nil {
		return err
	}
	defer q.close()
	if err := q.find(ctx, env.Say); err != nil {
		return err
	}
	// Two workers on one machine must not share a folder: a run that moved from one to the other may be in both.
	scratch, free, err := ownScratch(w.Scratch)
	if err != nil {
		return err
	}
	defer free()
	env.Say("waiting for runs from %s", q.nc.ConnectedUrlRedacted())
	if w.Jobs < 0 {
		w.Jobs = networkJobs(w.Engine)
	}
	me := &worker{name: workerName(), q: q, store: remote{q, scratch}, place: w.Place, jobs: w.Jobs, env: env}
	return me.run(ctx, w.Idle)
}

// ownScratch locks the first numbered folder under root that no running worker uses, with what a dead one left there.
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
		return nil, &runlog.BusyError{Dir: dir} // another process is creating it right now
	}
	return run, err
}

func workerName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

func cores() int { return runtime.GOMAXPROCS(0) }
