package linearmodel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
)

// replaySteps is how far a replay goes.
const replaySteps = 20_000_000

// Replay runs a finished or running fit again, up to the given step, and returns the weights at the points that it
// records. It allows only built-in data sets and starts, so that the settings of a run, which anyone may have written,
// name no file. lr and soft are the step and the share of worst margins that the fit used; with 0 they are found again.
func (f Fit) Replay(ctx context.Context, lr, soft float64, steps int) (*fit.Trajectory, error) {
	f.Test, f.Out, f.Runs = "", "", ""
	if err := f.Check(); err != nil {
		return nil, err
	}
	set, err := dataset.Generate(f.Data)
	switch {
	case errors.Is(err, dataset.ErrNotBuiltin):
		return nil, fmt.Errorf("%s is not a built-in set: only those can be recomputed", f.Data)
	case err != nil:
		return nil, err
	case f.Bias || f.Loss == "square" || len(f.P) != 1 || f.CV > 0:
		return nil, errors.New("only classifiers of one p without --bias can be recomputed")
	case f.Init != "" && f.Init != "zero" && !strings.HasPrefix(f.Init, "normal:"):
		return nil, errors.New("a start from a file cannot be recomputed")
	}
	var start []float64
	if _, d := set.X.Dims(); f.Init != "" && f.Init != "zero" {
		if start, err = startAt(f.Init, d, f.Seed); err != nil {
			return nil, err
		}
	}
	s := f.settings(start)
	method := s.ChosenMethod() // which a step would change
	if lr > 0 {
		s.Eta = lr
	}
	s.Method, s.Steps = method, max(1, min(steps, int(f.Steps), replaySteps))
	return fit.Replay(ctx, set, s, soft)
}
