package cpu

import (
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/bregman-ml/bregman/internal/vec"
)

// Element-wise operations as instructions. A type not listed here runs on GoMLX's engine.

var unary32 = map[compute.OpType]func(dst, a []float32){
	compute.OpTypeAbs: vec.Abs32, compute.OpTypeNeg: vec.Neg32, compute.OpTypeSign: vec.Sign32,
	compute.OpTypeSqrt:  vec.Sqrt32,
	compute.OpTypeRsqrt: vec.Rsqrt32, compute.OpTypeFloor: vec.Floor32, compute.OpTypeCeil: vec.Ceil32,
	compute.OpTypeRound: vec.Round32,
	compute.OpTypeExp:   vec.Exp32, compute.OpTypeLog: vec.Log32, compute.OpTypeTanh: vec.Tanh32,
	compute.OpTypeLogistic: vec.Logistic32,
	compute.OpTypeLog1p:    vec.Log1p32, compute.OpTypeExpm1: vec.Expm132,
	compute.OpTypeErf: vec.Erf32, compute.OpTypeSin: each32(math.Sin), compute.OpTypeCos: each32(math.Cos),
}

func each32(f func(float64) float64) func(dst, a []float32) {
	return func(dst, a []float32) {
		for i, v := range a {
			dst[i] = float32(f(float64(v)))
		}
	}
}

var binary32 = map[compute.OpType]func(dst, a, b []float32){
	compute.OpTypeAdd: vec.Add32, compute.OpTypeSub: vec.Sub32, compute.OpTypeMul: vec.Mul32, compute.OpTypeDiv: vec.Div32,
	compute.OpTypeMax: vec.Max32, compute.OpTypeMin: vec.Min32,
	compute.OpTypeEqual: vec.Equal32, compute.OpTypeNotEqual: vec.NotEqual32, compute.OpTypeLessThan: vec.Less32,
	compute.OpTypeLessOrEqual:    vec.LessEqual32,
	compute.OpTypeGreaterThan:    func(dst, a, b []float32) { vec.Less32(dst, b, a) },
	compute.OpTypeGreaterOrEqual: func(dst, a, b []float32) { vec.LessEqual32(dst, b, a) },
	compute.OpTypePow: func(dst, a, b []float32) {
		for i, v := range a {
			dst[i] = float32(math.Pow(float64(v), float64(b[i])))
		}
	},
}

// right32 has the second operand uniform, left32 the first.
var right32 = map[compute.OpType]func(dst, a []float32, s float32){
	compute.OpTypeAdd: vec.AddScalar32, compute.OpTypeSub: func(dst, a []float32, s float32) {
		vec.AddScalar32(dst, a,
			-s)
	},
	compute.OpTypeMul: func(dst, a []float32, s float32) { vec.Scale32(dst, s, a) }, compute.OpTypeDiv: vec.DivScalar32,
	compute.OpTypeMax: vec.MaxScalar32, compute.OpTypeMin: vec.MinScalar32,
	compute.OpTypeEqual: vec.EqualScalar32, compute.OpTypeNotEqual: vec.NotEqualScalar32,
	compute.OpTypeLessThan:    vec.LessScalar32,
	compute.OpTypeLessOrEqual: vec.LessEqualScalar32, compute.OpTypeGreaterThan: vec.GreaterScalar32,
	compute.OpTypeGreaterOrEqual: vec.GreaterEqualScalar32,
}

var left32 = map[compute.OpType]func(dst, a []float32, s float32){
	compute.OpTypeAdd: vec.AddScalar32, compute.OpTypeSub: vec.SubFromScalar32,
	compute.OpTypeMul: right32[compute.OpTypeMul], compute.OpTypeDiv: vec.ScalarDiv32,
	compute.OpTypeMax: vec.MaxScalar32, compute.OpTypeMin: vec.MinScalar32,
	compute.OpTypeEqual: vec.EqualScalar32, compute.OpTypeNotEqual: vec.NotEqualScalar32,
	compute.OpTypeLessThan:    vec.GreaterScalar32,
	compute.OpTypeLessOrEqual: vec.GreaterEqualScalar32, compute.OpTypeGreaterThan: vec.LessScalar32,
	compute.OpTypeGreaterOrEqual: vec.LessEqualScalar32,
}

