package product

// Interpolation in the points 0, ±a, ±b and ∞ makes F(4×4, 3×3). With ±3/4 and ±3/2 its rounding errors are a fifth of
// those with the usual ±1 and ±2, and about those of the plain sum.
const (
	a1, a2 = 0.75, a1 * a1
	b1, b2 = 1.5, b1 * b1
	aScale = 1 / (2 * a2 * (a2 - b2))
	bScale = 1 / (2 * b2 * (b2 - a2))
)

// winogradMatrices are Bᵀ, G and Aᵀ of F(2×2, 3×3), whose points are 0, ±1 and ∞, and of F(4×4, 3×3).
var winogradMatrices = map[int]struct{ b, g, a [][]float32 }{
	2: {
		b: [][]float32{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
		g: [][]float32{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
		a: [][]float32{{1, 1, 1, 0}, {0, 1, -1, -1}},
	},
	4: {
		b: [][]float32{
			{a2 * b2, 0, -a2 - b2, 0, 1, 0},
			{0, -a1 * b2, -b2, a1, 1, 0}, {0, a1 * b2, -b2, -a1, 1, 0},
			{0, -b1 * a2, -a2, b1, 1, 0}, {0, b1 * a2, -a2, -b1, 1, 0},
			{0, a2 * b2, 0, -a2 - b2, 0, 1},
		},
		g: [][]float32{
			{1 / (a2 * b2), 0, 0},
			{aScale, aScale * a1, aScale * a2}, {aScale, -aScale * a1, aScale * a2},
			{bScale, bScale * b1, bScale * b2}, {bScale, -bScale * b1, bScale * b2},
			{0, 0, 1},
		},
		a: [][]float32{{1, 1, 1, 1, 1, 0}, {0, a1, -a1, b1, -b1, 0}, {0, a2, a2, b2, b2, 0},
			{0, a1 * a2, -a1 * a2, b1 * b2, -b1 * b2, 1}},
	},
}

var winogradGo = map[int]winogradSet{2: newWinogradGo(2), 4: newWinogradGo(4)}

func newWinogradGo(m int) winogradSet {
	w := winogradMatrices[m]
	return winogradSet{
		lanes:          8,
		input:          spreadGo(w.b),
		outputGradient: spreadGo(transposed(w.a)),
		output:         collectGo(w.a),
		kernel:         convertGo(w.g),
		kernelGradient: convertGo(transposed(w.g)),
	}
}

func transposed(a [][]float32) [][]float32 {
	t := make([][]float32, len(a[0]))
	for i := range t {
		for _, row := range a {
			t[i] = append(t[i], row[i])
		}
	}
	return t
}

// bothGo returns the matrix a times the square x times the transpose of a.
func bothGo(a [][]float32, x *[36]float32) (y [36]float32) {
	n := len(a[0])
	var half [36]float32
	for i := range n {
		for j, row := range a {
			for k, v := range row {
				half[i*len(a)+j] += v * x[i*n+k]
			}
		}
	}
	for i, row := range a {
		for j := range a {
			for k, v := range row {
				y[i*len(a)+j] += v * half[k*len(a)+j]
			}
		}
	}
	return y
}

func spreadGo(a [][]float32) spreadKernel {
	in, out := len(a[0])*len(a[0]), len(a)*len(a)
	return func(dst, src, zero, _ []float32, from []int32, plane, channels, group, skip, _ int) {
		var x [36]float32
		for c := range channels {
			for i, f := range from[:in] {
				x[i] = 0
				if f >= 0 {
					x[i] = src[int(f)+c]
				}
			}
			y := bothGo(a, &x)
			for i, v := range y[:out] {
				dst[i*plane+c+c/group*skip] = v
			}
		}
	}
}

func collectGo(a [][]float32) collectKernel {
	in, out := len(a[0])*len(a[0]), len(a)*len(a)
	return func(dst, spill, src []float32, place []int32, plane, channels, _ int) {
		var x [36]float32
		for c := range channels {
			for i := range in {
				x[i] = src[i*plane+c]
			}
			y := bothGo(a, &x)
			for i, p := range place[:out] {
				if p >= 0 {
					dst[int(p)+c] = y[i]
				}
			}
		}
	}
}

func convertGo(a [][]float32) convertKernel {
	in, out := len(a[0])*len(a[0]), len(a)*len(a)
	return func(dst, src []float32, to, from, count int) {
		var x [36]float32
		for c := range count {
			for i := range in {
				x[i] = src[i*from+c]
			}
			y := bothGo(a, &x)
			for i := range out {
				dst[i*to+c] = y[i]
			}
		}
	}
}
