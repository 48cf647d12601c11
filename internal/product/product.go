// Package product multiplies float32 matrices and convolves float32 images on the CPU.
//
// Everything is a plan: made once for a shape, run many times without allocating. A plan keeps no numbers between runs;
// what it needs meanwhile it takes from scratch memory that the caller provides, and that many plans can share. A plan
// must not run twice at the same time.
//
// Results do not depend on the number of workers, nor on their luck: what an element is the sum of, and in which order,
// follows from the shape alone. They do depend on the kernels, which are there in Go, for AVX2 with FMA, and for
// AVX-512.
//
// A sum of n products is wrong by at most n·2⁻²⁴ times the sum of their absolute values. Convolutions of 3×3 with
// stride one are done by Winograd's method where there are channels enough: then the error is relative to the largest
// results, of which it has been at most 2.3e-6 for normally distributed numbers, where plain sums had 1.1e-6.
//
// NaN and infinities in the inputs reach every output they have a part in, and with Winograd's method their neighbours
// in a square of 4×4. The borders of an image are no part of it: whether an infinite weight meets the zeros there is
// not specified.
package product
