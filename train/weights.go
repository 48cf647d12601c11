package train

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine"
)

// Layer is the weights of one convolution or linear layer, on the host. Biases and batch-norm parameters are not
// included: they are few, and are not pruned or rounded.
type Layer struct {
	Name   string // as PyTorch has it: layer1.0.conv1
	Dims   []int
	Values []float32
	path   string
}

// Weights copies the weights of every layer to the host, in the order of the network.
func (x *Session) Weights() ([]Layer, error) { return layersOf(x.layerVars(), layerName) }

// layersOf copies variables to the host.
func layersOf(vars []*model.Variable, name func(*model.Variable) string) ([]Layer, error) {
	var out []Layer
	err := engine.Try(func() error {
		for _, v := range vars {
			t, err := v.Value()
			if err != nil {
				return err
			}
			values, err := tensors.CopyFlatData[float32](t)
			if err != nil {
				return err
			}
			out = append(out, Layer{Name: name(v), Dims: v.Shape().Dimensions, Values: values, path: v.Path()})
		}
		return nil
	})
	return out, err
}

// layerName is the name of a layer as PyTorch has it, by its weights.
func layerName(v *model.Variable) string {
	return strings.TrimSuffix(torchName(v.Path()[1:]), ".weight")
}

// layerNames are the names of Weights.
func (x *Session) layerNames() []string {
	var out []string
	for _, v := range x.layerVars() {
		out = append(out, layerName(v))
	}
	return out
}

// SetWeights gives the layers other values.
func (x *Session) SetWeights(layers []Layer) error { return setWeights(x.store, layers) }

func setWeights(store *model.Store, layers []Layer) error {
	return engine.Try(func() error {
		for _, l := range layers {
			if err := store.GetVariable(l.path).SetValue(tensors.FromFlatDataAndDimensions(l.Values, l.Dims...)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Spread is how the sizes |w| of some weights are spread.
type Spread struct {
	Count  int     `json:"count"`
	Max    float64 `json:"max"`
	Median float64 `json:"median"`
	RMS    float64 `json:"rms"`
	// Shares of the weights with |w| below 0.001, below 0.01, below a hundredth of the RMS and below a tenth of it.
	Below [4]float64 `json:"below"`
	// Sparsity is the effective one, 1 − ‖w‖₁²/(n‖w‖₂²): 0 if all have one size, 0.36 for a normal distribution, near 1
	// if few count.
	Sparsity float64 `json:"sparsity"`
}

// MaxOverMedian is how far the largest weight stands out.
func (s Spread) MaxOverMedian() float64 { return s.Max / s.Median }

// spread measures sizes, which are sorted.
func spread(sizes []float32) Spread {
	n := len(sizes)
	if n == 0 {
		return Spread{}
	}
	var one, two float64
	for _, v := range sizes {
		one += float64(v)
		two += float64(v) * float64(v)
	}
	s := Spread{Count: n, Max: float64(sizes[n-1]), Median: float64(sizes[(n-1)/2]), RMS: math.Sqrt(two / float64(n))}
	for k, limit := range []float64{1e-3, 1e-2, s.RMS / 100, s.RMS / 10} {
		s.Below[k] = float64(below(sizes, limit)) / float64(n)
	}
	if two > 0 {
		s.Sparsity = 1 - one*one/(float64(n)*two)
	}
	return s
}

// below counts the sizes, sorted, under a limit.
func below(sizes []float32, limit float64) int {
	i, _ := slices.BinarySearchFunc(sizes, limit, func(v float32, l float64) int { return cmp.Compare(float64(v), l) })
	return i
}

// quantile of sorted sizes: the smallest value that at least the share q does not exceed.
func quantile[T float32 | float64](sorted []T, q float64) T {
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(q*float64(len(sorted))))-1))]
}

// Bins of a histogram, and the share of weights that it shows: as in the paper, the tail is cropped.
const (
	Bins    = 100
	cropped = 0.995
)

// Histogram counts sizes in equal bins from 0 to Limit; larger ones are counted separately.
type Histogram struct {
	Limit  float64   `json:"limit"`
	Share  []float64 `json:"share"` // of all, in each bin
	Beyond float64   `json:"beyond"`
}

// histogram counts sizes, sorted, in 100 bins up to the size that 99.5 % do not exceed.
func histogram(sizes []float32) Histogram {
	h := Histogram{Share: make([]float64, Bins)}
	if len(sizes) == 0 {
		return h
	}
	h.Limit = float64(quantile(sizes, cropped))
	if h.Limit == 0 {
		h.Limit = 1
	}
	n, from := float64(len(sizes)), 0
	for k := range Bins {
		to := below(sizes, h.Limit*float64(k+1)/Bins)
		if k == Bins-1 { // its upper edge belongs to it
			to = below(sizes, math.Nextafter(h.Limit, math.Inf(1)))
		}
		h.Share[k] = float64(to-from) / n
		from = to
	}
	h.Beyond = (n - float64(from)) / n
	return h
}

// sizes returns |w|, sorted.
func sizes(w []float32) []float32 {
	out := make([]float32, len(w))
	for i, v := range w {
		out[i] = float32(math.Abs(float64(v)))
	}
	sortSizes(out)
	return out
}

// pruned returns w with the weights of size at most limit set to 0.
func pruned(w []float32, limit float32) []float32 {
	out := make([]float32, len(w))
	for i, v := range w {
		if v > limit || v < -limit {
			out[i] = v
		}
	}
	return out
}

// prunedAt is the size up to which weights are set to 0 if a share of them, whose sizes are sorted, is pruned: −1 for
// none.
func prunedAt(sizes []float32, share float64) float32 {
	k := int(math.Round(share * float64(len(sizes))))
	if k == 0 {
		return -1
	}
	return sizes[k-1]
}

// rounded returns w in b bits, symmetric: s·round(w/s), s = max|w|/(2^(b−1) − 1), with a scale s for each of so many
// channels, which are the last axis of w. With one channel that is one scale for the tensor.
func rounded(w []float32, channels, bits int) []float32 {
	most := make([]float32, channels)
	for from := 0; from < len(w); from += channels {
		for c, v := range w[from : from+channels] {
			most[c] = max(most[c], v, -v)
		}
	}
	levels := float64(int(1)<<(bits-1) - 1)
	scale := make([]float64, channels)
	for c, m := range most {
		scale[c] = float64(m) / levels
	}
	out := make([]float32, len(w))
	for from := 0; from < len(w); from += channels {
		for c, v := range w[from : from+channels] {
			if s := scale[c]; s > 0 {
				out[from+c] = float32(s * math.RoundToEven(float64(v)/s))
			}
		}
	}
	return out
}
