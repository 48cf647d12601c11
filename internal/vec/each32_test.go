package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A kernel32 sets dst from up to three vectors; exact ones agree with their twins in every bit, or are NaN in both.
type kernel32 struct {
	name   string
	inputs int
	mask   bool // the first input is a mask
	f      func(dst, a, b, c []float32)
}

const some, other = -0.75, 1.5

var exactKernels32 = []kernel32{
	{"Add32", 2, false, func(dst, a, b, _ []float32) { Add32(dst, a, b) }},
	{"Sub32", 2, false, func(dst, a, b, _ []float32) { Sub32(dst, a, b) }},
	{"Mul32", 2, false, func(dst, a, b, _ []float32) { Mul32(dst, a, b) }},
	{"Div32", 2, false, func(dst, a, b, _ []float32) { Div32(dst, a, b) }},
	{"Max32", 2, false, func(dst, a, b, _ []float32) { Max32(dst, a, b) }},
	{"Min32", 2, false, func(dst, a, b, _ []float32) { Min32(dst, a, b) }},
	{"Scale32", 1, false, func(dst, a, _, _ []float32) { Scale32(dst, some, a) }},
	{"AddScalar32", 1, false, func(dst, a, _, _ []float32) { AddScalar32(dst, a, some) }},
	{"SubFromScalar32", 1, false, func(dst, a, _, _ []float32) { SubFromScalar32(dst, a, some) }},
	{"DivScalar32", 1, false, func(dst, a, _, _ []float32) { DivScalar32(dst, a, some) }},
	{"ScalarDiv32", 1, false, func(dst, a, _, _ []float32) { ScalarDiv32(dst, a, some) }},
	{"MaxScalar32", 1, false, func(dst, a, _, _ []float32) { MaxScalar32(dst, a, 0) }},
	{"MinScalar32", 1, false, func(dst, a, _, _ []float32) { MinScalar32(dst, a, 0) }},
	{"Neg32", 1, false, func(dst, a, _, _ []float32) { Neg32(dst, a) }},
	{"Abs32", 1, false, func(dst, a, _, _ []float32) { Abs32(dst, a) }},
	{"Sign32", 1, false, func(dst, a, _, _ []float32) { Sign32(dst, a) }},
	{"Sqrt32", 1, false, func(dst, a, _, _ []float32) { Sqrt32(dst, a) }},
	{"Rsqrt32", 1, false, func(dst, a, _, _ []float32) { Rsqrt32(dst, a) }},
	{"Square32", 1, false, func(dst, a, _, _ []float32) { Square32(dst, a) }},
	{"Floor32", 1, false, func(dst, a, _, _ []float32) { Floor32(dst, a) }},
	{"Ceil32", 1, false, func(dst, a, _, _ []float32) { Ceil32(dst, a) }},
	{"Round32", 1, false, func(dst, a, _, _ []float32) { Round32(dst, a) }},
	{"Equal32", 2, false, func(dst, a, b, _ []float32) { Equal32(dst, a, b) }},
	{"NotEqual32", 2, false, func(dst, a, b, _ []float32) { NotEqual32(dst, a, b) }},
	{"Less32", 2, false, func(dst, a, b, _ []float32) { Less32(dst, a, b) }},
	{"LessEqual32", 2, false, func(dst, a, b, _ []float32) { LessEqual32(dst, a, b) }},
	{"EqualScalar32", 1, false, func(dst, a, _, _ []float32) { EqualScalar32(dst, a, 0) }},
	{"NotEqualScalar32", 1, false, func(dst, a, _, _ []float32) { NotEqualScalar32(dst, a, 0) }},
	{"LessScalar32", 1, false, func(dst, a, _, _ []float32) { LessScalar32(dst, a, 0) }},
	{"LessEqualScalar32", 1, false, func(dst, a, _, _ []float32) { LessEqualScalar32(dst, a, 0) }},
	{"GreaterScalar32", 1, false, func(dst, a, _, _ []float32) { GreaterScalar32(dst, a, 0) }},
	{"GreaterEqualScalar32", 1, false, func(dst, a, _, _ []float32) { GreaterEqualScalar32(dst, a, 0) }},
	{"AndMask32", 2, true, func(dst, a, b, _ []float32) { AndMask32(dst, a, b) }},
	{"OrMask32", 2, true, func(dst, a, b, _ []float32) { OrMask32(dst, a, b) }},
	{"XorMask32", 2, true, func(dst, a, b, _ []float32) { XorMask32(dst, a, b) }},
	{"NotMask32", 1, true, func(dst, a, _, _ []float32) { NotMask32(dst, a) }},
	{"Select32", 3, true, func(dst, a, b, c []float32) { Select32(dst, a, b, c) }},
	{"SelectVectorScalar32", 2, true, func(dst, a, b, _ []float32) { SelectVectorScalar32(dst, a, b, some) }},
	{"SelectScalarVector32", 2, true, func(dst, a, b, _ []float32) { SelectScalarVector32(dst, a, some, b) }},
	{"SelectScalars32", 1, true, func(dst, a, _, _ []float32) { SelectScalars32(dst, a, some, other) }},
	{"MulAdd32", 3, false, func(dst, a, b, c []float32) { MulAdd32(dst, a, b, c) }},
	{"MulScalarAdd32", 2, false, func(dst, a, b, _ []float32) { MulScalarAdd32(dst, a, some, b) }},
	{"MulAddScalar32", 1, false, func(dst, a, _, _ []float32) { MulAddScalar32(dst, a, some, other) }},
}

