package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// DataPack is `bregman data pack`.
type DataPack struct {
	Source   []string `arg:"" json:"source" file:""`
	Out      string   `required:"" placeholder:"FILE" json:"out" role:"output"`
	Size     int      `default:"256" json:"size"`
	Side     string   `default:"short" json:"side"`
	Format   string   `default:"jpeg" json:"format"`
	Quality  int      `default:"90" json:"quality"`
	RawShare float64  `default:"0.5" json:"raw_share"`
	DryRun   bool     `json:"-"`
	Printed
}

// Texts are the words for its settings.
func (*DataPack) Texts() settings.Texts {
	return settings.Texts{
		About: "Pack pictures of any sizes into one file to train on.",
		Help: map[string]string{
			"source":    "Folder, tar or zip of pictures; or two, the training and the test pictures.",
			"out":       "File to write.",
			"size":      "Shrink larger pictures until their side has this many pixels.",
			"side":      "Which side: the short one, as random crops need, or the long one, as FFCV counts.",
			"format":    "jpeg; raw, YCbCr 4:2:0 without compression, which needs no decoding; or mix.",
			"quality":   "Of JPEG, from 1 to 100.",
			"raw_share": "Of a mix: this share of the pictures is raw.",
			"dry_run":   "Only say what there is, and how large the file will be.",
		},
		Choices: map[string][]string{"side": {images.ShortSide, images.LongSide}, "format": images.PackFormats},
	}
}

// Help is shown by --help.
func (*DataPack) Help() string {
	return `Examples:
  bregman data pack imagenette2-320 --out imagenette.pack
  bregman data pack ILSVRC2012_img_train.tar ILSVRC2012_img_val.tar --out imagenet.pack
  bregman data pack tiny-imagenet-200.zip --out tiny.pack --size 64
  bregman train --model resnet18-imagenet --data imagenette.pack

A source has a folder for each class, in train and val or test, or alone: then a tenth of every class is set aside for
testing. Tiny-ImageNet and ILSVRC2012 are known as they are distributed; ILSVRC2012's tars need not be unpacked, and
the labels of its validation pictures are part of this program.

Pictures are decoded, shrunk by area and stored in YCbCr 4:2:0. Small JPEG files that are in this form already are kept
as they are. EXIF orientation is ignored, as torchvision and FFCV do, and counted. Files that cannot be used are listed
in FILE.problems.txt. A packing that was interrupted continues if the same command is given again. At the end the whole
file is read and checked.`
}

// settings are those of the library.
func (d *DataPack) settings() images.PackSettings {
	s := images.PackSettings{Size: d.Size, Side: d.Side, Format: d.Format, Quality: d.Quality, RawShare: d.RawShare}
	if d.Format != images.FormatMix { // not part of what is packed
		s.RawShare = 0
	}
	if d.Format == images.FormatRaw {
		s.Quality = 100
	}
	return s
}

// Check returns the first thing wrong with the settings.
func (d *DataPack) Check() error {
	if d.Out == "" || d.Out == "-" {
		return settings.Errorf("out", "--out: name the file to write")
	}
	if len(d.Source) == 0 || len(d.Source) > 2 {
		return settings.Errorf("source", "%d sources: want one, or two for the training and the test pictures", len(d.Source))
	}
	if !(d.RawShare >= 0 && d.RawShare <= 1) {
		return settings.Errorf("raw_share", "--raw-share %v: want 0 to 1", d.RawShare)
	}
	for _, c := range []struct {
		key string
		bad bool
	}{{"size", d.Size < 8 || d.Size > 32768}, {"quality", d.Quality < 1 || d.Quality > 100}} {
		if c.bad {
			return settings.Errorf(c.key, "--%v", images.PackSettings{Size: d.Size, Side: d.Side, Format: d.Format,
				Quality: d.Quality, RawShare: d.RawShare}.Check())
		}
	}
	return nil
}

