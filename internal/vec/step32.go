package vec

// MirrorStep32 takes p-GD's step of the weights w against the gradient g, for a = p−1 and b = 1/(p−1):
//
//	dst = sign(z)·|z|^b, z = sign(w)·|w|^a − rate·g
//
// with the bits that a.Signed, Scale32, Sub32 and b.Signed give. Where rate·g is zero, dst is w, bit for bit: the
// powers are inverses of each other only up to their rounding, and a weight that nothing moves stays where it is. dst
// may be w or g.
func MirrorStep32(dst, w, g []float32, rate float32, a, b Power32) {
	dst, g = dst[:len(w)], g[:len(w)]
	if mirrorSteps32(dst, w, g, rate, a.power, b.power) {
		return
	}
	var z, change [512]float32 // these stay in the first level of the cache
	for len(w) > 0 {
		n := min(len(z), len(w))
		z, change := z[:n], change[:n]
		scale32(change, rate, g[:n])
		a.Signed(z, w[:n])
		sub32(z, z, change)
		b.Signed(z, z)
		keep32(dst[:n], w[:n], change, z)
		dst, w, g = dst[n:], w[n:], g[n:]
	}
}
