package train

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/nets"
)

// twoNorms has two layers of batch norm: the statistics of the second depend on how the first normalises.
func twoNorms() nets.Net {
	return nets.New("two norms", func(b *nets.Builder, x *Node, classes int) *Node {
		x = b.NormReLU("bn1", b.Conv("conv1", x, 3, 4, 1))
		x = b.Norm("bn2", b.Conv("conv2", x, 3, 5, 2))
		return b.Head("linear", x, classes)
	})
}

// picture is [height][width][channels].
type picture [][][]float64

// convolvedByHand is a 3×3 convolution with a border of zeros.
func convolvedByHand(p picture, kernel Layer, stride int) picture {
	in, out := kernel.Dims[2], kernel.Dims[3]
	var y picture
	for r := 0; r < len(p); r += stride {
		var row [][]float64
		for c := 0; c < len(p[0]); c += stride {
			sum := make([]float64, out)
			for i := range 3 {
				for j := range 3 {
					if r+i-1 < 0 || r+i-1 >= len(p) || c+j-1 < 0 || c+j-1 >= len(p[0]) {
						continue
					}
					for k := range in {
						for o := range out {
							sum[o] += p[r+i-1][c+j-1][k] * float64(kernel.Values[((i*3+j)*in+k)*out+o])
						}
					}
				}
			}
			row = append(row, sum)
		}
		y = append(y, row)
	}
	return y
}

// momentsByHand are the mean and the biased variance of each channel, and how many numbers they are of.
func momentsByHand(batch []picture) (mean, variance []float64, n float64) {
	channels := len(batch[0][0][0])
	mean, variance = make([]float64, channels), make([]float64, channels)
	each := func(do func(c int, v float64)) {
		for _, p := range batch {
			for _, row := range p {
				for _, pixel := range row {
					for c, v := range pixel {
						do(c, v)
					}
				}
			}
		}
	}
	each(func(c int, v float64) { mean[c] += v; n += 1 / float64(channels) })
	for c := range mean {
		mean[c] /= n
	}
	each(func(c int, v float64) { variance[c] += (v - mean[c]) * (v - mean[c]) / n })
	return mean, variance, n
}

// The statistics are those of a forward pass in plain Go, means over batches of 200, also if they were far away before;
// weights do not change.
func TestRecalibratedStatisticsAreThoseComputedByHand(t *testing.T) {
	set := small(t, 450, 40)
	s := quick
	s.Net = twoNorms()
	x := session(t, set, s)
	if err := x.Start(quickRun(x, 3)); err != nil {
		t.Fatal(err)
	}
	before, err := x.normStatistics()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range before {
		for c := range l.Values {
			l.Values[c] = 100
		}
	}
	if err := x.SetWeights(before); err != nil {
		t.Fatal(err)
	}
	layers, err := x.Weights()
	if err != nil {
		t.Fatal(err)
	}
	hash := hashOf(layers)
	if err := x.Recalibrate(t.Context()); err != nil {
		t.Fatal(err)
	}

	const batches = 2 // of 200 among 450 images
	order := rand.New(rand.NewPCG(0, CalibrationImages)).Perm(450)
	want := map[string][]float64{}
	add := func(name string, v []float64, factor float64) {
		if want[name] == nil {
			want[name] = make([]float64, len(v))
		}
		for c := range v {
			want[name][c] += factor * v[c] / batches
		}
	}
	for k := range batches {
		var first, second []picture
		for _, i := range order[200*k : 200*(k+1)] {
			first = append(first, convolvedByHand(pictureOf(set, i), layers[0], 1))
		}
		mean, variance, n := momentsByHand(first)
		add("bn1.running_mean", mean, 1)
		add("bn1.running_var", variance, n/(n-1))
		for _, p := range first {
			for _, row := range p {
				for _, pixel := range row {
					for c, v := range pixel {
						pixel[c] = max(0, (v-mean[c])/math.Sqrt(variance[c]+1e-5))
					}
				}
			}
			second = append(second, convolvedByHand(p, layers[1], 2))
		}
		mean, variance, n = momentsByHand(second)
		add("bn2.running_mean", mean, 1)
		add("bn2.running_var", variance, n/(n-1))
	}
	after, err := x.normStatistics()
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != 4 {
		t.Fatalf("%d statistics, want 4", len(after))
	}
	for _, l := range after {
		for c, v := range l.Values {
			if w := want[l.Name][c]; math.Abs(float64(v)-w) > 1e-5*(1+math.Abs(w)) {
				t.Errorf("%s[%d]: %v, by hand %v", l.Name, c, v, w)
			}
		}
	}
	if layers, err = x.Weights(); err != nil || hashOf(layers) != hash {
		t.Errorf("weights changed, %v", err)
	}
}

