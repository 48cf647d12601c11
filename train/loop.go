package train

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/bregman-ml/bregman/runlog"
)

// Result is the result of a run.
type Result struct {
	Records []Record
	Test    Score       // after the last epoch
	Flip    Score       // answers averaged with those to the mirror image
	Shifted Score       // averaged over shifted images and their mirror images; zero without Settings.Shifts
	Rate    float64     // images a second in training alone, the median over epochs
	Seconds float64     // over all legs of a run that was resumed
	Warning string      // what a reader must know before the numbers
	Study   *Study      // nil: not asked for
	Answers TestAnswers // of the trained network to the test images
	Best    *Best       // nil if no images are held back

	Checked int // epochs that were trained twice
	Differ  int // those whose weights were not the same
}

// Last is the record of the last epoch.
func (r Result) Last() Record { return r.Records[len(r.Records)-1] }

// Run trains from the first epoch to the last. The folder gets the metrics, checkpoints to resume from, and in the end
// weights.safetensors; nil keeps nothing. If images are held back, the weights of the best epoch are kept, too.
func (x *Session) Run(ctx context.Context, p Plan, folder *runlog.Run, o Observer) (Result, error) {
	if err := p.check(); err != nil {
		return Result{}, err
	}
	if err := x.Start(p); err != nil {
		return Result{}, err
	}
	x.began = x.StartHash()
	return x.loop(ctx, p, folder, nil, 0, o)
}

// loop trains from the epoch after the given one, which has the last of these records, to the end.
func (x *Session) loop(ctx context.Context, p Plan, folder *runlog.Run, records []Record, done int, o Observer) (Result,
	error) {
	begin, saved := time.Now(), time.Time{}
	before := 0.0 // seconds of the legs before this one
	for _, r := range records {
		before = max(before+r.Seconds, r.Elapsed)
	}
	x.recorder = newStepRecorder(x, p, folder, done, before)
	defer func() { x.recorder.close(); x.recorder = nil }()
	heard, warned, largest := false, false, x.StartLargest()
	for epoch := done; epoch < p.Epochs && !p.stopsEarly(records); epoch++ {
		var r Record
		var err error
		r.Epoch, r.Check, err = x.epoch(uninterruptedIfShort(ctx, records), p, epoch, func(steps int) {
			o.Step(epoch+1, steps)
			if ctx.Err() != nil && !heard {
				heard = true
				o.Say("finishing this epoch; Ctrl-C again to stop now")
			}
		})
		if err != nil {
			return Result{Records: records}, err
		}
		if r.Check != "" && r.Check != same {
			o.Say(fmt.Sprintf("epoch %d was trained twice, and not with the same result: %s", epoch+1, r.Check))
		}
		score, geometry, err := x.Measure(ctx, p.P)
		if err != nil && ctx.Err() == nil {
			return Result{Records: records}, err
		}
		if r.Unevaluated = err != nil; !r.Unevaluated {
			r.Geometry = geometry
			r.setScore(score, len(x.held) > 0)
		}
		r.Elapsed = before + time.Since(begin).Seconds()
		records = append(records, r)
		if err := x.keepBest(p, records); err != nil {
			return Result{Records: records}, err
		}
		if folder != nil {
			if err := folder.Append(r); err != nil {
				return Result{Records: records}, err
			}
		}
		if text := jump(largest, records); text != "" && !warned {
			warned = true
			o.Say(text)
		}
		if r.Jump != nil && folder != nil {
			if kept := keepCheckpoint(folder, epoch+1); kept != "" {
				o.Say("the checkpoint from before it is kept: " + kept)
			}
		}
		o.Epoch(r)
		if folder != nil && (time.Since(saved) > p.SaveEvery || r.Seconds > shortEpoch || epoch+1 == p.Epochs ||
			ctx.Err() != nil || p.stopsEarly(records)) {
			x.savePoint(folder, p, records)
			saved = time.Now()
		}
		if err := ctx.Err(); err != nil {
			return Result{Records: records}, err
		}
	}
	out := Result{Records: records, Seconds: before + time.Since(begin).Seconds(), Warning: jump(largest, records)}
	out.Checked, out.Differ = differing(records)
	return x.finish(ctx, p, folder, out, o)
}

