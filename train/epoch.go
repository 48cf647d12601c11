package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/optim"
)

// Epoch is the result of one epoch.
type Epoch struct {
	Epoch    int     `json:"epoch"` // counted from 1
	Loss     float64 `json:"loss"`  // mean over the epoch's batches, as they were trained
	Accuracy float64 `json:"accuracy"`
	LR       float64 `json:"lr"`             // at its end
	Rate     float64 `json:"img_per_second"` // of training alone
	Seconds  float64 `json:"seconds"`
	Jump     *Jump   `json:"jump,omitempty"` // the first of the epoch

	// Of pictures that come from a file while the network trains: what limited the speed (training, disk, decoding or
	// copying), and the share of the time that steps waited for pictures.
	Limit  string  `json:"limit,omitempty"`
	Waited float64 `json:"waited,omitempty"`
	Side   int     `json:"resolution,omitempty"` // of the pictures of a packed set
}

// Score is the network on the test images.
type Score struct {
	Loss     float64 `json:"test_loss"`
	Accuracy float64 `json:"test_accuracy"`
	Top5     float64 `json:"test_top5,omitempty"` // share whose class is among the five largest answers; of many classes
}

// Diverged is the error of a run that another learning rate may save.
type Diverged struct{ Err error }

func (d *Diverged) Error() string { return d.Err.Error() }
func (d *Diverged) Unwrap() error { return d.Err }

// Start sets the session to the beginning of a run: initial weights, p, learning rate, step 0.
func (x *Session) Start(r Plan) error {
	return engine.Try(func() error {
		if err := x.setAside(max(x.settings.Validate, r.HoldBack), r.Seed); err != nil {
			return err
		}
		if err := x.net.Init(x.modelScope(), r.Seed); err != nil {
			return err
		}
		if err := x.whiten(); err != nil {
			return err
		}
		if r.Init != nil {
			if err := x.setInit(r.Init); err != nil {
				return err
			}
		}
		if err := x.opt.Set(x.store.RootScope(), "", r.P, r.LR); err != nil {
			return err
		}
		if err := x.clearStatistics(); err != nil {
			return err
		}
		if err := x.opt.Restart(x.store.RootScope(), r.Schedule); err != nil {
			return err
		}
		if r.Prune.To > 0 && !x.settings.Prune {
			return errors.New("the plan prunes, and the session does not: set Settings.Prune")
		}
		if err := x.unprune(); err != nil {
			return err
		}
		if err := x.opt.MeasureUnits(x.modelScope()); err != nil {
			return err
		}
		var err error
		x.start, err = x.Weights()
		x.lastRow, x.answers, x.best = nil, nil, bestWeights{}
		return err
	})
}

// Change sets p and the learning rate between epochs. Weights and steps stay as they are: nothing is loaded or compiled
// again.
func (x *Session) Change(p, rate float64) error {
	return engine.Try(func() error { return x.opt.Set(x.store.RootScope(), "", p, rate) })
}

// clearStatistics resets what the steps count.
func (x *Session) clearStatistics() error {
	return errors.Join(x.store.GetVariable(lossVar).SetValue(tensors.FromScalar(float32(0))),
		x.store.GetVariable(correctVar).SetValue(tensors.FromScalar(float32(0))),
		x.store.GetVariable(firstBadVar).SetValue(tensors.FromScalar(int32(-1))))
}

