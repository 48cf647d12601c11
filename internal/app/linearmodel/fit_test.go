package linearmodel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// fitted runs a fit with the defaults of the command line and returns its result, what it said and its model.
func fitted(t *testing.T, f Fit) (FitResult, string, *fit.Model, error) {
	t.Helper()
	f = withDefaults(f)
	f.JSON, f.Out = true, filepath.Join(t.TempDir(), "model.json")
	var out, said bytes.Buffer
	err := perform(t.Context(), &f, &out, &said)
	if err != nil {
		if _, missing := os.Stat(f.Out); missing == nil {
			t.Error("a fit that failed leaves a model")
		}
		return FitResult{}, said.String(), nil, err
	}
	var r FitResult
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(f.Out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := fit.DecodeModel(data)
	if err != nil {
		t.Fatal(err)
	}
	return r, said.String(), &m, nil
}

// withDefaults adds the defaults of the command line, with a margin for the objective.
func withDefaults(f Fit) Fit {
	f.Objective = cmp.Or(f.Objective, "margin")
	if f.Loss == "" {
		f.Loss = "exp"
	}
	if f.Method == "" {
		f.Method = "auto"
	}
	if f.Steps == 0 {
		f.Steps = 100_000
	}
	if f.P == nil {
		f.P = []float64{2}
	}
	f.Seed = 1
	return f
}

// table writes a CSV with the given columns and a label from each row, and returns its path.
func table(t *testing.T, header string, n int, row func(i int) string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(header + "\n")
	for i := range n {
		b.WriteString(row(i) + "\n")
	}
	path := filepath.Join(t.TempDir(), "data.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAColumnOfIdentifiersDoesNotSpoilAFit(t *testing.T) {
	for _, first := range []float64{1e7, 1e10, 1.7e12, 1e15} {
		data := table(t, "id,x,label", 40, func(i int) string {
			return fmt.Sprintf("%.0f,%d,%d", first+float64(37*i),
				2*(i%2)-1, i%2)
		})
		for _, p := range []float64{1.1, 2, 10} {
			r, said, m, err := fitted(t, Fit{Data: data, P: []float64{p}})
			if err != nil {
				t.Errorf("from %v, p = %v: %v", first, p, err)
				continue
			}
			if *r.TrainAccuracy != 1 || r.Separable == nil || !*r.Separable || !(*r.Gap <= 1e-3) || r.Soft != 0 {
				t.Errorf("from %v, p = %v: %+v, weights %v, said %q", first, p, r, m.Weights, said)
			}
		}
	}
}

// Labels that no weights explain, beside a column of times: the accelerated method does not get anywhere on it.
func TestAScaleThatDefeatsTheSolverIsNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	data := table(t, "time,x,label", 200, func(i int) string {
		y := rng.IntN(2)
		return fmt.Sprintf("%d,%.4f,%d", 1_700_000_000_000+i*37, rng.NormFloat64()+float64(y), y)
	})
	_, _, _, err := fitted(t, Fit{Data: data})
	for _, want := range []string{`feature "time" is`, `times as large as feature "x"`, "--scale max"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	r, _, _, err := fitted(t, Fit{Data: data, Scale: "max"})
	if err != nil || *r.TrainAccuracy < 0.6 {
		t.Errorf("scaled: %+v, %v", r, err)
	}
}

func TestFeaturesThatCannotBeScaledAreNamed(t *testing.T) {
	for _, size := range []string{"1e-320", "1e308"} {
		for _, scale := range []string{"max", "std"} {
			data := table(t, "a,b,label", 20, func(i int) string {
				return fmt.Sprintf("%d,%s,%d", i, []string{"-", ""}[i%2]+size, i%2)
			})
			_, _, _, err := fitted(t, Fit{Data: data, Scale: scale})
			if err == nil || !strings.Contains(err.Error(), `"b": feature 2 has values up to `+
				strings.Replace(size, "e3", "e+3", 1)) {
				t.Errorf("%s, %s: %v", size, scale, err)
			}
		}
	}
}

// noisy writes some overlapping classes of a random size and shape.
func noisy(t *testing.T, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 9))
	n, apart := 30+rng.IntN(60), 0.5+2*rng.Float64()
	return table(t, "a,b,c,label", n, func(int) string {
		y := rng.IntN(2)
		return fmt.Sprintf("%.5f,%.5f,%.5f,%d", rng.NormFloat64()+apart*float64(y), rng.NormFloat64(),
			1+0.1*rng.NormFloat64(), y)
	})
}

