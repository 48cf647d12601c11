package paper

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/sweep"
)

//go:embed sweeps/*.toml
var sweepFiles embed.FS

// Sweeps are the built-in sweep files, by name: the paper's tables, cifar10, imagenet and bias, and the exact limits of
// bias, margins.
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
	out["cifar10"] = append(out["cifar10"], publishedRows()...)
	return out
}

// publishedRows are the paper's accuracies as a sweep file has them, in percent.
func publishedRows() []byte {
	var b bytes.Buffer
	for _, r := range numbers.CIFAR10() {
		fmt.Fprintf(&b, "\n[[published]]\nmodel = %q\np = %v\nmean = %.2f\ndeviation = %.2f\n",
			r.Model, r.P, r.Mean, r.Deviation)
	}
	return b.Bytes()
}

// The names of the reports in sweep files.
const (
	networksReport = "networks"
	imageNetReport = "imagenet"
	normsReport    = "norms"
)

// Library is the built-in sweep files and their reports.
func Library() sweep.Library {
	return sweep.Library{Files: Sweeps(),
		Reports: map[string]sweep.Report{networksReport: newCifar10, imageNetReport: newImageNet, normsReport: newNorms}}
}
