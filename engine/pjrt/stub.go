//go:build !cgo || !linux

package pjrt

import "errors"

// Register lets up to inFlight executions of each program of the plugin at path run without waiting. This program has
// no plugins.
func Register(string, int) error { return errors.New("built without cgo, or not for Linux") }

// Rewrites reports whether programs for the plugin at path can call kernels of ours.
func Rewrites(string) bool { return false }
