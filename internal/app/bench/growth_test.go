package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/train"
)

var (
	growthPictures = flag.String("pack.pictures", "", "glob of picture files; packs them again and again and measures it")
	growthScratch  = flag.String("pack.scratch", os.TempDir(), "folder for the packed files, on the pictures' disk")
	growthMost     = flag.Int("pack.most", 1_281_167, "training pictures of the largest file")
	growthFigure   = flag.String("pack.figure", "", "PNG file for the figure")
)

// How packing and reading grow with the number of pictures, up to ImageNet's: not a test but a measurement.
func TestPackingGrowth(t *testing.T) {
	if *growthPictures == "" {
		t.Skip("needs -pack.pictures")
	}
	files, err := filepath.Glob(*growthPictures)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", *growthPictures, len(files), err)
	}
	var n, pack, read, memory, size []float64
	for count := 10_000; ; count = min(10*count, *growthMost) {
		dir, err := os.MkdirTemp(*growthScratch, "growth")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		linkPictures(t, filepath.Join(dir, "train"), files, count)
		linkPictures(t, filepath.Join(dir, "val"), files, max(1000, count/25))
		out := filepath.Join(dir, "pictures.pack")
		begin := time.Now()
		src, err := images.OpenSource(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		p, err := images.NewPacker(src, out, images.PackSettings{Size: 256, Side: images.ShortSide, Format: images.FormatJPEG,
			Quality: 90})
		if err != nil {
			t.Fatal(err)
		}
		report, err := p.Write(t.Context(), func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		packed := time.Since(begin).Seconds()
		peak := peakMemory(t)
		report.Close()
		src.Close()
		begin = time.Now()
		set, err := images.Load(out, "")
		if err != nil {
			t.Fatal(err)
		}
		opened := time.Since(begin)
		speed, err := train.MeasureReading(t.Context(), set, 256, 10)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d pictures: packed in %.1f s, peak %s so far, file %s; opened in %v, read at %.0f img/s", count, packed,
			render.Bytes(int64(peak)), render.Bytes(set.Pack.Bytes()), opened.Round(time.Millisecond), speed.Rate())
		n, pack, memory = append(n, float64(count)), append(pack, packed), append(memory, peak/1e6)
		read, size = append(read, speed.Rate()), append(size, float64(set.Pack.Bytes())/1e6)
		set.Close()
		os.RemoveAll(dir)
		if count == *growthMost {
			break
		}
	}
	figure := func(title, y string, values []float64) render.Figure {
		return render.Figure{Title: title, X: "training pictures", Y: y, LogX: true, LogY: true, Series: []render.Series{
			{X: n, Y: values}, {X: n, Y: values, Style: render.Discs}}}
	}
	flat := figure("Reading", "pictures a second", read)
	flat.LogY = false // from 0
	flat.Min, flat.Max = [2]float64{n[0], 0}, [2]float64{n[len(n)-1], 1.2 * slices.Max(read)}
	png, err := render.PNG(figure("Packing, with the check", "seconds", pack), figure("Memory at most", "MB", memory),
		figure("File", "MB", size), flat)
	if err == nil && *growthFigure != "" {
		err = os.WriteFile(*growthFigure, png, 0o666)
	}
	if err != nil {
		t.Error(err)
	}
}

// linkPictures makes class folders with links to files.
func linkPictures(t *testing.T, dir string, files []string, count int) {
	const classes = 1000
	for c := range classes {
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("c%04d", c)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for i := range count {
		name := filepath.Join(dir, fmt.Sprintf("c%04d", i%classes), fmt.Sprint(i, ".jpg"))
		if err := os.Link(files[i%len(files)], name); err != nil {
			t.Fatal(err)
		}
	}
}

// peakMemory is the most memory that the process has had, in bytes.
func peakMemory(t *testing.T) float64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("needs Linux")
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kilobytes, _ := strconv.ParseFloat(f[1], 64)
			return 1024 * kilobytes
		}
	}
	return 0
}
