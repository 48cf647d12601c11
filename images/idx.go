package images

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// mnist says what the four IDX files of a data set are called, which may end in .gz, and what is in them.
type mnist struct {
	name    string
	side    int
	count   [2]int    // of training and test images
	sha256  [4]string // of the files as they are without gzip, in the order of idxNames; empty is not checked
	folders []string  // where else to look
	classes []string
	advice  string
}

var idxNames = [4]string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
	"t10k-labels-idx1-ubyte"}

var fashion = &mnist{
	name: "fashion-mnist", side: 28, count: [2]int{60000, 10000},
	sha256: [4]string{
		"c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
		"bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
		"5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
		"0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
	},
	folders: []string{"/usr/share/datasets/fashion-mnist", "/usr/share/dataset/fashion-mnist"}, // Debian's
	classes: []string{"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
		"ankle boot"},
	advice: "install the Debian package dataset-fashion-mnist",
}

func (m *mnist) places(dir string) []string {
	return append([]string{filepath.Join(dir, m.name)}, m.folders...)
}

// find returns the folder with the four files.
func (m *mnist) find(dir string) (string, bool) {
	for _, d := range m.places(dir) {
		n := 0
		for _, name := range idxNames {
			if idxPath(d, name) != "" {
				n++
			}
		}
		if n == len(idxNames) {
			return d, true
		}
	}
	return m.places(dir)[0], false
}

func idxPath(dir, name string) string {
	for _, end := range []string{"", ".gz"} {
		if p := filepath.Join(dir, name+end); isFile(p) {
			return p
		}
	}
	return ""
}

// how says what to do to have the files: nothing here fetches them.
func (m *mnist) how(dir string) string {
	return fmt.Sprintf("%s, or put %s and its three companions (.gz or not) into %s", m.advice, idxNames[0],
		m.places(dir)[0])
}

func (m *mnist) load(dir string) (*Set, error) {
	d, here := m.find(dir)
	if !here {
		return nil, missing(m.name, m.places(dir), m.how(dir))
	}
	s := &Set{Name: m.name, Height: m.side, Width: m.side, Channels: 1, Classes: m.classes}
	for k, to := range []*Split{&s.Train, &s.Test} {
		n := m.count[k]
		to.Images, to.Labels = make([]byte, n*m.side*m.side), make([]uint8, n)
		if err := m.read(d, 2*k, to.Images, n, m.side, m.side); err != nil {
			return nil, err
		}
		if err := m.read(d, 2*k+1, to.Labels, n); err != nil {
			return nil, err
		}
		if err := tenClasses(idxPath(d, idxNames[2*k+1]), to.Labels); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// read fills dst from the k-th file.
func (m *mnist) read(dir string, k int, dst []byte, shape ...int) error {
	name := idxPath(dir, idxNames[k])
	f, err := os.Open(name)
	if err != nil {
		return failed(name, "read", err)
	}
	defer f.Close()
	return readIDX(f, name, dst, m.sha256[k], shape...)
}

// get cannot fetch anything, but it verifies what is there and says what to do when nothing is.
func (m *mnist) get(_ context.Context, dir string, say func(string)) error {
	for _, d := range m.places(dir) {
		say("looking in " + d)
	}
	if _, err := m.load(dir); err != nil {
		return err
	}
	d, _ := m.find(dir)
	say(m.name + " is in " + d + ", all checksums right")
	return nil
}

// readIDX reads an array of bytes of just that shape: two zero bytes, 8 for the type, the number of dimensions,
// each of them in four bytes, big end first, and the values.
func readIDX(r io.Reader, name string, dst []byte, sum string, shape ...int) error {
	in := bufio.NewReaderSize(r, 1<<16)
	var plain io.Reader = in
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return damaged(name, cause(err))
		}
		plain = z
	}
	h := sha256.New()
	plain = io.TeeReader(plain, h)

	want := []byte{0, 0, 8, byte(len(shape))}
	for _, n := range shape {
		want = binary.BigEndian.AppendUint32(want, uint32(n))
	}
	head := make([]byte, len(want))
	if n, err := io.ReadFull(plain, head); err != nil {
		return damaged(name, fmt.Sprintf("the header ends after %d bytes: %s", n, cause(err)))
	}
	if !bytes.Equal(head[:4], want[:4]) {
		return damaged(name, fmt.Sprintf("it starts with % x, an IDX file of bytes in %d dimensions with % x", head[:4],
			len(shape), want[:4]))
	}
	for i, n := range shape {
		if got := binary.BigEndian.Uint32(head[4+4*i:]); got != uint32(n) {
			return damaged(name, fmt.Sprintf("dimension %d is %d, want %d", i+1, got, n))
		}
	}
	if n, err := io.ReadFull(plain, dst); err != nil {
		return damaged(name, fmt.Sprintf("cut short: %d values, want %d: %s", n, len(dst), cause(err)))
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(plain, 1)); n > 0 || err != nil {
		why := "more follows its last value"
		if err != nil { // gzip's own checksum, among others
			why = cause(err)
		}
		return damaged(name, why)
	}
	if got := hex.EncodeToString(h.Sum(nil)); sum != "" && got != sum {
		return damaged(name, fmt.Sprintf("sha256 %s without gzip, want %s", got, sum))
	}
	return nil
}