// Train runs epoch number epoch, counted from 0. progress is called now and then with the steps done in it; a GPU may
// still be busy with the last Engine.InFlight of them.
func (x *Session) Train(ctx context.Context, r Plan, epoch int, progress func(steps int)) (Epoch, error) {
	out := Epoch{Epoch: epoch + 1}
	x.answers = nil
	err := engine.Try(func() error {
		stream, err := x.setPlan(r.Seed, epoch+1)
		if err != nil {
			return err
		}
		var flow flow
		defer func() { out.Limit, out.Waited = flow.limit(out.Seconds) }()
		defer func() { flow = stream.close() }()
		if err := x.clearStatistics(); err != nil {
			return err
		}
		out.Side = x.settings.Resolution.At(epoch, r.Epochs)
		step, err := x.stepOf(out.Side)
		if err != nil {
			return err
		}
		begin := time.Now()
		x.recorder.start(epoch)
		for k := range x.PerEpoch {
			if err := ctx.Err(); err != nil {
				_ = x.recorder.read(epoch, k) // the run ends anyway
				return err
			}
			in, err := stream.next(ctx)
			if err != nil {
				return err
			}
			if _, err := step.Call(in.arguments()...); err != nil {
				return fmt.Errorf("epoch %d, step %d of %d: %w", epoch+1, k+1, x.PerEpoch, err)
			}
			if err := x.prune(r, epoch*x.PerEpoch+k+1); err != nil {
				return err
			}
			progress(k + 1)
			if err := x.recorder.step(epoch, k+1); err != nil {
				return err
			}
		}
		if epoch+1 < r.Epochs {
			if err := x.drawNext(r.Seed, epoch+2); err != nil { // while the last steps run
				return err
			}
		}
		loss, err := x.scalar(lossVar) // waits for the last step
		if err != nil {
			return err
		}
		right, err := x.scalar(correctVar)
		if err != nil {
			return err
		}
		out.Seconds = time.Since(begin).Seconds()
		seen := float64(x.PerEpoch * x.settings.Batch)
		out.Loss, out.Accuracy, out.Rate = loss/float64(x.PerEpoch), right/seen, seen/out.Seconds
		out.LR = r.LR * r.Schedule.At((epoch+1)*x.PerEpoch)
		rows, err := x.steps()
		if err != nil {
			return err
		}
		x.recorder.write(epoch, rows)
		if epoch > 0 {
			out.Jump = findJump(x.lastRow, rows, x.layerNames())
		}
		x.lastRow = rows[len(rows)-1]
		return nil
	})
	if err != nil {
		return out, err
	}
	if !finite(out.Loss) {
		where := fmt.Sprintf("in epoch %d", epoch+1)
		if step, err := x.firstBad(); err == nil && step >= 0 {
			where += fmt.Sprintf(" at step %d of %d", step+1, x.PerEpoch)
		}
		return out, x.diverged(out.Loss, where)
	}
	return out, nil
}

func finite(v float64) bool { return v-v == 0 }

// diverged is the error of a loss that is not finite. The weights are those that gave this loss.
func (x *Session) diverged(loss float64, where string) error {
	why := fmt.Errorf("the loss is %v %s", loss, where)
	if bad := optim.FirstNotFinite(x.modelScope()); bad != nil {
		why = fmt.Errorf("%w: %w", why, bad)
	}
	return &Diverged{fmt.Errorf("%w: try a smaller learning rate", why)}
}

// firstBad is the first step of the epoch, counted from 0, whose loss was not finite, or −1.
func (x *Session) firstBad() (int, error) {
	t, err := x.store.GetVariable(firstBadVar).Value()
	if err != nil {
		return -1, err
	}
	v, err := tensors.CopyFlatData[int32](t)
	if err != nil {
		return -1, err
	}
	return int(v[0]), nil
}

// drawn is an epoch's plan.
type drawn struct {
	seed   uint64
	epoch  int
	plan   *tensors.Tensor // on the engine
	stream stream          // of its pictures, begun
}

// drop frees the plan of a run that ended.
func (d *drawn) drop() error {
	if d.plan == nil {
		return nil
	}
	d.stream.close()
	err := d.plan.FinalizeAll()
	*d = drawn{}
	return err
}

// drawNext draws an epoch for setPlan, sends it to the engine and begins to read its pictures.
func (x *Session) drawNext(seed uint64, epoch int) error {
	if err := x.next.drop(); err != nil {
		return err
	}
	rows := x.feed.draw(x.PerEpoch*x.settings.Batch, seed, epoch)
	plan := tensors.FromFlatDataAndDimensions(rows, x.PerEpoch, x.settings.Batch, x.feed.rowWidth())
	x.next = drawn{seed, epoch, plan, x.feed.stream(rows, x.settings.Batch)}
	return x.next.plan.MaterializeOnDevice(x.engine.Backend, false, 0)
}

// setPlan gives the steps an epoch to train, and returns its pictures. It draws it, unless drawNext did.
func (x *Session) setPlan(seed uint64, epoch int) (stream, error) {
	if x.next.plan == nil || x.next.seed != seed || x.next.epoch != epoch {
		if err := x.drawNext(seed, epoch); err != nil {
			return nil, err
		}
	}
	d := x.next
	x.next = drawn{}
	if err := x.store.GetVariable(planVar).SetValue(d.plan); err != nil {
		d.stream.close()
		return nil, err
	}
	return d.stream, nil
}

