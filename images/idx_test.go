package images

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

func idxFile(shape []byte, values []byte) []byte {
	b := []byte{0, 0, 8, byte(len(shape))}
	for _, n := range shape {
		b = append(b, 0, 0, 0, n)
	}
	return append(b, values...)
}

func gz(t testing.TB, b []byte) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, err := z.Write(b)
	must(t, err)
	must(t, z.Close())
	return buf.Bytes()
}

// tinyMNIST has three training images and one test image of 2×2.
func tinyMNIST() (*mnist, [4][]byte) {
	m := *fashion
	m.side, m.count, m.folders = 2, [2]int{3, 1}, nil
	files := [4][]byte{
		idxFile([]byte{3, 2, 2}, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), idxFile([]byte{3}, []byte{0, 9, 4}),
		idxFile([]byte{1, 2, 2}, []byte{200, 201, 202, 203}), idxFile([]byte{1}, []byte{7}),
	}
	for k, b := range files {
		sum := sha256.Sum256(b)
		m.sha256[k] = hex.EncodeToString(sum[:])
	}
	return &m, files
}

func TestIDXFilesWithAndWithoutGzip(t *testing.T) {
	m, files := tinyMNIST()
	dir := t.TempDir()
	_, err := m.load(dir)
	wantError(t, err, "fashion-mnist", "not found in "+filepath.Join(dir, m.name), "dataset-fashion-mnist",
		"train-images-idx3-ubyte")
	for k, name := range idxNames {
		if k%2 == 0 {
			write(t, gz(t, files[k]), dir, m.name, name+".gz")
		} else {
			write(t, files[k], dir, m.name, name)
		}
	}
	s, err := m.load(dir)
	must(t, err)
	must(t, s.finish())
	if !bytes.Equal(pixels(s, 2, true), []byte{9, 10, 11, 12}) || s.Train.Labels[1] != 9 || s.Test.Labels[0] != 7 {
		t.Errorf("%+v", s)
	}
	var said []string
	must(t, m.get(context.Background(), dir, func(s string) { said = append(said, s) }))
	if len(said) != 2 {
		t.Errorf("said %q", said)
	}
}

func TestIDXDamageIsNamed(t *testing.T) {
	m, files := tinyMNIST()
	images, sum := files[0], m.sha256[0]
	changed := bytes.Clone(images)
	changed[20]++
	packed := gz(t, images)
	for name, c := range map[string]struct {
		b     []byte
		words []string
	}{
		"empty":        {nil, []string{"header ends after 0 bytes"}},
		"labels":       {files[1], []string{"header ends after 11 bytes"}},
		"not IDX":      {bytes.Repeat([]byte("x"), 100), []string{"starts with 78 78 78 78", "00 00 08 03"}},
		"other size":   {idxFile([]byte{3, 2, 3}, make([]byte, 18)), []string{"dimension 3 is 3, want 2"}},
		"cut":          {images[:20], []string{"cut short: 4 values, want 12"}},
		"long":         {append(bytes.Clone(images), 1), []string{"more follows"}},
		"changed":      {changed, []string{"sha256", "want " + sum}},
		"cut gzip":     {packed[:len(packed)-9], []string{"unexpected EOF"}},
		"damaged gzip": {append(packed[:len(packed)-8:len(packed)-8], make([]byte, 8)...), []string{"invalid checksum"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, readIDX(bytes.NewReader(c.b), "f", make([]byte, 12), sum, 3, 2, 2),
				append(c.words, "fetch it again")...)
		})
	}
	labels := make([]byte, 3)
	must(t, readIDX(bytes.NewReader(idxFile([]byte{3}, []byte{1, 10, 2})), "f", labels, "", 3))
	wantError(t, tenClasses("f", labels), "label 10 of image 1 is out of range")
}

func TestDebiansFolderIsFound(t *testing.T) {
	if _, err := os.Stat(fashion.folders[0]); err != nil {
		t.Skip("Debian's dataset-fashion-mnist is not installed")
	}
	s, err := Load("fashion-mnist", t.TempDir())
	must(t, err)
	if s.Train.Len() != 60000 || s.Test.Len() != 10000 {
		t.Errorf("%d training and %d test images", s.Train.Len(), s.Test.Len())
	}
}
