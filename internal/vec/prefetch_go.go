//go:build !amd64 || purego

package vec

// Prefetch asks for a row that is to be used soon. Here it does nothing.
func Prefetch(val []float64, idx []int32) {}
