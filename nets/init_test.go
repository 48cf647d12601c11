package nets

import (
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

func values(t *testing.T, scope *model.Scope) map[string][]float64 {
	t.Helper()
	all := map[string][]float64{}
	for v := range scope.IterVariables() {
		if v.Name() != DropoutSeed {
			all[v.Path()] = flat(t, v.MustValue())
		}
	}
	return all
}

func initialised(t *testing.T, n Net, scope *model.Scope, seed uint64) map[string][]float64 {
	t.Helper()
	if err := n.Init(scope, seed); err != nil {
		t.Fatal(err)
	}
	return values(t, scope)
}

func TestInitIsPyTorchsDefault(t *testing.T) {
	scope, _ := buildOnly(t, "vgg11", true, 2, 32, 32, 3)
	all := initialised(t, Net{}, scope, 7)
	uniform := map[string]float64{ // path: fan-in
		"features/0/weight": 27, "features/0/bias": 27,
		"features/4/weight": 9 * 64, "features/4/bias": 9 * 64,
		"classifier/weight": 512, "classifier/bias": 512,
	}
	for path, fan := range uniform {
		v := all["/model/"+path]
		bound, largest := 1/math.Sqrt(fan), 0.0
		for _, x := range v {
			largest = max(largest, math.Abs(x))
		}
		// The largest of n uniform draws falls short of the bound by about 1/n.
		if largest > bound*(1+1e-6) || largest < bound*(1-8/float64(len(v))) {
			t.Errorf("%s: largest |w| %g, bound %g", path, largest, bound)
		}
	}
	for path, want := range map[string]float64{
		"features/1/weight": 1, "features/1/bias": 0, "features/1/running_mean": 0, "features/1/running_var": 1,
	} {
		for _, x := range all["/model/"+path] {
			if x != want {
				t.Errorf("%s holds %g, want %g", path, x, want)
			}
		}
	}
}

func TestInitOfDepthwiseKernelsCountsOneChannel(t *testing.T) {
	scope, _ := buildOnly(t, "mobilenetv2", true, 2, 32, 32, 3)
	v := initialised(t, Net{}, scope, 1)["/model/layers/5/conv2/weight"]
	if largest := max(slices.Max(v), -slices.Min(v)); largest > 1.0/3+1e-6 || largest < 0.33 {
		t.Errorf("largest |w| %g, want just below 1/√9", largest)
	}
}

func TestInitDependsOnSeedAndPathOnly(t *testing.T) {
	a, _ := buildOnly(t, "cnn", true, 2, 8, 8, 3)
	fresh := values(t, a)
	one := initialised(t, Net{}, a, 1)
	two := initialised(t, Net{}, a, 2)
	again := initialised(t, Net{}, a, 1)
	zero := initialised(t, Net{}, a, 0)
	for path := range one {
		if !slices.Equal(one[path], again[path]) {
			t.Errorf("%s: the same seed gives other values", path)
		}
		if !slices.Equal(zero[path], fresh[path]) {
			t.Errorf("%s: a new network is not that of seed 0", path)
		}
		random := strings.Contains(path, "conv") || strings.Contains(path, "linear")
		if random && slices.Equal(one[path], two[path]) {
			t.Errorf("%s: two seeds give the same values", path)
		}
	}
	w := one["/model/conv1/weight"]
	if slices.Equal(w, one["/model/conv2/weight"][:len(w)]) {
		t.Error("two layers start with the same values")
	}
}

func TestInitStartsAnotherTrialOnTheSameGraph(t *testing.T) {
	store := model.NewStore()
	scope := store.Scope("/model")
	n := mustNet(t, "cnn")
	built := 0
	exec := model.MustNewExec(testBackend(t), store, func(_ *model.Scope, x *Node) *Node {
		built++
		return n.Logits(scope, x, 10, true)
	})
	x := random(1, 4, 8, 8, 3)
	exec.MustCall(x.tensor())
	trial := func(seed uint64) []float64 {
		initialised(t, Net{}, scope, seed)
		exec.MustCall(x.tensor())
		return append(flat(t, exec.MustCall(x.tensor())[0]), value(t, store, "bn1/running_var")...)
	}
	first, other, again := trial(1), trial(2), trial(1)
	if !slices.Equal(first, again) || slices.Equal(first, other) {
		t.Errorf("trials %v, %v, %v: want the first and last equal", first, other, again)
	}
	if built != 1 {
		t.Errorf("the graph was built %d times", built)
	}
}

func TestInitNeedsANetworkAndLeavesOthersAlone(t *testing.T) {
	store := model.NewStore()
	if err := (Net{}).Init(store.Scope("/model"), 1); err == nil {
		t.Error("no error where there is no network")
	}
	scope, _ := buildOnly(t, "cnn", true, 2, 8, 8, 3)
	scope.VariableWithValue("step", 5.0)
	if got := initialised(t, Net{}, scope, 1)["/model/step"]; got[0] != 5 {
		t.Errorf("Init changed a variable that is not the network's to %v", got)
	}
}
