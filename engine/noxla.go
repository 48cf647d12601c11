//go:build !cgo || !linux

package engine

import (
	"errors"
	"os"
)

var errNoXLA = errors.New("built without cgo: XLA's engines are not in this program")

func lookXLA() (cuda, cpu []Finding) {
	return []Finding{{Name: CUDA, Why: errNoXLA.Error()}}, []Finding{{Name: XLACPU, Why: errNoXLA.Error()}}
}

func prepare(string) error { return errNoXLA }

// Environ is the environment for other programs.
func Environ() []string { return os.Environ() }
