//go:build !amd64 || purego

package product

// level and its values are those of the assembly, of which there is none here.
var level = levelGo

const (
	levelGo = iota
	best    = levelGo
)

func tiles() []tile { return tilesGo }

func depthwiseKernels() depthwiseSet { return depthwiseGo }

func winogradKernels(m int) winogradSet { return winogradGo[m] }

func transpose8(dst, src []float32, to, from, squares int) {
	transpose8Go(dst, src, to, from, squares)
}

func copyRows(dst, src []float32, to, from, rows, columns int) bool { return false }
