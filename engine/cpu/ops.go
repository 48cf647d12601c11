package cpu

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// The operations of compute.Function. Each is recorded with what a native step needs of it (attr), and with a call that makes it on
// GoMLX's engine.

func (f *Function) unary(op compute.OpType, x compute.Value, make func(compute.Function, compute.Value) (compute.Value, error)) (compute.Value, error) {
	return f.add(op, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) { return make(to, in[0]) }, x)
}

func (f *Function) binary(op compute.OpType, x, y compute.Value, make func(compute.Function, compute.Value, compute.Value) (compute.Value, error)) (compute.Value, error) {
	return f.add(op, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) { return make(to, in[0], in[1]) }, x, y)
}

// reduce has the axes as its attribute; none are all.
func (f *Function) reduce(op compute.OpType, x compute.Value, axes []int, make func(compute.Function, compute.Value, ...int) (compute.Value, error)) (compute.Value, error) {
	axes = slices.Clone(axes)
	return f.add(op, axes, func(to compute.Function, in []compute.Value) (compute.Value, error) { return make(to, in[0], axes...) }, x)
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

// ReduceBitwiseAnd see compute.Function.
func (f *Function) ReduceBitwiseAnd(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceBitwiseAnd, x, axes, compute.Function.ReduceBitwiseAnd)
}

// ReduceBitwiseOr see compute.Function.
func (f *Function) ReduceBitwiseOr(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceBitwiseOr, x, axes, compute.Function.ReduceBitwiseOr)
}

// ReduceBitwiseXor see compute.Function.
func (f *Function) ReduceBitwiseXor(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceBitwiseXor, x, axes, compute.Function.ReduceBitwiseXor)
}

// ReduceLogicalAnd see compute.Function.
func (f *Function) ReduceLogicalAnd(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceLogicalAnd, x, axes, compute.Function.ReduceLogicalAnd)
}

// ReduceLogicalOr see compute.Function.
func (f *Function) ReduceLogicalOr(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceLogicalOr, x, axes, compute.Function.ReduceLogicalOr)
}

// ReduceLogicalXor see compute.Function.
func (f *Function) ReduceLogicalXor(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceLogicalXor, x, axes, compute.Function.ReduceLogicalXor)
}

// ReduceMax see compute.Function.
func (f *Function) ReduceMax(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceMax, x, axes, compute.Function.ReduceMax)
}

// ReduceMin see compute.Function.
func (f *Function) ReduceMin(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceMin, x, axes, compute.Function.ReduceMin)
}

// ReduceProduct see compute.Function.
func (f *Function) ReduceProduct(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceProduct, x, axes, compute.Function.ReduceProduct)
}

// ReduceSum see compute.Function.
func (f *Function) ReduceSum(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceSum, x, axes, compute.Function.ReduceSum)
}

// ArgMinMax see compute.Function.
func (f *Function) ArgMinMax(x compute.Value, axis int, dtype dtypes.DType, isMin bool) (compute.Value, error) {
	return f.add(compute.OpTypeArgMinMax, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.ArgMinMax(in[0], axis, dtype, isMin)
	}, x)
}

// BatchNormForInference see compute.Function.
func (f *Function) BatchNormForInference(x, scale, offset, mean, variance compute.Value, epsilon float32, axis int) (compute.Value, error) {
	return f.add(compute.OpTypeBatchNormForInference, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.BatchNormForInference(in[0], in[1], in[2], in[3], in[4], epsilon, axis)
	}, x, scale, offset, mean, variance)
}

// Bitcast see compute.Function.
func (f *Function) Bitcast(x compute.Value, dtype dtypes.DType) (compute.Value, error) {
	return f.add(compute.OpTypeBitcast, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.Bitcast(in[0], dtype)
	}, x)
}

// BroadcastInDim see compute.Function.
func (f *Function) BroadcastInDim(x compute.Value, shape shapes.Shape, axes []int) (compute.Value, error) {
	axes = slices.Clone(axes)
	return f.add(compute.OpTypeBroadcastInDim, axes, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.BroadcastInDim(in[0], shape, axes)
	}, x)
}

