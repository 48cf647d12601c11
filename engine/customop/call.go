// Package customop has operations that GPU kernels of ours compute, with their gradients.
//
// A graph calls a kernel through a function whose name says which kernel it is and how it is launched ([Call]). An
// engine that has the kernels replaces the body of the function; package engine/pjrt does. An operation needs such an
// engine: [CanNormalise], [CanConvolveDepth], [CanConvolveGroups] and [CanPool] report whether there is one and
// whether it takes a shape. Each operation also has a plain form in GoMLX's operations, which tests compute instead
// ([PlainForms]).
//
// The files NAME_call.go decide how kernels are launched. Their functions, such as [SumsCall], are public for tests of
// the kernels.
package customop

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Call is one launch of a kernel.
type Call struct {
	Kernel string // its entry
	Dims   []int  // whole numbers that the kernel reads, at most MaxDims
	GridX  int
	GridY  int
	Block  int // threads
	Shared int // bytes of shared memory
}

// MaxDims is how many whole numbers a kernel can be given.
const MaxDims = 16

const prefix = "bregman_kernel_"

// symbol is the name of the function that stands for the call, the n-th of its graph.
func (c Call) symbol(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s__%d_%d_%d_%d__", prefix, c.Kernel, c.GridX, c.GridY, c.Block, c.Shared)
	for i, d := range c.Dims {
		if i > 0 {
			b.WriteByte('_')
		}
		b.WriteString(strconv.Itoa(d))
	}
	fmt.Fprintf(&b, "__%d", n)
	return b.String()
}

var symbol = regexp.MustCompile(`^` + prefix +
	`([a-z][a-z0-9]*(?:_[a-z0-9]+)*)__(\d+)_(\d+)_(\d+)_(\d+)__((?:\d+(?:_\d+)*)?)__\d+$`)

// Parse returns the call that a function of this name stands for.
func Parse(name string) (c Call, ok bool) {
	m := symbol.FindStringSubmatch(name)
	if m == nil {
		return c, false
	}
	c.Kernel, ok = m[1], true
	number := func(text string) int {
		n, err := strconv.ParseInt(text, 10, 32)
		ok = ok && err == nil
		return int(n)
	}
	c.GridX, c.GridY, c.Block, c.Shared = number(m[2]), number(m[3]), number(m[4]), number(m[5])
	if m[6] != "" {
		for _, d := range strings.Split(m[6], "_") {
			c.Dims = append(c.Dims, number(d))
		}
	}
	return c, ok && len(c.Dims) <= MaxDims
}
