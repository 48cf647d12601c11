package linear

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
		if err := r.Resume.check(descentEntries); err != nil {
			return nil, err
		}
		d.Eta = r.Resume.Scalars["eta"]
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
		if err := s.resume(*r.Resume); err != nil {
			return err
		}
		tr.upper = r.Resume.Scalars["upper"]
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

// descentEntries are the entries of a checkpoint, which checkpoint fills in and resume reads.
var descentEntries = entries{
	scalars: []string{"eta", "mass", "upper"},
	vectors: []string{"weights", "dual", "dual_start"},
}

// checkpoint returns the state with the best upper bound so far. The order of mini-batches follows from the step.
func (s *State) checkpoint(m MethodName, upper float64) Checkpoint {
	return Checkpoint{
		Method: string(m),
		Step:   s.T,
		Scalars: map[string]float64{
			"eta":   s.d.Eta,
			"mass":  s.mass,
			"upper": upper,
		},
		Vectors: map[string][]float64{
			"weights":    slices.Clone(s.W),
			"dual":       slices.Clone(s.Z),
			"dual_start": slices.Clone(s.z0),
		},
	}
}

func (s *State) resume(c Checkpoint) error {
	w, z, z0 := c.Vectors["weights"], c.Vectors["dual"], c.Vectors["dual_start"]
	if len(w) != len(s.W) || len(z) != len(s.Z) || len(z0) != len(s.z0) {
		return errOtherData
	}
	copy(s.W, w)
	copy(s.Z, z)
	copy(s.z0, z0)
	s.T, s.mass = c.Step, c.Scalars["mass"]
	return nil
}
