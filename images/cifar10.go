package images

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
)

// Sizes of CIFAR-10. A record of its binary files is a label and then the red, green and blue planes.
const (
	cifarSide   = 32
	cifarPlane  = cifarSide * cifarSide
	cifarPixels = 3 * cifarPlane
	cifarRecord = 1 + cifarPixels
)

// cifar says what the files of CIFAR-10 are called and how they are known to be whole. It is a value so that
// tests can have a smaller one.
type cifar struct {
	batch    int // images in each of the six files
	files    [6]string
	md5      [6]string
	official archive
	npm      archive
}

// archive is a file that all batches can be unpacked from.
type archive struct {
	name string
	kind string // of checksum
	new  func() hash.Hash
	sum  string
}

var cifar10 = &cifar{
	batch: 10000,
	files: [6]string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin",
		"test_batch.bin"},
	md5: [6]string{
		"5dd7e06a14cb22eb9f671a540d1b7c25", "5ea93a67294ea407fff1d09f752e9692", "942cd6a4bcdd0dd3c604fbe906cb4421",
		"ae636b3ba5c66a11e91e8cb52e771fcb", "53f37980c15c3d472c316c40844f3f0d", "803d5f7f4d78ea53de84dbe85f74fb6d",
	},
	official: archive{"cifar-10-binary.tar.gz", "md5", md5.New, "c32a1d4ab5d03f1284b67883e8d87530"},
	npm: archive{npmArchive, "sha256", sha256.New,
		"141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"},
}

// set is an empty set with room for all images, which are then read straight into their places.
func (c *cifar) set() *Set {
	room := func(n int) Split { return Split{Images: make([]byte, n*cifarPixels), Labels: make([]uint8, n)} }
	return &Set{
		Name: "cifar10", Height: cifarSide, Width: cifarSide, Channels: 3,
		Classes: []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
		Train:   room(5 * c.batch), Test: room(c.batch),
		// The values that most published recipes use, not exactly those of the training images: the deviation
		// is the mean over images of the deviation within one.
		Mean:      []float32{125.307, 122.961, 113.8575},
		Deviation: []float32{51.5865, 50.847, 51.255},
	}
}

// part is the place of the k-th file's images in a set.
func (c *cifar) part(s *Set, k int) Split {
	if k == 5 {
		return s.Test
	}
	i, j := k*c.batch, (k+1)*c.batch
	return Split{Images: s.Train.Images[i*cifarPixels : j*cifarPixels], Labels: s.Train.Labels[i:j]}
}

// folders are the places where the files may be, the one that get fills first.
func (c *cifar) folders(dir string) []string {
	const inArchive = "cifar-10-batches-bin" // the folder's name in the official archive
	home := filepath.Join(dir, "cifar10")
	return []string{home, filepath.Join(home, inArchive), filepath.Join(dir, inArchive), dir}
}

// bins is the folder that has the six files, or is empty.
func (c *cifar) bins(dir string) string {
	for _, d := range c.folders(dir) {
		n := 0
		for _, f := range c.files {
			if isFile(filepath.Join(d, f)) {
				n++
			}
		}
		if n == len(c.files) {
			return d
		}
	}
	return ""
}

// packed is the path of an archive, or is empty.
func (c *cifar) packed(dir string, a archive) string {
	for _, d := range c.folders(dir) {
		if p := filepath.Join(d, a.name); isFile(p) {
			return p
		}
	}
	return ""
}

func (c *cifar) find(dir string) (string, bool) {
	for _, p := range []string{c.bins(dir), c.packed(dir, c.official), c.packed(dir, c.npm)} {
		if p != "" {
			return p, true
		}
	}
	return c.folders(dir)[0], false
}

func (c *cifar) load(dir string) (*Set, error) {
	ctx := context.Background()
	if d := c.bins(dir); d != "" {
		return c.readBins(ctx, d)
	}
	if p := c.packed(dir, c.official); p != "" {
		return c.readOfficial(ctx, p)
	}
	if p := c.packed(dir, c.npm); p != "" {
		return c.readNPM(ctx, p)
	}
	return nil, missing("cifar10", c.folders(dir), "run bregman data get cifar10, or put "+c.official.name+" into "+dir)
}

