package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// A run that the page starts is a child process of the same binary, so that it does what the command line would do, and
// can end without the server.

var errNotAllowed = &problem{http.StatusForbidden,
	errors.New("this server does not start runs: use bregman serve --allow-run")}

// jobs are the processes that were started.
type jobs struct {
	settings Serve
	max      int
	program  string // for tests; empty: this one
	say      func(format string, args ...any)

	mu      sync.Mutex
	all     []*started
	running sync.WaitGroup
}

// started is one process.
type started struct {
	id       int
	args     []string
	line     string            // the command, as one would type it
	form     map[string]string // what the page sent
	runs     int               // how many runs it has
	begin    time.Time
	cmd      *exec.Cmd
	out, err tailBuffer

	mu       sync.Mutex
	end      time.Time
	code     int
	canceled bool
}

// tailBuffer keeps the end of the output of a process.
type tailBuffer struct {
	mu   sync.Mutex
	data []byte
}

const keepOutput = 32 << 10

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, p...)
	if extra := len(b.data) - keepOutput; extra > 0 {
		b.data = append(b.data[:0], b.data[extra:]...)
	}
	return len(p), nil
}

func (b *tailBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(bytes.ToValidUTF8(b.data, []byte("?")))
}

// keepJobs is how many ended processes stay in the list.
const keepJobs = 50

// start starts a command.
func (j *jobs) start(p prepared, form map[string]string) (*started, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := j.count(); n >= j.max {
		return nil, &problem{http.StatusTooManyRequests,
			fmt.Errorf("%s running already, the most this server starts: wait, or cancel one", render.Count(n, "run"))}
	}
	program := j.program
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	s := &started{id: len(j.all) + 1, args: p.args, line: p.line, form: form, runs: runsOf(p.command), begin: time.Now()}
	s.cmd = exec.Command(program, p.args...)
	if n := len(j.all); n > 0 {
		s.id = j.all[n-1].id + 1
	}
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.WaitDelay = &s.out, &s.err, 5*time.Second
	detach(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	j.all = append(j.all, s)
	for k := 0; len(j.all) > keepJobs && k < len(j.all); k++ {
		if !j.all[k].ended().IsZero() {
			j.all = append(j.all[:k], j.all[k+1:]...)
			break
		}
	}
	j.running.Add(1)
	go func() {
		defer j.running.Done()
		s.cmd.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end, s.code = time.Now(), s.cmd.ProcessState.ExitCode()
	}()
	return s, nil
}

// count returns how many processes are running. The caller holds mu.
func (j *jobs) count() int {
	n := 0
	for _, s := range j.all {
		if s.ended().IsZero() {
			n++
		}
	}
	return n
}

func (s *started) ended() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

// patience is how long a process may take to end after an interrupt.
const patience = 10 * time.Second

// cancel interrupts a process, as Ctrl-C does, and kills it if it does not end.
func (s *started) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.end.IsZero() || s.canceled {
		return
	}
	s.canceled = true
	s.cmd.Process.Signal(os.Interrupt)
	time.AfterFunc(patience, func() {
		if s.ended().IsZero() {
			s.cmd.Process.Kill()
		}
	})
}

// stop cancels all processes and waits for them. If there are some, it says so first.
func (j *jobs) stop() {
	j.mu.Lock()
	if n := j.count(); n > 0 && j.say != nil {
		j.say("stopping the runs that the page started: %d", n)
	}
	for _, s := range j.all {
		s.cancel()
	}
	j.mu.Unlock()
	j.running.Wait()
}

// jobAnswer is the state of a process.
type jobAnswer struct {
	ID       int       `json:"job"`
	Command  string    `json:"command"` // as one would type it
	Status   string    `json:"status"`  // running, done, failed, canceled
	Started  time.Time `json:"started"`
	Seconds  number    `json:"seconds"`
	Progress number    `json:"progress"`
	Runs     []string  `json:"runs"`   // its run folders
	Titles   []string  `json:"titles"` // and what they are called
	Output   string    `json:"output"`
	Messages string    `json:"messages"`

	Form     string            `json:"form"` // what starts it again
	Settings map[string]string `json:"settings"`
}

