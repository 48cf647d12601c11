// Package runlog writes and reads run folders: the settings of a run, its metrics and its results.
//
//	runs/<yyyymmdd-hhmmss>-<name>/
//	  run.json        the settings, by which version, on which machine, and how it ended
//	  metrics.jsonl   one JSON object a line, appended as it happens
//	  tables/ figures/ report.html …
//
// Any program may write one, and "bregman serve" shows it while it grows:
//
//	run, err := runlog.Create("runs", "my-loop", runlog.Info{Command: "my-program", Settings: settings})
//	for step := 1; err == nil && step <= 1000; step++ {
//		err = run.Append(map[string]any{"step": step, "loss": loss})
//	}
//	err = run.Finish(err, false)
//
// A line is a point of a curve: "step" or "epoch" is what it is drawn over, other numbers are drawn, and a "name" keeps
// curves apart. Package looplog does it for the training loops of GoMLX.
//
// Every file but metrics.jsonl is complete or absent: it is written beside its place and renamed into it. Only the
// run.json of a run that ends on a full disk is written in place. One process at a time writes a folder: it holds a
// lock on the file .lock there.
package runlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// The files of every run folder.
const (
	infoFile    = "run.json"
	metricsFile = "metrics.jsonl"
)

// The states of a run, in Info.Status.
const (
	Running     = "running" // or killed, before it could write another state
	Done        = "done"
	Failed      = "failed"
	Interrupted = "interrupted"
	Killed      = "killed" // what Folder.Status returns for "running" if no process holds the lock
)

// Info is the content of run.json.
type Info struct {
	Command  string    `json:"command"`
	Settings any       `json:"settings"`
	Seed     uint64    `json:"seed"`
	Data     string    `json:"data,omitempty"`
	DataHash string    `json:"data_hash,omitempty"`
	From     string    `json:"from,omitempty"` // the folder's name of the run whose weights it started from
	Engine   string    `json:"engine"`         // where it ran: "go" for the linear half
	Version  string    `json:"version"`
	Machine  Machine   `json:"machine"`
	Started  time.Time `json:"started"`
	Resumed  []Leg     `json:"resumed,omitempty"` // engine, version and machine above are those it began with
	Finished time.Time `json:"finished,omitzero"`
	Status   string    `json:"status"`
	Error    string    `json:"error,omitempty"`
	Diverged bool      `json:"diverged,omitempty"` // it failed because its numbers were not finite: a result, too
	Warnings []string  `json:"warnings,omitempty"` // files that could not be written, without which the run continued
}

