package images

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"io"
	"os"
	"time"
)

// Pack is an open packed file of pictures, as `bregman data pack` writes it. It is safe for concurrent use.
type Pack struct {
	PackInfo
	Train, Test []PackEntry // in the order of the file

	path   string
	size   int64
	header packHeader
	file   io.ReaderAt
	close  func() error
}

// IsPack reports whether a file starts as packed files do.
func IsPack(path string) bool {
	info, err := os.Stat(path) // opening a pipe would wait for its writer
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	first := make([]byte, len(packMagic))
	_, err = io.ReadFull(f, first)
	return err == nil && string(first) == packMagic
}

// OpenPack opens a packed file. It reads and checks the header, the index and the information, and that every
// picture lies within the file. The pictures' own checksums are verified when they are read.
func OpenPack(path string) (*Pack, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, failed(path, "read", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, failed(path, "read", err)
	}
	p, err := openPack(f, info.Size(), path)
	if err != nil {
		f.Close()
		return nil, err
	}
	p.close = f.Close
	return p, nil
}

// repack is what to do with a packed file that cannot be used.
func repack(path, why string) *Error {
	return fail(path, "the packed file is damaged (%s): copy it again, or delete it and pack it again", why)
}

func openPack(f io.ReaderAt, size int64, path string) (*Pack, error) {
	p := &Pack{path: path, size: size, file: f, close: func() error { return nil }}
	head := make([]byte, packHeaderBytes)
	if n, err := f.ReadAt(head, 0); n < len(head) {
		if err == io.EOF {
			return nil, repack(path, "it is shorter than its header")
		}
		return nil, failed(path, "read", err)
	}
	if why := p.header.parse(head, size); why != "" {
		return nil, repack(path, why)
	}
	if v := binary.LittleEndian.Uint32(head[8:]); v != packVersion {
		return nil, fail(path, "a packed file of version %d, this program reads version %d: use the program that packed it, "+
			"or pack it again", v, packVersion)
	}
	index, err := p.part(p.header.Index, "index")
	if err != nil {
		return nil, err
	}
	info, err := p.part(p.header.Info, "information")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(info, &p.PackInfo); err != nil {
		return nil, repack(path, "the information is not JSON: "+cause(err))
	}
	if why := p.wrong(); why != "" {
		return nil, repack(path, why)
	}
	p.Hash = hex.EncodeToString(p.header.Hash[:])
	all := make([]PackEntry, len(index)/packRecordBytes)
	for i := range all {
		all[i].get(index[i*packRecordBytes:])
		if why := p.misplaced(all[i]); why != "" {
			return nil, repack(path, fmt.Sprintf("picture %d %s", i, why))
		}
	}
	n := int(p.header.Train)
	p.Train, p.Test = all[:n:n], all[n:]
	if len(p.Train) == 0 || len(p.Test) == 0 {
		return nil, repack(path, "it has no training or no test pictures")
	}
	return p, nil
}

// part reads a part of the file and checks it.
func (p *Pack) part(at packPart, what string) ([]byte, error) {
	b := make([]byte, at.Length)
	if n, err := p.file.ReadAt(b, at.Offset); n < len(b) {
		return nil, p.unread(err)
	}
	if crc32.Checksum(b, castagnoli) != at.Sum {
		return nil, repack(p.path, "the checksum of the "+what+" is wrong")
	}
	return b, nil
}

// misplaced returns what is wrong with an entry, or "".
func (p *Pack) misplaced(e PackEntry) string {
	end := p.header.Index.Offset
	switch {
	case e.Offset < packHeaderBytes || e.Offset > end || int64(e.Length) > end-e.Offset:
		return "lies outside the file"
	case e.Height == 0 || e.Width == 0 || int(e.Height) > p.Height || int(e.Width) > p.Width:
		return "is larger than the file says"
	case int(e.Label) >= len(p.Classes):
		return "has a label that is not a class"
	case e.Kind != PackRaw && e.Kind != PackJPEG:
		return "is of an unknown kind"
	case e.Kind == PackRaw && int(e.Length) != rawBytes(int(e.Height), int(e.Width)):
		return "has another length than its size needs"
	}
	return ""
}

// unread says why bytes that the header promised could not be read.
func (p *Pack) unread(err error) error {
	if err == io.EOF {
		return repack(p.path, "it became shorter while it was open")
	}
	return failed(p.path, "read", err)
}

// Close closes the file. Readers can no longer be used.
func (p *Pack) Close() error { return p.close() }

// Path is the name the file was opened by.
func (p *Pack) Path() string { return p.path }

// Bytes is the size of the file.
func (p *Pack) Bytes() int64 { return p.size }

// Slot is the number of bytes that hold the planes of any picture.
func (p *Pack) Slot() int { return p.Height * p.Width * 3 / 2 }

