package linearmodel

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bregman-ml/bregman/fit"
)

// A replay has the weights that a fit stopped at each of its points returns, and ends with those of the run.
func TestAReplayIsTheTrajectoryOfTheRun(t *testing.T) {
	for name, f := range map[string]Fit{
		"accelerated":   {Data: "r100", P: []float64{1.5}},
		"exact":         {Data: "r2", P: []float64{3}, Gap: 1e-6},
		"soft":          {Data: "r2", P: []float64{3}, Soft: 0.3},
		"barely":        {Data: "r2var:8", P: []float64{2}},
		"not separable": {Data: "r2var:2", P: []float64{2}},
		"scaled":        {Data: "r2", P: []float64{3}, Scale: "max"},
		"lp":            {Data: "r100", P: []float64{1.5}, LP: []float64{1e-2}, Loss: "logistic"},
		"l2":            {Data: "r2var:2", P: []float64{2}, L2: 1e-2},
		"pgd":           {Data: "r2", P: []float64{3}, Method: "pgd", Steps: 3000},
		"mini-batches":  {Data: "r100", P: []float64{2}, Batch: 4, LR: 1e-3, Steps: 500, Init: "normal:0.1"},
		"normalized":    {Data: "r2", P: []float64{1.5}, Method: "normalized", Steps: 300},
		"squared":       {Data: "r2", P: []float64{3}, Method: "squared", Steps: 300},
		"steepest":      {Data: "r2", P: []float64{3}, Method: "steepest", Steps: 300},
	} {
		if f.Loss == "" {
			f.Loss = "exp"
		}
		if f.Method == "" {
			f.Method = "auto"
		}
		if f.Steps == 0 {
			f.Steps = 100_000
		}
		f.Seed, f.JSON, f.Out = 1, true, filepath.Join(t.TempDir(), "model.json")
		settings := f // Run may change what it is called on
		var out, said bytes.Buffer
		if err := perform(t.Context(), &f, &out, &said); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var result FitResult
		if err := json.Unmarshal(out.Bytes(), &result); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(f.Out)
		if err != nil {
			t.Fatal(err)
		}
		model, err := fit.DecodeModel(data)
		if err != nil {
			t.Fatal(err)
		}
		if (result.Soft > 0) != (name == "soft" || name == "not separable") {
			t.Errorf("%s: soft %v", name, result.Soft)
		}
		r, err := settings.Replay(t.Context(), result.LR, result.Soft, result.Steps)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		last := len(r.W) - 1
		if !slices.Equal(r.W[last], model.Weights[0]) || r.Points[last].Step != result.Steps || r.Stopped {
			t.Errorf("%s: ends at step %d with %v, the run at step %d with %v", name,
				r.Points[last].Step, r.W[last], result.Steps, model.Weights[0])
		}
		unknown, err := settings.Replay(t.Context(), 0, 0, int(settings.Steps)) // as of a run without a result
		if err != nil || !slices.Equal(unknown.W[len(unknown.W)-1], model.Weights[0]) {
			t.Errorf("%s: without the result the replay ends elsewhere, %v", name, err)
		}
	}
}