// readBins reads the six files of a folder.
func (c *cifar) readBins(ctx context.Context, dir string) (*Set, error) {
	s := c.set()
	for k, name := range c.files {
		name = filepath.Join(dir, name)
		f, err := os.Open(name)
		if err != nil {
			return nil, failed(name, "read", err)
		}
		err = readBatch(reader{ctx, f}, name, c.part(s, k), c.md5[k])
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readOfficial reads the six files from the archive as its authors publish it.
func (c *cifar) readOfficial(ctx context.Context, name string) (*Set, error) {
	s := c.set()
	seen := 0
	err := c.official.each(ctx, name, func(file string, r io.Reader) error {
		for k, want := range c.files {
			if file == want {
				seen++
				return readBatch(r, name+", "+file, c.part(s, k), c.md5[k])
			}
		}
		return nil
	})
	if err == nil && seen != len(c.files) {
		err = damaged(name, fmt.Sprintf("%d of its %d .bin files are there", seen, len(c.files)))
	}
	return s, err
}

// each checks the archive's checksum and then visits its files by their last names.
func (a archive) each(ctx context.Context, name string, visit func(file string, r io.Reader) error) error {
	f, err := os.Open(name)
	if err != nil {
		return failed(name, "read", err)
	}
	defer f.Close()
	h := a.new()
	if _, err := io.Copy(h, reader{ctx, f}); err != nil {
		return failed(name, "read", err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != a.sum {
		return damaged(name, fmt.Sprintf("%s %s, want %s", a.kind, got, a.sum))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return failed(name, "read", err)
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(reader{ctx, f}, 1<<20))
	if err != nil {
		return failed(name, "unpack", err)
	}
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return failed(name, "unpack", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := visit(path.Base(h.Name), t); err != nil {
			return failed(name, "unpack", err)
		}
	}
}

// readBatch reads as many records as there is room for, and no more may follow. An empty sum is not checked.
func readBatch(r io.Reader, name string, to Split, sum string) error {
	h := md5.New()
	in := bufio.NewReaderSize(io.TeeReader(r, h), 1<<20)
	var record [cifarRecord]byte
	want := to.Len() * cifarRecord
	for i := range to.Labels {
		n, err := io.ReadFull(in, record[:])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return damaged(name, fmt.Sprintf("cut short: %d bytes, want %d", i*cifarRecord+n, want))
		}
		if err != nil {
			return failed(name, "read", err)
		}
		to.Labels[i] = record[0]
		interleave(to.Images[i*cifarPixels:(i+1)*cifarPixels], record[1:])
	}
	switch _, err := in.ReadByte(); {
	case err == nil:
		return damaged(name, fmt.Sprintf("more than the %d bytes wanted", want))
	case err != io.EOF:
		return failed(name, "read", err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); sum != "" && got != sum {
		return damaged(name, fmt.Sprintf("md5 %s, want %s", got, sum))
	}
	return tenClasses(name, to.Labels)
}

func tenClasses(name string, labels []uint8) error {
	for i, y := range labels {
		if y > 9 {
			return damaged(name, fmt.Sprintf("label %d of image %d is out of range: want 0 to 9", y, i))
		}
	}
	return nil
}

// interleave turns planes into pixels.
func interleave(dst, planes []byte) {
	r, g, b := planes[:cifarPlane], planes[cifarPlane:2*cifarPlane], planes[2*cifarPlane:]
	for i := range cifarPlane {
		p := dst[3*i : 3*i+3]
		p[0], p[1], p[2] = r[i], g[i], b[i]
	}
}

// writeBatch writes records: the inverse of readBatch.
func writeBatch(w io.Writer, from Split) error {
	out := bufio.NewWriterSize(w, 1<<20)
	var record [cifarRecord]byte
	for i, y := range from.Labels {
		record[0] = y
		for j, v := range from.Images[i*cifarPixels : (i+1)*cifarPixels] {
			record[1+j%3*cifarPlane+j/3] = v
		}
		if _, err := out.Write(record[:]); err != nil {
			return err
		}
	}
	return out.Flush()
}

// get puts the six files into place: from what is there, else from npm.
func (c *cifar) get(ctx context.Context, dir string, say func(string)) error {
	for _, d := range c.folders(dir) {
		say("looking in " + d)
	}
	if d := c.bins(dir); d != "" {
		_, err := c.readBins(ctx, d)
		if err == nil {
			say("cifar10 is in " + d + ", all checksums right")
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		say(err.Error())
	}
	for _, a := range []struct {
		archive
		read func(context.Context, string) (*Set, error)
	}{{c.official, c.readOfficial}, {c.npm, c.readNPM}} {
		path := c.packed(dir, a.archive)
		if path == "" {
			continue
		}
		say("unpacking " + path)
		s, err := a.read(ctx, path)
		if err == nil {
			return c.store(ctx, s, dir, say)
		}
		if ctx.Err() != nil {
			return err
		}
		say(err.Error())
	}
	s, err := c.fetch(ctx, dir, say)
	if err != nil {
		return err
	}
	return c.store(ctx, s, dir, say)
}

// store writes a set as the six files, to the folder where Load looks first, and checks what it has written.
func (c *cifar) store(ctx context.Context, s *Set, dir string, say func(string)) error {
	home := c.folders(dir)[0]
	var files []output
	for k, file := range c.files {
		files = append(files, output{file, func(w io.Writer) error {
			h := md5.New()
			if err := writeBatch(io.MultiWriter(w, h), c.part(s, k)); err != nil {
				return err
			}
			if got := hex.EncodeToString(h.Sum(nil)); got != c.md5[k] {
				return fail(filepath.Join(home, file), "md5 %s, want %s: not written", got, c.md5[k])
			}
			return nil
		}})
	}
	if err := install(ctx, home, files); err != nil {
		return err
	}
	for k, file := range c.files {
		say(fmt.Sprintf("%s: md5 %s, right", filepath.Join(home, file), c.md5[k]))
	}
	return nil
}