// Clamp see compute.Function.
func (f *Function) Clamp(low, x, high compute.Value) (compute.Value, error) {
	return f.add(compute.OpTypeClamp, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.Clamp(in[0], in[1], in[2])
	}, low, x, high)
}

// Concatenate see compute.Function.
func (f *Function) Concatenate(axis int, operands ...compute.Value) (compute.Value, error) {
	return f.add(compute.OpTypeConcatenate, axis, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.Concatenate(axis, in...)
	}, operands...)
}

// ConvGeneral see compute.Function.
func (f *Function) ConvGeneral(x, kernel compute.Value, axes compute.ConvolveAxesConfig, strides []int, paddings [][2]int, inputDilations, kernelDilations []int, channelGroups, batchGroups int) (compute.Value, error) {
	return f.add(compute.OpTypeConvGeneral, convAttr{axes.Clone(), slices.Clone(strides), slices.Clone(paddings), slices.Clone(inputDilations), slices.Clone(kernelDilations), channelGroups, batchGroups}, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.ConvGeneral(in[0], in[1], axes, strides, paddings, inputDilations, kernelDilations, channelGroups, batchGroups)
	}, x, kernel)
}

// ConvertDType see compute.Function.
func (f *Function) ConvertDType(x compute.Value, dtype dtypes.DType) (compute.Value, error) {
	return f.add(compute.OpTypeConvertDType, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.ConvertDType(in[0], dtype)
	}, x)
}

// CumSum see compute.Function.
func (f *Function) CumSum(x compute.Value, axis int, options compute.CumSumOptions) (compute.Value, error) {
	return f.add(compute.OpTypeCumSum, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.CumSum(in[0], axis, options)
	}, x)
}

// DotGeneral see compute.Function.
func (f *Function) DotGeneral(x compute.Value, xContract, xBatch []int, y compute.Value, yContract, yBatch []int, config compute.DotGeneralConfig) (compute.Value, error) {
	return f.add(compute.OpTypeDotGeneral, dotAttr{slices.Clone(xContract), slices.Clone(xBatch), slices.Clone(yContract), slices.Clone(yBatch), config}, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.DotGeneral(in[0], xContract, xBatch, in[1], yContract, yBatch, config)
	}, x, y)
}

// DynamicSlice see compute.Function.
func (f *Function) DynamicSlice(x compute.Value, starts []compute.Value, sizes []int) (compute.Value, error) {
	return f.add(compute.OpTypeDynamicSlice, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.DynamicSlice(in[0], in[1:], sizes)
	}, append([]compute.Value{x}, starts...)...)
}

// DynamicUpdateSlice see compute.Function.
func (f *Function) DynamicUpdateSlice(x, update compute.Value, starts []compute.Value) (compute.Value, error) {
	return f.add(compute.OpTypeDynamicUpdateSlice, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.DynamicUpdateSlice(in[0], in[1], in[2:])
	}, append([]compute.Value{x, update}, starts...)...)
}

// FFT see compute.Function.
func (f *Function) FFT(x compute.Value, kind compute.FFTType, length []int) (compute.Value, error) {
	return f.add(compute.OpTypeFFT, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.FFT(in[0], kind, length)
	}, x)
}

// FusedDense see compute.Function.
func (f *Function) FusedDense(x, weight, bias compute.Value, config compute.DenseConfig) (compute.Value, error) {
	return f.add(compute.OpTypeFusedDense, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.FusedDense(in[0], in[1], in[2], config)
	}, x, weight, bias)
}

// FusedGelu see compute.Function.
func (f *Function) FusedGelu(x compute.Value, exact bool) (compute.Value, error) {
	return f.add(compute.OpTypeFusedGelu, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.FusedGelu(in[0], exact)
	}, x)
}

// FusedSoftmax see compute.Function.
func (f *Function) FusedSoftmax(x compute.Value, axis int) (compute.Value, error) {
	return f.add(compute.OpTypeFusedSoftmax, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.FusedSoftmax(in[0], axis)
	}, x)
}

