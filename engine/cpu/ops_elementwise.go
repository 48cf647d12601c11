package cpu

import "github.com/gomlx/compute"

// The operations of compute.Function that work element by element, of one tensor or of two.

func (f *Function) unary(op compute.OpType, x compute.Value, make func(compute.Function, compute.Value) (compute.Value,
	error)) (compute.Value, error) {
	return f.add(op, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) { return make(to, in[0]) },
		x)
}

func (f *Function) binary(op compute.OpType, x, y compute.Value, make func(compute.Function, compute.Value,
	compute.Value) (compute.Value, error)) (compute.Value, error) {
	return f.add(op, nil, func(to compute.Function, in []compute.Value) (compute.Value,
		error) {
		return make(to, in[0], in[1])
	}, x, y)
}

// Abs see compute.Function.
func (f *Function) Abs(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeAbs, x, compute.Function.Abs)
}

// BitCount see compute.Function.
func (f *Function) BitCount(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeBitCount, x, compute.Function.BitCount)
}

// BitwiseNot see compute.Function.
func (f *Function) BitwiseNot(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeBitwiseNot, x, compute.Function.BitwiseNot)
}

// Ceil see compute.Function.
func (f *Function) Ceil(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeCeil, x, compute.Function.Ceil)
}

// Clz see compute.Function.
func (f *Function) Clz(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeClz, x, compute.Function.Clz)
}

// Conj see compute.Function.
func (f *Function) Conj(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeConj, x, compute.Function.Conj)
}

// Cos see compute.Function.
func (f *Function) Cos(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeCos, x, compute.Function.Cos)
}

// Erf see compute.Function.
func (f *Function) Erf(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeErf, x, compute.Function.Erf)
}

// Exp see compute.Function.
func (f *Function) Exp(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeExp, x, compute.Function.Exp)
}

// Expm1 see compute.Function.
func (f *Function) Expm1(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeExpm1, x, compute.Function.Expm1)
}

// Floor see compute.Function.
func (f *Function) Floor(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeFloor, x, compute.Function.Floor)
}

// Identity see compute.Function.
func (f *Function) Identity(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeIdentity, x, compute.Function.Identity)
}

// Imag see compute.Function.
func (f *Function) Imag(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeImag, x, compute.Function.Imag)
}

// IsFinite see compute.Function.
func (f *Function) IsFinite(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeIsFinite, x, compute.Function.IsFinite)
}

// IsNaN see compute.Function.
func (f *Function) IsNaN(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeIsNaN, x, compute.Function.IsNaN)
}

// Log see compute.Function.
func (f *Function) Log(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeLog, x, compute.Function.Log)
}

// Log1p see compute.Function.
func (f *Function) Log1p(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeLog1p, x, compute.Function.Log1p)
}

// LogicalNot see compute.Function.
func (f *Function) LogicalNot(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeLogicalNot, x, compute.Function.LogicalNot)
}

// Logistic see compute.Function.
func (f *Function) Logistic(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeLogistic, x, compute.Function.Logistic)
}

// Neg see compute.Function.
func (f *Function) Neg(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeNeg, x, compute.Function.Neg)
}

// Real see compute.Function.
func (f *Function) Real(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeReal, x, compute.Function.Real)
}

// Round see compute.Function.
func (f *Function) Round(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeRound, x, compute.Function.Round)
}

// Rsqrt see compute.Function.
func (f *Function) Rsqrt(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeRsqrt, x, compute.Function.Rsqrt)
}

// Sign see compute.Function.
func (f *Function) Sign(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeSign, x, compute.Function.Sign)
}

// Sin see compute.Function.
func (f *Function) Sin(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeSin, x, compute.Function.Sin)
}

// Sqrt see compute.Function.
func (f *Function) Sqrt(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeSqrt, x, compute.Function.Sqrt)
}

// Tanh see compute.Function.
func (f *Function) Tanh(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeTanh, x, compute.Function.Tanh)
}

// Add see compute.Function.
func (f *Function) Add(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeAdd, x, y, compute.Function.Add)
}

// Atan2 see compute.Function.
func (f *Function) Atan2(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeAtan2, x, y, compute.Function.Atan2)
}

