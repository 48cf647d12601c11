//go:build !unix

package command

// cpuSeconds reports nothing: it is not known here.
func cpuSeconds() (float64, bool) { return 0, false }
