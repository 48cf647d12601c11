package train

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/internal/safetensors"
)

// Weights in files have PyTorch's names and layouts: kernels [out, in, height, width] and linear weights [out, in],
// where the networks here have [height, width, in, out] and [in, out]. Only the last axis moves to the front and, in
// kernels, the one before it after that.

// Init is the weights of a network in PyTorch's names and layouts, to start from.
type Init struct {
	path   string
	tensor map[string]safetensors.Tensor
}

// ReadInit reads a safetensors file. Names may begin with "module.", as torch.nn.DataParallel writes them.
func ReadInit(path string) (*Init, error) {
	f, err := safetensors.Read(path)
	if err != nil {
		return nil, err
	}
	in := &Init{path, map[string]safetensors.Tensor{}}
	for _, t := range f.Tensors {
		in.tensor[strings.TrimPrefix(t.Name, "module.")] = t
	}
	return in, nil
}

// CheckInit returns an error if the weights do not fit the session's network. Those of another number of classes fit:
// the last layer is then drawn from the seed. See NewHead.
func (x *Session) CheckInit(in *Init) error {
	_, err := x.initValues(in, x.newHead(in))
	return err
}

// NewHead says that the weights are for another number of classes, so that the last layer does not start from them; it
// is "" otherwise.
func (x *Session) NewHead(in *Init) string {
	head := x.newHead(in)
	if head == "" {
		return ""
	}
	return fmt.Sprintf("%s is for %d classes, and there are %d: the last layer, %s, starts from random weights", in.path,
		in.tensor[head+".weight"].Shape[0], len(x.set.Classes), head)
}

// newHead is the name of the last layer, if the file's differs from it in the number of classes alone, or "".
func (x *Session) newHead(in *Init) string {
	layers := x.layerVars()
	if len(layers) == 0 {
		return ""
	}
	last := layers[len(layers)-1]
	head, want := layerName(last), torchShape(last.Shape().Dimensions)
	has := in.tensor[head+".weight"].Shape
	if len(has) != len(want) || want[0] != len(x.set.Classes) || has[0] == want[0] || !slices.Equal(has[1:], want[1:]) {
		return ""
	}
	if bias, ok := in.tensor[head+".bias"]; ok && !slices.Equal(bias.Shape, has[:1]) {
		return ""
	}
	return head
}

func (x *Session) setInit(in *Init) error { return x.setInitBut(in, x.newHead(in)) }

// setInitBut sets all weights but those of a layer, if there is a name of one.
func (x *Session) setInitBut(in *Init, head string) error {
	values, err := x.initValues(in, head)
	if err != nil {
		return err
	}
	for path, t := range values {
		if err := x.store.GetVariable(path).SetValue(t); err != nil {
			return err
		}
	}
	return nil
}

// initValues turns a file's tensors into values of the network's variables. The file must have each of them and, but
// for PyTorch's counters of batches, no others. Those of the layer head, if there is one, are left out.
func (x *Session) initValues(in *Init, head string) (map[string]*tensors.Tensor, error) {
	out := map[string]*tensors.Tensor{}
	ofHead := func(name string) bool { return head != "" && strings.HasPrefix(name, head+".") }
	for v := range x.modelScope().IterVariables() {
		if !stored(v, false) {
			continue
		}
		name := torchName(strings.TrimPrefix(v.Path(), "/"))
		if ofHead(name) {
			continue
		}
		st, ok := in.tensor[name]
		if !ok {
			return nil, fmt.Errorf("%s has no %s: it is not of the network %s, or its layers have other names", in.path, name,
				x.net.Name)
		}
		dims := v.Shape().Dimensions
		if want := torchShape(dims); !slices.Equal(st.Shape, want) {
			return nil, fmt.Errorf("%s: %s has shape %v, %s on these images needs %v", in.path, name, st.Shape, x.net.Name, want)
		}
		values, err := widened(st)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", in.path, name, err)
		}
		for i, w := range values {
			if w-w != 0 {
				return nil, fmt.Errorf("%s: %s is %v at place %d", in.path, name, w, i)
			}
		}
		if v.DType() != dtypes.Float32 {
			return nil, fmt.Errorf("%s: the network's %s is %s", in.path, name, v.DType())
		}
		out[v.Path()] = tensors.FromFlatDataAndDimensions(fromTorch(values, dims), dims...)
	}
	for _, name := range slices.Sorted(maps.Keys(in.tensor)) {
		if _, ok := out["/"+modelScope+"/"+strings.ReplaceAll(name, ".", "/")]; !ok &&
			!ofHead(name) && !strings.HasSuffix(name, ".num_batches_tracked") {
			return nil, fmt.Errorf("%s has %s, which the network %s does not have", in.path, name, x.net.Name)
		}
	}
	return out, nil
}

// torchShape is the shape that PyTorch gives to weights of these dimensions.
func torchShape(d []int) []int {
	switch len(d) {
	case 2:
		return []int{d[1], d[0]}
	case 4:
		return []int{d[3], d[2], d[0], d[1]}
	}
	return d
}

// toTorch moves the values of weights of dimensions d from [height, width, in, out] or [in, out] to PyTorch's layout.
func toTorch(w []float32, d []int) []float32 { return moved(w, d, true) }

// fromTorch is the inverse of toTorch.
func fromTorch(w []float32, d []int) []float32 { return moved(w, d, false) }

func moved(w []float32, d []int, to bool) []float32 {
	var pixels, in, outs int
	switch len(d) {
	case 2:
		pixels, in, outs = 1, d[0], d[1]
	case 4:
		pixels, in, outs = d[0]*d[1], d[2], d[3]
	default:
		return w
	}
	out := make([]float32, len(w))
	for p := range pixels {
		for i := range in {
			for o := range outs {
				ours, torch := (p*in+i)*outs+o, (o*in+i)*pixels+p
				if to {
					out[torch] = w[ours]
				} else {
					out[ours] = w[torch]
				}
			}
		}
	}
	return out
}

// widened returns floating-point elements of any width as float32.
func widened(t safetensors.Tensor) ([]float32, error) {
	halves := func(f func(h uint16) float32) []float32 {
		out := make([]float32, len(t.Data)/2)
		for i := range out {
			out[i] = f(binary.LittleEndian.Uint16(t.Data[2*i:]))
		}
		return out
	}
	switch t.DType {
	case "F32":
		return safetensors.Float32s(t)
	case "F64":
		v, err := safetensors.Float64s(t)
		out := make([]float32, len(v))
		for i := range v {
			out[i] = float32(v[i])
		}
		return out, err
	case "BF16":
		return halves(func(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }), nil
	case "F16":
		return halves(half), nil
	}
	return nil, fmt.Errorf("values of type %s: want F32, F64, F16 or BF16", t.DType)
}

// half widens an IEEE number of 16 bits: 1 of sign, 5 of exponent, 10 of mantissa.
func half(h uint16) float32 {
	sign, e, m := float32(1), int(h>>10&31), float64(h&1023)
	if h>>15 == 1 {
		sign = -1
	}
	switch e {
	case 0:
		return sign * float32(math.Ldexp(m, -24))
	case 31:
		if m > 0 {
			return float32(math.NaN())
		}
		return sign * float32(math.Inf(1))
	}
	return sign * float32(math.Ldexp(m+1024, e-25))
}
