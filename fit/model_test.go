package fit

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/matrix"
)

func TestModelsComeBackAsTheyWere(t *testing.T) {
	m := Model{P: 1.5, Loss: "exp", Method: "pgd", Steps: 9, Bias: true, Classes: []float64{0, 4},
		Features: []string{"a", "b"}, Weights: [][]float64{{0.1, -1e-300}}}
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeModel(data)
	if err != nil {
		t.Fatal(err)
	}
	if back.P != 1.5 || !back.Bias || !slices.Equal(back.Weights[0], m.Weights[0]) ||
		!slices.Equal(back.Classes, m.Classes) || !slices.Equal(back.Features, m.Features) {
		t.Errorf("came back as %+v", back)
	}
}

func TestOnlyAModelOfColumnsFromZeroNeedsANewProgram(t *testing.T) {
	for _, zero := range []bool{false, true} {
		data, err := Model{Loss: "exp", Classes: []float64{0, 4}, Weights: [][]float64{{1, 2}}, ZeroBased: zero}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		version := map[bool]string{false: `"version":2,`, true: `"version":3,`}[zero]
		if back, err := DecodeModel(data); err != nil || back.ZeroBased != zero || !strings.Contains(string(data), version) {
			t.Errorf("%s came back as %+v, %v; want %s", data, back, err, version)
		}
	}
	for _, version := range []string{"1", "2"} {
		old := `{"format":"bregman-linear","version":` + version + `,"loss":"exp","classes":[1,2],"weights":[[1,2]]}`
		if m, err := DecodeModel([]byte(old)); err != nil || m.ZeroBased {
			t.Errorf("version %s: %+v, %v", version, m, err)
		}
	}
}

// A model of texts comes back with its columns and classes, in a version that older programs refuse.
func TestAModelOfTextsNeedsANewProgram(t *testing.T) {
	const table = "colour,size,kind\nred,1,no\nblue,2,yes\n,3,yes\nred,2,no\nblue,1,yes\n"
	set, err := dataset.ReadFrom(strings.NewReader(table), "t.csv", dataset.Options{Missing: dataset.MissingMean})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Train(t.Context(), set, Settings{Objective: Auto, Penalty: []float64{0.1}, Scale: "std"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Model.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeModel(data)
	if err != nil || !strings.Contains(string(data), `"version":4,`) || !reflect.DeepEqual(back.Encoding, set.Encoding) ||
		!slices.Equal(back.ClassNames(), []string{"no", "yes"}) {
		t.Fatalf("%v, %s came back as %+v", err, data, back)
	}
	for old, bad := range map[string]string{`"classes":[0,1]`: `"classes":[0,7]`, `"absent":"missing"`: `"absent":"x"`,
		`"fill":[1.8]`: `"fill":[1.8,2]`, `"link":"logistic"`: `"link":"logistic","sigmoid":{"slope":null}`} {
		if !strings.Contains(string(data), old) {
			t.Fatalf("no %s in %s", old, data)
		}
		if _, err := DecodeModel([]byte(strings.Replace(string(data), old, bad, 1))); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestPredictionsUseTheClassesOfTheModel(t *testing.T) {
	x := matrix.FromRows([][]float64{{1, 0}, {0, 1}, {-1, -1}})
	for _, c := range []struct {
		m    Model
		want []float64
	}{
		{Model{Classes: []float64{3, 5}, Weights: [][]float64{{1, -1}}}, []float64{5, 3, 3}},
		{Model{Classes: []float64{1, 2, 3}, Weights: [][]float64{{1, 0}, {0, 1}, {-1, -1}}}, []float64{1, 2, 3}},
		{Model{Classes: []float64{1}, Weights: [][]float64{{1, -1}}}, []float64{1, -1, -1}},
		{Model{Loss: "square", Weights: [][]float64{{2, 3}}}, []float64{2, 3, -5}},
	} {
		got, _, err := c.m.Predict(x)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v (%v), want %v", c.m, got, err, c.want)
		}
	}
	if _, _, err := (Model{Weights: [][]float64{{1}}}).Predict(x); err == nil {
		t.Error("a model of one weight took data of two features")
	}
}

func TestForeignModelFilesAreRefusedInWords(t *testing.T) {
	for text, want := range map[string]string{
		`hello`:              "not a model file",
		`{"format":"other"}`: "its format is \"other\"",
		`{"format":"bregman-linear","version":9}`:                                                                           "version 9",
		`{"format":"bregman-linear","version":1}`:                                                                           "no weights",
		`{"format":"bregman-linear","version":2,"classes":[1,2`:                                                             "cut short",
		`{"format":"bregman-linear","version":2,"loss":"exp","classes":[1,2],"weights":[[1,2]],"features":["a"]}`:           "1 names for 2 features",
		`{"format":"bregman-linear","version":2,"loss":"exp","classes":[1,2],"weights":[[1,2]],"scale":{"factor":[1,2,3]}}`: "scaler is for 3 features",
		`{"format":"bregman-linear","version":1,"classes":[1,2,3],"weights":[[1]]}`:                                         "1 weight vectors for 3 classes",
	} {
		if _, err := DecodeModel([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}

func FuzzDecodeModel(f *testing.F) {
	f.Add([]byte(`{"format":"bregman-linear","version":1,"classes":[0,1],"loss":"exp","weights":[[1,2]]}`))
	f.Add([]byte(`{"format":"bregman-linear","version":2,"classes":[0,1],"loss":"exp","weights":[[1,2]],"scale":{"kind":"std","center":[1,2],"factor":[3,4]}}`))
	f.Add([]byte(`{"format":"bregman-linear","version":3,"classes":[0,1],"loss":"exp","weights":[[1,2]],"zero_based":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeModel(data)
		if err != nil {
			return
		}
		if _, _, err := m.Predict(matrix.NewDense(m.Dim(), make([]float64, m.Dim()))); err != nil {
			t.Fatal(err)
		}
	})
}
