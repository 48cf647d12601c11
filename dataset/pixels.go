package dataset

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/matrix"
)

// errNotImages says that no image set has a name, or that a file has it and goes first.
var errNotImages = errors.New("not an image set")

// pixels returns an image set as a table, each pixel a feature from 0 to 1: NAME is its training images, NAME:test
// its test images, and NAME:4,6 or NAME:test:4,6 those of some classes.
func pixels(spec string, opt Options) (*Set, error) {
	name, rest, _ := strings.Cut(spec, ":")
	if !images.Named(name) {
		return nil, errNotImages
	}
	if _, err := os.Stat(spec); err == nil {
		return nil, errNotImages
	}
	set, err := images.Load(name, "")
	if err != nil {
		return nil, err
	}
	split := set.Train
	if after, ok := strings.CutPrefix(rest+":", "test:"); ok {
		split, rest = set.Test, strings.TrimSuffix(after, ":")
	}
	keep := make([]bool, 256)
	for k := range keep {
		keep[k] = rest == ""
	}
	if rest != "" {
		for part := range strings.SplitSeq(rest, ",") {
			c, err := strconv.Atoi(part)
			if err != nil || c < 0 || c >= len(set.Classes) {
				return nil, &Error{Name: spec, Msg: fmt.Sprintf(
					"%q is not a class from 0 to %d: write for example %[3]s:test, %[3]s:4,6 or %[3]s:test:4,6",
					part, len(set.Classes)-1, name)}
			}
			keep[c] = true
		}
	}
	size := set.Height * set.Width * set.Channels
	width := size
	if opt.Bias {
		width++
	}
	out := &Set{Name: spec, Hash: set.Hash}
	n := 0
	for _, label := range split.Labels {
		if keep[label] {
			n++
		}
	}
	data := make([]float64, 0, n*width)
	for i, label := range split.Labels {
		if !keep[label] {
			continue
		}
		for _, v := range split.Images[i*size : (i+1)*size] {
			data = append(data, float64(v)/255)
		}
		if opt.Bias {
			data = append(data, 1)
		}
		out.Y = append(out.Y, float64(label))
	}
	out.X = matrix.NewDense(width, data)
	return out, nil
}