func (s *Server) jobAnswer(j *started) jobAnswer {
	j.mu.Lock()
	end, code, canceled := j.end, j.code, j.canceled
	j.mu.Unlock()
	a := jobAnswer{ID: j.id, Command: j.line, Status: "running", Started: j.begin, Form: j.args[0], Settings: j.form,
		Seconds: number(time.Since(j.begin).Seconds()), Progress: number(nan), Runs: []string{}, Titles: []string{},
		Output: j.out.String(), Messages: j.err.String()}
	if !end.IsZero() {
		a.Seconds = number(end.Sub(j.begin).Seconds())
		switch {
		case code == 0:
			a.Status, a.Progress = "done", 1
		case canceled:
			a.Status = "canceled"
		default:
			a.Status = "failed"
		}
	}
	if j.args[0] == "margin" { // it has no run folder
		return a
	}
	var progress float64 // in runs
	for _, run := range s.list.all() {
		if run.Started.Before(j.begin.Add(-time.Second)) {
			break // the list is in this order
		}
		if head, err := s.head(run.ID); err == nil && head.Info.Machine.PID == j.cmd.Process.Pid {
			a.Runs, a.Titles = append(a.Runs, run.ID), append(a.Titles, cmp.Or(run.Name, run.Label, run.Title))
			if run.Status == runlog.Done {
				progress++
			} else if v := float64(run.Progress); v-v == 0 {
				progress += v
			}
		}
	}
	if end.IsZero() && len(a.Runs) > 0 {
		a.Progress = number(progress / float64(max(j.runs, len(a.Runs))))
	}
	return a
}

// runsOf is how many runs a command has, one after the other: train has one for each p and trial.
func runsOf(c command.Command) int {
	if t, ok := c.(*command.Train); ok {
		return max(1, len(t.P)*t.Trials)
	}
	return 1
}

func (s *Server) getJobs(*http.Request) (any, error) {
	if !s.settings.AllowRun {
		return nil, errNotAllowed
	}
	s.jobs.mu.Lock()
	all := append([]*started(nil), s.jobs.all...)
	s.jobs.mu.Unlock()
	out := []jobAnswer{}
	for _, j := range all {
		out = append([]jobAnswer{s.jobAnswer(j)}, out...)
	}
	return map[string]any{"jobs": out}, nil
}

func (s *Server) postStart(r *http.Request) (any, error) {
	if !s.settings.AllowRun {
		return nil, errNotAllowed
	}
	var in struct {
		Command  string            `json:"command"`
		Settings map[string]string `json:"settings"`
		Dry      bool              `json:"dry"` // check them only
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	p, err := s.settings.arguments(in.Command, in.Settings)
	if in.Dry {
		return checked(p, err)
	}
	if err != nil {
		return nil, err
	}
	j, err := s.jobs.start(p, in.Settings)
	if err != nil {
		return nil, err
	}
	return s.jobAnswer(j), nil
}

// checked is the answer to a form that is not sent yet. What is wrong with a form that somebody still fills in is an
// answer, too.
func checked(p prepared, err error) (any, error) {
	var wrong *settings.Error
	switch {
	case errors.As(err, &wrong):
		return map[string]any{"error": err.Error(), "setting": wrong.Key}, nil
	case err != nil:
		return nil, err
	}
	return map[string]any{"line": p.line, "runs": runsOf(p.command)}, nil
}

func (s *Server) postCancel(r *http.Request) (any, error) {
	if !s.settings.AllowRun {
		return nil, errNotAllowed
	}
	var in struct {
		Job int `json:"job"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	for _, j := range s.jobs.all {
		if j.id == in.Job {
			j.cancel()
			return map[string]any{}, nil
		}
	}
	return nil, &problem{http.StatusNotFound, fmt.Errorf("no job %d", in.Job)}
}
