package train

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/runlog"
)

// stripes are pictures of 8 × 8, class 0 with a bright left half and class 1 with a bright right one.
func stripes(t *testing.T) *images.Set {
	t.Helper()
	split := func(n int) images.Split {
		var s images.Split
		for i := range n {
			label := uint8(i % 2)
			for p := range 64 {
				v := byte(20 + (i*7+p)%30)
				if (p%8 >= 4) == (label == 1) {
					v += 150
				}
				s.Images = append(s.Images, v)
			}
			s.Labels = append(s.Labels, label)
		}
		return s
	}
	set, err := images.NewSet("stripes", 8, 8, 1, []string{"left", "right"}, split(60), split(20))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A network, images and a potential that are not ours train, and leave a run folder like any other.
func TestOwnNetworkImagesAndPotentialTrain(t *testing.T) {
	net := nets.New("own", func(b *nets.Builder, x *Node, classes int) *Node {
		// Without the pixels' places the halves would look alike: each becomes a channel.
		x = Reshape(x, x.Shape().Dimensions[0], 1, 1, 64)
		return b.Head("linear", nets.ReLU(b.Conv("conv1", x, 1, 16, 1)), classes)
	})
	// ψ(w) = (c/2)w² + (1/2)w²: the mirror map (c + 1)w, written by hand.
	own := optim.NewPotential("own", "c", 1,
		func(w, c *Node) *Node { return Mul(w, ConvertDType(AddScalar(c, 1), w.DType())) },
		func(z, c *Node) *Node { return Div(z, ConvertDType(AddScalar(c, 1), z.DType())) })
	folder, err := runlog.Create(t.TempDir(), "own", runlog.Info{Command: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(e, stripes(t), Settings{Net: net, Batch: 10, Precision: "float32",
		Optimizer: optim.Mirror().Potential(own)})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	r, err := x.Run(t.Context(), Plan{P: 1, LR: 0.5, Seed: 1, Epochs: 5, Schedule: optim.Constant()}, folder, Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	if got := r.Last().Score.Accuracy; got < 0.95 || len(r.Records) != 5 {
		t.Errorf("accuracy %v after %d epochs", got, len(r.Records))
	}
	if _, err := ReadInit(folder.Path("weights.safetensors")); err != nil {
		t.Error(err)
	}
}
