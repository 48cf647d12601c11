package web

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// stopped are the states of a run that ended before its work was done.
var stopped = []string{runlog.Killed, runlog.Interrupted, runlog.Failed}

// clock is how a time is written in a sentence.
const clock = "2 January 2006, 15:04:05"

// ended says in a sentence why a run ended before its work was done; "" of other runs.
func ended(f *runlog.Folder, run *trials.Run) string {
	at := reached(f, run)
	switch run.Status {
	case runlog.Killed:
		return fmt.Sprintf("The process is gone: it was killed, or the machine stopped. It last wrote on %s%s.",
			lastWrite(f).Format(clock), at)
	case runlog.Interrupted:
		return fmt.Sprintf("It was interrupted, by Ctrl-C or a request to end%s%s.", on(run.Info.Finished), at)
	case runlog.Failed:
		why := strings.TrimSpace(run.Info.Error)
		if why == "" {
			why = "the reason was not recorded"
		}
		return fmt.Sprintf("It failed%s%s: %s", on(run.Info.Finished), at, why)
	}
	return ""
}

// on is when something happened, as part of a sentence.
func on(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " on " + t.Local().Format(clock)
}

// lastWrite is when the last file of a run was written that grows while it is running.
func lastWrite(f *runlog.Folder) time.Time {
	var last time.Time
	for _, name := range []string{"run.json", "metrics.jsonl", train.StepsFile, command.MachineFile} {
		if t, _ := version(f, name); t.After(last) {
			last = t
		}
	}
	return last
}

// reached is how far a run came, as part of a sentence.
func reached(f *runlog.Folder, run *trials.Run) string {
	if !run.OneLine() {
		return ""
	}
	run.Log = tail(f)
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	epochs := run.Last("epoch")
	if r, _, ok := lastStep(f); ok && !(epochs > r.Epoch) {
		epochs = math.Floor(100*min(r.Epoch, 1e9)) / 100
	}
	if total, _ := run.Settings["epochs"].(float64); epochs > 0 && total >= epochs {
		return fmt.Sprintf(", after %s of %s epochs", text(epochs), text(total))
	} else if step := run.Last("step"); step > 0 {
		return ", after step " + text(step)
	}
	return ""
}

// resume is the command that continues a run; "" if there is none, or nothing to continue from.
func (s *Server) resume(f *runlog.Folder, id string, run *trials.Run) string {
	if !slices.Contains(stopped, run.Status) || run.Info.Diverged {
		return ""
	}
	if outer, ok := s.sweepOf(id); ok {
		return outer
	}
	folder := settings.Quote(filepath.Join(s.settings.Runs, filepath.FromSlash(id)))
	switch run.Info.Command {
	case "train":
		if hasFile(f, "checkpoints", func(name string) bool {
			ok, _ := path.Match("epoch-*.safetensors", name)
			return ok
		}) {
			return "bregman train --resume " + folder
		}
	case "fit":
		if _, err := f.Stat(fit.CheckpointFile); err == nil {
			return "bregman fit --resume " + folder
		}
	case "sweep":
		return sweepLine(f, run.Status, folder)
	}
	return ""
}

// sweepLine is the command that continues a sweep; "" if it has no plan.
func sweepLine(f *runlog.Folder, status, folder string) string {
	if _, err := f.Stat("plan.json"); err != nil {
		return ""
	}
	if status == runlog.Failed {
		return "bregman sweep retry " + folder
	}
	return "bregman sweep resume " + folder
}

// sweepOf is the command that continues the sweep that a run is a part of, "" while that runs. ok is false for a run
// that is not part of one.
func (s *Server) sweepOf(id string) (line string, ok bool) {
	for up := path.Dir(id); up != "." && up != "/"; up = path.Dir(up) {
		f, err := s.root.Sub(up)
		if err != nil {
			continue
		}
		info, err := f.Info()
		if ok = err == nil && info.Command == "sweep"; ok && slices.Contains(stopped, f.Status(info)) {
			line = sweepLine(f, f.Status(info), settings.Quote(filepath.Join(s.settings.Runs, filepath.FromSlash(up))))
		}
		f.Close()
		if ok {
			return line, true
		}
	}
	return "", false
}

// hasFile reports whether a folder of a run has a regular file with such a name.
func hasFile(f *runlog.Folder, dir string, is func(name string) bool) bool {
	entries, err := f.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Type().IsRegular() && is(e.Name())
	})
}