// PictureName is the name that a picture had in the source. It is read from the file.
func (p *Pack) PictureName(train bool, i int) string {
	part, n := "training", len(p.Train)
	at := int64(i)
	if !train {
		part, n = "test", len(p.Test)
		at += int64(len(p.Train))
	}
	number := fmt.Sprintf("%s picture %d", part, i)
	if i < 0 || i >= n {
		return number
	}
	var ends [8]byte
	if _, err := p.file.ReadAt(ends[:], p.header.Names.Offset+4*at); err != nil {
		return number
	}
	letters := int64(4 * (len(p.Train) + len(p.Test) + 1))
	from, to := int64(binary.LittleEndian.Uint32(ends[:])), int64(binary.LittleEndian.Uint32(ends[4:]))
	if from >= to || to-from > 1<<16 || letters+to > p.header.Names.Length {
		return number
	}
	name := make([]byte, to-from)
	if _, err := p.file.ReadAt(name, p.header.Names.Offset+letters+from); err != nil {
		return number
	}
	return string(name)
}

// nameOf finds an entry's name, for errors.
func (p *Pack) nameOf(e PackEntry) string {
	for i := range p.Train {
		if p.Train[i].Offset == e.Offset {
			return p.PictureName(true, i)
		}
	}
	for i := range p.Test {
		if p.Test[i].Offset == e.Offset {
			return p.PictureName(false, i)
		}
	}
	return fmt.Sprintf("the picture at byte %d", e.Offset)
}

// PackReader reads pictures of a packed file. It has buffers that it reuses: one goroutine has one reader.
type PackReader struct {
	p       *Pack
	buf     []byte
	jpeg    jpegInfo
	decoder baseline

	// How the time of Read went so far: reading bytes, and decoding or copying them into slots.
	DiskTime, DecodeTime time.Duration
}

// NewReader returns a reader for one goroutine.
func (p *Pack) NewReader() *PackReader { return &PackReader{p: p} }

// Read decodes a picture into dst, which has Slot() bytes: plane Y of Height × Width, then Cb and Cr of
// Height/2 × Width/2 each, all with the strides of the whole slot. The picture is in the top left corner; a
// picture of odd height or width has (h+1)/2 rows or (w+1)/2 columns of chroma. The rest of dst is left as it is.
// A grey picture has Cb = Cr = 128. Read verifies the checksum of the stored bytes.
func (r *PackReader) Read(e PackEntry, dst []byte) error {
	p := r.p
	if len(dst) < p.Slot() {
		return fail(p.path, "a slot has %d bytes, %d given", p.Slot(), len(dst))
	}
	return r.ReadCrop(e, image.Rect(0, 0, int(e.Width), int(e.Height)), NewPlanes(dst, p.Height, p.Width), image.Point{})
}

// ReadCrop decodes a picture and copies the part of it that crop touches to the place at in dst. All coordinates are
// rounded to even ones, outwards, so that luma and chroma stay together. What lies outside the picture is left as it
// is in dst. It panics if the part does not fit.
func (r *PackReader) ReadCrop(e PackEntry, crop image.Rectangle, dst Planes, at image.Point) error {
	crop = evenly(crop).Intersect(e.rect())
	from, err := r.planes(e, crop)
	if err != nil {
		return err
	}
	begin := time.Now()
	dst.copyFrom(from, crop, image.Pt(at.X&^1, at.Y&^1))
	r.DecodeTime += time.Since(begin)
	return nil
}

// evenly rounds a rectangle to even coordinates, outwards.
func evenly(r image.Rectangle) image.Rectangle {
	return image.Rect(r.Min.X&^1, r.Min.Y&^1, (r.Max.X+1)&^1, (r.Max.Y+1)&^1)
}

func (e PackEntry) rect() image.Rectangle { return image.Rect(0, 0, int(e.Width), int(e.Height)) }

// planes reads a picture and decodes at least the part that crop touches. They are valid until the next call.
func (r *PackReader) planes(e PackEntry, crop image.Rectangle) (planes, error) {
	begin := time.Now()
	b, err := r.stored(e)
	read := time.Now()
	r.DiskTime += read.Sub(begin)
	if err != nil {
		return planes{}, err
	}
	defer func() { r.DecodeTime += time.Since(read) }()
	h, w := int(e.Height), int(e.Width)
	if e.Kind == PackRaw {
		return rawPlanes(b, h, w), nil
	}
	p, err := r.decode(b, crop)
	if err == nil && (p.h != h || p.w != w || !p.half()) {
		err = fmt.Errorf("%d×%d pixels, the index has %d×%d", p.h, p.w, h, w)
	}
	if err != nil {
		return planes{}, repack(r.p.path, fmt.Sprintf("%s: %s", r.p.nameOf(e), cause(err)))
	}
	return p, nil
}

