package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// painted is a smooth picture with some noise, whose colours no conversion clips: red, green and blue are from 45 to
// 225.
func painted(rng *rand.Rand, h, w int, bright float64) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	var a, b, c [3]float64
	for k := range 3 {
		a[k], b[k], c[k] = 80+80*rng.Float64()+bright, 30*rng.Float64()-15, 30*rng.Float64()-15
	}
	for y := range h {
		for x := range w {
			var v [3]uint8
			for k := range 3 {
				v[k] = uint8(a[k] + b[k]*float64(y)/float64(h) + c[k]*float64(x)/float64(w) + 10*rng.Float64() - 5)
			}
			m.SetRGBA(x, y, color.RGBA{v[0], v[1], v[2], 255})
		}
	}
	return m
}

// pictureFile is a picture in the format that i decides, and the extension of its name: most are JPEGs, some are grey,
// some PNG, and some of those are named .JPEG.
func pictureFile(t testing.TB, rng *rand.Rand, i, h, w int, bright float64) (b []byte, ext string) {
	var m image.Image = painted(rng, h, w, bright)
	if i%7 == 3 || i%16 == 9 {
		grey := image.NewGray(m.Bounds())
		for y := range h {
			for x := range w {
				grey.Set(x, y, m.At(x, y))
			}
		}
		m = grey
	}
	var out bytes.Buffer
	if i%8 == 1 {
		must(t, png.Encode(&out, m))
		return out.Bytes(), []string{".png", ".JPEG"}[i/8%2]
	}
	must(t, jpeg.Encode(&out, m, &jpeg.Options{Quality: 80 + i%20}))
	return out.Bytes(), ".jpg"
}

// pictureFolder writes n pictures of three classes, a fifth of them for tests and brighter, of many sizes. The
// longest are 6 times as long as they are wide.
func pictureFolder(t testing.TB, n int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, uint64(n)))
	dir := filepath.Join(t.TempDir(), "set")
	for i := range n {
		h, w := 4+rng.IntN(60), 4+rng.IntN(60)
		switch i % 10 {
		case 2:
			w = 6 * h
		case 6:
			h = 6 * w
		}
		part, bright := "train", 0.0
		if i%5 == 4 {
			part, bright = "val", 30.0
		}
		b, ext := pictureFile(t, rng, i, h, w, bright)
		write(t, b, dir, part, []string{"ant", "bee", "cat"}[i/5%3], fmt.Sprintf("%04d%s", i, ext))
	}
	return dir
}

// oddPictures are the fixtures that cannot be packed, and a word of the reason. All others can.
var oddPictures = map[string]string{"12-bit.jpg": "12", "60000.jpg": "60000", "8000.jpg": "8000",
	"arithmetic-progressive.jpg": "arithmetic", "arithmetic.jpg": "arithmetic", "empty.jpg": "empty",
	"lossless.jpg": "lossless", "truncated-eoi.jpg": "", "truncated-progressive-eoi.jpg": "", "truncated.jpg": "truncated",
	"truncated.png": "truncated"}

// withOdd copies the odd fixtures into a class of a folder, and returns their number.
func withOdd(t testing.TB, dir string) (n int) {
	t.Helper()
	all, err := filepath.Glob("testdata/odd/*")
	must(t, err)
	for _, path := range all {
		if name := filepath.Base(path); namesPicture(name) {
			write(t, oddFile(t, name), dir, "train", "bee", name)
			n++
		}
	}
	return n
}

var smallPack = PackSettings{Size: 24, Side: ShortSide, Format: FormatJPEG, Quality: 90}

func newPacker(t testing.TB, dir, out string, s PackSettings) *Packer {
	t.Helper()
	p, err := NewPacker(openSource(t, dir), out, s)
	must(t, err)
	return p
}

func silent(string, int, int) {}

