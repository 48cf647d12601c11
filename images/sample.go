package images

import (
	"bytes"
	_ "embed"
	"image"
	"image/png"
)

// The sample is one picture: a column for every class, the training images above the test images. They are the
// first of each class in Fashion-MNIST's training and test files. Its licence is in LICENSE-fashion-mnist; how
// it was made is in sample_test.go.
//
//go:embed sample.png
var sample []byte

// Images of every class in the sample.
const (
	sampleTrain = 380
	sampleTest  = 110
)

func loadSample() (*Set, error) {
	img, err := png.Decode(bytes.NewReader(sample))
	if err != nil {
		return nil, failed("fashion-sample", "decode", err)
	}
	grey, ok := img.(*image.Gray)
	side, classes := fashion.side, len(fashion.classes)
	if !ok || grey.Rect.Max != image.Pt(side*classes, side*(sampleTrain+sampleTest)) {
		return nil, fail("fashion-sample", "the program was built with a wrong sample.png: build it again")
	}
	s := &Set{Name: "fashion-sample", Height: side, Width: side, Channels: 1, Classes: fashion.classes}
	for i := range sampleTrain + sampleTest {
		to := &s.Train
		if i >= sampleTrain {
			to = &s.Test
		}
		for c := range classes {
			for y := range side {
				p := grey.PixOffset(c*side, i*side+y)
				to.Images = append(to.Images, grey.Pix[p:p+side]...)
			}
			to.Labels = append(to.Labels, uint8(c))
		}
	}
	return s, nil
}
