package product

// Winograd's convolution F(m×m, 3×3) makes m×m pixels of y from a square of t×t pixels of x, t = m+2, with t² products
// per pair of channels in place of 9m²:
//
//	y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A.
//
// Over all squares and channels the ⊙ is t² matrix products, one per plane. The gradient in x is the same with the
// kernel turned and transposed, and that in g is Gᵀ[(A dy Aᵀ) ⊙ (Bᵀ d B)]G, summed over the squares.

// winogradSet is the transforms for one m. Planes are some floats apart; what spoils overwrites its source.
type winogradSet struct {
	lanes                  int // a group of channels is a multiple of it
	input, outputGradient  spreadKernel
	output                 collectKernel
	kernel, kernelGradient convertKernel // the second spoils
}

// spreadKernel transforms the square of src at the offsets from, a negative one being zeros, into planes of dst. After
// each group of channels it skips some floats. What lies ahead floats further it fetches into the cache.
//
// buffer is for its own use: bufferSize floats.
type spreadKernel func(dst, src, zero, buffer []float32, from []int32, plane, channels, group, skip, ahead int)

// collectKernel transforms planes of src, which it spoils, into the square of dst at the offsets place, a negative one
// being spill.
type collectKernel func(dst, spill, src []float32, place []int32, plane, channels, ahead int)

const bufferSize = 36 * 16

// convertKernel transforms planes of count floats, from apart, into others that are to apart.
type convertKernel func(dst, src []float32, to, from, count int)

// winogradSquare is the m for all convolutions that the method applies to, 0 for none. Tests set it.
var winogradSquare = automatic

const automatic = -1

// winogradFor returns the m to use for a convolution, or 0: where the method does not apply or does not pay.
func winogradFor(c Conv) int {
	if c.KH != 3 || c.KW != 3 || c.StrideH != 1 || c.StrideW != 1 || c.DilationH != 1 || c.DilationW != 1 ||
		c.Groups != 1 ||
		max(c.PadTop, c.PadBottom, c.PadLeft, c.PadRight) > 2 || min(c.C, c.OutC) < 16 {
		return 0
	}
	if winogradSquare != automatic {
		return winogradSquare
	}
	best, least := 0, c.meetings()
	for _, m := range []int{2, 4} {
		if cost := winogradCost * winogradProducts(c, m); cost < least {
			best, least = m, cost
		}
	}
	return best
}

// winogradCost is what a multiplication by Winograd's method takes, with its part of the transforms, where a plain one
// takes 1.
const winogradCost = 1.4

// winogradProducts is how many multiplications an image takes for a pair of channels.
func winogradProducts(c Conv, m int) float64 {
	oh, ow := c.OutSize()
	return float64((oh + m - 1) / m * ((ow + m - 1) / m) * (m + 2) * (m + 2))
}

// meetings is how many pairs of a pixel of x and one of y there are in an image: so many multiplications plain sums
// take.
func (c Conv) meetings() float64 {
	oh, ow := c.OutSize()
	n := 0
	for i := range oh * ow {
		for t := range c.taps() {
			if c.input(0, i/ow, i%ow, t) >= 0 {
				n++
			}
		}
	}
	return float64(n)
}

// squares is how the images of a convolution are cut.
type squares struct {
	m, t           int
	perImage       int
	count          int     // in all images
	in             []int32 // t² offsets in x per square of an image
	out            []int32 // m² offsets in y
	imageX, imageY int     // floats from image to image
	zero, spill    []float32
}

// newSquares cuts x and y for F(m×m, 3×3).
func newSquares(c Conv, m int) squares {
	oh, ow := c.OutSize()
	s := squares{m: m, t: m + 2, imageX: c.H * c.W * c.C, imageY: oh * ow * c.OutC}
	high, wide := (oh+m-1)/m, (ow+m-1)/m
	s.perImage = high * wide
	s.count = c.N * s.perImage
	at := func(h, w, high, wide, channels int) int32 {
		if h < 0 || h >= high || w < 0 || w >= wide {
			return -1
		}
		return int32((h*wide + w) * channels)
	}
	for q := range s.perImage {
		h, w := q/wide*m, q%wide*m
		for i := range s.t * s.t {
			s.in = append(s.in, at(h+i/s.t-c.PadTop, w+i%s.t-c.PadLeft, c.H, c.W, c.C))
		}
		for i := range m * m {
			s.out = append(s.out, at(h+i/m, w+i%m, oh, ow, c.OutC))
		}
	}
	s.zero, s.spill = make([]float32, max(c.C, c.OutC)), make([]float32, c.OutC)
	return s
}

func (s *squares) inList(q int) []int32  { return s.in[q%s.perImage*s.t*s.t:][:s.t*s.t] }
func (s *squares) outList(q int) []int32 { return s.out[q%s.perImage*s.m*s.m:][:s.m*s.m] }

// plane returns a distance of at least n floats between planes. An odd number of cache lines spreads the planes over
// the sets of a cache.
func plane(n int) int { return (n+15)/16*16 | 16 }
