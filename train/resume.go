package train

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bregman-ml/bregman/runlog"
)

// Stopped is a run folder to resume, which this process has locked.
type Stopped struct {
	Folder  *runlog.Run
	Version string   // of the program that resumes
	InitErr error    // why the initial weights of the run are gone: the divergence from them is omitted then
	records []Record // with their text, in order
	skipped []string // what could not be used, and why
	notes   []string // what the user should know of what is used
}

// ReadStopped reads the metrics of a run folder.
func ReadStopped(folder *runlog.Run) *Stopped {
	s := &Stopped{Folder: folder}
	err := runlog.ReadMetrics(folder.Dir, func(line json.RawMessage) error {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		if n := len(s.records); n == 0 || r.Epoch.Epoch > s.records[n-1].Epoch.Epoch {
			s.records = append(s.records, r)
		}
		return nil
	})
	if err != nil { // the lines before it are whole
		s.skipped = append(s.skipped, err.Error())
	}
	return s
}

// until returns the records up to an epoch; ok is false if that epoch has none.
func (s *Stopped) until(epoch int) (records []Record, ok bool) {
	for _, r := range s.records {
		if r.Epoch.Epoch <= epoch {
			records = append(records, r)
		}
	}
	return records, len(records) > 0 && records[len(records)-1].Epoch.Epoch == epoch
}

// saved is a checkpoint of a run folder.
type saved struct {
	path  string
	epoch int
}

// checkpoints lists those of a run folder, the newest first.
func checkpoints(dir string) []saved {
	var out []saved
	all, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "epoch-*.safetensors"))
	for _, path := range all {
		c := saved{path: path}
		if _, err := fmt.Sscanf(filepath.Base(path), "epoch-%d.safetensors", &c.epoch); err == nil {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b saved) int { return cmp.Compare(b.epoch, a.epoch) })
	return out
}

// fingerprint is what a checkpoint of the run depends on, in words.
func (p Plan) fingerprint() map[string]string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	out := map[string]string{}
	maps.Copy(out, p.Fingerprint)
	out["p"], out["lr"], out["seed"], out["epochs"] = number(p.P), number(p.LR), strconv.FormatUint(p.Seed, 10),
		strconv.Itoa(p.Epochs)
	return out
}

// checkFingerprint compares what a checkpoint says of itself with the plan.
func (p Plan) checkFingerprint(about map[string]string, c saved) error {
	want := p.fingerprint()
	want["epoch"] = strconv.Itoa(c.epoch)
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if has, ok := about[k]; ok && has != want[k] {
			return fmt.Errorf("%s was made with %s %s, the run has %s: was run.json changed?", c.path, k, has, want[k])
		}
	}
	if c.epoch > p.Epochs {
		return fmt.Errorf("%s is beyond the last epoch, %d: was run.json changed?", c.path, p.Epochs)
	}
	return nil
}

// NoChecksum follows the name of a checkpoint in the note about it.
const NoChecksum = " has no checksum, an older version wrote it: damage to it would not be noticed"

// Resume continues a run from its newest checkpoint that can be used, or from the beginning, to its end.
func (x *Session) Resume(ctx context.Context, p Plan, s *Stopped, o Observer) (Result, error) {
	if err := p.check(); err != nil {
		return Result{}, err
	}
	p.Fingerprint = maps.Clone(p.Fingerprint)
	if p.Fingerprint == nil {
		p.Fingerprint = map[string]string{}
	}
	p.Fingerprint["data_hash"] = x.set.Hash
	epoch, records, err := x.resumeFrom(s, p)
	for _, text := range s.skipped {
		o.Say("skipped: " + text)
	}
	for _, text := range s.notes {
		o.Say(text)
	}
	if err != nil {
		return Result{}, err
	}
	if n := epoch - len(records); n > 0 {
		o.Say(fmt.Sprintf("metrics.jsonl lacks %d of %d epochs: they are also missing in tables and figures", n, epoch))
	}
	if n := len(records); n > 0 && records[n-1].Unevaluated {
		score, geometry, err := x.Measure(ctx, p.P)
		if err != nil {
			return Result{}, err
		}
		records[n-1].Geometry, records[n-1].Unevaluated = geometry, false
		records[n-1].setScore(score, len(x.held) > 0)
	}
	if epoch > 0 {
		if err := x.resumeBest(s, p, records, o); err != nil {
			return Result{}, err
		}
	}
	var kept []any
	for _, r := range records {
		kept = append(kept, r)
	}
	if err := s.Folder.Reopen(kept, x.engine.Name, s.Version); err != nil {
		return Result{}, err
	}
	if epoch == 0 {
		o.Say(fmt.Sprintf("no checkpoint can be used: starting again at the first of %d epochs", p.Epochs))
	} else {
		o.Say(fmt.Sprintf("resuming after epoch %d of %d", epoch, p.Epochs))
	}
	return x.loop(ctx, p, s.Folder, records, epoch, o)
}

// resumeFrom sets the session to the newest checkpoint that can be used, or to the beginning, and returns the epochs
// done. It skips a damaged checkpoint. One of other settings is an error: the settings, or the checkpoint, are not this
// run's.
func (x *Session) resumeFrom(s *Stopped, p Plan) (epoch int, records []Record, err error) {
	for _, c := range checkpoints(s.Folder.Dir) {
		about, checked, err := Metadata(c.path)
		if err != nil {
			s.skipped = append(s.skipped, err.Error())
			continue
		}
		if err := p.checkFingerprint(about, c); err != nil {
			return 0, nil, err
		}
		records, ok := s.until(c.epoch)
		if !ok {
			s.skipped = append(s.skipped, fmt.Sprintf("%s: metrics.jsonl has no line of epoch %d", c.path, c.epoch))
			continue
		}
		if err := x.restart(s, p, about["start"]); err != nil {
			return 0, nil, err
		}
		if _, err := x.Load(c.path); err != nil {
			s.skipped = append(s.skipped, err.Error())
			continue
		}
		if !checked {
			s.notes = append(s.notes, c.path+NoChecksum)
		}
		return c.epoch, records, nil
	}
	if s.InitErr != nil {
		return 0, nil, s.InitErr
	}
	err = x.Start(p)
	x.began = x.StartHash()
	return 0, nil, err
}

// restart sets the session to the weights that the run began with, whose hash the checkpoint has: the divergence is
// measured from there. If they came from a file that is gone or has changed, the run continues without the divergence.
func (x *Session) restart(s *Stopped, p Plan, hash string) error {
	gone := s.InitErr
	if p.Init != nil {
		if gone = x.CheckInit(p.Init); gone != nil {
			p.Init = nil
		}
	}
	if err := x.Start(p); err != nil {
		return err
	}
	if now := x.StartHash(); gone == nil && hash != "" && now != hash {
		gone = errors.New("the initial weights of the run have changed")
	}
	if x.began = hash; gone != nil {
		x.ForgetStart()
		s.skipped = append(s.skipped, fmt.Sprintf("the divergence from the start: %v", gone))
	}
	return nil
}
