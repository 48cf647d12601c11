package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/train"
)

// paperClaim is a statement of the paper about trained networks, what the runs show of it, and a verdict.
type paperClaim struct {
	Model    string   `json:"model"`
	Claim    string   `json:"statement"`
	Printed  string   `json:"paper,omitempty"` // the paper's own numbers
	Measured string   `json:"measured"`        // what the value is
	Value    *float64 `json:"value,omitempty"`
	Error    *float64 `json:"error,omitempty"` // the standard error of the value
	Runs     string   `json:"n,omitempty"`
	Verdict  string   `json:"verdict"`

	tests  []*claimTest
	digits int
	decide func(c *paperClaim) string // after the tests are corrected; nil: by all tests
}

// The verdicts.
const (
	holds      = "holds"
	fails      = "does not hold"
	tooFewRuns = "too few runs"
	notRun     = "not run"
)

// claimTest is a comparison behind a statement: it supports the statement if the difference is above least, and refutes
// it if it is below.
type claimTest struct {
	trials.Contrast
	least  float64
	chance float64 // of a true difference of least, corrected for the comparisons of the table
}

func (t *claimTest) supports() bool { return t.chance < trials.Significant && t.Mean > t.least }
func (t *claimTest) refutes() bool  { return t.chance < trials.Significant && t.Mean < t.least }

// byTests is the verdict on a statement that holds if every difference does.
func (c *paperClaim) byTests() string {
	supported := 0
	for _, t := range c.tests {
		if t.refutes() {
			return fails
		}
		if t.supports() {
			supported++
		}
	}
	if len(c.tests) > 0 && supported == len(c.tests) {
		return holds
	}
	return tooFewRuns
}

// set is the value of a statement.
func (c *paperClaim) set(d trials.Contrast, digits int) {
	c.Value, c.Error, c.Runs, c.digits = finite([]float64{d.Mean})[0], finite([]float64{d.SE})[0], runsOf(d), digits
}

// runsOf is the number of runs behind a difference as a table has it.
func runsOf(d trials.Contrast) string {
	switch {
	case d.N == 0 && d.M == 0:
		return ""
	case d.N == d.M:
		return fmt.Sprint(d.N)
	}
	return fmt.Sprintf("%d, %d", d.N, d.M)
}

// networkClaims are the statements about one network. Their comparisons are one family.
type networkClaims struct {
	r   *networks
	g   *group
	all []*paperClaim
}

// decided corrects the tests for their number, each comparison once, and gives the verdicts.
func (c *networkClaims) decided() []*paperClaim {
	type key struct{ mean, se, least float64 }
	var keys []key
	var chances []float64
	for _, x := range c.all {
		for _, t := range x.tests {
			k := key{t.Mean, t.SE, t.least}
			if !slices.Contains(keys, k) {
				keys, chances = append(keys, k), append(chances, t.Chance(t.least))
			}
		}
	}
	chances = trials.Holm(chances)
	for _, x := range c.all {
		for _, t := range x.tests {
			t.chance = math.NaN()
			if k := slices.Index(keys, key{t.Mean, t.SE, t.least}); k >= 0 { // not a NaN
				t.chance = chances[k]
			}
		}
		switch {
		case x.Verdict != "":
		case x.decide != nil:
			x.Verdict = x.decide(x)
		default:
			x.Verdict = x.byTests()
		}
	}
	return c.all
}