// pack packs a folder to the end.
func pack(t testing.TB, dir string, s PackSettings) *PackReport {
	t.Helper()
	r, err := newPacker(t, dir, filepath.Join(t.TempDir(), "out.pack"), s).Write(t.Context(), silent)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func hashOfFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// often makes blocks small and progress frequent for a test.
func often(t testing.TB, pictures int) {
	b, bt, pt := blockPictures, blockTime, progressTime
	t.Cleanup(func() { blockPictures, blockTime, progressTime = b, bt, pt })
	blockPictures, blockTime, progressTime = pictures, time.Hour, time.Nanosecond
}

// mostNoise bounds the root of the mean squared error that a JPEG's quantisation makes in a plane of n samples: a
// coefficient is off by at most half its quantiser, and the transform keeps sums of squares. The mean is over the
// visible samples, the sum over all of the blocks'. Rounding to whole levels twice adds at most 1.
func mostNoise(table []byte, h, w int) float64 {
	sum := 0.0
	for _, q := range table {
		sum += float64(q) * float64(q) / 4
	}
	blocks := float64((h + 7) / 8 * ((w + 7) / 8))
	return math.Sqrt(sum*blocks/float64(h*w)) + 1
}

func rootMeanSquare(a, b []byte) float64 {
	sum := 0.0
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	return math.Sqrt(sum / float64(len(a)))
}

// A packed file has each picture of the source as the source's decoder and the shrinker give it: to the bit if it is
// raw, within what quantisation can do if it is a JPEG, and as the very bytes of the file without its comments if that
// is a small 4:2:0 JPEG already.
func TestAPackHasThePicturesOfItsSource(t *testing.T) {
	dir := pictureFolder(t, 150)
	withOdd(t, dir)
	src := openSource(t, dir)
	for _, s := range []PackSettings{
		smallPack,
		{Size: 48, Side: LongSide, Format: FormatJPEG, Quality: 60},
		{Size: 24, Side: ShortSide, Format: FormatRaw, Quality: 100},
		{Size: 30, Side: LongSide, Format: FormatMix, Quality: 95, RawShare: 0.3},
	} {
		r := pack(t, dir, s)
		failed := map[string]bool{}
		for _, p := range r.Problems {
			failed[p.Name] = true
		}
		if !slices.Equal(r.Classes, src.Classes) || r.Size != s.Size || r.Side != s.Side || r.Format != s.Format {
			t.Errorf("%+v: %+v", s, r.PackInfo)
		}
		items, entries, raws := slices.Concat(src.Train, src.Test), slices.Concat(r.Train, r.Test), 0
		var kept []SourcePicture
		for k, item := range items {
			if !failed[item.Name] {
				kept = append(kept, item)
			} else if k >= len(src.Train) {
				t.Errorf("%s failed", item.Name)
			}
		}
		if len(kept) != len(entries) || len(r.Test) != len(src.Test) {
			t.Fatalf("%+v: %d pictures of %d, %d for tests of %d", s, len(entries), len(kept), len(r.Test), len(src.Test))
		}
		var d sourceDecoder
		var shrink shrinker
		reader := r.NewReader()
		count := map[string]int{}
		for i, item := range kept {
			e := entries[i]
			name := r.PictureName(i < len(r.Train), i)
			if i >= len(r.Train) {
				name = r.PictureName(false, i-len(r.Train))
			}
			if name != item.Name || e.Label != item.Label {
				t.Fatalf("picture %d is %s of class %d, want %s of %d", i, name, e.Label, item.Name, item.Label)
			}
			b, err := src.Read(item, nil)
			must(t, err)
			h, err := d.look(item.Name, b)
			must(t, err)
			full, err := d.planes(h, b)
			must(t, err)
			dh, dw := fitted(h.Height, h.Width, s.Size, s.Side)
			side := max(dh, dw)
			if s.Side == ShortSide {
				side = min(dh, dw)
			}
			if side > s.Size || int(e.Height) != dh || int(e.Width) != dw {
				t.Errorf("%s: %d×%d, want %d×%d", name, e.Height, e.Width, dh, dw)
			}
			want := shrink.shrink(make([]byte, rawBytes(dh, dw)), full, dh, dw)
			got, err := reader.planes(e, e.rect())
			must(t, err)
			stored, err := reader.stored(e)
			must(t, err)
			got, err = reader.planes(e, e.rect())
			must(t, err)
			small := dh == h.Height && dw == h.Width
			switch {
			case e.Kind == PackRaw:
				raws++
				if !bytes.Equal(got.tight()[:dh*dw], want.tight()[:dh*dw]) || want.cb != nil &&
					!bytes.Equal(got.tight(), want.tight()) {
					t.Errorf("%+v: %s, raw, has other planes", s, name)
				}
				if want.cb == nil && len(bytes.Trim(append(bytes.Clone(got.cb), got.cr...), "\x80")) > 0 {
					t.Errorf("%+v: %s is grey, its chroma is not 128", s, name)
				}
				count["raw"]++
			case small && h.stored:
				if !bytes.Equal(stored, stripped(b)) {
					t.Errorf("%+v: %s: not the bytes of the file", s, name)
				}
				if most, _ := furthest(got.tight(), want.tight()); most > 0 {
					t.Errorf("%+v: %s: %d levels from the source", s, name, most)
				}
				count["kept"]++
			default:
				if !bytes.HasPrefix(stored[20:], []byte("\xff\xdb\x00\x43\x00")) { // behind JFIF's segment
					t.Fatalf("%s: % x", name, stored[:28])
				}
				luma := stored[25:89]
				if scaled := (16*(200-2*s.Quality) + 50) / 100; int(luma[0]) != scaled { // the standard's table begins with 16
					t.Errorf("%s: a quantiser of %d at quality %d, want %d", name, luma[0], s.Quality, scaled)
				}
				if noise := rootMeanSquare(got.tight()[:dh*dw], want.tight()[:dh*dw]); noise > mostNoise(luma, dh, dw) {
					t.Errorf("%+v: luma of %s is %.1f levels off, at most %.1f can be", s, name, noise, mostNoise(luma, dh, dw))
				}
				if (got.cb == nil) != (want.cb == nil) {
					t.Errorf("%s: grey or not", name)
				} else if got.cb != nil {
					ch, cw := (dh+1)/2, (dw+1)/2
					noise := rootMeanSquare(got.tight()[dh*dw:], want.tight()[dh*dw:])
					if most := mostNoise(stored[94:158], ch, cw); noise > most {
						t.Errorf("%+v: chroma of %s is %.1f levels off, at most %.1f can be", s, name, noise, most)
					}
				}
				count["encoded"]++
			}
		}
		switch share := float64(raws) / float64(len(entries)); s.Format {
		case FormatRaw:
			if share != 1 {
				t.Errorf("raw: %v of the pictures are", share)
			}
		case FormatJPEG:
			if share != 0 || count["kept"] == 0 || count["encoded"] == 0 {
				t.Errorf("jpeg: %v", count)
			}
		default:
			if math.Abs(share-s.RawShare) > 0.05 || count["kept"] == 0 { // what failed is spread unevenly
				t.Errorf("mix of %v: %v are raw", s.RawShare, share)
			}
		}
		if r.Kinds["kept as they were"] != count["kept"] || r.Kinds["stored raw"] != raws ||
			r.Kinds["encoded as JPEG"] != count["encoded"] {
			t.Errorf("%+v: counted %v, found %v", s, r.Kinds, count)
		}
	}
}

// Every file of the source is in the packed file or in the list of those that are not, with the reason.
func TestEveryFileIsPackedOrListed(t *testing.T) {
	dir := pictureFolder(t, 60)
	odd := withOdd(t, dir)
	write(t, []byte("Rar!"), dir, "train", "bee", "more.rar")
	first, second := pack(t, dir, smallPack), pack(t, dir, smallPack)
	if n := len(first.Train) + len(first.Test); n != 60+odd-len(oddPictures) ||
		len(first.Problems) != len(oddPictures)+1 || first.PackInfo.Problems != len(oddPictures)+1 {
		t.Errorf("%d pictures and %d problems of %d files: %v", n, len(first.Problems), 61+odd,
			first.Problems)
	}
	for _, p := range first.Problems {
		name := filepath.Base(p.Name)
		word, ok := oddPictures[name]
		if ok = ok || name == "more.rar"; !ok || !strings.Contains(p.Why, word) || len(p.Why) < 8 ||
			strings.Contains(p.Why, "decoder failed") {
			t.Errorf("%v", p)
		}
	}
	list, err := os.ReadFile(first.List)
	must(t, err)
	again, err := os.ReadFile(second.List)
	must(t, err)
	lines := strings.Split(strings.TrimSuffix(string(list), "\n"), "\n")
	if !bytes.Equal(list, again) || len(lines) != len(oddPictures)+2 {
		t.Errorf("the list\n%s\nand of the same again\n%s", list, again)
	}
	for name := range oddPictures {
		if !strings.Contains(string(list), "train/bee/"+name+": ") {
			t.Errorf("%s is not in the list", name)
		}
	}
	var names []string
	for i := range first.Train {
		names = append(names, first.PictureName(true, i))
	}
	if !slices.Contains(names, "train/bee/named.JPEG") { // a PNG
		t.Errorf("%v", names)
	}
	if hashOfFile(t, first.Path()) != hashOfFile(t, second.Path()) {
		t.Error("the same source gives two files")
	}
}

// The number of cores decides nothing.
func TestThePackDoesNotDependOnTheNumberOfCores(t *testing.T) {
	dir := pictureFolder(t, 100)
	withOdd(t, dir)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want, list string
	for _, n := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(n)
		r := pack(t, dir, smallPack)
		if want == "" {
			want, list = hashOfFile(t, r.Path()), hashOfFile(t, r.List)
		}
		if hashOfFile(t, r.Path()) != want || hashOfFile(t, r.List) != list {
			t.Errorf("%d cores: another file or list", n)
		}
	}
}