// Gather see compute.Function.
func (f *Function) Gather(x, indices compute.Value, indexVectorAxis int, offsetAxes, collapsedAxes, startIndexMap, sizes []int, sorted bool) (compute.Value, error) {
	return f.add(compute.OpTypeGather, gatherAttr{indexVectorAxis, slices.Clone(offsetAxes), slices.Clone(collapsedAxes), slices.Clone(startIndexMap), slices.Clone(sizes)}, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.Gather(in[0], in[1], indexVectorAxis, offsetAxes, collapsedAxes, startIndexMap, sizes, sorted)
	}, x, indices)
}

// Iota see compute.Function.
func (f *Function) Iota(shape shapes.Shape, axis int) (compute.Value, error) {
	return f.add(compute.OpTypeIota, axis, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.Iota(shape, axis)
	})
}

// Pad see compute.Function.
func (f *Function) Pad(x, fill compute.Value, axes ...compute.PadAxis) (compute.Value, error) {
	axes = slices.Clone(axes)
	return f.add(compute.OpTypePad, axes, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.Pad(in[0], in[1], axes...)
	}, x, fill)
}

// ReduceWindow see compute.Function.
func (f *Function) ReduceWindow(x compute.Value, kind compute.ReduceOpType, window, strides, inputDilations, windowDilations []int, paddings [][2]int) (compute.Value, error) {
	return f.add(compute.OpTypeReduceWindow, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.ReduceWindow(in[0], kind, window, strides, inputDilations, windowDilations, paddings)
	}, x)
}

// Reshape see compute.Function.
func (f *Function) Reshape(x compute.Value, dims ...int) (compute.Value, error) {
	dims = slices.Clone(dims)
	return f.add(compute.OpTypeReshape, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.Reshape(in[0], dims...)
	}, x)
}

// Reverse see compute.Function.
func (f *Function) Reverse(x compute.Value, axes ...int) (compute.Value, error) {
	axes = slices.Clone(axes)
	return f.add(compute.OpTypeReverse, axes, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.Reverse(in[0], axes...)
	}, x)
}

// ScatterMax see compute.Function.
func (f *Function) ScatterMax(x, indices, updates compute.Value, indexVectorAxis int, updateWindowAxes, insertedWindowAxes, scatterAxes []int, sorted, unique bool) (compute.Value, error) {
	return f.add(compute.OpTypeScatterMax, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.ScatterMax(in[0], in[1], in[2], indexVectorAxis, updateWindowAxes, insertedWindowAxes, scatterAxes, sorted, unique)
	}, x, indices, updates)
}

// ScatterMin see compute.Function.
func (f *Function) ScatterMin(x, indices, updates compute.Value, indexVectorAxis int, updateWindowAxes, insertedWindowAxes, scatterAxes []int, sorted, unique bool) (compute.Value, error) {
	return f.add(compute.OpTypeScatterMin, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.ScatterMin(in[0], in[1], in[2], indexVectorAxis, updateWindowAxes, insertedWindowAxes, scatterAxes, sorted, unique)
	}, x, indices, updates)
}

// ScatterSum see compute.Function.
func (f *Function) ScatterSum(x, indices, updates compute.Value, indexVectorAxis int, updateWindowAxes, insertedWindowAxes, scatterAxes []int, sorted, unique bool) (compute.Value, error) {
	return f.add(compute.OpTypeScatterSum, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.ScatterSum(in[0], in[1], in[2], indexVectorAxis, updateWindowAxes, insertedWindowAxes, scatterAxes, sorted, unique)
	}, x, indices, updates)
}

// SchedulingBarrier see compute.Function.
func (f *Function) SchedulingBarrier(x compute.Value, after ...compute.Value) (compute.Value, error) {
	return f.add(compute.OpTypeSchedulingBarrier, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.SchedulingBarrier(in[0], in[1:]...)
	}, append([]compute.Value{x}, after...)...)
}

// SelectAndScatterMax see compute.Function.
func (f *Function) SelectAndScatterMax(x, source compute.Value, window, strides []int, paddings [][2]int) (compute.Value, error) {
	return f.add(compute.OpTypeSelectAndScatterMax, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.SelectAndScatterMax(in[0], in[1], window, strides, paddings)
	}, x, source)
}

// SelectAndScatterMin see compute.Function.
func (f *Function) SelectAndScatterMin(x, source compute.Value, window, strides []int, paddings [][2]int) (compute.Value, error) {
	return f.add(compute.OpTypeSelectAndScatterMin, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.SelectAndScatterMin(in[0], in[1], window, strides, paddings)
	}, x, source)
}

