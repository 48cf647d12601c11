//go:build unix

package bench

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a process group of its own: Ctrl-C does not reach it, and killGroup ends what it starts.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a command and what it started.
func killGroup(c *exec.Cmd) { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
