package margin

import (
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
)

// normal solves the Newton equations both interior point methods come down to:
//
//	z = (D + κggᵀ)(Aᵀx + f),   A·z + Θ·x − b·Δγ = r,   bᵀx = 0,
//
// with D and Θ diagonal, the rank-one term that ½‖·‖² has and a sum of powers has not, and the border b that keeps
// the dual weights on the simplex; z is a step of w, x one of a. With n ≤ d the n × n matrix ADAᵀ + Θ is factored,
// with n > d the d × d matrix I + D^½AᵀΘ⁻¹AD^½, and z is found before x; the rank-one term and the border are
// eliminated by hand. The result is refined against the products with A, which are more accurate than the factor.
type normal struct {
	*rows
	tall  bool
	size  int
	m     []float64 // the factor
	at    []float64 // Aᵀ as a row-major block, for dense n > d
	chunk []float64

	diag, theta, root []float64 // D, Θ, √D
	kappa             float64
	g                 []float64
	h, xh, zh         []float64 // h = Ag, and the x and z that r = h alone gives without the rank-one term
	xb, zb            []float64 // the x and z that r = b alone gives
	down              float64   // κ/(1 + κhᵀxh)
	bxb               float64
	blocks            *classBlocks // of pairs
	products          []float64    // ADAᵀ + Θ, if the equations are solved by it alone: see few
	adf               []float64    // ADf of the f that was last used with full
	rho               float64      // ρbbᵀ is added to the n × n matrix, see factorWide
	free              bool         // there is no border: Δγ = 0, and bᵀx is free

	rn, xn []float64 // n: the residual and its correction
	fd, zd []float64 // d: likewise
	small  []float64
	spare  []float64
}

func newNormal(r *rows) *normal {
	k := &normal{rows: r}
	for _, v := range []*[]float64{&k.h, &k.xh, &k.xb, &k.rn, &k.xn, &k.theta, &k.spare} {
		*v = make([]float64, r.n)
	}
	for _, v := range []*[]float64{&k.diag, &k.root, &k.g, &k.zh, &k.zb, &k.fd, &k.zd, &k.small} {
		*v = make([]float64, r.d)
	}
	k.form(r.n > r.d)
	return k
}

// form chooses the d × d equations (tall) or the n × n ones.
func (k *normal) form(tall bool) {
	size := k.n
	if tall {
		size = k.d
	}
	if k.m != nil && k.tall == tall {
		return
	}
	k.tall, k.size, k.products = tall, size, nil
	if !tall && k.isFew() {
		k.products, k.adf = make([]float64, size*size), make([]float64, size)
	}
	k.m = make([]float64, size*size)
	if k.dense == nil {
		return
	}
	k.chunk = newChunk(size)
	if tall && k.at == nil {
		k.at = transposed(k.dense, k.n, k.d)
	}
}

// isFew reports whether there are so few rows beside columns that a product with A takes longer than one with ADAᵀ.
// Then what the solution of the equations lacks is found from the latter. That is less accurate if the columns are of
// very different scales.
func (k *normal) isFew() bool {
	return k.dense != nil && k.pairs == nil && k.even == nil && k.unit == nil && k.n <= smallRows && k.d >= 4*k.n &&
		k.n*k.d >= fewEntries
}

// fewEntries is from how many entries on the products are worth it: smaller problems take less than a millisecond.
const fewEntries = 1 << 16

// transposed returns the transpose of a row-major n × d block.
func transposed(a []float64, n, d int) []float64 {
	out := make([]float64, len(a))
	for i := range n {
		for j := range d {
			out[j*n+i] = a[i*d+j]
		}
	}
	return out
}

// chunkCols is how many columns of a dense matrix are multiplied at a time: the chunks of 200 rows fit the second
// level cache.
const chunkCols = 512

