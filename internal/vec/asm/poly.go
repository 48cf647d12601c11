package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// poly returns Σ c[j]·xʲ by Estrin's scheme: neighbours are joined first with x, the results with x²,
// then with x⁴. It takes as many multiply-adds as Horner's rule and a few squarings, in a chain of
// length log₂ of the degree, which is what a short slice waits for.
func (w format) poly(x reg.VecVirtual, c []float64) reg.VecVirtual {
	level := make([]reg.VecVirtual, 0, len(c))
	for j := 0; j < len(c); j += 2 {
		t := YMM()
		if j+1 == len(c) {
			w.move(w.constant(c[j]), t)
		} else {
			w.move(w.constant(c[j+1]), t)
			w.fma213(w.constant(c[j]), x, t)
		}
		level = append(level, t)
	}
	for power := x; len(level) > 1; {
		square := YMM()
		w.mul(power, power, square)
		power = square
		var next []reg.VecVirtual
		for j := 0; j < len(level); j += 2 {
			if j+1 < len(level) {
				w.fma213(level[j], power, level[j+1])
				next = append(next, level[j+1])
			} else {
				next = append(next, level[j])
			}
		}
		level = next
	}
	return level[0]
}
