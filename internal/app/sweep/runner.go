package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// Place is where runs run. It is not part of their identity.
type Place struct {
	Engine  string `default:"auto" role:"place"`
	DataDir string `placeholder:"DIR" role:"place"`
	Feed    string `placeholder:"auto" role:"place"`
}

// Texts are the words for its settings.
func (*Place) Texts() settings.Texts {
	return settings.Texts{
		Help: map[string]string{
			"engine":   "Where networks are trained: " + command.EngineHelp(),
			"data_dir": "Where data sets are kept.",
			"feed": "Where packed pictures are: resident, on the engine; streamed, read from the file meanwhile; auto, " +
				"resident if there is room.",
		},
		Choices: map[string][]string{"feed": command.Feeds},
		Known:   map[string][]string{"engine": engine.Names()},
	}
}

// runner runs one run after another. It keeps the compiled step of the last network: the next run can usually use it.
type runner struct {
	Place
	env     *command.Env // of the runs: its output goes to the log of the current run
	log     *logWriter
	trainer *command.Trainer
	rates   *sharedRates
	key     string            // of the learning rates that latest has found
	latest  *command.Trainer  // the trainer with the settings of the last run; it remembers the rates that were found
	sets    map[string]source // of linear data, by what makes them
}

// logWriter writes to the log of the current run.
type logWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *logWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil {
		return len(b), nil
	}
	return l.w.Write(b)
}

func (l *logWriter) to(w io.Writer) {
	l.mu.Lock()
	l.w = w
	l.mu.Unlock()
}

func newRunner(place Place, env *command.Env) *runner {
	log := new(logWriter)
	return &runner{Place: place, log: log, rates: new(sharedRates), sets: map[string]source{},
		env: &command.Env{Observer: withPages{command.Lines(log)}, Version: env.Version, Engines: env.Engines,
			SaveEvery: env.SaveEvery}}
}

// sharedRates are the learning rates that the runners of a process have found, by what they depend on.
type sharedRates struct {
	mu    sync.Mutex
	byKey map[string]*command.Rates
}

func (s *sharedRates) of(key string) *command.Rates {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[string]*command.Rates{}
	}
	if s.byKey[key] == nil {
		s.byKey[key] = new(command.Rates)
	}
	return s.byKey[key]
}

// withPages is an observer that writes the page of each run.
type withPages struct{ command.Observer }

func (w withPages) Finished(dir string) {
	if err := pages.Write(dir); err != nil {
		w.Say("%v: its page is incomplete; bregman report %s shows the run", err, settings.Quote(dir))
	}
}

func (r *runner) close() {
	if r.trainer != nil {
		r.trainer.Close()
		r.trainer, r.latest = nil, nil
	}
}

