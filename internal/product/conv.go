package product

import (
	"fmt"
	"math"
)

// Conv is the shape of a convolution y = x ⋆ w in the sense of neural networks, the kernel not flipped:
//
//	y[n,i,j,o] = Σ x[n, i·StrideH + a·DilationH − PadTop, j·StrideW + b·DilationW − PadLeft, c] · w[a,b,c,o]
//
// x is [N,H,W,C] with zeros around it, w is [KH,KW,C/Groups,OutC], y is [N,OH,OW,OutC]. The channel o sees the channels
// of x in the group o/(OutC/Groups).
type Conv struct {
	N, H, W, C                           int
	KH, KW, OutC                         int
	StrideH, StrideW                     int
	PadTop, PadBottom, PadLeft, PadRight int
	DilationH, DilationW                 int
	Groups                               int
}

// Check says what is wrong with a shape.
func (c Conv) Check() error {
	for _, v := range []struct {
		name  string
		value int
	}{{"N", c.N}, {"H", c.H}, {"W", c.W}, {"C", c.C}, {"KH", c.KH}, {"KW", c.KW}, {"OutC", c.OutC}, {"StrideH", c.StrideH},
		{"StrideW", c.StrideW}, {"DilationH", c.DilationH}, {"DilationW", c.DilationW}, {"Groups", c.Groups}} {
		if v.value < 1 {
			return fmt.Errorf("convolution: %s is %d, want at least 1", v.name, v.value)
		}
	}
	if min(c.PadTop, c.PadBottom, c.PadLeft, c.PadRight) < 0 {
		return fmt.Errorf("convolution: negative padding %d, %d, %d, %d", c.PadTop, c.PadBottom, c.PadLeft, c.PadRight)
	}
	if c.C%c.Groups != 0 || c.OutC%c.Groups != 0 {
		return fmt.Errorf("convolution: %d and %d channels do not make %d groups", c.C, c.OutC, c.Groups)
	}
	oh, ow := c.OutSize()
	if oh < 1 || ow < 1 {
		return fmt.Errorf("convolution: a kernel of %d×%d, dilated %d×%d, does not fit an image of %d×%d with its padding",
			c.KH, c.KW, c.DilationH, c.DilationW, c.H, c.W)
	}
	if max(c.H*c.W*c.C, oh*ow*c.OutC) > maxImage {
		return fmt.Errorf("convolution: images of %d×%d×%d are too large", c.H, c.W, max(c.C, c.OutC))
	}
	return nil
}

// Offsets are 32 bits, and at most maxBlock images share a table of them.
const (
	maxBlock = 384
	maxImage = math.MaxInt32 / maxBlock
)

// OutSize returns the height and width of y.
func (c Conv) OutSize() (oh, ow int) {
	return outSize(c.H+c.PadTop+c.PadBottom, c.KH, c.StrideH, c.DilationH), outSize(c.W+c.PadLeft+c.PadRight, c.KW,
		c.StrideW, c.DilationW)
}

func outSize(n, k, stride, dilation int) int {
	if rest := n - dilation*(k-1) - 1; rest >= 0 {
		return rest/stride + 1
	}
	return 0
}

// The number of elements of x, w and y.
func (c Conv) sizes() (x, w, y int) {
	oh, ow := c.OutSize()
	return c.N * c.H * c.W * c.C, c.KH * c.KW * c.C / c.Groups * c.OutC, c.N * oh * ow * c.OutC
}

func (c Conv) taps() int { return c.KH * c.KW }

// groupChannels returns the channels per group of x and y.
func (c Conv) groupChannels() (in, out int) { return c.C / c.Groups, c.OutC / c.Groups }

// depthwise says whether each channel has kernels of its own, one or more.
func (c Conv) depthwise() bool { return c.C == c.Groups && c.OutC == c.C }

// must stops at shapes that Check refuses: making a plan for one is an error of the program.
func (c Conv) must() {
	if err := c.Check(); err != nil {
		panic(err)
	}
}

// input returns the offset of the pixel of x in image n that the pixel (i, j) of y meets at a tap, or −1 outside.
func (c Conv) input(n, i, j, tap int) int32 {
	h := i*c.StrideH + tap/c.KW*c.DilationH - c.PadTop
	w := j*c.StrideW + tap%c.KW*c.DilationW - c.PadLeft
	if h < 0 || h >= c.H || w < 0 || w >= c.W {
		return -1
	}
	return int32(((n*c.H+h)*c.W + w) * c.C)
}

// output returns the offset of the pixel of y that meets the pixel (h, w) of x at a tap, or −1 where there is none.
func (c Conv) output(n, h, w, tap int) int32 {
	oh, ow := c.OutSize()
	i, j := h+c.PadTop-tap/c.KW*c.DilationH, w+c.PadLeft-tap%c.KW*c.DilationW
	if i < 0 || j < 0 || i%c.StrideH != 0 || j%c.StrideW != 0 || i/c.StrideH >= oh || j/c.StrideW >= ow {
		return -1
	}
	return int32(((n*oh+i/c.StrideH)*ow + j/c.StrideW) * c.OutC)
}
