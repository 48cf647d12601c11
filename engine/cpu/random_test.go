package cpu

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

var randomGraphs = flag.Int("cpu.graphs", 80, "how many random graphs to compare with GoMLX's engine")

// randomGraph builds the same graph in any engine: its choices depend on the seed alone.
type randomGraph struct {
	f      compute.Function
	rng    *rand.Rand
	values []compute.Value
	masks  []compute.Value
	inputs []shapes.Shape
}

func (g *randomGraph) shape(v compute.Value) shapes.Shape {
	s, err := g.f.Shape(v)
	if err != nil {
		panic(err)
	}
	return s
}

func (g *randomGraph) dims() []int {
	choices := [][]int{{}, {1}, {5}, {64}, {3, 4}, {1, 7}, {40, 16}, {2, 3, 5}, {7, 1, 16}, {2, 9, 8, 16}, {3, 2, 1, 5},
		{4, 16, 16, 8}, {30, 50}, {2, 3000}, {2500}}
	return choices[g.rng.IntN(len(choices))]
}

func (g *randomGraph) input() error {
	s := shapes.Make(dtypes.Float32, g.dims()...)
	v, err := g.f.Parameter(fmt.Sprint("x", len(g.inputs)), s, nil)
	g.inputs = append(g.inputs, s)
	g.values = append(g.values, v)
	return err
}

func (g *randomGraph) pick() compute.Value { return g.values[g.rng.IntN(len(g.values))] }

// like returns a value of the same shape as x, or one that is spread to it, or a constant.
func (g *randomGraph) like(x compute.Value) compute.Value {
	s := g.shape(x)
	for range 8 {
		y := g.pick()
		t := g.shape(y)
		if t.Equal(s) || t.Rank() == 0 {
			return y
		}
		if t.Rank() == s.Rank() {
			fits := true
			for i, d := range t.Dimensions {
				fits = fits && (d == 1 || d == s.Dimensions[i])
			}
			if fits {
				return y
			}
		}
		if t.Rank() == 1 && s.Rank() > 1 && t.Dimensions[0] == s.Dimensions[s.Rank()-1] {
			v, err := g.f.BroadcastInDim(y, s, []int{s.Rank() - 1})
			if err != nil {
				panic(err)
			}
			return v
		}
	}
	v, err := g.f.Constant([]float32{float32(g.rng.NormFloat64())})
	if err != nil {
		panic(err)
	}
	return v
}

