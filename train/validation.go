package train

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/ml/model"
)

// Validation is the network on training images that no step saw.
type Validation struct {
	Loss     float64 `json:"validation_loss"`
	Accuracy float64 `json:"validation_accuracy"`
	Top5     float64 `json:"validation_top5,omitempty"`
}

// setAside keeps n training images out of the run with this seed, of each class its share.
func (x *Session) setAside(n int, seed uint64) error {
	if n == len(x.held) && (n == 0 || seed == x.heldBy) {
		return nil
	}
	if err := x.next.drop(); err != nil { // it may have images that are held back now
		return err
	}
	x.heldBy, x.kept, x.held, x.white = seed, nil, nil, nil
	if n > 0 {
		x.kept, x.held = stratified(x.set.Train.Label, x.set.Train.Len(), len(x.set.Classes), n, seed)
	}
	return nil
}

// holdBack seeds the choice of the images that are held back: epochs count from 1.
const holdBack = 0

// stratified divides the examples 0 to total−1 into those kept and n held back, both in order. Each class gives its
// share, rounded so that the sum is right; within a class the seed decides.
func stratified(label func(int) int, total, classes, n int, seed uint64) (kept, held []int) {
	ofClass := make([][]int, classes)
	for i := range total {
		ofClass[label(i)] = append(ofClass[label(i)], i)
	}
	count, rest, left := make([]int, classes), make([]int, classes), n
	byRest := make([]int, classes)
	for c, examples := range ofClass {
		share := len(examples) * n
		count[c], rest[c], byRest[c] = share/total, share%total, c
		left -= count[c]
	}
	slices.SortStableFunc(byRest, func(a, b int) int { return rest[b] - rest[a] })
	for _, c := range byRest[:left] {
		count[c]++
	}
	rng := rand.New(rand.NewPCG(seed, holdBack))
	out := make([]bool, total)
	for c, examples := range ofClass {
		for _, k := range rng.Perm(len(examples))[:count[c]] {
			out[examples[k]] = true
		}
	}
	for i, aside := range out {
		if aside {
			held = append(held, i)
		} else {
			kept = append(kept, i)
		}
	}
	return kept, held
}

// trained is the i-th of the training images that the run sees.
func (x *Session) trained(i int) int {
	if x.kept == nil {
		return i
	}
	return x.kept[i]
}

// seen is how many training images the run sees.
func (x *Session) seen() int { return x.set.Train.Len() - len(x.held) }

// order is n training images in random order: each once before any comes a second time.
func (x *Session) order(rng *rand.Rand, n int) []int {
	var out []int
	for len(out) < n {
		out = append(out, rng.Perm(x.seen())...)
	}
	out = out[:n]
	for k, i := range out {
		out[k] = x.trained(i)
	}
	return out
}

// checkValidation returns an error if so many training images cannot be held back.
func checkValidation(n, total, batch, classes int) error {
	if n < 0 || n > 0 && n < classes {
		return fmt.Errorf("validation on %d training images: want 0, or at least one for each of %d classes", n, classes)
	}
	if total-n < batch {
		return fmt.Errorf("validation on %d of %d training images leaves less than a batch of %d", n, total, batch)
	}
	return nil
}

// sample is images to test on.
type sample struct {
	from     part
	examples []int // of the part; nil: all
	exec     *model.Exec
	batch    int
}

func (s sample) index(i int) int {
	if s.examples == nil {
		return i
	}
	return s.examples[i]
}

func (x *Session) len(s sample) int {
	if s.examples == nil {
		return x.split(s.from).Len()
	}
	return len(s.examples)
}

// testSample is the test images.
func (x *Session) testSample() sample { return sample{testPart, nil, x.eval, x.test} }

// shiftedSample is the test images, answered by means over the image, which counts twice, and the image shifted by one
// pixel to the bottom right and to the top left.
func (x *Session) shiftedSample() (s sample, err error) {
	if x.shifted == nil {
		if x.shifted, err = x.evaluation(testPart, true); err != nil {
			return s, err
		}
	}
	return sample{testPart, nil, x.shifted, x.test}, nil
}

// heldSample is the training images that are held back.
func (x *Session) heldSample() (s sample, err error) {
	if x.valid == nil {
		if x.valid, err = x.evaluation(trainPart, false); err != nil {
			return s, err
		}
	}
	return sample{trainPart, x.held, x.valid, min(evalBatch(x.engine.Name), len(x.held))}, nil
}
