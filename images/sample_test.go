package images

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"os"
	"testing"
)

var makeSample = flag.Bool("make-sample", false, "write sample.png from Fashion-MNIST")

// TestSampleIsTheStartOfEveryClass is also how the sample is made: go test -run Sample ./images -make-sample.
func TestSampleIsTheStartOfEveryClass(t *testing.T) {
	if _, here := fashion.find(DataDir()); !here {
		t.Skip("Fashion-MNIST is not here")
	}
	all, err := Load("fashion-mnist", "")
	if err != nil {
		t.Fatal(err)
	}
	const side = 28
	img := image.NewGray(image.Rect(0, 0, 10*side, (sampleTrain+sampleTest)*side))
	for _, train := range []bool{true, false} {
		split, first, n := all.Train, 0, sampleTrain
		if !train {
			split, first, n = all.Test, sampleTrain, sampleTest
		}
		var seen [10]int
		for i, c := range split.Labels {
			if seen[c] == n {
				continue
			}
			for y := range side {
				copy(img.Pix[img.PixOffset(int(c)*side, (first+seen[c])*side+y):][:side], pixels(all, i, train)[y*side:])
			}
			seen[c]++
		}
	}
	if *makeSample {
		var b bytes.Buffer
		e := png.Encoder{CompressionLevel: png.BestCompression}
		if err := e.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("sample.png", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := png.Decode(bytes.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have.(*image.Gray).Pix, img.Pix) {
		t.Error("sample.png is not the start of every class of Fashion-MNIST")
	}
}

func TestSampleIsBalanced(t *testing.T) {
	s, err := Load("fashion-sample", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if s.Train.Len() != 10*sampleTrain || s.Test.Len() != 10*sampleTest || len(s.Classes) != 10 {
		t.Fatalf("%d training, %d test images of %d classes", s.Train.Len(), s.Test.Len(), len(s.Classes))
	}
	var count [10]int
	for _, c := range s.Train.Labels {
		count[c]++
	}
	for c, n := range count {
		if n != sampleTrain {
			t.Errorf("class %d has %d images, want %d", c, n, sampleTrain)
		}
	}
	// Fashion-MNIST's published mean and deviation are 0.2860 and 0.3530; 380 images a class come within 0.01.
	if m, d := s.Mean[0]/255, s.Deviation[0]/255; m < 0.276 || m > 0.296 || d < 0.343 || d > 0.363 {
		t.Errorf("mean %v and deviation %v are not Fashion-MNIST's", m, d)
	}
}
