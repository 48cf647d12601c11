package cpu

import (
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/bregman-ml/bregman/internal/vec"
)

// reduction is a sum, largest or smallest value over neighbouring axes: the input is [outer, rows, inner], the output
// [outer, inner].
type reduction struct {
	op                 compute.OpType
	outer, rows, inner int
}

// reductionOf returns the reduction of a float32 operation, or nil where a program cannot do it.
func reductionOf(n *node) *reduction {
	if !fusedReduction(n.op) {
		return nil
	}
	in := n.inputs[0].shape
	if in.DType != dtypes.Float32 || in.Size() == 0 {
		return nil
	}
	reduced := make([]bool, in.Rank())
	axes := n.attr.([]int)
	if len(axes) == 0 {
		for i := range reduced {
			reduced[i] = true
		}
	}
	for _, a := range axes {
		if a < 0 {
			a += in.Rank()
		}
		reduced[a] = true
	}
	r := &reduction{op: n.op, outer: 1, rows: 1, inner: 1}
	place := &r.outer
	for i, d := range in.Dimensions {
		switch {
		case d == 1:
			continue
		case reduced[i] && place == &r.outer:
			place = &r.rows
		case !reduced[i] && place == &r.rows:
			place = &r.inner
		case reduced[i] && place == &r.inner:
			return nil // not neighbours
		}
		*place *= d
	}
	return r
}

func (r *reduction) start() float32 {
	switch r.op {
	case compute.OpTypeReduceMax:
		return float32(math.Inf(-1))
	case compute.OpTypeReduceMin:
		return float32(math.Inf(1))
	}
	return 0
}

// take joins values to what was gathered so far, lane by lane.
func (r *reduction) take(acc, x []float32) {
	switch r.op {
	case compute.OpTypeReduceMax:
		vec.Max32(acc, acc, x)
	case compute.OpTypeReduceMin:
		vec.Min32(acc, acc, x)
	default:
		vec.Add32(acc, acc, x)
	}
}

// fold joins the rows of acc into dst.
func (r *reduction) fold(dst, acc []float32) {
	if len(dst) == 1 {
		switch r.op {
		case compute.OpTypeReduceMax:
			dst[0] = vec.MaxOf32(acc)
		case compute.OpTypeReduceMin:
			dst[0] = vec.MinOf32(acc)
		default:
			dst[0] = vec.Sum32(acc)
		}
		return
	}
	copy(dst, acc[:len(dst)])
	for row := range slices.Chunk(acc[len(dst):], len(dst)) {
		r.take(dst[:len(row)], row)
	}
}

// runsOfAxes cuts the axes of a reduction into those that are neighbours, the last first, so that a program can do each
// of them. It returns nothing where there is no need to.
func runsOfAxes(op compute.OpType, x compute.Value, axes []int) [][]int {
	n, ok := x.(*node)
	if !ok || n == nil || len(axes) < 2 || n.shape.IsDynamic() ||
		!fusedReduction(op) || n.shape.DType != dtypes.Float32 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(axes))
	if sorted[0] < 0 || sorted[len(sorted)-1] >= n.shape.Rank() {
		return nil
	}
	var runs [][]int
	for i := len(sorted) - 1; i >= 0; i-- {
		if i < len(sorted)-1 && onesBetween(n.shape.Dimensions, sorted[i], sorted[i+1]) {
			last := len(runs) - 1
			runs[last] = append([]int{sorted[i]}, runs[last]...)
			continue
		}
		runs = append(runs, []int{sorted[i]})
	}
	if len(runs) < 2 {
		return nil
	}
	return runs
}

// onesBetween reports whether all axes between two are of length 1.
func onesBetween(dims []int, a, b int) bool {
	for _, d := range dims[a+1 : b] {
		if d != 1 {
			return false
		}
	}
	return true
}

// fusedReduction reports whether a program can reduce so.
func fusedReduction(op compute.OpType) bool {
	return op == compute.OpTypeReduceSum || op == compute.OpTypeReduceMax || op == compute.OpTypeReduceMin
}
