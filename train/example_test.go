package train_test

import (
	"context"
	"fmt"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/train"
)

// The small network on some built-in images, compiled once and trained with two p.
func Example() {
	e, err := engine.Open(engine.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := images.Load("fashion-sample", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	net, err := nets.ByName("cnn")
	if err != nil {
		fmt.Println(err)
		return
	}
	pixels := set.Height * set.Width * set.Channels
	set.Train = images.Split{Images: set.Train.Images[:500*pixels], Labels: set.Train.Labels[:500]}
	const batch, epochs = 50, 3
	schedule := optim.Cosine(epochs * set.Train.Len() / batch)
	session, err := train.New(e, set, train.Settings{
		Net: net, Batch: batch, Precision: "float32", Optimizer: optim.Mirror().Schedule(schedule),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	for _, p := range []float64{2, 3} {
		plan := train.Plan{P: p, LR: 0.4, Seed: 1, Epochs: epochs, Schedule: schedule}
		r, err := session.Run(context.Background(), plan, nil, train.Silent{}) // nil: no run folder
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("p =", p, "better than guessing:", r.Last().Score.Accuracy > 0.3)
	}
	// Output:
	// p = 2 better than guessing: true
	// p = 3 better than guessing: true
}
