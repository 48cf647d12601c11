package train

import (
	"testing"

	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
)

// The estimate of a step is made without the data, their augmentation and the log of steps. It is within 15 % of the
// memory that the CPU engine lays out for the whole step.
func TestTheEstimateIsNearThePlanOfTheStep(t *testing.T) {
	for _, c := range []struct {
		net   string
		batch int
	}{{"cnn", 10}, {"cnn", 50}, {"resnet18", 16}, {"mobilenetv2", 16}, {"vgg11", 16}, {"regnetx200", 16}} {
		net, err := nets.ByName(c.net)
		if err != nil {
			t.Fatal(err)
		}
		set := small(t, 200, 50)
		x := session(t, set, Settings{Net: net, Batch: c.batch, Precision: "float32", Augment: true,
			Optimizer: optim.Mirror().Momentum(0.9)})
		told, ok := x.told(0)
		if !ok {
			t.Fatalf("%s: the CPU engine does not tell", c.net)
		}
		p, err := x.newPlanner()
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		estimate, err := p.Step(c.batch, set.Height, set.Width)
		if err != nil {
			t.Fatal(err)
		}
		ratio := float64(estimate) / float64(told)
		t.Logf("%s, batch %d: %d bytes estimated, %d told, ratio %.3f", c.net, c.batch, estimate, told, ratio)
		if ratio < 0.85 || ratio > 1.15 {
			t.Errorf("%s, batch %d: %d bytes estimated, %d told", c.net, c.batch, estimate, told)
		}
	}
}

// The largest batch that is named fits, by what the engine says once it is compiled, and one a quarter larger does not.
func TestTheLargestBatchFits(t *testing.T) {
	net, err := nets.ByName("cnn")
	if err != nil {
		t.Fatal(err)
	}
	set := small(t, 1000, 50)
	at := func(batch int) (*Session, int64) {
		x := session(t, set, Settings{Net: net, Batch: batch, Precision: "float32", Augment: true,
			Optimizer: optim.Mirror()})
		m, err := x.Memory()
		if err != nil {
			t.Fatal(err)
		}
		if !m.Told || m.Shared || !m.OnHost || m.Weights == 0 || m.Optimizer == 0 || m.Data == 0 || m.Host == 0 {
			t.Errorf("batch %d: %+v", batch, m)
		}
		return x, m.Engine()
	}
	x, bytes := at(400)
	largest, err := x.LargestBatch(bytes / 2)
	if err != nil {
		t.Fatal(err)
	}
	if largest%8 != 0 || largest < 100 || largest >= 200 {
		t.Errorf("batch %d takes half of what batch 400 does", largest)
	}
	if _, got := at(largest); float64(got) > 1.05*float64(bytes)/2 {
		t.Errorf("batch %d takes %d bytes of %d", largest, got, bytes/2)
	}
	if _, got := at(largest * 5 / 4); got < bytes/2 {
		t.Errorf("batch %d takes only %d bytes of %d", largest*5/4, got, bytes/2)
	}
	if n, err := x.LargestBatch(1000); n != 0 || err != nil {
		t.Errorf("a thousand bytes: batch %d, %v", n, err)
	}
}

// Estimates for a GPU, beside measured peaks of an H200 (bf16): ours for ResNet-18 at batch 1024 with CIFAR-10
// resident, and those of PyTorch's compiled steps for networks for ImageNet at 192 pixels.
func TestEstimatesForAGPUAreNearMeasuredPeaks(t *testing.T) {
	for _, c := range []struct {
		net                  string
		batch, side, classes int
		rest, peak           float64 // GB: weights and data; measured in all
	}{{"resnet18", 1024, 32, 10, 0.28, 2.71}, {"resnet18-imagenet", 1024, 192, 1000, 0.05, 8.6},
		{"mobilenetv2-imagenet", 1024, 192, 1000, 0.02, 20.9}, {"resnet50-imagenet", 512, 192, 1000, 0.1, 16.4}} {
		net, err := nets.ByName(c.net)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlanner(net, 3, c.classes, true)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		bytes, err := p.Step(c.batch, c.side, c.side)
		if err != nil {
			t.Fatal(err)
		}
		got := float64(bytes)/1e9 + c.rest
		t.Logf("%s: %.2f GB, measured %.2f", c.net, got, c.peak)
		if got < 0.85*c.peak || got > 1.25*c.peak {
			t.Errorf("%s: %.2f GB estimated, %.2f measured", c.net, got, c.peak)
		}
	}
}

// A run of the times that Pace finds takes about that long.
func TestThePaceIsThatOfTheRun(t *testing.T) {
	net, err := nets.ByName("cnn")
	if err != nil {
		t.Fatal(err)
	}
	x := session(t, small(t, 300, 60), Settings{Net: net, Batch: 50, Precision: "float32", Augment: true,
		Optimizer: optim.Mirror()})
	plan := Plan{P: 2, LR: 0.1, Seed: 1, Epochs: 4}
	pace, err := x.Pace(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(pace.Sides) != 1 || pace.Sides[0].Epochs != 4 || !(pace.Sides[0].Step > 0) || !(pace.Evaluation > 0) ||
		!(pace.Sides[0].Epoch > 6*pace.Sides[0].Step) || !(pace.Run() > 4*pace.Sides[0].Epoch) {
		t.Errorf("%+v", pace)
	}
	r, err := x.Run(t.Context(), plan, nil, Silent{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.3f s foreseen, %.3f s", pace.Run(), r.Seconds)
	if r.Seconds > 10*pace.Run() || pace.Run() > 10*r.Seconds { // other programs may run
		t.Errorf("%.3f s foreseen, %.3f s", pace.Run(), r.Seconds)
	}
}