// permanent is the error of a run that would fail again in the same way.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// run runs a run and returns its finished folder, inside work. A network resumes from the checkpoint that is there.
func (r *runner) run(ctx context.Context, s *Spec, work string) (dir string, err error) {
	if err := os.MkdirAll(work, 0o777); err != nil {
		return "", err
	}
	log, err := os.OpenFile(filepath.Join(work, "log.txt"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return "", err
	}
	defer log.Close()
	r.log.to(log)
	defer r.log.to(nil)
	defer func() { // a bug in one run, or an engine that panics, must not end the others
		if p := recover(); p != nil {
			err = fmt.Errorf("this is a bug: %v", p)
		}
	}()
	dir = filepath.Join(work, "run") // in a folder of its own: the search for a learning rate looks in the folders beside
	if err = r.do(ctx, s, dir); err == nil {
		err = ctx.Err() // a stopped fit returns what it has so far, which is not a result
	}
	if err != nil {
		fmt.Fprintf(log, "failed: %v\n", err)
		return dir, err
	}
	return dir, os.Rename(log.Name(), filepath.Join(dir, "log.txt"))
}

// do runs the run in a folder.
func (r *runner) do(ctx context.Context, s *Spec, dir string) error {
	k, err := kinds.ByName(s.Job)
	if err != nil {
		return permanent{err}
	}
	c, err := k.ParseStored(s.Settings)
	if err != nil {
		return permanent{err}
	}
	if t, ok := c.(*command.Train); ok {
		return r.train(ctx, s, t, dir)
	}
	return r.keep(ctx, s, k, c, dir)
}

// train trains a network, from the checkpoint that is there.
func (r *runner) train(ctx context.Context, s *Spec, t *command.Train, dir string) error {
	t.Engine, t.DataDir, t.Feed, t.Trials = r.Engine, r.DataDir, r.Feed, 1
	if s.First != 0 {
		t.Seed = s.First // of the search for a learning rate
	}
	if r.trainer == nil || !r.trainer.Serves(t) {
		r.close()
		var err error
		if r.trainer, err = command.NewTrainer(ctx, r.env, t); err != nil {
			return err
		}
	}
	if key := s.rates(); r.latest == nil || r.key != key {
		r.latest, r.key = r.trainer.Reuse(t, r.rates.of(key)), key
	}
	_, err := r.latest.RunIn(ctx, dir, t.P[0], s.Seed)
	if bad := (*train.Diverged)(nil); errors.As(err, &bad) { // a result, too: it would diverge again
		return diverged(s, dir, bad)
	}
	return err
}

// diverged writes the result of a run whose loss was not finite.
func diverged(s *Spec, dir string, why error) error {
	// the search for a learning rate comes before the folder
	if err := os.MkdirAll(filepath.Join(dir, "tables"), 0o777); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(filepath.Join(dir, "checkpoints")),
		writeJSON(filepath.Join(dir, "tables", "result.json"), map[string]any{"p": trials.Float(s.Settings["p"]),
			"seed": s.Seed, "diverged": why.Error()}))
}

// keep runs a linear command and writes its result, its model and its log, without figures, which take longer than the
// run.
func (r *runner) keep(ctx context.Context, s *Spec, k kinds.Kind, c command.Command, dir string) error {
	if err := os.RemoveAll(dir); err != nil { // nothing to resume
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "tables"), 0o777); err != nil {
		return err
	}
	from := r.source(ctx, s, c)
	info := runlog.NewInfo(runlog.Info{Command: s.Job, Settings: c, Seed: s.Seed,
		Data: from.name, DataHash: from.hash, Engine: "go", Version: r.env.Version})
	if err := settings.Set(c, "runs", ""); err != nil {
		return err
	}
	out := ""
	if k.Out != "" {
		out = filepath.Join(dir, k.Out)
	}
	if err := settings.Set(c, "out", out); err != nil {
		return err
	}
	result, err := c.Do(ctx, r.env)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	if err := settings.Set(c, "out", ""); err != nil { // run.json must not name a scratch folder: the file is beside it
		return err
	}
	numbers, tables, err := k.Trial(result)
	if err != nil {
		return err
	}
	for name, v := range tables {
		if err := writeJSON(filepath.Join(dir, "tables", name), v); err != nil {
			return err
		}
	}
	info.Finished, info.Status = time.Now().Truncate(time.Millisecond), runlog.Done
	if _, err := json.Marshal(info); err != nil {
		info.Settings = s.Settings // JSON has no infinite p
	}
	return errors.Join(writeJSON(filepath.Join(dir, "tables", "result.json"), numbers),
		writeJSON(filepath.Join(dir, "run.json"), info))
}

// source is the data of a run as its run.json names them.
type source struct{ name, hash string }

// source names the data of a run and their hash. They are read once. The hash shows if data of one name have changed.
func (r *runner) source(ctx context.Context, s *Spec, c command.Command) source {
	data, opt := s.Settings["data"], dataset.Options{}
	if reads, ok := c.(interface{ Options() dataset.Options }); ok {
		opt = reads.Options()
	}
	key := fmt.Sprintf("%s %+v", data, opt)
	if known, ok := r.sets[key]; ok {
		return known
	}
	set, err := dataset.Open(ctx, data, opt)
	if err != nil { // the run reports what is wrong
		return source{name: data}
	}
	r.sets[key] = source{set.Name, set.Hash}
	return r.sets[key]
}

// writeJSON writes without renaming: the folder around the file is not in place yet, and one without a readable result
// does not count.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o666)
}
