package command

import (
	"fmt"

	"github.com/bregman-ml/bregman/train"
)

// setBest notes the best epoch of a run that holds images back, and whether the run ended early.
func (r *TrainResult) setBest(out train.Result, plan train.Plan) {
	if b := out.Best; b != nil {
		r.BestEpoch, r.BestValidationAccuracy = b.Epoch, &b.Validation.Accuracy
		if !b.Lost {
			r.BestTestAccuracy = &b.Test.Accuracy
		}
	}
	if n := out.Last().Epoch.Epoch; n < plan.Epochs {
		r.StoppedAfter = n
	}
}

// BestText describes the best epoch; "" if no images are held back.
func (r *TrainResult) BestText() string {
	if r.BestEpoch == 0 || r.BestValidationAccuracy == nil {
		return ""
	}
	text := fmt.Sprintf("best on the images held back: epoch %d, %.2f %%", r.BestEpoch, 100**r.BestValidationAccuracy)
	if r.BestTestAccuracy == nil {
		text += "; its weights are gone"
	} else {
		text += fmt.Sprintf("; test %.2f %%; %s", 100**r.BestTestAccuracy, train.BestFile)
	}
	if r.StoppedAfter > 0 {
		text += fmt.Sprintf("; stopped after epoch %d", r.StoppedAfter)
	}
	return text
}
