package pages

import (
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// overfit is by how much the training accuracy exceeds the other one if a network fits its training images much better.
const overfit = 0.05

// trainLead states the accuracy of a network. answers is nil if the run has not stored them.
func trainLead(r *command.TrainResult, lines []train.Record, answers *command.TestAnswers, info runlog.Info,
	status string) (l Lead) {
	l.unfinished(info, status)
	epochs := render.Count(lines[len(lines)-1].Epoch.Epoch, "epoch")
	images, how := "the test images", ""
	if answers != nil && answers.Images > 0 {
		images = render.Thousands(answers.Images) + " test images"
		how = fmt.Sprintf(" (%s)", interval(r.TestAccuracy, answers.Images))
	}
	l.Say("After %s with p = %v the network classifies %.2f %% of %s correctly%s.", epochs, r.P, 100*r.TestAccuracy,
		images, how)
	if r.Warning != "" {
		l.Claim("%s", r.Warning)
	}
	if answers != nil && answers.Images > 0 && len(answers.Classes) > 1 {
		chance := 1 / float64(len(answers.Classes))
		if low, _ := wilson(r.TestAccuracy, answers.Images); low <= chance {
			l.Claim("It is not distinguishable from guessing one of the %d classes, which is correct for %.3g %%.",
				len(answers.Classes), 100*chance)
		}
	}
	l.Claim("This is one seed: how much another start would change it is not known. A comparison needs three.")
	l.trend(lines)
	if over := r.Accuracy - r.TestAccuracy; over > overfit {
		l.Claim("It is correct for %.2f %% of the training images in its last epoch, %.1f points more: it fits them more "+
			"closely than new ones.", 100*r.Accuracy, 100*over)
	} else if !math.IsNaN(over) {
		l.Claim("It is correct for %.2f %% of the training images in its last epoch, as they came: it does not fit them "+
			"more closely than new ones.", 100*r.Accuracy)
	}
	return l
}

// trend says whether the loss on images that were not trained on was still falling at the end.
func (l *Lead) trend(lines []train.Record) {
	lowest := 0
	loss := func(k int) float64 { s, _ := lines[k].Curve(); return s.Loss }
	_, on := lines[len(lines)-1].Curve()
	for k := range lines {
		if lines[k].Unevaluated {
			return
		}
		if loss(k) < loss(lowest) {
			lowest = k
		}
	}
	switch last := len(lines) - 1; {
	case last == 0:
		l.Claim("One epoch does not show whether training has converged.")
	case lowest == last:
		l.Claim("The %s loss was lowest in the last epoch: training had not converged, and more epochs may help.", on)
	default:
		l.Claim("The %s loss was lowest after epoch %d, %.3g, and %.3g at the end: more of the same training would not "+
			"help.", on, lines[lowest].Epoch.Epoch, loss(lowest), loss(last))
	}
}
