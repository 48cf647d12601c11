package images

import "encoding/binary"

// The inverse cosine transform of 8×8, in integers as libjpeg's accurate one: after Loeffler, Ligtenberg and Moschytz,
// "Practical fast 1-D DCT algorithms with 11 multiplications" (ICASSP 1989). Constants have 13 bits behind the point;
// between the two passes 2 bits are kept.
const (
	dctBits  = 13
	passBits = 2

	c0298 = 2446 // 0.298631336 · 2¹³, and so on
	c0390 = 3196
	c0541 = 4433
	c0765 = 6270
	c0899 = 7373
	c1175 = 9633
	c1501 = 12299
	c1847 = 15137
	c1961 = 16069
	c2053 = 16819
	c2562 = 20995
	c3072 = 25172
)

// level is a sample from a value without the offset of 128.
func level(v int32) byte {
	v += 128
	if uint32(v) > 255 {
		return byte(^v >> 31)
	}
	return byte(v)
}

// fill writes a block that has nothing but a DC.
func fill(dst []byte, stride int, dc int32) {
	v := uint64(level((dc+4)>>3)) * 0x0101010101010101
	for i := range 8 {
		binary.LittleEndian.PutUint64(dst[i*stride:], v)
	}
}

// inverse writes a block. columns has a bit for each column that has more than its first coefficient; right is false if
// the four columns on the right are zero, as they mostly are: half of the work.
func inverse(dst []byte, stride int, c *[64]int32, columns uint, right bool) {
	var w [64]int32
	const shift1, half1 = dctBits - passBits, 1 << (dctBits - passBits - 1)
	last := 4
	if right {
		last = 8
	}
	for i := range last {
		if columns>>i&1 == 0 {
			v := c[i] << passBits
			for k := i; k < 64; k += 8 {
				w[k] = v
			}
			continue
		}
		e0, e1, e2, e3 := even4(c[i], c[i+16], c[i+32], c[i+48])
		o0, o1, o2, o3 := odd4(c[i+8], c[i+24], c[i+40], c[i+56])
		w[i], w[i+56] = (e0+o3+half1)>>shift1, (e0-o3+half1)>>shift1
		w[i+8], w[i+48] = (e1+o2+half1)>>shift1, (e1-o2+half1)>>shift1
		w[i+16], w[i+40] = (e2+o1+half1)>>shift1, (e2-o1+half1)>>shift1
		w[i+24], w[i+32] = (e3+o0+half1)>>shift1, (e3-o0+half1)>>shift1
	}
	const shift2, half2 = dctBits + passBits + 3, 1 << (dctBits + passBits + 2)
	for i := range 8 {
		r := w[8*i : 8*i+8 : 8*i+8]
		var e0, e1, e2, e3, o0, o1, o2, o3 int32
		if right {
			e0, e1, e2, e3 = even4(r[0], r[2], r[4], r[6])
			o0, o1, o2, o3 = odd4(r[1], r[3], r[5], r[7])
		} else { // the same with zeros
			t, z := r[0]<<dctBits, r[2]*c0541
			e1, e2 = t+z, t-z
			z += r[2] * c0765
			e0, e3 = t+z, t-z
			x1, x3 := r[1], r[3]
			z = (x1 + x3) * c1175
			o0, o1 = z-x1*c0899-x3*c1961, z-x3*c2562-x1*c0390
			o2, o3 = z+x3*(c3072-c2562-c1961), z+x1*(c1501-c0899-c0390)
		}
		out := dst[i*stride:][:8:8]
		out[0], out[7] = level((e0+o3+half2)>>shift2), level((e0-o3+half2)>>shift2)
		out[1], out[6] = level((e1+o2+half2)>>shift2), level((e1-o2+half2)>>shift2)
		out[2], out[5] = level((e2+o1+half2)>>shift2), level((e2-o1+half2)>>shift2)
		out[3], out[4] = level((e3+o0+half2)>>shift2), level((e3-o0+half2)>>shift2)
	}
}

// even4 is the part of the coefficients 0, 2, 4 and 6.
func even4(x0, x2, x4, x6 int32) (e0, e1, e2, e3 int32) {
	z := (x2 + x6) * c0541
	t2, t3 := z-x6*c1847, z+x2*c0765
	t0, t1 := (x0+x4)<<dctBits, (x0-x4)<<dctBits
	return t0 + t3, t1 + t2, t1 - t2, t0 - t3
}

// odd4 is the part of the coefficients 1, 3, 5 and 7.
func odd4(x1, x3, x5, x7 int32) (o0, o1, o2, o3 int32) {
	z1, z2, z3, z4 := x7+x1, x5+x3, x7+x3, x5+x1
	z5 := (z3 + z4) * c1175
	z1, z2 = -z1*c0899, -z2*c2562
	z3, z4 = z5-z3*c1961, z5-z4*c0390
	return x7*c0298 + z1 + z3, x5*c2053 + z2 + z4, x3*c3072 + z2 + z3, x1*c1501 + z1 + z4
}
