package optim

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// setScalar sets a scalar variable.
func setScalar(v *model.Variable, x float64) error {
	if v.DType() == dtypes.Float64 {
		return v.SetValue(tensors.FromScalar(x))
	}
	return v.SetValue(tensors.FromScalar(float32(x)))
}

// MeasureUnits sets the units of all kernels of the scope to their root mean squares, as HostUnits needs it before the
// first step. It does nothing for an optimizer without units.
func (o *Optimizer) MeasureUnits(scope *model.Scope) error {
	if !o.units {
		return nil
	}
	for v := range scope.IterVariables() {
		if !v.Trainable || v.Shape().Rank() < 2 {
			continue
		}
		if !v.HasValue() {
			return fmt.Errorf("%s has no value yet: measure the units after the weights are initialized", v.Path())
		}
		sum := 0.0
		if err := eachValue(v, func(_ int, x float64) { sum += x * x }); err != nil {
			return err
		}
		unit := math.Sqrt(sum / float64(v.Shape().Size()))
		if unit == 0 {
			unit = unitOfZeros(v)
		}
		if err := setScalar(unitVar(scope, v), unit); err != nil {
			return err
		}
	}
	return nil
}

// eachValue reads a variable of float32 or float64 back; others have no values here.
func eachValue(v *model.Variable, see func(i int, x float64)) error {
	value, err := v.Value()
	if err != nil {
		return err
	}
	switch v.DType() {
	case dtypes.Float32:
		return tensors.ConstFlatData(value, func(flat []float32) {
			for i, x := range flat {
				see(i, float64(x))
			}
		})
	case dtypes.Float64:
		return tensors.ConstFlatData(value, func(flat []float64) {
			for i, x := range flat {
				see(i, x)
			}
		})
	}
	return nil
}

// FirstNotFinite returns an error that names the first trainable parameter of the scope with a NaN or an infinity, and
// the place of it, or nil. It reads every parameter back: ask once the loss is no longer finite.
func FirstNotFinite(scope *model.Scope) error {
	for v := range scope.IterVariables() {
		if !v.Trainable || !v.HasValue() {
			continue
		}
		at, bad := -1, 0.0
		if err := eachValue(v, func(i int, x float64) {
			if at < 0 && x-x != 0 {
				at, bad = i, x
			}
		}); err != nil {
			return err
		}
		if at >= 0 {
			kind := "infinite"
			if math.IsNaN(bad) {
				kind = "not a number"
			}
			return fmt.Errorf("parameter %s is %s at place %d", v.Path(), kind, at)
		}
	}
	return nil
}
