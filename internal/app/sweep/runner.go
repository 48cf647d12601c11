package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// Place is where runs run, which is no part of what they are.
type Place struct {
	Engine  string `kong:"default='auto',help='Where networks are trained: auto, cuda, cpu, xla-cpu, go, or the path of a PJRT plugin; see bregman doctor.'"`
	DataDir string `kong:"placeholder='DIR',help='Where data sets are kept.'"`
}

// runner runs one run after another. It keeps the compiled step of the last network: the next run most often wants the same.
type runner struct {
	Place
	version string
	con     *command.Console // of the runs: its Err is the log of the one under way
	log     *logWriter
	graph   string // what trainer is compiled for
	trainer *command.Trainer
	key     string            // what with is for
	with    *command.Trainer  // the trainer with the settings of the last run; it remembers the rates that were found
	sets    map[string]source // of linear data, by what makes them
}

// logWriter goes to the log of the run under way.
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

func newRunner(place Place, version string) *runner {
	log := new(logWriter)
	return &runner{Place: place, version: version, log: log, con: &command.Console{Out: io.Discard, Err: log, Version: version},
		sets: map[string]source{}}
}

func (r *runner) close() {
	if r.trainer != nil {
		r.trainer.Close()
		r.trainer, r.with, r.graph = nil, nil, ""
	}
}

// permanent is the error of a run that would fail again in the same way.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// run makes a run and returns its finished folder, inside work. A network goes on from the checkpoint that is there.
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
	defer func() { // a bug in one run, or an engine that gives up, is not the end of the others
		if p := recover(); p != nil {
			err = fmt.Errorf("this is a bug: %v", p)
		}
	}()
	dir = filepath.Join(work, "run") // in a folder of its own: the search for a learning rate looks in the folders beside
	if s.Job == "train" {
		err = r.train(ctx, s, dir)
	} else {
		err = r.linear(ctx, s, dir)
	}
	if err != nil {
		fmt.Fprintf(log, "failed: %v\n", err)
		return dir, err
	}
	return dir, os.Rename(log.Name(), filepath.Join(dir, "log.txt"))
}

func (r *runner) train(ctx context.Context, s *Spec, dir string) error {
	settings, err := parse(s.Job, s.Settings)
	if err != nil {
		return permanent{err}
	}
	t := settings.(*command.Train)
	t.Engine, t.DataDir, t.Trials = r.Engine, r.DataDir, 1
	if s.First != 0 {
		t.Seed = s.First // of the search for a learning rate
	}
	if r.trainer == nil || r.graph != s.graph() {
		r.close()
		eng, err := openEngine(r.Engine)
		if err != nil {
			return err
		}
		set, err := images.Load(t.Data, t.DataDir)
		if err != nil {
			return err
		}
		if r.trainer, err = t.Compile(r.con, eng, set); err != nil {
			return err
		}
		r.graph = s.graph()
	}
	if key := s.rates(); r.with == nil || r.key != key {
		r.with, r.key = r.trainer.With(t), key
	}
	_, err = r.with.In(ctx, dir, t.P[0], s.Seed)
	if bad := (*train.Diverged)(nil); errors.As(err, &bad) { // an answer, too: its seed decides everything
		return diverged(s, dir, bad)
	}
	return err
}

// diverged leaves the result of a run whose loss is no longer a number.
func diverged(s *Spec, dir string, why error) error {
	if err := os.MkdirAll(filepath.Join(dir, "tables"), 0o777); err != nil { // the search for a learning rate comes before the folder
		return err
	}
	return errors.Join(os.RemoveAll(filepath.Join(dir, "checkpoints")),
		writeJSON(filepath.Join(dir, "tables", "result.json"), map[string]any{"p": float(s.Settings["p"]), "seed": s.Seed, "diverged": why.Error()}))
}

var engines struct {
	sync.Mutex
	open map[string]*engine.Engine
}

// openEngine opens an engine once a process.
func openEngine(name string) (*engine.Engine, error) {
	engines.Lock()
	defer engines.Unlock()
	if e := engines.open[name]; e != nil {
		return e, nil
	}
	e, err := engine.Open(name)
	if err != nil {
		return nil, err
	}
	if engines.open == nil {
		engines.open = map[string]*engine.Engine{}
	}
	engines.open[name] = e
	return e, nil
}

