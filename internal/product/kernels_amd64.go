//go:build !purego

package product

import "golang.org/x/sys/cpu"

//go:generate go -C ../vec/asm run ./product -out ../../product/product_amd64.s -stubs ../../product/stubs_amd64.go -pkg product

// level says which kernels are used. Tests switch it.
var level = best

const (
	levelGo = iota
	levelAVX2
	levelAVX512
)

var best = func() int {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512BW && cpu.X86.HasAVX2 &&
		cpu.X86.HasFMA && cpu.X86.HasBMI2:
		return levelAVX512
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return levelAVX2
	}
	return levelGo
}()

var (
	tilesAVX512 = []tile{
		{8, 32, 1, gather8x32AVX512, outer8x32AVX512, nil},
		{8, 24, 1.03, gather8x24AVX512, outer8x24AVX512, nil},
		{8, 16, 1.1, gather8x16AVX512, outer8x16AVX512, groups8x16AVX512},
		{8, 8, 1.3, gather8x8AVX2, outer8x8AVX2, groups8x8AVX2},
	}
	tilesAVX2 = []tile{
		{6, 16, 1, gather6x16AVX2, outer6x16AVX2, nil},
		{8, 8, 1.2, gather8x8AVX2, outer8x8AVX2, groups8x8AVX2},
	}
)

func tiles() []tile {
	switch level {
	case levelAVX512:
		return tilesAVX512
	case levelAVX2:
		return tilesAVX2
	}
	return tilesGo
}

func depthwiseKernels() depthwiseSet {
	switch level {
	case levelAVX512:
		return depthwiseAVX512
	case levelAVX2:
		return depthwiseAVX2
	}
	return depthwiseGo
}

var (
	winogradAVX512 = map[int]winogradSet{
		2: winogradSet{16, input2AVX512, outputGradient2AVX512, output2AVX512, kernel2AVX512, kernelGradient2AVX512},
		4: winogradSet{16, input4AVX512, outputGradient4AVX512, output4AVX512, kernel4AVX512, kernelGradient4AVX512},
	}
	winogradAVX2 = map[int]winogradSet{
		2: winogradSet{8, input2AVX2, outputGradient2AVX2, output2AVX2, kernel2AVX2, kernelGradient2AVX2},
		4: winogradSet{8, input4AVX2, outputGradient4AVX2, output4AVX2, kernel4AVX2, kernelGradient4AVX2},
	}
)

func winogradKernels(m int) winogradSet {
	switch level {
	case levelAVX512:
		return winogradAVX512[m]
	case levelAVX2:
		return winogradAVX2[m]
	}
	return winogradGo[m]
}

// transpose8 sets dst[k·to+j] = src[j·from+k] for j < 8 and k < 8·squares.
func transpose8(dst, src []float32, to, from, squares int) {
	if level == levelGo {
		transpose8Go(dst, src, to, from, squares)
		return
	}
	transpose8AVX2(dst, src, to, from, squares)
}

// copyRows sets dst[k·to+j] = src[k·from+j] for k < rows and j < columns, unless there is no kernel for so many
// columns.
func copyRows(dst, src []float32, to, from, rows, columns int) bool {
	if level == levelGo {
		return false
	}
	_, _ = dst[(rows-1)*to+columns-1], src[(rows-1)*from+columns-1]
	switch columns {
	case 8:
		copy8AVX2(dst, src, to, from, rows)
	case 16:
		copy16AVX2(dst, src, to, from, rows)
	case 24:
		copy24AVX2(dst, src, to, from, rows)
	case 32:
		copy32AVX2(dst, src, to, from, rows)
	default:
		return false
	}
	return true
}
