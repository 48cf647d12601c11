package customop

import "math"

// The geometry of kernels/depthwise.cu.

// depthwiseTaken reports whether the kernels take pictures of this shape. They count rows of pictures in 32 bits.
func depthwiseTaken(n, h, w, c int) bool {
	const most = 1 << 14 // of height, width and channels, far beyond what was tested
	return n > 0 && h > 0 && w > 0 && c > 0 && max(h, w, c) <= most && c%8 == 0 && n*h < 1<<30
}

// What is the same in all depthwise kernels.
const (
	depthwiseUnit   = 16 // channels that are taken together
	depthwiseStages = 3  // steps in shared memory
)

// What blocks are made for: a GPU of so many multiprocessors, with so much shared memory each.
const (
	depthwiseMultiprocessors = 132
	depthwiseShared          = 220 << 10
	depthwiseMostShared      = 100 << 10 // of a block
	depthwiseForwardBytes    = 208       // of a thread, or little more
	depthwiseBackwardBytes   = 320
)

// depthwisePlan is how a kernel's work is shared out.
type depthwisePlan struct {
	n, h, w, c, stride int
	backward, norm     bool

	units   int // of a block
	several int // pictures of a tile
	rows    int // of each picture in a step
	columns int // of a tile
	strips  int // tiles side by side
}

// lanes is how many threads of a block have work.
func (p depthwisePlan) lanes() int { return 8 * p.units * p.columns / 2 * p.several }

func (p depthwisePlan) threads() int { return (p.lanes() + 31) / 32 * 32 }

// splits is how many blocks have other channels of the same pixels.
func (p depthwisePlan) splits() int {
	all := (p.c + depthwiseUnit - 1) / depthwiseUnit
	return (all + p.units - 1) / p.units
}

// words are those of a unit of a step, of x and of the gradient by y. Sixteen more than a multiple of 32, they put
// neighbouring units into different banks.
func (p depthwisePlan) words() (x, v int) {
	line := 2 * ((p.columns/2 + 1) | 1) * 8
	x = p.several*p.rows*line | 16
	if !p.backward {
		return x, 0
	}
	if p.stride == 1 {
		return x, x
	}
	return x, p.several*((p.rows+1)/2)*(p.columns/2+1)*8 | 16
}

// shared is how many bytes of shared memory a block needs.
func (p depthwisePlan) shared() int {
	x, v := p.words()
	bytes := depthwiseStages * p.units * (x + v) * 4
	sums := 2
	if p.backward {
		sums = 9
	}
	if p.norm && p.backward {
		sums += 2
	}
	if p.norm && !p.backward {
		bytes += 2 * p.units * depthwiseUnit * 4
	}
	return max(bytes, sums*p.lanes()*8)
}

// resident is how many blocks a multiprocessor is meant to have: bounded by registers and shared memory.
func (p depthwisePlan) resident() int {
	threads := 768
	if p.backward {
		threads = 512
	}
	return max(1, min(threads/p.threads(), depthwiseShared/(p.shared()+1<<10)))
}

// cost is about how much longer the plan takes than one without waste.
func (p depthwisePlan) cost() float64 {
	all := (p.c + depthwiseUnit - 1) / depthwiseUnit
	share := func(whole, part int) float64 { return float64(whole) / float64(part) }
	cost := share(p.threads(), p.lanes()) * share(p.splits()*p.units, all) * share(p.strips*p.columns, p.w)
	cost *= share((p.n+p.several-1)/p.several*p.several, p.n)
	if p.strips > 1 {
		cost *= 1 + 1/float64(p.columns)
	}
	// Short pieces of memory, few rows between barriers, and little that hides how long things take.
	cost *= 1 + []float64{0.12, 0.03, 0.015, 0}[min(p.units, 4)-1]
	cost *= 1 + 0.5/float64(p.rows)
	cost *= 1 + 4/float64(p.threads())
	full := 768
	if p.backward {
		full = 512
	}
	cost *= 1 + 0.5*(1-min(1, share(p.resident()*p.threads(), full)))
	return cost
}

