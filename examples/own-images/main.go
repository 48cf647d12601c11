// Command bregman-own-images trains the small network on pictures that it draws itself: discs and squares of any size
// and place, in noise.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/train"
)

const side = 16

// draw makes n grey pictures, one byte a pixel, row after row: class 0 has a disc, class 1 a square.
func draw(n int, rng *rand.Rand) images.Split {
	var s images.Split
	for i := range n {
		label := i % 2
		r, cx, cy := 4+rng.IntN(3), 6+rng.IntN(4), 6+rng.IntN(4)
		for y := range side {
			for x := range side {
				dx, dy := max(x-cx, cx-x), max(y-cy, cy-y)
				v := rng.IntN(60)
				if label == 0 && dx*dx+dy*dy < r*r || label == 1 && max(dx, dy) < r {
					v += 150
				}
				s.Images = append(s.Images, byte(v))
			}
		}
		s.Labels = append(s.Labels, uint8(label))
	}
	return s
}

func main() {
	if _, err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run returns the accuracy on the test pictures.
func run(ctx context.Context, w io.Writer) (float64, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	set, err := images.NewSet("shapes", side, side, 1, []string{"disc", "square"}, draw(1000, rng), draw(200, rng))
	if err != nil {
		return 0, err
	}
	net, err := nets.ByName("cnn")
	if err != nil {
		return 0, err
	}
	e, err := engine.Open(engine.CPU)
	if err != nil {
		return 0, err
	}
	const batch, epochs = 50, 10
	schedule := optim.Cosine(epochs * set.Train.Len() / batch)
	session, err := train.New(e, set, train.Settings{
		Net: net, Batch: batch, Precision: "float32", Optimizer: optim.Mirror().Schedule(schedule),
	})
	if err != nil {
		return 0, err
	}
	defer session.Close()
	plan := train.Plan{P: 3, LR: 0.2, Seed: 1, Epochs: epochs, Schedule: schedule}
	r, err := session.Run(ctx, plan, nil, train.Silent{})
	if err != nil {
		return 0, err
	}
	for _, epoch := range r.Records {
		fmt.Fprintf(w, "epoch %d: test accuracy %.3f\n", epoch.Epoch.Epoch, epoch.Score.Accuracy)
	}
	return r.Last().Score.Accuracy, nil
}