// BitwiseAnd see compute.Function.
func (f *Function) BitwiseAnd(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeBitwiseAnd, x, y, compute.Function.BitwiseAnd)
}

// BitwiseOr see compute.Function.
func (f *Function) BitwiseOr(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeBitwiseOr, x, y, compute.Function.BitwiseOr)
}

// BitwiseXor see compute.Function.
func (f *Function) BitwiseXor(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeBitwiseXor, x, y, compute.Function.BitwiseXor)
}

// Complex see compute.Function.
func (f *Function) Complex(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeComplex, x, y, compute.Function.Complex)
}

// Div see compute.Function.
func (f *Function) Div(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeDiv, x, y, compute.Function.Div)
}

// Equal see compute.Function.
func (f *Function) Equal(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeEqual, x, y, compute.Function.Equal)
}

// EqualTotalOrder see compute.Function.
func (f *Function) EqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeEqualTotalOrder, x, y, compute.Function.EqualTotalOrder)
}

// GreaterOrEqual see compute.Function.
func (f *Function) GreaterOrEqual(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterOrEqual, x, y, compute.Function.GreaterOrEqual)
}

// GreaterOrEqualTotalOrder see compute.Function.
func (f *Function) GreaterOrEqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterOrEqualTotalOrder, x, y, compute.Function.GreaterOrEqualTotalOrder)
}

// GreaterThan see compute.Function.
func (f *Function) GreaterThan(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterThan, x, y, compute.Function.GreaterThan)
}

// GreaterThanTotalOrder see compute.Function.
func (f *Function) GreaterThanTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterThanTotalOrder, x, y, compute.Function.GreaterThanTotalOrder)
}

// LessOrEqual see compute.Function.
func (f *Function) LessOrEqual(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessOrEqual, x, y, compute.Function.LessOrEqual)
}

// LessOrEqualTotalOrder see compute.Function.
func (f *Function) LessOrEqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessOrEqualTotalOrder, x, y, compute.Function.LessOrEqualTotalOrder)
}

// LessThan see compute.Function.
func (f *Function) LessThan(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessThan, x, y, compute.Function.LessThan)
}

// LessThanTotalOrder see compute.Function.
func (f *Function) LessThanTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessThanTotalOrder, x, y, compute.Function.LessThanTotalOrder)
}

// LogicalAnd see compute.Function.
func (f *Function) LogicalAnd(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLogicalAnd, x, y, compute.Function.LogicalAnd)
}

// LogicalOr see compute.Function.
func (f *Function) LogicalOr(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLogicalOr, x, y, compute.Function.LogicalOr)
}

// LogicalXor see compute.Function.
func (f *Function) LogicalXor(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLogicalXor, x, y, compute.Function.LogicalXor)
}

// Max see compute.Function.
func (f *Function) Max(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeMax, x, y, compute.Function.Max)
}

// Min see compute.Function.
func (f *Function) Min(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeMin, x, y, compute.Function.Min)
}

// Mul see compute.Function.
func (f *Function) Mul(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeMul, x, y, compute.Function.Mul)
}

// NotEqual see compute.Function.
func (f *Function) NotEqual(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeNotEqual, x, y, compute.Function.NotEqual)
}

// NotEqualTotalOrder see compute.Function.
func (f *Function) NotEqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeNotEqualTotalOrder, x, y, compute.Function.NotEqualTotalOrder)
}

// Pow see compute.Function.
func (f *Function) Pow(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypePow, x, y, compute.Function.Pow)
}

// Rem see compute.Function.
func (f *Function) Rem(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeRem, x, y, compute.Function.Rem)
}

// ShiftLeft see compute.Function.
func (f *Function) ShiftLeft(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeShiftLeft, x, y, compute.Function.ShiftLeft)
}

// ShiftRightArithmetic see compute.Function.
func (f *Function) ShiftRightArithmetic(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeShiftRightArithmetic, x, y, compute.Function.ShiftRightArithmetic)
}

// ShiftRightLogical see compute.Function.
func (f *Function) ShiftRightLogical(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeShiftRightLogical, x, y, compute.Function.ShiftRightLogical)
}

// Sub see compute.Function.
func (f *Function) Sub(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeSub, x, y, compute.Function.Sub)
}
