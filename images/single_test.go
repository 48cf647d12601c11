package images

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// file writes a file.
func file(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, data, 0o666)); err != nil {
		t.Fatal(err)
	}
}

// colours is a PNG whose pixels differ.
func colours(t testing.TB, height, width int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, color.RGBA{uint8(10 * x), uint8(20 * y), uint8(x + y), 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCollectFindsPicturesAndTheirLabels(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"cat/1.png", "cat/deep/2.png", "dog/3.png", "4.png", "owl/5.png", ".x/6.png"} {
		file(t, filepath.Join(dir, name), colours(t, 4, 4))
	}
	file(t, filepath.Join(dir, "notes.txt"), nil)
	c, err := Collect(dir, "", []string{"cat", "dog"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range c.Len() {
		label := "-"
		if k := c.Label(i); k >= 0 {
			label = c.Classes[k]
		}
		name, err := filepath.Rel(dir, c.PictureName(i))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.ToSlash(name)+" "+label)
	}
	want := []string{"4.png -", "cat/1.png cat", "cat/deep/2.png cat", "dog/3.png dog", "owl/5.png -"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	one, err := Collect(filepath.Join(dir, "4.png"), "", nil)
	if err != nil || one.Len() != 1 || one.Label(0) != -1 {
		t.Errorf("%+v, %v", one, err)
	}
	both, err := Join([]*Collection{one, c})
	if err != nil || both.Len() != 6 || both.Label(2) != 0 {
		t.Errorf("%+v, %v", both, err)
	}
	for spec, want := range map[string]string{filepath.Join(dir, "none.png"): "no such pictures",
		filepath.Join(dir, "4.png") + ":test": "a picture has no parts", dir + "/.x/none": "no such pictures"} {
		if _, err := Collect(spec, "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// A part of a folder has the pictures of the set that the folder is, in their order.
func TestAPartOfAFolderIsThatOfItsSet(t *testing.T) {
	dir := t.TempDir()
	for _, class := range []string{"a", "b"} {
		for k := range 12 {
			b := colours(t, 4, 5)
			file(t, filepath.Join(dir, class, string(rune('a'+k))+".png"), b)
		}
	}
	file(t, filepath.Join(dir, "b", "z.png"), colours(t, 4, 5))
	set, err := Load(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for part, split := range map[string]Split{"train": set.Train, "test": set.Test} {
		c, err := Collect(dir+":"+part, "", nil)
		if err != nil || c.Len() != split.Len() {
			t.Fatalf("%v, %d of %d", err, c.Len(), split.Len())
		}
		r, got := c.NewReader(), make([]byte, set.size())
		for i := range split.Len() {
			err := r.Pixels(i, got, set.Height, set.Width, set.Channels, false)
			if err != nil || !bytes.Equal(got, split.Images[i*set.size():(i+1)*set.size()]) || c.Label(i) != split.Label(i) {
				t.Errorf("%s %d: %v", part, i, err)
			}
		}
	}
}

func TestPicturesOfAnotherSizeAreRefusedOrResized(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.png")
	file(t, path, colours(t, 8, 12))
	c, err := Collect(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, dst := c.NewReader(), make([]byte, 4*4*3)
	var bad *SizeError
	if err := r.Pixels(0, dst, 4, 4, 3, false); !errors.As(err, &bad) || bad.Height != 8 || bad.Width != 12 ||
		!strings.Contains(err.Error(), path+": 12×8 pixels (width × height), the network was trained on 4×4") {
		t.Error(err)
	}
	if err := r.Pixels(0, dst, 4, 4, 3, true); err != nil {
		t.Fatal(err)
	}
	for y := range 4 {
		for x := range 4 { // the centre begins at column 2; a pixel is the mean of four
			want := []float64{10 * (2 + 2*float64(x) + 0.5), 20 * (2*float64(y) + 0.5), 2 + 2*float64(x+y) + 1}
			for c, v := range want {
				if got := float64(dst[(y*4+x)*3+c]); math.Abs(got-v) > 0.51 { // rounding
					t.Errorf("pixel %d, %d, channel %d: %v, want %v", x, y, c, got, v)
				}
			}
		}
	}
}

// A picture of one colour stays so, whatever the sizes, and no weight is outside the source.
func TestCoverWeightsAreMeans(t *testing.T) {
	for _, s := range [][4]int{{1, 1, 5, 7}, {5, 7, 1, 1}, {3, 200, 9, 9}, {9, 9, 3, 200}, {13, 11, 13, 11},
		{2, 2, 64, 1}} {
		src, dst := bytes.Repeat([]byte{77}, s[0]*s[1]), make([]byte, s[2]*s[3])
		cover(dst, s[2], s[3], src, s[0], s[1], 1)
		if !bytes.Equal(dst, bytes.Repeat([]byte{77}, len(dst))) {
			t.Errorf("%v: %v", s, dst)
		}
	}
}

func FuzzCollectNPZ(f *testing.F) {
	X, y := npyFile("|u1", "(2, 2, 2)", []byte{1, 2, 3, 4, 5, 6, 7, 8}), npyFile("<i2", "(2,)", []byte{0, 0, 1, 0})
	f.Add(X, y, true)
	f.Add(npyFile("|u1", "(1, 2, 2, 1)", []byte{1, 2, 3, 4}), npyFile(">i8", "(1, 1)", make([]byte, 8)), false)
	f.Add(X, []byte("\x93NUMPY\x03\x00\xff\xff\xff\xff{"), true)
	f.Fuzz(func(t *testing.T, X, y []byte, labelled bool) {
		all := []entry{{"X", X}}
		if labelled {
			all = append(all, entry{"y", y})
		}
		b := npzOf(t, all...)
		c, err := readCollection(bytes.NewReader(b), int64(len(b)), "f", "")
		if refused(t, err) {
			return
		}
		dst := make([]byte, 3*3*3)
		for i := range min(c.Len(), 5) {
			if k := c.Label(i); k >= len(c.Classes) || (k < 0) == labelled {
				t.Errorf("label %d of %d classes", k, len(c.Classes))
			}
			_ = c.NewReader().Pixels(i, dst, 3, 3, 3, true) // images of two channels are refused
		}
	})
}

// A file is refused in one line that starts with its name, or fills what the network sees of it.
func FuzzPictureFile(f *testing.F) {
	f.Add(colours(f, 3, 5))
	f.Add(colours(f, 40, 2))
	f.Add(colours(f, 3, 5)[:60])
	f.Add([]byte("\xff\xd8\xff"))
	path := filepath.Join(f.TempDir(), "f")
	f.Fuzz(func(t *testing.T, data []byte) {
		file(t, path, data)
		r := (&Collection{files: []picture{{path: path}}, labels: []int{-1}}).NewReader()
		said := func(err error) bool {
			if err != nil && (strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), path+": ")) {
				t.Errorf("error %q is not one line that starts with the file", err)
			}
			return err != nil
		}
		said(r.Pixels(0, make([]byte, 7*7*3), 7, 7, 3, true))
		said(r.Pixels(0, make([]byte, 7*7), 7, 7, 1, false))
		h, w, copyTo, err := r.Planes(0, 16, ShortSide)
		if said(err) {
			return
		}
		if h < 1 || w < 1 || min(h, w) > 16 {
			t.Errorf("%d × %d", h, w)
		}
		room := NewPlanes(make([]byte, (h+1)&^1*((w+1)&^1)*3/2), (h+1)&^1, (w+1)&^1)
		said(copyTo(image.Rect(0, 0, w, h), room, image.Point{}))
	})
}
