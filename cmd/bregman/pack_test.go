package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/images"
)

// photographs writes a folder with n JPEG files in three classes, of ten different pictures of 4:3 with that height.
func photographs(t *testing.T, dir string, n, height int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		folder := filepath.Join(dir, "photos", []string{"ant", "bee", "cat"}[i%3])
		path := filepath.Join(folder, fmt.Sprintf("%05d.jpg", i))
		first := filepath.Join(dir, fmt.Sprintf("first%d", i%10))
		if i < 10 {
			m := image.NewRGBA(image.Rect(0, 0, height*4/3, height+i))
			for k := 0; k < len(m.Pix); k += 4 {
				x, y := k%m.Stride, k/m.Stride
				copy(m.Pix[k:], []byte{byte(x/16 + i*20), byte(y/2 + rng.IntN(40)), byte(x/8 ^ y), 255})
			}
			var b bytes.Buffer
			if err := errors.Join(jpeg.Encode(&b, m, nil), os.WriteFile(first, b.Bytes(), 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.MkdirAll(folder, 0o777), os.Link(first, path)); err != nil {
			t.Fatal(err)
		}
	}
}

// packedPhotographs is a folder with x.pack: n photographs of that height, packed at 40 pixels.
func packedPhotographs(t *testing.T, n, height int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	photographs(t, dir, n, height)
	if _, stderr, code := bregman(t, dir, "data", "pack", "photos", "--out", "x.pack", "--size", "40"); code != 0 {
		t.Fatal(stderr)
	}
	return dir
}

func sumOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// sizeOf is the size of a file, 0 if there is none.
func sizeOf(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// A packing that is interrupted says how to continue; one that is killed at any moment says nothing. The same command
// continues both, and the file is that of one that nothing happened to.
func TestAKilledPackingContinues(t *testing.T) {
	dir := t.TempDir()
	photographs(t, dir, 2400, 560)
	command := func(out string) []string {
		return []string{"data", "pack", "photos", "--out", out, "--size", "64", "--json"}
	}
	began := time.Now()
	if _, stderr, code := bregman(t, dir, command("whole.pack")...); code != 0 {
		t.Fatal(stderr)
	}
	took := time.Since(began)
	want, journal := sumOf(t, filepath.Join(dir, "whole.pack")), filepath.Join(dir, "out.pack.journal")
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))

	cmd, said := begin(t, dir, program, command("out.pack")...)
	waitFor(t, "a journal", func() bool { return sizeOf(journal) > 0 })
	time.Sleep(took / 20)
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "bregman: out.pack: stopped after ") ||
		!strings.Contains(said.String(), " of 2400 pictures: the same command continues there\n") {
		t.Errorf("%v: %s", cmd.ProcessState, said)
	}

	hit := 0
	for k := range 4 {
		before := sizeOf(journal)
		cmd, said := begin(t, dir, program, command("out.pack")...)
		switch k {
		case 0: // after another block, if it comes before the end
			waitFor(t, "a block", func() bool { return sizeOf(journal) > before || sizeOf(filepath.Join(dir, "out.pack")) > 0 })
		default:
			time.Sleep(time.Duration(rng.Int64N(int64(took / 4))))
		}
		cmd.Process.Signal(syscall.SIGKILL)
		cmd.Wait()
		if cmd.ProcessState.ExitCode() == -1 {
			hit++
		} else if cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("after %d kills: %v, %s", hit, cmd.ProcessState, said)
		}
	}
	stdout, stderr, code := bregman(t, dir, command("out.pack")...)
	var result struct {
		Continued, Train, Test int
		Complete               bool
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || code != 0 {
		t.Fatalf("exit %d, %v, %s%s", code, err, stdout, stderr)
	}
	t.Logf("%v without a kill; %d kills hit; %+v", took, hit, result)
	// If a run came to its end before its kill, the machine is faster than it was: later runs met its file, not a journal.
	if hit < 2 || hit == 4 && result.Continued == 0 && !result.Complete || result.Train+result.Test != 2400 {
		t.Errorf("%d kills hit; %+v", hit, result)
	}
	if result.Continued > 0 && !strings.Contains(stderr, "continuing after ") {
		t.Errorf("said %s", stderr)
	}
	if got := sumOf(t, filepath.Join(dir, "out.pack")); got != want {
		t.Errorf("sha256 %s, want %s", got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out.pack.*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestDataPackSaysWhatItWouldDo(t *testing.T) {
	dir := t.TempDir()
	photographs(t, dir, 60, 40)
	stdout, stderr, code := bregman(t, dir, "data", "pack", "photos", "--out", "x.pack", "--dry-run", "--json")
	var e struct{ Pictures, Bytes, Sampled, Done int }
	if err := json.Unmarshal([]byte(stdout), &e); err != nil || code != 0 || e.Pictures != 60 || e.Sampled != 60 ||
		e.Done != 0 {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	if !strings.Contains(stderr, "54 training and 6 test pictures in 3 classes") {
		t.Errorf("said %s", stderr)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "x.pack*")); len(found) > 0 {
		t.Errorf("it wrote %v", found)
	}
	if _, stderr, code := bregman(t, dir, "data", "pack", "photos", "--out", "x.pack"); code != 0 {
		t.Fatal(stderr)
	}
	if size := sizeOf(filepath.Join(dir, "x.pack")); size < int64(e.Bytes) || size > int64(e.Bytes)+2000 {
		t.Errorf("%d bytes, estimated %d", size, e.Bytes)
	}
	stdout, _, code = bregman(t, dir, "data", "pack", "photos", "--out", "x.pack")
	if code != 0 || !strings.Contains(stdout, "x.pack is complete already") {
		t.Errorf("again: exit %d, %s", code, stdout)
	}
	_, stderr, code = bregman(t, dir, "data", "pack", "photos", "--out", "x.pack", "--size", "20")
	if code != 1 || !strings.Contains(stderr, "delete it, or name another file with --out") {
		t.Errorf("other settings: exit %d, %s", code, stderr)
	}
}

func TestDataInfoOfAPack(t *testing.T) {
	dir := t.TempDir()
	photographs(t, dir, 60, 40)
	write(t, filepath.Join(dir, "photos", "bee"), "broken.jpg", "GIF89a")
	if _, stderr, code := bregman(t, dir, "data", "pack", "photos", "--out", "x.pack", "--size", "32"); code != 0 ||
		!strings.Contains(stderr, "1 file could not be packed; all are in x.pack.problems.txt:") ||
		!strings.Contains(stderr, "bee/broken.jpg: a GIF picture") {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	stdout, stderr, code := bregman(t, dir, "data", "info", "x.pack", "--json", "--verify", "--sheet", "x.png")
	var info struct {
		Train, Test, Height, Width, Problems, Size int
		Classes                                    []string
		Verified                                   bool
		Held                                       bool `json:"held_out"`
		Hash                                       string
	}
	if err := json.Unmarshal([]byte(stdout), &info); err != nil || code != 0 || !info.Verified || !info.Held ||
		info.Train+info.Test != 60 || len(info.Classes) != 3 || info.Problems != 1 || info.Size != 32 ||
		len(info.Hash) != 64 {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	f, err := os.Open(filepath.Join(dir, "x.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sheet, err := png.Decode(f)
	if err != nil || sheet.Bounds().Dx() < 100 || sheet.Bounds().Dy() < 100 {
		t.Fatalf("the sheet: %v", err)
	}
	colours := map[color.Color]bool{}
	for y := range sheet.Bounds().Dy() {
		for x := range sheet.Bounds().Dx() {
			colours[sheet.At(x, y)] = true
		}
	}
	if len(colours) < 1000 {
		t.Errorf("a sheet of %d colours", len(colours))
	}
	stdout, _, code = bregman(t, dir, "data", "info", "x.pack", "--verify")
	if code != 0 || !strings.Contains(stdout, "all checksums are right") ||
		!strings.Contains(stdout, "a packed file, version 1") {
		t.Errorf("exit %d, %s", code, stdout)
	}

	// One byte is wrong: the picture is named. A name is wrong: it is not taken for right.
	path := filepath.Join(dir, "x.pack")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := images.OpenPack(path)
	if err != nil {
		t.Fatal(err)
	}
	e, name := p.Train[7], p.PictureName(true, 7)
	p.Close()
	for at, want := range map[int]string{int(e.Offset) + int(e.Length)/2: "checksum of " + name,
		bytes.LastIndex(whole, []byte(name)): "list of names"} {
		b := bytes.Clone(whole)
		b[at] ^= 16
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code = bregman(t, dir, "data", "info", "x.pack", "--verify")
		if code != 1 || stdout != "" || !strings.Contains(stderr, "x.pack: ") || !strings.Contains(stderr, want) ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("byte %d: exit %d, want 1 and %q: %s%s", at, code, want, stdout, stderr)
		}
	}
	if err := os.Truncate(path, int64(len(whole)-1)); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code = bregman(t, dir, "data", "info", "x.pack"); code != 1 || !strings.Contains(stderr, "damaged") {
		t.Errorf("cut: exit %d, %s", code, stderr)
	}
}

func TestBadUsageOfPacksSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	photographs(t, dir, 30, 20)
	write(t, dir, "notes.txt", "text")
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"data pack photos", "--out", 2},
		{"data pack --out x.pack", "<source>", 2},
		{"data pack photos photos photos --out x.pack", "want one, or two", 2},
		{"data pack photos --out x.pack --size 4", "--size 4: want 8 to 32768 pixels", 2},
		{"data pack photos --out x.pack --size 40000", "--size 40000: want 8 to 32768 pixels", 2},
		{"data pack photos --out x.pack --side middle", "middle", 2},
		{"data pack photos --out x.pack --format tiff", "tiff", 2},
		{"data pack photos --out x.pack --quality 0", "--quality 0: want 1 to 100", 2},
		{"data pack photos --out x.pack --format mix --raw-share 2", "--raw-share 2: want 0 to 1", 2},
		{"data info fashion-sample --verify", "fashion-sample is not a packed file", 2},
		{"data pack nowhere --out x.pack", "nowhere", 1},
		{"data pack empty --out x.pack", "empty: no pictures", 1},
		{"data pack notes.txt --out x.pack", "notes.txt", 1},
		{"data pack photos --out photos", "photos", 1},
		{"data pack photos --out notes.txt/x.pack", "notes.txt", 1},
		{"data pack photos --out -", "--out: name the file", 2},
		{"data pack photos --out notes.txt", "a file of this name already", 1},
		{"data info notes.txt", "notes.txt", 1},
	} {
		stdout, stderr, code := bregman(t, dir, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stderr, c.want) || stdout != "" || strings.Contains(stderr, "goroutine") {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, stdout, stderr)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "x.pack*")); len(found) > 0 {
		t.Errorf("left %v", found)
	}
}

// A run whose pictures stream from a packed file, killed in the middle, ends with the weights of one that was not.
func TestAKilledRunOnAPackResumes(t *testing.T) {
	if raceDetector {
		t.Skip("GoMLX's engine in Go fails the pointer checks that come with the race detector")
	}
	dir := packedPhotographs(t, 150, 48)
	args := strings.Fields("train --model cnn --data x.pack --p 3 --epochs 30 --batch 16 --lr 0.1 --engine cpu " +
		"--feed streamed --no-study")
	if _, stderr, code := bregman(t, dir, append(args, "--runs", "whole")...); code != 0 {
		t.Fatal(stderr)
	}
	cmd, _ := begin(t, dir, program, args...)
	run := theRun(t, dir)
	waitFor(t, "a checkpoint", func() bool {
		all, _ := filepath.Glob(filepath.Join(run, "checkpoints", "*.safetensors"))
		return len(all) > 0
	})
	cmd.Process.Kill()
	if cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("%v before it was killed", cmd.ProcessState)
	}
	if _, stderr, code := bregman(t, dir, "train", "--resume", run, "--engine", "cpu"); code != 0 ||
		!strings.Contains(stderr, "resuming after epoch") {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	whole, _ := filepath.Glob(filepath.Join(dir, "whole", "*", "weights.safetensors"))
	if len(whole) != 1 || sumOf(t, whole[0]) != sumOf(t, filepath.Join(run, "weights.safetensors")) {
		t.Errorf("other weights than %v", whole)
	}
}
