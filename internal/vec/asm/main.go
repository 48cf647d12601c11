// Command asm writes the AVX2 kernels of package vec. It is a module of its own, so that nobody who
// uses the library downloads the assembler generator.
//
// A kernel handles whole slices. Where an input lane is outside the domain a kernel is made for
// (say a denormal, an infinity or a NaN for the logarithm), the kernel stops before that group of
// lanes and returns how many elements are done; the caller takes the group element by element, does in
// Go what the kernel does not, and calls again for the rest.
package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	ConstraintExpr("!purego")

	for _, w := range []format{double, single} {
		dot(w)
		axpy(w)
		sparseDot(w)
		sparseAxpy(w)
		square(w)
		squareRoot(w)
	}
	scale(double)
	mulCSR()
	addMulTCSR()
	mulDense()
	addMulTDense()
	dot2()
	axpy2()
	gram(false)
	gram(true)
	raise()
	multiply()

	exponential(double, -746, 710, 10)
	exponential(single, -104, 89, 5)
	logarithm(double, 7)
	logarithm(single, 3)
	pow64()
	pow32()
	root64()
	root32()
	tenthPower()
	integerPower()
	integerPower32()
	fewPower()
	mirrorSteps()

	each32()
	sums32()
	conversions32()
	curves32()

	Generate()
}

// kernel starts a function. Its slices do not escape, so that callers can keep theirs on the stack.
func kernel(name, signature, doc string) {
	TEXT(name, attr.NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc)
}
