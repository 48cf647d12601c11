package linear

import (
	"context"
	"errors"
	"fmt"

	"github.com/bregman-ml/bregman/mirror"
)

// fitDescent is Fit of the methods that run a Descent. Unlike in a Descent, an Eta of 0 is found by trial.
func (r *run) fitDescent(ctx context.Context, d Descent) (*Result, error) {
	n, _ := r.prob.Dims()
	if d.Batch < 0 || d.Batch > n {
		return nil, fmt.Errorf("batch of %d: there are %d examples", d.Batch, n)
	}
	if d.Normalized && r.loss.Residual() {
		return nil, fmt.Errorf("the method %s divides by the loss, which tends to 0 in a regression: use pgd", r.method)
	}
	search := d.Eta == 0
	if r.Resume != nil {
		if len(r.Resume.Numbers) != 3 {
			return nil, errOtherData
		}
		d.Eta = r.Resume.Numbers[0]
	} else if search {
		eta, err := d.FindStep(ctx, r.prob, r.start)
		if err != nil {
			return nil, err
		}
		d.Eta = eta
	}
	for {
		err := r.descend(ctx, d)
		var over *OverflowError
		if !search || d.Eta < 1e-280 || !errors.As(err, &over) {
			return r.end(err)
		}
		d.Eta /= 8
		r.Resume, r.result.Points = nil, nil
	}
}

// descend runs d with its step size.
func (r *run) descend(ctx context.Context, d Descent) error {
	s, err := d.Start(r.prob, r.start)
	if err != nil {
		return err
	}
	tr := Trace{P: r.p, Certify: true, StopGap: r.gap, Each: func(pt Point) { r.record(pt, s.W) }}
	if r.Resume != nil {
		if err := s.restoreCheckpoint(*r.Resume); err != nil {
			return err
		}
		tr.upper = r.Resume.Numbers[2]
	}
	state := func() Checkpoint { return s.checkpoint(r.method, tr.upper) }
	if r.Save != nil {
		tr.pause = func() error { return r.save(state) }
	}
	if err = tr.Run(ctx, s, r.steps); ctx.Err() != nil {
		err = r.saveLast(err, state)
	}
	pt := s.Measure(r.p, nil)
	r.result.W, r.result.Steps, r.result.Eta = s.W, s.T, d.Eta
	r.result.Loss, r.result.Objective = pt.Loss, pt.Loss
	if !r.loss.Residual() {
		c := Certificate{Lower: pt.Margin, Upper: tr.Upper()}
		r.result.Certificate = c.widened(rounded * r.prob.RowNorm(mirror.Conjugate(r.p)))
	}
	return err
}
