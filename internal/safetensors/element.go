package safetensors

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// number is an element that the typed functions of this package convert.
type number interface {
	float32 | float64 | int64
}

// Float32s returns the elements of an F32 tensor.
func Float32s(t Tensor) ([]float32, error) { return elements[float32](t, "F32") }

// Float64s returns the elements of an F64 tensor.
func Float64s(t Tensor) ([]float64, error) { return elements[float64](t, "F64") }

// Int64s returns the elements of an I64 tensor.
func Int64s(t Tensor) ([]int64, error) { return elements[int64](t, "I64") }

// FromFloat32s returns a copy of x as an F32 tensor. [Encode] checks that shape holds as many elements.
func FromFloat32s(name string, shape []int, x []float32) Tensor {
	return fromElements(name, "F32", shape, x)
}

// FromFloat64s returns a copy of x as an F64 tensor. [Encode] checks that shape holds as many elements.
func FromFloat64s(name string, shape []int, x []float64) Tensor {
	return fromElements(name, "F64", shape, x)
}

// FromInt64s returns a copy of x as an I64 tensor. [Encode] checks that shape holds as many elements.
func FromInt64s(name string, shape []int, x []int64) Tensor {
	return fromElements(name, "I64", shape, x)
}

// elements converts only what is of exactly this type: widening a half-precision tensor unasked would hide that
// the file is not the one the caller wrote.
func elements[T number](t Tensor, dtype string) ([]T, error) {
	if t.DType != dtype {
		return nil, fmt.Errorf("safetensors: tensor %q is %s, not %s", t.Name, t.DType, dtype)
	}
	if err := check(t); err != nil {
		return nil, fmt.Errorf("safetensors: tensor %q: %w", t.Name, err)
	}
	x := make([]T, len(t.Data)/width(dtype))
	_, err := binary.Decode(t.Data, binary.LittleEndian, x)
	return x, err
}

func fromElements[T number](name, dtype string, shape []int, x []T) Tensor {
	data, err := binary.Append(make([]byte, 0, len(x)*width(dtype)), binary.LittleEndian, x)
	if err != nil {
		panic(err) // every number has a fixed size
	}
	return Tensor{Name: name, DType: dtype, Shape: slices.Clone(shape), Data: data}
}
