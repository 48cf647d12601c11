package images

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"

	"github.com/gen2brain/jpegn"
)

// jpegDecoder decodes stored pictures: baseline, 4:2:0 or grey.
type jpegDecoder struct{ r bytes.Reader }

// planes decodes a JPEG that the packer has checked. A decoder's panic is an error.
func (d *jpegDecoder) planes(b []byte) (p planes, err error) {
	img, err := d.fast(b)
	if err != nil {
		if img, err = jpeg.Decode(bytes.NewReader(b)); err != nil {
			return planes{}, err
		}
	}
	p, ok := planesOf(img)
	if !ok {
		return planes{}, errors.New("not a picture of luma and chroma")
	}
	return p, nil
}

// fast decodes baseline JPEG twice as fast as the standard library does, which has no vector instructions.
func (d *jpegDecoder) fast(b []byte) (img image.Image, err error) {
	defer func() {
		if r := recover(); r != nil {
			img, err = nil, fmt.Errorf("the decoder failed: %v", r)
		}
	}()
	d.r.Reset(b)
	return jpegn.Decode(&d.r)
}
