package main

import (
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/images"
)

func TestTheNetworkTellsDiscsFromSquares(t *testing.T) {
	accuracy, err := run(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if accuracy < 0.95 {
		t.Errorf("accuracy %v", accuracy)
	}
}

// Pixels that do not make whole pictures, and labels without a class, are refused.
func TestAPictureThatIsCutIsRefused(t *testing.T) {
	good := draw(10, rand.New(rand.NewPCG(1, 2)))
	cut := images.Split{Images: good.Images[1:], Labels: good.Labels}
	if _, err := images.NewSet("cut", side, side, 1, []string{"disc", "square"}, cut, good); err == nil {
		t.Error("a picture without its first pixel is taken")
	}
	if _, err := images.NewSet("one", side, side, 1, []string{"disc"}, good, good); err == nil {
		t.Error("a label without a class is taken")
	}
}
