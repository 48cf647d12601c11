package train

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/bregman-ml/bregman/internal/safetensors"
)

// same is what Record.Check says of an epoch whose two passes ended at the same bits.
const same = "same"

// trainTwice trains an epoch twice from the same state and compares all that training changes, bit for bit. If the two
// differ, a third pass tells which of them was the odd one. The text is same, or says what differs.
func (x *Session) trainTwice(ctx context.Context, p Plan, epoch int, progress func(steps int)) (Epoch, string, error) {
	begin, err := x.state()
	if err != nil {
		return Epoch{}, "", err
	}
	var e Epoch
	lastRow := x.lastRow
	pass := func(again bool) (end pass, err error) {
		if again {
			if err := x.setState(begin, "the state before the epoch"); err != nil {
				return end, err
			}
			x.lastRow = lastRow
		}
		if e, err = x.Train(ctx, p, epoch, progress); err != nil {
			return end, err
		}
		if end.state, err = x.state(); err != nil {
			return end, err
		}
		end.rows, err = x.steps()
		return end, err
	}
	first, err := pass(false)
	if err != nil {
		return e, "", err
	}
	second, err := pass(true)
	if err != nil {
		return e, "", err
	}
	text := first.differs(second, x.layerNames())
	if text == "" {
		return e, same, nil
	}
	third, err := pass(true)
	if err != nil {
		return e, "", err
	}
	switch {
	case third.differs(first, nil) == "":
		text += "; a third pass is as the first"
	case third.differs(second, nil) == "":
		text += "; a third pass is as the second"
	default:
		text += "; a third pass is as neither"
	}
	return e, text, nil
}

// pass is how an epoch went: the state at its end and the rows of its steps.
type pass struct {
	state safetensors.File
	rows  [][]float32
}

// differs says in what two passes differ: tensors, which part of them, and the first step that shows it; "" if in
// nothing.
func (a pass) differs(b pass, layers []string) string {
	var tensors []string
	for i, t := range a.state.Tensors {
		if d := difference(t, b.state.Tensors[i]); d != "" {
			tensors = append(tensors, d)
		}
	}
	if len(tensors) == 0 {
		return ""
	}
	const most = 5
	text := strings.Join(tensors[:min(most, len(tensors))], "; ")
	if n := len(tensors) - most; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("%d of %d tensors differ: %s; %s", len(tensors), len(a.state.Tensors), text,
		firstDifference(a.rows, b.rows, layers))
}

// difference says which part of a tensor differs, "" if none.
func difference(a, b safetensors.Tensor) string {
	if bytes.Equal(a.Data, b.Data) {
		return ""
	}
	x, err := safetensors.Float32s(a)
	y, err2 := safetensors.Float32s(b)
	if err != nil || err2 != nil {
		return a.Name
	}
	count, first, last, most := 0, -1, 0, 0.0
	for i := range x {
		if math.Float32bits(x[i]) == math.Float32bits(y[i]) {
			continue
		}
		if first < 0 {
			first = i
		}
		count, last = count+1, i
		most = max(most, math.Abs(float64(x[i])-float64(y[i])))
	}
	return fmt.Sprintf("%s in %d of %d values, from place %d to %d, by up to %.2g", a.Name, count, len(x), first, last,
		most)
}

// firstDifference says which step is the first whose row differs.
func firstDifference(a, b [][]float32, layers []string) string {
	for k := range a {
		for i := range a[k] {
			if math.Float32bits(a[k][i]) == math.Float32bits(b[k][i]) {
				continue
			}
			what := "the loss"
			if i > 0 && i <= len(layers) {
				what = "the largest weight of " + layers[i-1]
			} else if i > 0 {
				what = "the norm of the gradient"
			}
			return fmt.Sprintf("the first sign of it is %s in step %d: %v and %v", what, k+1, a[k][i], b[k][i])
		}
	}
	return "no step shows it in its loss or the largest weight of a layer: it is in the last one"
}

// differing counts the epochs that were trained twice, and those whose passes differ.
func differing(records []Record) (checked, differ int) {
	for _, r := range records {
		if r.Check != "" {
			checked++
		}
		if r.Check != "" && r.Check != same {
			differ++
		}
	}
	return checked, differ
}
