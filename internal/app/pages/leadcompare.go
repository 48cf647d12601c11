package pages

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// contest is settings that are compared by one measure.
type contest struct {
	metric string // as people call it: test accuracy
	unit   string // " %", or none
	names  []string
	*trials.Column
}

// have are the settings with a value.
func (c *contest) have() (out []int) {
	for k, v := range c.Values {
		if len(v) > 0 {
			out = append(out, k)
		}
	}
	return out
}

// sample are a setting's values. Their order, and so their sum, does not depend on chance.
func (c *contest) sample(k int) trials.Sample {
	return trials.SampleOf(slices.Sorted(maps.Values(c.Values[k])))
}

// mean is a setting's mean with its standard error, and n if it is wanted.
func (c *contest) mean(k int, n bool) string {
	text := meanOf(c.sample(k), c.unit != "").Text
	head, tail, _ := strings.Cut(text, " (")
	if head += c.unit; n {
		return head + " (" + tail
	}
	return head
}

// difference is one of two means with its standard error, runs and test.
func (c *contest) difference(d trials.Pair) string {
	text := ContrastCell(d, c.unit != "").Text
	if head, tail, ok := strings.Cut(text, " ("); ok && c.unit != "" {
		return head + " points (" + tail
	}
	return text
}

// word is the first for a measure of which more is better, the second for one of which less is.
func (c *contest) word(higher, lower string) string {
	if c.Low {
		return lower
	}
	return higher
}

// contest states who has the best mean and what a test says of it: never that one is better without a test.
func (l *Lead) contest(c *contest) {
	have, best := c.have(), c.Leader()
	switch {
	case len(have) == 0:
		l.Say("No run has a %s.", c.metric)
	case len(have) == 1:
		l.Say("%s of %s is %s; nothing is compared.", capital(c.metric), c.names[have[0]], c.mean(have[0], true))
	case len(have) == 2:
		other := have[0]
		if other == best {
			other = have[1]
		}
		l.duel(c, best, other)
	default:
		l.field(c, best, have)
	}
}

// equal reports whether two means are the same number, but for rounding.
func (c *contest) equal(i, j int) bool {
	a, b := c.sample(i).Mean, c.sample(j).Mean
	return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b))
}

// untested says why a difference has no test.
func untested(d trials.Pair) string {
	switch {
	case d.N >= trials.LeastRuns && d.M >= trials.LeastRuns:
		return "the differences are all equal, which has no test"
	case d.N == 1 && d.M == 1:
		return "one run each, and a test needs three"
	}
	return "a test needs three runs of each"
}

// duel compares two.
func (l *Lead) duel(c *contest, best, other int) {
	d := c.Between(best, other)
	a, b := c.names[best], c.names[other]
	switch {
	case c.equal(best, other):
		l.Say("%s is the same for %s and %s: %s.", capital(c.metric), a, b, c.mean(best, true))
	case d.Chance < trials.Significant:
		l.Say("%s is %s for %s than for %s: %s against %s, difference %s.", capital(c.metric), c.word("higher", "lower"), a,
			b, c.mean(best, false), c.mean(other, false), c.difference(d))
	case !math.IsNaN(d.Chance):
		l.Say("%s does not distinguish %s from %s: %s and %s, difference %s.", capital(c.metric), a, b,
			c.mean(best, false), c.mean(other, false), c.difference(d))
		l.Claim("More runs with other seeds may decide it: a difference that is not significant is not proved to be 0.")
	default:
		l.Say("%s is %s for %s and %s for %s.", capital(c.metric), c.mean(best, true), a, c.mean(other, true), b)
		l.Claim("Whether they differ is not known: %s.", untested(d))
	}
}