func (g *randomGraph) add() (err error) {
	f, x := g.f, g.pick()
	s := g.shape(x)
	var v compute.Value
	kind := g.rng.IntN(27)
	switch kind {
	case 0, 1, 2:
		y := g.like(x)
		if g.rng.IntN(2) == 0 && g.shape(y).Equal(s) {
			x, y = y, x
		}
		v, err = []func(a, b compute.Value) (compute.Value, error){f.Add, f.Sub, f.Mul, f.Max, f.Min}[g.rng.IntN(5)](x, y)
	case 3:
		v, err = []func(a compute.Value) (compute.Value, error){f.Abs, f.Neg, f.Sign, f.Tanh, f.Logistic,
			f.Floor}[g.rng.IntN(6)](x)
	case 4:
		if v, err = f.Abs(x); err == nil {
			v, err = f.Sqrt(v)
		}
	case 5, 6:
		compare := []func(a, b compute.Value) (compute.Value, error){f.LessThan, f.GreaterThan, f.LessOrEqual,
			f.GreaterOrEqual, f.Equal, f.NotEqual}[g.rng.IntN(6)]
		var m compute.Value
		if m, err = compare(x, g.like(x)); err != nil {
			return err
		}
		if g.rng.IntN(2) == 0 {
			if m, err = f.LogicalNot(m); err != nil {
				return err
			}
		}
		g.masks = append(g.masks, m)
		yes, no := x, g.like(x)
		if t := g.shape(no); !t.Equal(s) && t.Rank() != 0 {
			return nil
		}
		v, err = f.Where(m, yes, no)
	case 7:
		axes := []int{}
		for i := range s.Rank() {
			if g.rng.IntN(2) == 0 {
				axes = append(axes, i)
			}
		}
		if len(axes) == 0 {
			return nil
		}
		if g.rng.IntN(3) == 0 {
			v, err = f.ReduceMax(x, axes...)
		} else {
			v, err = f.ReduceSum(x, axes...)
		}
	case 8:
		perm := g.rng.Perm(s.Rank())
		v, err = f.Transpose(x, perm...)
	case 9:
		starts, limits, strides := make([]int, s.Rank()), make([]int, s.Rank()), make([]int, s.Rank())
		for i, d := range s.Dimensions {
			starts[i] = g.rng.IntN(d)
			limits[i] = starts[i] + 1 + g.rng.IntN(d-starts[i])
			strides[i] = 1 + g.rng.IntN(2)
		}
		if s.Rank() == 0 {
			return nil
		}
		v, err = f.Slice(x, starts, limits, strides)
	case 10:
		if s.Rank() == 0 || s.Size() > 3000 {
			return nil
		}
		fill, err := f.Constant([]float32{0.5})
		if err != nil {
			return err
		}
		pads := make([]compute.PadAxis, s.Rank())
		for i := range pads {
			pads[i] = compute.PadAxis{Start: g.rng.IntN(3), End: g.rng.IntN(3), Interior: g.rng.IntN(2)}
		}
		if v, err = f.Pad(x, fill, pads...); err != nil {
			return err
		}
	case 11:
		if s.Rank() == 0 {
			return nil
		}
		v, err = f.Reverse(x, g.rng.IntN(s.Rank()))
	case 12:
		if s.Rank() == 0 || s.Size() > 3000 {
			return nil
		}
		v, err = f.Concatenate(g.rng.IntN(s.Rank()), x, x)
	case 13:
		v, err = f.Reshape(x, s.Size())
	case 14:
		if s.Rank() != 2 {
			return nil
		}
		v, err = f.DotGeneral(x, []int{0}, nil, x, []int{0}, nil, compute.DotGeneralConfig{})
	case 19: // a product for each element of a batch
		if s.Rank() != 3 || s.Size() > 3000 {
			return nil
		}
		axis := []int{1 + g.rng.IntN(2)}
		v, err = f.DotGeneral(x, axis, []int{0}, x, axis, []int{0}, compute.DotGeneralConfig{})
	case 15:
		to := []dtypes.DType{dtypes.Int32, dtypes.Float64, dtypes.Int64}[g.rng.IntN(3)]
		if v, err = f.ConvertDType(x, to); err != nil {
			return err
		}
		if g.rng.IntN(2) == 0 {
			if v, err = f.Add(v, v); err != nil {
				return err
			}
		}
		v, err = f.ConvertDType(v, dtypes.Float32)
	case 17, 18: // a choice by a scalar, also inside another
		other := x
		for range 8 {
			if y := g.pick(); g.shape(y).Equal(s) {
				other = y
			}
		}
		a, err := f.Constant([]float32{float32(g.rng.NormFloat64())})
		if err != nil {
			return err
		}
		b, err := f.Constant([]float32{float32(g.rng.NormFloat64())})
		if err != nil {
			return err
		}
		pred, err := f.LessThan(a, b)
		if err != nil {
			return err
		}
		if v, err = f.Where(pred, x, other); err != nil {
			return err
		}
	case 16:
		if len(g.masks) == 0 {
			return nil
		}
		v, err = f.ConvertDType(g.masks[g.rng.IntN(len(g.masks))], dtypes.Float32)
	default:
		v, err = g.addLayer(kind-20, x)
	}
	if err != nil || v == nil {
		if err != nil {
			err = fmt.Errorf("%d: %w", kind, err)
		}
		return err
	}
	// keep magnitudes small, so that rounding can be bounded
	if kind != 3 && (kind < 17 || kind >= 20) {
		bound, err := f.Constant([]float32{3})
		if err != nil {
			return err
		}
		if v, err = f.Min(v, bound); err != nil {
			return err
		}
		low, err := f.Constant([]float32{-3})
		if err != nil {
			return err
		}
		if v, err = f.Max(v, low); err != nil {
			return err
		}
	}
	g.values = append(g.values, v)
	return nil
}