// factor takes the diagonals k.diag and k.theta, κ, k.g and k.h = Ag; and, for κ < 0, rest = −1/κ − gᵀD⁻¹g ≥ 0:
// that D + κggᵀ is positive is then known without a subtraction, by
//
//	−1/κ − hᵀM⁻¹h = rest + (g − DAᵀx)ᵀD⁻¹(g − DAᵀx) + xᵀΘx,   x = M⁻¹h.
func (k *normal) factor(kappa, rest float64) {
	for j, v := range k.diag {
		k.root[j] = math.Sqrt(v)
	}
	if k.tall {
		k.factorTall()
	} else {
		k.factorWide()
	}
	cholesky(k.m, k.size)
	k.kappa, k.down = kappa, 0
	if k.products != nil {
		k.factorFew(rest)
		return
	}
	if kappa != 0 {
		k.core(k.zh, k.xh, nil, k.h)
		k.down = kappa / (1 + kappa*vec.Dot(k.h, k.xh))
		if kappa < 0 {
			for j, d := range k.diag {
				if off := k.g[j] - k.zh[j]; d > 0 {
					rest += off * off / d
				}
			}
			for i, t := range k.theta {
				rest += t * k.xh[i] * k.xh[i]
			}
			if !k.tall {
				bx := vec.Dot(k.b, k.xh)
				rest += k.rho * bx * bx
			}
			k.down = -1 / rest
		}
	}
	if !k.free {
		k.rankOne(k.zb, k.xb, nil, k.b)
		k.bxb = vec.Dot(k.b, k.xb)
	}
}

// factorWide sets up ADAᵀ + Θ + ρbbᵀ. Since bᵀx = 0 the last term changes nothing, but without it the matrix is all
// but singular along a where Aᵀa is next to 0: where there is no margin, or a small one.
func (k *normal) factorWide() {
	switch {
	case k.pairs != nil:
		k.gramPairs()
	case k.dense != nil:
		k.gram(k.dense, k.d, k.root)
	default:
		k.gramSparse()
	}
	var mean, bb float64
	for i, t := range k.theta {
		mean += k.m[i*k.size+i]
		bb += k.b[i] * k.b[i]
		k.m[i*k.size+i] += t
	}
	if k.products != nil {
		for i := range k.n {
			copy(k.products[i*k.n:i*k.n+i+1], k.m[i*k.n:])
			for l := range i {
				k.products[l*k.n+i] = k.m[i*k.n+l]
			}
		}
	}
	if k.free {
		k.rho = 0
		return
	}
	k.rho = mean / bb
	for i, v := range k.b {
		vec.Axpy(k.rho*v, k.b[:i+1], k.m[i*k.size:])
	}
}

func (k *normal) factorTall() {
	switch {
	case k.pairs != nil:
		k.outerPairs()
	case k.dense != nil:
		for i, t := range k.theta {
			k.spare[i] = 1 / math.Sqrt(t)
		}
		k.gram(k.at, k.n, k.spare)
	default:
		k.outerSparse()
	}
	for j := range k.size {
		row := k.m[j*k.size : j*k.size+j+1]
		vec.Scale(row, k.root[j], row)
		for l := range row {
			row[l] *= k.root[l]
		}
		row[j]++
	}
}

// gram sets the lower triangle of m to B·diag(s²)·Bᵀ for the dense B with the given number of columns.
func (k *normal) gram(bm []float64, cols int, s []float64) {
	clear(k.m)
	addGram(k.m, k.size, bm, cols, 0, cols, s, k.chunk, k.products != nil)
}

// gramStride is how far the rows of a chunk are apart: not a power of two, which would put them all in one place of the
// cache.
const gramStride = chunkCols + 8

// chunkOf returns scratch space of addGram for n rows.
func (k *normal) chunkOf(n int) []float64 {
	if k.size == n && k.chunk != nil {
		return k.chunk
	}
	return newChunk(n)
}

