package linearmodel

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/mirror"
)

// margins runs margin with the defaults of the command line.
func margins(t *testing.T, m Margin) (MarginResult, string, error) {
	t.Helper()
	m.Missing = "mean"
	m.JSON = true
	if m.P == nil {
		m.P = []float64{2}
	}
	var out, said bytes.Buffer
	err := perform(t.Context(), &m, &out, &said)
	var r MarginResult
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &r)
	}
	return r, said.String(), err
}

func TestTheMarginOfSeveralClassesIsJoint(t *testing.T) {
	for _, m := range []Margin{{Data: "wine"}, {Data: "wine", Bias: true}, {Data: "wine", Intercept: true}} {
		m.Out = filepath.Join(t.TempDir(), "w.npy")
		r, said, err := margins(t, m)
		if err != nil || len(r.Classes) != 3 || r.Gap > 1e-6 || r.N != 178 || len(r.Support) == 0 ||
			r.Support[0].Against == "" || r.Support[0].Against == r.Support[0].Class || r.Intercept != m.Intercept {
			t.Errorf("%+v, said %q, %v", r, said, err)
		}
		w, err := dataset.ReadWeights(m.Out)
		if err != nil || len(w) != 3 {
			t.Errorf("%d rows of weights, %v", len(w), err)
		}
	}
}

func TestAMarginWithAnInterceptIsAtLeastThatWithABias(t *testing.T) {
	with, _, err := margins(t, Margin{Data: "r2", Intercept: true})
	if err == nil || !strings.Contains(err.Error(), "--intercept makes no sense") {
		t.Errorf("absorbed labels: %+v, %v", with, err)
	}
	data := table(t, "x,y,label", 6, func(i int) string {
		return []string{"5,1,0", "5.5,1,0", "6,2,0", "7,2,1", "7,1,1", "8,3,1"}[i]
	})
	bias, _, err := margins(t, Margin{Data: data, Bias: true})
	if err != nil {
		t.Fatal(err)
	}
	free, _, err := margins(t, Margin{Data: data, Intercept: true})
	if err != nil || free.Lower < bias.Lower || free.Gap > 1e-6 {
		t.Errorf("%v and %v, %v", free.Lower, bias.Lower, err)
	}
	if r, _, err := margins(t, Margin{Data: data, Bias: true, Intercept: true}); err == nil {
		t.Errorf("both: %+v", r)
	}
	if r, _, err := margins(t, Margin{Data: "diabetes", P: []float64{float64(mirror.Exponent(2))}}); err == nil {
		t.Errorf("targets: %+v", r)
	}
}
