// Package twofold sums products of float64 numbers in twice their precision, by error-free transformations (Ogita, Rump
// & Oishi 2005, Accurate sum and dot product).
package twofold

import "math"

// Sum is a running sum, Hi + Lo. Cancellation of up to sixteen digits costs it nothing.
type Sum struct {
	Hi, Lo float64
	terms  int
	size   float64 // the sum of magnitudes
}

// Add adds x.
func (s *Sum) Add(x float64) {
	t := s.Hi + x
	z := t - s.Hi
	s.Lo += (s.Hi - (t - z)) + (x - z)
	s.Hi = t
	s.terms++
	s.size += math.Abs(x)
}

// AddProduct adds a·b.
func (s *Sum) AddProduct(a, b float64) {
	p := a * b
	s.Add(p)
	s.Lo += math.FMA(a, b, -p)
}

// Value returns the sum as one number.
func (s Sum) Value() float64 { return s.Hi + s.Lo }

// Error returns a bound on the distance of Value from the exact sum: for n terms, 2⁻⁵³ of the value and (2n·2⁻⁵³)² of
// the sum of magnitudes, twice what Ogita, Rump & Oishi prove, which covers its own rounding; and what products may
// lose below 2⁻¹⁰⁷⁴.
func (s Sum) Error() float64 {
	n := float64(s.terms)
	return 0x1p-53*math.Abs(s.Value()) + n*n*0x1p-104*s.size + n*math.SmallestNonzeroFloat64
}

// Split returns the sum as two numbers, the second below the rounding of the first.
func (s Sum) Split() (hi, lo float64) {
	hi = s.Hi + s.Lo
	return hi, s.Lo - (hi - s.Hi)
}