// epoch trains one, twice if the plan says so.
func (x *Session) epoch(ctx context.Context, p Plan, epoch int, progress func(steps int)) (Epoch, string, error) {
	if p.Check {
		return x.trainTwice(ctx, p, epoch, progress)
	}
	e, err := x.Train(ctx, p, epoch, progress)
	return e, "", err
}

// finish measures the trained network and saves its weights.
func (x *Session) finish(ctx context.Context, p Plan, folder *runlog.Run, out Result, o Observer) (Result, error) {
	var err error
	out.Test = out.Last().Score
	if len(x.held) > 0 || x.answers == nil { // else the last epoch has been tested, with these weights
		if out.Test, err = x.Evaluate(ctx, false); err != nil {
			return out, err
		}
	}
	out.Answers = *x.answers
	if out.Flip, err = x.Evaluate(ctx, true); err != nil {
		return out, err
	}
	if x.settings.Shifts {
		on, err := x.shiftedSample()
		if err != nil {
			return out, err
		}
		if out.Shifted, _, err = x.evaluate(ctx, on, true, nil); err != nil {
			return out, err
		}
	}
	if out.Best, err = x.finishBest(ctx, p, folder, out.Records, out.Test); err != nil {
		return out, err
	}
	if out.Best != nil {
		o.Say(out.Best.text())
	}
	var rates []float64
	for _, r := range out.Records {
		rates = append(rates, r.Rate)
	}
	slices.Sort(rates)
	out.Rate = rates[len(rates)/2]
	if folder != nil {
		if err := x.saveIn(folder, WeightsFile, false, map[string]string{"model": x.net.Name,
			"p": fmt.Sprint(p.P)}); err != nil {
			return out, err
		}
	}
	if p.Study {
		s, err := x.Study(ctx, p.P, out.Test.Accuracy, o.Studying)
		if err != nil {
			return out, err
		}
		out.Study = &s
	}
	return out, nil
}

// shortEpoch is how many seconds an interrupted run may take to finish its epoch, so that nothing of it is lost.
const shortEpoch = 5

// uninterruptedIfShort returns a context that an interrupt does not end, if epochs are short.
func uninterruptedIfShort(ctx context.Context, records []Record) context.Context {
	if n := len(records); n > 0 && records[n-1].Seconds <= shortEpoch {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// savePoint writes a checkpoint after the last epoch of the records, with its fingerprint, and keeps the newest two. If
// it cannot be written, training continues and the older ones stay.
func (x *Session) savePoint(folder *runlog.Run, p Plan, records []Record) {
	epoch := records[len(records)-1].Epoch.Epoch
	about := p.fingerprint()
	about["data_hash"] = x.set.Hash
	about["epoch"], about["start"] = strconv.Itoa(epoch), x.began
	name := fmt.Sprintf("checkpoints/epoch-%05d.safetensors", epoch)
	err := folder.Sync() // a checkpoint depends on its metrics
	if err == nil {
		x.saveBest(folder)
		err = x.saveIn(folder, name, true, about)
	}
	if err != nil {
		folder.Lost(name, err)
		return
	}
	dropCheckpoints(folder.Dir, 2)
	dropBest(folder.Dir, p, records)
}

// saveIn writes the session. If the disk does not take it, all checkpoints but the newest make room for another
// attempt.
func (x *Session) saveIn(folder *runlog.Run, name string, training bool, about map[string]string) error {
	err := x.Save(folder.Path(name), training, about)
	if err != nil && dropCheckpoints(folder.Dir, 1) > 0 {
		err = x.Save(folder.Path(name), training, about)
	}
	return err
}

// dropCheckpoints removes all but the newest checkpoints of a run folder, and returns how many.
func dropCheckpoints(dir string, keep int) int {
	all := checkpoints(dir)
	dropped := 0
	for _, old := range all[min(keep, len(all)):] {
		if os.Remove(old.path) == nil {
			dropped++
		}
	}
	return dropped
}