// newChunk returns the scratch space of addGram.
func newChunk(n int) []float64 {
	return make([]float64, (n+vec.GramRows+vec.GramColumns)*gramStride)
}

// addGram adds the lower triangle of B·diag(s²)·Bᵀ to the n × n matrix m, for the columns of B from … to, of so many; a
// nil s is 1. chunk is scratch space from newChunk; wide is that of vec.Gram.
func addGram(m []float64, n int, bm []float64, cols, from, to int, s, chunk []float64, wide bool) {
	several := n*n*min(to-from, chunkCols) > 1<<17
	for lo := from; lo < to; lo += chunkCols {
		hi := min(lo+chunkCols, to)
		c := (hi - lo + 7) &^ 7
		for i := range n {
			part := chunk[i*gramStride : i*gramStride+c]
			row := bm[i*cols+lo : i*cols+hi]
			if s == nil {
				copy(part, row)
			} else {
				vec.Mul(part, row, s[lo:hi])
			}
			clear(part[hi-lo:])
		}
		tiles := (n + vec.GramRows - 1) / vec.GramRows
		parallel(tiles, several, func(t int) {
			t = tiles - 1 - t // the long rows first
			var out [vec.GramRows * vec.GramColumns]float64
			first := t * vec.GramRows
			last := min(first+vec.GramRows, n)
			for l := 0; l < last; l += vec.GramColumns {
				vec.Gram(&out, chunk[first*gramStride:], chunk[l*gramStride:], gramStride, c, wide)
				for i := first; i < last; i++ {
					end := min(l+vec.GramColumns, i+1)
					if l >= end {
						continue
					}
					row := m[i*n+l : i*n+end]
					for k := range row {
						row[k] += out[(i-first)*vec.GramColumns+k]
					}
				}
			}
		})
	}
}

// gramSparse sets the lower triangle of m to A·D·Aᵀ.
func (k *normal) gramSparse() { setSparseGram(k.m, k.n, k.a.Row, k.diag) }

// setSparseGram sets the lower triangle of the n × n matrix m to the products of rows with weights diag.
func setSparseGram(m []float64, n int, row func(i int) ([]int32, []float64), diag []float64) {
	const tile = 16
	parallel((n+tile-1)/tile, n > 64, func(t int) {
		t = (n+tile-1)/tile - 1 - t
		x := make([]float64, len(diag))
		for i := t * tile; i < min((t+1)*tile, n); i++ {
			idx, val := row(i)
			for e, j := range idx {
				x[j] = val[e] * diag[j]
			}
			for l := 0; l <= i; l++ {
				jdx, other := row(l)
				m[i*n+l] = vec.SparseDot(other, jdx, x)
			}
			for _, j := range idx {
				x[j] = 0
			}
		}
	})
}

// outerSparse sets the lower triangle of m to Aᵀ·Θ⁻¹·A. Every share takes some rows of m and passes over all of A.
func (k *normal) outerSparse() {
	const shares = 8
	clear(k.m)
	parallel(shares, k.a.NNZ() > 1<<12, func(t int) {
		for i := range k.n {
			idx, val := k.a.Row(i)
			for e, j := range idx {
				if int(j)%shares == t {
					vec.SparseAxpy(val[e]/k.theta[i], val[:e+1], idx[:e+1], k.m[int(j)*k.d:])
				}
			}
		}
	})
}

