package cpu

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// The operations of compute.Function; those that work element by element are in ops_elementwise.go. Each is recorded
// with what a native step needs of it (attr), and with a call that makes it on GoMLX's engine.

// reduce has the axes as its attribute; none are all.
func (f *Function) reduce(op compute.OpType, x compute.Value, axes []int, make func(compute.Function, compute.Value,
	...int) (compute.Value, error)) (compute.Value, error) {
	once := func(x compute.Value, axes []int) (compute.Value, error) {
		axes = slices.Clone(axes)
		return f.add(op, axes, func(to compute.Function, in []compute.Value) (compute.Value, error) {
			return make(to, in[0], axes...)
		}, x)
	}
	runs := runsOfAxes(op, x, axes)
	if runs == nil {
		return once(x, axes)
	}
	for _, part := range runs {
		v, err := once(x, part)
		if err != nil {
			return nil, err
		}
		x = v
	}
	return x, nil
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
func (f *Function) ConvGeneral(x, kernel compute.Value, axes compute.ConvolveAxesConfig, strides []int,
	paddings [][2]int, inputDilations, kernelDilations []int, channelGroups, batchGroups int) (compute.Value, error) {
	return f.add(compute.OpTypeConvGeneral, convAttr{axes.Clone(), slices.Clone(strides), slices.Clone(paddings),
		slices.Clone(inputDilations), slices.Clone(kernelDilations), channelGroups, batchGroups},
		func(to compute.Function, in []compute.Value) (compute.Value, error) {
			return to.ConvGeneral(in[0], in[1], axes, strides, paddings, inputDilations, kernelDilations, channelGroups,
				batchGroups)
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
func (f *Function) DotGeneral(x compute.Value, xContract, xBatch []int, y compute.Value, yContract, yBatch []int,
	config compute.DotGeneralConfig) (compute.Value, error) {
	return f.add(compute.OpTypeDotGeneral, dotAttr{slices.Clone(xContract), slices.Clone(xBatch), slices.Clone(yContract),
		slices.Clone(yBatch), config}, func(to compute.Function, in []compute.Value) (compute.Value, error) {
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
	return f.add(compute.OpTypeDynamicUpdateSlice, nil, func(to compute.Function, in []compute.Value) (compute.Value,
		error) {
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
	inputs := []compute.Value{x, weight}
	if bias != nil {
		inputs = append(inputs, bias)
	}
	v, err := f.add(compute.OpTypeFusedDense, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		if bias == nil {
			return to.FusedDense(in[0], in[1], nil, config)
		}
		return to.FusedDense(in[0], in[1], in[2], config)
	}, inputs...)
	if err != nil || !writesOut(x, weight, bias) || config.Activation == compute.ActivationHardSwish {
		return v, err
	}
	w := &written{f: f}
	v = w.dense(x, weight, bias, config)
	return v, w.err
}

// FusedGelu see compute.Function.
func (f *Function) FusedGelu(x compute.Value, exact bool) (compute.Value, error) {
	v, err := f.add(compute.OpTypeFusedGelu, nil, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.FusedGelu(in[0], exact)
	}, x)
	if err != nil || !writesOut(x) {
		return v, err
	}
	w := &written{f: f}
	v = w.gelu(x, exact)
	return v, w.err
}

// FusedSoftmax see compute.Function.
func (f *Function) FusedSoftmax(x compute.Value, axis int) (compute.Value, error) {
	v, err := f.add(compute.OpTypeFusedSoftmax, nil, func(to compute.Function, in []compute.Value) (compute.Value,
		error) {
		return to.FusedSoftmax(in[0], axis)
	}, x)
	if err != nil || !writesOut(x) {
		return v, err
	}
	w := &written{f: f}
	v = w.softmax(x, axis)
	return v, w.err
}

// Gather see compute.Function.
func (f *Function) Gather(x, indices compute.Value, indexVectorAxis int, offsetAxes, collapsedAxes, startIndexMap,
	sizes []int, sorted bool) (compute.Value, error) {
	return f.add(compute.OpTypeGather, gatherAttr{indexVectorAxis, slices.Clone(offsetAxes), slices.Clone(collapsedAxes),
		slices.Clone(startIndexMap), slices.Clone(sizes)}, func(to compute.Function, in []compute.Value) (compute.Value,
		error) {
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
func (f *Function) ReduceWindow(x compute.Value, kind compute.ReduceOpType, window, strides, inputDilations,
	windowDilations []int, paddings [][2]int) (compute.Value, error) {
	attr := windowAttr{kind, slices.Clone(window), slices.Clone(strides), slices.Clone(inputDilations),
		slices.Clone(windowDilations), slices.Clone(paddings)}
	return f.add(compute.OpTypeReduceWindow, attr, func(to compute.Function, in []compute.Value) (compute.Value, error) {
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
func (f *Function) ScatterMax(x, indices, updates compute.Value, indexVectorAxis int, updateWindowAxes,
	insertedWindowAxes, scatterAxes []int, sorted, unique bool) (compute.Value, error) {
	attr := scatterAttr{indexVectorAxis, slices.Clone(updateWindowAxes), slices.Clone(insertedWindowAxes),
		slices.Clone(scatterAxes)}
	return f.add(compute.OpTypeScatterMax, attr, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.ScatterMax(in[0], in[1], in[2], indexVectorAxis, updateWindowAxes, insertedWindowAxes, scatterAxes, sorted,
			unique)
	}, x, indices, updates)
}

// ScatterMin see compute.Function.
func (f *Function) ScatterMin(x, indices, updates compute.Value, indexVectorAxis int, updateWindowAxes,
	insertedWindowAxes, scatterAxes []int, sorted, unique bool) (compute.Value, error) {
	attr := scatterAttr{indexVectorAxis, slices.Clone(updateWindowAxes), slices.Clone(insertedWindowAxes),
		slices.Clone(scatterAxes)}
	return f.add(compute.OpTypeScatterMin, attr, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.ScatterMin(in[0], in[1], in[2], indexVectorAxis, updateWindowAxes, insertedWindowAxes, scatterAxes, sorted,
			unique)
	}, x, indices, updates)
}

// ScatterSum see compute.Function.
func (f *Function) ScatterSum(x, indices, updates compute.Value, indexVectorAxis int, updateWindowAxes,
	insertedWindowAxes, scatterAxes []int, sorted, unique bool) (compute.Value, error) {
	attr := scatterAttr{indexVectorAxis, slices.Clone(updateWindowAxes), slices.Clone(insertedWindowAxes),
		slices.Clone(scatterAxes)}
	return f.add(compute.OpTypeScatterSum, attr, func(to compute.Function, in []compute.Value) (compute.Value, error) {
		return to.ScatterSum(in[0], in[1], in[2], indexVectorAxis, updateWindowAxes, insertedWindowAxes, scatterAxes, sorted,
			unique)
	}, x, indices, updates)
}

// SchedulingBarrier see compute.Function.
func (f *Function) SchedulingBarrier(x compute.Value, after ...compute.Value) (compute.Value, error) {
	return f.add(compute.OpTypeSchedulingBarrier, nil, func(to compute.Function, in []compute.Value) (compute.Value,
		error) {
		return to.SchedulingBarrier(in[0], in[1:]...)
	}, append([]compute.Value{x}, after...)...)
}

// SelectAndScatterMax see compute.Function.
func (f *Function) SelectAndScatterMax(x, source compute.Value, window, strides []int,
	paddings [][2]int) (compute.Value, error) {
	attr := windowAttr{kind: compute.ReduceOpMax, window: slices.Clone(window), strides: slices.Clone(strides),
		paddings: slices.Clone(paddings)}
	return f.add(compute.OpTypeSelectAndScatterMax, attr, func(to compute.Function, in []compute.Value) (compute.Value,
		error) {
		return to.SelectAndScatterMax(in[0], in[1], window, strides, paddings)
	}, x, source)
}

// SelectAndScatterMin see compute.Function.
func (f *Function) SelectAndScatterMin(x, source compute.Value, window, strides []int,
	paddings [][2]int) (compute.Value, error) {
	attr := windowAttr{kind: compute.ReduceOpMin, window: slices.Clone(window), strides: slices.Clone(strides),
		paddings: slices.Clone(paddings)}
	return f.add(compute.OpTypeSelectAndScatterMin, attr, func(to compute.Function, in []compute.Value) (compute.Value,
		error) {
		return to.SelectAndScatterMin(in[0], in[1], window, strides, paddings)
	}, x, source)
}

// Slice see compute.Function.
func (f *Function) Slice(x compute.Value, starts, limits, strides []int) (compute.Value, error) {
	return f.add(compute.OpTypeSlice, sliceAttr{slices.Clone(starts), slices.Clone(limits), slices.Clone(strides)},
		func(to compute.Function, in []compute.Value) (compute.Value, error) {
			return to.Slice(in[0], starts, limits, strides)
		}, x)
}

// Transpose see compute.Function.
func (f *Function) Transpose(x compute.Value, permutation ...int) (compute.Value, error) {
	permutation = slices.Clone(permutation)
	return f.add(compute.OpTypeTranspose, permutation, func(to compute.Function, in []compute.Value) (compute.Value,
		error) {
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
func (f *Function) FusedLayerNorm(x compute.Value, axes []int, epsilon float64, gamma,
	beta compute.Value) (compute.Value, error) {
	inputs := []compute.Value{x}
	for _, v := range []compute.Value{gamma, beta} {
		if v != nil {
			inputs = append(inputs, v)
		}
	}
	v, err := f.add(compute.OpTypeFusedLayerNorm, nil, func(to compute.Function, in []compute.Value) (compute.Value,
		error) {
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
	if err != nil || !writesOut(inputs...) {
		return v, err
	}
	over, ok := normAxes(x.(*node), axes, gamma, beta)
	if !ok {
		return v, err
	}
	w := &written{f: f}
	v = w.layerNorm(x, over, epsilon, gamma, beta)
	return v, w.err
}

// RNGBitGenerator see compute.Function.
func (f *Function) RNGBitGenerator(state compute.Value, shape shapes.Shape) (newState, values compute.Value,
	err error) {
	out, err := f.addMany(compute.OpTypeRNGBitGenerator, func(to compute.Function, in []compute.Value) ([]compute.Value,
		error) {
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
	return f.addMany(compute.OpTypeOptimizationBarrier, func(to compute.Function, in []compute.Value) ([]compute.Value,
		error) {
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
func (f *Function) Sort(comparator compute.Function, axis int, stable bool, inputs ...compute.Value) ([]compute.Value,
	error) {
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

func (f *Function) dynamic(op compute.OpType, specs []compute.DynamicDimensionSpec,
	make func(to compute.Function, in []compute.Value, specs []compute.DynamicDimensionSpec) (compute.Value, error),
	inputs ...compute.Value) (compute.Value, error) {
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
	return f.dynamic(compute.OpTypeDynamicReshape, dims, func(to compute.Function, in []compute.Value,
		dims []compute.DynamicDimensionSpec) (compute.Value, error) {
		return to.DynamicReshape(in[0], dims...)
	}, x)
}

// DynamicBroadcastInDim see compute.Function.
func (f *Function) DynamicBroadcastInDim(x compute.Value, axes []int,
	dims ...compute.DynamicDimensionSpec) (compute.Value, error) {
	return f.dynamic(compute.OpTypeDynamicBroadcastInDim, dims, func(to compute.Function, in []compute.Value,
		dims []compute.DynamicDimensionSpec) (compute.Value, error) {
		return to.DynamicBroadcastInDim(in[0], axes, dims...)
	}, x)
}

// DynamicIota see compute.Function.
func (f *Function) DynamicIota(dtype dtypes.DType, axis int, dims ...compute.DynamicDimensionSpec) (compute.Value,
	error) {
	return f.dynamic(compute.OpTypeDynamicIota, dims, func(to compute.Function, _ []compute.Value,
		dims []compute.DynamicDimensionSpec) (compute.Value, error) {
		return to.DynamicIota(dtype, axis, dims...)
	})
}

// DynamicDimensionSize see compute.Function.
func (f *Function) DynamicDimensionSize(x compute.Value, axis int) (compute.Value, error) {
	return f.dynamic(compute.OpTypeDynamicDimensionSize, nil, func(to compute.Function, in []compute.Value,
		_ []compute.DynamicDimensionSpec) (compute.Value, error) {
		return to.DynamicDimensionSize(in[0], axis)
	}, x)
}

// DynamicShape see compute.Function.
func (f *Function) DynamicShape(x compute.Value) (compute.Value, error) {
	return f.dynamic(compute.OpTypeDynamicShape, nil, func(to compute.Function, in []compute.Value,
		_ []compute.DynamicDimensionSpec) (compute.Value, error) {
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
	return f.dynamic(compute.OpTypeDynamicPad, nil, func(to compute.Function, in []compute.Value,
		_ []compute.DynamicDimensionSpec) (compute.Value, error) {
		return to.DynamicPad(in[0], in[1], axes...)
	}, x, fill)
}

// FusedQuantizedDense, QuantizedEmbeddingLookup and the attention operations of GoMLX's engine are not offered: GoMLX
// writes them out in other operations.