var masks = map[compute.OpType]func(dst, a, b []float32){
	compute.OpTypeLogicalAnd: vec.AndMask32, compute.OpTypeLogicalOr: vec.OrMask32,
	compute.OpTypeLogicalXor: vec.XorMask32,
	compute.OpTypeNotEqual:   vec.XorMask32,
	compute.OpTypeEqual: func(dst, a, b []float32) {
		vec.XorMask32(dst, a, b)
		vec.NotMask32(dst, dst)
	},
}

type number interface {
	~int32 | ~int64 | ~float64 | ~uint8 | ~uint32 | ~uint64 | ~float32
}

const allOnes = 0xffffffff

func mask(yes bool) float32 {
	if yes {
		return math.Float32frombits(allOnes)
	}
	return 0
}

func anyUnary[A, B any](f func(A) B) func(*machine, *instr, int) {
	return func(m *machine, in *instr, n int) {
		dst, a := lanes[B](m, in.dst, n), lanes[A](m, in.args[0], n)
		for i, v := range a {
			dst[i] = f(v)
		}
	}
}

func anyBinary[A, B any](f func(a, b A) B) func(*machine, *instr, int) {
	return func(m *machine, in *instr, n int) {
		dst, a, b := lanes[B](m, in.dst, n), lanes[A](m, in.args[0], n), lanes[A](m, in.args[1], n)
		for i, v := range a {
			dst[i] = f(v, b[i])
		}
	}
}

// numbers is arithmetic and comparison of a type that is not float32.
func numbers[T number](op compute.OpType) func(*machine, *instr, int) {
	switch op {
	case compute.OpTypeAdd:
		return anyBinary(func(a, b T) T { return a + b })
	case compute.OpTypeSub:
		return anyBinary(func(a, b T) T { return a - b })
	case compute.OpTypeMul:
		return anyBinary(func(a, b T) T { return a * b })
	case compute.OpTypeEqual:
		return anyBinary(func(a, b T) float32 { return mask(a == b) })
	case compute.OpTypeNotEqual:
		return anyBinary(func(a, b T) float32 { return mask(a != b) })
	case compute.OpTypeLessThan:
		return anyBinary(func(a, b T) float32 { return mask(a < b) })
	case compute.OpTypeLessOrEqual:
		return anyBinary(func(a, b T) float32 { return mask(a <= b) })
	case compute.OpTypeGreaterThan:
		return anyBinary(func(a, b T) float32 { return mask(a > b) })
	case compute.OpTypeGreaterOrEqual:
		return anyBinary(func(a, b T) float32 { return mask(a >= b) })
	case compute.OpTypeNeg:
		return anyUnary(func(a T) T { return -a })
	case compute.OpTypeWhere:
		return func(m *machine, in *instr, n int) {
			dst, c, a, b := lanes[T](m, in.dst, n), lanes[uint32](m, in.args[0], n), lanes[T](m, in.args[1], n),
				lanes[T](m, in.args[2], n)
			for i := range dst {
				if c[i] != 0 {
					dst[i] = a[i]
				} else {
					dst[i] = b[i]
				}
			}
		}
	}
	return nil
}

func doubles(op compute.OpType) func(*machine, *instr, int) {
	switch op {
	case compute.OpTypeDiv:
		return anyBinary(func(a, b float64) float64 { return a / b })
	case compute.OpTypeMax:
		return anyBinary(func(a, b float64) float64 { return max(a, b) })
	case compute.OpTypeMin:
		return anyBinary(func(a, b float64) float64 { return min(a, b) })
	case compute.OpTypePow:
		return anyBinary(math.Pow)
	case compute.OpTypeAbs:
		return anyUnary(math.Abs)
	case compute.OpTypeSqrt:
		return anyUnary(math.Sqrt)
	case compute.OpTypeExp:
		return anyUnary(math.Exp)
	case compute.OpTypeLog:
		return anyUnary(math.Log)
	}
	return numbers[float64](op)
}

// otherTypes returns the instruction for an operation on this type, or nil.
func otherTypes(op compute.OpType, dtype dtypes.DType) func(*machine, *instr, int) {
	switch dtype {
	case dtypes.Int32:
		return numbers[int32](op)
	case dtypes.Int64:
		return numbers[int64](op)
	case dtypes.Uint8:
		if op == compute.OpTypeNeg {
			return nil
		}
		return numbers[uint8](op)
	case dtypes.Float64:
		return doubles(op)
	}
	return nil
}

