package images

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// PackSettings say how a packed file stores pictures.
type PackSettings struct {
	Size     int     // of the side that Side names; larger pictures are shrunk to it
	Side     string  // LongSide or ShortSide
	Format   string  // one of PackFormats
	Quality  int     // of JPEG
	RawShare float64 // of a mix: this share of the pictures, evenly spread, is raw
}

// The formats of a packed file.
const (
	FormatJPEG = "jpeg"
	FormatRaw  = "raw"
	FormatMix  = "mix"
)

// PackFormats lists them.
var PackFormats = []string{FormatJPEG, FormatRaw, FormatMix}

// Check returns the first thing wrong with the settings.
func (s PackSettings) Check() error {
	switch {
	case s.Size < 8 || s.Size > packMostSide:
		return fmt.Errorf("size %d: want 8 to %d pixels", s.Size, packMostSide)
	case s.Side != LongSide && s.Side != ShortSide:
		return fmt.Errorf("side %q: want %s or %s", s.Side, ShortSide, LongSide)
	case !slices.Contains(PackFormats, s.Format):
		return fmt.Errorf("format %q: want one of %v", s.Format, PackFormats)
	case s.Quality < 1 || s.Quality > 100:
		return fmt.Errorf("quality %d: want 1 to 100", s.Quality)
	case !(s.RawShare >= 0 && s.RawShare <= 1):
		return fmt.Errorf("raw share %v: want 0 to 1", s.RawShare)
	}
	return nil
}

// raw reports whether item i of all is stored raw.
func (s PackSettings) raw(i int) bool {
	switch s.Format {
	case FormatRaw:
		return true
	case FormatMix:
		return math.Floor(float64(i+1)*s.RawShare) > math.Floor(float64(i)*s.RawShare)
	}
	return false
}

// Packer writes a packed file. What it writes can be interrupted at any time: the same packer continues.
type Packer struct {
	src      *Source
	out      string
	settings PackSettings
	items    []SourcePicture // training pictures, then test pictures
}

// NewPacker prepares to pack a source into a file. Nothing is written yet.
func NewPacker(src *Source, out string, s PackSettings) (*Packer, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if len(src.Classes) < 2 || len(src.Classes) > packMostClasses || len(src.Train) == 0 || len(src.Test) == 0 {
		return nil, fail(src.Name, "%d training and %d test pictures of %d classes: want some of each and 2 to %d classes",
			len(src.Train), len(src.Test), len(src.Classes), packMostClasses)
	}
	return &Packer{src: src, out: out, settings: s, items: slices.Concat(src.Train, src.Test)}, nil
}

// fingerprint names what is written: another source or other settings have another one.
func (p *Packer) fingerprint() string {
	h := sha256.Sum256(fmt.Appendf(nil, "%d %s %+v", packVersion, p.src.Hash, p.settings))
	return fmt.Sprintf("%x", h[:16])
}

// PackEstimate is what a packed file will be.
type PackEstimate struct {
	Pictures int
	Bytes    int64   // of the file, from a sample
	Seconds  float64 // of all cores, from the sample
	Sampled  int
	Done     int // pictures that an interrupted packing has written already
}

// sampled is how many pictures an estimate packs.
const sampled = 128

