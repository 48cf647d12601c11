package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bregman-ml/bregman/runlog"
)

// Jump is a step that made the largest weight of a layer larger out of all proportion, as a broken gradient does.
type Jump struct {
	Step   int     `json:"step"` // of its epoch, counted from 1
	Layer  string  `json:"layer"`
	Before float64 `json:"before"` // the layer's largest |w|
	After  float64 `json:"after"`
}

// A jump is a growth by this factor in one step, to more than jumpFloor: weights that are still small may grow fast.
// Of the first epoch nothing is expected, in which p = 10 overwrites the initial weights.
const (
	jumpGrowth = 10
	jumpFloor  = 0.1
)

// findJump returns the first jump in the rows of an epoch's steps, nil if there is none. before is the row of the step
// before them, nil if it is not known; layers are the names of the columns after the loss.
func findJump(before []float32, rows [][]float32, layers []string) *Jump {
	for k, now := range rows {
		for i, name := range layers {
			if before == nil {
				break
			}
			if a, b := before[1+i], now[1+i]; b > jumpFloor && b > jumpGrowth*a {
				return &Jump{Step: k + 1, Layer: name, Before: float64(a), After: float64(b)}
			}
		}
		before = now
	}
	return nil
}

// jumpWarning is what a jump means for the reader of a run.
const jumpWarning = "Batch norm may hide that from the accuracy, but these weights say nothing about p: run again " +
	"with a smaller learning rate or another seed"

func (j *Jump) text(epoch int) string {
	return fmt.Sprintf("in step %d of epoch %d the largest weight of %s went from %.3g to %.3g. %s", j.Step, epoch,
		j.Layer, j.Before, j.After, jumpWarning)
}

// beforeJump is in the names of checkpoints that are kept: they are not among those that give way to newer ones.
const beforeJump = "-before-jump"

// keepCheckpoint keeps the newest checkpoint of a run folder from before an epoch, and returns its path; "" if there is
// none.
func keepCheckpoint(folder *runlog.Run, epoch int) string {
	for _, c := range checkpoints(folder.Dir) {
		if c.epoch >= epoch {
			continue
		}
		kept := strings.TrimSuffix(c.path, filepath.Ext(c.path)) + beforeJump + filepath.Ext(c.path)
		if err := linkOrCopy(c.path, kept); err != nil {
			folder.Lost(filepath.Base(kept), err)
			return ""
		}
		return kept
	}
	return ""
}

// linkOrCopy gives a file another name, or its content where the disk has no links.
func linkOrCopy(from, to string) error {
	if err := os.Link(from, to); err == nil || os.IsExist(err) {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return runlog.WriteFile(to, data)
}

// DropCheckpoints removes the checkpoints of a run that is done, but for those from before a jump.
func DropCheckpoints(dir string) error {
	dropCheckpoints(dir, 0)
	folder := filepath.Join(dir, "checkpoints")
	if kept, _ := filepath.Glob(filepath.Join(folder, "*"+beforeJump+"*")); len(kept) > 0 {
		return nil
	}
	return os.RemoveAll(folder)
}