func convertFrom[A number](to dtypes.DType) func(*machine, *instr, int) {
	switch to {
	case dtypes.Float32:
		return anyUnary(func(a A) float32 { return float32(a) })
	case dtypes.Float64:
		return anyUnary(func(a A) float64 { return float64(a) })
	case dtypes.Int32:
		return anyUnary(func(a A) int32 { return int32(a) })
	case dtypes.Int64:
		return anyUnary(func(a A) int64 { return int64(a) })
	}
	return nil
}

// conversion returns the instruction, or nil.
func conversion(from, to dtypes.DType) func(*machine, *instr, int) {
	one := func(m *machine, in *instr, n int) []float32 { return lanes[float32](m, in.dst, n) }
	switch {
	case from == dtypes.Uint8 && to == dtypes.Float32:
		return func(m *machine, in *instr, n int) { vec.FromBytes32(one(m, in, n), lanes[uint8](m, in.args[0], n)) }
	case from == dtypes.Int32 && to == dtypes.Float32:
		return func(m *machine, in *instr, n int) { vec.FromInt32s(one(m, in, n), lanes[int32](m, in.args[0], n)) }
	case from == dtypes.Bool && to == dtypes.Float32:
		return func(m *machine, in *instr, n int) {
			vec.SelectScalars32(one(m, in, n), lanes[float32](m, in.args[0], n), 1, 0)
		}
	case from == dtypes.Bool && to == dtypes.Int32:
		return anyUnary(func(a uint32) int32 { return int32(a & 1) })
	case from == dtypes.Float32:
		return convertFrom[float32](to)
	case from == dtypes.Float64:
		return convertFrom[float64](to)
	case from == dtypes.Int32:
		return convertFrom[int32](to)
	case from == dtypes.Int64:
		return convertFrom[int64](to)
	case from == dtypes.Uint8:
		return convertFrom[uint8](to)
	case from == dtypes.Uint32: // random bits
		return convertFrom[uint32](to)
	case from == dtypes.Uint64:
		return convertFrom[uint64](to)
	}
	return nil
}

// elementWise says whether an operation can be part of a fused program.
func elementWise(n *node) bool {
	if n.shape.Size() == 0 {
		return false
	}
	switch n.op {
	case compute.OpTypeConvertDType:
		return conversion(n.inputs[0].shape.DType, n.shape.DType) != nil
	case compute.OpTypeBroadcastInDim:
		return registerType(n.shape.DType)
	case compute.OpTypeWhere:
		return n.shape.DType == dtypes.Float32 || otherTypes(n.op, n.shape.DType) != nil
	case compute.OpTypeLogicalNot:
		return n.inputs[0].shape.DType == dtypes.Bool
	}
	switch t := typeOf(n); t {
	case dtypes.Float32:
		return unary32[n.op] != nil || binary32[n.op] != nil
	case dtypes.Bool:
		return masks[n.op] != nil
	default:
		return otherTypes(n.op, t) != nil
	}
}

// typeOf is the type an operation computes in.
func typeOf(n *node) dtypes.DType {
	if len(n.inputs) == 0 {
		return dtypes.InvalidDType
	}
	return n.inputs[len(n.inputs)-1].shape.DType
}

func registerType(t dtypes.DType) bool {
	switch t {
	case dtypes.Float32, dtypes.Float64, dtypes.Int32, dtypes.Int64, dtypes.Uint8, dtypes.Uint32, dtypes.Uint64,
		dtypes.Bool:
		return true
	}
	return false
}

// weight is what an instruction costs, in additions.
func weight(n *node) int {
	switch n.op {
	case compute.OpTypeDiv, compute.OpTypeSqrt, compute.OpTypeRsqrt:
		return 3
	case compute.OpTypeExp, compute.OpTypeLog, compute.OpTypeTanh, compute.OpTypeLogistic, compute.OpTypePow,
		compute.OpTypeLog1p, compute.OpTypeExpm1,
		compute.OpTypeErf, compute.OpTypeSin, compute.OpTypeCos:
		return 10
	}
	return 1
}
