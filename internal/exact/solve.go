// Package exact solves linear equations between float64 numbers, which are rational numbers, without rounding.
package exact

import (
	"math"
	"math/big"
	"math/bits"
)

// Solve returns the solution x = num/den of M·x = b, den > 0, for the square matrix with the given rows. It reports
// false if M is singular, its entries are too far apart in size (2⁴⁰⁰ or more), or a value is not finite.
//
// The method is Dixon's (1982): with C = M⁻¹ modulo a prime q, found by elimination in machine words, the solution is
// computed to one digit in base q after the other, as q-adic number; a fraction with a small numerator and denominator
// is recovered from its digits, and checked. For k unknowns that takes k³ word operations, and k² for each of about 2k
// digits.
func Solve(m [][]float64, b []float64) (num []*big.Int, den *big.Int, ok bool) {
	s, ok := newSystem(m, b)
	if !ok || !s.invert() {
		return nil, nil, false
	}
	power := big.NewInt(1)
	digits := make([]*big.Int, s.k)
	for i := range digits {
		digits[i] = new(big.Int)
	}
	for n, try := 0, 8; ; n++ {
		if n == try || n == s.most {
			if num, den := fractions(digits, power); den != nil && s.solves(num, den) {
				return num, den, true
			}
			if n == s.most {
				return nil, nil, false
			}
			try *= 2
		}
		for i, x := range s.digit() {
			digits[i].Add(digits[i], new(big.Int).Mul(power, new(big.Int).SetUint64(x)))
		}
		power.Mul(power, bigPrime)
	}
}

const (
	prime    = 1<<61 - 1
	limb     = 62 // bits of an entry in one plane
	mostBits = 400
)

var bigPrime = new(big.Int).SetUint64(prime)

// system is M·x = b in integers. Equations are multiplied by powers of two, which changes no solution.
type system struct {
	k       int
	planes  [][]int64 // M = Σ plane·2^(62·index), row by row
	inverse []uint64  // M⁻¹ modulo prime
	b       []*big.Int
	rest    []*big.Int // (b − M·digits so far)/prime^(number of digits)
	most    int        // digits that suffice, by Hadamard's bound on determinants
}

func newSystem(m [][]float64, b []float64) (*system, bool) {
	k := len(m)
	s := &system{k: k, b: make([]*big.Int, k), rest: make([]*big.Int, k)}
	entries := make([]*big.Int, k*k)
	var size float64 // the binary logarithm of the product of the lengths of the rows with their right-hand sides
	for i, row := range m {
		lowest := math.MaxInt
		for _, v := range append([]float64{b[i]}, row...) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, false
			}
			if v != 0 {
				lowest = min(lowest, lowestBit(v))
			}
		}
		var square float64
		for j, v := range row {
			e := integer(v, lowest)
			if e.BitLen() > mostBits {
				return nil, false
			}
			entries[i*k+j] = e
			square += math.Ldexp(1, min(2*e.BitLen(), 1000))
		}
		if s.b[i] = integer(b[i], lowest); s.b[i].BitLen() > mostBits {
			return nil, false
		}
		s.rest[i] = new(big.Int).Set(s.b[i])
		square += math.Ldexp(1, min(2*s.b[i].BitLen(), 1000))
		size += math.Log2(square) / 2
	}
	s.most = int(2*size/60.9) + 4
	s.split(entries)
	return s, true
}

// lowestBit returns the exponent of the lowest bit of v ≠ 0.
func lowestBit(v float64) int {
	frac, exp := math.Frexp(v)
	return exp - 53 + bits.TrailingZeros64(uint64(math.Abs(frac)*(1<<53)))
}

