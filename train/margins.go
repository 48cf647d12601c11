package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// MarginShares are the quantiles of the output margins that are reported; 0 is the smallest.
var MarginShares = []float64{0, 0.01, 0.1, 0.5, 0.9}

// Margins are those of the training images as they are, without augmentation.
type Margins struct {
	Examples  int       `json:"examples"`
	Positive  float64   `json:"positive"`  // share of the examples with a positive output margin: the accuracy
	Quantiles []float64 `json:"quantiles"` // of logit_y − max other, at MarginShares

	// What they are divided by: ‖W‖ of the last layer, and log₁₀ of the product over all layers; in the norms ℓₚ and
	// ℓ₂.
	LastNorm          float64 `json:"last_norm"`
	LastNorm2         float64 `json:"last_norm_2"`
	LogProductOfNorm  float64 `json:"log10_product_of_norms"`
	LogProductOfNorm2 float64 `json:"log10_product_of_norms_2"`

	Pairs []Pair `json:"pairs"` // those that the last layer separates worst
}

// Pair is two classes as a problem with two classes: the features that the last layer sees of their training images,
// with a constant feature for the bias. The network's own classifier of them is w_a − w_b with its bias; the best one
// has the largest ℓₚ margin.
type Pair struct {
	A        string  `json:"a"`
	B        string  `json:"b"`
	Examples int     `json:"examples"`
	Network  float64 `json:"network"` // its ℓₚ margin: min y⟨w, f⟩/‖w‖ₚ, negative if it does not separate them
	Lower    float64 `json:"lower"`   // ≤ the largest possible one
	Upper    float64 `json:"upper"`   // ≥ it
	Answer   string  `json:"answer"`  // "separable", "not separable" or why it is open
}

// Share is how much of the best possible margin the network's has; NaN if one of them does not separate the classes.
func (p Pair) Share() float64 {
	if p.Answer != separable || p.Network <= 0 {
		return math.NaN()
	}
	return p.Network / p.Upper
}

const separable = "separable"

// How many pairs are solved, how many examples of each class a problem begins with and how many it may add, and the
// required gap.
const (
	hardestPairs = 3
	nearest      = 200
	pairGap      = 3e-4
	pairRounds   = 20
	pairSteps    = 100 // of the solver: a problem that is not decided in so many stays open
)

// outputs are the answers to all training images, and the features behind them.
type outputs struct {
	logits, features []float32
	n, classes, d    int
	labels           []int
	ofClass          [][]int // examples of each class, in order
}

// mostStudied is up to how many images of a packed set the margins are measured on: the answers to all of ImageNet, and
// the features behind them, take 8 GB.
const mostStudied = 50_000

// studied are the training images that margins are measured on: every so many-th of those that the run saw.
func (x *Session) studied() []int {
	n, every := x.seen(), 1
	if x.set.Pack != nil {
		every = (n + mostStudied - 1) / mostStudied
	}
	out := make([]int, n/every)
	for i := range out {
		out[i] = x.trained(i * every)
	}
	return out
}

func (x *Session) outputs(ctx context.Context, each func(int)) (o outputs, err error) {
	examples := x.studied()
	n := len(examples)
	o = outputs{n: n, classes: len(x.set.Classes), labels: make([]int, n), ofClass: make([][]int, len(x.set.Classes))}
	for i := range o.labels {
		y := x.set.Train.Label(examples[i])
		o.labels[i], o.ofClass[y] = y, append(o.ofClass[y], i)
	}
	err = engine.Try(func() error {
		if x.features == nil {
			var err error
			if x.feed.streams() {
				x.features, err = model.NewExec(x.engine.Backend, x.store, x.featuresStreamed)
			} else {
				x.features, err = model.NewExec(x.engine.Backend, x.store, x.featureGraph)
			}
			if err != nil {
				return err
			}
		}
		b := x.trainBatch()
		stream := x.feed.scan(trainPart, examples, b)
		defer stream.close()
		handOver := func(int) ([]*tensors.Tensor, error) {
			in, err := stream.next(ctx)
			if err != nil {
				return nil, err
			}
			return x.features.Call(in.arguments()...)
		}
		read := func(first int, out []*tensors.Tensor) error {
			logits, err := tensors.CopyFlatData[float32](out[0])
			if err != nil {
				return err
			}
			features, err := tensors.CopyFlatData[float32](out[1])
			if err != nil {
				return err
			}
			o.d = len(features) / b
			again := first - min(first, o.n-b) // the last batch begins earlier, so that it is full
			o.logits = append(o.logits, logits[again*o.classes:]...)
			o.features = append(o.features, features[again*o.d:]...)
			return nil
		}
		return inBatches(ctx, o.n, b, handOver, read, each)
	})
	return o, err
}

