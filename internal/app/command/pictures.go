package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/train"
)

// Feeds are the ways a packed set reaches the network.
var Feeds = []string{"auto", "resident", "streamed"}

// largestSide bounds the sides that can be asked for: a typing error would take all memory.
const largestSide = 1024

// sides reads a resolution: one side, or the first and the last.
func sides(text string) (low, high int, err error) {
	first, last, two := strings.Cut(text, "-")
	if low, err = strconv.Atoi(first); err == nil {
		high = low
		if two {
			high, err = strconv.Atoi(last)
		}
	}
	switch {
	case err != nil || low < 1 || high > largestSide || low > high:
		return 0, 0, fmt.Errorf("--resolution %s: want a side from 1 to %d pixels, or two, such as 160-192", text,
			largestSide)
	case low != high && (low%32 != 0 || high%32 != 0):
		return 0, 0, fmt.Errorf("--resolution %s: want multiples of 32, by which it grows", text)
	}
	return low, high, nil
}

// checkPictures returns the first thing wrong with the settings of packed pictures and of regularisation.
func (t *Train) checkPictures() error {
	if t.Resolution != "" {
		if _, _, err := sides(t.Resolution); err != nil {
			return settings.At("resolution", err)
		}
	}
	if t.TestResolution < 0 || t.TestResolution > largestSide {
		return settings.Errorf("test_resolution", "--test-resolution %d: want a side of up to %d pixels", t.TestResolution,
			largestSide)
	}
	if !(t.LabelSmoothing >= 0 && t.LabelSmoothing < 1) {
		return settings.Errorf("label_smoothing", "--label-smoothing %v: want at least 0 and below 1", t.LabelSmoothing)
	}
	if _, err := t.dropout(); err != nil {
		return settings.At("dropout", err)
	}
	return nil
}

// dropout is the rate that was asked for; negative: the network's own.
func (t *Train) dropout() (float64, error) {
	if t.Dropout == "" {
		return -1, nil
	}
	v, err := strconv.ParseFloat(t.Dropout, 64)
	if err != nil || !(v >= 0 && v < 1) {
		return 0, fmt.Errorf("--dropout %s: want a rate of at least 0 and below 1", t.Dropout)
	}
	return v, nil
}

// ownDropout says which networks have dropout.
func ownDropout() string {
	var out []string
	for _, n := range nets.All {
		if n.Dropout > 0 {
			out = append(out, fmt.Sprintf("%v for %s", n.Dropout, n.Name))
		}
	}
	return strings.Join(out, ", ") + ", else none"
}

// net is the network with its options.
func (t *Train) net() nets.Net {
	rate := must(t.dropout())
	return must(nets.ByName(t.Model)).With(nets.Options{BlurPool: t.BlurPool, Dropout: rate})
}

// resolution is the side of the pictures of a packed set. By default it grows from 160 to 192 as in the FFCV recipe, if
// the pictures are that large, else it is their own; tests have 4/3 of it, if the pictures are that large.
func (t *Train) resolution(set *images.Set) (r train.Resolution, err error) {
	if set.Pack == nil {
		if t.Resolution != "" || t.TestResolution != 0 {
			return r, settings.Errorf("resolution", "--resolution: %s has pictures of one size; \"bregman data pack\" makes "+
				"a file whose pictures are cropped and resized", set.Name)
		}
		return r, nil
	}
	largest := max(set.Height, set.Width)
	switch {
	case t.Resolution != "":
		if r.Low, r.High, err = sides(t.Resolution); err != nil {
			return r, settings.At("resolution", err)
		}
	case largest >= 192:
		r.Low, r.High = 160, 192
	default:
		r.Low = max(32, largest/32*32)
		r.High = r.Low
	}
	if r.Test = t.TestResolution; r.Test == 0 {
		r.Test = max(r.High, min(r.High*4/3/32*32, (largest+31)/32*32))
	}
	return r, nil
}

// chooseFeed reports whether a packed set is read as it is needed, and says why.
func (w *Trainer) chooseFeed() (stream bool, why string, err error) {
	if w.set.Pack == nil {
		return false, "pictures of one size are put on the " + w.engine.Name + " engine", nil
	}
	bytes, room := train.ResidentBytes(w.set), w.engine.Room()
	switch {
	case w.Feed == "resident":
		if limit := w.engine.Memory(); limit > 0 && bytes > limit {
			return false, "", fmt.Errorf("--feed resident: the pictures of %s take %s, and the %s engine may take %s: leave "+
				"--feed out, or say --feed streamed, to read them as they are needed", w.set.Name, render.Bytes(bytes),
				w.engine.Name, render.Bytes(limit))
		}
		why = "--feed resident"
	case w.Feed == "streamed":
		stream, why = true, "--feed streamed"
	case bytes > room:
		stream, why = true, fmt.Sprintf("more than the %s for pictures on the %s engine", render.Bytes(room), w.engine.Name)
	default:
		why = fmt.Sprintf("within the %s for pictures there", render.Bytes(room))
	}
	if stream {
		return true, fmt.Sprintf("%s of pictures are read from %s as they are needed: %s", render.Bytes(bytes), w.set.Name,
			why), nil
	}
	return false, fmt.Sprintf("%s of pictures are put on the %s engine: %s", render.Bytes(bytes), w.engine.Name, why), nil
}

// loading shows the progress of putting a packed set on the engine, and ends it when ctx does. It is called by several
// goroutines.
func (w *Trainer) loading(ctx context.Context) func(done, total int) error {
	var mu sync.Mutex
	var bar Bar
	most := 0
	return func(done, total int) error {
		mu.Lock()
		defer mu.Unlock()
		if done == 0 { // the training pictures, and then the test pictures
			bar, most = w.env.Bar("loading pictures", 0, int64(total)), 0
		}
		if most = max(most, done); bar != nil {
			bar.Set(int64(most), "")
			if most+512 > total {
				bar.End()
				bar = nil
			}
		}
		return ctx.Err()
	}
}

// limited says what limited an epoch's speed, if it was not training.
func limited(r train.Record) string {
	if r.Limit == "" || r.Limit == train.LimitTraining {
		return ""
	}
	return fmt.Sprintf(", waiting for %s %.0f %% of the time", r.Limit, 100*r.Waited)
}
