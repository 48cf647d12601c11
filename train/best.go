package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/runlog"
)

// WeightsFile and BestFile are files of a run folder: the weights after the last epoch, and those of the epoch with the
// highest validation accuracy.
const (
	WeightsFile = "weights.safetensors"
	BestFile    = "weights-best.safetensors"
)

// Best is the epoch of a run with the highest validation accuracy, the first of several.
type Best struct {
	Epoch      int
	Validation Validation
	Test       Score // of its weights on the test images, which did not choose it
	Lost       bool  // its weights are gone: Test is not known
}

// best is the place of the best of the records, −1 if none counts: those that were evaluated on images held back, and
// of a run that prunes those after its last pruning.
func (p Plan) best(records []Record) int {
	best := -1
	for k, r := range records {
		if r.Validation == nil || r.Unevaluated ||
			p.Prune.To > 0 && float64(r.Epoch.Epoch) < p.Prune.Until*float64(p.Epochs) {
			continue
		}
		if best < 0 || r.Validation.Accuracy > records[best].Validation.Accuracy {
			best = k
		}
	}
	return best
}

// stopsEarly reports whether the run ends before its last epoch: none of the last Patience was the best.
func (p Plan) stopsEarly(records []Record) bool {
	best := p.best(records)
	return p.Patience > 0 && best >= 0 && records[len(records)-1].Epoch.Epoch-records[best].Epoch.Epoch >= p.Patience
}

// bestWeights are those of the best epoch so far.
type bestWeights struct {
	epoch   int // 0: none
	weights safetensors.File
	written bool // they are among the checkpoints
}

// keepBest copies the weights to the host if the last record is the best.
func (x *Session) keepBest(p Plan, records []Record) error {
	n := len(records)
	if n == 0 || p.best(records) != n-1 {
		return nil
	}
	f, err := x.variables(false)
	x.best = bestWeights{epoch: records[n-1].Epoch.Epoch, weights: f}
	return err
}

// resumeBest finds the weights of the best of the records, the last of which is that of the session's weights.
func (x *Session) resumeBest(s *Stopped, p Plan, records []Record, o Observer) error {
	k := p.best(records)
	if k < 0 || k == len(records)-1 {
		return x.keepBest(p, records)
	}
	epoch := records[k].Epoch.Epoch
	for _, path := range []string{bestPoint(s.Folder.Dir, epoch), s.Folder.Path(BestFile)} {
		f, _, err := readCheckpoint(path)
		if err == nil && f.Metadata["epoch"] == strconv.Itoa(epoch) {
			x.best = bestWeights{epoch: epoch, weights: safetensors.File{Tensors: f.Tensors}}
			return nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			o.Say("skipped: " + err.Error())
		}
	}
	o.Say(fmt.Sprintf("the weights of epoch %d, the best on the images that are held back, are gone", epoch))
	return nil
}

// bestPoint is the file of an epoch's weights among the checkpoints.
func bestPoint(dir string, epoch int) string {
	return filepath.Join(dir, "checkpoints", fmt.Sprintf("best-%05d.safetensors", epoch))
}

// saveBest writes the best weights among the checkpoints, ahead of the checkpoint that depends on them.
func (x *Session) saveBest(folder *runlog.Run) {
	if x.best.epoch == 0 || x.best.written {
		return
	}
	f := x.best.weights
	f.Metadata = map[string]string{"format": checkpointFormat, "epoch": strconv.Itoa(x.best.epoch)}
	f, err := f.WithChecksum()
	path := bestPoint(folder.Dir, x.best.epoch)
	if err == nil {
		err = writeTensors(path, f)
	}
	if x.best.written = err == nil; err != nil {
		folder.Lost("checkpoints/"+filepath.Base(path), err)
	}
}

// dropBest removes the best weights that none of the checkpoints depends on.
func dropBest(dir string, p Plan, records []Record) {
	var needed []string
	for _, c := range checkpoints(dir) {
		until := slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Epoch.Epoch > c.epoch })
		if k := p.best(until); k >= 0 {
			needed = append(needed, bestPoint(dir, until[k].Epoch.Epoch))
		}
	}
	all, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "best-*.safetensors"))
	for _, path := range all {
		if !slices.Contains(needed, path) {
			_ = os.Remove(path) // one that stays does no harm
		}
	}
}

// finishBest tests the best weights, once, and writes their file. The session keeps the weights of the last epoch,
// which have the score last.
func (x *Session) finishBest(ctx context.Context, p Plan, folder *runlog.Run, records []Record, last Score) (*Best,
	error) {
	k := p.best(records)
	if k < 0 {
		return nil, nil
	}
	b := &Best{Epoch: records[k].Epoch.Epoch, Validation: *records[k].Validation, Test: last}
	if x.best.epoch != b.Epoch {
		b.Test, b.Lost = Score{}, true
		return b, nil
	}
	if k < len(records)-1 {
		var err error
		if b.Test, err = x.testWith(ctx, x.best.weights); err != nil {
			return nil, err
		}
	}
	if folder == nil {
		return b, nil
	}
	f := x.best.weights
	f.Metadata = map[string]string{"model": x.net.Name, "p": fmt.Sprint(p.P), "epoch": strconv.Itoa(b.Epoch),
		"validation_accuracy": strconv.FormatFloat(b.Validation.Accuracy, 'g', -1, 64)}
	err := writeTensors(folder.Path(BestFile), f)
	if err != nil && dropCheckpoints(folder.Dir, 1) > 0 {
		err = writeTensors(folder.Path(BestFile), f)
	}
	if err != nil {
		folder.Lost(BestFile, err)
		return b, nil
	}
	dropBest(folder.Dir, p, nil)
	return b, nil
}

// testWith tests the network with other weights.
func (x *Session) testWith(ctx context.Context, weights safetensors.File) (s Score, err error) {
	now, err := x.variables(false)
	if err != nil {
		return s, err
	}
	set := func(f safetensors.File) error {
		in := &Init{path: "the weights", tensor: map[string]safetensors.Tensor{}}
		for _, t := range f.Tensors {
			in.tensor[t.Name] = t
		}
		return engine.Try(func() error { return x.setInitBut(in, "") })
	}
	if err = set(weights); err == nil {
		s, err = x.Evaluate(ctx, false)
	}
	err = errors.Join(err, set(now))
	x.answers = nil // they belong to the other weights
	return s, err
}

// writeTensors writes a file of tensors, whole or not at all.
func writeTensors(path string, f safetensors.File) error {
	var b bytes.Buffer
	if err := safetensors.Encode(&b, f); err != nil {
		return err
	}
	return runlog.WriteFile(path, b.Bytes())
}

// text describes the best epoch for somebody who follows the run.
func (b *Best) text() string {
	text := fmt.Sprintf("epoch %d is the best on the images that are held back, %.2f %%", b.Epoch,
		100*b.Validation.Accuracy)
	if b.Lost {
		text += ", but its weights are gone"
	}
	return text
}
