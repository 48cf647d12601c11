package paper

import (
	"fmt"
	"slices"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
)

// claim is a sentence of the paper about its tables in R¹⁰⁰, as something that is so or not in a table of norms.
type claim struct {
	name string  // in JSON
	p    float64 // the p it is about; 0: several
	text string
	says string // the paper's word
	so   func(rows [][]float64) bool
}

// four are the classifiers of Table 2.
var four = []float64{1.1, 2, 3, 10}

// The claims that the findings quote.
var (
	allOfFour = claim{name: "least_of_four_all", text: "all four at once", says: "yes",
		so: func(rows [][]float64) bool { return allLeast(rows, four, four) }}
	allOfSix = claim{name: "least_of_six_all_but_1.1", text: "of six, all p but 1.1 at once", says: "yes",
		so: func(rows [][]float64) bool { return allLeast(rows, numbers.Ps[1:], numbers.Ps) }}
	losesTo15 = losesTo(1.5, "yes")
	losesTo2  = losesTo(2, "rarely")
)

// claims are all that the paper says of Table 2 and, in Appendix F.1, of Tables 4 and 5. The frequency table has each p
// of six alone.
func claims() []claim {
	var all []claim
	for _, p := range four {
		all = append(all, claim{name: "least_of_four", p: p, says: "yes",
			text: fmt.Sprintf("of four, p = %v is least in %s", p, numbers.NormName(p)),
			so:   func(rows [][]float64) bool { return least(rows, p, four) }})
	}
	all = append(all, allOfFour, allOfSix, losesTo15, losesTo2)
	for _, p := range numbers.Ps[3:] {
		all = append(all, losesTo(p, "–"))
	}
	return all
}

// losesTo is the claim that p = 1.1 has a larger ℓ₁.₁ norm than another p.
func losesTo(p float64, says string) claim {
	return claim{name: "p1.1_loses_to", p: p, says: says,
		text: fmt.Sprintf("p = 1.1 loses in ℓ₁.₁ to p = %v", p),
		so: func(rows [][]float64) bool {
			j := normColumn(1.1)
			return smaller(rows[slices.Index(numbers.Ps, p)][j], rows[0][j])
		}}
}

// allLeast reports whether each p is the least of the classifiers among, in its own norm.
func allLeast(rows [][]float64, ps, among []float64) bool {
	return !slices.ContainsFunc(ps, func(p float64) bool { return !least(rows, p, among) })
}

// count counts the data sets of a reading in which a claim is so.
func (b *bias) count(c claim, reading dataset.Reading, early bool) (n, of int) {
	for _, rows := range b.tablesOf(reading, early) {
		of++
		if c.so(rows) {
			n++
		}
	}
	return n, of
}

// tablesOf are the norms of every data set, with one reading of w₀ and after one of the two step counts.
func (b *bias) tablesOf(reading dataset.Reading, early bool) [][][]float64 {
	var out [][][]float64
	for _, t := range b.trials {
		switch {
		case t.Reading != reading:
		case early:
			out = append(out, t.Early)
		default:
			out = append(out, t.Final)
		}
	}
	return out
}

// stepsOf is one of the two step counts.
func (b *bias) stepsOf(early bool) int {
	if early {
		return b.early
	}
	return b.steps
}

// claimsTable sets the paper's word, its two trials and our counts side by side.
func (b *bias) claimsTable() render.Table {
	t := render.Table{Header: []string{"", "the paper says", "its trials"},
		Title: "The paper's claims about its tables, counted",
		Note: "By the reading of 0.1 in w₀ ~ N(0, 0.1·I) and the steps. The paper's two trials are counted by their " +
			"digits: in trial 1, p = 10 is below p = 6 in ℓ₆. Each p of six alone is in the table above."}
	for _, reading := range readings {
		for _, early := range []bool{true, false} {
			t.Header = append(t.Header, fmt.Sprintf("%v, %s", reading, render.Thousands(b.stepsOf(early))))
		}
	}
	published := numbers.R100()
	for _, c := range claims() {
		own := 0
		for _, rows := range published {
			if c.so(rows) {
				own++
			}
		}
		row := []render.Cell{render.Text("%s", c.text), render.Text("%s", c.says),
			render.Text("%d of %d", own, len(published))}
		for _, reading := range readings {
			for _, early := range []bool{true, false} {
				n, of := b.count(c, reading, early)
				row = append(row, render.Cell{Text: fmt.Sprintf("%d of %d", n, of), Value: float64(n),
					Best: c.says == "yes" && n == of})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// claimsFinding says how often the claims hold. What the paper calls rare is not confirmed if it is so in half of the
// data sets.
func (b *bias) claimsFinding() string {
	counts := func(c claim) string {
		var by [2]string
		for i, early := range []bool{true, false} {
			d, _ := b.count(c, dataset.Deviation, early)
			v, _ := b.count(c, dataset.Variance, early)
			by[i] = fmt.Sprintf("%d/%d", d, v)
		}
		return by[0] + " and " + by[1]
	}
	n, of := b.count(losesTo2, dataset.Deviation, false)
	verdict := ""
	if 2*n >= of {
		verdict = ": not confirmed"
	}
	return fmt.Sprintf("The paper's claims about its tables, counted in %d data sets after %s and %s steps (0.1 as a "+
		"deviation/variance): all four of Table 2 are least in their own norm in %s; all but p = 1.1 of six in %s; "+
		"p = 1.1 loses in ℓ₁.₁ to p = 1.5 in %s, and to p = 2 in %s, which the paper calls rare%s.",
		of, render.Thousands(b.early), render.Thousands(b.steps), counts(allOfFour), counts(allOfSix),
		counts(losesTo15), counts(losesTo2), verdict)
}

// claimsJSON are the counts of all claims, and of each p of six.
func (b *bias) claimsJSON() []map[string]any {
	var out []map[string]any
	add := func(name string, p float64, reading dataset.Reading, early bool, n, of int) {
		row := map[string]any{"name": name, "start": reading.String(), "steps": b.stepsOf(early), "count": n, "of": of}
		if p != 0 {
			row["p"] = p
		}
		out = append(out, row)
	}
	for _, reading := range readings {
		for _, early := range []bool{true, false} {
			for _, c := range claims() {
				n, of := b.count(c, reading, early)
				add(c.name, c.p, reading, early, n, of)
			}
			counts, of := b.frequencies(reading, early)
			for k, n := range counts {
				add("least_of_six", numbers.Ps[k], reading, early, n, of)
			}
		}
	}
	return out
}
