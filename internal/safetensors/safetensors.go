// Package safetensors reads and writes the safetensors format of named arrays, which Python, Rust and
// JavaScript read without running code from the file:
//
//	8 bytes   n, the length of the header, little-endian
//	n bytes   the header: one JSON object, padded with spaces to a multiple of 8
//	the rest  the data of the tensors, little-endian, row-major, one after the other without holes
//
// Reference: https://github.com/huggingface/safetensors#format
package safetensors

import (
	"fmt"
	"math"
)

// maxHeader is the longest header the reference implementation reads.
const maxHeader = 100_000_000

// metadataKey is the one name in the header that is not a tensor.
const metadataKey = "__metadata__"

// Tensor is one named array. Data holds the elements little-endian in row-major order; an empty Shape is a
// scalar.
type Tensor struct {
	Name  string
	DType string // F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL
	Shape []int
	Data  []byte
}

// File is the content of one file. The order of Tensors is the order of their data.
type File struct {
	Tensors  []Tensor
	Metadata map[string]string
}

// Tensor returns the tensor of that name, and whether there is one.
func (f File) Tensor(name string) (Tensor, bool) {
	for _, t := range f.Tensors {
		if t.Name == name {
			return t, true
		}
	}
	return Tensor{}, false
}

// width returns the bytes of one element, and 0 for a type that is not known.
func width(dtype string) int {
	switch dtype {
	case "F64", "I64", "U64":
		return 8
	case "F32", "I32", "U32":
		return 4
	case "F16", "BF16", "I16", "U16":
		return 2
	case "I8", "U8", "BOOL":
		return 1
	}
	return 0
}

// byteSize returns the bytes that dtype and shape ask for.
func byteSize(dtype string, shape []int) (int, error) {
	size := width(dtype)
	if size == 0 {
		return 0, fmt.Errorf("unknown dtype %q", dtype)
	}
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("negative dimension in shape %v", shape)
		}
		if d > 0 && size > math.MaxInt/d {
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
		size *= d
	}
	return size, nil
}
