package product

import "github.com/bregman-ml/bregman/internal/pool"

// depthwiseSet is the kernels for convolutions with one kernel per channel, each for up to lanes channels.
type depthwiseSet struct {
	lanes           int
	nine, four, one depthwiseKernel // by the number of taps
	gradient        depthwiseGradientKernel
}

// depthwiseKernel sets or adds to y[place[p]+c] the sum of x[from[T·p+t]+c]·w[tap[t]+c] over its T taps. Negative offsets are
// rows of zeros.
type depthwiseKernel func(y, x, zero, w []float32, place, from, tap []int32, pixels, channels int, add bool)

// depthwiseGradientKernel sets or adds to dw[t·stride+c] the sum of x[from[gradientTaps·p+t]+c]·dy[place[p]+c] over the pixels, for t < rows.
type depthwiseGradientKernel func(dw, x, zero, dy []float32, place, from []int32, stride, pixels, channels, rows int, add bool)

const gradientTaps = 9

// depthwise is a pass of a convolution with one kernel per channel: for each class of pixels that meet the same taps, some of
// the taps at a time. An image is a task.
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
	for i := range d.classes {
		k := &d.classes[i]
		for p := 0; p < len(k.place); p += k.line {
			for j := 0; j < d.conv.C; j += d.set.lanes {
				k.kernel(c[j:], a[j:], d.zero, d.w[j:], k.place[p:], k.from[p*k.taps:], k.tap, k.line, min(d.set.lanes, d.conv.C-j), k.add)
			}
		}
	}
}

// depthwiseGradient is the gradient in such kernels. Each image has a sum of its own, in scratch memory; then they are added up.
type depthwiseGradient struct {
	conv        Conv
	set         depthwiseSet
	place       []int32
	from        [][]int32 // for each nine taps
	zero        []float32
	dw, x, dy   []float32
	sums        []float32
	task, total func(worker, task int)
}

func newDepthwiseGradient(c Conv) *depthwiseGradient {
	d := &depthwiseGradient{conv: c, set: depthwiseKernels(), zero: make([]float32, c.C)}
	oh, ow := c.OutSize()
	for i := range oh * ow {
		d.place = append(d.place, int32(i*c.C))
	}
	for first := 0; first < c.taps(); first += gradientTaps {
		var from []int32
		for i := range oh * ow {
			for t := first; t < first+gradientTaps; t++ {
				if t < c.taps() {
					from = append(from, c.input(0, i/ow, i%ow, t))
				} else {
					from = append(from, -1)
				}
			}
		}
		d.from = append(d.from, from)
	}
	d.task, d.total = d.runTask, d.runTotal
	return d
}

func (d *depthwiseGradient) Scratch(int) int { return d.conv.N * d.conv.taps() * d.conv.C }

func (d *depthwiseGradient) run(on *pool.Pool, scratch, dw, x, dy []float32) {
	d.dw, d.x, d.dy, d.sums = dw, x, dy, scratch[:d.Scratch(on.Threads())]
	on.Each(d.conv.N, d.task)
	on.Each(d.conv.taps(), d.total)
	d.dw, d.x, d.dy, d.sums = nil, nil, nil, nil
}

func (d *depthwiseGradient) runTask(_, n int) {
	c := d.conv
	oh, ow := c.OutSize()
	x, dy, sums := d.x[n*c.H*c.W*c.C:], d.dy[n*oh*ow*c.C:], d.sums[n*c.taps()*c.C:]
	for f, from := range d.from {
		rows := min(gradientTaps, c.taps()-f*gradientTaps)
		for p := 0; p < len(d.place); p += ow {
			for j := 0; j < c.C; j += d.set.lanes {
				d.set.gradient(sums[f*gradientTaps*c.C+j:], x[j:], d.zero, dy[j:], d.place[p:], from[p*gradientTaps:], c.C, ow, min(d.set.lanes, c.C-j), rows, p > 0)
			}
		}
	}
}

// runTotal adds up a tap's sums of the images.
func (d *depthwiseGradient) runTotal(_, tap int) {
	c := d.conv
	dst := d.dw[tap*c.C:][:c.C]
	copy(dst, d.sums[tap*c.C:])
	for n := 1; n < c.N; n++ {
		for i, v := range d.sums[(n*c.taps()+tap)*c.C:][:c.C] {
			dst[i] += v
		}
	}
}
