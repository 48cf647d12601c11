package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
)

// images describes a set of images, draws a sheet of samples and checks a packed file, as asked for.
func (d *DataInfo) images(ctx context.Context, env *Env, s *images.Set) (Result, error) {
	defer s.Close()
	if d.Verify {
		if s.Pack == nil {
			return nil, &UsageError{fmt.Errorf("--verify: %s is not a packed file", d.Data)}
		}
		bar := env.Bar("checking "+d.Data, 0, int64(s.Train.Len()+s.Test.Len()))
		err := s.Pack.Verify(ctx, func(done, _ int) { bar.Set(int64(done), "") })
		bar.End()
		if err != nil {
			return nil, err
		}
	}
	if d.Sheet != "" {
		if err := CheckOutput("--sheet", d.Sheet, Input{"data", d.Data}); err != nil {
			return nil, err
		}
		sheet, err := drawSheet(s)
		if err != nil {
			return nil, err
		}
		out := NewFile(d.Sheet, sheet)
		if err := out.Save(); err != nil {
			return nil, err
		}
		if d.Sheet == "-" {
			return imagesInfo{Set: s, File: out}, nil
		}
	}
	return imagesInfo{Set: s, verified: d.Verify, sheet: d.Sheet}, nil
}

// imagesInfo is what a set of images holds.
type imagesInfo struct {
	*images.Set
	File     // a sheet for standard output
	verified bool
	sheet    string // path of the sheet that was written
}

// perClass counts the images of each class.
func (s imagesInfo) perClass() (train, test []int) {
	train, test = make([]int, len(s.Classes)), make([]int, len(s.Classes))
	for i := range s.Train.Len() {
		train[s.Train.Label(i)]++
	}
	for i := range s.Test.Len() {
		test[s.Test.Label(i)]++
	}
	return train, test
}

func (s imagesInfo) JSON() any {
	train, test := s.perClass()
	out := map[string]any{"name": s.Name, "height": s.Height, "width": s.Width, "channels": s.Channels,
		"train": s.Train.Len(), "test": s.Test.Len(), "classes": s.Classes, "train_per_class": train,
		"test_per_class": test, "mean": s.Mean, "deviation": s.Deviation, "hash": s.Hash}
	if p := s.Pack; p != nil {
		out["bytes"], out["source"], out["layout"], out["version"] = p.Bytes(), p.PackInfo.Name, p.Layout, p.Version
		out["size"], out["side"], out["format"], out["quality"] = p.Size, p.Side, p.Format, p.Quality
		out["kinds"], out["problems"], out["held_out"], out["verified"] = p.Kinds, p.Problems, p.HeldOut, s.verified
	}
	return out
}

// mostClasses is how many classes are listed; of more, only the sizes are told.
const mostClasses = 30

func (s imagesInfo) Print(w io.Writer) {
	if s.File.Path == "-" {
		return
	}
	if s.Pack == nil {
		fmt.Fprintf(w, "%s\n  %s training and %s test images of %d×%d×%d bytes (height, width, channels)\n", s.Name,
			render.Thousands(s.Train.Len()), render.Thousands(s.Test.Len()), s.Height, s.Width, s.Channels)
	} else {
		s.printPack(w)
	}
	fmt.Fprintf(w, "  mean of each channel %.4g, deviation %.4g, of 255\n", s.Mean, s.Deviation)
	s.printClasses(w)
	fmt.Fprintf(w, "  hash %s, as in a run's run.json\n", s.Hash)
	if s.verified {
		fmt.Fprintln(w, "  every picture was read: all checksums are right")
	}
	if s.sheet != "" {
		fmt.Fprintf(w, "  samples in %s\n", s.sheet)
	}
}

func (s imagesInfo) printPack(w io.Writer) {
	p := s.Pack
	fmt.Fprintf(w, "%s\n  a packed file, version %d, of %s; from %s (%s)\n", s.Name, p.Version, render.Bytes(p.Bytes()),
		p.PackInfo.Name, p.Layout)
	fmt.Fprintf(w, "  %s training and %s test pictures in %d classes\n", render.Thousands(s.Train.Len()),
		render.Thousands(s.Test.Len()), len(s.Classes))
	if p.HeldOut {
		fmt.Fprintln(w, "  the source had no test pictures: about a tenth of each class was set aside")
	}
	fmt.Fprintf(w, "  %s side at most %d pixels: %s\n  stored as %s\n", p.Side, p.Size, sizes(p), stored(p))
	fmt.Fprintf(w, "  of the source: %s\n", kinds(p.Kinds))
	if p.Problems > 0 {
		fmt.Fprintf(w, "  %s of the source could not be packed: the list was written beside the file\n",
			render.Count(p.Problems, "file"))
	}
}

// stored says in what form pictures are.
func stored(p *images.Pack) string {
	jpeg := fmt.Sprintf("JPEG, quality %d, 4:2:0", p.Quality)
	switch p.Format {
	case images.FormatRaw:
		return "raw YCbCr 4:2:0"
	case images.FormatMix:
		return fmt.Sprintf("%s, and %.0f %% of them raw YCbCr 4:2:0", jpeg, 100*p.RawShare)
	}
	return jpeg
}

// sizes tells the median and the largest size.
func sizes(p *images.Pack) string {
	var heights, widths []uint16
	for _, part := range [][]images.PackEntry{p.Train, p.Test} {
		for _, e := range part {
			heights, widths = append(heights, e.Height), append(widths, e.Width)
		}
	}
	slices.Sort(heights)
	slices.Sort(widths)
	n := len(heights)
	if heights[0] == heights[n-1] && widths[0] == widths[n-1] {
		return fmt.Sprintf("all are %d×%d", heights[0], widths[0])
	}
	return fmt.Sprintf("heights %s, median %d, widths %s, median %d", span(int(heights[0]), int(heights[n-1])),
		heights[n/2], span(int(widths[0]), int(widths[n-1])), widths[n/2])
}

// span is a range in words.
func span(least, most int) string {
	if least == most {
		return strconv.Itoa(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// kinds lists what was found, the most frequent first.
func kinds(count map[string]int) string {
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %s", render.Thousands(count[name]), name)
	}
	return strings.Join(names, ", ")
}

func (s imagesInfo) printClasses(w io.Writer) {
	train, test := s.perClass()
	if len(s.Classes) > mostClasses {
		fmt.Fprintf(w, "  classes %s … %s; %s training and %s test pictures in each (all: --json)\n",
			strings.Join(s.Classes[:3], ", "), s.Classes[len(s.Classes)-1], span(slices.Min(train), slices.Max(train)),
			span(slices.Min(test), slices.Max(test)))
		return
	}
	t := render.Table{Header: []string{"  class", "training", "test"}}
	for i, c := range s.Classes {
		t.Rows = append(t.Rows, []render.Cell{render.Text("  %s", c), render.Text("%d", train[i]),
			render.Text("%d", test[i])})
	}
	fmt.Fprint(w, t.Text())
}
