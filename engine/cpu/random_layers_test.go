package cpu

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

// The operations of other people's layers, for random graphs.

// addLayer adds one of them, or nothing.
func (g *randomGraph) addLayer(kind int, x compute.Value) (compute.Value, error) {
	f, s := g.f, g.shape(x)
	if s.Rank() == 0 || s.Size() > 50_000 { // GoMLX's engine adds up in order, which rounds many terms too often
		return nil, nil
	}
	switch kind {
	case 0:
		return g.window(x)
	case 1:
		return g.scatterWindow(x)
	case 2:
		return g.anyProduct(x)
	case 3:
		return g.lookUp(x)
	case 4:
		return f.FusedSoftmax(x, g.rng.IntN(s.Rank()))
	case 5:
		return f.FusedGelu(x, g.rng.IntN(2) == 0)
	}
	axes := []int{s.Rank() - 1}
	if s.Rank() > 1 && g.rng.IntN(3) == 0 {
		axes = []int{s.Rank() - 2, s.Rank() - 1}
	}
	var gamma compute.Value
	if g.rng.IntN(2) == 0 && len(axes) == 1 {
		var err error
		if gamma, err = f.Slice(x, make([]int, s.Rank()), append(slices.Repeat([]int{1}, s.Rank()-1),
			s.Dimensions[s.Rank()-1]), slices.Repeat([]int{1}, s.Rank())); err != nil {
			return nil, err
		}
		if gamma, err = f.Reshape(gamma, s.Dimensions[s.Rank()-1]); err != nil {
			return nil, err
		}
	}
	y, err := f.FusedLayerNorm(x, axes, 0.3, gamma, nil)
	if err != nil {
		return nil, err
	}
	one, err := f.Constant([]float32{1})
	if err != nil {
		return nil, err
	}
	return f.Add(y, one) // what should be 0 is a rounding error, and a root of that is not small
}

// windowSizes draws a window with strides and borders that fits somewhere.
func (g *randomGraph) windowSizes(dims []int) (window, strides []int, paddings [][2]int) {
	for _, d := range dims {
		w, stride, pad := 1, 1, [2]int{}
		if g.rng.IntN(2) == 0 {
			w = 1 + g.rng.IntN(min(d, 4))
			stride = 1 + g.rng.IntN(3)
			pad = [2]int{g.rng.IntN(w), g.rng.IntN(w)}
		}
		window, strides, paddings = append(window, w), append(strides, stride), append(paddings, pad)
	}
	switch g.rng.IntN(4) {
	case 0:
		return window, nil, nil
	case 1:
		return window, strides, nil
	}
	return window, strides, paddings
}

func (g *randomGraph) window(x compute.Value) (compute.Value, error) {
	dims := g.shape(x).Dimensions
	window, strides, paddings := g.windowSizes(dims)
	var spread, apart []int
	if g.rng.IntN(4) == 0 {
		for i, d := range dims {
			spread = append(spread, 1+g.rng.IntN(2))
			apart = append(apart, 1)
			if (window[i]-1)*2 < d {
				apart[i] += g.rng.IntN(2)
			}
		}
	}
	kind := []compute.ReduceOpType{compute.ReduceOpMax, compute.ReduceOpMin, compute.ReduceOpSum}[g.rng.IntN(3)]
	if kind == compute.ReduceOpSum && g.rng.IntN(2) == 0 && g.shape(x).Size() < 3000 { // as in the gradient of a sum
		zero, err := g.f.Constant([]float32{0})
		if err != nil {
			return nil, err
		}
		pads := make([]compute.PadAxis, len(dims))
		for i := range pads {
			pads[i] = compute.PadAxis{Start: g.rng.IntN(3), End: g.rng.IntN(3), Interior: g.rng.IntN(3)}
		}
		if x, err = g.f.Pad(x, zero, pads...); err != nil {
			return nil, err
		}
	}
	y, err := g.f.ReduceWindow(x, kind, window, strides, spread, apart, paddings)
	if err != nil {
		return nil, err
	}
	if kind != compute.ReduceOpSum { // windows of nothing but border are infinite
		y, err = g.bounded(y)
	}
	return y, err
}