// margins measures the network on its training images in the geometry p, and calls each as evaluate does.
func (x *Session) margins(ctx context.Context, p float64, layers []Layer, each func(int)) (m Margins, err error) {
	o, err := x.outputs(ctx, each)
	if err != nil {
		return m, err
	}
	if m, err = marginsOf(o.n, o.margin, p, layers); err != nil {
		return m, err
	}
	m.Pairs, err = x.pairs(ctx, p, o, layers[len(layers)-1])
	return m, err
}

// marginsOf are the margins of n examples, without pairs of classes.
func marginsOf(n int, margin func(i int) float64, p float64, layers []Layer) (m Margins, err error) {
	m.Examples = n
	all := make([]float64, n)
	for i := range all {
		all[i] = margin(i)
		if all[i] > 0 {
			m.Positive += 1 / float64(n)
		}
	}
	slices.Sort(all) // a NaN comes first
	if all[0]-all[0] != 0 || all[n-1]-all[n-1] != 0 {
		return m, &Diverged{errors.New("the network's answers to some training images are not numbers: try a smaller " +
			"learning rate")}
	}
	for _, q := range MarginShares {
		m.Quantiles = append(m.Quantiles, quantile(all, q))
	}
	for _, l := range layers {
		w := make([]float64, len(l.Values))
		for i, v := range l.Values {
			w[i] = float64(v)
		}
		m.LastNorm, m.LastNorm2 = mirror.Norm(w, p), mirror.Norm(w, 2)
		m.LogProductOfNorm += math.Log10(max(m.LastNorm, 1e-300))
		m.LogProductOfNorm2 += math.Log10(max(m.LastNorm2, 1e-300))
	}
	return m, nil
}

// margin is the output margin of example i.
func (o outputs) margin(i int) float64 {
	return outputMargin(o.logits[i*o.classes:(i+1)*o.classes], o.labels[i])
}

// outputMargin is logit_y − max other.
func outputMargin(logits []float32, label int) float64 {
	other := math.Inf(-1)
	for k, v := range logits {
		if k != label {
			other = max(other, float64(v))
		}
	}
	return float64(logits[label]) - other
}

