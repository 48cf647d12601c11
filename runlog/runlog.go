// Package runlog writes and reads run folders: what was asked, what happened, and what came of it.
//
//	runs/<yyyymmdd-hhmmss>-<name>/
//	  run.json        the settings, by which version, on which machine, and how it ended
//	  metrics.jsonl   one JSON object a line, appended as it happens
//	  tables/ figures/ report.html …
//
// Every file but metrics.jsonl is complete or absent: it is written beside its place and renamed into it.
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

// How a run stands, in Info.Status.
const (
	Running     = "running"
	Done        = "done"
	Failed      = "failed"
	Interrupted = "interrupted"
)

// Info is the content of run.json.
type Info struct {
	Command  string    `json:"command"`
	Settings any       `json:"settings"`
	Seed     uint64    `json:"seed"`
	Data     string    `json:"data,omitempty"`
	DataHash string    `json:"data_hash,omitempty"`
	Engine   string    `json:"engine"` // where it ran: "go" for the linear half
	Version  string    `json:"version"`
	Machine  Machine   `json:"machine"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"`
	Status   string    `json:"status"`
	Error    string    `json:"error,omitempty"`
}

// Machine is where a run ran.
type Machine struct {
	Host string `json:"host"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
}

// Run is a run folder being written. Its methods are not safe for concurrent use.
type Run struct {
	Dir  string
	Info Info

	metrics *os.File
}

// Create makes a new run folder under root and writes run.json with status "running".
func Create(root, name string, info Info) (*Run, error) {
	if err := os.MkdirAll(root, 0o777); err != nil {
		return nil, fmt.Errorf("run folder: %w (choose another with --runs)", err)
	}
	info.Started = time.Now().Truncate(time.Millisecond)
	info.Status = Running
	host, _ := os.Hostname()
	info.Machine = Machine{host, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()}
	base := filepath.Join(root, info.Started.Format("20060102-150405")+"-"+slug(name))
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
	r := &Run{Dir: dir, Info: info}
	if err := r.WriteJSON("run.json", r.Info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(r.Path("metrics.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	r.metrics = f
	return r, nil
}

// Resume opens a run folder to go on with: its status is "running" again, and its metrics are the given lines.
func Resume(dir string, metrics []any) (*Run, error) {
	info, err := ReadInfo(dir)
	if err != nil {
		return nil, err
	}
	info.Status, info.Error, info.Finished = Running, "", time.Time{}
	r := &Run{Dir: dir, Info: info}
	var b bytes.Buffer
	for _, m := range metrics {
		line, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		b.Write(append(line, '\n'))
	}
	if err := errors.Join(r.WriteFile("metrics.jsonl", b.Bytes()), r.WriteJSON("run.json", r.Info)); err != nil {
		return nil, err
	}
	r.metrics, err = os.OpenFile(r.Path("metrics.jsonl"), os.O_APPEND|os.O_WRONLY, 0o666)
	return r, err
}

// slug keeps a name safe as part of a path.
func slug(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
			return c
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

// Append adds v as one line to metrics.jsonl, in one write, so that a reader sees whole lines but for the last.
func (r *Run) Append(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = r.metrics.Write(append(data, '\n'))
	return err
}

// Finish records how the run ended: done for a nil error, else interrupted or failed.
// It returns err, or the first error of its own.
func (r *Run) Finish(err error, interrupted bool) error {
	r.Info.Finished = time.Now().Truncate(time.Millisecond)
	switch {
	case err == nil:
		r.Info.Status = Done
	case interrupted:
		r.Info.Status, r.Info.Error = Interrupted, err.Error()
	default:
		r.Info.Status, r.Info.Error = Failed, err.Error()
	}
	late := errors.Join(r.metrics.Close(), r.WriteJSON("run.json", r.Info))
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

// WriteTo is WriteFile for what is too large to be in memory at once.
func WriteTo(path string, write func(io.Writer) error) (err error) {
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
	data, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return info, fmt.Errorf("%s: %w", filepath.Join(dir, "run.json"), err)
	}
	return info, nil
}

// ReadMetrics calls each for every whole line of metrics.jsonl. A last line without its newline, which a
// killed run may leave, is passed over.
func ReadMetrics(dir string, each func(line json.RawMessage) error) error {
	path := filepath.Join(dir, "metrics.jsonl")
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
