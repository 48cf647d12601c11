package cpu

import (
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// runTraced runs a graph of a product and an operation that only GoMLX's engine has, and returns what is told of it.
func runTraced(t *testing.T, value string, runs int) string {
	t.Helper()
	t.Setenv(Fallbacks, value)
	b := engineFor(t, "threads=1")
	var told strings.Builder
	b.traceOut = &told
	builder := b.Builder("network")
	f := builder.Main()
	x, err := f.Parameter("x", shapes.Make(dtypes.Float32, 4, 4), nil)
	if err != nil {
		t.Fatal(err)
	}
	y, err := f.DotGeneral(x, []int{1}, nil, x, []int{0}, nil, compute.DotGeneralConfig{})
	if err != nil {
		t.Fatal(err)
	}
	best, err := f.ArgMinMax(y, 1, dtypes.Int32, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Return([]compute.Value{best}, nil); err != nil {
		t.Fatal(err)
	}
	e, err := builder.Compile()
	if err != nil {
		t.Fatal(err)
	}
	for range runs {
		if _, err := e.Execute([]compute.Buffer{buffer(t, b, make([]float32, 16), 4, 4)}, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	return told.String()
}

func TestOperationsOnGoMLXsEngineAreListed(t *testing.T) {
	if told := runTraced(t, "", 20); told != "" {
		t.Errorf("nobody asked, and it says %q", told)
	}
	told := runTraced(t, "1", 20)
	if strings.Count(told, "ArgMinMax  (Int32)[4]  1×") != 2 || !strings.Contains(told, `graph "network", 10 runs`) {
		t.Errorf("after 1 run and after 10: %s", told)
	}
	if strings.Contains(told, "DotGeneral") {
		t.Errorf("a product is native: %s", told)
	}
	if told := runTraced(t, "all", 1); !strings.Contains(told, "DotGeneral") ||
		!strings.Contains(told, "GoMLX's engine\n") {
		t.Errorf("all steps: %s", told)
	}
	t.Setenv(Fallbacks, "yes")
	if _, err := New(""); err == nil || !strings.Contains(err.Error(), Fallbacks) {
		t.Errorf("error %v", err)
	}
}