// Do packs.
func (d *DataPack) Do(ctx context.Context, env *Env) (Result, error) {
	var inputs []Input
	for _, s := range d.Source {
		inputs = append(inputs, Input{"source", s})
	}
	if err := CheckOut(d.Out, inputs...); err != nil {
		return nil, err
	}
	begin := time.Now()
	src, err := images.OpenSource(ctx, d.Source...)
	if err != nil {
		return nil, unpacked(ctx, err)
	}
	defer src.Close()
	env.Say("%s: %s; %s training and %s test pictures in %s, listed in %v", src.Name, src.Layout,
		render.Thousands(len(src.Train)), render.Thousands(len(src.Test)), fmt.Sprintf("%d classes", len(src.Classes)),
		time.Since(begin).Round(time.Millisecond))
	p, err := images.NewPacker(src, d.Out, d.settings())
	if err != nil {
		return nil, err
	}
	if !d.DryRun {
		if r, err := p.Done(); err != nil || r != nil {
			return d.finished(r, err)
		}
	}
	e, err := p.Estimate(ctx)
	if err != nil {
		return nil, unpacked(ctx, err)
	}
	env.Say("%s will have about %s (from a sample of %s) and take about %v on this machine", d.Out, render.Bytes(e.Bytes),
		render.Count(e.Sampled, "picture"), time.Duration(e.Seconds*float64(time.Second)).Round(time.Second))
	if d.DryRun {
		return packEstimate(e), nil
	}
	if err := d.room(e); err != nil {
		return nil, err
	}
	if e.Done > 0 {
		env.Say("continuing after %s of %s pictures", render.Thousands(e.Done), render.Thousands(e.Pictures))
	}
	var bar Bar
	stage := ""
	r, err := p.Write(ctx, func(now string, done, total int) {
		if now != stage {
			if bar != nil {
				bar.End()
			}
			stage, bar = now, env.Bar(now+" "+filepath.Base(d.Out), int64(done), int64(total))
		}
		bar.Set(int64(done), "")
	})
	if bar != nil {
		bar.End()
	}
	if err != nil {
		return nil, err
	}
	return d.report(env, r)
}

// finished is the result of a packing that an earlier command finished.
func (d *DataPack) finished(r *images.PackReport, err error) (Result, error) {
	if err != nil {
		return nil, err
	}
	return packed{r, d.Out}, r.Close()
}

// report tells what could not be packed.
func (d *DataPack) report(env *Env, r *images.PackReport) (Result, error) {
	for i, one := range r.Problems[:min(len(r.Problems), 20)] {
		if i == 0 {
			env.Say("%s could not be packed; all are in %s:", render.Count(len(r.Problems), "file"), r.List)
		}
		env.Say("  %v", one)
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	return packed{r, d.Out}, nil
}

// unpacked is the error before anything was written.
func unpacked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted before anything was written")
	}
	return err
}

// room returns an error if the disk cannot take the file.
func (d *DataPack) room(e images.PackEstimate) error {
	left := int64(float64(e.Bytes) * float64(e.Pictures-e.Done) / float64(e.Pictures))
	free, ok := FreeBytes(filepath.Dir(d.Out))
	if !ok || free > math.MaxInt64 || int64(free) > left {
		return nil
	}
	return fmt.Errorf("--out %s: %s more are needed, and %s are free there: make room, choose a smaller --size, or name "+
		"a file on another disk", d.Out, render.Bytes(left), render.Bytes(int64(free)))
}

// packEstimate is what --dry-run finds.
type packEstimate images.PackEstimate

func (packEstimate) Print(io.Writer) {} // it was said already

func (e packEstimate) JSON() any {
	return map[string]any{"pictures": e.Pictures, "bytes": e.Bytes, "seconds": e.Seconds, "sampled": e.Sampled,
		"done": e.Done}
}

// packed is a file that was packed.
type packed struct {
	*images.PackReport
	out string
}

func (p packed) JSON() any {
	return map[string]any{"out": p.out, "bytes": p.Bytes(), "train": len(p.Train), "test": len(p.Test),
		"classes": len(p.Classes), "problems": p.PackInfo.Problems, "list": p.List, "kinds": p.Kinds,
		"continued": p.Continued, "was_complete": p.Complete, "seconds": p.Seconds, "checking_seconds": p.Checking,
		"hash": p.Hash}
}

func (p packed) Print(w io.Writer) {
	if p.Complete {
		fmt.Fprintf(w, "%s is complete already: %s\n", p.out, render.Bytes(p.Bytes()))
		if p.PackInfo.Problems > 0 {
			fmt.Fprintf(w, "%s could not be packed: see %s\n", render.Count(p.PackInfo.Problems, "file"), p.List)
		}
		return
	}
	n := len(p.Train) + len(p.Test)
	fmt.Fprintf(w, "%s: %s, %s training and %s test pictures, checked\n", p.out, render.Bytes(p.Bytes()),
		render.Thousands(len(p.Train)), render.Thousands(len(p.Test)))
	fmt.Fprintf(w, "%v, %s pictures a second (reading it again: %v)\n", seconds(p.Seconds),
		render.Thousands(int(float64(n-p.Continued)/p.Seconds)), seconds(p.Checking))
	fmt.Fprintf(w, "of the source: %s\n", kinds(p.Kinds))
	var missing []string
	count := make([]int, len(p.Classes))
	for _, e := range p.Train {
		count[e.Label]++
	}
	for i, c := range count {
		if c == 0 {
			missing = append(missing, p.Classes[i])
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(w, "no training picture could be packed of %d of the classes: %v\n", len(missing), missing)
	}
	fmt.Fprintf(w, "look at it:  bregman data info %s --sheet sheet.png\n", settings.Quote(p.out))
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond)
}