// A packing that is stopped says how to continue, and the same call gives the file of one that was not, whenever it is
// stopped: while it packs, and while it checks.
func TestAStoppedPackingContinues(t *testing.T) {
	dir := pictureFolder(t, 80)
	withOdd(t, dir)
	want := hashOfFile(t, pack(t, dir, smallPack).Path())
	for _, block := range []int{1, 7, 1000} {
		often(t, block)
		for _, at := range []int{1, 2, 20, 63, 110} {
			out := filepath.Join(t.TempDir(), "out.pack")
			ctx, cancel := context.WithCancel(t.Context())
			_, err := newPacker(t, dir, out, smallPack).Write(ctx, func(stage string, done, _ int) {
				if done >= at && stage == "packing" {
					cancel()
				}
			})
			wantError(t, err, "stopped after", "of 116 pictures: the same command continues there")
			if _, err := os.Lstat(out); err == nil {
				t.Error("there is a file of the name already")
			}
			p := newPacker(t, dir, out, smallPack)
			e, err := p.Estimate(t.Context())
			must(t, err)
			r, err := p.Write(t.Context(), silent)
			must(t, err)
			if r.Continued < at || r.Continued > 116 || r.Continued != e.Done {
				t.Errorf("stopped after %d pictures, continued after %d, estimated %d", at, r.Continued, e.Done)
			}
			r.Close()
			if hashOfFile(t, out) != want || r.Complete {
				t.Errorf("stopped after %d pictures: another file", at)
			}
			left, err := filepath.Glob(out + ".*")
			must(t, err)
			if len(left) != 1 || left[0] != r.List {
				t.Errorf("left %v", left)
			}
		}
	}
	out := filepath.Join(t.TempDir(), "out.pack")
	ctx, cancel := context.WithCancel(t.Context())
	var reached string
	_, err := newPacker(t, dir, out, smallPack).Write(ctx, func(stage string, _, _ int) {
		if reached = stage; stage == "checking" {
			cancel()
		}
	})
	if reached != "checking" {
		t.Fatalf("stopped while %s", reached)
	}
	if err != nil { // the last call of progress may have been the end
		wantError(t, err, "the same command continues there")
	}
	r, err := newPacker(t, dir, out, smallPack).Write(t.Context(), silent)
	must(t, err)
	if r.Close(); hashOfFile(t, out) != want || r.Continued != 116 && !r.Complete {
		t.Errorf("stopped while it was checked: another file, or continued after %d", r.Continued)
	}
}

