package vec

// Sums are added up in an order that depends on the lengths alone, the same in Go and in assembly, and so are
// the same bit for bit on every machine.

// sumBlock is how many elements Sum32 adds up at once, in sumLanes sums.
const (
	sumBlock = 4096
	sumLanes = 32
)

// Sum32 returns Σ xᵢ. Blocks are added up in 32 sums each, and the blocks in pairs: the error is at most
// 2⁻²⁴·(n/32 + 8)·Σ|xᵢ| in a block of n ≤ 4096, and grows with the logarithm of the number of blocks.
func Sum32(x []float32) float32 {
	if len(x) <= sumBlock {
		return sum32(x)
	}
	half := (len(x)/2 + sumBlock - 1) / sumBlock * sumBlock
	return Sum32(x[:half]) + Sum32(x[half:])
}

// MaxOf32 returns the largest element: NaN if there is one, and −Inf of nothing.
func MaxOf32(x []float32) float32 { return maxOf32(x) }

// MinOf32 returns the smallest element: NaN if there is one, and +Inf of nothing.
func MinOf32(x []float32) float32 { return minOf32(x) }

const (
	widest     = 128 // elements of a row that AddRows32 adds up in registers
	rowsAtOnce = 512
)

// AddRows32 adds the rows of x, which have len(acc) elements each, to acc.
//
// Narrow rows are taken several at a time, as one row of a multiple of 32 elements, or 8 if there are few, and
// added up in registers, 512 of them at once; the parts of the sum are then added up in pairs.
func AddRows32(acc, x []float32) {
	d := len(acc)
	if d == 0 || len(x)%d != 0 {
		if len(x) == 0 {
			return
		}
		panic("vec: AddRows32 takes whole rows")
	}
	if long := joined(d, len(x)/d); long > 0 {
		var sum [widest]float32
		for len(x) >= long {
			rows := min(len(x)/long, rowsAtOnce)
			sumRows32(sum[:long], x[:rows*long], rows)
			for n := long / 2; n >= d; n /= 2 { // long is a power of two times d
				add32(sum[:n], sum[:n], sum[n:2*n])
			}
			add32(acc, acc, sum[:d])
			x = x[rows*long:]
		}
	}
	for ; len(x) > 0; x = x[d:] {
		add32(acc, acc, x[:d])
	}
}

// joined returns the length of a row that is several rows of d elements, or 0 if it does not pay.
func joined(d, rows int) int {
	for _, unit := range [...]int{32, 8} {
		times := unit / min(d&-d, unit) // the least with d·times a multiple of the unit
		if d*times <= widest && rows >= unit/2*times {
			return d * times
		}
	}
	return 0
}
