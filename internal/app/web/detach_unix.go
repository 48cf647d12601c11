//go:build unix

package web

import (
	"os/exec"
	"syscall"
)

// detach gives a process a group of its own: Ctrl-C at the server's terminal then reaches only the server, which passes
// it on.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