// halfPacked packs all pictures of a folder in blocks, and ends before the file is finished.
func halfPacked(t testing.TB, dir, out string) (part, journal []byte) {
	t.Helper()
	w, err := newPacker(t, dir, out, smallPack).open()
	must(t, err)
	must(t, w.pictures(t.Context(), silent))
	w.close()
	part, err = os.ReadFile(w.part)
	must(t, err)
	journal, err = os.ReadFile(w.log)
	must(t, err)
	return part, journal
}

// Whatever a kill or a crash leaves of the two files, the same call gives the file of a packing that was not stopped:
// a journal that ends anywhere, or has any byte changed, and a part that is shorter or longer than the journal says.
func TestAPackingContinuesFromWhateverIsLeft(t *testing.T) {
	dir := pictureFolder(t, 40)
	want := hashOfFile(t, pack(t, dir, smallPack).Path())
	often(t, 5)
	base := filepath.Join(t.TempDir(), "out.pack")
	part, journal := halfPacked(t, dir, base)
	lines := bytes.SplitAfter(journal, []byte("\n"))
	if len(lines) != 1+8+1 {
		t.Fatalf("%d lines in the journal", len(lines))
	}
	rng := rand.New(rand.NewPCG(5, 5))
	resume := func(what string, part, journal []byte) int {
		t.Helper()
		out := filepath.Join(t.TempDir(), "out.pack")
		if part != nil {
			write(t, part, out+".part")
		}
		if journal != nil {
			write(t, journal, out+".journal")
		}
		r, err := newPacker(t, dir, out, smallPack).Write(t.Context(), silent)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		r.Close()
		if hashOfFile(t, out) != want {
			t.Errorf("%s: another file", what)
		}
		return r.Continued
	}
	if n := resume("nothing is lost", part, journal); n != 40 {
		t.Errorf("nothing is lost: continued after %d", n)
	}
	at := len(lines[0])
	for k, line := range lines[1:9] { // cut after a line, in it, and before its newline
		if n := resume("a whole line", part, journal[:at]); n != 5*k {
			t.Errorf("after block %d: continued after %d", k, n)
		}
		if n := resume("half a line", part, journal[:at+len(line)/2]); n != 5*k {
			t.Errorf("in block %d: continued after %d", k, n)
		}
		resume("a line without its newline", part, journal[:at+len(line)-1])
		at += len(line)
	}
	for range 25 {
		resume("a cut part", part[:rng.IntN(len(part)+1)], journal)
		cut := bytes.Clone(journal[:rng.IntN(len(journal)+1)])
		resume("a cut journal", part, cut)
		changed := bytes.Clone(journal)
		i := rng.IntN(len(changed))
		changed[i] ^= 1 << rng.IntN(8)
		resume(fmt.Sprintf("byte %d of the journal", i), part, changed)
		resume("a longer part", append(bytes.Clone(part), make([]byte, 1<<17)...), changed)
	}
	resume("no part", nil, journal)
	resume("no journal", part, nil)
	resume("an empty journal", part, []byte{})

	// A killed machine may have lost bytes of the part that the file system promised. The check finds it and says what
	// to do.
	out := filepath.Join(t.TempDir(), "out.pack")
	harmed := bytes.Clone(part)
	harmed[packHeaderBytes+100] ^= 1
	write(t, harmed, out+".part")
	write(t, journal, out+".journal")
	_, err := newPacker(t, dir, out, smallPack).Write(t.Context(), silent)
	wantError(t, err, "checksum", "out.pack.part: damaged", "delete it and ", "out.pack.journal")
	if _, err := os.Lstat(out); err == nil {
		t.Error("a damaged file has the name of the whole one")
	}
	must(t, os.Remove(out+".part"))
	must(t, os.Remove(out+".journal"))
	r, err := newPacker(t, dir, out, smallPack).Write(t.Context(), silent)
	must(t, err)
	if r.Close(); hashOfFile(t, out) != want {
		t.Error("after the damage: another file")
	}
}

