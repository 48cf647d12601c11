package images

import (
	"image"
	"image/color"
)

// Picture is image i of a part of the set, train or else test, to look at.
func (s *Set) Picture(train bool, i int) (image.Image, error) {
	part := s.Test
	if train {
		part = s.Train
	}
	if s.Pack != nil {
		return s.Pack.NewReader().Picture(part.Packed[i])
	}
	out := image.NewRGBA(image.Rect(0, 0, s.Width, s.Height))
	pixels := part.Images[i*s.size() : (i+1)*s.size()]
	for k := range s.Height * s.Width {
		at := pixels[k*s.Channels:]
		c := color.RGBA{at[0], at[0], at[0], 255}
		if s.Channels >= 3 {
			c.G, c.B = at[1], at[2]
		}
		out.SetRGBA(k%s.Width, k/s.Width, c)
	}
	return out, nil
}

// Picture decodes a whole picture. It is valid until the reader's next call.
func (r *PackReader) Picture(e PackEntry) (image.Image, error) {
	p, err := r.planes(e, e.rect())
	if err != nil {
		return nil, err
	}
	return p.image(), nil
}