// Slice see compute.Function.
func (f *Function) Slice(x compute.Value, starts, limits, strides []int) (compute.Value, error) {
	return f.add(compute.OpTypeSlice, sliceAttr{slices.Clone(starts), slices.Clone(limits), slices.Clone(strides)}, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.Slice(in[0], starts, limits, strides)
	}, x)
}

// Transpose see compute.Function.
func (f *Function) Transpose(x compute.Value, permutation ...int) (compute.Value, error) {
	permutation = slices.Clone(permutation)
	return f.add(compute.OpTypeTranspose, permutation, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.Transpose(in[0], permutation...)
	}, x)
}

// Where see compute.Function.
func (f *Function) Where(condition, yes, no compute.Value) (compute.Value, error) {
	return f.add(compute.OpTypeWhere, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.Where(in[0], in[1], in[2])
	}, condition, yes, no)
}

// FusedLayerNorm see compute.Function; gamma and beta may be nil.
func (f *Function) FusedLayerNorm(x compute.Value, axes []int, epsilon float64, gamma, beta compute.Value) (compute.Value, error) {
	inputs := []compute.Value{x}
	for _, v := range []compute.Value{gamma, beta} {
		if v != nil {
			inputs = append(inputs, v)
		}
	}
	return f.add(compute.OpTypeFusedLayerNorm, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		rest := in[1:]
		next := func(given compute.Value) (v compute.Value) {
			if given != nil {
				v, rest = rest[0], rest[1:]
			}
			return v
		}
		g := next(gamma)
		return to.FusedLayerNorm(in[0], axes, epsilon, g, next(beta))
	}, inputs...)
}

// RNGBitGenerator see compute.Function.
func (f *Function) RNGBitGenerator(state compute.Value, shape shapes.Shape) (newState, values compute.Value, err error) {
	out, err := f.addMany(compute.OpTypeRNGBitGenerator, func(to compute.Function, in []compute.Value) ([]compute.Value, error) {
		s, v, err := to.RNGBitGenerator(in[0], shape)
		return []compute.Value{s, v}, err
	}, state)
	if err != nil {
		return nil, nil, err
	}
	return out[0], out[1], nil
}

// OptimizationBarrier see compute.Function.
func (f *Function) OptimizationBarrier(operands ...compute.Value) ([]compute.Value, error) {
	return f.addMany(compute.OpTypeOptimizationBarrier, func(to compute.Function, in []compute.Value) ([]compute.Value, error) {
		return to.OptimizationBarrier(in...)
	}, operands...)
}

// Call see compute.Function.
func (f *Function) Call(target compute.Function, inputs ...compute.Value) ([]compute.Value, error) {
	return f.elsewhere(compute.OpTypeCall, func(to compute.Function, in []compute.Value) ([]compute.Value, error) {
		return to.Call(inner(target), in...)
	}, inputs...)
}

// Sort see compute.Function.
func (f *Function) Sort(comparator compute.Function, axis int, stable bool, inputs ...compute.Value) ([]compute.Value, error) {
	return f.elsewhere(compute.OpTypeSort, func(to compute.Function, in []compute.Value) ([]compute.Value, error) {
		return to.Sort(inner(comparator), axis, stable, in...)
	}, inputs...)
}

// While see compute.Function.
func (f *Function) While(cond, body compute.Function, state ...compute.Value) ([]compute.Value, error) {
	return f.elsewhere(compute.OpTypeWhile, func(to compute.Function, in []compute.Value) ([]compute.Value, error) {
		return to.While(inner(cond), inner(body), in...)
	}, state...)
}

// If see compute.Function.
func (f *Function) If(pred compute.Value, yes, no compute.Function) ([]compute.Value, error) {
	return f.elsewhere(compute.OpTypeIf, func(to compute.Function, in []compute.Value) ([]compute.Value, error) {
		return to.If(in[0], inner(yes), inner(no))
	}, pred)
}

// Dynamic shapes run on GoMLX's engine, so does the graph around them.

