package vec

import "math"

// sum32Go adds up in the order of the assembly: sumLanes sums over whole groups of as many elements, what is
// left to the first of them, eight at a time; then the sums in pairs.
func sum32Go(x []float32) float32 {
	var sum [sumLanes]float32
	for ; len(x) >= sumLanes; x = x[sumLanes:] {
		for i, v := range x[:sumLanes] {
			sum[i] += v
		}
	}
	for i, v := range x {
		sum[i%8] += v
	}
	for i := range 8 {
		sum[i] = (sum[i] + sum[8+i]) + (sum[16+i] + sum[24+i])
	}
	for n := 4; n > 0; n /= 2 {
		for i := range n {
			sum[i] += sum[n+i]
		}
	}
	return sum[0]
}

func maxOf32Go(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

func minOf32Go(x []float32) float32 {
	m := float32(math.Inf(1))
	for _, v := range x {
		m = min(m, v)
	}
	return m
}

// sumRows32Go sets dst to the sum of the even rows plus that of the odd rows.
func sumRows32Go(dst, x []float32, rows int) {
	var odd [widest]float32
	d := len(dst)
	clear(dst)
	for i := range rows {
		sum := dst
		if i%2 == 1 {
			sum = odd[:d]
		}
		add32Go(sum, sum, x[i*d:(i+1)*d])
	}
	add32Go(dst, dst, odd[:d])
}
