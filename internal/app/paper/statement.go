package paper

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
)

// statement is one claim and how it is checked. S is what the claim is about: some points, a step of a descent, the
// limit of a descent. Its String names the case.
type statement[S fmt.Stringer] struct {
	Name     string
	Claim    string // in the form that is checked
	Slip     string // how the paper's text differs from it, empty if it does not
	Quantity string // what is measured
	Bound    float64
	AtLeast  bool // the quantity must be at least Bound, not at most
	Beyond   bool // the paper does not make this statement

	At    func(S) bool // where it is checked; nil: everywhere
	If    func(S) bool // its condition, whose share is reported; nil: it has none
	Check func(S, *tally)
}

// judge turns the measurements of a statement into its finding. A statement that was never tested has not passed.
func (st *statement[S]) judge(t *tally) Finding {
	f := Finding{Name: st.Name, Beyond: st.Beyond, Claim: st.Claim, Slip: st.Slip, Quantity: st.Quantity,
		Measured: Measure(t.worst), Bound: st.Bound, AtLeast: st.AtLeast, Cases: t.cases, Worst: t.worstCase}
	if st.Beyond {
		f.Name = "Beyond the paper: " + f.Name
	}
	if t.steps > 0 {
		share := float64(t.held) / float64(t.steps)
		f.Share = &share
	}
	f.Tested = t.cases > 0 && !(t.steps > 0 && t.held == 0) && !math.IsInf(t.worst, 0)
	if f.Pass = t.worst <= f.Bound; f.AtLeast {
		f.Pass = t.worst >= f.Bound
	}
	f.Pass = f.Pass && f.Tested
	return f
}

// Finding is the result of checking one statement over all its cases.
type Finding struct {
	Name     string   `json:"name"`     // the statement's name and number in the paper
	Beyond   bool     `json:"beyond"`   // the paper does not make this statement
	Claim    string   `json:"claim"`    // in the form that was checked
	Slip     string   `json:"slip"`     // how the paper's text differs from it, empty if it does not
	Quantity string   `json:"quantity"` // what Measured is
	Measured Measure  `json:"measured"` // the worst over all cases
	Bound    float64  `json:"bound"`
	AtLeast  bool     `json:"at_least"` // Measured must be at least Bound, not at most
	Share    *float64 `json:"share"`    // of steps where the statement's condition held; null: it has none
	Cases    int      `json:"cases"`
	Worst    string   `json:"worst"` // the case of Measured
	Pass     bool     `json:"pass"`
	Tested   bool     `json:"tested"` // false: no case of these p and seeds tests it
}

// Measure is a number that may be infinite or NaN, null in JSON.
type Measure float64

// MarshalJSON writes null if it is not finite.
func (m Measure) MarshalJSON() ([]byte, error) {
	if v := float64(m); v-v != 0 {
		return []byte("null"), nil
	}
	return json.Marshal(float64(m))
}

// tally gathers the measurements of one statement.
type tally struct {
	atLeast     bool
	here        fmt.Stringer // the case that is being checked
	worst       float64
	worstCase   string
	cases       int
	held, steps int // of the condition; no steps: there is none
}

func newTally(atLeast bool) *tally {
	t := &tally{atLeast: atLeast, worst: math.Inf(-1)}
	if atLeast {
		t.worst = math.Inf(1)
	}
	return t
}

// record counts a case and records its measurement if it is the worst so far.
func (t *tally) record(v float64) {
	t.cases++
	if t.worse(v) { // most are not: only those that are need a name
		t.worst, t.worstCase = v, t.here.String()
	}
}

// equal records by how much the two sides of an equation differ.
func (t *tally) equal(left, right float64, terms ...float64) {
	t.record(math.Abs(excess(left, right, terms...)))
}

// atMost records by how much the left side of left ≤ right is too large. It is negative if there is room to spare.
func (t *tally) atMost(left, right float64, terms ...float64) {
	t.record(excess(left, right, terms...))
}

// fail records that a case could not be measured.
func (t *tally) fail(err error) {
	t.cases++
	t.worst, t.worstCase = math.NaN(), err.Error()
}

// worse compares with the worst so far. NaN is the worst of all, and stays.
func (t *tally) worse(v float64) bool {
	switch {
	case math.IsNaN(v):
		return true
	case math.IsNaN(t.worst):
		return false
	case t.atLeast:
		return v < t.worst
	}
	return v > t.worst
}

// countIf counts a step at which the condition was checked, and returns whether it held.
func (t *tally) countIf(held bool) bool {
	t.steps++
	if held {
		t.held++
	}
	return held
}

// merge adds the cases of another run.
func (t *tally) merge(o *tally) {
	t.cases += o.cases
	t.held += o.held
	t.steps += o.steps
	if o.worstCase != "" && t.worse(o.worst) {
		t.worst, t.worstCase = o.worst, o.worstCase
	}
}

// excess is how far left is above right, relative to the size of the terms: rounding leaves some 1e-15.
func excess(left, right float64, terms ...float64) float64 {
	size := math.Abs(left) + math.Abs(right)
	for _, t := range terms {
		size += math.Abs(t)
	}
	if size == 0 {
		return 0
	}
	return (left - right) / size
}

// statementGroup is the statements about one kind of thing, and the runs that check them.
type statementGroup[S fmt.Stringer] struct {
	statements []statement[S]
	runs       []run[S]
	oneCase    bool       // all that a run passes is one case, such as the steps of a descent
	tallies    [][]*tally // by run, by statement
}

// run computes what the statements are about and passes it to check, once or many times. If it returns an error, all
// statements of the group fail.
type run[S fmt.Stringer] func(ctx context.Context, each func(S)) error

// tasks are the runs of the group. Each has tallies of its own.
func (g *statementGroup[S]) tasks() []task {
	g.tallies = make([][]*tally, len(g.runs))
	var tasks []task
	for i, r := range g.runs {
		tasks = append(tasks, task{1, func(ctx context.Context, _ func(int)) (any, error) {
			g.tallies[i] = g.check(ctx, r)
			return nil, ctx.Err()
		}})
	}
	return tasks
}

// check checks all statements on one run.
func (g *statementGroup[S]) check(ctx context.Context, r run[S]) []*tally {
	tallies := make([]*tally, len(g.statements))
	for i, st := range g.statements {
		tallies[i] = newTally(st.AtLeast)
	}
	err := r(ctx, func(s S) {
		for i := range g.statements {
			st, t := &g.statements[i], tallies[i]
			if st.At != nil && !st.At(s) || st.If != nil && !t.countIf(st.If(s)) {
				continue
			}
			t.here = s
			st.Check(s, t)
		}
	})
	for _, t := range tallies {
		if g.oneCase {
			t.cases = min(t.cases, 1)
		}
		if err != nil {
			t.fail(err)
		}
	}
	return tallies
}

// findings are those of all runs together. The order of the runs decides between equals, so it does not matter which
// run ended first.
func (g *statementGroup[S]) findings() []Finding {
	var out []Finding
	for i := range g.statements {
		all := newTally(g.statements[i].AtLeast)
		for _, one := range g.tallies {
			all.merge(one[i])
		}
		out = append(out, g.statements[i].judge(all))
	}
	return out
}
