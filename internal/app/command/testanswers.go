package command

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"slices"
	"strconv"

	"golang.org/x/image/draw"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/train"
)

// AnswersFile has the answers of a run's network to its test images, class by class.
const AnswersFile = "tables/answers.json"

// TestAnswers is what a trained network answers to its test images.
type TestAnswers struct {
	Images  int      `json:"images"`
	Classes []string `json:"classes"`
	// Counts are the confusion matrix: true class, answer and the number of images, if there are any.
	Counts [][3]int      `json:"counts"`
	Wrong  []WrongAnswer `json:"wrong"` // the most confident ones, the most confident first
}

// WrongAnswer is a test image whose answer is wrong.
type WrongAnswer struct {
	Picture     string  `json:"picture"`
	Class       int     `json:"class"`
	Answer      int     `json:"answer"`
	Probability float64 `json:"probability"`
	Image       []byte  `json:"image,omitempty"` // a PNG, or a JPEG if it is larger than a thumbnail
}

// Matrix is the confusion matrix: [true class][answer].
func (a *TestAnswers) Matrix() [][]int {
	out := make([][]int, len(a.Classes))
	for k := range out {
		out[k] = make([]int, len(a.Classes))
	}
	for _, c := range a.Counts {
		out[c[0]][c[1]] += c[2]
	}
	return out
}

// Check returns what is wrong with answers that were read from a file.
func (a *TestAnswers) Check() error {
	in := func(k int) bool { return k >= 0 && k < len(a.Classes) }
	total := 0
	for _, c := range a.Counts {
		if !in(c[0]) || !in(c[1]) || c[2] < 0 {
			return fmt.Errorf("counts %v: want two of %d classes and a number", c, len(a.Classes))
		}
		total += c[2]
	}
	for _, w := range a.Wrong {
		if !in(w.Class) || !in(w.Answer) {
			return fmt.Errorf("classes %d and %d of a picture: there are %d", w.Class, w.Answer, len(a.Classes))
		}
	}
	if total != a.Images {
		return fmt.Errorf("the counts sum to %d, and there are %d images", total, a.Images)
	}
	return nil
}

// mostWrong is how many wrong answers are shown, and thumbnail the longest side of their pictures.
const (
	mostWrong = 16
	thumbnail = 96
)

// newTestAnswers counts the answers to the test images of a set, and takes the pictures of the most confident wrong
// ones. A picture that cannot be read is left out.
func newTestAnswers(set *images.Set, of train.TestAnswers) *TestAnswers {
	a := &TestAnswers{Images: len(of.Class), Classes: set.Classes, Counts: [][3]int{}, Wrong: []WrongAnswer{}}
	count := map[[2]int]int{}
	var wrong []int
	for i, answer := range of.Class {
		label := set.Test.Label(i)
		count[[2]int{label, answer}]++
		if answer != label {
			wrong = append(wrong, i)
		}
	}
	for pair, n := range count {
		a.Counts = append(a.Counts, [3]int{pair[0], pair[1], n})
	}
	slices.SortFunc(a.Counts, func(x, y [3]int) int { return slices.Compare(x[:], y[:]) })
	slices.SortStableFunc(wrong, func(i, j int) int { return cmp.Compare(of.Probability[j], of.Probability[i]) })
	for _, i := range wrong[:min(len(wrong), mostWrong)] {
		w := WrongAnswer{Picture: strconv.Itoa(i), Class: set.Test.Label(i), Answer: of.Class[i],
			Probability: of.Probability[i], Image: smallImage(set, i)}
		if set.Pack != nil {
			w.Picture = set.Pack.PictureName(false, i)
		}
		a.Wrong = append(a.Wrong, w)
	}
	return a
}

// smallImage is a test image as a file; nil if it cannot be read.
func smallImage(set *images.Set, i int) []byte {
	img, err := set.Picture(false, i)
	if err != nil {
		return nil
	}
	var b bytes.Buffer
	size := img.Bounds().Size()
	if longest := max(size.X, size.Y); longest <= thumbnail {
		err = png.Encode(&b, img)
	} else {
		small := image.NewRGBA(image.Rect(0, 0, max(1, size.X*thumbnail/longest), max(1, size.Y*thumbnail/longest)))
		draw.CatmullRom.Scale(small, small.Rect, img, img.Bounds(), draw.Src, nil)
		err = jpeg.Encode(&b, small, nil)
	}
	if err != nil {
		return nil
	}
	return b.Bytes()
}