// pictureOf is a training image, normalised.
func pictureOf(set *images.Set, i int) picture {
	p := make(picture, set.Height)
	at := i * sizeOf(set)
	for r := range p {
		p[r] = make([][]float64, set.Width)
		for c := range p[r] {
			for k := range set.Channels {
				v := (float64(set.Train.Images[at]) - float64(set.Mean[k])) / float64(set.Deviation[k])
				p[r][c] = append(p[r][c], v)
				at++
			}
		}
	}
	return p
}

// A study's recalibrated accuracy is that of a network with the changed weights after Recalibrate, and the study leaves
// the statistics as they were. A network without batch norm has none.
func TestAStudyRecalibratesEachLevel(t *testing.T) {
	x := session(t, small(t, 300, 100), quick)
	r := quickRun(x, 3)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	epochs(t, x, r, 0, 3)
	score, err := x.Evaluate(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	before := weights(t, x)
	s, err := x.Study(t.Context(), 3, score.Accuracy, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	if weights(t, x) != before {
		t.Error("the study changed weights or statistics")
	}
	layers, err := x.Weights()
	if err != nil {
		t.Fatal(err)
	}
	norms, err := x.normStatistics()
	if err != nil {
		t.Fatal(err)
	}
	all := sortedSizes{}
	for _, l := range layers {
		all.all = append(all.all, l.Values...)
	}
	all.all = sizes(all.all)
	differ := false
	for k, levels := range [][]Level{s.PrunedAll[1:], s.RoundedChannels} {
		for _, l := range levels {
			other := slices.Clone(layers)
			for i := range other {
				if k == 0 {
					other[i].Values = pruned(layers[i].Values, prunedAt(all.all, l.At))
				} else {
					other[i].Values = rounded(layers[i].Values, layers[i].Dims[len(layers[i].Dims)-1], int(l.At))
				}
			}
			err := errors.Join(x.SetWeights(other), x.SetWeights(norms))
			plain, err2 := x.Evaluate(t.Context(), false)
			if err := errors.Join(err, err2, x.Recalibrate(t.Context())); err != nil {
				t.Fatal(err)
			}
			again, err := x.Evaluate(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			if l.Accuracy != plain.Accuracy || l.Recalibrated == nil || *l.Recalibrated != again.Accuracy {
				t.Errorf("at %v: %v and %v, want %v and %v", l.At, l.Accuracy, l.Recalibrated, plain.Accuracy, again.Accuracy)
			}
			differ = differ || plain.Accuracy != again.Accuracy
		}
	}
	if !differ {
		t.Error("other statistics never changed the accuracy: the test shows nothing")
	}

	p := quick
	p.Net = nets.New("plain", func(b *nets.Builder, x *Node, classes int) *Node {
		return b.Head("linear", nets.ReLU(b.ConvBias("conv1", x, 3, 4, 2)), classes)
	})
	y := session(t, small(t, 200, 60), p)
	if err := y.Start(quickRun(y, 2)); err != nil {
		t.Fatal(err)
	}
	if s, err = y.Study(t.Context(), 2, 0.1, func(float64) {}); err != nil {
		t.Fatal(err)
	}
	if s.Recalibrated != nil || s.Rounded[0].Recalibrated != nil || s.Evaluations != 22 {
		t.Errorf("a network without batch norm: %+v, %d evaluations", s.Rounded[0], s.Evaluations)
	}
}

// Each output channel, the last axis, is rounded like a tensor of its own.
func TestRoundingByChannelIsRoundingEachChannelAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, dims := range [][]int{{3, 3, 4, 6}, {3, 3, 1, 5}, {7, 10}} {
		n := 1
		for _, d := range dims {
			n *= d
		}
		channels := dims[len(dims)-1]
		w := make([]float32, n)
		for i := range w {
			w[i] = float32(rng.NormFloat64() * math.Pow(10, float64(i%channels)-3))
			if i%channels == 2 {
				w[i] = 0
			}
		}
		for _, bits := range RoundBits {
			got := rounded(w, channels, bits)
			for c := range channels {
				var one, of []float32
				most := 0.0
				for i := c; i < n; i += channels {
					one, of = append(one, w[i]), append(of, got[i])
					most = max(most, math.Abs(float64(w[i])))
				}
				step := most / float64(int(1)<<(bits-1)-1)
				for i, v := range one {
					want := 0.0
					if step > 0 {
						want = step * math.RoundToEven(float64(v)/step)
					}
					if of[i] != float32(want) {
						t.Fatalf("%v, %d bits, channel %d: %v became %v, want %v", dims, bits, c, v, of[i], want)
					}
				}
			}
		}
		// One scale per tensor loses the small channels, one per channel keeps them.
		if a, b := sizes(rounded(w, 1, 4)), sizes(rounded(w, channels, 4)); below(a, 1e-9) <= below(b, 1e-9)+n/4 {
			t.Errorf("%v: %d weights became 0 with one scale, %d with one per channel", dims, below(a, 1e-9), below(b, 1e-9))
		}
	}
}