func TestAnInterruptedPackingWithOtherSettingsIsRefused(t *testing.T) {
	dir := pictureFolder(t, 20)
	often(t, 5)
	out := filepath.Join(t.TempDir(), "out.pack")
	part, journal := halfPacked(t, dir, out)
	other := smallPack
	other.Quality = 89
	p := newPacker(t, dir, out, other)
	_, err := p.Write(t.Context(), silent)
	wantError(t, err, "out.pack.journal", "another source or with other settings", "same command", "delete this file and "+
		"out.pack.part")
	if e, err := p.Estimate(t.Context()); err != nil || e.Done != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	for path, want := range map[string][]byte{out + ".part": part, out + ".journal": journal} {
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s changed: %v", path, err)
		}
	}
}

func TestAFinishedPackIsNotWrittenAgain(t *testing.T) {
	dir := pictureFolder(t, 20)
	r := pack(t, dir, smallPack)
	before, err := os.Stat(r.Path())
	must(t, err)
	write(t, []byte("left by a kill"), r.Path()+".journal")
	again, err := newPacker(t, dir, r.Path(), smallPack).Write(t.Context(), silent)
	must(t, err)
	after, err := os.Stat(r.Path())
	must(t, err)
	if again.Close(); !again.Complete || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Error("it is written again")
	}
	if left, _ := filepath.Glob(r.Path() + ".*"); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	other := smallPack
	other.Size = 25
	whole := hashOfFile(t, r.Path())
	_, err = newPacker(t, dir, r.Path(), other).Write(t.Context(), silent)
	wantError(t, err, r.Path(), "delete it", "--out")
	text := write(t, []byte("precious"), t.TempDir(), "notes.txt")
	for path, words := range map[string]string{text: "delete it", t.TempDir(): "not a regular file"} {
		_, err = newPacker(t, dir, path, smallPack).Write(t.Context(), silent)
		wantError(t, err, path, words, "--out")
	}
	if b, _ := os.ReadFile(text); string(b) != "precious" || hashOfFile(t, r.Path()) != whole {
		t.Error("a file was overwritten")
	}
}

