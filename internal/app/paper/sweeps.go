package paper

import (
	"embed"
	"path"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/sweep"
)

//go:embed sweeps/*.toml
var sweepFiles embed.FS

// Sweeps are the built-in sweep files, by name: the paper's tables, cifar10 and bias, and the exact limits of bias, margins.
func Sweeps() map[string][]byte {
	out := map[string][]byte{}
	entries, err := sweepFiles.ReadDir("sweeps")
	if err != nil {
		panic(err) // embedded
	}
	for _, e := range entries {
		data, err := sweepFiles.ReadFile(path.Join("sweeps", e.Name()))
		if err != nil {
			panic(err)
		}
		out[strings.TrimSuffix(e.Name(), ".toml")] = data
	}
	return out
}

// The reports that a sweep file may ask for.
const (
	networksReport = "networks"
	normsReport    = "norms"
)

// Library is the built-in sweep files and their reports.
func Library() sweep.Library {
	return sweep.Library{Files: Sweeps(), Reports: map[string]sweep.Report{networksReport: newNetworks, normsReport: newNorms}}
}
