package images

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"path/filepath"
	"strings"
	"testing"
)

func pngOf(t testing.TB, img image.Image) []byte {
	var b bytes.Buffer
	must(t, png.Encode(&b, img))
	return b.Bytes()
}

func colour(w, h int, c color.RGBA) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		img.Set(i%w, i/w, c)
	}
	return img
}

func grey(w, h int, v uint8) image.Image {
	img := image.NewGray(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = v
	}
	return img
}

func TestFolderWithTrainAndTest(t *testing.T) {
	dir := t.TempDir()
	write(t, pngOf(t, colour(3, 2, color.RGBA{10, 20, 30, 255})), dir, "train", "cat", "1.png")
	write(t, pngOf(t, grey(3, 2, 40)), dir, "train", "dog", "1.PNG")
	var b bytes.Buffer
	must(t, jpeg.Encode(&b, grey(3, 2, 90), nil))
	write(t, b.Bytes(), dir, "test", "dog", "2.jpeg")
	write(t, []byte("not an image"), dir, "train", "dog", "notes.txt")
	write(t, []byte("not an image"), dir, "train", "dog", "._1.png")
	write(t, []byte("not an image"), dir, "train", ".cache", "1.png")
	s, err := Load(dir, "")
	must(t, err)
	if s.Height != 2 || s.Width != 3 || s.Channels != 3 || fmt.Sprint(s.Classes) != "[cat dog]" || s.Train.Len() != 2 ||
		s.Test.Len() != 1 {
		t.Fatalf("%+v", s)
	}
	if !bytes.Equal(pixels(s, 0, true)[:6], []byte{10, 20, 30, 10, 20, 30}) || !bytes.Equal(pixels(s, 1, true)[:3],
		[]byte{40, 40, 40}) {
		t.Errorf("pixels %v", s.Train.Images)
	}
	if v := pixels(s, 0, false)[0]; v < 88 || v > 92 { // jpeg keeps a flat grey within a step or two
		t.Errorf("jpeg of 90 is %d", v)
	}
	if fmt.Sprint(s.Train.Labels, s.Test.Labels) != "[0 1] [1]" {
		t.Errorf("labels %v %v", s.Train.Labels, s.Test.Labels)
	}
}

func TestFolderHoldsOutATenth(t *testing.T) {
	dir := t.TempDir()
	for c, n := range map[string]int{"a": 30, "b": 4} {
		for i := range n {
			write(t, pngOf(t, grey(2, 2, uint8(i))), dir, c, fmt.Sprintf("%02d.png", i))
		}
	}
	s, err := Load(dir, "")
	must(t, err)
	if s.Channels != 1 || s.Train.Len() != 30 || s.Test.Len() != 4 || fmt.Sprint(s.Test.Labels) != "[0 0 0 1]" {
		t.Fatalf("%d channels, %d and %d images, test labels %v", s.Channels, s.Train.Len(), s.Test.Len(), s.Test.Labels)
	}
	again, err := Load(dir, "")
	must(t, err)
	if again.Hash != s.Hash {
		t.Error("another split the second time")
	}
	train := map[string]bool{}
	for i := range s.Train.Len() {
		train[fmt.Sprint(s.Train.Labels[i], pixels(s, i, true))] = true
	}
	for i := range s.Test.Len() {
		if train[fmt.Sprint(s.Test.Labels[i], pixels(s, i, false))] {
			t.Errorf("test image %d is a training image too", i)
		}
	}
}

func TestBadFoldersAreExplained(t *testing.T) {
	small, large := pngOf(t, grey(2, 2, 1)), pngOf(t, grey(3, 2, 1))
	for name, c := range map[string]struct {
		files map[string][]byte
		words []string
	}{
		"empty":      {nil, []string{"no images", "one subfolder"}},
		"no folders": {map[string][]byte{"1.png": small}, []string{"no images", "one subfolder"}},
		"empty class": {map[string][]byte{"a/1.png": small, "a/2.png": small, "b/x.txt": nil},
			[]string{"b: no png, jpeg, gif or webp"}},
		"sizes": {map[string][]byte{"a/1.png": small, "b/2.png": large, "b/3.png": small},
			[]string{"2 sizes", "from 2×2 pixels", "to 3×2", "1.png", "2.png", "most often 2×2 (2 of 3)", "--size 32",
				"bregman data pack"}},
		"one each":   {map[string][]byte{"a/1.png": small, "b/1.png": small}, []string{"none to test with"}},
		"only train": {map[string][]byte{"train/a/1.png": small}, []string{"only one of train and test"}},
		"new class": {map[string][]byte{"train/a/1.png": small, "train/c/1.png": small, "test/b/1.png": small},
			[]string{"b: a class with no training images", "are a, c"}},
		"one class": {map[string][]byte{"cat/1.png": small, "cat/2.png": small},
			[]string{"only one class, cat: put the class folders"}},
		"one to know": {map[string][]byte{"train/cat/1.png": small, "test/cat/2.png": small},
			[]string{"train: only one class, cat"}},
		"not image": {map[string][]byte{"a/1.png": small, "a/2.png": []byte("hello"), "b/1.png": small},
			[]string{"2.png: a text file, not a picture", "--skip-broken"}},
		"cut image": {map[string][]byte{"a/1.png": small, "a/2.png": small[:50], "b/1.png": small},
			[]string{"2.png", "unexpected EOF"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for f, b := range c.files {
				write(t, b, dir, filepath.FromSlash(f))
			}
			_, err := Load(dir, "")
			wantError(t, err, c.words...)
		})
	}
}

