package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/images"
)

// Preparation is what a trained network has to know of pictures: to see new ones as it saw its test images, and to name
// what it sees. It is stored as preprocessing.json beside the weights.
type Preparation struct {
	Classes   []string  `json:"classes"`
	Height    int       `json:"height,omitempty"` // of the pictures; those of a packed file have many sizes
	Width     int       `json:"width,omitempty"`
	Channels  int       `json:"channels"`
	Mean      []float32 `json:"mean"`              // of the training images, by channel, in units of bytes (0 to 255)
	Deviation []float32 `json:"deviation"`         // likewise
	Resized   bool      `json:"resized,omitempty"` // pictures were resized until they covered this size, and cropped
	Packed    *Crops    `json:"packed,omitempty"`
}

// Crops is how pictures of a packed file become those of a network: they were shrunk until the side has Size pixels;
// then the central square of 224/256 of the short side is resized to Resolution.
type Crops struct {
	Resolution int    `json:"resolution"`
	Size       int    `json:"size"`
	Side       string `json:"side"` // images.ShortSide or images.LongSide
	Window     [2]int `json:"window"`
}

// Preparation is that of the session's images.
func (x *Session) Preparation() Preparation {
	return PreparationOf(x.set, x.settings.Resolution.Test)
}

// PreparationOf is that of a set; resolution is the side of the test images of a packed one.
func PreparationOf(s *images.Set, resolution int) Preparation {
	p := Preparation{Classes: s.Classes, Channels: s.Channels, Mean: s.Mean, Deviation: s.Deviation,
		Resized: s.Resized}
	if s.Pack == nil {
		p.Height, p.Width = s.Height, s.Width
		return p
	}
	w := newWindow(s)
	p.Packed = &Crops{Resolution: resolution, Size: s.Pack.Size, Side: s.Pack.Side, Window: [2]int{w.height, w.width}}
	return p
}

// largestImage bounds the sides of pictures in a file that a user may have changed.
const largestImage = 1 << 16

// Check returns what is wrong with a preparation that was read from a file.
func (p Preparation) Check() error {
	side := func(v int) bool { return v >= 1 && v <= largestImage }
	switch {
	case len(p.Classes) < 2:
		return fmt.Errorf("%d classes: want at least 2", len(p.Classes))
	case p.Channels < 1 || p.Channels > 1<<10:
		return fmt.Errorf("%d channels", p.Channels)
	case len(p.Mean) != p.Channels || len(p.Deviation) != p.Channels:
		return errors.New("mean and deviation: want a number for each channel")
	case p.Packed == nil && (!side(p.Height) || !side(p.Width) || p.Height*p.Width > 1<<28/p.Channels):
		return fmt.Errorf("pictures of %d × %d pixels", p.Height, p.Width)
	}
	for c := range p.Channels {
		m, d := float64(p.Mean[c]), float64(p.Deviation[c])
		if !(math.Abs(m) <= math.MaxFloat32) || !(d > 0 && d <= math.MaxFloat32) {
			return fmt.Errorf("mean %v and deviation %v of channel %d: want numbers, the second above 0", m, d, c)
		}
	}
	if c := p.Packed; c != nil {
		const most = 1 << 14
		for _, v := range []int{c.Resolution, c.Size, c.Window[0], c.Window[1]} {
			if v < 1 || v > most {
				return fmt.Errorf("packed: resolution %d, size %d, window %d × %d: want 1 to %d", c.Resolution, c.Size,
					c.Window[0], c.Window[1], most)
			}
		}
		if p.Channels != 3 || c.Side != images.ShortSide && c.Side != images.LongSide || c.Window[0]%2+c.Window[1]%2 > 0 {
			return errors.New("packed: want three channels, a short or a long side, and a window of even sides")
		}
	}
	return nil
}