// Machine is where a run ran.
type Machine struct {
	Host string `json:"host"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
	PID  int    `json:"pid,omitempty"` // the process that wrote it
}

func thisMachine() Machine {
	host, _ := os.Hostname()
	return Machine{host, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), os.Getpid()}
}

// Leg is one continuation of a run that was stopped, perhaps on another machine.
type Leg struct {
	Started time.Time `json:"started"`
	Engine  string    `json:"engine"`
	Version string    `json:"version"`
	Machine Machine   `json:"machine"`
}

// Run is a run folder being written. Its methods are not safe for concurrent use.
type Run struct {
	Dir  string
	Info Info
	Say  func(format string, args ...any) // called once for each kind of file that could not be written; may be nil

	metrics   *os.File
	unwritten []byte // the end of metrics.jsonl, which could not be written yet
	lost      []loss
	lock      *os.File // nil if the system has no locks
}

// BusyError says that another process is writing a run folder.
type BusyError struct{ Dir string }

// Error is one line.
func (e *BusyError) Error() string {
	return e.Dir + ": another process is running in this folder: wait for it, or stop it"
}

// Create makes a new run folder under root and writes run.json with status "running".
func Create(root, name string, info Info) (*Run, error) {
	if err := os.MkdirAll(root, 0o777); err != nil {
		return nil, fmt.Errorf("run folder: %w (choose another with --runs)", err)
	}
	base := filepath.Join(root, time.Now().Format("20060102-150405")+"-"+slug(name))
	dir := base
	for k := 2; ; k++ {
		err := os.Mkdir(dir, 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("run folder: %w (choose another with --runs)", err)
		}
		dir = fmt.Sprintf("%s-%d", base, k)
	}
	return begin(dir, info)
}

// CreateAt makes exactly this run folder, which must not exist yet: one of many inside another run, say.
func CreateAt(dir string, info Info) (*Run, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	return begin(dir, info)
}

// begin writes run.json and opens the metrics.
func begin(dir string, info Info) (*Run, error) {
	r := &Run{Dir: dir, Info: NewInfo(info)}
	var err error
	if r.lock, err = lock(dir); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	if err := r.WriteJSON(infoFile, r.Info); err != nil {
		return nil, errors.Join(err, r.unlock())
	}
	f, err := os.OpenFile(r.Path(metricsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, errors.Join(err, r.unlock())
	}
	r.metrics = f
	return r, nil
}

// NewInfo returns info of a run that starts now, on this machine.
func NewInfo(info Info) Info {
	info.Started, info.Status = time.Now().Truncate(time.Millisecond), Running
	info.Machine = thisMachine()
	return info
}

// Busy reports whether a process is writing the run folder. It is always false if the system has no locks.
func Busy(dir string) (bool, error) {
	if _, err := ReadInfo(dir); err != nil { // only a run folder gets a lock file
		return false, err
	}
	held, err := lock(dir)
	if busy := (*BusyError)(nil); errors.As(err, &busy) {
		return true, nil
	}
	if held != nil {
		held.Close()
	}
	return false, err
}

func (r *Run) unlock() error {
	if r.lock == nil {
		return nil
	}
	held := r.lock
	r.lock = nil
	return held.Close()
}

// Lock locks an existing run folder for this process and changes nothing in it. Reopen continues the run, Release
// unlocks the folder. If another process is writing it, Lock returns a BusyError.
func Lock(dir string) (*Run, error) {
	if _, err := ReadInfo(dir); err != nil { // only a run folder gets a lock file
		return nil, err
	}
	held, err := lock(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: dir, lock: held}
	if r.Info, err = ReadInfo(dir); err != nil { // read again, now that no other process writes it
		return nil, errors.Join(err, r.Release())
	}
	return r, nil
}

// Release unlocks a folder if Reopen was not called or failed. After Finish it does nothing.
func (r *Run) Release() error { return r.unlock() }

// Reopen sets a locked folder back to running, with these lines as its metrics. It records that the run was resumed, by
// which version and where.
func (r *Run) Reopen(metrics []any, engine, version string) error {
	info := r.Info
	info.Status, info.Error, info.Warnings, info.Finished = Running, "", nil, time.Time{}
	info.Diverged = false
	info.Resumed = append(info.Resumed, Leg{time.Now().Truncate(time.Millisecond), engine, version, thisMachine()})
	var b bytes.Buffer
	for _, m := range metrics {
		line, err := json.Marshal(m)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := errors.Join(r.WriteFile(metricsFile, b.Bytes()), r.WriteJSON(infoFile, info)); err != nil {
		return err
	}
	r.Info = info
	var err error
	r.metrics, err = os.OpenFile(r.Path(metricsFile), os.O_APPEND|os.O_WRONLY, 0o666)
	return err
}

// Resume is Lock and Reopen, for a run that is resumed by the engine and version it began with.
func Resume(dir string, metrics []any) (*Run, error) {
	r, err := Lock(dir)
	if err != nil {
		return nil, err
	}
	if err := r.Reopen(metrics, r.Info.Engine, r.Info.Version); err != nil {
		return nil, errors.Join(err, r.Release())
	}
	return r, nil
}

// slug keeps a name safe as part of a path.
func slug(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
			return c
		case c == '+': // 1e+09 is not 1e-09
			return -1
		}
		return '-'
	}, name)
}

// Path returns the path of a file of the run, given by its slash-separated name.
func (r *Run) Path(name string) string { return filepath.Join(r.Dir, filepath.FromSlash(name)) }

// WriteFile writes a file of the run, whole or not at all, and makes its folder.
func (r *Run) WriteFile(name string, data []byte) error { return WriteFile(r.Path(name), data) }

// WriteJSON writes v, indented.
func (r *Run) WriteJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return r.WriteFile(name, append(data, '\n'))
}

// Append adds v as one line to metrics.jsonl, in one write, so that a reader sees whole lines but for the last. A line
// that the disk does not take is written with the next one; if it never is, that is a warning and not an error. An
// error is about v.
func (r *Run) Append(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	r.unwritten = append(append(r.unwritten, data...), '\n')
	r.flush()
	return nil
}

// Sync writes the metrics to disk, before a file that depends on them.
func (r *Run) Sync() error {
	if err := r.flush(); err != nil {
		return err
	}
	return r.metrics.Sync()
}

// Finish records how the run ended: done for a nil error, else interrupted or failed.
// It returns err, or the first error of its own.
func (r *Run) Finish(err error, interrupted bool) error {
	if r.metrics == nil { // locked and not reopened: the run is as it was
		return errors.Join(err, r.unlock())
	}
	r.Info.Finished = time.Now().Truncate(time.Millisecond)
	switch {
	case err == nil:
		r.Info.Status = Done
	case interrupted:
		r.Info.Status, r.Info.Error = Interrupted, err.Error()
	default:
		r.Info.Status, r.Info.Error = Failed, err.Error()
	}
	r.flush()
	if err := r.metrics.Close(); err != nil {
		r.Lost(metricsFile, err)
	}
	r.Info.Warnings = r.warnings()
	late := errors.Join(r.writeInfo(), r.unlock())
	if err == nil {
		err = late
	}
	return err
}

// WriteFile writes data to path, whole or not at all: beside it first, then renamed. It makes missing folders.
func WriteFile(path string, data []byte) error {
	return WriteTo(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteTo is WriteFile for what is too large to be in memory at once. A device or a pipe is written to, not replaced.
func WriteTo(path string, write func(io.Writer) error) (err error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	err = write(f)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ReadInfo reads run.json of a run folder.
func ReadInfo(dir string) (Info, error) {
	var info Info
	data, err := os.ReadFile(filepath.Join(dir, infoFile))
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return info, fmt.Errorf("%s: %w", filepath.Join(dir, infoFile), err)
	}
	return info, nil
}

// ReadMetrics calls each for every whole line of metrics.jsonl. A last line without its newline, which a killed run may
// leave, is skipped.
func ReadMetrics(dir string, each func(line json.RawMessage) error) error {
	path := filepath.Join(dir, metricsFile)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	br := bufio.NewReaderSize(f, 1<<16)
	for n := 1; ; n++ {
		line, err := br.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		if !json.Valid(line) {
			return fmt.Errorf("%s:%d: not a JSON object", path, n)
		}
		if err := each(line); err != nil {
			return err
		}
	}
}