// pathEnd is the result of path in a sweep: where the path ends.
type pathEnd struct {
	P          float64 `json:"p"`
	Max        float64 `json:"max_margin"`
	Points     int     `json:"points"`
	B          float64 `json:"b"`
	Loss       float64 `json:"loss"`
	Gap        float64 `json:"gap"`
	Margin     float64 `json:"margin"`
	Divergence float64 `json:"divergence"`
	Angle      float64 `json:"angle"`
}

// linear runs fit, margin or path: its result, its model and its log, without figures, which take longer than the run.
func (r *runner) linear(ctx context.Context, s *Spec, dir string) error {
	if err := os.RemoveAll(dir); err != nil { // nothing to go on from
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "tables"), 0o777); err != nil {
		return err
	}
	settings, err := parse(s.Job, s.Settings)
	if err != nil {
		return permanent{err}
	}
	from := r.source(ctx, s)
	info := runlog.NewInfo(runlog.Info{Command: s.Job, Settings: settings, Seed: s.Seed,
		Data: from.name, DataHash: from.hash, Engine: "go", Version: r.version})
	var out bytes.Buffer
	con := &command.Console{Out: &out, Err: r.log, Version: r.version}
	switch j := settings.(type) {
	case *command.Fit:
		j.Runs, j.JSON, j.Out = "", true, filepath.Join(dir, "model.json")
		err = j.Run(ctx, con)
		j.Out = "" // run.json must not name a scratch folder: the model is beside it
	case *command.Margin:
		j.JSON, j.Out = true, filepath.Join(dir, "w.npy")
		err = j.Run(ctx, con)
		j.Out = ""
	case *command.Path:
		j.Runs, j.JSON = "", true
		err = j.Run(ctx, con)
	default:
		err = permanent{fmt.Errorf("job %q cannot be swept", s.Job)}
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // a fit that was stopped says how far it came, which is no result
		return err
	}
	result := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return err
	}
	if s.Job == "path" {
		if result, err = endOfPath(dir, out.Bytes()); err != nil {
			return err
		}
	}
	delete(result, "model")
	info.Finished, info.Status = time.Now().Truncate(time.Millisecond), runlog.Done
	if _, err := json.Marshal(info); err != nil {
		info.Settings = s.Settings // JSON has no infinite p
	}
	return errors.Join(writeJSON(filepath.Join(dir, "tables", "result.json"), result), writeJSON(filepath.Join(dir, "run.json"), info))
}

// endOfPath keeps the path in a table and returns its end.
func endOfPath(dir string, printed []byte) (map[string]any, error) {
	var p struct{ Paths []command.PathResult }
	if err := json.Unmarshal(printed, &p); err != nil || len(p.Paths) != 1 || len(p.Paths[0].Points) == 0 {
		return nil, fmt.Errorf("the path has no points: %w", err)
	}
	one := p.Paths[0]
	end := one.Points[len(one.Points)-1]
	return map[string]any{"p": one.P, "max_margin": one.Margin, "points": len(one.Points), "b": end.B, "loss": end.Loss, "gap": end.Gap, "margin": end.Margin,
		"divergence": end.Divergence, "angle": end.Angle}, writeJSON(filepath.Join(dir, "tables", "path.json"), one)
}

// source is the data of a run as its run.json names them.
type source struct{ name, hash string }

// source names the data of a run and their hash. They are read once. The hash shows if data of one name have changed.
func (r *runner) source(ctx context.Context, s *Spec) source {
	data, label, zero := s.Settings["data"], s.Settings["label"], s.Settings["zero_based"]
	key := strings.Join([]string{data, label, zero}, "\x00")
	if known, ok := r.sets[key]; ok {
		return known
	}
	set, err := command.Load(ctx, data, dataset.Options{Label: label, ZeroBased: zero == "true"})
	if err != nil { // the run says what is wrong
		return source{name: data}
	}
	r.sets[key] = source{set.Name, set.Hash}
	return r.sets[key]
}

// writeJSON writes plainly: the folder around it is not in place yet, and one whose result cannot be read does not count.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o666)
}
