package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// Follower is a command that may take its settings from a run that it names.
type Follower interface {
	// Follow returns a copy with the settings of that run, but for those that were said, by key.
	Follow(said []string) (Command, error)
}

// Follow returns a command with the settings of the run that it names, if it names one.
func Follow(c Command, said []string) (Command, error) {
	if f, ok := c.(Follower); ok {
		return f.Follow(said)
	}
	return c, nil
}

var _ Follower = (*Train)(nil)

// Follow makes --init RUN a new run from the weights of a finished one: with its settings, but for those that were
// said, and a schedule that starts anew. --init then is the file of weights.
func (t *Train) Follow(said []string) (Command, error) {
	if info, err := os.Stat(t.Init); t.Init == "" || err != nil || !info.IsDir() {
		return t, nil // a file, or an error of reading it
	}
	from, err := t.extended()
	if err != nil {
		return nil, settings.At("init", fmt.Errorf("--init: %w", err))
	}
	if slices.Contains(said, "model") && t.Model != from.Model {
		return nil, settings.Errorf("model", "--model %s: --init %s has the weights of %s: leave --model out", t.Model,
			t.Init, from.Model)
	}
	one := *t
	other := func(key string) bool {
		return slices.Contains(said, key) && settings.Get(t, key) != settings.Get(from, key)
	}
	settings.Copy(&one, from, func(f settings.Field) bool {
		switch {
		case !f.Stored || slices.Contains(said, f.Key) || f.Key == "init":
			return false
		case f.Key == "lr": // it means something else for another p
			return !other("p") && !other("unit") && !other("adaptive")
		case f.Key == "nesterov":
			return !slices.Contains(said, "momentum")
		case (f.Key == "size" || f.Key == "skip_broken") && other("data"): // they are for folders
			info, err := os.Stat(t.Data)
			return err == nil && info.IsDir()
		case (f.Key == "resolution" || f.Key == "test_resolution") && other("data"):
			return images.IsPack(t.Data)
		case f.Key == "data_dir":
			there, err := os.Stat(from.DataDir)
			return err == nil && there.IsDir()
		}
		return f.Role == settings.Result || f.Role == settings.Seed
	})
	one.Init = filepath.Join(t.Init, WeightsFile)
	return &one, nil
}

// Extend says how a finished run is extended.
func (*Train) Extend() string {
	return "To extend a finished run by a new one, with settings of its own, say --init RUN in place of --resume RUN"
}

var _ settings.Extended = (*Train)(nil)

// extended are the settings of the run whose weights --init takes.
func (t *Train) extended() (*Train, error) {
	dir := t.Init
	info, err := runlog.ReadInfo(dir)
	if err != nil {
		return nil, NoRun(dir, err)
	}
	if info.Command != "train" {
		return nil, fmt.Errorf("%s is a run of %q, not of train", dir, info.Command)
	}
	if info.Status != runlog.Done {
		why := fmt.Sprintf("%s is not done: \"bregman train --resume %s\" continues it as it was asked", dir,
			settings.Quote(dir))
		if info.Diverged {
			why = dir + " diverged: it has no weights to start from"
		}
		return nil, errors.New(why)
	}
	if _, err := os.Stat(filepath.Join(dir, WeightsFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s any more", dir, WeightsFile)
	}
	from, err := recordedTrain(info)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if from.Precision == AutoPrecision(info.Engine) { // another engine may have another
		from.Precision = "auto"
	}
	return &from, nil
}

// origin is the run folder that a file of weights is in, and its settings; "" if it is in none.
func origin(init string) (dir string, from Train) {
	if init == "" {
		return "", from
	}
	dir = filepath.Dir(init)
	info, err := runlog.ReadInfo(dir)
	if err != nil || info.Command != "train" {
		return "", from
	}
	if from, err = recordedTrain(info); err != nil {
		return "", from
	}
	return dir, from
}

// seenBefore says that a run holds back images which the run that it starts from was trained on; "" if it does not.
func (w *Trainer) seenBefore(seed uint64) string {
	dir, from := origin(w.Init)
	if dir == "" || w.Validate == 0 || AbsoluteData(w.Data) != from.Data {
		return ""
	}
	if from.Validate >= w.Validate && from.Seed == seed { // the same images, or some of them
		return ""
	}
	return fmt.Sprintf("%s was trained on some of the images that this run holds back: the validation accuracy is too "+
		"high. Leave --validate and --seed out to hold back the same", filepath.Base(dir))
}
