package product

import "github.com/bregman-ml/bregman/internal/pool"

// depthwiseSet is the kernels for convolutions with one kernel per channel, each for up to lanes channels.
type depthwiseSet struct {
	lanes                int
	nine, four, two, one depthwiseKernel // by the number of taps
	gradient             depthwiseGradientKernel
	lines                [2]linesKernel // by stride
	linesGradient        [2]linesGradientKernel
	linesBack            linesBackKernel // for stride two
}

// depthwiseKernel sets or adds to y[place[p]+c] the sum of x[from[T·p+t]+c]·w[tap[t]+c] over its T taps. Negative
// offsets are rows of zeros.
type depthwiseKernel func(y, x, zero, w []float32, place, from, tap []int32, pixels, channels int, add bool)

// depthwiseGradientKernel sets or adds to dw[t·stride+c] the sum of x[from[gradientTaps·p+t]+c]·dy[place[p]+c] over the
// pixels, for t < rows.
type depthwiseGradientKernel func(dw, x, zero, dy []float32, place, from []int32, stride, pixels, channels, rows int,
	add bool)

const gradientTaps = 9

// depthwise is a pass of a convolution with one kernel per channel: for each class of pixels that meet the same taps,
// some of the taps at a time. An image is a task.
type depthwise struct {
	conv           Conv
	set            depthwiseSet
	classes        []depthwiseClass
	aImage, cImage int
	zero           []float32
	c, a, w        []float32 // while a run lasts
	task           func(worker, task int)
}

type depthwiseClass struct {
	kernel    depthwiseKernel
	taps      int
	place     []int32
	from, tap []int32
	line      int // pixels in a line: they share the lines of x they meet
	add       bool
}

func newDepthwise(c Conv, back bool) *depthwise {
	d := &depthwise{conv: c, set: depthwiseKernels(), zero: make([]float32, c.C)}
	oh, ow := c.OutSize()
	d.aImage, d.cImage = c.H*c.W*c.C, oh*ow*c.C
	d.task = d.runTask
	if !back {
		place := make([]int32, oh*ow)
		for i := range place {
			place[i] = int32(i * c.C)
		}
		d.add(place, ow, allTaps(c), func(pixel, tap int) int32 { return c.input(0, pixel/ow, pixel%ow, tap) })
		return d
	}
	d.aImage, d.cImage = d.cImage, d.aImage
	eachClass(c, func(high, wide int, at func(pixel int) (h, w int), taps []int) {
		place := make([]int32, high*wide)
		for i := range place {
			h, w := at(i)
			place[i] = int32((h*c.W + w) * c.C)
		}
		d.add(place, wide, taps, func(pixel, tap int) int32 {
			h, w := at(pixel)
			return c.output(0, h, w, tap)
		})
	})
	return d
}

// add makes the classes for pixels that meet the taps in list: nine taps at a time.
func (d *depthwise) add(place []int32, line int, list []int, in func(pixel, tap int) int32) {
	for first := 0; first == 0 || first < len(list); first += 9 {
		part := list[first:min(first+9, len(list))]
		class := depthwiseClass{d.set.nine, 9, place, nil, nil, line, first > 0}
		switch {
		case len(part) <= 1:
			class.kernel, class.taps = d.set.one, 1
		case len(part) == 2:
			class.kernel, class.taps = d.set.two, 2
		case len(part) <= 4:
			class.kernel, class.taps = d.set.four, 4
		}
		for t := range class.taps {
			if t < len(part) {
				class.tap = append(class.tap, int32(part[t]*d.conv.C))
			} else {
				class.tap = append(class.tap, -1)
			}
		}
		for p := range place {
			for t := range class.taps {
				if t < len(part) {
					class.from = append(class.from, in(p, part[t]))
				} else {
					class.from = append(class.from, -1)
				}
			}
		}
		d.classes = append(d.classes, class)
	}
}

func (d *depthwise) Scratch(int) int { return 0 }

func (d *depthwise) run(on *pool.Pool, _, c, a, w []float32) {
	d.c, d.a, d.w = c, a, w
	on.Each(d.conv.N, d.task)
	d.c, d.a, d.w = nil, nil, nil
}

func (d *depthwise) runTask(_, n int) {
	c, a := d.c[n*d.cImage:], d.a[n*d.aImage:]
	// Line by line: the classes write between each other's pixels.
	for line, more := 0, true; more; line++ {
		more = false
		for i := range d.classes {
			k := &d.classes[i]
			p := line * k.line
			if p >= len(k.place) {
				continue
			}
			more = true
			for j := 0; j < d.conv.C; j += d.set.lanes {
				k.kernel(c[j:], a[j:], d.zero, d.w[j:], k.place[p:], k.from[p*k.taps:], k.tap, k.line, min(d.set.lanes, d.conv.C-j),
					k.add)
			}
		}
	}
}