// Estimate packs some pictures into memory and returns what all of them will take.
func (p *Packer) Estimate(ctx context.Context) (PackEstimate, error) {
	n := len(p.items)
	e := PackEstimate{Pictures: n, Sampled: min(n, sampled)}
	var next, total, packed atomic.Int64
	begin := time.Now()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			w := newWorker(p)
			for ctx.Err() == nil {
				k := int(next.Add(1)) - 1
				if k >= e.Sampled {
					return
				}
				if r := w.pack(int(int64(k) * int64(n) / int64(e.Sampled))); r.why == "" && r.err == nil {
					total.Add(int64(len(r.bytes)))
					packed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return e, err
	}
	if packed.Load() > 0 {
		each := float64(total.Load())/float64(packed.Load()) + packRecordBytes + 4
		for _, item := range p.items {
			each += float64(len(item.Name)) / float64(n)
		}
		e.Bytes = packHeaderBytes + int64(each*float64(n))
	}
	e.Seconds = time.Since(begin).Seconds() / float64(e.Sampled) * float64(n)
	if at, err := p.journal(); err == nil {
		e.Done = at.Next
		e.Seconds *= float64(n-at.Next) / float64(n)
	}
	return e, nil
}

// packedPicture is a picture as it is stored.
type packedPicture struct {
	entry PackEntry // without its place
	bytes []byte
	sums  colourSums
	found found
	done  fate
	why   string // it cannot be packed
	err   error  // it could not be read
}

// fate is what was done with a picture.
type fate uint8

const (
	fateStored  fate = 1 << iota // the source's JPEG data as they are
	fateShrunk                   // resized
	fateEncoded                  // encoded as JPEG
	fateRaw
)

var fates = []struct {
	fate
	name string
}{{fateStored, "kept as they were"}, {fateShrunk, "shrunk"}, {fateEncoded, "encoded as JPEG"}, {fateRaw, "stored raw"}}

// worker packs pictures one at a time, in buffers of its own.
type worker struct {
	*Packer
	decoder  sourceDecoder
	shrinker shrinker
	file     []byte
	pixels   []byte
	encoder  encoder
}

func newWorker(p *Packer) *worker { return &worker{Packer: p} }

// large pictures are decoded one at a time: a few of them could take all memory.
var large sync.Mutex

const largePixels = 1 << 24

// pack reads, decodes, shrinks and encodes item i. The result's bytes are valid until the next call.
func (w *worker) pack(i int) (r packedPicture) {
	defer func() {
		if bad := recover(); bad != nil {
			r = packedPicture{why: fmt.Sprintf("the decoder failed: %v", bad)}
		}
	}()
	item := w.items[i]
	b, err := w.src.Read(item, w.file)
	if err != nil {
		return packedPicture{err: fail(w.src.Name, "cannot read %s: %s. When the source is as it was, the same command "+
			"continues", plain(item.Name), cause(err))}
	}
	w.file = b[:cap(b)]
	h, err := w.decoder.look(item.Name, b)
	if err != nil {
		return packedPicture{why: cause(err)}
	}
	dh, dw := fitted(h.Height, h.Width, w.settings.Size, w.settings.Side)
	if max(dh, dw) > packMostSide {
		return packedPicture{why: fmt.Sprintf("%d×%d pixels: a side is longer than %d", h.Width, h.Height, packMostSide)}
	}
	if h.Height*h.Width > largePixels {
		large.Lock()
		defer large.Unlock()
	}
	p, err := w.decoder.planes(h, b)
	if err != nil {
		return packedPicture{why: cause(err)}
	}
	r.found = h.Found
	r.entry = PackEntry{Height: uint16(dh), Width: uint16(dw), Label: item.Label}
	if need := rawBytes(dh, dw); cap(w.pixels) < need {
		w.pixels = make([]byte, need)
	}
	w.pixels = w.pixels[:rawBytes(dh, dw)]
	small := w.shrinker.shrink(w.pixels, p, dh, dw)
	r.sums.add(small)
	same := dh == h.Height && dw == h.Width
	if !same {
		r.done |= fateShrunk
	}
	switch {
	case w.settings.raw(i):
		if small.cb == nil {
			for j := dh * dw; j < len(w.pixels); j++ {
				w.pixels[j] = 128
			}
		}
		r.entry.Kind, r.bytes, r.done = PackRaw, w.pixels, r.done|fateRaw
	case same && h.stored:
		r.entry.Kind, r.bytes, r.done = PackJPEG, stripped(b), r.done|fateStored
	default:
		r.entry.Kind, r.bytes, r.done = PackJPEG, w.encoder.encode(small, w.settings.Quality), r.done|fateEncoded
	}
	r.entry.Length, r.entry.Sum = uint32(len(r.bytes)), crc32.Checksum(r.bytes, castagnoli)
	return r
}

// image is a 4:2:0 or grey picture for the standard library.
func (p planes) image() image.Image {
	size := image.Rect(0, 0, p.w, p.h)
	if p.cb == nil {
		return &image.Gray{Pix: p.y, Stride: p.ys, Rect: size}
	}
	return &image.YCbCr{Y: p.y, Cb: p.cb, Cr: p.cr, YStride: p.ys, CStride: p.cs,
		SubsampleRatio: image.YCbCrSubsampleRatio420, Rect: size}
}

// PackReport is what became of a source.
type PackReport struct {
	*Pack          // open
	Complete  bool // it was complete already
	Problems  []SourceProblem
	List      string // the file that lists them all; "" without problems
	Continued int    // pictures that an earlier, interrupted packing had written
	Seconds   float64
	Checking  float64 // seconds of it in which the file was read again
}

// PackProgress is called now and then: stage "packing" or "checking", with the pictures done of all.
type PackProgress func(stage string, done, total int)

// Write packs. On an error or when ctx ends, what is done stays in files beside the output, and the next call continues
// there. Pictures that cannot be packed do not stop it: the report has them.
func (p *Packer) Write(ctx context.Context, progress PackProgress) (*PackReport, error) {
	begin := time.Now()
	if done, err := p.Done(); done != nil || err != nil {
		return done, err
	}
	w, err := p.open()
	if err != nil {
		return nil, err
	}
	defer w.close()
	r := &PackReport{Continued: w.at.Next}
	if err := w.pictures(ctx, progress); err != nil {
		return nil, err
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	checking := time.Now()
	if err := checkPack(ctx, w.part, func(done, total int) { progress("checking", done, total) }); err != nil {
		if ctx.Err() != nil {
			return nil, fail(p.out, "stopped while the file was checked: the same command continues there")
		}
		return nil, fail(w.part, "damaged after it was written (%s): delete it and %s, then give the same command",
			cause(err), w.log)
	}
	r.Checking = time.Since(checking).Seconds()
	if r.Problems = w.problems(); len(r.Problems) == 0 {
		dropProblems(p.list())
	} else {
		r.List = p.list()
		if err := writeProblems(r.List, r.Problems); err != nil {
			return nil, err
		}
	}
	if err := w.publish(); err != nil {
		return nil, err
	}
	r.Seconds = time.Since(begin).Seconds()
	r.Pack, err = OpenPack(p.out)
	return r, err
}

// Done returns the report of the output if it is there already, and nil if it is not. Another file of its name is an
// error.
func (p *Packer) Done() (*PackReport, error) {
	st, err := os.Lstat(p.out)
	switch {
	case err != nil:
		return nil, nil
	case !st.Mode().IsRegular():
		return nil, fail(p.out, "not a regular file: name another file with --out")
	}
	if IsPack(p.out) {
		old, err := OpenPack(p.out)
		if err == nil && old.Fingerprint == p.fingerprint() {
			_, log := p.paths()
			_ = os.Remove(log) // there is one if a kill came just after the file got its name
			r := &PackReport{Pack: old, Complete: true}
			if old.PackInfo.Problems > 0 {
				r.List = p.list()
			}
			return r, nil
		}
		if err == nil {
			old.Close()
		}
	}
	return nil, fail(p.out, "there is a file of this name already, of another source or other settings: delete it, or "+
		"name another file with --out")
}

// checkPack reads every picture of a packed file, on all cores.
func checkPack(ctx context.Context, path string, progress func(done, total int)) error {
	p, err := OpenPack(path)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Verify(ctx, progress)
}

// Verify reads and decodes every picture and checks all checksums, on all cores. It returns the first error.
func (p *Pack) Verify(ctx context.Context, progress func(done, total int)) error {
	if _, err := p.part(p.header.Names, "list of names"); err != nil {
		return err
	}
	n := len(p.Train) + len(p.Test)
	entry := func(i int) PackEntry {
		if i < len(p.Train) {
			return p.Train[i]
		}
		return p.Test[i-len(p.Train)]
	}
	var next, done atomic.Int64
	errs := make(chan error, runtime.GOMAXPROCS(0))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for range cap(errs) {
		wg.Go(func() {
			r := p.NewReader()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if _, err := r.planes(entry(i), entry(i).rect()); err != nil {
					errs <- err
					cancel()
					return
				}
				done.Add(1)
			}
		})
	}
	finished := make(chan struct{})
	go func() { wg.Wait(); close(finished) }()
	tick := time.NewTicker(progressTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			progress(int(done.Load()), n)
			continue
		case <-finished:
		}
		break
	}
	select {
	case err := <-errs:
		return err
	default:
	}
	progress(int(done.Load()), n)
	return ctx.Err()
}

// errStopped says how to continue.
func errStopped(out string, done, total int) error {
	return fail(out, "stopped after %d of %d pictures: the same command continues there", done, total)
}

// errNoRoom says so if the disk is full.
func errNoRoom(path string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{path, "cannot write: " + cause(err) + ": make room, then the same command continues", err}
}