func buildRandom(b compute.Backend, seed uint64) (compute.Executable, *randomGraph, error) {
	builder := b.Builder("random")
	g := &randomGraph{f: builder.Main(), rng: rand.New(rand.NewPCG(seed, 1))}
	for range 3 {
		if err := g.input(); err != nil {
			return nil, nil, err
		}
	}
	for range 25 {
		if err := g.add(); err != nil {
			return nil, nil, err
		}
	}
	var out []compute.Value
	for _, v := range g.values[3:] {
		if g.rng.IntN(3) == 0 {
			out = append(out, v)
		}
	}
	for _, m := range g.masks {
		if g.rng.IntN(2) == 0 {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		out = append(out, g.values[len(g.values)-1])
	}
	if err := g.f.Return(out, nil); err != nil {
		return nil, nil, err
	}
	e, err := builder.Compile()
	return e, g, err
}

func runRandom(t *testing.T, b compute.Backend, seed uint64, donate bool) [][]float64 {
	t.Helper()
	e, g, err := buildRandom(b, seed)
	if err != nil {
		t.Fatalf("seed %d: %+v", seed, err)
	}
	var last [][]float64
	for range 2 { // the second run finds the memory of the first
		rng := rand.New(rand.NewPCG(seed, 2))
		var in []compute.Buffer
		gifts := make([]bool, len(g.inputs))
		for i, s := range g.inputs {
			x := make([]float32, s.Size())
			for k := range x {
				x[k] = float32(math.Round(rng.NormFloat64()*16) / 16) // sums of few are exact: comparisons fall the same way
			}
			buf, err := b.BufferFromFlatData(0, x, s)
			if err != nil {
				t.Fatal(err)
			}
			in, gifts[i] = append(in, buf), donate
		}
		out, err := e.Execute(in, gifts, 0)
		if err != nil {
			t.Fatalf("seed %d: %+v", seed, err)
		}
		last = nil
		for _, o := range out {
			flat, err := o.Data()
			if err != nil {
				t.Fatal(err)
			}
			var v []float64
			switch flat := flat.(type) {
			case []float32:
				for _, x := range flat {
					v = append(v, float64(x))
				}
			case []bool:
				for _, x := range flat {
					if x {
						v = append(v, 1)
					} else {
						v = append(v, 0)
					}
				}
			}
			last = append(last, v)
		}
	}
	return last
}

// Two engines may round sums differently, by 1e-6 of their terms, and a comparison or a floor of what was rounded
// differently falls another way: an element in two hundred may differ.
func TestRandomGraphsAgreeWithGoMLXsEngine(t *testing.T) {
	ours := engineFor(t, "threads=3")
	for seed := range uint64(*randomGraphs) {
		want := runRandom(t, ours.shadow, seed, false)
		got := runRandom(t, ours, seed, seed%2 == 0)
		for k := range want {
			bad, first := 0, -1
			for i, w := range want[k] {
				if g := got[k][i]; math.Abs(g-w) > 1e-4*(1+math.Abs(w)) || math.IsNaN(g) != math.IsNaN(w) {
					if bad++; first < 0 {
						first = i
					}
				}
			}
			if len(want[k]) != len(got[k]) || bad > len(want[k])/200 {
				t.Errorf("seed %d, output %d: %d of %d differ, first at %d: %v, want %v", seed, k, bad, len(want[k]), first,
					got[k][first], want[k][first])
			}
		}
		if t.Failed() {
			return
		}
	}
}

func TestTheSameBitsForAnyNumberOfThreads(t *testing.T) {
	one, many := engineFor(t, "threads=1"), engineFor(t, "threads=5")
	for seed := range uint64(60) {
		a, b := runRandom(t, one, seed, false), runRandom(t, many, seed, true)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("seed %d: results depend on the number of threads", seed)
		}
	}
}