// core solves z = D(Aᵀx + f), Az + Θx = r; a nil f is 0.
//
//	n ≤ d:  (ADAᵀ + Θ)x = r − ADf
//	n > d:  (I + D^½AᵀΘ⁻¹AD^½)t = D^½(f + AᵀΘ⁻¹r),  z = D^½t,  x = Θ⁻¹(r − Az)
func (k *normal) core(z, x, f, r []float64) {
	if k.tall {
		for i, t := range k.theta {
			k.spare[i] = r[i] / t
		}
		k.mulT(z, k.spare)
		for j := range z {
			if f != nil {
				z[j] += f[j]
			}
			z[j] *= k.root[j]
		}
		choleskySolve(k.m, k.size, z)
		for j, s := range k.root {
			z[j] *= s
		}
		k.mul(k.spare, z)
		for i, t := range k.theta {
			x[i] = (r[i] - k.spare[i]) / t
		}
		return
	}
	copy(x, r)
	if f != nil {
		for j, v := range f {
			k.small[j] = v * k.diag[j]
		}
		k.mul(k.spare, k.small)
		vec.Axpy(-1, k.spare, x)
	}
	choleskySolve(k.m, k.size, x)
	k.mulT(z, x)
	for j := range z {
		if f != nil {
			z[j] += f[j]
		}
		z[j] *= k.diag[j]
	}
}

// rankOne is core with D + κggᵀ in place of D: with c = κgᵀ(Aᵀx + f), z gains c·g and r loses c·h.
func (k *normal) rankOne(z, x, f, r []float64) {
	k.core(z, x, f, r)
	if k.down == 0 {
		return
	}
	c := vec.Dot(k.h, x)
	if f != nil {
		c += vec.Dot(k.g, f)
	}
	c *= k.down
	vec.Axpy(-c, k.xh, x)
	vec.Axpy(-c, k.zh, z)
	vec.Axpy(c, k.g, z)
}

// mostRefinements bounds the corrections of a solution; each must shrink the residual to stay.
const mostRefinements = 4

// solve sets z and x, and returns Δγ. A nil f is 0.
func (k *normal) solve(z, x, f, r []float64) float64 {
	if k.products != nil {
		if f != nil {
			k.setFew(f)
		}
		dg := k.solveFew(x, f, r)
		k.stepFew(z, x, f)
		return dg
	}
	k.rankOne(z, x, f, r)
	dg := k.border(z, x, 0)
	last, more := math.Inf(1), 0.0
	for range mostRefinements {
		missing, size := k.residual(z, x, f, r, dg)
		if !(size < last) { // the last correction did harm
			vec.Axpy(-1, k.xn, x)
			vec.Axpy(-1, k.zd, z)
			dg -= more
			break
		}
		if size > 0.1*last || size == 0 {
			break
		}
		last = size
		k.rankOne(k.zd, k.xn, k.fd, k.rn)
		more = k.border(k.zd, k.xn, missing) - k.rho*missing
		vec.Axpy(1, k.xn, x)
		vec.Axpy(1, k.zd, z)
		dg += more
	}
	return dg
}

// border adds to a solution the multiple of the one for r = b that makes bᵀx = e, and returns it.
func (k *normal) border(z, x []float64, e float64) float64 {
	if k.free {
		return 0
	}
	t := (e - vec.Dot(k.b, x)) / k.bxb
	vec.Axpy(t, k.xb, x)
	vec.Axpy(t, k.zb, z)
	return t
}

// residual sets fd and rn to what the two equations lack, and returns −bᵀx and fdᵀD·fd + rnᵀΘ⁻¹rn, their size in
// the metric of the equations.
func (k *normal) residual(z, x, f, r []float64, dg float64) (missing, size float64) {
	k.mul(k.rn, z)
	for i, t := range k.theta {
		k.rn[i] = r[i] + dg*k.b[i] - k.rn[i] - t*x[i]
		if t > 0 {
			size += k.rn[i] * k.rn[i] / t
		}
	}
	k.mulT(k.fd, x)
	c := vec.Dot(k.h, x)
	if f != nil {
		c += vec.Dot(k.g, f)
		vec.Axpy(1, f, k.fd)
	}
	c *= k.kappa
	for j, d := range k.diag {
		if d == 0 {
			k.fd[j] = 0
			continue
		}
		k.fd[j] -= (z[j] - c*k.g[j]) / d
		size += k.fd[j] * k.fd[j] * d
	}
	return -vec.Dot(k.b, x), size
}
