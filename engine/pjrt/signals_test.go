//go:build cgo && linux

package pjrt_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	xla "github.com/gomlx/go-xla/pjrt"

	"github.com/bregman-ml/bregman/engine/internal/fakepjrt"
	"github.com/bregman-ml/bregman/engine/pjrt"
)

// action is what the kernel does with a signal.
type action struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

func actionOf(t *testing.T, s syscall.Signal) (a action) {
	t.Helper()
	_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), 0, uintptr(unsafe.Pointer(&a)), 8, 0, 0)
	if e != 0 {
		t.Fatal(e)
	}
	a.restorer = 0 // Go's or libc's: both return from the handler
	return a
}

// onStack reports whether the handler runs on a stack of its own. Without one, Go ends the process if the signal comes
// while a goroutine runs.
func (a action) onStack() bool { return a.flags&0x08000000 != 0 }

func fakeAt(t *testing.T, name string, macros ...string) string {
	t.Helper()
	fakepjrt.Compiler(t)
	path := filepath.Join(shared.dir, name)
	if _, err := os.Stat(path); err != nil {
		fakepjrt.Build(t, path, macros...)
	}
	return path
}

// A plugin may take handlers their own stacks; after a compilation they have them again.
func TestSignalsKeepTheirStacks(t *testing.T) {
	before := actionOf(t, syscall.SIGUSR2)
	c := register(t, fakeAt(t, "strips.so", "STRIPS"), 2).NewClient()
	if actionOf(t, syscall.SIGUSR2).onStack() {
		t.Fatal("the plugin has changed nothing")
	}
	x := c.Compile("outputs=1")
	defer x.Destroy()
	if after := actionOf(t, syscall.SIGUSR2); after.handler != before.handler || !after.onStack() {
		t.Errorf("the next signal may end the process: %+v", after)
	}
}

// Whatever a compilation does to SIGINT, it is Go's afterwards, with all that Go gave it.
func TestSignalsAreGosAfterACompilation(t *testing.T) {
	path := fakeAt(t, "meddles.so")
	p := register(t, path, 2)
	for k, how := range []string{"libc", "kernel", "keeps", "ignores"} {
		t.Run(how, func(t *testing.T) {
			t.Setenv("FAKE_SIGNALS", how)
			before := actionOf(t, syscall.SIGINT)
			x := p.NewClient().Compile(fmt.Sprintf("outputs=1 number %d", k))
			defer x.Destroy()
			if after := actionOf(t, syscall.SIGINT); after != before || !after.onStack() {
				t.Errorf("SIGINT was %+v, and is %+v", before, after)
			}
		})
	}
}

// What a program ignores stays ignored.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	p := register(t, fakeAt(t, "meddles.so"), 2)
	signal.Ignore(syscall.SIGHUP)
	defer func() { // Reset alone leaves it ignored
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGHUP)
		signal.Stop(c)
	}()
	x := p.NewClient().Compile("outputs=1")
	defer x.Destroy()
	if after := actionOf(t, syscall.SIGHUP); after.handler != 1 {
		t.Errorf("SIGHUP is %+v", after)
	}
}

// compileChild is the environment variable that makes this program compile with the plugin at its path.
const compileChild = "BREGMAN_TEST_COMPILES"

// The first thread, which signals are sent to, runs a goroutine while another thread compiles.
func init() {
	if os.Getenv(compileChild) != "" {
		runtime.LockOSThread()
	}
}

// compileUntilStopped compiles and ends as bregman train does after Ctrl-C.
func compileUntilStopped(path string) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var compiled atomic.Bool
	var err error
	go func() {
		defer compiled.Store(true)
		if err = pjrt.Register(path, 2); err != nil {
			return
		}
		var plugin *xla.Plugin
		if plugin, err = xla.GetPlugin(path); err != nil {
			return
		}
		var client *xla.Client
		if client, err = plugin.NewClient(nil); err == nil {
			_, err = client.Compile().WithStableHLO([]byte("outputs=1")).Done()
		}
	}()
	for !compiled.Load() { // on the stack of a goroutine
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	select {
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr, "interrupted")
		os.Exit(1)
	case <-time.After(10 * time.Second):
		fmt.Fprintln(os.Stderr, "no signal came")
		os.Exit(3)
	}
}

// Ctrl-C while a library compiles that has put Go's handler back without its stack.
func TestCtrlCWhileAProgramIsCompiled(t *testing.T) {
	path := fakeAt(t, "meddles.so")
	for _, how := range []string{"libc", "kernel"} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), compileChild+"="+path, "FAKE_SIGNALS="+how, "FAKE_WAITS=1")
			var said bytes.Buffer
			cmd.Stderr = &said
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Errorf("it did not compile: %q, %v", line, err)
			}
			for range 50 {
				_ = cmd.Process.Signal(os.Interrupt) // it may have ended
				time.Sleep(2 * time.Millisecond)
			}
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait() // its state says how it ended
			if code := cmd.ProcessState.ExitCode(); code != 1 || strings.TrimSpace(said.String()) != "interrupted" {
				t.Errorf("%v: %.600s", cmd.ProcessState, said.String())
			}
		})
	}
}