// curves32 are those with a bound on their error.
var curves32 = []kernel32{
	{"Exp32", 1, false, func(dst, a, _, _ []float32) { Exp32(dst, a) }},
	{"Log32", 1, false, func(dst, a, _, _ []float32) { Log32(dst, a) }},
	{"Expm132", 1, false, func(dst, a, _, _ []float32) { Expm132(dst, a) }},
	{"Log1p32", 1, false, func(dst, a, _, _ []float32) { Log1p32(dst, a) }},
	{"Tanh32", 1, false, func(dst, a, _, _ []float32) { Tanh32(dst, a) }},
	{"Erf32", 1, false, func(dst, a, _, _ []float32) { Erf32(dst, a) }},
	{"Logistic32", 1, false, func(dst, a, _, _ []float32) { Logistic32(dst, a) }},
}

var (
	nan32   = float32(math.NaN())
	inf32   = float32(math.Inf(1))
	minus0  = float32(math.Copysign(0, -1))
	special = []float32{0, minus0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, inf32, -inf32, nan32, 1e-45, -1e-45, 1e-40, 0x1p-126,
		math.MaxFloat32, -math.MaxFloat32, 1 << 23, 1<<23 - 0.5, 0x1p31, -0x1p31, 1e10}
)

// draw returns a number of any kind, or an element of a mask.
func draw(r *rand.Rand, mask bool) float32 {
	switch k := r.IntN(8); {
	case mask:
		return maskOf(k < 4)
	case k == 0:
		return special[r.IntN(len(special))]
	case k == 1:
		return math.Float32frombits(r.Uint32())
	}
	return float32(r.NormFloat64() * 3)
}