func (g *randomGraph) bounded(x compute.Value) (compute.Value, error) {
	for i, v := range []float32{3, -3} {
		bound, err := g.f.Constant([]float32{v})
		if err != nil {
			return nil, err
		}
		if i == 0 {
			x, err = g.f.Min(x, bound)
		} else {
			x, err = g.f.Max(x, bound)
		}
		if err != nil {
			return nil, err
		}
	}
	return x, nil
}

func (g *randomGraph) scatterWindow(x compute.Value) (compute.Value, error) {
	window, strides, paddings := g.windowSizes(g.shape(x).Dimensions)
	y, err := g.f.ReduceWindow(x, compute.ReduceOpMax, window, strides, nil, nil, paddings)
	if err != nil {
		return nil, err
	}
	if y, err = g.bounded(y); err != nil {
		return nil, err
	}
	if g.rng.IntN(2) == 0 {
		return g.f.SelectAndScatterMin(x, y, window, strides, paddings)
	}
	return g.f.SelectAndScatterMax(x, y, window, strides, paddings)
}

// anyProduct multiplies a tensor by itself with its axes in another order: some of a batch, some summed over.
func (g *randomGraph) anyProduct(x compute.Value) (compute.Value, error) {
	s := g.shape(x)
	rank := s.Rank()
	perm := g.rng.Perm(rank)
	y, err := g.f.Transpose(x, perm...)
	if err != nil {
		return nil, err
	}
	var xBatch, yBatch, xSum, ySum []int
	size := 1
	for _, a := range g.rng.Perm(rank) {
		at := slices.Index(perm, a)
		switch g.rng.IntN(3) {
		case 0:
			xBatch, yBatch = append(xBatch, a), append(yBatch, at)
			size *= s.Dimensions[a]
		case 1:
			xSum, ySum = append(xSum, a), append(ySum, at)
		default:
			size *= s.Dimensions[a] * s.Dimensions[a]
		}
	}
	if size > 20_000 {
		return nil, nil
	}
	return g.f.DotGeneral(x, xSum, xBatch, y, ySum, yBatch, compute.DotGeneralConfig{})
}

// lookUp gathers slices and scatters them again.
func (g *randomGraph) lookUp(x compute.Value) (compute.Value, error) {
	s := g.shape(x)
	per := 1 + g.rng.IntN(s.Rank())
	count := 1 + g.rng.IntN(9)
	var indices []int32
	for range count {
		for _, d := range s.Dimensions[:per] {
			indices = append(indices, int32(g.rng.IntN(d)))
		}
	}
	at, err := g.f.Constant(indices, count, per)
	if err != nil {
		return nil, err
	}
	if g.rng.IntN(2) == 0 {
		if at, err = g.f.ConvertDType(at, dtypes.Int64); err != nil {
			return nil, err
		}
	}
	var collapsed, offset []int
	sizes := slices.Clone(s.Dimensions)
	for i := range s.Rank() {
		if i < per {
			collapsed, sizes[i] = append(collapsed, i), 1
		} else {
			offset = append(offset, 1+i-per)
		}
	}
	y, err := g.f.Gather(x, at, 1, offset, collapsed, collapsed, sizes, false)
	if err != nil || g.rng.IntN(3) == 0 {
		return y, err
	}
	onto := x
	if g.rng.IntN(2) == 0 {
		zero, err := g.f.Constant([]float32{0})
		if err != nil {
			return nil, err
		}
		if onto, err = g.f.BroadcastInDim(zero, s, nil); err != nil {
			return nil, err
		}
	}
	switch g.rng.IntN(4) {
	case 0:
		return g.f.ScatterMax(onto, at, y, 1, offset, collapsed, collapsed, false, false)
	case 1:
		return g.f.ScatterMin(onto, at, y, 1, offset, collapsed, collapsed, false, false)
	}
	return g.f.ScatterSum(onto, at, y, 1, offset, collapsed, collapsed, false, false)
}