// pairs solves the pairs of classes that the last layer, [d, classes], separates worst.
func (x *Session) pairs(ctx context.Context, p float64, o outputs, last Layer) ([]Pair, error) {
	bias, err := x.bias(last)
	if err != nil {
		return nil, err
	}
	type candidate struct {
		Pair
		a, b int
	}
	var all []candidate
	w := make([]float64, o.d+1)
	for b := range o.classes {
		for a := range b {
			for j := range o.d {
				w[j] = float64(last.Values[j*o.classes+a]) - float64(last.Values[j*o.classes+b])
			}
			w[o.d] = float64(bias[a]) - float64(bias[b])
			examples, norm := o.ofPair(a, b), mirror.Norm(w, p)
			if len(examples) > 0 && norm > 0 {
				all = append(all, candidate{Pair{A: x.set.Classes[a], B: x.set.Classes[b], Examples: len(examples),
					Network: examples[0].margin / norm}, a, b})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.Network, b.Network) })
	all = all[:min(hardestPairs, len(all))]
	out, errs := make([]Pair, len(all)), make([]error, len(all))
	var wg sync.WaitGroup
	for k, c := range all {
		wg.Go(func() {
			out[k] = c.Pair
			errs[k] = o.solve(ctx, p, c.a, c.b, &out[k])
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

// bias of the layer, on the host.
func (x *Session) bias(l Layer) (out []float32, err error) {
	err = engine.Try(func() error {
		v := x.store.GetVariable(l.path[:len(l.path)-len("weight")] + "bias")
		if v == nil {
			return fmt.Errorf("%s has no bias", l.Name)
		}
		t, err := v.Value()
		if err != nil {
			return err
		}
		out, err = tensors.CopyFlatData[float32](t)
		return err
	})
	return out, err
}

// example is an example of a pair of classes, with its margin: positive if the network is right.
type example struct {
	i      int
	sign   float64 // +1 for class a
	margin float64
}

// ofPair lists the examples of two classes, those of the smallest margin first.
func (o outputs) ofPair(a, b int) []example {
	members := slices.Concat(o.ofClass[a], o.ofClass[b])
	slices.Sort(members)
	out := make([]example, 0, len(members))
	for _, i := range members {
		e := example{i, 1, float64(o.logits[i*o.classes+a]) - float64(o.logits[i*o.classes+b])}
		if o.labels[i] == b {
			e.sign, e.margin = -1, -e.margin
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b example) int { return cmp.Compare(a.margin, b.margin) })
	return out
}

// row is the features of example i with the constant one.
func (o outputs) row(dst []float64, i int) []float64 {
	for _, v := range o.features[i*o.d : (i+1)*o.d] {
		dst = append(dst, float64(v))
	}
	return append(dst, 1)
}

// solve finds the largest ℓₚ margin of a pair on all its examples. It begins with those that the network puts nearest
// to its boundary and adds the ones that the solution gets wrong, until none is: the margin of fewer examples is an
// upper bound for all.
func (o outputs) solve(ctx context.Context, p float64, a, b int, out *Pair) error {
	all := o.ofPair(a, b)
	in := make([]bool, len(all))
	var x, y []float64
	add := func(k int) {
		in[k] = true
		x, y = o.row(x, all[k].i), append(y, all[k].sign)
	}
	for _, sign := range []float64{1, -1} {
		left := nearest
		for k, e := range all {
			if e.sign == sign && left > 0 {
				add(k)
				left--
			}
		}
	}
	for range pairRounds {
		s, err := margin.Solve(ctx, linear.Problem{X: matrix.NewDense(o.d+1, x), Y: y}, p,
			margin.Settings{Gap: pairGap, MaxIterations: pairSteps})
		var not *margin.NotSeparableError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &not):
			out.Answer = "not separable"
			return nil
		case s == nil:
			out.Answer = "open: " + err.Error()
			return nil
		}
		out.Upper = s.Upper
		norm := mirror.Norm(s.W, p)
		least, row := math.Inf(1), make([]float64, 0, o.d+1)
		type wrong struct {
			k int
			m float64
		}
		var missing []wrong
		for k, e := range all {
			row = o.row(row[:0], e.i)
			var m float64
			for j, v := range row {
				m += v * s.W[j]
			}
			m *= e.sign
			least = min(least, m)
			if !in[k] && m < 1-pairGap {
				missing = append(missing, wrong{k, m})
			}
		}
		if out.Lower = max(out.Lower, least/norm); out.Lower > 0 {
			out.Answer = separable
		}
		if len(missing) == 0 || err != nil { // a gap that is too wide does not get better with more examples
			break
		}
		slices.SortStableFunc(missing, func(a, b wrong) int { return cmp.Compare(a.m, b.m) })
		for _, w := range missing[:min(nearest, len(missing))] {
			add(w.k)
		}
	}
	if out.Answer == "" {
		out.Answer = "open: not decided in the rounds allowed"
	}
	return nil
}
