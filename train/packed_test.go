package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
)

// packFile packs 96 training and 24 test pictures of three classes of different colours: many sizes, odd ones, some
// five times as long as they are wide, some grey.
func packFile(t testing.TB, format string) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(21, 22))
	dir := filepath.Join(t.TempDir(), "set")
	for i := range 120 {
		h, w := 20+rng.IntN(40), 20+rng.IntN(40)
		switch i % 12 {
		case 3:
			h, w = 15, 75
		case 7:
			h, w = 76, 15
		}
		class := i / 5 % 3
		m := image.NewRGBA(image.Rect(0, 0, w, h))
		for y := range h {
			for x := range w {
				c := [3]uint8{}
				for k := range c {
					c[k] = uint8(80 + 40*math.Sin(float64(x*(k+1)+2*y+i)/5) + 30*rng.Float64())
				}
				c[class] += 90
				m.SetRGBA(x, y, color.RGBA{c[0], c[1], c[2], 255})
			}
		}
		var out bytes.Buffer
		var err error
		if i%20 == 11 {
			grey := image.NewGray(m.Rect)
			for k := range grey.Pix {
				grey.Pix[k] = m.Pix[4*k+1]
			}
			err = jpeg.Encode(&out, grey, nil)
		} else {
			err = jpeg.Encode(&out, m, &jpeg.Options{Quality: 95})
		}
		folder := filepath.Join(dir, []string{"train", "val"}[min(1, i%5/4)], []string{"red", "green", "blue"}[class])
		name := filepath.Join(folder, fmt.Sprintf("%03d.jpg", i))
		if err := errors.Join(err, os.MkdirAll(folder, 0o777), os.WriteFile(name, out.Bytes(), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	src, err := images.OpenSource(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	path := filepath.Join(t.TempDir(), "set.pack")
	p, err := images.NewPacker(src, path, images.PackSettings{Size: 48, Side: images.ShortSide, Format: format,
		Quality: 90, RawShare: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Write(t.Context(), func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) > 0 || len(r.Train) != 96 || len(r.Test) != 24 {
		t.Fatalf("%d and %d pictures, %v", len(r.Train), len(r.Test), r.Problems)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func openPacked(t testing.TB, path string) *images.Set {
	t.Helper()
	set, err := images.Load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set
}

func packedSet(t testing.TB) *images.Set { return openPacked(t, packFile(t, images.FormatMix)) }

// packedQuick trains on a packed set in a moment.
func packedQuick(stream bool) Settings {
	return Settings{Net: cnn(), Batch: 16, Precision: "float32", Augment: true, Stream: stream,
		Resolution: Resolution{Low: 32, High: 32, Test: 40}}
}

// noneLeft fails the test if there are more goroutines than before, after a moment.
func noneLeft(t *testing.T, before int) {
	t.Helper()
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

// outcome is what two epochs of a run give: weights and scores.
func outcome(t *testing.T, x *Session) string {
	t.Helper()
	r := quickRun(x, 3)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	last := epochs(t, x, r, 0, 2)
	out := fmt.Sprintf("%v %v ", last.Loss, last.Accuracy)
	for _, flip := range []bool{false, true} {
		s, margins, err := x.evaluate(t.Context(), x.testSample(), flip, nil)
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprint(s, margins)
	}
	return out + weights(t, x)
}

// Whether pictures are on the engine or come from the file makes no difference to any bit, nor does the number of
// goroutines that read them, nor an engine that does not wait for its steps while buffers are filled again.
func TestStreamedPicturesGiveTheBitsOfResidentOnes(t *testing.T) {
	set := packedSet(t)
	resident := session(t, set, packedQuick(false))
	want := outcome(t, resident)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(n)
		x := session(t, set, packedQuick(true))
		x.test = 10
		if outcome(t, x) != want {
			t.Errorf("%d readers: other weights or scores", n)
		}
		x.Close()
	}
	for _, inFlight := range []int{0, 2} {
		e, _ := lateEngine(t, inFlight)
		s := packedQuick(true)
		s.Optimizer = optim.Mirror().Schedule(optim.Triangular(1, 0))
		x, err := New(e, set, s)
		if err != nil {
			t.Fatal(err)
		}
		x.test = 10
		if outcome(t, x) != want {
			t.Errorf("%d steps in flight: other weights or scores", inFlight)
		}
	}
	other := packedQuick(false)
	other.Augment = false
	if outcome(t, session(t, set, other)) == want {
		t.Error("random crops change nothing")
	}
}

// A batch of a stream stays as it is until the next call but one, however fast the reader is.
func TestABatchIsValidUntilTheNextCallButOne(t *testing.T) {
	set := packedSet(t)
	x := session(t, set, packedQuick(true))
	plan := x.feed.draw(96, 1, 1)
	bytesOf := func(b batch) []byte { return tensors.MustCopyFlatData[uint8](b.slots) }
	s := x.feed.stream(plan, 4)
	defer s.close()
	var last batch
	var was []byte
	for k := range 24 {
		now, err := s.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond) // the reader fills all buffers it may
		if k > 0 && !bytes.Equal(bytesOf(last), was) {
			t.Fatalf("batch %d has changed when there is the next", k-1)
		}
		last, was = now, bytesOf(now)
	}
}

// Of several errors the first picture's is returned, whichever came first, and after an error or an interrupt nothing
// more is read.
func TestFillingStopsAtAnErrorOrAnInterrupt(t *testing.T) {
	by := make([]*images.PackReader, 3)
	for i := range by {
		by[i] = new(images.PackReader)
	}
	var calls atomic.Int32
	_, err := fill(t.Context(), by, 1000, func(_ *images.PackReader, i int) error {
		calls.Add(1)
		if i < 3 {
			time.Sleep(time.Duration(3-i) * 10 * time.Millisecond) // the last fails first
			return fmt.Errorf("picture %d", i)
		}
		return nil
	})
	if err == nil || err.Error() != "picture 0" || calls.Load() != 3 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls.Store(0)
	_, err = fill(ctx, by, 1000, func(*images.PackReader, int) error {
		if calls.Add(1) == 5 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || calls.Load() > 8 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
}

// Pictures lie in blocks without overlap, and windows that begin in their last rows end in the block. Blocks are no
// longer than they may be, but for a picture that is.
func TestPicturesLieInBlocks(t *testing.T) {
	defer func(n int) { blockBytes = n }(blockBytes)
	rng := rand.New(rand.NewPCG(3, 3))
	var entries []images.PackEntry
	for range 60 {
		entries = append(entries, images.PackEntry{Height: uint16(1 + rng.IntN(40)), Width: uint16(1 + rng.IntN(40))})
	}
	w := window{height: 40, width: 40}
	for blockBytes = 2000; blockBytes < 2600; blockBytes++ {
		table, blocks, length := w.layout(entries)
		if length > max(blockBytes, 40*40*3/2+w.width) {
			t.Fatalf("blocks of %d bytes, %d allowed", length, blockBytes)
		}
		block, end := 0, 0
		for i, e := range entries {
			place := table[i*placeFields : (i+1)*placeFields]
			h, wide := int(place[placeHeight]), int(place[placeWidth])
			if int(place[placeBlock]) != block {
				block, end = block+1, 0
			}
			if int(place[placeBlock]) != block || int(place[placeOffset]) != end || h != int(e.Height+1)/2*2 ||
				wide != int(e.Width+1)/2*2 {
				t.Fatalf("picture %d of %d×%d at %v, want block %d from %d on", i, e.Height, e.Width, place, block, end)
			}
			if end += h * wide * 3 / 2; end+w.width > length {
				t.Fatalf("picture %d ends at %d of %d", i, end, length)
			}
		}
		if block != blocks-1 {
			t.Fatalf("%d blocks, the last picture is in %d", blocks, block)
		}
	}
}

// A run that is saved and loaded in another session has the bits of one that was not stopped, before and after the
// pictures grow from 32 to 64 pixels in the last of four epochs.
func TestAResumedRunOnAPackIsTheUnbrokenOne(t *testing.T) {
	set := packedSet(t)
	var want string
	for _, stream := range []bool{false, true} {
		s := packedQuick(stream)
		s.Resolution = Resolution{Low: 32, High: 64, Test: 64}
		s.Optimizer = optim.Mirror().Momentum(0.9).Schedule(optim.Triangular(1, 0))
		x := session(t, set, s)
		r := quickRun(x, 3)
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		var sides []int
		for e := range 4 {
			sides = append(sides, epochs(t, x, r, e, e+1).Side)
			if err := x.Save(filepath.Join(dir, fmt.Sprint(e+1)), true, nil); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(sides, []int{32, 32, 32, 64}) {
			t.Fatalf("sides %v", sides)
		}
		if want == "" {
			want = weights(t, x)
		} else if weights(t, x) != want {
			t.Error("streamed, the run ends elsewhere")
		}
		for _, at := range []int{1, 3} {
			y := session(t, set, s)
			if _, err := y.Load(filepath.Join(dir, fmt.Sprint(at))); err != nil {
				t.Fatal(err)
			}
			epochs(t, y, r, at, 4)
			if weights(t, y) != want {
				t.Errorf("streamed %v: continued after epoch %d, the run ends elsewhere", stream, at)
			}
		}
		s.Resolution.High = 32
		z := session(t, set, s)
		if _, err := z.Load(filepath.Join(dir, "3")); err != nil {
			t.Fatal(err)
		}
		if epochs(t, z, r, 3, 4); weights(t, z) == want {
			t.Errorf("streamed %v: 32 pixels give what 64 do", stream)
		}
	}
}

// twinOf is what a row of a plan shows of a picture, computed in float64 from the definitions.
func twinOf(m image.Image, row []int32, side int) []float64 {
	top, left := float64(row[packRow]+row[packTop]), float64(row[packColumn]+row[packLeft])
	height, width := float64(row[packHeight]), float64(row[packWidth])
	b := m.Bounds()
	type sample func(y, x int) float64
	plane := func(at sample, h, w int, top, left, height, width float64) []float64 {
		out := make([]float64, 0, side*side)
		for i := range side {
			for j := range side {
				if row[packFlip] == 1 {
					j = side - 1 - j
				}
				sum := 0.0
				for y := max(0, int(top)-1); y < min(h, int(top+height)+2); y++ {
					down := exactWeight(top, height, side, i, y)
					if down == 0 {
						continue
					}
					for x := max(0, int(left)-1); x < min(w, int(left+width)+2); x++ {
						if across := exactWeight(left, width, side, j, x); across != 0 {
							sum += down * across * at(y, x)
						}
					}
				}
				out = append(out, sum)
			}
		}
		return out
	}
	var luma, blue, red sample
	switch p := m.(type) {
	case *image.YCbCr:
		luma = func(y, x int) float64 { return float64(p.Y[y*p.YStride+x]) }
		blue = func(y, x int) float64 { return float64(p.Cb[y*p.CStride+x]) }
		red = func(y, x int) float64 { return float64(p.Cr[y*p.CStride+x]) }
	case *image.Gray:
		luma = func(y, x int) float64 { return float64(p.Pix[y*p.Stride+x]) }
		blue = func(int, int) float64 { return 128 }
		red = blue
	}
	h, w := b.Dy(), b.Dx()
	ys := plane(luma, h, w, top, left, height, width)
	bs := plane(blue, (h+1)/2, (w+1)/2, top/2, left/2, height/2, width/2)
	rs := plane(red, (h+1)/2, (w+1)/2, top/2, left/2, height/2, width/2)
	var out []float64
	for i, y := range ys {
		cb, cr := bs[i]-128, rs[i]-128
		for _, v := range []float64{y + 1.402*cr, y - 0.344136*cb - 0.714136*cr, y + 1.772*cb} {
			out = append(out, min(max(v, 0), 255))
		}
	}
	return out
}

// The pictures of a step are those that a slow exact twin computes: random crops, and crops of all kinds at the borders
// of pictures; enlarged, shrunk and as they are; flipped and not. Resident ones lie in several blocks.
//
// Tolerance in levels of 255: a pixel has along each axis two weights at the ends of its stretch, or two neighbours,
// that are 1.2e-5 off (TestResizeMatrixIsTheExactOne), and others that are right. Two axes make 4 · 1.2e-5 · 255 =
// 0.012 of Y, and of Cb and Cr half of it, as they are at most 128 from 0, times 1.772: 0.023 together. Sums of up to
// 76 products in float32 lose 76 · 2⁻²⁴ · 255, twice: 0.002. Mean and deviation are divided out again: 0.0001.
func TestAStepSeesTheCropsOfThePlan(t *testing.T) {
	defer func(n int) { blockBytes = n }(blockBytes)
	blockBytes = 50_000
	const most = 0.026
	set := packedSet(t)
	reader := set.Pack.NewReader()
	for _, side := range []int{7, 32, 64} {
		for _, stream := range []bool{false, true} {
			s := packedQuick(stream)
			s.Resolution = Resolution{Low: side, High: side, Test: side}
			x := session(t, set, s)
			p := x.feed.(packed)
			plan := p.draw(96, 5, 1)
			rng := rand.New(rand.NewPCG(1, uint64(side)))
			for k := range 96 { // the corners of pictures, and crops of a few pixels
				i := int32(rng.IntN(96))
				e := set.Train.Packed[i]
				h, w := int(e.Height), int(e.Width)
				ch := min(h, w)
				cw := ch
				switch k % 3 {
				case 1:
					ch, cw = 1+rng.IntN(3), 1+rng.IntN(3)
				case 2:
					cw = min(w, ch*4/3)
				}
				top, left := 0, 0
				if k%2 == 1 {
					top = h - ch
				}
				if k/2%2 == 1 {
					left = w - cw
				}
				plan = p.window.appendRow(plan, int(i), e, int32(top), int32(left), int32(ch), int32(cw), int32(k%2))
			}
			exec, err := model.NewExec(x.engine.Backend, x.store, func(_ *model.Scope, in []*Node) (*Node, *Node) {
				if stream {
					return x.feed.batch(in[0], in[1], side)
				}
				return x.feed.batch(in[0], nil, side)
			})
			if err != nil {
				t.Fatal(err)
			}
			const b = 16
			from := x.feed.stream(plan, b)
			worst := 0.0
			for k := 0; k < len(plan); k += b * packFields {
				rows := plan[k : k+b*packFields]
				in, err := from.next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				args := []any{tensors.FromFlatDataAndDimensions(rows, b, packFields)}
				if stream {
					args = append(args, in.slots)
				}
				out, err := exec.Call(args...)
				if err != nil {
					t.Fatal(err)
				}
				pixels, labels := tensors.MustCopyFlatData[float32](out[0]), tensors.MustCopyFlatData[int32](out[1])
				for i := range b {
					row := rows[i*packFields : (i+1)*packFields]
					e := set.Train.Packed[row[packExample]]
					m, err := reader.Picture(e)
					if err != nil {
						t.Fatal(err)
					}
					if labels[i] != int32(e.Label) {
						t.Errorf("row %v: label %d, want %d", row, labels[i], e.Label)
					}
					want := twinOf(m, row, side)
					for j, w := range want {
						got := float64(pixels[i*len(want)+j])*float64(set.Deviation[j%3]) + float64(set.Mean[j%3])
						worst = max(worst, math.Abs(got-w))
						if !(math.Abs(got-w) <= most) {
							t.Fatalf("streamed %v, side %d, row %v of a picture of %d×%d: value %d is %v, want %v", stream, side, row,
								e.Height, e.Width, j, got, w)
						}
					}
				}
			}
			from.close()
			t.Logf("streamed %v, side %d: at most %.4f levels from the twin", stream, side, worst)
			if !stream {
				if blocks := x.store.GetVariable(trainImages + blocksVar).Shape().Dimensions[0]; blocks < 3 {
					t.Errorf("%d blocks: this test needs several", blocks)
				}
			}
			x.Close()
		}
	}
}

// A test sees the central square of each picture, in order, and the last batch is full.
func TestTestsSeeEveryPictureInOrder(t *testing.T) {
	set := packedSet(t)
	for _, stream := range []bool{false, true} {
		x := session(t, set, packedQuick(stream))
		s := x.feed.scan(testPart, nil, 10)
		var seen []int32
		for range 3 {
			in, err := s.next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rows := tensors.MustCopyFlatData[int32](in.where)
			for i := 0; i < len(rows); i += packFields {
				row := rows[i : i+packFields]
				top, left, height, width := centralCrop(set.Test.Packed[row[packExample]])
				if row[packRow]+row[packTop] != top || row[packColumn]+row[packLeft] != left || row[packHeight] != height ||
					row[packWidth] != width || row[packFlip] != 0 {
					t.Errorf("row %v", row)
				}
				seen = append(seen, row[packExample])
			}
			if (in.slots != nil) != stream {
				t.Errorf("streamed %v: slots %v", stream, in.slots)
			}
		}
		s.close()
		var want []int32
		for _, first := range []int32{0, 10, 14} {
			for i := range int32(10) {
				want = append(want, first+i)
			}
		}
		if !slices.Equal(seen, want) {
			t.Errorf("streamed %v: %v", stream, seen)
		}
	}
}

// The small network learns to tell classes of different colours, and the networks of the ImageNet recipes train.
func TestNetworksTrainOnAPack(t *testing.T) {
	set := packedSet(t)
	x := session(t, set, packedQuick(true))
	r := quickRun(x, 2)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	first := epochs(t, x, r, 0, 1)
	last := epochs(t, x, r, 1, 4)
	score, err := x.Evaluate(t.Context(), false)
	if err != nil || !(last.Loss < first.Loss-0.3) || score.Accuracy < 0.8 { // guessing has 1/3
		t.Errorf("loss %v to %v, test accuracy %v, %v", first.Loss, last.Loss, score.Accuracy, err)
	}
	if first.Limit == "" || !(first.Waited >= 0 && first.Waited <= 1) || first.Side != 32 {
		t.Errorf("%+v", first)
	}
	// One step: the others of the epoch are cancelled.
	for k, name := range []string{"resnet18-imagenet", "resnet50-imagenet", "mobilenetv2-imagenet"} {
		net, err := nets.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		s := packedQuick(k%2 == 0)
		s.Net, s.Batch, s.Resolution = net, 2, Resolution{Low: 32, High: 32, Test: 32}
		x := session(t, set, s)
		r := quickRun(x, 2)
		r.LR = 0.01
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err = x.Train(ctx, r, 0, func(int) { cancel() })
		cancel()
		loss, bad := x.scalar(lossVar)
		if !errors.Is(err, context.Canceled) || bad != nil || !(loss > 0 && finite(loss)) {
			t.Errorf("%s: loss %v, %v, %v", name, loss, bad, err)
		}
		x.Close()
	}
}

// A file that is cut or damaged while a network trains on it ends the epoch, or the evaluation, with an error that
// names the file, and the picture if it is there.
func TestAPackThatIsDamagedInTrainingEndsTheEpoch(t *testing.T) {
	whole, err := os.ReadFile(packFile(t, images.FormatJPEG))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		harm  func(path string, p *images.Pack) error
		words []string
	}{
		"cut": {func(path string, _ *images.Pack) error { return os.Truncate(path, 4100) }, []string{"shorter"}},
		"damaged": {func(path string, p *images.Pack) error {
			b := bytes.Clone(whole)
			for _, e := range slices.Concat(p.Train, p.Test) {
				b[e.Offset+int64(e.Length)/2] ^= 1
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt(b, 0)
			return errors.Join(err, f.Close())
		}, []string{"checksum", ".jpg"}},
	} {
		path := filepath.Join(t.TempDir(), "set.pack")
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
		set := openPacked(t, path)
		x := session(t, set, packedQuick(true))
		r := quickRun(x, 2)
		r.Epochs = 1000
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		epochs(t, x, r, 0, 1)
		before := runtime.NumGoroutine()
		steps := 0
		_, err := x.Train(t.Context(), r, 1, func(k int) {
			if steps = k; k == 1 {
				if err := c.harm(path, set.Pack); err != nil {
					t.Error(err)
				}
			}
		})
		if err == nil { // all batches were read before it was harmed
			_, err = x.Train(t.Context(), r, 2, func(int) {})
		}
		says := func(err error) bool {
			ok := err != nil && strings.Contains(err.Error(), path)
			for _, w := range c.words {
				ok = ok && strings.Contains(err.Error(), w)
			}
			return ok
		}
		if !says(err) {
			t.Errorf("%s after %d steps: %v", what, steps, err)
		}
		if _, err := x.Evaluate(t.Context(), false); !says(err) {
			t.Errorf("%s, in an evaluation: %v", what, err)
		}
		noneLeft(t, before)
		if _, err := New(x.engine, set, func() Settings {
			s := packedQuick(false)
			s.Optimizer = optim.Mirror().Schedule(optim.Triangular(1, 0))
			return s
		}()); !says(err) {
			t.Errorf("%s, put on the engine: %v", what, err)
		}
		if err := os.WriteFile(path, whole, 0o666); err != nil { // and the session still works
			t.Fatal(err)
		}
		epochs(t, x, r, 3, 4)
	}
}

// A context that ends stops an epoch before its next step, an evaluation, and a stream that nobody reads.
func TestAnInterruptEndsAStream(t *testing.T) {
	set := packedSet(t)
	x := session(t, set, packedQuick(true))
	r := quickRun(x, 2)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for _, at := range []int{1, 3, 6} {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		_, err := x.Train(ctx, r, 0, func(k int) {
			if steps = k; k == at {
				cancel()
			}
		})
		if cancel(); at < x.PerEpoch && (!errors.Is(err, context.Canceled) || steps != at) {
			t.Errorf("%d steps, %v", steps, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Evaluate(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("an evaluation: %v", err)
	}
	if err := x.next.drop(); err != nil { // the stream of the next epoch has all buffers
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	s := x.feed.stream(x.feed.draw(96, 1, 1), 2)
	if _, err := s.next(ctx); err != nil {
		t.Error(err)
	}
	cancel()
	for k := 0; ; k++ {
		if _, err := s.next(ctx); errors.Is(err, context.Canceled) {
			break
		} else if err != nil || k > slotsAhead {
			t.Fatalf("batch %d after the end: %v", k, err)
		}
	}
	s.close()
	s = x.feed.stream(x.feed.draw(96, 1, 1), 2)
	s.close()
	noneLeft(t, before)
	if e := epochs(t, x, r, 0, 1); !finite(e.Loss) { // the session serves the next run
		t.Errorf("%+v", e)
	}
}

// The room that a packed set is said to need on the engine is what loading it takes.
func TestResidentBytesAreWhatIsPutOnTheEngine(t *testing.T) {
	defer func(n int) { blockBytes = n }(blockBytes)
	set := packedSet(t)
	for _, n := range []int{blockBytes, 50_000} {
		blockBytes = n
		x := session(t, set, packedQuick(false))
		sum := int64(0)
		for _, path := range []string{trainImages, testImages} {
			for _, name := range []string{blocksVar, placesVar} {
				sum += int64(x.store.GetVariable(path + name).Shape().ByteSize())
			}
		}
		if got := ResidentBytes(set); got != sum {
			t.Errorf("blocks of %d: %d bytes are put on the engine, %d foretold", n, sum, got)
		}
		if y := session(t, set, packedQuick(true)); y.store.GetVariable(trainImages+blocksVar) != nil {
			t.Error("streamed pictures are on the engine, too")
		}
	}
}

func TestAPackNeedsAResolution(t *testing.T) {
	set := packedSet(t)
	e, err := engine.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Resolution{{}, {Low: 32, High: 16, Test: 32}, {Low: 32, High: 32}, {Low: 20, High: 64, Test: 64}} {
		s := packedQuick(false)
		s.Resolution, s.Optimizer = r, optim.Mirror()
		if _, err := New(e, set, s); err == nil || !strings.Contains(err.Error(), "resolution") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
