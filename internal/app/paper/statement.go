package paper

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// statement is one claim and how it is checked. S is what the claim is about: some points, a step of a descent, the
// limit of a descent.
type statement[S located] struct {
	Name     string
	Claim    string // in the form that is checked
	Slip     string // how the paper's text differs from it, empty if it does not
	Quantity string // what is measured
	Bound    float64
	AtLeast  bool // the quantity must be at least Bound, not at most
	Beyond   bool // the paper does not make this statement
	AnyPoint bool // holds at any point, not only at those of a descent

	Runs  func(where) bool // which runs it is about; nil: all
	At    func(S) bool     // where it is checked; nil: everywhere
	If    func(S) bool     // its condition, whose share is reported; nil: it has none
	Check func(S, *tally)
}

// located is what names its case.
type located interface{ location() location }

// location is the name of a case and, along a descent, the step; −1: none. It is formatted only if it is shown.
type location struct {
	name string
	step int
}

func (l location) String() string {
	if l.step < 0 {
		return l.name
	}
	return fmt.Sprintf("%s, step %d", l.name, l.step)
}

// Verdict is the outcome of a statement, for one p or for all.
type Verdict string

// The verdicts. Only Fail is an error.
const (
	Pass      Verdict = "pass"
	Fail      Verdict = "FAIL"
	Refuted   Verdict = "false"       // the paper's statement is false as printed: a counterexample was computed
	Undecided Verdict = "not decided" // the cases are too short, or float64 too coarse, to tell
	NotTested Verdict = "not tested"  // no case tests it
	Partly    Verdict = "partly"      // of all p: some pass, none fails, the others are not decided or not tested
)

// ByP is the outcome of a statement for one p.
type ByP struct {
	P        float64  `json:"p"` // 0: the statement has no p
	Cases    int      `json:"cases"`
	Decided  int      `json:"decided"`    // runs that could have failed
	Runs     int      `json:"runs"`       // that tested it
	On       []string `json:"decided_on"` // the data and steps that decide it
	Share    *float64 `json:"share"`      // of steps on which the condition held; null: it has none
	Measured Measure  `json:"measured"`
	Verdict  Verdict  `json:"verdict"`
	Reason   string   `json:"reason,omitempty"` // why it is not decided, or the counterexample
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
	Share    *float64 `json:"share"`    // of steps on which the statement's condition held; null: it has none
	Cases    int      `json:"cases"`
	Worst    string   `json:"worst"`   // the case of Measured
	Pass     bool     `json:"pass"`    // Verdict is pass or partly
	Tested   bool     `json:"tested"`  // false: no case of these p and seeds tests it
	Verdict  Verdict  `json:"verdict"` // over all p
	Descent  bool     `json:"descent"` // it is about the algorithm: a broken descent must make it fail
	Data     []string `json:"data"`    // the data sets of its cases, without seeds
	Losses   []string `json:"losses"`  // the losses of its cases; empty: it has none
	ByP      []ByP    `json:"by_p"`
}

// Without lists the p for which there is no decision.
func (f *Finding) Without() []float64 {
	var out []float64
	for _, b := range f.ByP {
		if b.Verdict == Undecided || b.Verdict == NotTested {
			out = append(out, b.P)
		}
	}
	return out
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

// UnmarshalJSON reads null as NaN.
func (m *Measure) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*m = Measure(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(m))
}

// tally gathers the measurements of one statement on one run. A run has one p.
type tally struct {
	atLeast     bool
	here        located // the case that is being checked
	worst       float64
	worstCase   location
	cases       int
	held, asked int    // steps on which the condition held, and all; none: there is no condition
	undecided   string // why the run decides nothing, unless it fails; "": it does
	refuted     string // a counterexample
	where              // of the run
	about       bool   // the statement is about the run
}

