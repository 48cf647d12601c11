package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/engine"
)

// exactWeight is the weight of pixel j in pixel i of out, by integrating in small steps or by the distance of centres.
func exactWeight(from, length float64, out, i, j int) float64 {
	scale := length / float64(out)
	first, last := math.Floor(from), math.Ceil(from+length)-1
	if float64(j) < first || float64(j) > last {
		return 0
	}
	begin := from + float64(i)*scale
	if scale >= 1 {
		return max(0, min(begin+scale, float64(j+1))-max(begin, float64(j))) / scale
	}
	middle := min(max(begin+scale/2-0.5, first), last)
	return max(0, 1-math.Abs(float64(j)-middle))
}

// Crop, flip and resize on the engine are those of a slow exact twin, and what lies outside the crop has no weight at
// all. Tolerance: coordinates up to 64 in float32 are off by 64 · 2⁻²⁴ · 3 operations at most, which a weight of slope
// 1/scale ≤ 1 repeats: 1.2e-5.
func TestResizeMatrixIsTheExactOne(t *testing.T) {
	e, err := engine.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	const b, in = 40, 64
	rng := rand.New(rand.NewPCG(1, 2))
	for _, out := range []int{1, 7, 32, 64, 96} {
		var from, length []float32
		var flip []bool
		for range b {
			n := 1 + rng.IntN(in)
			half := float32(1 + rng.IntN(2)) // a chroma plane has crops that begin between pixels
			from, length = append(from, float32(rng.IntN(in-n+1))/half), append(length, float32(n)/half)
			flip = append(flip, rng.IntN(2) == 1)
		}
		exec := MustNewExec(e.Backend, func(from, length, flip *Node) *Node {
			column := func(x *Node) *Node { return Reshape(x, b, 1, 1) }
			return resizeMatrix(span{column(from), column(length)}, column(flip), out, in)
		})
		got := tensors.MustCopyFlatData[float32](exec.MustCall(from, length, flip)[0])
		for k := range b {
			for i := range out {
				at := i
				if flip[k] {
					at = out - 1 - i
				}
				sum := 0.0
				for j := range in {
					w := float64(got[(k*out+i)*in+j])
					want := exactWeight(float64(from[k]), float64(length[k]), out, at, j)
					sum += w
					if math.Abs(w-want) > 1.2e-5 || want == 0 && float64(j) < float64(from[k])-1 && w != 0 {
						t.Fatalf("from %v, length %v, to %d: weight [%d %d] is %v, want %v", from[k], length[k], out, i, j, w, want)
					}
				}
				if math.Abs(sum-1) > 1e-4 {
					t.Errorf("from %v, length %v, to %d: the weights of pixel %d add up to %v", from[k], length[k], out, i, sum)
				}
			}
		}
	}
}

// In bf16 a colour is within five levels of float32's, and within one on average: luma and chroma are off by half a
// level for the weights, the rows and the result each, and chroma counts up to 1.772 times.
func TestResizingInBFloat16IsNearFloat32(t *testing.T) {
	e, err := engine.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	const n, h, w, out = 8, 40, 48, 32
	rng := rand.New(rand.NewPCG(3, 4))
	bytes := make([]byte, n*h*w*3/2)
	for i := range bytes {
		bytes[i] = byte(60 + rng.IntN(130))
	}
	var from, length []float32
	for range n {
		k := 1 + rng.IntN(h)
		from, length = append(from, float32(rng.IntN(h-k+1))), append(length, float32(k))
	}
	slots := tensors.FromFlatDataAndDimensions(bytes, n, h*w*3/2)
	run := func(dtype dtypes.DType) []float32 {
		exec := MustNewExec(e.Backend, func(slots, from, length *Node) *Node {
			s := span{Reshape(from, n, 1, 1), Reshape(length, n, 1, 1)}
			y, cb, cr := slotPlanes(slots, h, w)
			return fromPlanes(y, cb, cr, out, s, s, nil, dtype)
		})
		return tensors.MustCopyFlatData[float32](exec.MustCall(slots, from, length)[0])
	}
	exact, got := run(dtypes.Float32), run(dtypes.BFloat16)
	most, sum := 0.0, 0.0
	for i := range exact {
		d := math.Abs(float64(exact[i] - got[i]))
		most, sum = max(most, d), sum+d
	}
	if mean := sum / float64(len(exact)); most > 5 || mean > 1 || most == 0 {
		t.Errorf("bf16 differs by up to %v levels, %v on average", most, mean)
	}
	t.Logf("bf16 differs by up to %.3g levels, %.3g on average", most, sum/float64(len(exact)))
}

// Crop, resize and colour of 32 pictures of 256 × 256 to 192 × 192 on the CPU engine.
func BenchmarkFromPlanes(b *testing.B) {
	e, err := engine.Open(engine.CPU)
	if err != nil {
		b.Fatal(err)
	}
	const n, side, slot = 32, 256, 256 * 256 * 3 / 2
	exec := MustNewExec(e.Backend, func(slots, from, length *Node) *Node {
		s := span{Reshape(from, n, 1, 1), Reshape(length, n, 1, 1)}
		y, cb, cr := slotPlanes(slots, side, side)
		return fromPlanes(y, cb, cr, 192, s, s, nil, dtypes.Float32)
	})
	slots := tensors.FromFlatDataAndDimensions(make([]byte, n*slot), n, slot)
	from, length := make([]float32, n), make([]float32, n)
	for i := range n {
		from[i], length[i] = float32(i), 200
	}
	exec.MustCall(slots, from, length)
	b.ResetTimer()
	for b.Loop() {
		exec.MustCall(slots, from, length)
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "img/s")
}