// mixedFolder has pictures of several sizes and formats, and broken ones.
func mixedFolder(t testing.TB, broken bool) string {
	dir := t.TempDir()
	for i := range 12 {
		img := colour(20+3*i, 40-2*i, color.RGBA{uint8(20 * i), 90, uint8(200 - 10*i), 255})
		write(t, pngOf(t, img), dir, []string{"a", "b"}[i%2], fmt.Sprintf("%02d.png", i))
	}
	write(t, oddFile(t, "gif.gif"), dir, "a", "x.gif")
	write(t, oddFile(t, "webp.webp"), dir, "b", "y.webp")
	write(t, oddFile(t, "420.jpg"), dir, "b", "z.jpg")
	if broken {
		write(t, oddFile(t, "truncated.png"), dir, "a", "cut.png")
		write(t, nil, dir, "b", "empty.jpg")
		write(t, []byte("BM\x12\x34\x00\x00\x00\x00\x00\x00"), dir, "b", "old.bmp")
		write(t, oddFile(t, "60000.jpg"), dir, "b", "giant.jpg")
	}
	return dir
}

// A folder of pictures of many sizes is read at one size: each pixel is that of predict, which resizes single files.
func TestAFolderOfManySizesIsResized(t *testing.T) {
	dir := mixedFolder(t, false)
	s, err := LoadWith(dir, "", Options{Size: 24})
	must(t, err)
	if s.Height != 24 || s.Width != 24 || s.Channels != 3 || !s.Resized || s.Train.Len()+s.Test.Len() != 15 {
		t.Fatalf("%+v", s)
	}
	for _, train := range []bool{true, false} {
		c, err := Collect(dir+map[bool]string{true: ":train", false: ":test"}[train], "", s.Classes)
		must(t, err)
		got := make([]byte, s.size())
		for i := range c.Len() {
			must(t, c.NewReader().Pixels(i, got, 24, 24, 3, true))
			if !bytes.Equal(got, pixels(s, i, train)) {
				t.Errorf("%s has other pixels alone than in its set", c.PictureName(i))
			}
		}
	}
	for name, words := range map[string]string{"fashion-sample": "leave it out"} {
		_, err := LoadWith(name, "", Options{Size: 24})
		wantError(t, err, "--size", words)
	}
}

// All broken pictures are found at once, and may be left out: the others are as they were.
func TestBrokenPicturesAreListedAtOnce(t *testing.T) {
	dir := mixedFolder(t, true)
	_, err := LoadWith(dir, "", Options{Size: 24})
	var bad *BrokenError
	if !errors.As(err, &bad) || len(bad.Files) != 4 || bad.Of != 19 {
		t.Fatalf("%v", err)
	}
	wantError(t, err, "4 of 19 pictures cannot be read", "and 1 more", "--skip-broken")
	all := fmt.Sprint(bad.Files)
	for _, want := range []string{"cut.png: cannot be read", "empty.jpg: an empty file", "old.bmp: a BMP picture",
		"giant.jpg: a header of 60000×60000 pixels"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %s", want, all)
		}
	}
	s, err := LoadWith(dir, "", Options{Size: 24, SkipBroken: true})
	must(t, err)
	if len(s.Broken) != 4 || s.Train.Len()+s.Test.Len() != 15 {
		t.Errorf("%d and %d pictures, %v", s.Train.Len(), s.Test.Len(), s.Broken)
	}
	if err := s.finish(); err != nil {
		t.Error(err)
	}
	whole, err := LoadWith(mixedFolder(t, false), "", Options{Size: 24})
	must(t, err)
	sum := func(s *Set) (n int) {
		for _, v := range append(bytes.Clone(s.Train.Images), s.Test.Images...) {
			n += int(v)
		}
		return n
	}
	if sum(s) != sum(whole) {
		t.Error("the pictures that are left are not the others")
	}
}

func TestHugePicturesAreRefusedBeforeDecoding(t *testing.T) {
	head := pngOf(t, grey(2, 2, 1))
	chunk := head[12:29] // IHDR, width, height and the rest; its checksum follows
	binary.BigEndian.PutUint32(chunk[4:], 1e6)
	binary.BigEndian.PutUint32(chunk[8:], 1e6)
	binary.BigEndian.PutUint32(head[29:], crc32.ChecksumIEEE(chunk))
	dir := t.TempDir()
	write(t, head, dir, "a", "1.png")
	write(t, head, dir, "a", "2.png")
	write(t, head, dir, "b", "3.png")
	_, err := Load(dir, "")
	wantError(t, err, "3 images of 1000000×1000000 pixels need 3000 GB", "scale them down")
}
