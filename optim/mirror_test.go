package optim

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	_ "github.com/gomlx/compute/gobackend"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/bregman-ml/bregman/engine/cpu"
	"github.com/bregman-ml/bregman/mirror"
)

func backend(t testing.TB) compute.Backend {
	t.Helper()
	b, err := compute.NewWithConfig(cmp.Or(os.Getenv("BREGMAN_TEST_ENGINE"), cpu.Name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// quadratic is the loss Σ cⱼ(wⱼ − 1)² of one weight vector: its gradient 2c(w − 1) can be computed by hand.
var coefficients = []float64{0.3, -0.2, 0.5, 0.1, 0.7}

func start() []float64 { return []float64{0.5, -0.8, 1.2, -0.05, 2} }

// run makes steps with an optimizer on weights of type T and returns them after each.
func run[T float32 | float64](t *testing.T, opt optimizer.Interface, steps int) [][]T {
	t.Helper()
	store := model.NewStore()
	w0 := make([]T, len(start()))
	for j, v := range start() {
		w0[j] = T(v)
	}
	store.RootScope().In("model").VariableWithValue("w", w0)
	exec, err := model.NewExec(backend(t), store, func(scope *model.Scope, g *Graph) *Node {
		w := scope.In("model").VariableWithValue("w", w0).NodeValue(g)
		c := ConstAs(w, coefficients)
		loss := ReduceAllSum(Mul(c, Square(AddScalar(w, -1))))
		opt.UpdateGraph(scope, g, loss)
		return loss
	})
	if err != nil {
		t.Fatal(err)
	}
	var out [][]T
	for range steps {
		if _, err := exec.Call(); err != nil {
			t.Fatal(err)
		}
		w, err := tensors.CopyFlatData[T](store.GetVariable("/model/w").MustValue())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, w)
	}
	return out
}

// twin is the same descent by package mirror, in float64.
func twin(psi mirror.Potential, eta func(step int) float64, steps int) [][]float64 {
	w, z := start(), make([]float64, 5)
	var out [][]float64
	for k := range steps {
		g := make([]float64, 5)
		for j := range g {
			g[j] = 2 * coefficients[j] * (w[j] - 1)
		}
		psi.Mirror(z, w)
		mirror.Step(w, z, psi, eta(k), g)
		out = append(out, append([]float64(nil), w...))
	}
	return out
}

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }

func compare(t *testing.T, what string, got, want [][]float64, tol float64) {
	t.Helper()
	for k := range want {
		for j := range want[k] {
			if math.Abs(got[k][j]-want[k][j]) > tol*math.Max(1e-3, math.Abs(want[k][j])) {
				t.Fatalf("%s, step %d, weight %d: %v, want %v", what, k, j, got[k][j], want[k][j])
			}
		}
	}
}

func TestStepsAgreeWithPackageMirror(t *testing.T) {
	for _, p := range []float64{1.1, 1.5, 2, 3, 6, 10} {
		// In float64 both round a dozen times a step; near a weight of 0 the root is steep for large p.
		compare(t, fmt.Sprint("p = ", p), run[float64](t, Mirror().P(p).LearningRate(0.05).Done(), 20),
			twin(mirror.Power(p), constant(float64(float32(0.05))), 20), 1e-9)
	}
	compare(t, "hyperbolic entropy", run[float64](t, Mirror().Potential(HyperbolicEntropy(0.3)).LearningRate(0.05).Done(),
		20),
		twin(mirror.HyperbolicEntropy(0.3), constant(float64(float32(0.05))), 20), 1e-9)
	compare(t, "quadratic", run[float64](t, Mirror().Potential(Quadratic(2.5)).LearningRate(0.05).Done(), 20),
		twin(mirror.Quadratic([]float64{2.5, 2.5, 2.5, 2.5, 2.5}), constant(float64(float32(0.05))), 20), 1e-9)
}

// On w > 0 the entropy's step is the exponentiated gradient, w·e^(−ηg).
func TestEntropyIsTheExponentiatedGradient(t *testing.T) {
	w, g := []float64{0.5, 1, 3}, []float64{0.3, -2, 1}
	out, err := CallOnce(backend(t), func(w, grad, rate *Node) *Node {
		psi := Entropy()
		return psi.step(w, grad, rate, ScalarOne(w.Graph(), w.DType()), 0, nil)
	}, w, g, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	got := tensors.MustCopyFlatData[float64](out)
	for j := range w {
		if want := w[j] * math.Exp(-0.1*g[j]); math.Abs(got[j]-want) > 1e-14*want {
			t.Errorf("weight %d: %v, want %v", j, got[j], want)
		}
	}
}

func TestPEqualsTwoIsSGDToTheBit(t *testing.T) {
	a := run[float32](t, Mirror().P(2).LearningRate(0.1).Done(), 20)
	b := run[float32](t, optimizer.StochasticGradientDescent().WithDecay(false).WithLearningRate(0.1).Done(), 20)
	for k := range a {
		for j := range a[k] {
			if math.Float32bits(a[k][j]) != math.Float32bits(b[k][j]) {
				t.Fatalf("step %d, weight %d: %v and %v", k, j, a[k][j], b[k][j])
			}
		}
	}
}

// kernel makes steps with an optimizer on a kernel of one row and on a bias, which start and move alike: the loss of
// both is quadratic's.
func kernel[T float32 | float64](t *testing.T, opt optimizer.Interface, from []float64, steps int) (kernels,
	biases [][]T) {
	t.Helper()
	store := model.NewStore()
	flat := make([]T, len(from))
	for j, v := range from {
		flat[j] = T(v)
	}
	exec, err := model.NewExec(backend(t), store, func(scope *model.Scope, g *Graph) *Node {
		in := scope.In("model")
		k, b := in.VariableWithValue("kernel", [][]T{flat}).NodeValue(g), in.VariableWithValue("bias", flat).NodeValue(g)
		c := ConstAs(b, coefficients[:len(from)])
		loss := Add(ReduceAllSum(Mul(c, Square(AddScalar(b, -1)))),
			ReduceAllSum(Mul(c, Square(AddScalar(Squeeze(k, 0), -1)))))
		opt.UpdateGraph(scope, g, loss)
		return loss
	})
	if err != nil {
		t.Fatal(err)
	}
	for range steps {
		if _, err := exec.Call(); err != nil {
			t.Fatal(err)
		}
		kernels = append(kernels, tensors.MustCopyFlatData[T](store.GetVariable("/model/kernel").MustValue()))
		biases = append(biases, tensors.MustCopyFlatData[T](store.GetVariable("/model/bias").MustValue()))
	}
	return kernels, biases
}

func rms(w []float64) float64 {
	var sum float64
	for _, v := range w {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(w)))
}

// In units a kernel makes the steps of p-GD at the rate η(p−1)u^(p−2), with the u of its start, and a bias those of
// gradient descent.
func TestUnitsArePGDAtARateOfTheKernelsOwn(t *testing.T) {
	const eta = 0.05
	rate := float64(float32(eta))
	for _, p := range []float64{1.1, 1.5, 2, 3, 6, 10} {
		got, bias := kernel[float64](t, Mirror().P(p).LearningRate(eta).Units().Done(), start(), 20)
		own := rate * (p - 1) * math.Pow(rms(start()), p-2)
		compare(t, fmt.Sprint("p = ", p), got, twin(mirror.Power(p), constant(own), 20), 1e-9)
		compare(t, fmt.Sprint("bias, p = ", p), bias, twin(mirror.Power(2), constant(rate), 20), 1e-12)
	}
}

// A weight as large as its unit moves by η·g to first order, for every p, at any scale of the kernel, also where
// |w|^(p−1) would underflow.
func TestAWeightOfUnitSizeMovesAsInGradientDescent(t *testing.T) {
	for _, size := range []float64{1e-4, 0.02, 1, 30} {
		for _, p := range []float64{1.1, 2, 3, 10, 50} {
			from := []float64{size, -size, size}
			eta := 1e-3 * size / (p - 1) / (1 + size) // |g| is at most size + 1, so that the step is small beside the weight
			got, _ := kernel[float32](t, Mirror().P(p).LearningRate(eta).Units().Done(), from, 1)
			for j, w := range from {
				moved, want := float64(got[0][j])-w, -eta*2*coefficients[j]*(w-1)
				// The next order is |p−2|/2·(ηg)²/|w|, taken twice; and the rounding of w and, for p < 2, of its power.
				if tol := math.Abs(p-2)*want*want/size + 8*0x1p-24*size*max(1, 1/(p-1)); math.Abs(moved-want) > tol {
					t.Errorf("size %v, p = %v, weight %d: moved by %g, want %g ± %.1g", size, p, j, moved, want, tol)
				}
			}
		}
	}
}

func TestUnitsWithPEqualsTwoAreSGDToTheBit(t *testing.T) {
	a, _ := kernel[float32](t, Mirror().P(2).LearningRate(0.1).Units().Done(), start(), 20)
	b, _ := kernel[float32](t, optimizer.StochasticGradientDescent().WithDecay(false).WithLearningRate(0.1).Done(),
		start(), 20)
	for k := range a {
		for j := range a[k] {
			if math.Float32bits(a[k][j]) != math.Float32bits(b[k][j]) {
				t.Fatalf("step %d, weight %d: %v and %v", k, j, a[k][j], b[k][j])
			}
		}
	}
}

// Decay of z takes its share of every weight, in any unit.
func TestDualDecayDoesNotDependOnTheUnit(t *testing.T) {
	const eta, lambda, p = 0.1, 0.3, 3
	for _, size := range []float64{0.01, 5} {
		from := []float64{size, size}
		plain, _ := kernel[float64](t, Mirror().P(p).LearningRate(eta).Units().Done(), from, 1)
		decayed, _ := kernel[float64](t, Mirror().P(p).LearningRate(eta).DualDecay(lambda).Units().Done(), from, 1)
		for j := range from {
			z := func(w float64) float64 { return w * math.Abs(w) / (size * size) }
			if got, want := z(plain[0][j])-z(decayed[0][j]), float64(float32(eta))*lambda; math.Abs(got-want) > 1e-6*want {
				t.Errorf("size %v, weight %d: z fell by %v, want %v", size, j, got, want)
			}
		}
	}
}

// The unit is that of the optimizer's own first step, whatever the global step is, and of the first step after a
// restart. Clear forgets it.
func TestTheUnitIsMeasuredAtTheOptimizersFirstStep(t *testing.T) {
	store := model.NewStore()
	from := [][]float32{{0.5, -0.8, 1.2, -0.05, 2}}
	psi := Mirror().P(3).LearningRate(0.01).Units().Done()
	engine := backend(t)
	step := func(opt optimizer.Interface) {
		t.Helper()
		exec, err := model.NewExec(engine, store, func(scope *model.Scope, g *Graph) *Node {
			w := scope.In("model").VariableWithValue("w", from).NodeValue(g)
			loss := ReduceAllSum(Square(AddScalar(w, -1)))
			opt.UpdateGraph(scope, g, loss)
			return loss
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := exec.Call(); err != nil {
			t.Fatal(err)
		}
	}
	size := func() float64 {
		var w []float64
		for _, v := range tensors.MustCopyFlatData[float32](store.GetVariable("/model/w").MustValue()) {
			w = append(w, float64(v))
		}
		return rms(w)
	}
	kept := func() float64 {
		t.Helper()
		for v := range store.RootScope().At(optimizer.Scope).At(Name).IterVariables() {
			if v.Name() == unitName {
				return float64(tensors.MustCopyFlatData[float32](v.MustValue())[0])
			}
		}
		return 0
	}
	step(optimizer.StochasticGradientDescent().WithDecay(false).WithLearningRate(0.1).Done())
	first := size()
	step(psi)
	step(psi)
	if got := kept(); math.Abs(got-first) > 1e-6 || size()-size() != 0 {
		t.Errorf("unit %v, want %v; the weights now %v", got, first, size())
	}
	if err := psi.Restart(store.RootScope(), Constant()); err != nil {
		t.Fatal(err)
	}
	again := size()
	step(psi)
	if got := kept(); math.Abs(got-again) > 1e-6 {
		t.Errorf("after a restart: unit %v, want %v", got, again)
	}
	if err := psi.Clear(store.RootScope()); err != nil || kept() != 0 {
		t.Errorf("cleared: %v, and the unit is %v", err, kept())
	}
}

// Units that the host measures are those that the graph would, also of a kernel of zeros, and the steps are the same.
func TestUnitsOfTheHostAreThoseOfTheGraph(t *testing.T) {
	engine := backend(t)
	run := func(opt *Optimizer, measure bool) (weights []float32, units []float64) {
		t.Helper()
		store := model.NewStore()
		exec, err := model.NewExec(engine, store, func(scope *model.Scope, g *Graph) {
			in := scope.In("model")
			w := in.VariableWithValue("w", [][]float32{{0.5, -0.8, 1.2}, {-0.05, 2, 0}}).NodeValue(g)
			zero := in.VariableWithValue("zero", [][]float32{{0, 0}, {0, 0}, {0, 0}}).NodeValue(g)
			bias := in.VariableWithValue("bias", []float32{1, 2}).NodeValue(g)
			opt.UpdateGraph(scope, g, Add(ReduceAllSum(Square(AddScalar(w, -1))),
				Add(ReduceAllSum(Square(AddScalar(zero, 1))), ReduceAllSum(Square(bias)))))
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := exec.Compile(); err != nil { // it makes the variables
			t.Fatal(err)
		}
		if measure {
			if err := opt.MeasureUnits(store.Scope("/model")); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if _, err := exec.Call(); err != nil {
				t.Fatal(err)
			}
		}
		for v := range store.RootScope().At(optimizer.Scope).At(Name).IterVariables() {
			if v.Name() == unitName {
				units = append(units, float64(tensors.MustCopyFlatData[float32](v.MustValue())[0]))
			}
		}
		for _, path := range []string{"/model/w", "/model/zero", "/model/bias"} {
			weights = append(weights, tensors.MustCopyFlatData[float32](store.GetVariable(path).MustValue())...)
		}
		return weights, units
	}
	want, graph := run(Mirror().P(3).LearningRate(0.01).Units().Done(), false)
	got, host := run(Mirror().P(3).LearningRate(0.01).Units().HostUnits().Done(), true)
	if len(host) != 2 || len(graph) != 2 {
		t.Fatalf("units %v, in the graph %v", host, graph)
	}
	for i := range host {
		if math.Abs(host[i]-graph[i]) > 2e-7*graph[i] {
			t.Errorf("unit %d: %v, in the graph %v", i, host[i], graph[i])
		}
	}
	for i := range got {
		if math.Abs(float64(got[i]-want[i])) > 2e-6 {
			t.Errorf("weight %d: %v, with units of the graph %v", i, got[i], want[i])
		}
	}
	if err := Mirror().Units().Done().MeasureUnits(model.NewStore().RootScope()); err != nil {
		t.Error(err)
	}
}

// A kernel that starts at 0 has the unit 1/√(inputs of an output): it leaves 0, and not by far.
func TestAKernelOfZerosHasAUnit(t *testing.T) {
	got, _ := kernel[float64](t, Mirror().P(3).LearningRate(0.01).Units().Done(), []float64{0, 0, 0}, 1)
	for j, w := range got[0] { // one row: one input, the unit is 1; z = −η(p−1)g, g = −2c
		z := 0.01 * 2 * 2 * coefficients[j]
		if want := math.Copysign(math.Sqrt(math.Abs(z)), z); math.Abs(w-want) > 1e-6 {
			t.Errorf("weight %d: %v, want %v", j, w, want)
		}
	}
}

// A hand calculation of momentum, both decays and the adaptive scale, one weight, p = 3.
func TestVariantsAgreeWithAHandCalculation(t *testing.T) {
	const eta, mu, dual, decay, beta = 0.05, 0.9, 0.1, 0.2, 0.99
	rate := float64(float32(eta))
	for _, v := range []struct {
		name                  string
		opt                   *Config
		mu, dual, decay, beta float64
	}{
		{"Nesterov's momentum", Mirror().P(3).LearningRate(eta).Momentum(mu).Nesterov(), mu, 0, 0, 0},
		{"momentum", Mirror().P(3).LearningRate(eta).Momentum(mu), mu, 0, 0, 0},
		{"dual decay", Mirror().P(3).LearningRate(eta).DualDecay(dual), 0, dual, 0, 0},
		{"weight decay", Mirror().P(3).LearningRate(eta).WeightDecay(decay), 0, 0, decay, 0},
		{"adaptive", Mirror().P(3).LearningRate(eta).Adaptive(beta), 0, 0, 0, beta},
		{"dual decay, p = 2", Mirror().P(2).LearningRate(eta).DualDecay(dual), 0, dual, 0, 0},
	} {
		p := v.opt.rest().potential.value
		w := start()
		m, s := make([]float64, 5), make([]float64, 5)
		var want [][]float64
		for k := range 10 {
			for j := range w {
				g := 2 * coefficients[j] * (w[j] - 1)
				if v.beta > 0 {
					s[j] = v.beta*s[j] + (1-v.beta)*g*g
					g /= math.Sqrt(s[j]/(1-math.Pow(v.beta, float64(k+1)))) + 1e-8
				}
				g += v.decay * w[j]
				m[j] = v.mu*m[j] + g
				step := m[j]
				if v.opt.nesterov {
					step = g + v.mu*m[j]
				}
				z := math.Copysign(math.Pow(math.Abs(w[j]), p-1), w[j])*(1-rate*v.dual) - rate*step
				w[j] = math.Copysign(math.Pow(math.Abs(z), 1/(p-1)), z)
			}
			want = append(want, append([]float64(nil), w...))
		}
		// The correction 1 − βᵗ is a float32: 1e-7 relative, over ten steps.
		compare(t, v.name, run[float64](t, v.opt.Done(), 10), want, 1e-5)
	}
}

func TestClippingBoundsTheWholeGradient(t *testing.T) {
	w := run[float64](t, Mirror().LearningRate(1).ClipByNorm(0.01).Done(), 1)[0]
	var norm float64
	for j, v := range start() {
		norm += (w[j] - v) * (w[j] - v)
	}
	if norm = math.Sqrt(norm); math.Abs(norm-0.01) > 1e-8 {
		t.Errorf("a step of length %v, want 0.01", norm)
	}
}

func TestSchedulesInTheGraphAreThoseOnTheHost(t *testing.T) {
	for name, s := range map[string]Schedule{"triangular": Triangular(12, 4), "cosine": Cosine(12), "step": Step(3, 0.5),
		"constant": Constant()} {
		got := run[float64](t, Mirror().P(3).LearningRate(0.2).Schedule(s).Done(), 12)
		// the factor is a float32
		compare(t, name, got, twin(mirror.Power(3), func(k int) float64 { return 0.2 * s.At(k) }, 12), 1e-5)
	}
	for name, s := range map[string]Schedule{"no rise": Triangular(12, 0), "peak in the last step": Triangular(12, 11),
		"one step": Triangular(1, 0)} {
		got := run[float64](t, Mirror().P(3).LearningRate(0.2).Schedule(s).Done(), 12)
		compare(t, name, got, twin(mirror.Power(3), func(k int) float64 { return 0.2 * s.At(k) }, 12), 1e-5)
		if want := map[bool]float64{true: 0, false: 1}[name == "peak in the last step"]; s.At(0) != want ||
			got[0][0] == start()[0] && want == 1 {
			t.Errorf("%s: starts at %v, want %v", name, s.At(0), want)
		}
	}
	if s := Triangular(12, 11); s.At(11) != 1 || s.At(12) != 0 {
		t.Errorf("a peak in the last step: %v, %v after it", s.At(11), s.At(12))
	}
	if s := Triangular(100, 20); s.At(0) != 0 || s.At(20) != 1 || s.At(100) != 0 || s.At(10) != 0.5 || s.At(60) != 0.5 {
		t.Errorf("triangular: %v %v %v %v %v", s.At(0), s.At(10), s.At(20), s.At(60), s.At(100))
	}
}

// One compiled step serves every p: change the variable, not the graph.
func TestPCanChangeWithoutCompiling(t *testing.T) {
	store := model.NewStore()
	opt := Mirror().P(2).LearningRate(0.05).Group("bias", Under("model/b"), Power(2), 0).Done()
	built := 0
	exec, err := model.NewExec(backend(t), store, func(scope *model.Scope, g *Graph) *Node {
		built++
		m := scope.In("model")
		w, b := m.VariableWithValue("w", start()).NodeValue(g), m.VariableWithValue("b", start()).NodeValue(g)
		loss := Add(ReduceAllSum(Mul(ConstAs(w, coefficients), Square(AddScalar(w, -1)))),
			ReduceAllSum(Mul(ConstAs(b, coefficients), Square(AddScalar(b, -1)))))
		opt.UpdateGraph(scope, g, loss)
		return loss
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []float64{2, 3, 1.1, 10} {
		if _, err := exec.Compile(); err != nil { // the variables exist from here on
			t.Fatal(err)
		}
		for _, name := range []string{"/model/w", "/model/b"} {
			if err := store.GetVariable(name).SetValue(tensors.FromValue(start())); err != nil {
				t.Fatal(err)
			}
		}
		if err := opt.Set(store.RootScope(), "", p, 0.05); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := exec.Call(); err != nil {
				t.Fatal(err)
			}
		}
		rate := constant(float64(float32(0.05)))
		for name, psi := range map[string]mirror.Potential{"/model/w": mirror.Power(p), "/model/b": mirror.Power(2)} {
			got := tensors.MustCopyFlatData[float64](store.GetVariable(name).MustValue())
			compare(t, fmt.Sprint(name, " p = ", p), [][]float64{got}, twin(psi, rate, 5)[4:], 1e-9)
		}
	}
	if built != 1 {
		t.Errorf("the graph was built %d times", built)
	}
	if err := opt.Set(store.RootScope(), "", 1, 0); err == nil {
		t.Error("p = 1 was accepted")
	}
}

// A weight whose gradient is 0, or any weight while the rate is 0, keeps its bits, even where z underflows or 1/(p−1)
// magnifies rounding.
func TestWeightsThatNothingMovesKeepTheirBits(t *testing.T) {
	weights := []float32{0.02, -0.02, 1e-5, 0.7, -3, 1e-30, 0}
	for name, psi := range map[string]Potential{"p = 1.00001": Power(1.00001), "p = 1.1": Power(1.1), "p = 3": Power(3),
		"p = 10": Power(10), "p = 30": Power(30), "hyperbolic": HyperbolicEntropy(0.3)} {
		for _, c := range []struct{ rate, grad, decay float64 }{{0, 1, 0}, {0.1, 0, 0}, {0, 1, 0.1}} {
			w := weights
			for range 100 {
				out, err := CallOnce(backend(t), func(w *Node) *Node {
					return psi.step(w, MulScalar(OnesLike(w), c.grad), ConstAs(w, c.rate), Const(w.Graph(), psi.value), c.decay, nil)
				}, w)
				if err != nil {
					t.Fatal(err)
				}
				w = tensors.MustCopyFlatData[float32](out)
			}
			for j := range w {
				if math.Float32bits(w[j]) != math.Float32bits(weights[j]) {
					t.Errorf("%s, rate %v, gradient %v, decay %v: %v became %v", name, c.rate, c.grad, c.decay, weights[j], w[j])
				}
			}
		}
	}
}

// What the package promises of float32: a step is off by some ε/(p−1), and by some ε for p > 2, also where z
// underflows.
func TestFloat32ServesExtremeP(t *testing.T) {
	for _, p := range []float64{1.001, 1.01, 1.1, 3, 10, 30} {
		w, g := []float32{0.02, -0.02, 1e-5, 0.7, -1.5}, []float32{1e-3, 1e-6, -1e-10, 0.3, 1e-20}
		out, err := CallOnce(backend(t), func(w, g *Node) *Node {
			return Power(p).step(w, g, ConstAs(w, 0.1),
				Const(w.Graph(), p), 0, nil)
		}, w, g)
		if err != nil {
			t.Fatal(err)
		}
		for j, got := range tensors.MustCopyFlatData[float32](out) {
			z := math.Copysign(math.Pow(math.Abs(float64(w[j])), p-1), float64(w[j])) - float64(float32(0.1))*float64(g[j])
			want := math.Copysign(math.Pow(math.Abs(z), 1/(p-1)), z)
			if tol := 4 * 0x1p-24 * max(1, 1/(p-1)); math.Abs(float64(got)-want) > tol*math.Abs(want) {
				t.Errorf("p = %v, weight %v: %v, want %v: off by %.1e, may be by %.1e", p, w[j], got, want,
					math.Abs(float64(got)/want-1), tol)
			}
		}
	}
}

// β = 0.99999999 is 1 as a float32: s/(1−βᵗ) of one gradient is still its square, so that the first step has length η.
func TestAdaptiveBetaMayBeNextToOne(t *testing.T) {
	for _, beta := range []float64{0.9, 0.999, 0.99999999} {
		for j, w := range run[float32](t, Mirror().LearningRate(0.01).Adaptive(beta).Done(), 1)[0] {
			if moved := math.Abs(float64(w) - start()[j]); math.Abs(moved-0.01) > 1e-6 {
				t.Errorf("β = %v: weight %d moved by %v, want 0.01", beta, j, moved)
			}
		}
	}
}

func TestARateIsSetOnlyWhereTheGroupHasOne(t *testing.T) {
	store := model.NewStore()
	all := Under("/")
	opt := Mirror().LearningRate(0.1).Group("own", all, Power(2), 0.3).Group("shared", all, Power(2),
		0).Potential(HyperbolicEntropy(1)).Done()
	rate := func(k int) float32 {
		return tensors.ToScalar[float32](opt.rateVar(store.RootScope(), &opt.groups[k]).MustValue())
	}
	if err := opt.Set(store.RootScope(), "shared", 3, 0.5); err == nil ||
		!strings.Contains(err.Error(), "default's learning rate") || rate(2) != 0.1 {
		t.Errorf("error %v, the default's rate is %v", err, rate(2))
	}
	if err := opt.Set(store.RootScope(), "shared", 3, 0); err != nil {
		t.Error(err)
	}
	if err := opt.Set(store.RootScope(), "own", 3, 0.5); err != nil || rate(0) != 0.5 || rate(2) != 0.1 {
		t.Errorf("error %v, rates %v and %v", err, rate(0), rate(2))
	}
	if opt.Set(store.RootScope(), "own", 3, -1) == nil || opt.Set(store.RootScope(), "", 0, 0) == nil {
		t.Error("a negative rate, or β = 0, was accepted")
	}
}

func TestRestartRefusesAnotherKindOfSchedule(t *testing.T) {
	store := model.NewStore()
	opt := Mirror().Schedule(Cosine(10)).Done()
	if err := opt.Restart(store.RootScope(), Constant()); err == nil || !strings.Contains(err.Error(), "cosine") ||
		!strings.Contains(err.Error(), "constant") {
		t.Errorf("error %v", err)
	}
	if err := opt.Restart(store.RootScope(), Cosine(20)); err != nil {
		t.Error(err)
	}
}

func TestFromScopeKeepsWhatTheScopeDoesNotSay(t *testing.T) {
	store := model.NewStore()
	given := func() *Config {
		return Mirror().P(3).Momentum(0.5).DualDecay(0.1).WeightDecay(0.2).Adaptive(0.9).ClipByNorm(7)
	}
	if c := given().FromScope(store.RootScope()); c.rest().potential.value != 3 || c.momentum != 0.5 || c.dual != 0.1 ||
		c.decay != 0.2 || c.beta2 != 0.9 || c.clip != 7 {
		t.Errorf("%+v", c)
	}
	if c := Mirror().Potential(Entropy()).FromScope(store.RootScope()); c.rest().potential.name != "entropy" {
		t.Errorf("%+v", c)
	}
	store.SetParams(map[string]any{ParamP: 1.5, ParamMomentum: 0.25, ParamAdaptive: 0.5})
	if c := given().FromScope(store.RootScope()); c.rest().potential.value != 1.5 || c.momentum != 0.25 ||
		c.beta2 != 0.5 || c.clip != 7 {
		t.Errorf("%+v", c)
	}
}

func TestTheFirstBadParameterIsNamed(t *testing.T) {
	store := model.NewStore()
	store.RootScope().In("a").VariableWithValue("w", []float32{1, 2})
	store.RootScope().In("b").VariableWithValue("w", []float32{1, float32(math.NaN()), 3})
	if err := FirstNotFinite(store.RootScope()); err == nil || !strings.Contains(err.Error(), "/b/w") ||
		!strings.Contains(err.Error(), "place 1") {
		t.Errorf("error %v", err)
	}
}

func TestBadSettingsPanic(t *testing.T) {
	all := Under("/")
	for name, c := range map[string]*Config{"p": Mirror().P(1), "scale": Mirror().Potential(Quadratic(0)),
		"momentum": Mirror().Momentum(1), "decay": Mirror().WeightDecay(-1), "clip": Mirror().ClipByNorm(math.NaN()),
		"rate": Mirror().LearningRate(-1), "rate that is no number": Mirror().LearningRate(math.NaN()),
		"infinite rate": Mirror().LearningRate(math.Inf(1)),
		"group's rate":  Mirror().Group("a", all, Power(2), -1), "β": Mirror().Potential(HyperbolicEntropy(0)),
		"β that is no number": Mirror().Potential(HyperbolicEntropy(math.NaN())),
		"p for units":         Mirror().P(51).Units(), "potential for units": Mirror().Potential(Entropy()).Units(),
		"second group of a name":               Mirror().Group("a", all, Power(2), 0).Group("a", all, Power(3), 0),
		"group called default":                 Mirror().Group("default", all, Power(2), 0),
		"group called as the schedule's scope": Mirror().Group("schedule", all, Power(2), 0),
		"group without a name":                 Mirror().Group("", all, Power(2), 0),
		"group without a match":                Mirror().Group("a", nil, Power(2), 0),
		"peak past the end":                    Mirror().Schedule(Triangular(12, 12)),
		"peak before the beginning":            Mirror().Schedule(Triangular(12, -1)),
		"triangle of no steps":                 Mirror().Schedule(Triangular(0, 0)),
		"cosine of no steps":                   Mirror().Schedule(Cosine(0)),
		"fall every 0 steps":                   Mirror().Schedule(Step(0, 0.1)),
		"fall by a negative factor":            Mirror().Schedule(Step(3, -0.1)),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a bad %s was accepted", name)
				}
			}()
			c.Done()
		}()
	}
}

// GoMLX's gradient accumulation asks for UpdateGraphWithGradients by an interface of its own.
func TestTheOptimizerTakesAccumulatedGradients(t *testing.T) {
	var o any = Mirror().Done()
	if _, ok := o.(interface {
		UpdateGraphWithGradients(scope *model.Scope, grads []*Node, lossDType dtypes.DType)
	}); !ok {
		t.Error("train.Trainer.AccumulateGradients would refuse it")
	}
}

func TestTheOptimizerIsFoundByName(t *testing.T) {
	store := model.NewStore()
	store.SetParams(map[string]any{optimizer.ParamOptimizer: Name, ParamP: 3.0})
	o, ok := optimizer.FromStore(store).(*Optimizer)
	if !ok || o.rest().potential.value != 3 {
		t.Errorf("got %T %+v", o, o)
	}
}