func same32(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func TestExactKernelsAgreeWithGoInEveryBit(t *testing.T) {
	if !hasAVX2 {
		t.Skip("no assembly here")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range exactKernels32 {
		for n := 0; n <= 70; n++ {
			var in [3]guarded[float32]
			for j := range in {
				in[j] = newGuarded[float32](n, (n+2*j)%5)
				for i := range in[j].slice {
					in[j].slice[i] = draw(r, k.mask && (j == 0 || k.name[0] != 'S'))
				}
			}
			want, out := make([]float32, n), newGuarded[float32](n, (n+3)%7)
			apply := func(dst []float32) { k.f(dst, in[0].slice, in[1].slice, in[2].slice) }
			accelerated = false
			apply(want)
			accelerated = true
			apply(out.slice)
			out.intact(t, k.name)
			check := func(where string, got []float32) {
				for i, w := range want {
					if !same32(got[i], w) {
						t.Fatalf("%s %s: element %d of %d is %v in assembly and %v in Go, of %v %v %v", k.name, where, i, n, got[i], w,
							in[0].slice[i], in[1].slice[i], in[2].slice[i])
					}
				}
			}
			check("apart", out.slice)
			for j := range k.inputs { // in place of each input
				kept := append([]float32(nil), in[j].slice...)
				apply(in[j].slice)
				in[j].intact(t, k.name)
				got := append([]float32(nil), in[j].slice...)
				copy(in[j].slice, kept)
				check("in place", got)
			}
		}
	}
}

// Every pair of special values, against what Go says of them, and IEEE of maximum and minimum.
func TestSpecialPairs(t *testing.T) {
	bool32 := func(f func(a, b float32) bool) func(a, b float32) float32 {
		return func(a, b float32) float32 { return maskOf(f(a, b)) }
	}
	for name, c := range map[string]struct {
		vector func(dst, a, b []float32)
		scalar func(dst, a []float32, s float32)
		want   func(a, b float32) float32
	}{
		"add":      {Add32, AddScalar32, func(a, b float32) float32 { return a + b }},
		"sub":      {Sub32, nil, func(a, b float32) float32 { return a - b }},
		"sub from": {nil, SubFromScalar32, func(a, b float32) float32 { return b - a }},
		"mul": {Mul32, func(dst, a []float32, s float32) { Scale32(dst, s, a) },
			func(a, b float32) float32 { return a * b }},
		"div":        {Div32, DivScalar32, func(a, b float32) float32 { return a / b }},
		"scalar div": {nil, ScalarDiv32, func(a, b float32) float32 { return b / a }},
		"max":        {Max32, MaxScalar32, func(a, b float32) float32 { return float32(math.Max(float64(a), float64(b))) }},
		"min":        {Min32, MinScalar32, func(a, b float32) float32 { return float32(math.Min(float64(a), float64(b))) }},
		"equal":      {Equal32, EqualScalar32, bool32(func(a, b float32) bool { return a == b })},
		"unequal":    {NotEqual32, NotEqualScalar32, bool32(func(a, b float32) bool { return a != b })},
		"less":       {Less32, LessScalar32, bool32(func(a, b float32) bool { return a < b })},
		"at most":    {LessEqual32, LessEqualScalar32, bool32(func(a, b float32) bool { return a <= b })},
		"greater":    {nil, GreaterScalar32, bool32(func(a, b float32) bool { return a > b })},
		"at least":   {nil, GreaterEqualScalar32, bool32(func(a, b float32) bool { return a >= b })},
		"multiply-add": {func(dst, a, b []float32) { MulAdd32(dst, a, b, b) },
			func(dst, a []float32, s float32) { MulAddScalar32(dst, a, s, s) },
			func(a, b float32) float32 { return fma32(a, b, b) }},
	} {
		implementations(t, func(t *testing.T) {
			for _, a := range special {
				for _, b := range special {
					x, y, got := []float32{a}, []float32{b}, []float32{1}
					// NaN is not simply compared: math.Max(+Inf, NaN) is +Inf.
					want := c.want(a, b)
					if (name == "max" || name == "min") && (a != a || b != b) {
						want = nan32
					}
					check := func() {
						if !same32(got[0], want) {
							t.Errorf("%s of %v and %v is %v, want %v", name, a, b, got[0], want)
						}
					}
					if c.vector != nil {
						c.vector(got, x, y)
						check()
					}
					if c.scalar != nil {
						c.scalar(got, x, b)
						check()
					}
				}
			}
		})
	}
}

func TestSpecialValuesOfUnaryKernels(t *testing.T) {
	in64 := func(f func(float64) float64) func(float32) float32 {
		return func(x float32) float32 { return float32(f(float64(x))) }
	}
	for name, c := range map[string]struct {
		f    func(dst, a []float32)
		want func(x float32) float32
	}{
		"Neg32":    {Neg32, func(x float32) float32 { return -x }},
		"Abs32":    {Abs32, in64(math.Abs)},
		"Sqrt32":   {Sqrt32, in64(math.Sqrt)},
		"Rsqrt32":  {Rsqrt32, func(x float32) float32 { return 1 / float32(math.Sqrt(float64(x))) }},
		"Square32": {Square32, func(x float32) float32 { return x * x }},
		"Floor32":  {Floor32, in64(math.Floor)},
		"Ceil32":   {Ceil32, in64(math.Ceil)},
		"Round32":  {Round32, in64(math.RoundToEven)},
		"Sign32": {Sign32, func(x float32) float32 {
			if x == 0 || x != x {
				return x
			}
			return float32(math.Copysign(1, float64(x)))
		}},
	} {
		implementations(t, func(t *testing.T) {
			got := make([]float32, len(special))
			c.f(got, special)
			for i, x := range special {
				if w := c.want(x); !same32(got[i], w) {
					t.Errorf("%s of %v is %v, want %v", name, x, got[i], w)
				}
			}
		})
	}
}

// A product that lies just beside the point halfway between two float32 is where rounding twice goes wrong.
func TestMultiplyAddRoundsOnce(t *testing.T) {
	implementations(t, func(t *testing.T) {
		got := []float32{0}
		for _, c := range []struct{ a, b, c, want float32 }{
			{0x1p-40, 0x1p-40, 1 + 0x1p-23, 1 + 0x1p-23},
			{1 + 0x1p-12, 1 + 0x1p-12, 0x1p-70, 1 + 0x1p-11 + 0x1p-23}, // 1 + 2⁻¹¹ + 2⁻²⁴ and a little
			{1 + 0x1p-12, 1 + 0x1p-12, 0, 1 + 0x1p-11},                 // halfway
			{1 + 0x1p-12, 1 + 0x1p-12, -0x1p-70, 1 + 0x1p-11},
			{-1 - 0x1p-12, 1 + 0x1p-12, -0x1p-70, -1 - 0x1p-11 - 0x1p-23},
			{3, -1, 3, 0},
		} {
			MulAdd32(got, []float32{c.a}, []float32{c.b}, []float32{c.c})
			if got[0] != c.want {
				t.Errorf("%v·%v + %v is %v, want %v", c.a, c.b, c.c, got[0], c.want)
			}
			MulScalarAdd32(got, []float32{c.a}, c.b, []float32{c.c})
			if got[0] != c.want {
				t.Errorf("scalar %v·%v + %v is %v, want %v", c.b, c.a, c.c, got[0], c.want)
			}
		}
	})
}

func TestSelectionTakesWhatTheMaskSays(t *testing.T) {
	implementations(t, func(t *testing.T) {
		bools := make([]bool, 37)
		mask, a, b, got := make([]float32, 37), make([]float32, 37), make([]float32, 37), make([]float32, 37)
		for i := range bools {
			bools[i] = i%3 == 1
			a[i], b[i] = float32(i), -float32(i)-1
		}
		MaskFromBools(mask, bools)
		back := make([]bool, 37)
		BoolsFromMask(back, mask)
		for name, c := range map[string]struct {
			f        func()
			yes, not func(i int) float32
		}{
			"vectors": {func() { Select32(got, mask, a, b) }, func(i int) float32 { return a[i] },
				func(i int) float32 { return b[i] }},
			"vector scalar": {func() { SelectVectorScalar32(got, mask, a, 7) }, func(i int) float32 { return a[i] },
				func(int) float32 { return 7 }},
			"scalar vector": {func() { SelectScalarVector32(got, mask, 7, b) }, func(int) float32 { return 7 },
				func(i int) float32 { return b[i] }},
			"scalars": {func() { SelectScalars32(got, mask, 7, 8) }, func(int) float32 { return 7 },
				func(int) float32 { return 8 }},
		} {
			c.f()
			for i, set := range bools {
				want := c.not(i)
				if set {
					want = c.yes(i)
				}
				if got[i] != want || back[i] != set {
					t.Fatalf("%s: element %d is %v, want %v; bool %v, want %v", name, i, got[i], want, back[i], set)
				}
			}
		}
	})
}

func TestShortSlicesPanicIn32Bits(t *testing.T) {
	x, short := make([]float32, 5), make([]float32, 4)
	for _, k := range append(exactKernels32, curves32...) {
		implementations(t, func(t *testing.T) {
			slices := [4][]float32{x, x, x, x}
			for j := range k.inputs + 1 {
				if j == 1 {
					continue // the first input gives the length
				}
				slices[j] = short
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("%s does not panic for a short argument %d", k.name, j)
						}
					}()
					k.f(slices[0], slices[1], slices[2], slices[3])
				}()
				slices[j] = x
			}
		})
	}
}