// integer returns v·2^(−exponent), for an exponent that is at most that of the lowest bit of v.
func integer(v float64, exponent int) *big.Int {
	if v == 0 {
		return new(big.Int)
	}
	frac, exp := math.Frexp(v)
	out := big.NewInt(int64(frac * (1 << 53)))
	if shift := exp - 53 - exponent; shift >= 0 {
		out.Lsh(out, uint(shift))
	} else {
		out.Rsh(out, uint(-shift)) // only zeros are lost
	}
	return out
}

// split writes the entries as sums of planes of machine words.
func (s *system) split(entries []*big.Int) {
	longest := 1
	for _, e := range entries {
		longest = max(longest, e.BitLen())
	}
	mask := new(big.Int).SetUint64(1<<limb - 1)
	for range (longest + limb - 1) / limb {
		plane := make([]int64, len(entries))
		for i, e := range entries {
			abs := new(big.Int).Abs(e)
			plane[i] = int64(new(big.Int).And(abs, mask).Uint64()) * int64(e.Sign())
			entries[i] = abs.Rsh(abs, limb)
			if e.Sign() < 0 {
				entries[i].Neg(entries[i])
			}
		}
		s.planes = append(s.planes, plane)
	}
}

// times returns x·y modulo 2⁶¹ − 1.
func times(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return fold((lo & prime) + (lo>>61 | hi<<3))
}

// fold brings a number below 2⁶² into range.
func fold(x uint64) uint64 {
	if x >= prime {
		x -= prime
	}
	return x
}

func inverseOf(x uint64) uint64 { // by Fermat: x^(prime−2)
	out := uint64(1)
	for e := uint64(prime - 2); e > 0; e >>= 1 {
		if e&1 == 1 {
			out = times(out, x)
		}
		x = times(x, x)
	}
	return out
}

// invert sets the inverse modulo the prime, by Gauss and Jordan's elimination, and reports whether there is one. There
// is none for a singular matrix, and by bad luck for one matrix in 10¹⁶.
func (s *system) invert() bool {
	k := s.k
	a := make([]uint64, k*k)
	for l := len(s.planes) - 1; l >= 0; l-- {
		for i, v := range s.planes[l] {
			a[i] = fold(times(a[i], 1<<limb%prime) + residue(v))
		}
	}
	s.inverse = make([]uint64, k*k)
	for i := range k {
		s.inverse[i*k+i] = 1
	}
	for c := range k {
		pivot := c
		for pivot < k && a[pivot*k+c] == 0 {
			pivot++
		}
		if pivot == k {
			return false
		}
		for _, m := range [][]uint64{a, s.inverse} {
			for j := range k {
				m[c*k+j], m[pivot*k+j] = m[pivot*k+j], m[c*k+j]
			}
		}
		f := inverseOf(a[c*k+c])
		for _, m := range [][]uint64{a, s.inverse} {
			for j, v := range m[c*k : c*k+k] {
				m[c*k+j] = times(v, f)
			}
		}
		for i := range k {
			if f := a[i*k+c]; i != c && f != 0 {
				subtract(a[i*k+c:i*k+k], a[c*k+c:c*k+k], f)
				subtract(s.inverse[i*k:i*k+k], s.inverse[c*k:c*k+k], f)
			}
		}
	}
	return true
}

// subtract sets x = x − f·y.
func subtract(x, y []uint64, f uint64) {
	f = prime - f
	for j, v := range y {
		if v != 0 {
			x[j] = fold(x[j] + times(v, f))
		}
	}
}

func residue(v int64) uint64 {
	if v < 0 {
		return prime - uint64(-v)%prime
	}
	return uint64(v) % prime
}

// digit returns the next digit of each unknown, x = C·rest mod prime, and takes it off: rest = (rest − M·x)/prime.
func (s *system) digit() []uint64 {
	k := s.k
	r, x := make([]uint64, k), make([]uint64, k)
	t := new(big.Int)
	for i, v := range s.rest {
		r[i] = t.Mod(v, bigPrime).Uint64()
	}
	for i := range k {
		var sum uint64
		for j, c := range s.inverse[i*k : i*k+k] {
			sum = fold(sum + times(c, r[j]))
		}
		x[i] = fold(sum)
	}
	for i, v := range s.rest {
		for l, plane := range s.planes {
			p := dot(plane[i*k:i*k+k], x)
			v.Sub(v, p.Lsh(p, uint(limb*l)))
		}
		v.Quo(v, bigPrime)
	}
	return x
}

