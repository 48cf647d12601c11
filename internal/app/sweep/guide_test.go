//go:build unix

package sweep

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/internal/app/command"
)

// block returns the first block of a language under a heading of the guide.
func block(t *testing.T, heading, language string) string {
	t.Helper()
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "sweeps.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(guide), heading+"\n")
	_, after, ok2 := strings.Cut(after, "```"+language+"\n")
	text, _, ok3 := strings.Cut(after, "```\n")
	if !ok || !ok2 || !ok3 {
		t.Fatalf("the guide has no %s under %s", language, heading)
	}
	return text
}

// The guide's job for Slurm, as a task of its array: it serves a sweep through a server in operator mode, and when
// Slurm sends SIGTERM before the time is up, its worker saves a checkpoint that another resumes from.
func TestTheGuidesSlurmJobServesASweepAndHandsOver(t *testing.T) {
	notShort(t)
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	home, dir := t.TempDir(), t.TempDir()
	addr, creds := operated(t, home)
	pictures(t, dir)
	script := block(t, "### Slurm", "bash")
	for old, own := range map[string]string{"nats://queue:4222": "nats://" + addr, "--engine cuda": "--engine cpu",
		"--data-dir /data": "--data-dir " + home} {
		if strings.Count(script, old) != 1 {
			t.Fatalf("the job has no %q, or several:\n%s", old, script)
		}
		script = strings.Replace(script, old, own, 1)
	}
	if !strings.HasPrefix(script, "#!/bin/bash\n#SBATCH ") || !strings.Contains(script, "--signal=B:TERM@") {
		t.Errorf("no head for sbatch:\n%s", script)
	}
	bin := filepath.Join(home, "bin")
	if err := os.MkdirAll(bin, 0o777); err != nil {
		t.Fatal(err)
	}
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	// What sbatch starts is bash alone, with bregman in the path.
	files := map[string]string{filepath.Join(bin, "bregman"): fmt.Sprintf("#!%s\nSWEEP_TEST_VERSION=test exec %q \"$@\"\n",
		bash, self), filepath.Join(home, "job.sh"): script}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	task := func(n int) *proc {
		tmp := filepath.Join(home, fmt.Sprint("tmp", n))
		if err := os.MkdirAll(tmp, 0o777); err != nil {
			t.Fatal(err)
		}
		p := &proc{t: t, cmd: exec.Command(bash, filepath.Join(home, "job.sh")), exited: make(chan struct{})}
		p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.out, &p.err
		p.cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + tmp, "SLURM_JOB_ID=7",
			"SLURM_ARRAY_JOB_ID=7", fmt.Sprint("SLURM_ARRAY_TASK_ID=", n), "SLURM_JOB_NAME=bregman"}
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { p.cmd.Wait(); close(p.exited) }()
		t.Cleanup(func() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); <-p.exited })
		return p
	}
	s := start(t, dir, "sweep", write(t, dir, network), "--nats", addr, "--creds", creds, "--lost-after", "2s")
	first := task(1)
	anEpoch(t, filepath.Join(home, "tmp1"))
	first.cmd.Process.Signal(syscall.SIGTERM) // to the batch shell alone, as B: says
	select {
	case <-first.exited:
	case <-time.After(patience):
		t.Fatalf("the job does not end: %s", first.err.String())
	}
	if n := inPlace(dir); n == 2 {
		t.Error("both runs were done before the signal: nothing was shown")
	}
	task(2)
	s.done()
	if n := inLogs(dir, "resuming after epoch"); inPlace(dir) != 2 || n != 1 {
		t.Errorf("%d runs, %d resumed from a checkpoint", inPlace(dir), n)
	}
}

// Every command line of the guide is one that the program takes, and its first sweep file is one that can be planned.
func TestTheGuidesCommandsAndFilesAreUnderstood(t *testing.T) {
	if _, err := tryPlan(block(t, "# Sweeps", "toml")); err != nil {
		t.Error(err)
	}
	if p, err := tryPlan(block(t, "## A queue", "toml")); err != nil || len(p.Runs) != 8 {
		t.Error(p, err)
	}
	_, after, ok := strings.Cut(block(t, "### Kubernetes", "yaml"), "args: [")
	list, _, ok2 := strings.Cut(after, "]")
	if !ok || !ok2 {
		t.Fatal("the Kubernetes job has no args")
	}
	lines := []string{"bregman " + strings.NewReplacer(",", "", `"`, "").Replace(list)}
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "sweeps.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(guide)) {
		if strings.HasPrefix(line, "bregman ") && !strings.Contains(line, "$TMPDIR") { // that one was run above
			line, _, _ = strings.Cut(strings.TrimRight(line, "&\n "), "#")
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		var c struct {
			Sweep  Commands `cmd:""`
			Worker Worker   `cmd:""`
		}
		k, err := kong.Must(&c, kong.Exit(func(int) {})).Parse(strings.Fields(line)[1:])
		if err == nil {
			_, err = command.Ready(k.Selected().Target.Addr().Interface().(command.Command))
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if len(lines) < 10 {
		t.Errorf("only %d commands: %q", len(lines), lines)
	}
}
