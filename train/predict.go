package train

import (
	"context"
	"fmt"
	"image"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/nets"
)

// TestAnswers are what a network answers to the test images, in their order.
type TestAnswers struct {
	Class       []int
	Probability []float64 // that the network gives to its answer
}

// Predictor is a trained network that answers to pictures. On the same engine and with the same precision it answers to
// the test images of its run as the run did.
type Predictor struct {
	x     *Session
	exec  *model.Exec
	batch int
}

// PredictorSettings are those of a predictor.
type PredictorSettings struct {
	Net         nets.Net
	Precision   string // bf16 or float32
	Preparation Preparation
	Pictures    int // how many there will be: a batch has no more
	// Largest is the longest side of the crops of a packed set's network that Read will give; 0: those of its own set.
	Largest int
}

// NewPredictor compiles the network and gives it the weights.
func NewPredictor(e *engine.Engine, weights *Init, s PredictorSettings) (*Predictor, error) {
	prep := s.Preparation
	if err := prep.Check(); err != nil {
		return nil, err
	}
	x := &Session{engine: e, net: s.Net, store: model.NewStore(), set: &images.Set{Height: prep.Height,
		Width: prep.Width, Channels: prep.Channels, Classes: prep.Classes, Mean: prep.Mean, Deviation: prep.Deviation}}
	switch s.Precision {
	case "bf16":
		x.dtype = dtypes.BFloat16
	case "float32":
		x.dtype = dtypes.Float32
	default:
		return nil, fmt.Errorf("precision %q: choose bf16 or float32", s.Precision)
	}
	p := &Predictor{x: x, batch: max(1, min(evalBatch(e.Name), s.Pictures))}
	if c := prep.Packed; c != nil {
		w := window{c.Window[0], c.Window[1]}
		if room := (s.Largest + 2) &^ 1; s.Largest > 0 { // one pixel more for crops that begin at odd places
			w = window{max(w.height, room), max(w.width, room)}
		}
		x.feed, x.settings.Resolution.Test = packed{Session: x, window: w}, c.Resolution
	}
	err := engine.Try(func() error { return p.compile(weights) })
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// compile compiles the graph for a batch and sets the weights.
func (p *Predictor) compile(weights *Init) error {
	var err error
	classes := len(p.x.set.Classes)
	answer := func(scope *model.Scope, pictures *Node) *Node {
		return ConvertDType(p.x.net.Logits(scope.In(modelScope), pictures, classes, false), dtypes.Float32)
	}
	inputs := []shapes.Shape{shapes.Make(dtypes.Uint8, p.batch, p.x.set.Height, p.x.set.Width, p.x.set.Channels)}
	if p.x.feed == nil {
		p.exec, err = model.NewExec(p.x.engine.Backend, p.x.store, func(scope *model.Scope, pixels *Node) *Node {
			return answer(scope, p.x.normalized(pixels))
		})
	} else {
		inputs = []shapes.Shape{shapes.Make(dtypes.Int32, p.batch, packFields),
			shapes.Make(dtypes.Uint8, p.batch, p.x.feed.slot())}
		p.exec, err = model.NewExec(p.x.engine.Backend, p.x.store, func(scope *model.Scope, rows, slots *Node) *Node {
			return answer(scope, p.x.feed.inOrder(testPart, rows, slots, p.batch, p.x.settings.Resolution.Test))
		})
	}
	if err != nil {
		return err
	}
	if err := p.x.engine.Compile(func() error { _, err := p.exec.Compile(inputs...); return err }); err != nil {
		return err
	}
	return p.x.setInitBut(weights, "")
}

// Close frees what the predictor holds on the engine.
func (p *Predictor) Close() {
	if p.exec != nil {
		p.exec.Finalize()
	}
	p.x.store.Finalize()
}

// Slot is room for a picture.
type Slot struct {
	// Pixels are those of a picture of one size: row after row, channels last. It is nil if the network's pictures have
	// many sizes: see Crop.
	Pixels []byte

	window window
	planes images.Planes
	row    []int32
}

// Crop takes what the network sees of a picture of many sizes. copyTo copies a part of the picture to a place in dst,
// as images.PackReader.ReadCrop does.
func (s *Slot) Crop(height, width int,
	copyTo func(crop image.Rectangle, dst images.Planes, at image.Point) error) error {
	e := images.PackEntry{Height: uint16(height), Width: uint16(width)}
	top, left, h, w := centralCrop(e)
	s.row = s.window.appendRow(s.row[:0], 0, e, top, left, h, w, 0)
	down, across := int(s.row[packTop]), int(s.row[packLeft])
	if down+int(h) > s.window.height || across+int(w) > s.window.width {
		return fmt.Errorf("%d × %d pixels: the predictor has room for %d × %d", h, w, s.window.height, s.window.width)
	}
	crop := image.Rect(int(left), int(top), int(left+w), int(top+h))
	return copyTo(crop, s.planes, image.Pt(across, down))
}

// Read puts picture i into a slot.
type Read func(i int, to *Slot) error

// Predict answers to pictures 0 to n−1, in order. Each goroutine reads with a function of its own that open returns. An
// error of reading is that of one picture: each gets it, and nil answers; the others are predicted. The answers are
// valid during the call of each. An error of each ends the prediction.
func (p *Predictor) Predict(ctx context.Context, n int, open func() Read,
	each func(i int, logits []float32, unread error) error) error {
	if n == 0 {
		return nil
	}
	if n < p.batch {
		return fmt.Errorf("%d pictures: the predictor was made for %d at least", n, p.batch)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	filled := make(chan *filledBatch, 1)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()
	reader.Go(func() {
		defer close(filled)
		reads := make([]Read, runtime.GOMAXPROCS(0))
		for k := range reads {
			reads[k] = open()
		}
		for first := 0; first < n && ctx.Err() == nil; first += p.batch { // the last batch begins earlier, so that it is full
			select {
			case filled <- p.fill(ctx, reads, first, min(first, n-p.batch)):
			case <-ctx.Done():
			}
		}
	})
	return engine.Try(func() error {
		for b := range filled {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := p.answer(b, min(b.first+p.batch, n), each); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}

// filledBatch is pictures that were read: from begin on, those from first on for the first time.
type filledBatch struct {
	first, begin int
	pixels       []byte
	rows         []int32
	unread       []error
}

// fill reads a batch.
func (p *Predictor) fill(ctx context.Context, reads []Read, first, begin int) *filledBatch {
	b := &filledBatch{first: first, begin: begin, unread: make([]error, p.batch)}
	size, w := p.x.set.Height*p.x.set.Width*p.x.set.Channels, window{}
	if f, ok := p.x.feed.(packed); ok {
		w, size = f.window, f.slot()
		b.rows = make([]int32, p.batch*packFields)
	}
	b.pixels = make([]byte, p.batch*size)
	next := make(chan int, p.batch)
	for i := range p.batch {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for _, read := range reads {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				to := &Slot{Pixels: b.pixels[i*size : (i+1)*size]}
				if b.rows != nil {
					to = &Slot{window: w, planes: images.NewPlanes(to.Pixels, w.height, w.width)}
				}
				b.unread[i] = read(begin+i, to)
				if b.rows != nil {
					row := to.row
					if len(row) == 0 { // of a picture that was not read; its answer does not count
						row = w.appendRow(nil, 0, images.PackEntry{}, 0, 0, 1, 1, 0)
					}
					copy(b.rows[i*packFields:], row)
					b.rows[i*packFields+packExample] = int32(i)
				}
			}
		})
	}
	wg.Wait()
	return b
}

// answer runs a batch and hands over the answers to pictures first to end−1.
func (p *Predictor) answer(b *filledBatch, end int, each func(i int, logits []float32, unread error) error) error {
	s := p.x.set
	var in []any
	if b.rows == nil {
		in = []any{tensors.FromFlatDataAndDimensions(b.pixels, p.batch, s.Height, s.Width, s.Channels)}
	} else {
		in = []any{tensors.FromFlatDataAndDimensions(b.rows, p.batch, packFields),
			tensors.FromFlatDataAndDimensions(b.pixels, p.batch, len(b.pixels)/p.batch)}
	}
	out, err := p.exec.Call(in...)
	if err != nil {
		return err
	}
	logits, err := tensors.CopyFlatData[float32](out[0])
	if err != nil {
		return err
	}
	classes := len(s.Classes)
	for i := b.first; i < end; i++ {
		at := i - b.begin
		row := logits[at*classes : (at+1)*classes]
		if b.unread[at] != nil {
			row = nil
		}
		if err := each(i, row, b.unread[at]); err != nil {
			return err
		}
	}
	for _, t := range in {
		if err := t.(*tensors.Tensor).FinalizeAll(); err != nil {
			return err
		}
	}
	return finalize(out)
}

// Probabilities are softmax of a network's answers, and the places of the largest ones, of equal ones the first first:
// at most top of them.
func Probabilities(logits []float32, top int) (probabilities []float64, order []int) {
	probabilities = make([]float64, len(logits))
	best := topAnswer(logits)
	_, _, scale := exampleLoss(logits, best)
	for k, v := range logits {
		probabilities[k] = math.Exp(float64(v)-float64(logits[best])) * scale
	}
	for len(order) < min(top, len(logits)) {
		next := -1
		for k, v := range logits {
			if !slices.Contains(order, k) && (next < 0 || v > logits[next]) {
				next = k
			}
		}
		order = append(order, next)
	}
	return probabilities, order
}
