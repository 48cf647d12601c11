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
)

// packed is the feed of a packed file. A picture is a slot of YCbCr 4:2:0 bytes; crop, resize, flip and colour are done
// by the engine. The slots of a small set are on the engine, those of a large one come from the file, read ahead.
type packed struct {
	*Session
	resident bool
}

var _ feed = packed{}

// A row of the plan of a packed set.
const (
	packExample = iota
	packLabel
	packTop // of the crop, in pixels of the picture
	packLeft
	packHeight
	packWidth
	packFlip
	packRow
)

// The FFCV recipe: random crops have this share of the area and this aspect ratio, and tests see the central square of
// 224/256 of the short side.
const (
	leastArea  = 0.08
	mostAspect = 4. / 3
	cropTries  = 10
	testShare  = 224. / 256
)

func (x packed) rowWidth() int { return packRow }

func (x packed) streams() bool { return !x.resident }

func (x packed) load(ctx context.Context) error {
	if !x.resident {
		return nil
	}
	for _, one := range []struct {
		path    string
		entries []images.PackEntry
	}{{trainImages, x.set.Train.Packed}, {testImages, x.set.Test.Packed}} {
		slots := newSlots(len(one.entries), x.set.Pack.Slot())
		if _, err := fill(ctx, x.set.Pack, slots, func(i int) images.PackEntry { return one.entries[i] }); err != nil {
			return err
		}
		x.put(one.path, slots)
	}
	return nil
}

// draw draws an order of the examples, and a random crop and flip for each.
func (x packed) draw(n int, seed uint64, epoch int) []int32 {
	rng := rand.New(rand.NewPCG(seed, uint64(epoch)))
	order := rng.Perm(x.set.Train.Len())
	plan := make([]int32, 0, n*packRow)
	for _, i := range order[:n] {
		e := x.set.Train.Packed[i]
		row := central(i, e)
		if x.settings.Augment {
			row[packTop], row[packLeft], row[packHeight], row[packWidth] = randomCrop(rng, int(e.Height), int(e.Width))
			row[packFlip] = rng.Int32N(2)
		}
		plan = append(plan, row[:]...)
	}
	return plan
}

// central is the row of a picture as it is tested.
func central(i int, e images.PackEntry) [packRow]int32 {
	side := max(1, int(testShare*float64(min(e.Height, e.Width))))
	return [packRow]int32{packExample: int32(i), packLabel: int32(e.Label), packTop: int32((int(e.Height) - side) / 2),
		packLeft: int32((int(e.Width) - side) / 2), packHeight: int32(side), packWidth: int32(side)}
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

// prepared crops, flips, resizes and normalises what rows [batch, packRow] say.
func (x packed) prepared(path string, rows, slots *Node, side int) *Node {
	g, b := rows.Graph(), rows.Shape().Dimensions[0]
	if slots == nil {
		slots = Gather(x.node(g, path), Slice(rows, AxisRange(), AxisRange(packExample, packExample+1)))
	}
	column := func(k int) *Node {
		return Reshape(ConvertDType(Slice(rows, AxisRange(), AxisRange(k, k+1)), dtypes.Float32), b, 1, 1)
	}
	flip := column(packFlip)
	rgb := fromSlots(slots, x.set.Height, x.set.Width, side, span{column(packTop), column(packHeight)},
		span{column(packLeft), column(packWidth)}, GreaterThan(flip, ZerosLike(flip)))
	return x.normalized(rgb)
}

func (x packed) stream(ctx context.Context, plan []int32, b int) stream {
	if x.resident {
		return nothing{}
	}
	return x.read(ctx, x.set.Train.Packed, len(plan)/packRow/b, b, func(k int) []int32 {
		return plan[k*b*packRow : (k+1)*b*packRow]
	}, false)
}

func (x packed) scan(ctx context.Context, from part, b int) stream {
	entries, n, every := x.set.Test.Packed, x.set.Test.Len(), 1
	if from == trainPart {
		entries = x.set.Train.Packed
		n, every = x.studied()
	}
	rows := func(k int) []int32 {
		first := min(k*b, n-b)
		out := make([]int32, 0, b*packRow)
		for i := first; i < first+b; i++ {
			row := central(i*every, entries[i*every])
			out = append(out, row[:]...)
		}
		return out
	}
	if x.resident {
		return &rowStream{b: b, rows: rows}
	}
	return x.read(ctx, entries, (n+b-1)/b, b, rows, true)
}

// rowStream gives rows of pictures that are on the engine.
type rowStream struct {
	k, b int
	rows func(k int) []int32
}

func (s *rowStream) next() (batch, error) {
	s.k++
	return batch{where: tensors.FromFlatDataAndDimensions(s.rows(s.k-1), s.b, packRow)}, nil
}

func (s *rowStream) close() flow { return flow{} }

// checkPacked returns an error if a packed set cannot be trained on as the settings say.
func checkPacked(s Settings) error {
	r := s.Resolution
	if r.Low < 1 || r.High < r.Low || r.Test < 1 {
		return fmt.Errorf("resolution %d to %d, test %d: a packed set needs the sides of its pictures", r.Low, r.High, r.Test)
	}
	if r.Low != r.High && (r.Low%32 != 0 || r.High%32 != 0) {
		return fmt.Errorf("resolution %d to %d: want multiples of 32", r.Low, r.High)
	}
	return nil
}
