package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/nets"
)

// packed is the feed of a packed file. A picture is YCbCr 4:2:0 in bytes; crop, resize, flip and colour are done by the
// engine. It sees a window of each picture, of one size, that any crop fits into: pictures may be much longer than they
// are wide. The pictures of a small set are on the engine, the windows of a large one come from the file, read ahead.
type packed struct {
	*Session
	resident bool
	window   window
	pool     slotPool // of training
}

var _ feed = packed{}

// A row of the plan of a packed set.
const (
	packExample = iota
	packLabel
	packRow // where the window begins in the picture
	packColumn
	packTop // of the crop, in the window
	packLeft
	packHeight
	packWidth
	packFlip
	packFields
)

// The FFCV recipe: random crops have this share of the area and this aspect ratio, and tests see the central square of
// 224/256 of the short side.
const (
	leastArea  = 0.08
	mostAspect = 4. / 3
	cropTries  = 10
	testShare  = 224. / 256
)

func newPacked(x *Session) packed {
	p := packed{Session: x, resident: !x.settings.Stream, window: newWindow(x.set)}
	if !p.resident {
		p.pool = newSlotPool(x.settings.Batch, p.slot())
	}
	return p
}

func (x packed) free() {
	if x.pool != nil {
		x.pool.free()
	}
}

func (x packed) rowWidth() int { return packFields }

func (x packed) streams() bool { return !x.resident }

func (x packed) slot() int { return x.window.slot() }

func (x packed) load(ctx context.Context) error {
	if !x.resident {
		return nil
	}
	if err := x.loadPart(ctx, trainImages, x.set.Train.Packed); err != nil {
		return err
	}
	return x.loadPart(ctx, testImages, x.set.Test.Packed)
}

// draw draws an order of the examples, and a random crop and flip for each.
func (x packed) draw(n int, seed uint64, epoch int) []int32 {
	rng := rand.New(rand.NewPCG(seed, uint64(epoch)))
	plan := make([]int32, 0, n*packFields)
	for _, i := range x.order(rng, n) {
		e := x.set.Train.Packed[i]
		top, left, height, width := centralCrop(e)
		flip := int32(0)
		if x.settings.Augment {
			top, left, height, width = randomCrop(rng, int(e.Height), int(e.Width))
			flip = rng.Int32N(2)
		}
		plan = x.window.appendRow(plan, i, e, top, left, height, width, flip)
	}
	return plan
}

// centralCrop is the part of a picture that is tested.
func centralCrop(e images.PackEntry) (top, left, height, width int32) {
	side := max(1, int(testShare*float64(min(e.Height, e.Width))))
	return int32((int(e.Height) - side) / 2), int32((int(e.Width) - side) / 2), int32(side), int32(side)
}

// randomCrop draws area and aspect ratio until the crop fits, ten times at most; then it is the largest central one
// whose aspect ratio is allowed.
func randomCrop(rng *rand.Rand, h, w int) (top, left, height, width int32) {
	for range cropTries {
		area := float64(h*w) * (leastArea + (1-leastArea)*rng.Float64())
		aspect := math.Exp((2*rng.Float64() - 1) * math.Log(mostAspect))
		cw, ch := int(math.Round(math.Sqrt(area*aspect))), int(math.Round(math.Sqrt(area/aspect)))
		if cw > 0 && ch > 0 && cw <= w && ch <= h {
			return int32(rng.IntN(h - ch + 1)), int32(rng.IntN(w - cw + 1)), int32(ch), int32(cw)
		}
	}
	ch, cw := h, w
	switch aspect := float64(w) / float64(h); {
	case aspect < 1/mostAspect:
		ch = max(1, int(math.Round(float64(w)*mostAspect)))
	case aspect > mostAspect:
		cw = max(1, int(math.Round(float64(h)*mostAspect)))
	}
	return int32((h - ch) / 2), int32((w - cw) / 2), int32(ch), int32(cw)
}

func (x packed) batch(plan, slots *Node, side int) (pictures, labels *Node) {
	labels = Reshape(Slice(plan, AxisRange(), AxisRange(packLabel, packLabel+1)), plan.Shape().Dimensions[0])
	return x.prepared(trainImages, plan, slots, side), labels
}

func (x packed) inOrder(from part, rows, slots *Node, _, side int) *Node {
	if from == trainPart {
		return x.prepared(trainImages, rows, slots, side)
	}
	return x.prepared(testImages, rows, slots, side)
}

// prepared crops, flips, resizes and normalises what rows [batch, packFields] say.
func (x packed) prepared(path string, rows, slots *Node, side int) *Node {
	b, h, w := rows.Shape().Dimensions[0], x.window.height, x.window.width
	column := func(k int) *Node {
		return Reshape(ConvertDType(Slice(rows, AxisRange(), AxisRange(k, k+1)), dtypes.Float32), b, 1, 1)
	}
	var y, cb, cr *Node
	if slots != nil {
		y, cb, cr = slotPlanes(slots, h, w)
	} else {
		y, cb, cr = x.gathered(path, rows)
	}
	flip := column(packFlip)
	down, across := span{column(packTop), column(packHeight)}, span{column(packLeft), column(packWidth)}
	mirrored := GreaterThan(flip, ZerosLike(flip))
	return x.normalized(fromPlanes(y, cb, cr, side, down, across, mirrored, x.dtype))
}

func (x packed) stream(plan []int32, b int) stream {
	if x.resident {
		return nothing{}
	}
	return x.read(x.set.Train.Packed, len(plan)/packFields/b, b, func(k int) []int32 {
		return plan[k*b*packFields : (k+1)*b*packFields]
	}, x.pool, false)
}

func (x packed) scan(from part, examples []int, b int) stream {
	entries, of := x.split(from).Packed, sample{from: from, examples: examples}
	n := x.len(of)
	rows := func(k int) []int32 {
		first := min(k*b, n-b)
		out := make([]int32, 0, b*packFields)
		for i := first; i < first+b; i++ {
			e := entries[of.index(i)]
			top, left, height, width := centralCrop(e)
			out = x.window.appendRow(out, of.index(i), e, top, left, height, width, 0)
		}
		return out
	}
	if x.resident {
		return &rowStream{b: b, rows: rows}
	}
	return x.read(entries, (n+b-1)/b, b, rows, nil, true)
}

// rowStream gives rows of pictures that are on the engine.
type rowStream struct {
	k, b int
	rows func(k int) []int32
}

func (s *rowStream) next(context.Context) (batch, error) {
	s.k++
	return batch{where: tensors.FromFlatDataAndDimensions(s.rows(s.k-1), s.b, packFields)}, nil
}

func (s *rowStream) close() flow { return flow{} }

// checkPacked returns an error if a packed set cannot be trained on as the settings say.
func checkPacked(s Settings) error {
	r := s.Resolution
	if r.Low < 1 || r.High < r.Low || r.Test < 1 {
		return fmt.Errorf("resolution %d to %d, test %d: a packed set needs the sides of its pictures", r.Low, r.High, r.Test)
	}
	if s.Flips != nets.Random {
		return fmt.Errorf("flips of a packed set are random: %s ones are for images of one size", s.Flips)
	}
	if r.Low != r.High && (r.Low%32 != 0 || r.High%32 != 0) {
		return fmt.Errorf("resolution %d to %d: want multiples of 32", r.Low, r.High)
	}
	return nil
}
