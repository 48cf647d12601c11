package product

import "github.com/bregman-ml/bregman/internal/pool"

// linesKernel sets lines of y, of wide pixels step apart, to the 3×3 convolution of the lines of x at the offsets from,
// three for each line of y, a negative one being zeros. The rows of w are tap apart.
type linesKernel func(y, x, zero, w []float32, from []int32, tap, lines, wide, step, channels int)

// linesGradientKernel sets or adds to the rows of dw, tap apart, the gradient of what the linesKernel does.
type linesGradientKernel func(dw, x, zero, dy []float32, from []int32, tap, lines, wide, step, channels int, add bool)

// depthwiseLines is a pass of a 3×3 convolution with one kernel per channel and a border of one on the left and right,
// by lines. A part of an image is a task: few enough lines to stay in the cache while the channels go by.
type depthwiseLines struct {
	set            depthwiseSet
	kernel         linesKernel
	turned         bool // the kernel is turned by 180°: back to the input
	images, c      int
	from           []int32
	lines, wide    int // of y
	band           int // lines in a task
	aImage, cImage int
	zero           []float32

	y, x, w []float32
	task    func(worker, task int)
}

// bandBytes is what the lines of a task take.
const bandBytes = 96 << 10

// byLines reports whether a convolution with one kernel per channel can be done by lines; back to the input with stride
// one only.
func byLines(c Conv, back bool) bool {
	_, ow := c.OutSize()
	if c.KH != 3 || c.KW != 3 || c.DilationH != 1 || c.DilationW != 1 || c.PadLeft != 1 {
		return false
	}
	if back {
		return c.StrideH == 1 && c.StrideW == 1 && ow == c.W
	}
	return c.StrideW <= 2 && ow*c.StrideW == c.W
}

// lineOffsets returns the offsets of the three lines of an image that each line of a result meets: the first at
// line·stride − pad.
func lineOffsets(lines, stride, pad, high, line int) []int32 {
	var from []int32
	for i := range lines {
		for r := range 3 {
			if h := i*stride - pad + r; h >= 0 && h < high {
				from = append(from, int32(h*line))
			} else {
				from = append(from, -1)
			}
		}
	}
	return from
}

func newDepthwiseLines(c Conv, back bool) *depthwiseLines {
	oh, ow := c.OutSize()
	d := &depthwiseLines{set: depthwiseKernels(), turned: back, images: c.N, c: c.C, lines: oh, wide: ow,
		aImage: c.H * c.W * c.C, cImage: oh * ow * c.C}
	d.zero = make([]float32, c.W*c.C)
	if back {
		d.lines, d.wide = c.H, c.W
		d.aImage, d.cImage = d.cImage, d.aImage
		d.from = lineOffsets(c.H, 1, 2-c.PadTop, oh, ow*c.C)
	} else {
		d.from = lineOffsets(oh, c.StrideH, c.PadTop, c.H, c.W*c.C)
	}
	d.kernel = d.set.lines[c.StrideW-1]
	d.band = min(d.lines, max(1, bandBytes/(4*c.W*c.C)))
	d.task = d.runTask
	return d
}

func (d *depthwiseLines) Scratch(int) int {
	if d.turned {
		return 9 * d.c
	}
	return 0
}

func (d *depthwiseLines) bands() int { return (d.lines + d.band - 1) / d.band }

func (d *depthwiseLines) run(on *pool.Pool, scratch, y, x, w []float32) {
	d.y, d.x, d.w = y, x, w
	if d.turned {
		d.w = scratch[:9*d.c]
		for t := range 9 {
			copy(d.w[t*d.c:][:d.c], w[(8-t)*d.c:])
		}
	}
	on.Each(d.images*d.bands(), d.task)
	d.y, d.x, d.w = nil, nil, nil
}

func (d *depthwiseLines) runTask(_, task int) {
	n, first := task/d.bands(), task%d.bands()*d.band
	y, x := d.y[n*d.cImage+first*d.wide*d.c:], d.x[n*d.aImage:]
	for j := 0; j < d.c; j += d.set.lanes {
		d.kernel(y[j:], x[j:], d.zero[j:], d.w[j:], d.from[3*first:], d.c, min(d.band, d.lines-first), d.wide, d.c,
			min(d.set.lanes, d.c-j))
	}
}
