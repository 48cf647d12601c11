package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
)

// stamp is the version of a release: go build -ldflags "-X main.stamp=v1.2.3".
var stamp string

// versionCmd is `bregman version`.
type versionCmd struct{ command.Printed }

// Check finds nothing wrong.
func (versionCmd) Check() error { return nil }

// Do reads what the compiler wrote into the program. It looks for engines and starts none.
func (versionCmd) Do(_ context.Context, env *command.Env) (command.Result, error) {
	out := &about{Version: env.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	out.built(debug.ReadBuildInfo())
	for _, f := range engine.Look() {
		out.Engines = append(out.Engines, available{f.Name, f.Usable, f.Why})
	}
	return out, nil
}

// about is the result of version.
type about struct {
	Version  string      `json:"version"`
	Commit   string      `json:"commit,omitempty"`
	Time     string      `json:"commit_time,omitempty"`
	Modified bool        `json:"modified"` // the source had changes that were in no commit
	Go       string      `json:"go"`
	OS       string      `json:"os"`
	Arch     string      `json:"arch"`
	Cgo      bool        `json:"cgo"`
	Engines  []available `json:"engines"`
}

// available is an engine that was looked for.
type available struct {
	Name  string `json:"name"`
	Found bool   `json:"found"`
	Why   string `json:"why"` // why not, or what it is
}

func (a *about) built(info *debug.BuildInfo, ok bool) {
	if !ok {
		return
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			a.Commit = s.Value
		case "vcs.time":
			a.Time = s.Value
		case "vcs.modified":
			a.Modified = s.Value == "true"
		case "CGO_ENABLED":
			a.Cgo = s.Value == "1"
		}
	}
}

// Print shows a line for each.
func (a *about) Print(w io.Writer) {
	fmt.Fprintln(w, "bregman", a.Version)
	switch {
	case a.Commit == "":
		fmt.Fprintln(w, "commit    not known: it was built outside of a clone, or with -buildvcs=false")
	case a.Modified:
		fmt.Fprintln(w, "commit    "+a.Commit+", "+a.Time+", dirty: with changes that are in no commit")
	default:
		fmt.Fprintln(w, "commit    "+a.Commit+", "+a.Time)
	}
	cgo := "without cgo"
	if a.Cgo {
		cgo = "with cgo"
	}
	fmt.Fprintf(w, "built     %s for %s/%s, %s\n", a.Go, a.OS, a.Arch, cgo)
	var found, missing []string
	for _, e := range a.Engines {
		if e.Found {
			found = append(found, e.Name)
		} else {
			missing = append(missing, e.Name+" ("+e.Why+")")
		}
	}
	fmt.Fprintln(w, "engines   "+strings.Join(found, ", "))
	if len(missing) > 0 {
		fmt.Fprintln(w, "not here  "+strings.Join(missing, "\n          "))
	}
}

// JSON has everything.
func (a *about) JSON() any { return a }

// committed is when the program's source was committed, or now if that is not known.
func committed() time.Time {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if t, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				return t
			}
		}
	}
	return time.Now()
}

// version is that of the release or the module, or the commit it was built from.
func version() string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	if v == "" {
		v = "devel"
	}
	return v
}
