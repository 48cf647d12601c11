//go:build !unix

package web

import "os/exec"

func detach(*exec.Cmd) {}
