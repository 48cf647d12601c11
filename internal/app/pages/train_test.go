package pages

import (
	"testing"

	"github.com/bregman-ml/bregman/internal/app/command"
)

func TestTheRecipeNamesEverySettingThatIsNotTheDefault(t *testing.T) {
	one := &command.Train{Model: "cnn", Data: "x", P: []float64{2}, Epochs: 6, Batch: 12, LR: 0.2, Schedule: "triangular",
		Peak: 5. / 24,
		Seed: 1, Trials: 1, Precision: "auto", Engine: "cpu", NoStudy: true, Runs: "r", Momentum: 0.9, WeightDecay: 5e-4,
		NoAugment: true}
	want := "6 epochs, batch 12, learning rate 0.2, triangular, seed 1, momentum 0.9, weight decay 0.0005, no augmentation"
	if got := recipe(one, command.TrainResult{LR: 0.2, Seed: 1}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
