package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/runlog"
)

const endless = "fit --data r100 --p 3 --steps 2000000000 --lr 1e-4"

// begin starts a command in dir, and collects its output.
func begin(t *testing.T, dir, name string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	said := new(bytes.Buffer)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, said
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begin := time.Now(); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// theRun waits for the run folder in dir, until it has metrics.
func theRun(t *testing.T, dir string) string {
	t.Helper()
	var run string
	waitFor(t, "a run folder with metrics", func() bool {
		all, _ := filepath.Glob(filepath.Join(dir, "runs", "*", "metrics.jsonl"))
		if len(all) == 0 {
			return false
		}
		run = filepath.Dir(all[0])
		st, err := os.Stat(all[0])
		return err == nil && st.Size() > 0
	})
	return run
}

func status(t *testing.T, run string) string {
	t.Helper()
	info, err := runlog.ReadInfo(run)
	if err != nil {
		t.Fatal(err)
	}
	return info.Status
}

func TestAClosedTerminalSavesACheckpointAndStops(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("under nohup the program ignores the signal, too")
	}
	dir := t.TempDir()
	cmd, said := begin(t, dir, program, strings.Fields(endless)...)
	run := theRun(t, dir)
	cmd.Process.Signal(syscall.SIGHUP)
	cmd.Process.Signal(syscall.SIGHUP) // of the shell, after the kernel's
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("%v: %s", cmd.ProcessState, said)
	}
	if s := status(t, run); s != runlog.Interrupted {
		t.Errorf("status %q", s)
	}
	if _, err := os.Stat(filepath.Join(run, "checkpoints", "fit.safetensors")); err != nil {
		t.Error(err)
	}
}

func TestARunUnderNohupSurvivesItsTerminal(t *testing.T) {
	dir := t.TempDir()
	cmd, said := begin(t, dir, "bash", "-c", `trap "" HUP; exec `+program+" "+endless)
	run := theRun(t, dir)
	cmd.Process.Signal(syscall.SIGHUP)
	hangup := time.Now()
	waitFor(t, "a checkpoint after the signal", func() bool {
		st, err := os.Stat(filepath.Join(run, "checkpoints", "fit.safetensors"))
		return err == nil && st.ModTime().Sub(hangup) > 300*time.Millisecond // one that SIGHUP saves comes sooner
	})
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	if s := status(t, run); s != runlog.Interrupted || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("status %q, %v: %s", s, cmd.ProcessState, said)
	}
}

// `bregman fit … 2>&1 | head -1`: the reader is gone while the run has still much to say.
func TestAClosedPipeDoesNotEndARun(t *testing.T) {
	commands := []string{"fit --data r100 --p 3 --steps 1000 --lr 1e-4", "fit --data r100 --p 3 --json",
		"path --data r2 --json", "sweep tiny.toml --out runs/sweep"}
	if !raceDetector { // GoMLX's engine in Go fails the pointer checks that come with it
		commands = append(commands, "train --model cnn --data pictures --p 2 --epochs 2 --batch 12 --engine cpu")
	}
	for _, args := range commands {
		dir := t.TempDir()
		write(t, dir, "tiny.toml", "job = \"fit\"\nmetric = \"norm\"\n[settings]\ndata = \"r2\"\n[grid]\np = [2, 3]\n")
		pictures(t, dir)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(args)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, w, w
		cmd.Run()
		w.Close()
		if cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("%s: %v", args, cmd.ProcessState)
		}
		run := theRun(t, dir)
		if s := status(t, run); s != runlog.Done {
			t.Errorf("%s: status %q", args, s)
		}
		if _, err := os.Stat(filepath.Join(run, "report.html")); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestAShortCommandEndsQuietlyWithItsReader(t *testing.T) {
	for _, args := range []string{"data list", "version", "data synth --rows 20000 --cols 100 --out -",
		"margin --data r2"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(args)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), w, &stderr
		cmd.Run()
		w.Close()
		if stderr.Len() > 0 || cmd.ProcessState.Success() {
			t.Errorf("%s: %v, %s", args, cmd.ProcessState, stderr.String())
		}
	}
}

// dashboard starts serve in dir, and with it a fit of so many steps.
func dashboard(t *testing.T, dir string, steps string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "serve", "--allow-run", "--addr", "127.0.0.1:0")
	cmd.Dir = dir
	said := new(bytes.Buffer)
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(line, " ")
	body := fmt.Sprintf(`{"command":"fit","settings":{"data":"r100","p":"3","lr":"1e-4","steps":%q}}`, steps)
	resp, err := http.Post(address+"api/start", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", resp.Status, text)
	}
	return cmd, said
}

func TestARunOfThePageSurvivesAKilledServer(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := dashboard(t, dir, "3000000") // about a second
	run := theRun(t, dir)
	cmd.Process.Kill()
	cmd.Wait()
	if s := status(t, run); s != runlog.Running {
		t.Fatalf("the run was %s before its server was killed", s)
	}
	waitFor(t, "the end of the run", func() bool { return status(t, run) == runlog.Done })
	// The process still writes the page, while the folder must not be removed.
	waitFor(t, "the page of the run", func() bool {
		_, err := os.Stat(filepath.Join(run, "report.html"))
		return err == nil
	})
}

func TestCtrlCOnTheServerStopsItsRunsAndSaysSo(t *testing.T) {
	dir := t.TempDir()
	cmd, said := dashboard(t, dir, "2000000000")
	run := theRun(t, dir)
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if !strings.Contains(said.String(), "stopping the runs that the page started: 1") || cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("%v: %s", cmd.ProcessState, said)
	}
	if s := status(t, run); s != runlog.Interrupted {
		t.Errorf("status %q", s)
	}
}