func (f *Function) dynamic(op compute.OpType, specs []compute.DynamicDimensionSpec, make func(to compute.Function, in []compute.Value, specs []compute.DynamicDimensionSpec) (compute.Value, error), inputs ...compute.Value) (compute.Value, error) {
	specs, err := innerSpecs(specs)
	if err != nil {
		return nil, err
	}
	out, err := f.elsewhere(op, func(to compute.Function, in []compute.Value) ([]compute.Value, error) {
		v, err := make(to, in, specs)
		return []compute.Value{v}, err
	}, inputs...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// innerSpecs unwraps the values of dimensions.
func innerSpecs(specs []compute.DynamicDimensionSpec) ([]compute.DynamicDimensionSpec, error) {
	out := slices.Clone(specs)
	for i, s := range specs {
		v, err := innerValue(s.Value)
		if err != nil {
			return nil, err
		}
		out[i].Value = v
	}
	return out, nil
}

// innerValue unwraps a value that may be nil.
func innerValue(v compute.Value) (compute.Value, error) {
	if v == nil {
		return nil, nil
	}
	n, err := nodesOf(compute.OpTypeInvalid, []compute.Value{v})
	if err != nil {
		return nil, err
	}
	return n[0].shadow, nil
}

// DynamicReshape see compute.Function.
func (f *Function) DynamicReshape(x compute.Value, dims ...compute.DynamicDimensionSpec) (compute.Value, error) {
	return f.dynamic(compute.OpTypeDynamicReshape, dims, func(to compute.Function, in []compute.Value, dims []compute.DynamicDimensionSpec) (compute.Value, error) {
		return to.DynamicReshape(in[0], dims...)
	}, x)
}

// DynamicBroadcastInDim see compute.Function.
func (f *Function) DynamicBroadcastInDim(x compute.Value, axes []int, dims ...compute.DynamicDimensionSpec) (compute.Value, error) {
	return f.dynamic(compute.OpTypeDynamicBroadcastInDim, dims, func(to compute.Function, in []compute.Value, dims []compute.DynamicDimensionSpec) (compute.Value, error) {
		return to.DynamicBroadcastInDim(in[0], axes, dims...)
	}, x)
}

// DynamicIota see compute.Function.
func (f *Function) DynamicIota(dtype dtypes.DType, axis int, dims ...compute.DynamicDimensionSpec) (compute.Value, error) {
	return f.dynamic(compute.OpTypeDynamicIota, dims, func(to compute.Function, _ []compute.Value, dims []compute.DynamicDimensionSpec) (compute.Value, error) {
		return to.DynamicIota(dtype, axis, dims...)
	})
}

// DynamicDimensionSize see compute.Function.
func (f *Function) DynamicDimensionSize(x compute.Value, axis int) (compute.Value, error) {
	return f.dynamic(compute.OpTypeDynamicDimensionSize, nil, func(to compute.Function, in []compute.Value, _ []compute.DynamicDimensionSpec) (compute.Value, error) {
		return to.DynamicDimensionSize(in[0], axis)
	}, x)
}

// DynamicShape see compute.Function.
func (f *Function) DynamicShape(x compute.Value) (compute.Value, error) {
	return f.dynamic(compute.OpTypeDynamicShape, nil, func(to compute.Function, in []compute.Value, _ []compute.DynamicDimensionSpec) (compute.Value, error) {
		return to.DynamicShape(in[0])
	}, x)
}

// DynamicPad see compute.Function.
func (f *Function) DynamicPad(x, fill compute.Value, axes ...compute.DynamicPadAxis) (compute.Value, error) {
	axes = slices.Clone(axes)
	for i := range axes {
		for _, v := range []*compute.Value{&axes[i].StartValue, &axes[i].EndValue, &axes[i].InteriorValue} {
			inner, err := innerValue(*v)
			if err != nil {
				return nil, err
			}
			*v = inner
		}
	}
	return f.dynamic(compute.OpTypeDynamicPad, nil, func(to compute.Function, in []compute.Value, _ []compute.DynamicDimensionSpec) (compute.Value, error) {
		return to.DynamicPad(in[0], in[1], axes...)
	}, x, fill)
}

// FusedQuantizedDense, QuantizedEmbeddingLookup and the attention operations of GoMLX's engine are not offered: GoMLX writes them out
// in other operations.
