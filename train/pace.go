package train

import (
	"context"
	"slices"
	"time"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/engine"
)

// Pace is how long the parts of a run take on this machine, in seconds, from a few steps.
type Pace struct {
	Sides      []SidePace // the resolutions of the run, the smallest first
	Evaluation float64    // of all test images, with the measures of the weights
	Finish     float64    // after the last epoch: the test images and their mirror images, and the study if asked for
}

// SidePace is the pace of training at a resolution; sets of one size have one, 0.
type SidePace struct {
	Side   int     `json:"resolution,omitempty"`
	Step   float64 `json:"seconds_per_step"`
	Rate   float64 `json:"img_per_second"`
	Epochs int     `json:"epochs"`            // of the run, at this resolution
	Epoch  float64 `json:"seconds_per_epoch"` // with the evaluation that ends it
}

// Run is how long a whole run takes.
func (p Pace) Run() float64 {
	total := p.Finish
	for _, s := range p.Sides {
		total += float64(s.Epochs) * s.Epoch
	}
	return total
}

// How long steps and evaluations are timed, how many steps at least, and at most how many.
const (
	pacedFor   = 2 * time.Second
	leastPaced = 3
	mostPaced  = 200
)

// Pace times a few steps of the run, at each of its resolutions, and a few batches of its evaluation. Steps that are
// not compiled yet are compiled first, which is not counted. The weights change.
func (x *Session) Pace(ctx context.Context, p Plan) (out Pace, err error) {
	if err := p.check(); err != nil {
		return out, err
	}
	if err := x.Start(p); err != nil {
		return out, err
	}
	err = engine.Try(func() error {
		for epoch := range p.Epochs {
			side := x.settings.Resolution.At(epoch, p.Epochs)
			at := slices.IndexFunc(out.Sides, func(s SidePace) bool { return s.Side == side })
			if at < 0 {
				seconds, err := x.paceSteps(ctx, p, side)
				if err != nil {
					return err
				}
				if p.Check {
					seconds *= 2
				}
				at = len(out.Sides)
				out.Sides = append(out.Sides, SidePace{Side: side, Step: seconds, Rate: float64(x.settings.Batch) / seconds})
			}
			out.Sides[at].Epochs++
		}
		pass, err := x.paceEvaluation(ctx)
		if err != nil {
			return err
		}
		begin := time.Now()
		layers, err := x.Weights()
		if err != nil {
			return err
		}
		measure(layers, x.start, p.P)
		out.Evaluation, out.Finish = pass+time.Since(begin).Seconds(), 2*pass
		if p.Study {
			out.Finish += pass * x.studyPasses()
		}
		return nil
	})
	for k := range out.Sides {
		out.Sides[k].Epoch = out.Sides[k].Step*float64(x.PerEpoch) + out.Evaluation
	}
	return out, err
}

// paceSteps is how many seconds a step takes. The first ones are not counted: they allocate, and use up the pictures
// that are read ahead.
func (x *Session) paceSteps(ctx context.Context, p Plan, side int) (float64, error) {
	step, err := x.stepOf(side)
	if err != nil {
		return 0, err
	}
	if err := x.clearStatistics(); err != nil {
		return 0, err
	}
	done := -1
	if x.feed.streams() {
		done -= slotsAhead
	}
	var begin time.Time
	enough := func() bool {
		return done >= mostPaced || done >= leastPaced && time.Since(begin) > pacedFor
	}
	epoch := func(number int) error {
		stream, err := x.setPlan(p.Seed, number)
		if err != nil {
			return err
		}
		defer stream.close()
		for range x.PerEpoch {
			in, err := stream.next(ctx)
			if err != nil {
				return err
			}
			if _, err := step.Call(in.arguments()...); err != nil {
				return err
			}
			if done++; done == 0 {
				if _, err := x.scalar(lossVar); err != nil { // waits for the step
					return err
				}
				begin = time.Now()
			}
			if err := ctx.Err(); err != nil || enough() {
				return err
			}
		}
		return nil
	}
	for number := 1; !enough(); number++ {
		if err := epoch(number); err != nil {
			return 0, err
		}
	}
	_, err = x.scalar(lossVar)
	return time.Since(begin).Seconds() / float64(done), err
}

// paceEvaluation is how many seconds an evaluation of all test images takes. The first batch is not counted.
func (x *Session) paceEvaluation(ctx context.Context) (float64, error) {
	batches := (x.set.Test.Len() + x.test - 1) / x.test
	done := -1
	var begin time.Time
	for done < 1 || done < batches && time.Since(begin) < pacedFor {
		if err := func() error {
			stream := x.feed.scan(testPart, nil, x.test)
			defer stream.close()
			for range batches {
				in, err := stream.next(ctx)
				if err != nil {
					return err
				}
				out, err := x.eval.Call(in.arguments(tensors.FromScalar(false))...)
				if err != nil {
					return err
				}
				if _, err := tensors.CopyFlatData[float32](out[0]); err != nil {
					return err
				}
				if err := finalize(out); err != nil {
					return err
				}
				if done++; done == 0 {
					begin = time.Now()
				}
				if err := ctx.Err(); err != nil || done > 0 && time.Since(begin) > pacedFor {
					return err
				}
			}
			return nil
		}(); err != nil {
			return 0, err
		}
	}
	return time.Since(begin).Seconds() / float64(done) * float64(batches), nil
}
