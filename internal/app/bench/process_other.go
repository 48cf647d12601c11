//go:build !unix

package bench

import "os/exec"

// ownGroup does nothing: the system has no process groups.
func ownGroup(*exec.Cmd) {}

// killGroup ends a command.
func killGroup(c *exec.Cmd) { c.Process.Kill() }
