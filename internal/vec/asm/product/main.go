// Command product writes the kernels of package product: the tiles that matrix products and convolutions are made of,
// for AVX2 with FMA and for AVX-512.
package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	ConstraintExpr("!purego")

	for _, s := range []shape{
		{8, 2, zmm}, {8, 1, zmm}, {8, 3, half},
		{6, 2, ymm}, {8, 1, ymm},
	} {
		s.gather()
		s.outer()
		if s.vecs == 1 {
			s.groups()
		}
	}
	transpose()
	for _, columns := range []int{8, 16, 24, 32} {
		copyRows(columns)
	}
	for _, w := range []width{zmm, ymm, whole} {
		for _, taps := range []int{9, 4, 2, 1} {
			w.depthwise(taps)
		}
		for _, stride := range []int{1, 2} {
			w.depthwiseLines(stride)
		}
		w.depthwiseLinesBack()
	}
	for _, w := range []width{zmm, ymm} {
		w.depthwiseGradient(9)
		for _, stride := range []int{1, 2} {
			w.depthwiseLinesGradient(stride)
		}
		for _, m := range []int{2, 4} {
			w.spread(m, "input")
			w.spread(m, "outputGradient")
			w.collect(m, "output")
			w.convert(m, "kernel")
			w.convert(m, "kernelGradient")
		}
	}

	Generate()
}

// kernel starts a function. Its slices do not escape, so that callers can keep theirs on the stack.
func kernel(name, signature, doc string) {
	TEXT(name, attr.NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc)
}
