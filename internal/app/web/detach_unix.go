//go:build unix

package web

import (
	"os/exec"
	"syscall"
)

// detach gives a process a group of its own: a Ctrl-C at the server's terminal is the server's to pass on.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
