package product

import "github.com/bregman-ml/bregman/internal/pool"

// linesBackKernel sets lines of dx, line apart and of 2·wide pixels step apart, from the lines of dy at the offsets
// from, two for each, with the rows of w at the six offsets row, three for each. Negative offsets are zeros.
type linesBackKernel func(dx, dy, zero, w []float32, from, row []int32, lines, line, wide, step, channels int)

// depthwiseBack is the gradient in the input of a 3×3 convolution with stride two, one kernel per channel and a border
// of one on the left, by lines. Every other line of x meets one line of the kernel, those between meet two.
type depthwiseBack struct {
	set            depthwiseSet
	conv           Conv
	classes        [2]backLines // by the parity of the line
	wide           int          // of dy
	imageX, imageY int
	band           int // pairs of lines in a task
	zero           []float32

	dx, dy, w []float32
	task      func(worker, task int)
}

type backLines struct {
	from, row []int32
	lines     int
}

// byLinesBack says whether a convolution with one kernel per channel is one that depthwiseBack is made for.
func byLinesBack(c Conv) bool {
	_, ow := c.OutSize()
	return c.KH == 3 && c.KW == 3 && c.DilationH == 1 && c.DilationW == 1 && c.StrideH == 2 && c.StrideW == 2 &&
		c.PadLeft == 1 && 2*ow == c.W
}

func newDepthwiseBack(c Conv) *depthwiseBack {
	oh, ow := c.OutSize()
	d := &depthwiseBack{set: depthwiseKernels(), conv: c, wide: ow, imageX: c.H * c.W * c.C, imageY: oh * ow * c.C,
		zero: make([]float32, ow*c.C)}
	d.band = max(1, bandBytes/(8*c.W*c.C))
	for parity := range d.classes {
		k := &d.classes[parity]
		taps := []int{2, 0}
		if (parity+c.PadTop)%2 > 0 {
			taps = []int{1, -1}
		}
		for _, t := range taps {
			for i := range 3 {
				k.row = append(k.row, int32(max(-1, (3*t+i)*c.C)))
			}
		}
		for h := parity; h < c.H; h += 2 {
			for _, t := range taps {
				i := h + c.PadTop - t
				if t >= 0 && i >= 0 && i/2 < oh {
					k.from = append(k.from, int32(i/2*ow*c.C))
				} else {
					k.from = append(k.from, -1)
				}
			}
			k.lines++
		}
	}
	d.task = d.runTask
	return d
}

func (d *depthwiseBack) Scratch(int) int { return 0 }

func (d *depthwiseBack) bands() int { return (d.classes[0].lines + d.band - 1) / d.band }

func (d *depthwiseBack) run(on *pool.Pool, _, dx, dy, w []float32) {
	d.dx, d.dy, d.w = dx, dy, w
	on.Each(d.conv.N*d.bands(), d.task)
	d.dx, d.dy, d.w = nil, nil, nil
}

func (d *depthwiseBack) runTask(_, task int) {
	c := d.conv
	n, first := task/d.bands(), task%d.bands()*d.band
	dy := d.dy[n*d.imageY:]
	for j := 0; j < c.C; j += d.set.lanes {
		for parity, k := range d.classes {
			lines := min(d.band, k.lines-first)
			if lines <= 0 {
				continue
			}
			dx := d.dx[n*d.imageX+(2*first+parity)*c.W*c.C+j:]
			d.set.linesBack(dx, dy[j:], d.zero[j:], d.w[j:], k.from[2*first:], k.row, lines, 2*c.W*c.C, d.wide, c.C,
				min(d.set.lanes, c.C-j))
		}
	}
}
