package linear

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/matrix"
)

// fourExamples is the problem of the checkpoints below, which an earlier program wrote.
func fourExamples() Problem {
	x := matrix.FromRows([][]float64{{2, 1, 0}, {0, 3, 1}, {-1, -2, 1}, {-3, 0, 2}})
	return Problem{X: x, Y: []float64{1, 1, -1, -1}}
}

var positionalCheckpoints = []struct {
	method  Method
	step    int
	numbers []float64
	vectors [][]float64
	want    Checkpoint
}{
	{
		Accelerated{P: 3, Gap: 1e-6, Steps: 40}, 8,
		[]float64{8.248451063868346, 3.07364665317377, -44.87254308511296, 0.09066419322696945, 2.383483299932754,
			0.015820494477804425, 8, 0, 1},
		[][]float64{
			{14.76457607381643, 15.940896346639297, -2.0245728497006787},
			{45.47004849427216, 45.798116190217215, 48.670941616795695, 48.34287392085064},
			{1.4245958838692816, 1.5754041161307184, 0.01604183505929062},
			{1.2160916510918829, 1.7839083489081173, 0.3116841278855459},
			{},
		},
		Checkpoint{"accelerated", 8,
			map[string]float64{"sum": 8.248451063868346, "lipschitz": 3.07364665317377, "logsumexp": -44.87254308511296,
				"spare": 0.09066419322696945, "upper": 2.383483299932754, "gap": 0.015820494477804425,
				"tries": 8, "chosen": 0, "all": 1},
			map[string][]float64{
				"weights": {14.76457607381643, 15.940896346639297, -2.0245728497006787},
				"margins": {45.47004849427216, 45.798116190217215, 48.670941616795695, 48.34287392085064},
				"mean_b":  {1.4245958838692816, 1.5754041161307184, 0.01604183505929062},
				"mean_mu": {1.2160916510918829, 1.7839083489081173, 0.3116841278855459},
				"rows":    {}},
		},
	},
	{
		Newton{P: 3, Lambda: 1e-3, Gap: 1e-6}, 4,
		[]float64{2, 0.0007611814430953228, -0.07689968239507877},
		[][]float64{
			{1.5334940546169515, 1.7470670594961302, -0.3841649805838314},
			{4.814055168730034, 4.85703619790456, 5.4117931541930435, 5.368812125018518},
		},
		Checkpoint{"newton", 4,
			map[string]float64{"p": 2, "lambda": 0.0007611814430953228, "lower": -0.07689968239507877},
			map[string][]float64{
				"weights": {1.5334940546169515, 1.7470670594961302, -0.3841649805838314},
				"scores":  {4.814055168730034, 4.85703619790456, 5.4117931541930435, 5.368812125018518}},
		},
	},
	{
		MirrorDescent{P: 3, Eta: 0.01, Steps: 400}, 9,
		[]float64{0.01, 0, 0},
		[][]float64{
			{0.2704058460124154, 0.28509953721473225, -0.14309340625164566},
			{0.0731193215576901, 0.08128174612005448, -0.020475722912698505},
			{},
		},
		Checkpoint{"pgd", 9,
			map[string]float64{"eta": 0.01, "mass": 0, "upper": 0},
			map[string][]float64{
				"weights":    {0.2704058460124154, 0.28509953721473225, -0.14309340625164566},
				"dual":       {0.0731193215576901, 0.08128174612005448, -0.020475722912698505},
				"dual_start": {}},
		},
	},
	{
		MirrorDescent{P: 3, Eta: 0.01, Steps: 400, Normalized: true}, 9,
		[]float64{0.01, 0.09, 0},
		[][]float64{
			{0.35470492329827563, 0.3797162327159117, -0.18166709302779258},
			{0.1258155826120356, 0.14418441738796442, -0.03300293268916864},
			{0, 0, 0},
		},
		Checkpoint{"normalized", 9,
			map[string]float64{"eta": 0.01, "mass": 0.09, "upper": 0},
			map[string][]float64{
				"weights":    {0.35470492329827563, 0.3797162327159117, -0.18166709302779258},
				"dual":       {0.1258155826120356, 0.14418441738796442, -0.03300293268916864},
				"dual_start": {0, 0, 0}},
		},
	},
	{
		MirrorDescent{P: 3, Eta: 0.01, Steps: 400, Squared: true}, 9,
		[]float64{0.01, 0.09, 0},
		[][]float64{
			{0.17214885666256946, 0.17701281418271958, -0.09531808029720155},
			{0.1312395250044112, 0.1387604749955888, -0.0402352717339258},
			{0, 0, 0},
		},
		Checkpoint{"squared", 9,
			map[string]float64{"eta": 0.01, "mass": 0.09, "upper": 0},
			map[string][]float64{
				"weights":    {0.17214885666256946, 0.17701281418271958, -0.09531808029720155},
				"dual":       {0.1312395250044112, 0.1387604749955888, -0.0402352717339258},
				"dual_start": {0, 0, 0}},
		},
	},
	{
		SteepestDescent{P: 3, Eta: 0.01, Steps: 400}, 9,
		[]float64{0.01, 0, 0},
		[][]float64{
			{0.1395081275529888, 0.14271753714314436, -0.07785159789543607},
			{0.9431703114581114, 1.0324673783683267, -0.2725089204619201},
			{},
		},
		Checkpoint{"steepest", 9,
			map[string]float64{"eta": 0.01, "mass": 0, "upper": 0},
			map[string][]float64{
				"weights":    {0.1395081275529888, 0.14271753714314436, -0.07785159789543607},
				"dual":       {0.9431703114581114, 1.0324673783683267, -0.2725089204619201},
				"dual_start": {}},
		},
	},
}