// enumerate calls yield with all plans that fit.
func (p depthwisePlan) enumerate(yield func(depthwisePlan)) {
	most, each := 384, depthwiseForwardBytes
	if p.backward {
		most, each = 256, depthwiseBackwardBytes
	}
	all := (p.c + depthwiseUnit - 1) / depthwiseUnit
	for p.units = 1; p.units <= min(all, 8); p.units++ {
		for p.strips = 1; ; p.strips++ {
			p.columns = ((p.w+p.strips-1)/p.strips + 1) / 2 * 2
			if (p.strips-1)*p.columns < p.w { // the last one is not empty
				for p.several = 1; p.several <= p.n && p.lanes() <= most; p.several++ {
					if p.several > 1 && p.strips > 1 {
						break
					}
					limit := min(depthwiseMostShared, max(each*p.threads(), 16<<10))
					if q := p; q.fit(limit) {
						yield(q)
					}
				}
			}
			if p.columns == 2 {
				break
			}
		}
	}
}

// fit chooses how many rows a step has, at least two if there are as many, and reports whether they fit.
func (p *depthwisePlan) fit(limit int) bool {
	for steps := 1; ; steps++ {
		p.rows = (p.h + steps - 1) / steps
		if steps > 1 {
			p.rows += p.rows % 2
		}
		if p.shared() <= limit {
			return true
		}
		if p.rows <= 2 {
			return p.shared() <= depthwiseMostShared
		}
		if p.several > 1 {
			return false
		}
	}
}

// depthwiseCall is the launch of a kernel, and how many parts its sums have. top is where the norm clips.
func depthwiseCall(p depthwisePlan, top float32) (Call, int) {
	entry := "depthwise_forward"
	if p.backward {
		entry = "depthwise_backward"
	}
	if p.norm {
		entry += "_norm"
		if top == 0 {
			panic("customop: no depthwise kernel has a norm that does not clip")
		}
	}
	best, least := p, math.Inf(1)
	p.enumerate(func(q depthwisePlan) {
		if cost := q.cost(); cost < least {
			best, least = q, cost
		}
	})
	return best.launch(entry, int(math.Float32bits(top)))
}

func (p depthwisePlan) launch(entry string, top int) (Call, int) {
	tiles := (p.n + p.several - 1) / p.several * p.strips
	splits := p.splits()
	most := max(1, depthwiseMultiprocessors*p.resident()/splits)
	each := (tiles + most - 1) / most
	parts := (tiles + each - 1) / each
	x, v := p.words()
	return Call{
		Kernel: strided(entry, p.stride),
		Dims:   []int{p.n, p.h, p.w, p.c, p.units, p.several, p.rows, p.columns, p.strips, x, v, top},
		GridX:  splits,
		GridY:  parts,
		Block:  p.threads(),
		Shared: p.shared(),
	}, parts
}

// DepthwiseForwardCall is the launch of the convolution of x, of this shape, and how many parts its moments have. Its
// inputs are x, the kernel [9, c] and the shift of the moments; with a norm its center, scale and offset, too. Its
// outputs are y and the moments [parts, 2, c].
func DepthwiseForwardCall(n, h, w, c, stride int, norm bool, top float32) (Call, int) {
	return depthwiseCall(depthwisePlan{n: n, h: h, w: w, c: c, stride: stride, norm: norm}, top)
}

// DepthwiseBackwardCall is the launch of both gradients of the convolution of x, of this shape, and how many parts
// their sums have. Its inputs are x, the gradient by y and the kernel; with a norm its center, scale and offset, too.
// Its outputs are the gradient by x, or with a norm by its value where it is not clipped, and the one by the kernel,
// [parts, 9, c]; with a norm its gradient's sums [parts, 2, c], too.
func DepthwiseBackwardCall(n, h, w, c, stride int, norm bool, top float32) (Call, int) {
	return depthwiseCall(depthwisePlan{n: n, h: h, w: w, c: c, stride: stride, norm: norm, backward: true}, top)
}