func TestCrossValidationDoesNotChangeTheModel(t *testing.T) {
	soft := 0
	for seed := range uint64(32) {
		data := noisy(t, seed)
		plain, _, without, err := fitted(t, Fit{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		chosen, said, with, err := fitted(t, Fit{Data: data, CV: 5})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(said, "\n"); n > 4 {
			t.Errorf("seed %d: %d lines about five folds:\n%s", seed, n, said)
		}
		if fmt.Sprint(without.Weights) != fmt.Sprint(with.Weights) || plain.Method != chosen.Method ||
			plain.Soft != chosen.Soft {
			t.Errorf("seed %d: %v by %s with soft %v, after cross-validation %v by %s with soft %v",
				seed, without.Weights, plain.Method, plain.Soft, with.Weights, chosen.Method, chosen.Soft)
		}
		if plain.Soft > 0 {
			soft++
		}
		if (plain.Soft > 0) != (plain.None != "") || plain.Soft > 0 && (plain.Separable == nil || *plain.Separable) {
			t.Errorf("seed %d: soft %v, separable %v, %q", seed, plain.Soft, plain.Separable, plain.None)
		}
	}
	if soft < 16 {
		t.Errorf("only %d of 32 sets needed a soft margin: nothing was tested", soft)
	}
}

// A fit that is stopped long before it separates the classes, which can be separated.
func TestAFitThatStopsEarlyDoesNotCallTheDataInseparable(t *testing.T) {
	data := table(t, "x,y,label", 20, func(i int) string {
		y := min(i%4, 1)
		return fmt.Sprintf("1000,%d,%d", 2*y-1, y)
	})
	r, _, _, err := fitted(t, Fit{Data: data, Method: "pgd", Steps: 2, LR: 1e-9})
	if err != nil || r.Margin != nil || r.Separable != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if text := r.text(); !strings.Contains(text, "no positive margin was found") || strings.Contains(text, "not separa") {
		t.Error(text)
	}
}

func TestARegressionThatHasNotConvergedSaysSo(t *testing.T) {
	data := table(t, "a,b,y", 30, func(i int) string {
		x := float64(i) / 30
		return fmt.Sprintf("%v,%v,%v", x, 10*x*x, 3*x+0.1*float64(i%2))
	})
	for steps, want := range map[settings.Count]bool{50: true, 200_000: false} {
		_, said, _, err := fitted(t, Fit{Data: data, Loss: "square", Steps: steps})
		if err != nil || strings.Contains(said, "not converged") != want {
			t.Errorf("%d steps: %q, %v", steps, said, err)
		}
	}
}

// Three classes in a row: the outer ones can be separated from the rest, the middle one cannot.
func TestAClassThatCannotBeSeparatedFromTheRestIsNamed(t *testing.T) {
	data := table(t, "x,label", 6, func(i int) string {
		return []string{"1,1", "1.5,1", "2,2", "2.2,2", "3,3",
			"3.5,3"}[i]
	})
	r, _, _, err := fitted(t, Fit{Data: data, Bias: true, Multiclass: "rest"})
	if err != nil || !strings.Contains(r.None, "no weights separate class 2 from the rest") || r.Separable == nil ||
		*r.Separable {
		t.Errorf("%q, %v, %v", r.None, r.Separable, err)
	}
}

// One class can be in the middle if its score need only be above the others where its examples are.
func TestSeveralClassesHaveAJointMargin(t *testing.T) {
	data := table(t, "x,label", 6, func(i int) string {
		return []string{"1,1", "1.5,1", "2,2", "2.2,2", "3,3", "3.5,3"}[i]
	})
	r, said, m, err := fitted(t, Fit{Data: data, Bias: true})
	if err != nil || !r.Joint || r.Gap == nil || *r.Gap > 1e-3 || r.Margin == nil || *r.TrainAccuracy != 1 {
		t.Fatalf("%+v, said %q, %v", r, said, err)
	}
	set, err := dataset.Open(t.Context(), data, dataset.Options{Bias: true})
	if err != nil {
		t.Fatal(err)
	}
	prob, _ := linear.Joint(set.X, []int{0, 0, 1, 1, 2, 2}, 3)
	var w []float64
	for _, v := range m.Weights {
		w = append(w, v...)
	}
	if lower := prob.LeastMargin(w) / mirror.Norm(w, 2); math.Abs(lower-*r.Margin) > 1e-9*lower {
		t.Errorf("the model has the margin %v, reported %v", lower, *r.Margin)
	}
	if text := r.text(); !strings.Contains(text, "⟨w_y−w_k,x⟩") || !strings.Contains(text, "certified within") {
		t.Error(text)
	}
	// and with folds
	cv, _, _, err := fitted(t, Fit{Data: "wine", Scale: "std", Bias: true, P: []float64{1.5, 3}, CV: 3})
	if err != nil || !cv.Joint || len(cv.CV) != 2 || cv.CV[0].Accuracy < 0.9 {
		t.Errorf("%+v, %v", cv.CV, err)
	}
}

// Both classes 1 and 2 are on both sides of the other: no scores are right, and the proof names examples.
func TestClassesThatCannotBeSeparatedJointlyAreNamed(t *testing.T) {
	data := table(t, "x,label", 6, func(i int) string {
		return []string{"1,1", "1.5,2", "2,1", "2.2,2", "3,3", "3.5,3"}[i]
	})
	r, _, _, err := fitted(t, Fit{Data: data, Bias: true})
	if err != nil || !strings.Contains(r.None, "no weights put the right class first on all examples") ||
		r.Separable == nil || *r.Separable {
		t.Errorf("%q, %v, %v", r.None, r.Separable, err)
	}
}

func TestASoftMarginThatIsNotPositiveSaysSo(t *testing.T) {
	data := table(t, "a,b,label", 3, func(i int) string { return []string{"1,0,1", "-1,0,1", "0,1,1"}[i] })
	r, said, _, err := fitted(t, Fit{Data: data})
	const want = "the mean of the worst 40 % of margins is not positive either"
	if err != nil || r.Margin != nil || !strings.Contains(r.None, want) || !strings.Contains(said, want) {
		t.Errorf("%q, said %q, %v", r.None, said, err)
	}
}

func TestCentredExamplesOfOneLabelAreRefused(t *testing.T) {
	data := table(t, "a,b,label", 3, func(i int) string { return []string{"0,1,0", "1,0,0", "0,1,0"}[i] })
	_, _, _, err := fitted(t, Fit{Data: data, Scale: "std", P: []float64{3}})
	if err == nil || !strings.Contains(err.Error(), "use max") {
		t.Error(err)
	}
}

func TestTheColumnOfLabelsIsNamed(t *testing.T) {
	data := table(t, "target,size,female", 20, func(i int) string {
		return fmt.Sprintf("%d,%d,%d", i%2, 3*i,
			min(i%3, 1))
	})
	for label, want := range map[string]string{"": "female", "target": "target"} {
		r, _, m, err := fitted(t, Fit{Data: data, Table: command.Table{Label: label}, Scale: "max"})
		if err != nil || r.Label != want || !strings.Contains(r.text(), fmt.Sprintf("labels in column %q", want)) {
			t.Errorf("--label %q: %q, %v\n%s", label, r.Label, err, r.text())
		}
		if label == "" {
			continue
		}
		other := table(t, "size,female", 2, func(i int) string { return fmt.Sprintf("%d,1", i) })
		env := &command.Env{Observer: command.Lines(io.Discard)}
		if set, err := loadFor(t.Context(), env, *m, other, dataset.Options{}); err != nil || !set.Unlabeled {
			t.Errorf("a table without the labels: %v", err)
		}
		m.Encoding = nil // as an earlier program wrote it
		if _, err := loadFor(t.Context(), env, *m, other, dataset.Options{}); err == nil ||
			!strings.Contains(err.Error(), "--unlabeled") {
			t.Error(err)
		}
	}
}

// Whenever it comes, an interrupt leaves a run folder that says so, and no model.
func TestAnInterruptWhilePenaltiesAreTriedIsNoFailure(t *testing.T) {
	interrupted := 0
	for k := range 40 {
		runs := t.TempDir()
		ctx, stop := context.WithTimeout(t.Context(), time.Duration(k*k)*200*time.Microsecond)
		f := withDefaults(Fit{Data: "iris", Objective: "auto", P: Geometry{1, 2}, Runs: runs, Loss: "auto"})
		var out, said bytes.Buffer
		err := perform(ctx, &f, &out, &said)
		stop()
		if err == nil {
			continue
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		dirs, _ := filepath.Glob(filepath.Join(runs, "*"))
		if len(dirs) == 0 { // while the data was read
			continue
		}
		info, err := runlog.ReadInfo(dirs[0])
		_, model := os.Stat(filepath.Join(dirs[0], "model.json"))
		if model == nil && strings.Contains(out.String(), "is chosen") { // in the fit that follows, which leaves its model
			continue
		}
		if err != nil || info.Status != runlog.Interrupted || model == nil {
			t.Errorf("%v, status %q, model %v: %s", err, info.Status, model, out.String())
		}
		interrupted++
	}
	if interrupted < 3 {
		t.Errorf("%d fits were interrupted: the test is not looking", interrupted)
	}
}