func TestPositionalCheckpointsGetTheNamesOfTheirEntries(t *testing.T) {
	var methods []string
	for _, c := range positionalCheckpoints {
		methods = append(methods, c.method.Name())
		got, err := PositionalCheckpoint(c.method.Name(), c.step, c.numbers, c.vectors)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.method.Name(), got, err)
		}
	}
	if slices.Sort(methods); !slices.Equal(methods, slices.Sorted(slices.Values(MethodNames()))) {
		t.Errorf("only %v are tried", methods)
	}
}

// The checkpoints were written with the AVX2 kernels, with which a resumed fit agrees with a whole one bit for bit.
// Other kernels round differently, and weights of about 1 may differ by some 1e-13 after these steps: 1e-9 leaves room.
func TestFitsResumeFromPositionalCheckpoints(t *testing.T) {
	for _, c := range positionalCheckpoints {
		saved, err := PositionalCheckpoint(c.method.Name(), c.step, c.numbers, c.vectors)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.method.Fit(t.Context(), fourExamples(), Hooks{Resume: &saved})
		if err != nil {
			t.Errorf("%s: %v", c.method.Name(), err)
			continue
		}
		want, err := c.method.Fit(t.Context(), fourExamples(), Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9 }
		if got.Steps != want.Steps || !slices.EqualFunc(got.W, want.W, near) {
			t.Errorf("%s: %d steps and %v, want %d and %v", c.method.Name(), got.Steps, got.W, want.Steps, want.W)
		}
	}
}

func TestPositionalCheckpointsOfOtherShapesAreRefused(t *testing.T) {
	for want, c := range map[string]struct {
		method           string
		numbers, vectors int
	}{
		`method "fly": choose one of`:                          {"fly", 3, 3},
		"with 8 numbers and 5 vectors: want 9 and 5":           {"accelerated", 8, 5},
		"of method newton with 3 numbers and 3 vectors: want ": {"newton", 3, 3},
		"of method steepest with 3 numbers and 2 vectors":      {"steepest", 3, 2},
	} {
		_, err := PositionalCheckpoint(c.method, 1, make([]float64, c.numbers), make([][]float64, c.vectors))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}

func TestACheckpointWithoutAnEntryIsRefused(t *testing.T) {
	for _, c := range positionalCheckpoints {
		try := func(name string, bad Checkpoint) {
			_, err := c.method.Fit(t.Context(), fourExamples(), Hooks{Resume: &bad})
			if err == nil || !strings.Contains(err.Error(), `"`+name+`"`) {
				t.Errorf("%s without %q: %v", c.method.Name(), name, err)
			}
		}
		for name := range c.want.Scalars {
			bad := c.want
			bad.Scalars = maps.Clone(bad.Scalars)
			delete(bad.Scalars, name)
			try(name, bad)
		}
		for name := range c.want.Vectors {
			bad := c.want
			bad.Vectors = maps.Clone(bad.Vectors)
			delete(bad.Vectors, name)
			try(name, bad)
		}
	}
}

func TestACheckpointOfOtherDataIsRefused(t *testing.T) {
	prob, _ := random(3, 7, 5)
	for _, c := range positionalCheckpoints {
		if _, err := c.method.Fit(t.Context(), prob, Hooks{Resume: &c.want}); err != errOtherData {
			t.Errorf("%s: %v", c.method.Name(), err)
		}
	}
}