func TestOneFileIsPackedOnce(t *testing.T) {
	dir := pictureFolder(t, 20)
	out := filepath.Join(t.TempDir(), "out.pack")
	w, err := newPacker(t, dir, out, smallPack).open()
	must(t, err)
	_, err = newPacker(t, dir, out, smallPack).Write(t.Context(), silent)
	wantError(t, err, out, "another process is packing this file")
	must(t, w.pictures(t.Context(), silent))
	w.close()
	r, err := newPacker(t, dir, out, smallPack).Write(t.Context(), silent)
	must(t, err)
	if r.Close(); r.Continued != 20 {
		t.Errorf("the first packing had 20 pictures, the next continues after %d", r.Continued)
	}
}

// A source file that vanished or has another size than it was listed with stops the packing: it is not left out. When
// the source is as it was, the same call finishes.
func TestASourceThatChangesStopsThePacking(t *testing.T) {
	dir := pictureFolder(t, 40)
	often(t, 5)
	want := pack(t, dir, smallPack)
	want.Close()
	out := filepath.Join(t.TempDir(), "out.pack")
	p := newPacker(t, dir, out, smallPack)
	path := func(s SourcePicture) string { return filepath.Join(dir, filepath.FromSlash(s.Name)) }
	for _, one := range []SourcePicture{p.src.Train[8], p.src.Test[2]} {
		whole, err := os.ReadFile(path(one))
		must(t, err)
		for what, break_ := range map[string]func() error{
			"no such file": func() error { return os.Remove(path(one)) },
			"changed":      func() error { return os.Truncate(path(one), one.Size-10) },
		} {
			must(t, break_())
			_, err = p.Write(t.Context(), silent)
			wantError(t, err, filepath.Base(one.Name), what, "continues")
			write(t, whole, path(one))
		}
	}
	r, err := p.Write(t.Context(), silent)
	must(t, err)
	defer r.Close()
	if len(r.Problems) > 0 || r.Continued < 8 || r.Hash != want.Hash {
		t.Errorf("%d problems, continued after %d pictures", len(r.Problems), r.Continued)
	}
}

