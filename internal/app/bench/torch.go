package bench

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/engine"
)

// torchScript has the networks in PyTorch. It is part of the program, so that a GPU machine needs no source folder.
//
//go:embed torch_bench.py
var torchScript []byte

// script writes torchScript into a folder of its own, which the caller removes.
func script() (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "bregman-torch")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	path = filepath.Join(dir, "torch_bench.py")
	if err := os.WriteFile(path, torchScript, 0o600); err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

// torchAbout is the first line of a PyTorch process.
type torchAbout struct {
	Version string `json:"torch"`
	CUDA    string `json:"cuda"`
	Device  string `json:"device"`
}

// torch is a PyTorch process that answers requests, one at a time.
type torch struct {
	about   torchAbout
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan []byte // lines of its standard output; closed when it ends
	stderr  tail
	remove  func()
	gone    error // why it can answer no more
}

// torchStart is how long importing PyTorch and finding the GPU may take: the disk may be slow.
const torchStart = 3 * time.Minute

// startTorch starts a Python on the script. The error says in one line why there is no PyTorch to compare with.
func startTorch(ctx context.Context, python, device string) (*torch, error) {
	path, remove, err := script()
	if err != nil {
		return nil, err
	}
	t := &torch{answers: make(chan []byte), remove: remove}
	t.cmd = exec.Command(python, path, "--serve", "--device", device)
	t.cmd.Env = append(engine.Environ(), "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1")
	t.cmd.Stderr = &t.stderr
	t.cmd.WaitDelay = 5 * time.Second
	ownGroup(t.cmd)
	out, err := t.cmd.StdoutPipe()
	if err == nil {
		t.in, err = t.cmd.StdinPipe()
	}
	if err == nil {
		err = t.cmd.Start()
	}
	if err != nil {
		remove()
		return nil, err
	}
	go func() {
		defer close(t.answers)
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			if json.Valid(line) { // nothing else should be there
				t.answers <- line
			}
		}
	}()
	if err := t.receive(ctx, torchStart, &t.about); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// torchRequest is a line to the process.
type torchRequest struct {
	Do      string  `json:"do"` // prepare or round
	Variant string  `json:"variant"`
	Net     string  `json:"net,omitempty"`
	Batch   int     `json:"batch,omitempty"`
	P       float64 `json:"p,omitempty"`
	Side    int     `json:"side,omitempty"` // of the pictures
	Mode    string  `json:"mode,omitempty"` // of torch.compile
	Seconds float64 `json:"seconds,omitempty"`
}

// torchAnswer is the answer to it.
type torchAnswer struct {
	Images  float64 `json:"images"`
	Seconds float64 `json:"seconds"`
}

// ask sends a request and waits for its answer, up to a limit. An error of what was asked leaves the process as it is;
// after any other it is gone.
func (t *torch) ask(ctx context.Context, limit time.Duration, r torchRequest) (a torchAnswer, err error) {
	if t.gone != nil {
		return a, t.gone
	}
	line, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	if _, err := t.in.Write(append(line, '\n')); err != nil {
		return a, t.ended(err)
	}
	return a, t.receive(ctx, limit, &a)
}

func (t *torch) receive(ctx context.Context, limit time.Duration, into any) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return t.end(ctx.Err())
	case <-late.C:
		return t.end(fmt.Errorf("no answer after %v", limit))
	case line, ok := <-t.answers:
		if !ok {
			return t.ended(errors.New("it ended"))
		}
		var failed struct{ Error string }
		if err := json.Unmarshal(line, &failed); err == nil && failed.Error != "" {
			return errors.New(failed.Error)
		}
		if err := json.Unmarshal(line, into); err != nil {
			return t.end(fmt.Errorf("its answer %.80q: %w", line, err))
		}
		return nil
	}
}

// ended is end for a process that ended by itself: the last line that it wrote says why.
func (t *torch) ended(err error) error {
	t.end(err)
	if last := t.stderr.lastLine(); last != "" {
		t.gone = errors.New(last)
	}
	return t.gone
}

// end ends the process, with those that it started, and returns why.
func (t *torch) end(why error) error {
	if t.gone != nil {
		return why
	}
	t.gone = why
	t.in.Close()
	killGroup(t.cmd)
	for range t.answers { // until the end of its output
	}
	t.cmd.Wait()
	t.remove()
	return why
}

func (t *torch) close() { t.end(errors.New("closed")) }

// tail keeps the last bytes written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	if over := len(t.last) - 1<<14; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(b), nil
}

// lastLine is the last line that is not empty.
func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimSpace(t.last)
	return strings.TrimSpace(string(text[bytes.LastIndexByte(text, '\n')+1:]))
}