func (x *Session) scalar(path string) (float64, error) {
	t, err := x.store.GetVariable(path).Value()
	if err != nil {
		return 0, err
	}
	v, err := tensors.CopyFlatData[float32](t)
	if err != nil {
		return 0, err
	}
	return float64(v[0]), nil
}

// Evaluate tests the network with its running statistics; with flip, the answers to a picture and to its mirror image
// are added.
func (x *Session) Evaluate(ctx context.Context, flip bool) (Score, error) {
	s, _, err := x.evaluate(ctx, x.testSample(), flip, nil)
	return s, err
}

// Validate tests the network on the training images that are held back.
func (x *Session) Validate(ctx context.Context) (Validation, error) {
	on, err := x.heldSample()
	if err != nil {
		return Validation{}, err
	}
	s, _, err := x.evaluate(ctx, on, false, nil)
	return Validation(s), err
}

// evaluate also returns the output margin of each image. It calls each, if not nil, as inBatches does.
func (x *Session) evaluate(ctx context.Context, on sample, flip bool, each func(int)) (s Score, margins []float64,
	err error) {
	n, b, classes := x.len(on), on.batch, len(x.set.Classes)
	margins = make([]float64, 0, n)
	if each == nil {
		each = func(int) {}
	}
	var answers *TestAnswers
	if x.answers = nil; on.exec == x.eval && !flip {
		answers = &TestAnswers{Class: make([]int, 0, n), Probability: make([]float64, 0, n)}
	}
	stream := x.feed.scan(on.from, on.examples, b)
	defer stream.close()
	handOver := func(int) ([]*tensors.Tensor, error) {
		in, err := stream.next(ctx)
		if err != nil {
			return nil, err
		}
		out, err := on.exec.Call(in.arguments(tensors.FromScalar(false))...)
		if err != nil || !flip {
			return out, err
		}
		mirrored, err := on.exec.Call(in.arguments(tensors.FromScalar(true))...)
		return append(out, mirrored...), err
	}
	read := func(first int, out []*tensors.Tensor) error {
		logits, err := tensors.CopyFlatData[float32](out[0])
		if err != nil {
			return err
		}
		if flip {
			mirrored, err := tensors.CopyFlatData[float32](out[1])
			if err != nil {
				return err
			}
			for i, v := range mirrored {
				logits[i] = (logits[i] + v) / 2
			}
		}
		begin := min(first, n-b)
		for i := first; i < min(first+b, n); i++ {
			row, label := logits[(i-begin)*classes:(i-begin+1)*classes], x.split(on.from).Label(on.index(i))
			loss, best, probability := exampleLoss(row, label)
			s.Loss += loss
			if best == label {
				s.Accuracy++
			}
			if answers != nil {
				answers.Class = append(answers.Class, best)
				answers.Probability = append(answers.Probability, probability)
			}
			if classes > fewClasses && Among(row, label, 5) {
				s.Top5++
			}
			margins = append(margins, outputMargin(row, label))
		}
		return nil
	}
	err = engine.Try(func() error { return inBatches(ctx, n, b, handOver, read, each) })
	s.Loss, s.Accuracy, s.Top5 = s.Loss/float64(n), s.Accuracy/float64(n), s.Top5/float64(n)
	if err == nil && !finite(s.Loss) {
		err = x.diverged(s.Loss, map[part]string{testPart: "on the test images",
			trainPart: "on the images that are held back"}[on.from])
	}
	if err == nil {
		x.answers = answers
	}
	return s, margins, err
}

// fewClasses is up to how many classes nobody asks whether the right one is among the first five.
const fewClasses = 10

// Among reports whether the label's answer is among the largest k.
func Among(logits []float32, label, k int) bool {
	larger := 0
	for _, v := range logits {
		if v > logits[label] {
			larger++
		}
	}
	return larger < k
}

// exampleLoss returns the cross entropy of one example's answers, the class of the largest one and its probability.
func exampleLoss(logits []float32, label int) (loss float64, best int, probability float64) {
	best = topAnswer(logits)
	top := float64(logits[best])
	var sum float64
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	return math.Log(sum) + top - float64(logits[label]), best, 1 / sum
}

// topAnswer is the place of the first of the largest answers.
func topAnswer(logits []float32) int {
	best, top := 0, math.Inf(-1)
	for k, v := range logits {
		if float64(v) > top {
			best, top = k, float64(v)
		}
	}
	return best
}
