package cpu

import (
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// update builds the step of p-GD of n weights by hand. optim_test.go tests that package optim writes the same graph.
func update(t testing.TB, b *Backend, n int) compute.Executable {
	t.Helper()
	builder := b.Builder("update")
	f := builder.Main()
	must := func(v compute.Value, err error) compute.Value {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	vector := shapes.Make(dtypes.Float32, n)
	w, g := must(f.Parameter("w", vector, nil)), must(f.Parameter("g", vector, nil))
	p := must(f.Parameter("p", shapes.Make(dtypes.Float64), nil))
	rate := must(f.Parameter("rate", shapes.Make(dtypes.Float32), nil))
	minusOne, two := must(f.Constant([]float64{-1})), must(f.Constant([]float64{2}))
	y := must(f.Add(p, minusOne))
	one := must(f.Constant([]float64{1}))
	power := func(x, y compute.Value) compute.Value {
		y = must(f.ConvertDType(y, dtypes.Float32))
		return must(f.Mul(must(f.Sign(x)), must(f.Pow(must(f.Abs(x)), y))))
	}
	step := must(f.Mul(rate, g))
	out := power(must(f.Sub(power(w, y), step)), must(f.Div(one, y)))
	zeros := must(f.BroadcastInDim(must(f.Constant([]float32{0})), vector, nil))
	out = must(f.Where(must(f.Equal(step, zeros)), w, out))
	sgd := must(f.Sub(w, step))
	out = must(f.Where(must(f.Equal(p, two)), sgd, out))
	if err := f.Return([]compute.Value{out}, nil); err != nil {
		t.Fatal(err)
	}
	e, err := builder.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func buffer[T float32 | float64](t testing.TB, b *Backend, x []T, dims ...int) compute.Buffer {
	t.Helper()
	buf, err := b.BufferFromFlatData(0, x, shapes.Make(dtypes.FromGenericsType[T](), dims...))
	if err != nil {
		t.Fatal(err)
	}
	return buf
}

func TestTheMirrorStepIsOneProgramInPlace(t *testing.T) {
	b := engineFor(t, "threads=2")
	e := update(t, b, 5000).(*executable)
	var programs []*program
	for _, s := range e.steps {
		if p, ok := s.(*program); ok && p.size == 5000 {
			programs = append(programs, p)
		}
	}
	if len(programs) != 1 || len(programs[0].instrs) != 4 {
		t.Fatalf("%d programs over the weights: want 1, of the mirror step, the two instructions of SGD and the choice "+
			"between them", len(programs))
	}
	for p, want := range map[float64]float32{2: 0.5 - 0.125, 3: 0.35355339, 1.5: 0.33884830} {
		w, g := make([]float32, 5000), make([]float32, 5000)
		for i := range w {
			w[i], g[i] = 0.5, 0.25
		}
		in := []compute.Buffer{buffer(t, b, w, 5000), buffer(t, b, g, 5000), buffer(t, b, []float64{p}),
			buffer(t, b, []float32{0.5})}
		before, _ := in[0].Data()
		out, err := e.Execute(in, []bool{true, false, false, false}, 0)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := out[0].Data()
		if &before.([]float32)[0] != &after.([]float32)[0] {
			t.Error("the donated weights were not updated in place")
		}
		for i, v := range after.([]float32) {
			if d := v - want; d > 1e-6 || d < -1e-6 {
				t.Fatalf("p = %v, weight %d: %v, want %v", p, i, v, want)
			}
		}
		if _, err := in[0].Shape(); err == nil {
			t.Error("a donated buffer can still be used")
		}
		if g2, _ := in[1].Data(); g2.([]float32)[0] != 0.25 {
			t.Error("an input that was not donated has changed")
		}
	}
}

// What is left is GoMLX's interface: a slice of buffers and one for each result. The memory of the tensors is made
// once.
func TestAStepAllocatesOnlyItsBuffers(t *testing.T) {
	b := engineFor(t, "threads=2")
	e := update(t, b, 100_000)
	w, rest := buffer(t, b, make([]float32, 100_000), 100_000),
		[]compute.Buffer{buffer(t, b, make([]float32, 100_000), 100_000), buffer(t, b, []float64{3}),
			buffer(t, b, []float32{0.5})}
	n := testing.AllocsPerRun(20, func() {
		out, err := e.Execute(append([]compute.Buffer{w}, rest...), []bool{true, false, false, false}, 0)
		if err != nil {
			t.Fatal(err)
		}
		w = out[0]
	})
	if n > 8 {
		t.Errorf("%v allocations a step", n)
	}
}

func TestBadInputsAreRefused(t *testing.T) {
	b := engineFor(t, "")
	e := update(t, b, 10)
	good := func() []compute.Buffer {
		return []compute.Buffer{buffer(t, b, make([]float32, 10), 10), buffer(t, b, make([]float32, 10), 10),
			buffer(t, b, []float64{3}), buffer(t, b, []float32{0.5})}
	}
	for name, c := range map[string]struct {
		change func(in []compute.Buffer) []compute.Buffer
		want   string
	}{
		"few": {func(in []compute.Buffer) []compute.Buffer { return in[:2] }, "2 inputs for 4"},
		"shape": {func(in []compute.Buffer) []compute.Buffer { in[1] = buffer(t, b, make([]float32, 9), 9); return in },
			`"g"`},
		"type":      {func(in []compute.Buffer) []compute.Buffer { in[2] = buffer(t, b, []float32{3}); return in }, `"p"`},
		"finalized": {func(in []compute.Buffer) []compute.Buffer { _ = in[0].Finalize(); return in }, "finalized"},
	} {
		if _, err := e.Execute(c.change(good()), nil, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, config := range []string{"threads=0", "threads=x", "cores=2"} {
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), "threads=N") {
			t.Errorf("%s: error %v", config, err)
		}
	}
}

func TestMemoryIsSharedByTensorsThatDoNotLiveTogether(t *testing.T) {
	var all []*storage
	add := func(size, def, last int) *storage {
		s := &storage{size: size, def: def, last: last}
		all = append(all, s)
		return s
	}
	a, b, c := add(1000, 0, 1), add(500, 1, 2), add(900, 2, 3)
	if total := layOut(all); total > 1600 {
		t.Errorf("%d bytes", total)
	}
	overlap := func(x, y *storage) bool { return x.offset < y.offset+y.size && y.offset < x.offset+x.size }
	if overlap(a, b) || overlap(b, c) || !overlap(a, c) {
		t.Errorf("offsets %d, %d, %d", a.offset, b.offset, c.offset)
	}
}