// decode decodes a stored JPEG: one that the packer wrote, or else any of YCbCr. A decoder's panic is an error.
func (r *PackReader) decode(b []byte, crop image.Rectangle) (p planes, err error) {
	defer func() {
		if bad := recover(); bad != nil {
			err = fmt.Errorf("the decoder failed: %v", bad)
		}
	}()
	if err := r.jpeg.parse(b); err == nil && r.jpeg.simple() {
		return r.decoder.decode(&r.jpeg, b, crop)
	}
	img, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		return planes{}, err
	}
	p, ok := planesOf(img)
	if !ok {
		return planes{}, errors.New("not a picture of luma and chroma")
	}
	return p, nil
}

// stored reads the bytes of a picture and verifies their checksum. They are valid until the next call.
func (r *PackReader) stored(e PackEntry) ([]byte, error) {
	p := r.p
	if why := p.misplaced(e); why != "" {
		return nil, fail(p.path, "the picture asked for %s: take entries from this file's Train and Test", why)
	}
	if cap(r.buf) < int(e.Length) {
		r.buf = make([]byte, int(e.Length)*5/4)
	}
	b := r.buf[:e.Length]
	if n, err := p.file.ReadAt(b, e.Offset); n < len(b) {
		return nil, p.unread(err)
	}
	if crc32.Checksum(b, castagnoli) != e.Sum {
		return nil, repack(p.path, "the checksum of "+p.nameOf(e)+" is wrong")
	}
	return b, nil
}

// planes are Y, Cb and Cr of a picture of h×w pixels. Chroma has one sample for sx×sy pixels.
type planes struct {
	y, cb, cr []byte // cb and cr are nil for grey
	ys, cs    int    // strides
	h, w      int
	sx, sy    int
}

// half reports whether chroma is what slots have: 4:2:0, or grey.
func (p planes) half() bool { return p.cb == nil || p.sx == 2 && p.sy == 2 }

func rawPlanes(b []byte, h, w int) planes {
	ch, cw := (h+1)/2, (w+1)/2
	return planes{y: b[:h*w], cb: b[h*w : h*w+ch*cw], cr: b[h*w+ch*cw : h*w+2*ch*cw], ys: w, cs: cw, h: h, w: w,
		sx: 2, sy: 2}
}

// Planes is room for pictures in YCbCr 4:2:0. Y has Height × Width bytes, Cb and Cr a quarter of that each; both sides
// are even.
type Planes struct {
	Y, Cb, Cr     []byte
	Height, Width int
}

// NewPlanes divides height·width·3/2 bytes into planes one after the other.
func NewPlanes(b []byte, height, width int) Planes {
	luma, chroma := height*width, height/2*(width/2)
	return Planes{b[:luma], b[luma : luma+chroma], b[luma+chroma : luma+2*chroma], height, width}
}

// copyFrom copies a crop of a 4:2:0 or grey picture. It begins at even places in both.
func (p Planes) copyFrom(q planes, crop image.Rectangle, at image.Point) {
	n := crop.Dx()
	for i := range crop.Dy() {
		from := (crop.Min.Y+i)*q.ys + crop.Min.X
		to := (at.Y+i)*p.Width + at.X
		copy(p.Y[to:to+n], q.y[from:from+n])
	}
	n = (n + 1) / 2
	for i := range (crop.Dy() + 1) / 2 {
		to := (at.Y/2+i)*(p.Width/2) + at.X/2
		cb, cr := p.Cb[to:to+n], p.Cr[to:to+n]
		if q.cb == nil {
			for j := range cb {
				cb[j], cr[j] = 128, 128
			}
			continue
		}
		from := (crop.Min.Y/2+i)*q.cs + crop.Min.X/2
		copy(cb, q.cb[from:from+n])
		copy(cr, q.cr[from:from+n])
	}
}

// planesOf are the planes of a picture that is YCbCr or grey. It reports whether it is.
func planesOf(img image.Image) (planes, bool) {
	switch m := img.(type) {
	case *image.Gray:
		r := m.Rect
		return planes{y: m.Pix, ys: m.Stride, h: r.Dy(), w: r.Dx(), sx: 1, sy: 1}, true
	case *image.YCbCr:
		r := m.Rect
		p := planes{y: m.Y, cb: m.Cb, cr: m.Cr, ys: m.YStride, cs: m.CStride, h: r.Dy(), w: r.Dx()}
		switch m.SubsampleRatio {
		case image.YCbCrSubsampleRatio444:
			p.sx, p.sy = 1, 1
		case image.YCbCrSubsampleRatio422:
			p.sx, p.sy = 2, 1
		case image.YCbCrSubsampleRatio420:
			p.sx, p.sy = 2, 2
		case image.YCbCrSubsampleRatio440:
			p.sx, p.sy = 1, 2
		case image.YCbCrSubsampleRatio411:
			p.sx, p.sy = 4, 1
		case image.YCbCrSubsampleRatio410:
			p.sx, p.sy = 4, 2
		default:
			return planes{}, false
		}
		return p, true
	}
	return planes{}, false
}
