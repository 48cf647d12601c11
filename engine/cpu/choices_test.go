package cpu_test

import (
	"testing"

	"github.com/bregman-ml/bregman/engine"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// A choice by a scalar inside a choice by a scalar, over more than one block.
func TestNestedChoices(t *testing.T) {
	const n = 4608
	e, err := engine.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	store := model.NewStore()
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(i)
	}
	store.RootScope().VariableWithValue("w", tensors.FromFlatDataAndDimensions(w, n))
	store.RootScope().VariableWithValue("p", tensors.FromScalar(float32(2)))
	x, err := model.NewExec(e.Backend, store, func(scope *model.Scope, g *Graph) {
		v := store.GetVariable("/w")
		w, p := v.NodeValue(g), store.GetVariable("/p").NodeValue(g)
		inner := Where(Equal(p, Const(g, float32(2))), AddScalar(w, 1), Mul(w, w))
		v.SetNodeValue(Where(LessThan(p, Const(g, float32(9))), inner, w))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Call(); err != nil {
		t.Fatal(err)
	}
	val, _ := store.GetVariable("/w").Value()
	got, _ := tensors.CopyFlatData[float32](val)
	bad := 0
	for i := range got {
		if got[i] != float32(i+1) {
			bad++
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d wrong: %v", bad, n, got[:3])
	}
}
