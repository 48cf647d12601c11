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

// FirstNotFinite returns an error that names the first trainable parameter of the scope with a NaN or an infinity, and
// the place of it, or nil. It reads every parameter back: ask once the loss is no longer finite.
func FirstNotFinite(scope *model.Scope) error {
	for v := range scope.IterVariables() {
		if !v.Trainable || !v.HasValue() {
			continue
		}
		value, err := v.Value()
		if err != nil {
			return err
		}
		at, bad := -1, 0.0
		see := func(i int, x float64) {
			if at < 0 && x-x != 0 {
				at, bad = i, x
			}
		}
		switch v.DType() {
		case dtypes.Float32:
			err = tensors.ConstFlatData(value, func(flat []float32) {
				for i, x := range flat {
					see(i, float64(x))
				}
			})
		case dtypes.Float64:
			err = tensors.ConstFlatData(value, func(flat []float64) {
				for i, x := range flat {
					see(i, x)
				}
			})
		}
		if err != nil {
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