// field compares several.
func (l *Lead) field(c *contest, best int, have []int) {
	if !slices.ContainsFunc(have, func(k int) bool { return !c.equal(best, k) }) {
		l.Say("%s is the same for all %s: %s.", capital(c.metric), spell(len(have)), c.mean(best, true))
		return
	}
	var level, worse, without []string
	var open trials.Pair
	for _, k := range have {
		if k == best {
			continue
		}
		switch d := c.Between(best, k); {
		case math.IsNaN(d.Chance):
			without, open = append(without, c.names[k]), d
		case d.Chance < trials.Significant:
			worse = append(worse, c.names[k])
		default:
			level = append(level, c.names[k])
		}
	}
	l.Say("%s has its %s mean for %s: %s, of %s settings.", capital(c.metric), c.word("highest", "lowest"), c.names[best],
		c.mean(best, true), spell(len(have)))
	how := "t tests at 5 %, " + trials.Correction(trials.Tests(c.Column))
	if len(level) > 0 {
		l.Claim("Not distinguishable from it: %s (%s).", Listed(level), how)
	}
	switch n := len(worse); {
	case n == len(have)-1:
		l.Claim("Each of the other %s is significantly %s (%s).", spell(n), c.word("lower", "higher"), how)
	case n > 0:
		l.Claim("Significantly %s: %s (%s).", c.word("lower", "higher"), Listed(worse), how)
	}
	switch n := len(without); {
	case n > 0 && len(c.Pairs) == 0:
		l.Claim("So many settings are not compared by tests: chance alone may explain the order.")
	case n == len(have)-1:
		l.Claim("Whether it is better than the others is not known: %s.", untested(open))
	case n > 0:
		l.Claim("Not tested against it: %s.", Listed(without))
	}
}

// headline are the results that say most about a run, the first that runs have.
var headline = []struct{ key, name, unit string }{
	{"test_accuracy", "test accuracy", " %"}, {"validation_accuracy", "validation accuracy", " %"},
	{"held_out_accuracy", "held-out accuracy", " %"}, {"test_r2", "R² on test examples", ""},
	{"held_out_r2", "R² on held-out examples", ""}, {"test_rmse", "RMSE on test examples", ""},
	{"train_accuracy", "training accuracy", " %"}, {"accuracy", "training accuracy", " %"},
	{"test_loss", "test loss", ""}, {"loss", "training loss", ""},
}

// headlineOf is a result of the curve's run, or else the end of the curve; NaN if it has neither.
func headlineOf(c trials.Curve, key string) float64 {
	if c.Run.Result != nil && c.Run.OneLine() {
		if v := c.Run.Number(key); !math.IsNaN(v) || c.Run.Info.Command == "fit" {
			return v // the end of a fit's curve is not of the model, which may be scaled
		}
	}
	return endOfCurve(c, key)
}

// perRun are the groups without those of the further classes of a fit: its result is one, of all its classes. The names
// are without the class.
func perRun(groups []*trials.Group) (out []*trials.Group, names []string) {
	seen := map[*trials.Run]bool{}
	for _, g := range groups {
		if !slices.ContainsFunc(g.Curves, func(c trials.Curve) bool { return !seen[c.Run] }) {
			continue
		}
		name := g.Name
		for _, c := range g.Curves {
			if seen[c.Run] = true; strings.HasPrefix(c.Name, "class ") {
				name = strings.TrimSuffix(name, ", "+c.Name)
			}
		}
		out, names = append(out, g), append(names, name)
	}
	return out, names
}

// contestOf compares the groups of one kind by the first result that they have; nil if they have none.
func contestOf(groups []*trials.Group) *contest {
	groups, names := perRun(groups)
	for _, h := range headline {
		c := &contest{metric: h.name, unit: h.unit, names: names, Column: &trials.Column{Low: trials.LowIsBetter(h.key)}}
		got := 0
		for _, g := range groups {
			values := map[uint64]float64{}
			for _, t := range g.Trials() {
				if v := headlineOf(t, h.key); v-v == 0 && t.Run.Status == runlog.Done {
					if values[t.Seed()] = v; h.unit != "" {
						values[t.Seed()] = 100 * v
					}
				}
			}
			if len(values) > 0 {
				got++
			}
			c.Values = append(c.Values, values)
		}
		if got > 0 {
			trials.Compare(c.Column)
			return c
		}
	}
	return nil
}

