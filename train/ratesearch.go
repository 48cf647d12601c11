package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/engine"
)

// The range test raises the learning rate from lowestRate to highestRate, by the same factor every step, over an epoch: at least
// fewestSteps and at most mostSteps. The edge is the largest rate at which the loss was still within riseShare of its whole fall from its
// lowest, and the rate that is chosen is the edge over rateShare. The edge and not the place of the lowest loss: for large p the loss is flat over
// decades, and where it is lowest is chance.
const (
	lowestRate  = 1e-5
	highestRate = 10
	fewestSteps = 100
	mostSteps   = 200
	rateShare   = 3
	riseShare   = 0.1
	around      = 3 // steps to each side in the mean that is looked at
)

// RangeTest is what a learning-rate range test (Smith 2017) saw, step by step, and the rate it chose.
type RangeTest struct {
	P      float64   `json:"p"`
	Rate   float64   `json:"lr"`   // chosen
	Edge   float64   `json:"edge"` // the largest rate at which the smoothed loss was about as low as it got
	Rates  []float64 `json:"rates"`
	Loss   []float64 `json:"loss"`   // of each step's batch, before the step
	Smooth []float64 `json:"smooth"` // centred mean over seven steps
}

// RangeTest trains from the start of the run while the learning rate grows, on the step that is compiled already, until the loss is four times
// its lowest and twice that of guessing, or not a number, and chooses a third of the largest rate at which it was about as low as it got. The session is left in disorder: Start comes next.
func (x *Session) RangeTest(ctx context.Context, r Run) (RangeTest, error) {
	t := RangeTest{P: r.P}
	r.Schedule = r.Schedule.Held()
	if err := x.Start(r); err != nil {
		return t, err
	}
	steps := min(max(x.PerEpoch, fewestSteps), mostSteps)
	err := engine.Try(func() error {
		if err := x.setPlan(r.Seed, 0); err != nil { // training draws from 1 on
			return err
		}
		lowest, worst := math.Inf(1), 2*math.Log(float64(len(x.set.Classes))) // twice that of guessing
		for k := range steps {
			if err := ctx.Err(); err != nil {
				return err
			}
			rate := lowestRate * math.Pow(highestRate/lowestRate, float64(k)/float64(steps-1))
			if err := x.opt.Set(x.store.RootScope(), "", r.P, rate); err != nil {
				return err
			}
			if err := x.store.GetVariable(lossVar).SetValue(tensors.FromScalar(float32(0))); err != nil {
				return err
			}
			if _, err := x.step.Call(); err != nil {
				return err
			}
			loss, err := x.scalar(lossVar)
			if err != nil {
				return err
			}
			if math.IsNaN(loss) || loss > max(4*lowest, worst) {
				return nil
			}
			lowest = min(lowest, loss)
			t.Rates, t.Loss = append(t.Rates, rate), append(t.Loss, loss)
		}
		return nil
	})
	if err == nil {
		err = t.choose()
	}
	return t, err
}

// choose smooths the losses and picks the rate.
func (t *RangeTest) choose() error {
	n := len(t.Loss)
	t.Smooth = make([]float64, n)
	best := 0
	for k := range t.Loss {
		from, to := max(0, k-around), min(n, k+around+1)
		for _, l := range t.Loss[from:to] {
			t.Smooth[k] += l / float64(to-from)
		}
		if t.Smooth[k] < t.Smooth[best] {
			best = k
		}
	}
	if n == 0 || !(t.Smooth[best] < 0.99*t.Smooth[0]) {
		return &Diverged{errors.New("the range test saw the loss fall at no learning rate: choose one with --lr")}
	}
	edge := best
	for k := best; k < n; k++ {
		if t.Smooth[k]-t.Smooth[best] <= riseShare*(t.Smooth[0]-t.Smooth[best]) {
			edge = k
		}
	}
	t.Edge = t.Rates[edge]
	t.Rate, _ = strconv.ParseFloat(fmt.Sprintf("%.2g", t.Edge/rateShare), 64)
	return nil
}

// At is the smoothed loss at the step whose rate is nearest.
func (t RangeTest) At(rate float64) float64 {
	best := 0
	for k, r := range t.Rates {
		if math.Abs(math.Log(r/rate)) < math.Abs(math.Log(t.Rates[best]/rate)) {
			best = k
		}
	}
	return t.Smooth[best]
}