// dot returns Σ aⱼxⱼ for |a| < 2⁶² and x < 2⁶¹, in three words.
func dot(a []int64, x []uint64) *big.Int {
	var pos, neg [3]uint64
	for j, v := range a {
		acc, abs := &pos, uint64(v)
		if v < 0 {
			acc, abs = &neg, uint64(-v)
		}
		hi, lo := bits.Mul64(abs, x[j])
		var c uint64
		acc[0], c = bits.Add64(acc[0], lo, 0)
		acc[1], c = bits.Add64(acc[1], hi, c)
		acc[2] += c
	}
	return new(big.Int).Sub(words(pos), words(neg))
}

func words(w [3]uint64) *big.Int {
	out := new(big.Int)
	for i := 2; i >= 0; i-- {
		out.Or(out.Lsh(out, 64), new(big.Int).SetUint64(w[i]))
	}
	return out
}

// solves reports whether M·num = b·den.
func (s *system) solves(num []*big.Int, den *big.Int) bool {
	sum, t, want := new(big.Int), new(big.Int), new(big.Int)
	for i := range s.k {
		want.Mul(s.b[i], den)
		for l, plane := range s.planes {
			sum.SetInt64(0)
			for j, v := range plane[i*s.k : i*s.k+s.k] {
				if v != 0 {
					sum.Add(sum, t.Mul(num[j], t.SetInt64(v)))
				}
			}
			want.Sub(want, sum.Lsh(sum, uint(limb*l)))
		}
		if want.Sign() != 0 {
			return false
		}
	}
	return true
}

// fractions returns numbers with num/den = u modulo q, all much smaller than q; a nil den if there are none. Solutions
// of linear equations share their denominator, so that few have to be recovered one by one.
func fractions(u []*big.Int, q *big.Int) (num []*big.Int, den *big.Int) {
	most := new(big.Int).Sqrt(new(big.Int).Rsh(q, 1))
	den = big.NewInt(1)
	num = make([]*big.Int, len(u))
	half := new(big.Int).Rsh(q, 1)
	for i := range u {
		t := new(big.Int).Mul(u[i], den)
		if t.Mod(t, q); t.Cmp(half) > 0 {
			t.Sub(t, q)
		}
		if num[i] = t; t.CmpAbs(most) <= 0 {
			continue
		}
		n, d := fraction(t.Mod(t, q), q, most)
		if d == nil || den.Mul(den, d).Cmp(most) > 0 {
			return nil, nil
		}
		num[i] = n
		for _, before := range num[:i] {
			before.Mul(before, d)
		}
	}
	return num, den
}

// fraction returns n and 0 < d ≤ most with n = u·d modulo q and |n| ≤ most, by Euclid's algorithm; a nil d if there are
// none.
func fraction(u, q, most *big.Int) (n, d *big.Int) {
	r0, r1 := new(big.Int).Set(q), new(big.Int).Set(u)
	t0, t1 := new(big.Int), big.NewInt(1)
	quo, tmp := new(big.Int), new(big.Int)
	for r1.Cmp(most) > 0 {
		quo.QuoRem(r0, r1, tmp)
		r0, r1, tmp = r1, tmp, r0
		tmp.Mul(quo, t1)
		t0, t1 = t1, t0.Sub(t0, tmp)
	}
	if t1.Sign() < 0 {
		return r1.Neg(r1), t1.Neg(t1)
	}
	if t1.Sign() == 0 || t1.Cmp(most) > 0 {
		return nil, nil
	}
	return r1, t1
}