// lead states what the comparison of the runs shows.
func (p *Page) lead() (l Lead) {
	if len(p.runs) == 1 {
		return p.only()
	}
	kinds := trials.Kinds(p.groups)
	for _, groups := range kinds {
		c := contestOf(groups)
		if c == nil {
			continue
		}
		if len(kinds) == 1 {
			l.contest(c)
			break
		}
		var one Lead // of several kinds each has a sentence
		if one.contest(c); l.Sentence == "" {
			l.Say("%s: %s", capital(groups[0].Kind), one.Sentence)
		} else {
			l.Claim("%s: %s", capital(groups[0].Kind), one.Sentence)
		}
	}
	if l.Sentence == "" {
		l.Say("%s side by side; they have no result in common to compare.", capital(render.Count(len(p.runs), "run")))
	}
	undone := map[string]int{}
	for _, r := range p.runs {
		if r.Status != runlog.Done {
			undone[r.Status]++
		}
	}
	if n := sum(undone); n > 0 {
		l.Last("%s of %d runs %s not done (%s) and in no mean.", capital(spell(n)), len(p.runs), isOrAre(n), counts(undone))
	}
	for _, g := range p.groups {
		if all, counted := len(g.Curves), len(g.Trials()); all > counted {
			l.Last("Of %s there are %s of only %s: a seed that was run twice counts once.", g.Name,
				render.Count(all, "run"), render.Count(counted, "seed"))
			break
		}
	}
	return l
}

// lead states what the first comparison of results shows, then those of other networks, data sets or lengths.
func (p *recordPage) lead() (l Lead) {
	diverged := 0
	for _, g := range p.groups {
		diverged += g.Diverged()
	}
	for _, b := range p.blocks {
		c := &contest{metric: b.key + " accuracy", unit: " %", Column: &b.Column}
		for _, g := range b.groups {
			name := p.name(g)
			if rest, ok := strings.CutPrefix(name, "p "); ok {
				name = "p = " + rest
			}
			c.names = append(c.names, name)
		}
		if len(p.blocks) == 1 {
			l.contest(c)
			break
		}
		s := b.groups[0].Identity.Settings
		what := fmt.Sprintf("%s on %s, %s epochs", s["model"], s["data"], s["epochs"])
		var one Lead
		if one.contest(c); l.Sentence == "" {
			l.Say("%s: %s", what, one.Sentence)
		} else {
			l.Claim("%s: %s", what, one.Sentence)
		}
	}
	if diverged > 0 {
		l.Last("%s diverged and %s in no mean.", render.Count(diverged, "run"), isOrAre(diverged))
	}
	return l
}

// only states the result of the only run.
func (p *Page) only() (l Lead) {
	r := p.runs[0]
	l.unfinished(r.Info, r.Status)
	var parts []string
	for _, o := range trials.ListColumns {
		v := r.Listed(o)
		switch {
		case math.IsNaN(v):
		case o.Scale == 100:
			parts = append(parts, fmt.Sprintf("an accuracy of %.2f %%", 100*v))
		default:
			parts = append(parts, fmt.Sprintf("a %s of %.4g", o.Title, v))
		}
	}
	lines := len(r.Results())
	switch {
	case len(parts) > 0:
		l.Say("The run of “bregman %s” has %s.", r.Info.Command, Listed(parts))
	case lines > 0:
		l.Say("The run of “bregman %s” has %s of results.", r.Info.Command, render.Count(lines, "line"))
	default:
		l.Say("The run of “bregman %s” has no result.", r.Info.Command)
	}
	if r.Info.Command == "train" || r.Info.Command == "gomlx" {
		l.Claim("This is one seed: how much another start would change it is not known.")
	}
	return l
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// counts writes numbers of things: 1 failed, 2 killed.
func counts(of map[string]int) string {
	var parts []string
	for name, n := range of {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
