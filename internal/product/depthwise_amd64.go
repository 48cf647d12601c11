//go:build !purego

package product

var depthwiseAVX512 = depthwiseSet{
	lanes: 32,
	nine:  depthwise9AVX512, four: depthwise4AVX512, two: depthwise2AVX512, one: depthwise1AVX512,
	gradient:      depthwiseGradient9AVX512,
	lines:         [2]linesKernel{depthwiseLines1AVX512, depthwiseLines2AVX512},
	linesGradient: [2]linesGradientKernel{depthwiseLinesGradient1AVX512, depthwiseLinesGradient2AVX512},
	linesBack:     depthwiseLinesBackAVX512,
}

// depthwiseAVX2 has kernels without masks for all channels but the last: a masked store takes many cycles on some
// machines without AVX-512.
var depthwiseAVX2 = depthwiseSet{
	lanes:    lanesAVX2,
	nine:     wholeOrPart(depthwise9FullAVX2, depthwise9AVX2),
	four:     wholeOrPart(depthwise4FullAVX2, depthwise4AVX2),
	two:      wholeOrPart(depthwise2FullAVX2, depthwise2AVX2),
	one:      wholeOrPart(depthwise1FullAVX2, depthwise1AVX2),
	gradient: depthwiseGradient9AVX2,
	lines: [2]linesKernel{
		wholeOrPartLines(depthwiseLines1FullAVX2, depthwiseLines1AVX2),
		wholeOrPartLines(depthwiseLines2FullAVX2, depthwiseLines2AVX2),
	},
	linesGradient: [2]linesGradientKernel{depthwiseLinesGradient1AVX2, depthwiseLinesGradient2AVX2},
	linesBack: func(dx, dy, zero, w []float32, from, row []int32, lines, line, wide, step, channels int) {
		if channels == lanesAVX2 {
			depthwiseLinesBackFullAVX2(dx, dy, zero, w, from, row, lines, line, wide, step, channels)
			return
		}
		depthwiseLinesBackAVX2(dx, dy, zero, w, from, row, lines, line, wide, step, channels)
	},
}

const lanesAVX2 = 8

func wholeOrPart(whole, part depthwiseKernel) depthwiseKernel {
	return func(y, x, zero, w []float32, place, from, tap []int32, pixels, channels int, add bool) {
		k := part
		if channels == lanesAVX2 {
			k = whole
		}
		k(y, x, zero, w, place, from, tap, pixels, channels, add)
	}
}

func wholeOrPartLines(whole, part linesKernel) linesKernel {
	return func(y, x, zero, w []float32, from []int32, tap, lines, wide, step, channels int) {
		k := part
		if channels == lanesAVX2 {
			k = whole
		}
		k(y, x, zero, w, from, tap, lines, wide, step, channels)
	}
}
