package paper

import (
	"embed"
	"path"
	"strings"
)

//go:embed sweeps/*.toml
var sweepFiles embed.FS

// Sweeps are the paper's tables as sweep files, by name.
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
