package train

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/nets"
)

// The augmentation of the FFCV recipe the paper uses: flip, shift by up to two pixels, cut out a square of four.
const (
	shift  = 2
	cutout = 4
)

// A row of the plan says what a step does with one example.
const (
	planExample = iota
	planRow     // of the crop in the bordered image
	planCol
	planFlip
	planCutRow // of the square cut out, −cutout for none
	planCutCol
	planWidth
)

// drawPlan draws an epoch: an order of the examples and their augmentation. It depends on (seed, epoch) alone.
func (x *Session) drawPlan(n int, seed uint64, epoch int) []int32 {
	s, augment, rng := x.set, x.settings.Augment, rand.New(rand.NewPCG(seed, uint64(epoch)))
	plan := make([]int32, 0, n*planWidth)
	var first []bool // whether the first epoch flips an image
	if augment && x.settings.Flips == nets.Alternating {
		first = firstFlips(s.Train.Len(), seed)
	}
	for _, i := range x.order(rng, n) {
		row := [planWidth]int32{planExample: int32(i), planRow: shift, planCol: shift, planCutRow: -cutout,
			planCutCol: -cutout}
		if augment {
			row[planRow], row[planCol] = rng.Int32N(2*shift+1), rng.Int32N(2*shift+1)
			row[planFlip] = rng.Int32N(2)
			if first != nil {
				row[planFlip] = 0
				if first[i] == (epoch%2 == 1) {
					row[planFlip] = 1
				}
			}
			row[planCutRow], row[planCutCol] = rng.Int32N(int32(s.Height-cutout+1)), rng.Int32N(int32(s.Width-cutout+1))
		}
		plan = append(plan, row[:]...)
	}
	return plan
}

// flipStream seeds the choice of the images that the first epoch flips: epochs count from 1.
const flipStream = math.MaxUint64

// firstFlips chooses each of n images with probability ½. If an image is flipped in every second epoch, two epochs show
// it both ways, where chance shows half of the images twice in the same (K. Jordan 2024).
func firstFlips(n int, seed uint64) []bool {
	rng := rand.New(rand.NewPCG(seed, flipStream))
	out := make([]bool, n)
	for i := range out {
		out[i] = rng.Uint64()&1 == 1
	}
	return out
}

// augmented picks, shifts, flips, normalises and cuts the examples of a plan [batch, planWidth].
func (x pixels) augmented(plan *Node) (pictures, labels *Node) {
	g, s, b := plan.Graph(), x.set, x.settings.Batch
	column := func(k int) *Node { return Slice(plan, AxisRange(), AxisRange(k, k+1)) } // [batch, 1]
	start := Slice(plan, AxisRange(), AxisRange(planExample, planCol+1))
	pictures = GatherSlices(x.node(g, trainImages), []int{0, 1, 2}, start, []int{1, s.Height, s.Width}, false)
	pictures = x.normalized(Reshape(pictures, b, s.Height, s.Width, s.Channels))
	labels = Gather(x.node(g, trainLabels), column(planExample))
	if !x.settings.Augment {
		return pictures, labels
	}
	square := func(k int) *Node { return Reshape(column(k), b, 1, 1, 1) }
	pictures = Where(BroadcastToDims(Equal(square(planFlip), ConstAs(plan, 1)), pictures.Shape().Dimensions...),
		Reverse(pictures, 2), pictures)
	grid := shapes.Make(dtypes.Int32, b, s.Height, s.Width, 1)
	inside := func(axis, k int) *Node {
		d := Sub(Iota(g, grid, axis), square(k))
		return LogicalAnd(GreaterOrEqual(d, ConstAs(d, 0)), LessThan(d, ConstAs(d, cutout)))
	}
	cut := LogicalAnd(inside(1, planCutRow), inside(2, planCutCol))
	return Where(BroadcastToDims(cut, pictures.Shape().Dimensions...), ZerosLike(pictures), pictures), labels
}

// normalized turns values from 0 to 255 into numbers of mean 0 and deviation 1 per channel, in the network's type.
func (x *Session) normalized(values *Node) *Node {
	g := values.Graph()
	v := ConvertDType(values, dtypes.Float32)
	mean := Reshape(Const(g, x.set.Mean), 1, 1, 1, x.set.Channels)
	deviation := Reshape(Const(g, x.set.Deviation), 1, 1, 1, x.set.Channels)
	return ConvertDType(Div(Sub(v, mean), deviation), x.dtype)
}

// bordered returns the training images with a border of the mean colour.
func bordered(s *images.Set, border int) []byte {
	h, w, c := s.Height+2*border, s.Width+2*border, s.Channels
	n := s.Train.Len()
	fill := make([]byte, c)
	for k := range fill {
		fill[k] = byte(s.Mean[k] + 0.5)
	}
	out := make([]byte, n*h*w*c)
	for i := 0; i < len(out); i += c {
		copy(out[i:], fill)
	}
	row := s.Width * c
	for i := range n {
		for y := range s.Height {
			from := (i*s.Height + y) * row
			copy(out[((i*h+y+border)*w+border)*c:], s.Train.Images[from:from+row])
		}
	}
	return out
}

func int32s(labels []uint8) []int32 {
	out := make([]int32, len(labels))
	for i, v := range labels {
		out[i] = int32(v)
	}
	return out
}