// where says what a run is about.
type where struct {
	p          float64
	data, loss string   // "": none
	rule       stepRule // of a descent
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
	if t.worse(v) {
		t.worst, t.worstCase = v, t.here.location()
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
	t.worst, t.worstCase = math.NaN(), location{err.Error(), -1}
}

// undecide says that the run, whatever it measured, could not have failed: why, and what would decide it.
func (t *tally) undecide(format string, args ...any) {
	t.undecided = fmt.Sprintf(format, args...)
}

// refute says that the run is a counterexample to the statement as printed.
func (t *tally) refute(format string, args ...any) {
	t.refuted = fmt.Sprintf(format, args...)
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
	t.asked++
	if held {
		t.held++
	}
	return held
}

// tested reports whether the run measured anything.
func (t *tally) tested() bool { return t.cases > 0 && !(t.asked > 0 && t.held == 0) }

// share is that of steps on which the condition held; nil if there is none.
func share(runs []*tally) *float64 {
	held, asked := 0, 0
	for _, t := range runs {
		held, asked = held+t.held, asked+t.asked
	}
	if asked == 0 {
		return nil
	}
	s := float64(held) / float64(asked)
	return &s
}

// holds reports whether a measurement is within the bound.
func (st *statement[S]) holds(worst float64) bool {
	if st.AtLeast {
		return worst >= st.Bound
	}
	return worst <= st.Bound
}

// judge turns the measurements of a statement, one tally per run, into its finding. A statement that was never tested
// has not passed. For one p, one failed run is a failure; it passes if on one kind of data, with one rule of steps, at
// least half of the runs decide it.
func (st *statement[S]) judge(runs []*tally) Finding {
	f := Finding{Name: st.Name, Beyond: st.Beyond, Claim: st.Claim, Slip: st.Slip, Quantity: st.Quantity,
		Bound: st.Bound, AtLeast: st.AtLeast, ByP: []ByP{}}
	if st.Beyond {
		f.Name = "Ours: " + f.Name
	}
	all := newTally(st.AtLeast)
	all.worstCase.step = -1
	byP, data, losses := map[float64][]*tally{}, map[string]bool{}, map[string]bool{}
	for _, t := range runs {
		if !t.about {
			continue
		}
		byP[t.p] = append(byP[t.p], t)
		all.cases += t.cases
		if t.worstCase.name != "" && all.worse(t.worst) {
			all.worst, all.worstCase = t.worst, t.worstCase
		}
		if t.data != "" {
			data[t.data] = true
		}
		if t.loss != "" {
			losses[t.loss] = true
		}
	}
	f.Measured, f.Cases, f.Worst = Measure(all.worst), all.cases, all.worstCase.String()
	f.Data, f.Losses = sorted(data), sorted(losses)
	var counted []*tally
	verdicts := map[Verdict]int{}
	for _, p := range slices.Sorted(maps.Keys(byP)) {
		b := st.judgeP(p, byP[p])
		f.ByP = append(f.ByP, b)
		verdicts[b.Verdict]++
		counted = append(counted, byP[p]...)
	}
	f.Share = share(counted)
	f.Verdict = overall(verdicts)
	f.Pass = f.Verdict == Pass || f.Verdict == Partly
	f.Tested = f.Verdict != NotTested
	return f
}

// sorted returns the members of a set, an empty list if there are none.
func sorted(set map[string]bool) []string {
	return append([]string{}, slices.Sorted(maps.Keys(set))...)
}

// judgeP is the outcome for one p.
func (st *statement[S]) judgeP(p float64, runs []*tally) ByP {
	b := ByP{P: p, Share: share(runs), Measured: Measure(math.NaN()), On: []string{}}
	failed, refuted := false, ""
	worst := newTally(st.AtLeast)
	type kind struct {
		data string
		rule stepRule
	}
	tested, decided := map[kind]int{}, map[kind]int{}
	for _, t := range runs {
		b.Cases += t.cases
		refuted = cmp.Or(refuted, t.refuted)
		if !t.tested() {
			continue
		}
		here := kind{t.data, t.rule}
		tested[here]++
		b.Runs++
		if worst.worse(t.worst) {
			worst.worst = t.worst
		}
		switch {
		case t.refuted != "":
		case !st.holds(t.worst):
			failed = true
		case t.undecided != "":
			b.Reason = t.undecided
			continue
		}
		b.Decided++
		decided[here]++
	}
	if b.Runs > 0 {
		b.Measured = Measure(worst.worst)
	}
	for k, n := range decided {
		if 2*n >= tested[k] && k.data != "" {
			b.On = append(b.On, strings.TrimSuffix(k.data+", "+string(k.rule), ", "))
		}
	}
	slices.Sort(b.On)
	switch {
	case failed:
		b.Verdict, b.Reason = Fail, ""
	case refuted != "":
		b.Verdict, b.Reason = Refuted, refuted
	case b.Runs == 0:
		b.Verdict = NotTested
		b.Reason = "its condition holds on no step"
	case 2*b.Decided < b.Runs && len(b.On) == 0:
		b.Verdict = Undecided
	default:
		b.Verdict, b.Reason = Pass, ""
	}
	return b
}

// overall is the verdict over all p.
func overall(by map[Verdict]int) Verdict {
	switch {
	case by[Fail] > 0:
		return Fail
	case by[Refuted] > 0:
		return Refuted
	case by[Pass] > 0 && by[Undecided]+by[NotTested] > 0:
		return Partly
	case by[Pass] > 0:
		return Pass
	case by[Undecided] > 0:
		return Undecided
	}
	return NotTested
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
type statementGroup[S located] struct {
	statements []statement[S]
	runs       []run[S]
	oneCase    bool       // all that a run passes is one case: the steps of a descent
	tallies    [][]*tally // by run, by statement
}

// run computes what the statements are about and passes it to each, once or many times. If it returns an error, all
// statements of the group fail.
type run[S located] struct {
	where
	do func(ctx context.Context, each func(S)) error
}

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
		tallies[i].where, tallies[i].about = r.where, st.Runs == nil || st.Runs(r.where)
	}
	err := r.do(ctx, func(s S) {
		for i := range g.statements {
			st, t := &g.statements[i], tallies[i]
			if !t.about || st.At != nil && !st.At(s) || st.If != nil && !t.countIf(st.If(s)) {
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
		if err != nil && t.about {
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
		var runs []*tally
		for _, one := range g.tallies {
			runs = append(runs, one[i])
		}
		f := g.statements[i].judge(runs)
		f.Descent = g.oneCase && !g.statements[i].AnyPoint
		out = append(out, f)
	}
	return out
}
