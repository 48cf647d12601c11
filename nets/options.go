package nets

import "fmt"

// Options change a network without changing its parameters.
type Options struct {
	// BlurPool blurs the input of every convolution with a stride and at least 16 input channels, by a fixed 3×3 kernel.
	// Max pools are not changed.
	BlurPool bool
	// Dropout is the rate before the last layer, in training: at least 0 and below 1. 0 is none, and a negative one, such
	// as OwnDropout, is the network's own.
	Dropout float64
}

// OwnDropout leaves the rate of dropout as the network has it.
const OwnDropout = -1

// With returns the network with these options. It panics if the rate of dropout is not below 1.
func (n Net) With(o Options) Net {
	n.blurPool = o.BlurPool
	if !(o.Dropout < 1) {
		panic(fmt.Sprintf("nets: dropout of %v: want a rate below 1", o.Dropout))
	}
	if o.Dropout >= 0 {
		n.Dropout = o.Dropout
	}
	return n
}
