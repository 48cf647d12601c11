package train

import (
	"encoding/json"
	"fmt"
)

// Record is what is known after an epoch: a line of metrics.jsonl.
type Record struct {
	Epoch
	Score       // zero if training images are held back: the test images are seen at the end of the run
	*Validation // nil if none are held back
	Geometry
	Elapsed     float64 `json:"elapsed"`               // seconds of the run so far, with evaluation and over all its legs
	Unevaluated bool    `json:"unevaluated,omitempty"` // interrupted before the test images were seen: a resume evaluates
	Check       string  `json:"check,omitempty"`       // of an epoch that was trained twice: "same", or what differs
}

// Curve is the score of the epoch, on the images that Curve names: "validation" or "test".
func (r Record) Curve() (s Score, on string) {
	if r.Validation != nil {
		return Score(*r.Validation), "validation"
	}
	return r.Score, "test"
}

// setScore notes what Session.Measure found.
func (r *Record) setScore(s Score, validated bool) {
	r.Score, r.Validation = s, nil
	if validated {
		v := Validation(s)
		r.Score, r.Validation = Score{}, &v
	}
}

// MarshalJSON omits what was not evaluated.
func (r Record) MarshalJSON() ([]byte, error) {
	if r.Validation != nil && !r.Unevaluated {
		return json.Marshal(struct {
			Epoch
			Validation
			Geometry
			Elapsed float64 `json:"elapsed"`
			Check   string  `json:"check,omitempty"`
		}{r.Epoch, *r.Validation, r.Geometry, r.Elapsed, r.Check})
	}
	if r.Unevaluated {
		return json.Marshal(struct {
			Epoch
			Elapsed     float64 `json:"elapsed"`
			Unevaluated bool    `json:"unevaluated"`
			Check       string  `json:"check,omitempty"`
		}{r.Epoch, r.Elapsed, true, r.Check})
	}
	type plain Record // without this method
	return json.Marshal(plain(r))
}

// How much larger the largest weight may become in the first epoch, in which p = 10 overwrites the initial weights, and
// in one after it. Of 188 runs that learned, a third of them on a GPU, none passed 6 and 3.1.
const (
	firstGrowth = 30
	laterGrowth = 10
)

// jump describes the first epoch in which the largest weight grew out of all proportion, as after a step with a broken
// gradient; before is the largest ahead of these records, 0 if it is not known. Batch norm makes up for the size of a
// layer, so that loss and accuracy need not show it.
func jump(before float64, records []Record) string {
	for _, r := range records {
		if r.Jump != nil {
			return r.Jump.text(r.Epoch.Epoch)
		}
		most := before * laterGrowth
		if r.Epoch.Epoch == 1 {
			most = before * firstGrowth
		}
		if before > 0 && r.NormInf > most {
			return fmt.Sprintf("in epoch %d the largest weight went from %.3g to %.3g: a step had a huge gradient. %s",
				r.Epoch.Epoch, before, r.NormInf, jumpWarning)
		}
		if r.NormInf > 0 { // else it was not measured
			before = r.NormInf
		}
	}
	return ""
}
