package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/train"
)

// Images is `bregman bench images`: reading packed pictures without a network.
type Images struct {
	Data  []string      `arg:"" json:"data" file:""`
	Batch int           `default:"1024" json:"batch"`
	Time  time.Duration `default:"5s" json:"time"`
	command.Printed
}

// Texts are the words for its settings.
func (*Images) Texts() settings.Texts {
	return settings.Texts{
		About: "Reading packed pictures as training does, without a network.",
		Help: map[string]string{
			"data":  "Packed files.",
			"batch": "Pictures a batch.",
			"time":  "How long to read each file.",
		},
	}
}

// Help is shown by --help.
func (*Images) Help() string {
	return `Example:
  bregman bench images imagenette.pack
  GOMAXPROCS=4 bregman bench images imagenette.pack

Reads batches of random crops of the training pictures in random order, on all cores, as a network would be fed that
costs nothing. Files that fit into memory are read from there after the first time.`
}

// Check returns the first thing wrong with the settings.
func (b *Images) Check() error {
	switch {
	case len(b.Data) == 0:
		return settings.Errorf("data", "name a packed file; \"bregman data pack\" makes one")
	case b.Batch < 1 || b.Batch > mostBatch:
		return settings.Errorf("batch", "--batch %d: want from 1 to %d", b.Batch, mostBatch)
	case b.Time <= 0:
		return settings.Errorf("time", "--time %v: want a positive time", b.Time)
	}
	return nil
}

// mostBatch bounds the batch: four of them are in memory.
const mostBatch = 8192

// readingTime is the measurement of one file.
type readingTime struct {
	File   string  `json:"file"`
	Stored string  `json:"stored"`
	Bytes  float64 `json:"bytes_per_picture"`
	Rate   float64 `json:"img_per_second"`
	train.ReadingSpeed
}

// readingTimes is the result of bench images.
type readingTimes struct {
	cores int
	files []readingTime
}

// Do reads.
func (b *Images) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	out := readingTimes{cores: runtime.GOMAXPROCS(0)}
	for _, path := range b.Data {
		one, err := b.read(ctx, path)
		if err != nil && len(out.files) == 0 {
			return nil, err
		}
		if err != nil {
			return out, err
		}
		out.files = append(out.files, one)
		env.Say("%s: %s img/s", path, render.Thousands(int(one.Rate)))
	}
	return out, nil
}

func (b *Images) read(ctx context.Context, path string) (readingTime, error) {
	set, err := images.Load(path, "")
	if err != nil {
		return readingTime{}, err
	}
	defer set.Close()
	speed, err := train.MeasureReading(ctx, set, b.Batch, b.Time.Seconds())
	if err != nil {
		return readingTime{}, err
	}
	one := readingTime{File: path, Stored: set.Pack.Format, Rate: speed.Rate(), ReadingSpeed: speed}
	for _, e := range set.Train.Packed {
		one.Bytes += float64(e.Length) / float64(set.Train.Len())
	}
	return one, nil
}

func (t readingTimes) JSON() any { return map[string]any{"cores": t.cores, "files": t.files} }

func (t readingTimes) Print(w io.Writer) {
	table := render.Table{Header: []string{"file", "stored as", "bytes each", "img/s", "per core", "reading", "decoding",
		"allocated each", "heap"}}
	for _, f := range t.files {
		work := f.Disk + f.Decode
		table.Rows = append(table.Rows, []render.Cell{render.Text("%s", f.File), render.Text("%s", f.Stored),
			render.Text("%.0f", f.Bytes), render.Text("%s", render.Thousands(int(f.Rate))),
			render.Text("%s", render.Thousands(int(f.Rate/float64(t.cores)))), render.Text("%.0f %%", 100*f.Disk/work),
			render.Text("%.0f %%", 100*f.Decode/work), render.Text("%.0f", f.Allocated),
			render.Text("%s", render.Bytes(int64(f.Heap)))})
	}
	fmt.Fprint(w, table.Text())
	fmt.Fprintf(w, "%s; reading includes checksums\n", render.Count(t.cores, "core"))
}