// testsOf counts the comparisons that have a test, each once.
func testsOf(all []*paperClaim) int {
	type key struct{ mean, se, least float64 }
	var keys []key
	for _, x := range all {
		for _, t := range x.tests {
			if k := (key{t.Mean, t.SE, t.least}); !math.IsNaN(t.chance) && !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return len(keys)
}

// add adds a statement without a verdict yet.
func (c *networkClaims) add(claim, printed string) *paperClaim {
	x := &paperClaim{Model: c.g.model, Claim: claim, Printed: printed}
	c.all = append(c.all, x)
	return x
}

// quantity is a number of a trained network by p and seed.
type quantity struct {
	of     func(p float64) map[uint64]float64
	unit   string
	digits int
}

func (g *group) accuracies(of func(command.TrainResult) float64) quantity {
	return quantity{func(p float64) map[uint64]float64 {
		out := map[uint64]float64{}
		for _, x := range g.runs[p] {
			out[x.Seed] = of(x)
		}
		return out
	}, "%", 2}
}

func (g *group) weights(unit string, digits int, of func(train.Study) float64) quantity {
	return quantity{func(p float64) map[uint64]float64 {
		out := map[uint64]float64{}
		for k, s := range g.studies[p] {
			out[g.seeds[p][k]] = of(s)
		}
		return out
	}, unit, digits}
}

// mean is the mean of a quantity at p, NaN without runs.
func (q quantity) mean(p float64) float64 {
	var all []float64
	for _, v := range q.of(p) {
		all = append(all, v)
	}
	slices.Sort(all) // the order of a map is not one
	return trials.SampleOf(all).Mean
}

func (q quantity) text(v float64) string {
	text := fmt.Sprintf("%.*f", q.digits, v)
	if q.digits < 0 {
		text = fmt.Sprintf("%.3g", v)
	}
	if q.unit == "%" {
		return text + " %"
	}
	return text
}

// have are the p of the group of which there is a number.
func (q quantity) have(g *group) (out []float64) {
	for _, p := range g.ps {
		if len(q.of(p)) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// extreme is the statement that p has the largest quantity of all p, by more than least: sign 1, or the smallest: −1.
// Of the p of the paper those of Table 3 must be there for it to hold.
func (c *networkClaims) extreme(claim, printed string, p, sign, least float64, q quantity) *paperClaim {
	x := c.add(claim, printed)
	ps := q.have(c.g)
	if !slices.Contains(ps, p) || len(ps) < 2 {
		x.Measured, x.Verdict = fmt.Sprintf("needs p = %v and another p%s", p, c.g.diverged()), notRun
		if len(ps) == 0 && len(c.g.failed) == 0 {
			return x
		}
		if c.g.failed[p] > 0 && len(ps) > 0 { // it has no accuracy at all
			x.Measured = fmt.Sprintf("p = %v diverged (%s)", p, render.Count(c.g.failed[p], "run"))
			x.Runs, x.Verdict = fmt.Sprint(c.g.failed[p]), tooFewRuns
			if c.g.failed[p] >= trials.LeastRuns {
				x.Verdict = fails
			}
		}
		return x
	}
	rival := math.NaN()
	for _, other := range ps {
		if other == p {
			continue
		}
		if v, w := q.mean(other), q.mean(rival); math.IsNaN(rival) || sign*v > sign*w {
			rival = other
		}
		d := trials.Differ(q.of(p), q.of(other))
		d.Mean *= sign
		x.tests = append(x.tests, &claimTest{Contrast: d, least: least})
	}
	d := trials.Differ(q.of(p), q.of(rival))
	x.set(d, q.digits)
	x.Measured = fmt.Sprintf("p = %v: %s; p = %v: %s, %s of the others%s", p, q.text(q.mean(p)), rival,
		q.text(q.mean(rival)), map[float64]string{1: "the highest", -1: "the lowest"}[sign], c.missing(ps))
	x.decide = func(x *paperClaim) string {
		verdict := x.byTests()
		if verdict == holds && !c.complete(ps) {
			return tooFewRuns // it holds of those that there are
		}
		return verdict
	}
	return x
}

// complete reports whether the four p of the paper's Table 3, or all of this plan's if it has others, have results.
func (c *networkClaims) complete(ps []float64) bool {
	for _, p := range []float64{1.1, 2, 3, 10} {
		if !slices.Contains(ps, p) {
			return false
		}
	}
	return true
}

// missing names the p of the paper that have no results, and those that diverged.
func (c *networkClaims) missing(ps []float64) string {
	var out []string
	for _, p := range numbers.Ps {
		if !slices.Contains(ps, p) && c.g.failed[p] == 0 {
			out = append(out, fmt.Sprint(p))
		}
	}
	text := ""
	if len(out) > 0 {
		text = "; not run: p = " + strings.Join(out, ", ")
	}
	return text + c.g.diverged()
}

// falls is the statement that a quantity falls as p grows, from each p to the next that has runs.
func (c *networkClaims) falls(claim, printed string, q quantity) {
	x := c.add(claim, printed)
	ps := q.have(c.g)
	if len(ps) < 2 {
		x.Measured, x.Verdict = "needs two p", notRun
		return
	}
	var values []string
	down := 0
	for k, p := range ps {
		values = append(values, fmt.Sprintf("%v: %s", p, q.text(q.mean(p))))
		if k == 0 {
			continue
		}
		d := trials.Differ(q.of(ps[k-1]), q.of(p))
		if d.Mean > 0 {
			down++
		}
		x.tests = append(x.tests, &claimTest{Contrast: d})
	}
	first, last := ps[0], ps[len(ps)-1]
	x.set(trials.Differ(q.of(first), q.of(last)), q.digits)
	x.Measured = fmt.Sprintf("%s; %d of %s down; value: p = %v − p = %v", strings.Join(values, ", "), down,
		render.Count(len(ps)-1, "step"), first, last)
	x.decide = func(x *paperClaim) string {
		if verdict := x.byTests(); verdict != holds || c.complete(ps) {
			return verdict
		}
		return tooFewRuns
	}
}

// diverged names the p of which runs diverged, after a semicolon.
func (g *group) diverged() string {
	var out []string
	for _, p := range g.ps {
		if g.failed[p] > 0 {
			out = append(out, fmt.Sprint(p))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; diverged: p = " + strings.Join(out, ", ")
}

// bestIsThree is the statement of both tables of networks.
func (c *networkClaims) bestIsThree() {
	c.extreme("p = 3 is the most accurate", c.printedLead(3, 1, numbers.Ps), 3, 1, 0, c.g.accuracies(c.r.paper.test))
}

// printedLead is how far the paper's table has p above the others (sign 1), or below them.
func (c *networkClaims) printedLead(p, sign float64, ps []float64) string {
	table := numbers.Of(c.r.paper.rows(), c.g.model)
	if table == nil {
		return ""
	}
	rival := math.NaN()
	for _, q := range ps {
		if a, ok := table[q]; ok && q != p && (math.IsNaN(rival) || sign*a.Mean > sign*table[rival].Mean) {
			rival = q
		}
	}
	return fmt.Sprintf("%.2f; p = %v: %.2f", table[p].Mean, rival, table[rival].Mean)
}

// trained are the training accuracies of all runs of the group, in percent.
func (g *group) trained() (out []float64) {
	for _, p := range g.ps {
		for _, x := range g.runs[p] {
			out = append(out, trainAccuracy(x))
		}
	}
	return out
}

// everyRun is a statement about the training accuracy of each run: those for which ok is true, of all.
func (c *networkClaims) everyRun(claim, printed, what string, ok func(accuracy float64) bool) {
	x := c.add(claim, printed)
	all := c.g.trained()
	if len(all) == 0 {
		x.Verdict = notRun
		return
	}
	good := 0
	for _, a := range all {
		if ok(a) {
			good++
		}
	}
	lowest := slices.Min(all)
	x.Value, x.Runs, x.digits = &lowest, fmt.Sprint(len(all)), 2
	x.Measured = fmt.Sprintf("%d of %s %s; value: the lowest, the highest is %.2f %%", good, render.Count(len(all), "run"),
		what, slices.Max(all))
	switch {
	case good < len(all):
		x.Verdict = fails
	case len(all) < trials.LeastRuns:
		x.Verdict = tooFewRuns
	default:
		x.Verdict = holds
	}
}

// claimTables are the statements about each network, a table each, and what is said of all.
func (r *networks) claimTables() []render.Named {
	var out []render.Named
	for _, g := range r.groups {
		all := r.claimsOf(g)
		if len(all) == 0 {
			continue
		}
		t := claimTable(all)
		t.Title = fmt.Sprintf("What the paper says, and %s after %s", g.model, r.label(g))
		t.Note = "Value: the first number − the second, with its standard error, over seeds that both have if there are " +
			"three. Verdicts on differences are t tests at 5 %, " + trials.Correction(testsOf(all)) + "; too few runs: " +
			"fewer than three seeds, a difference within its error, or p without results."
		if !r.asPaper() {
			t.Note += fmt.Sprintf(" These runs have %s, the paper's %d.", r.each(epochs), r.paper.epochs)
		}
		out = append(out, render.Named{Name: g.file() + "_statements", Table: t})
	}
	if all := r.overall(); len(all) > 0 {
		t := claimTable(all)
		t.Title = "What the paper says of all networks"
		out = append(out, render.Named{Name: "statements", Table: t})
	}
	return out
}

func claimTable(all []*paperClaim) render.Table {
	t := render.Table{Header: []string{"the paper says", "its table", "measured", "value", "error", "n", "verdict"},
		Left: 3}
	cell := func(v *float64, digits int) render.Cell {
		switch {
		case v == nil:
			return render.Text("–")
		case digits < 0:
			return render.Short(*v, 3)
		}
		return render.Number(*v, digits)
	}
	printed := false
	for _, c := range all {
		n := render.Text("%s", c.Runs)
		if c.Runs == "" {
			n = render.Text("–")
		}
		theirs := c.Printed
		if printed = printed || theirs != ""; theirs == "" {
			theirs = "–"
		}
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", c.Claim), render.Text("%s", theirs),
			render.Text("%s", c.Measured), cell(c.Value, c.digits), cell(c.Error, c.digits), n, render.Text("%s", c.Verdict)})
	}
	if !printed {
		dropColumn(&t, 1)
		t.Left--
	}
	return t
}

// claimLines are the statements for a terminal: without what was measured, which the page has.
func (r *networks) claimLines() render.Table {
	t := render.Table{Title: "What the paper says", Header: []string{"network", "statement", "value", "verdict"}, Left: 2}
	left := 0
	for _, c := range r.allClaims() {
		if c.Verdict == notRun && c.Value == nil && c.Model != "" {
			left++
			continue
		}
		value := render.Text("–")
		if c.Value != nil {
			number := func(v float64) string {
				if c.digits < 0 {
					return fmt.Sprintf("%.3g", v)
				}
				return fmt.Sprintf("%.*f", c.digits, v)
			}
			value.Text = number(*c.Value)
			if c.Error != nil {
				value.Text += " ± " + number(*c.Error)
			}
			value.Text += " (n = " + c.Runs + ")"
		}
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", cmp.Or(c.Model, "all")), render.Text("%s", c.Claim),
			value, render.Text("%s", c.Verdict)})
	}
	if left > 0 {
		t.Title += fmt.Sprintf(" (%s not run; the page has all)", render.Count(left, "statement"))
	}
	return t
}

// claimsOf are the statements about a group: the first of its network that is run as the paper's.
func (r *networks) claimsOf(g *group) []*paperClaim {
	for _, other := range r.groups {
		if other.model == g.model && numbers.Plain(other.settings) {
			if other != g {
				return nil
			}
			c := &networkClaims{r: r, g: g}
			r.paper.claims(c)
			return c.decided()
		}
	}
	return nil
}

// allClaims are all statements.
func (r *networks) allClaims() []*paperClaim {
	var out []*paperClaim
	for _, g := range r.groups {
		out = append(out, r.claimsOf(g)...)
	}
	return append(out, r.overall()...)
}

// overall are the statements about all networks.
func (r *networks) overall() []*paperClaim {
	if r.paper.overall == nil {
		return nil
	}
	return r.paper.overall(r)
}
