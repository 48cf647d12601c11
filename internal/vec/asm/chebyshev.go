package main

import (
	"math"
	"math/big"
)

// prec is the precision coefficients are computed in: far more than what is left of it after
// the divided differences of a dozen close points.
const prec = 400

// chebyshev returns the coefficients, constant first, of the polynomial with n coefficients that
// equals f at the n Chebyshev points of [a, b]. Its largest error is within a small factor of that
// of the best polynomial of its degree, so one coefficient to spare makes up for the difference.
func chebyshev(f func(*big.Float) *big.Float, a, b float64, n int) []float64 {
	x := make([]*big.Float, n)
	d := make([]*big.Float, n) // divided differences
	for i := range n {
		c := math.Cos(math.Pi * (float64(i) + 0.5) / float64(n))
		x[i] = number((a+b)/2 + (b-a)/2*c)
		d[i] = f(x[i])
	}
	for k := 1; k < n; k++ {
		for i := n - 1; i >= k; i-- {
			d[i] = quo(sub(d[i], d[i-1]), sub(x[i], x[i-k]))
		}
	}
	// Newton's form to powers: p ← p·(X − x[i]) + d[i].
	p := make([]*big.Float, n)
	for i := range p {
		p[i] = number(0)
	}
	for i := n - 1; i >= 0; i-- {
		for j := n - 1; j > 0; j-- {
			p[j] = sub(p[j-1], mul(p[j], x[i]))
		}
		p[0] = sub(d[i], mul(p[0], x[i]))
	}
	c := make([]float64, n)
	for i := range c {
		c[i], _ = p[i].Float64()
	}
	return c
}

func number(v float64) *big.Float    { return new(big.Float).SetPrec(prec).SetFloat64(v) }
func add(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(prec).Add(a, b) }
func sub(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(prec).Sub(a, b) }
func mul(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(prec).Mul(a, b) }
func quo(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(prec).Quo(a, b) }

// expTail returns Σ xʲ/(j+m)! over j ≥ 0: eˣ less its first m terms, divided by xᵐ.
func expTail(x *big.Float, m int) *big.Float {
	sum, term := number(0), number(1)
	for j := 1; j <= m; j++ {
		term = quo(term, number(float64(j)))
	}
	for j := m + 1; j < m+120; j++ {
		sum = add(sum, term)
		term = quo(mul(term, x), number(float64(j)))
	}
	return sum
}

// atanhTail returns Σ 2zʲ/(2j+1) over j ≥ m, divided by zᵐ. With z = s² and m = 0 it is 2·atanh(s)/s.
func atanhTail(z *big.Float, m int) *big.Float {
	sum, power := number(0), number(2)
	for j := m; j < m+200; j++ {
		sum = add(sum, quo(power, number(float64(2*j+1))))
		power = mul(power, z)
	}
	return sum
}

// ln2 is 2·atanh(1/3).
var ln2 = quo(atanhTail(quo(number(1), number(9)), 0), number(3))

// split returns v as the sum of the nearest number of the format and the number nearest to the rest.
func (w format) split(v *big.Float) (hi, lo float64) {
	hi, _ = v.Float64()
	if w.size == 4 {
		f, _ := v.Float32()
		hi = float64(f)
	}
	lo, _ = sub(v, number(hi)).Float64()
	return hi, lo
}

var pi, _ = new(big.Float).SetPrec(prec).SetString(
	"3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651")

// twoOverRootPi is 2/√π.
var twoOverRootPi = quo(number(2), new(big.Float).SetPrec(prec).Sqrt(pi))

// erfOverX returns erf(x)/x = 2/√π·Σ (−z)ʲ/(j!(2j+1)) for z = x² up to 1.
func erfOverX(z *big.Float) *big.Float {
	sum, term := number(0), number(1)
	for j := range 80 {
		sum = add(sum, quo(term, number(float64(2*j+1))))
		term = quo(mul(term, sub(number(0), z)), number(float64(j+1)))
	}
	return mul(twoOverRootPi, sum)
}

// scaledErfc returns e^(x²)·erfc x = e^(x²) − 2/√π·Σ 2ʲx^(2j+1)/(2j+1)!! for x up to 4.
func scaledErfc(x *big.Float) *big.Float {
	square := mul(x, x)
	sum, term := number(0), x
	for j := 1; j < 250; j++ {
		sum = add(sum, term)
		term = quo(mul(mul(term, square), number(2)), number(float64(2*j+1)))
	}
	return sub(expTail(square, 0), mul(twoOverRootPi, sum))
}
