package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
)

// TestMain lets the test's own program be the command line, or a NATS server, in processes that tests kill.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SWEEP_TEST_SERVER"); dir != "" {
		s, err := startServer(dir, os.Args[1], &Connection{})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		s.WaitForShutdown()
		return
	}
	if version := os.Getenv("SWEEP_TEST_VERSION"); version != "" {
		os.Exit(commandLine(version, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// commandLine is what cmd/bregman does, for the commands of this package.
func commandLine(version string, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c struct {
		Sweep  Commands `cmd:""`
		Worker Worker   `cmd:""`
	}
	k, err := kong.Must(&c).Parse(args)
	var cmd command.Command
	if err == nil {
		cmd, err = command.Ready(k.Selected().Target.Addr().Interface().(command.Command))
	}
	if err == nil {
		env := &command.Env{Observer: command.Lines(os.Stderr), Version: version, Engines: new(engine.Pool),
			SaveEvery: 1} // every epoch: networks of tests are small
		err = command.Run(ctx, env, cmd, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bregman:", err)
		return 1
	}
	return 0
}

// proc is a process of a test.
type proc struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    bytes.Buffer
	err    lockedBuffer
	exited chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts the command line in dir.
func start(t *testing.T, dir string, args ...string) *proc {
	t.Helper()
	return startAs(t, dir, "test", args...)
}

func startAs(t *testing.T, dir, version string, args ...string) *proc {
	t.Helper()
	return launch(t, dir, "SWEEP_TEST_VERSION="+version, args...)
}

func launch(t *testing.T, dir, env string, args ...string) *proc {
	t.Helper()
	p := &proc{t: t, cmd: exec.Command(os.Args[0], args...), exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.out, &p.err
	p.cmd.Env = append(os.Environ(), env)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.cmd.Wait(); close(p.exited) }()
	t.Cleanup(func() {
		p.kill()
		if s := p.err.String(); strings.Contains(s, "DATA RACE") { // the output of a killed process is checked only here
			t.Errorf("%v:\n%s", args, s)
		}
	})
	return p
}

func (p *proc) kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

// wait waits for the end and returns the exit code.
func (p *proc) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience + time.Duration(*kills)*10*time.Second):
		p.kill()
		p.t.Fatalf("%v does not end:\n%s", p.cmd.Args[1:], p.err.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// done waits for success.
func (p *proc) done() string {
	p.t.Helper()
	if code := p.wait(); code != 0 {
		p.t.Fatalf("%v: exit %d\n%s", p.cmd.Args[1:], code, p.err.String())
	}
	return p.out.String()
}

// natsServer starts a server in a process of its own and returns it with its address. An empty address takes a free
// port.
func natsServer(t *testing.T, dir, addr string) (*proc, string) {
	t.Helper()
	if addr == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr = l.Addr().String()
		l.Close()
	}
	p := launch(t, t.TempDir(), "SWEEP_TEST_SERVER="+dir, addr)
	eventually(t, "the server listens", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return p, addr
}

// patience is how long a test waits for an event: long, since it is to detect what hangs, not what is slow.
const patience = time.Minute

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// notShort skips a test that kills processes for longer than -short allows.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes a minute with the race detector")
	}
}

// write writes a sweep file and returns its name.
func write(t *testing.T, dir, text string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "s.toml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return "s.toml"
}

// inPlace counts the runs that are in place.
func inPlace(dir string) int {
	found, _ := filepath.Glob(filepath.Join(dir, "runs", "sweep-s", "trials", "*"))
	return len(found)
}

// outcome is the results of a sweep by run, without what differs from time to time.
func outcome(t *testing.T, dir string) map[string]string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(dir, "runs", "sweep-s", "trials", "*"))
	out := map[string]string{}
	for _, path := range found {
		data, err := os.ReadFile(filepath.Join(path, "tables", "result.json"))
		var r map[string]any
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"seconds", "total_seconds", "run", "img_per_second"} {
			delete(r, k)
		}
		b, _ := json.Marshal(r)
		for _, f := range []string{"model.json", "weights.safetensors"} {
			if w, err := os.ReadFile(filepath.Join(path, f)); err == nil {
				b = fmt.Appendf(b, " %s %x", f, sum(w))
			}
		}
		out[filepath.Base(path)] = string(b)
	}
	return out
}

// same checks that a broken sweep has every run once, with the result of the unbroken one.
func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%d runs, want %d", len(got), len(want))
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s:\n got %s\nwant %s", k, got[k], v)
		}
	}
}

// unbroken is the outcome of a sweep that nothing happens to.
func unbroken(t *testing.T, text string, args ...string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	start(t, dir, append([]string{"sweep", write(t, dir, text)}, args...)...).done()
	return outcome(t, dir)
}

// lines are the finished runs in the sweep's metrics.
func lines(t *testing.T, dir string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "runs", "sweep-s", "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		var m struct{ Run string }
		if err := json.Unmarshal([]byte(line), &m); err != nil || seen[m.Run] {
			t.Errorf("metrics: %v, %s twice %v", err, m.Run, seen[m.Run])
		}
		seen[m.Run] = true
	}
	return len(seen)
}