// Files of others that have the names a packing needs stay as they are, also behind links.
func TestFilesOfOthersAreNotOverwritten(t *testing.T) {
	dir := pictureFolder(t, 20)
	for _, name := range []string{"out.pack.part", "out.pack.journal"} {
		for _, link := range []bool{false, true} {
			out := filepath.Join(t.TempDir(), "out.pack")
			theirs := filepath.Join(filepath.Dir(out), name)
			if link {
				theirs = filepath.Join(filepath.Dir(out), "thesis.txt")
				must(t, os.Symlink(theirs, filepath.Join(filepath.Dir(out), name)))
			}
			write(t, []byte("a thesis of some length"), theirs)
			_, err := newPacker(t, dir, out, smallPack).Write(t.Context(), silent)
			wantError(t, err, name, "move it away")
			if b, err := os.ReadFile(theirs); err != nil || string(b) != "a thesis of some length" {
				t.Errorf("%s, a link %v: %q, %v", name, link, b, err)
			}
		}
	}
	out := filepath.Join(t.TempDir(), "out.pack")
	p := newPacker(t, dir, out, smallPack)
	_, err := p.Write(t.Context(), func(stage string, _, _ int) {
		if stage == "checking" {
			write(t, []byte("precious"), out)
		}
	})
	wantError(t, err, "out.pack", "appeared", "same command finishes")
	if b, _ := os.ReadFile(out); string(b) != "precious" {
		t.Errorf("%q", b)
	}
	must(t, os.Remove(out))
	r, err := p.Write(t.Context(), silent)
	must(t, err)
	r.Close()
}

// A list of problems that are mended goes; a file of that name that is not such a list stays.
func TestAnOldListOfProblemsGoes(t *testing.T) {
	dir := pictureFolder(t, 20)
	for content, stays := range map[string]bool{problemsTitle + "(1):\nx.jpg: y\n": false, "mine": true} {
		out := filepath.Join(t.TempDir(), "out.pack")
		write(t, []byte(content), out+".problems.txt")
		r, err := newPacker(t, dir, out, smallPack).Write(t.Context(), silent)
		must(t, err)
		r.Close()
		if _, err := os.Lstat(out + ".problems.txt"); (err == nil) != stays {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// If no training or no test picture can be packed, the error names one.
func TestASourceOfNothingUsableIsAnError(t *testing.T) {
	dir := pictureFolder(t, 40)
	val, err := filepath.Glob(filepath.Join(dir, "val", "*", "*"))
	must(t, err)
	for _, path := range val {
		must(t, os.WriteFile(path, []byte("GIF89a"), 0o666))
	}
	out := filepath.Join(t.TempDir(), "out.pack")
	_, err = newPacker(t, dir, out, smallPack).Write(t.Context(), silent)
	wantError(t, err, "32 training and 0 test pictures", "val/", "GIF")
	if _, err := os.Lstat(out); err == nil {
		t.Error("there is a file")
	}
}

// A file that becomes shorter or changes while it is open is an error, which names the picture or the file.
func TestAPackThatChangesWhileItIsOpen(t *testing.T) {
	r := pack(t, pictureFolder(t, 20), smallPack)
	reader, slot := r.NewReader(), make([]byte, r.Slot())
	must(t, reader.Read(r.Train[5], slot))
	f, err := os.OpenFile(r.Path(), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte("new bytes"), r.Train[5].Offset+int64(r.Train[5].Length)/2)
	must(t, err)
	wantError(t, reader.Read(r.Train[5], slot), r.Path(), "checksum", r.PictureName(true, 5))
	must(t, reader.Read(r.Train[6], slot))
	err = r.Verify(t.Context(), func(int, int) {})
	wantError(t, err, "checksum", r.PictureName(true, 5))
	must(t, f.Truncate(r.Train[9].Offset+1))
	wantError(t, reader.Read(r.Train[9], slot), r.Path(), "shorter")
	wantError(t, reader.Read(r.Test[0], slot), r.Path(), "shorter")
	if name := r.PictureName(true, 9); name != "training picture 9" {
		t.Errorf("a name from nowhere: %q", name)
	}
	must(t, reader.Read(r.Train[7], slot))
}

// Mean and deviation are those of the pictures as anybody decodes them. Of raw pictures only the rounding of red, green
// and blue differs, by up to 1/2, and a deviation by no more than the root mean square of that. In JPEGs of quality 90
// the mean of a block is off by up to 1/16 of the quantiser, which is 3 for Y and for Cb and Cr 3 times 1.772 at most:
// 0.5 more; noise of the root mean square of n makes a deviation σ larger by n²/2σ, with n ≤ 7 and σ ≥ 15 at most 1.7.
func TestMeanAndDeviationAreThoseOfThePictures(t *testing.T) {
	dir := pictureFolder(t, 60)
	for _, c := range []struct {
		format          string
		mean, deviation float64
	}{{FormatRaw, 0.5, 0.5}, {FormatJPEG, 1, 1.7}} {
		s := smallPack
		s.Format = c.format
		r := pack(t, dir, s)
		var n float64
		var sum, squares [3]float64
		reader := r.NewReader()
		for _, e := range r.Train {
			m, err := reader.Picture(e)
			must(t, err)
			for y := range int(e.Height) {
				for x := range int(e.Width) {
					red, green, blue, _ := m.At(x, y).RGBA()
					for k, v := range []uint32{red, green, blue} {
						sum[k] += float64(v >> 8)
						squares[k] += float64(v>>8) * float64(v>>8)
					}
					n++
				}
			}
		}
		for k := range 3 {
			mean := sum[k] / n
			deviation := math.Sqrt(squares[k]/n - mean*mean)
			if deviation < 15 || math.Abs(mean-float64(r.Mean[k])) > c.mean ||
				math.Abs(deviation-float64(r.Deviation[k])) > c.deviation {
				t.Errorf("%s: channel %d is %v ± %v, want %v ± %v", c.format, k, r.Mean[k], r.Deviation[k], mean, deviation)
			}
		}
	}
}

// What is packed has a fingerprint, and what was packed a hash, of its own: names, sizes and labels of the pictures and
// every setting count, and for the hash every pixel.
func TestNoTwoPacksHaveOneHash(t *testing.T) {
	dir := pictureFolder(t, 20)
	seen := map[string]string{}
	add := func(what, id string) {
		if old, ok := seen[id]; ok {
			t.Errorf("%s and %s are both %s", old, what, id)
		}
		seen[id] = what
	}
	for _, change := range []func(*PackSettings){func(*PackSettings) {}, func(s *PackSettings) { s.Size++ },
		func(s *PackSettings) { s.Side = LongSide }, func(s *PackSettings) { s.Format = FormatRaw },
		func(s *PackSettings) { s.Quality++ }, func(s *PackSettings) { s.Format, s.RawShare = FormatMix, 0.25 },
		func(s *PackSettings) { s.Format, s.RawShare = FormatMix, 0.5 }} {
		s := smallPack
		change(&s)
		r := pack(t, dir, s)
		add(fmt.Sprintf("%+v", s), r.Fingerprint)
		add(fmt.Sprintf("%+v, hash", s), r.Hash)
	}
	first := newPacker(t, dir, "x", smallPack).src.Train[0]
	path := filepath.Join(dir, filepath.FromSlash(first.Name))
	var other bytes.Buffer // of the same size
	must(t, jpeg.Encode(&other, image.NewGray(image.Rect(0, 0, 9, 9)), nil))
	changed := append(other.Bytes(), make([]byte, int(first.Size)-other.Len())...)
	must(t, os.WriteFile(path, changed, 0o666))
	add("a picture", pack(t, dir, smallPack).Hash)
	must(t, os.WriteFile(path, append(changed, 0), 0o666))
	add("a size", newPacker(t, dir, "x", smallPack).fingerprint())
	must(t, os.Rename(path, filepath.Join(filepath.Dir(path), "a.jpg")))
	add("a name", newPacker(t, dir, "x", smallPack).fingerprint())
	must(t, os.MkdirAll(filepath.Join(dir, "train", "dog"), 0o777))
	must(t, os.Rename(filepath.Join(filepath.Dir(path), "a.jpg"), filepath.Join(dir, "train", "dog", "a.jpg")))
	add("a class", newPacker(t, dir, "x", smallPack).fingerprint())
}

func TestAnEstimateIsCloseToTheFile(t *testing.T) {
	dir := pictureFolder(t, 100)
	for _, format := range PackFormats {
		s := smallPack
		s.Format, s.RawShare = format, 0.5
		e, err := newPacker(t, dir, filepath.Join(t.TempDir(), "out.pack"), s).Estimate(t.Context())
		must(t, err)
		r := pack(t, dir, s)
		// All are in the sample: only the information, some hundred bytes, is not estimated.
		if d := r.Bytes() - e.Bytes; e.Pictures != 100 || e.Sampled != 100 || d < 0 || d > 1500 {
			t.Errorf("%s: %d bytes, estimated %+v", format, r.Bytes(), e)
		}
	}
}
