package paper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/runlog"
)

// writeVerify writes the report of the statements.
func writeVerify(run *runlog.Run, v *verified, ps []float64) {
	findings, hyper := v.findings, v.hyperbolic
	var differ []string
	for _, f := range findings {
		if f.Slip != "" {
			differ = append(differ, fmt.Sprintf("%s: %s. Checked in the corrected form: %s.", f.Name, f.Slip, f.Claim))
		}
	}
	doc := pages.NewDocument(run, "Statements of the paper, checked",
		fmt.Sprintf("bregman verify · %s · %.0f s", run.Info.Started.Format("2 January 2006 15:04"), v.seconds))
	lead := verifyLead(findings, ps)
	lead.Put(doc)
	doc.Say("%s, of %d lines in all. Each line is the worst over all its cases: problems in the plane and in R¹⁰⁰, "+
		"several seeds, several p, up to four losses, a constant step and growing steps. A negative excess means room to "+
		"spare. The lemmas assume that ψ − ηL is convex along the step; the column “condition held” is the share of steps "+
		"with D_{ψ−ηL}(w_{t+1}, w_t) ≥ 0 and what else a statement assumes. Only these steps test it.",
		summary(findings), len(findings))
	doc.Section("Statements")
	doc.AddTables(render.Named{Name: "statements", Table: verifyTable(findings)})
	if list := counterexamples(findings); len(list) > 0 {
		doc.Section("False as printed")
		doc.List(list...)
	}
	doc.Section("By p")
	doc.AddTables(render.Named{Name: "by_p", Table: byPTable(findings, ps)})
	if list := undecidedPairs(findings); len(list) > 0 {
		doc.Section("What is not decided, and why")
		doc.List(list...)
	}
	if v.broken != nil {
		doc.Section("Every check can fail")
		doc.Say("The algorithm and what it is compared with are broken on purpose, in %d ways, for p = 1.5, 2 and 3 and one "+
			"seed. A cross means that the statement fails then.", len(breakers))
		doc.AddTables(render.Named{Name: "breakers", Table: v.broken.table()})
	}
	doc.Section("What each line says")
	var claims []string
	for _, f := range findings {
		claims = append(claims, fmt.Sprintf("%s: %s. Measured: %s.", f.Name, f.Claim, f.Quantity))
	}
	doc.List(claims...)
	doc.Section("Where paper, corrected paper and measurement differ")
	doc.List(differ...)
	if len(hyper) > 0 {
		doc.Section("Hyperbolic entropy")
		doc.Say("The paper says nothing about this potential. With normalised steps its direction reaches these shares of " +
			"the best possible margin; small β should lean to ℓ₁.")
		t := render.Table{Title: fmt.Sprintf("Measured after %s steps", render.Thousands(quickSteps)),
			Header: []string{"problem", "β", "share of the best ℓ₁ margin", "share of the best ℓ₂ margin"}}
		for _, h := range hyper {
			in1, in2 := render.Number(h.InL1, 4), render.Number(h.InL2, 4)
			if h.Error != "" {
				in1, in2 = render.Text("%s", h.Error), render.Text("–")
			}
			t.Rows = append(t.Rows, []render.Cell{render.Text("%s", h.Case), render.Text("%v", h.Beta), in1, in2})
		}
		doc.AddTables(render.Named{Name: "hyperbolic", Table: t})
	}
	doc.Save()
}

// verifyLead states how many statements hold, and names those that do not.
func verifyLead(findings []Finding, ps []float64) (l pages.Lead) {
	names := func(v Verdict) (out []string) {
		for _, f := range findings {
			if f.Verdict == v {
				out = append(out, f.Name)
			}
		}
		return out
	}
	var of []string
	for _, p := range ps {
		of = append(of, fmt.Sprint(p))
	}
	paper, ours := count(findings, Pass)
	failed, refuted := names(Fail), names(Refuted)
	how := fmt.Sprintf("Of %d statements %d %s", len(findings), paper+ours, verb(paper+ours, "hold"))
	if paper+ours == len(findings) {
		how = fmt.Sprintf("All of %d statements hold", len(findings))
	}
	fails := "none fails"
	if n := len(failed); n > 0 {
		fails = fmt.Sprintf("%d %s", n, verb(n, "fail"))
	}
	l.Say("%s for every p of %s; %s.", how, strings.Join(of, ", "), fails)
	if len(failed) > 0 {
		l.Claim("FAIL: %s.", pages.Listed(failed))
	}
	if len(refuted) > 0 {
		l.Claim("False as the paper prints them, with a counterexample for some p: %s.", pages.Listed(refuted))
	}
	if open := slices.Concat(names(Partly), names(Undecided), names(NotTested)); len(open) > 0 {
		l.Claim("Not decided for every p: %s.", pages.Listed(open))
	}
	l.Claim("A check can find a statement false, but not prove it: it holds in every case that was tried, within " +
		"rounding.")
	return l
}

// verb is a verb behind a number.
func verb(n int, word string) string {
	if n == 1 {
		return word + "s"
	}
	return word
}

// count is how many statements have a verdict, those of the paper apart from ours.
func count(findings []Finding, v Verdict) (paper, ours int) {
	for _, f := range findings {
		switch {
		case f.Verdict != v:
		case f.Beyond:
			ours++
		default:
			paper++
		}
	}
	return paper, ours
}

// summary counts the verdicts.
func summary(findings []Finding) string {
	pass, ours := count(findings, Pass)
	text := fmt.Sprintf("%d statements of the paper and %d of ours hold for every p", pass, ours)
	for _, v := range []struct {
		Verdict
		text string
	}{{Partly, "hold, but not every p decides them"}, {Refuted, "false as printed for some p"},
		{Undecided, "not decided"}, {NotTested, "not tested"}} {
		if paper, ours := count(findings, v.Verdict); paper+ours > 0 {
			text += fmt.Sprintf(", %d %s", paper+ours, v.text)
		}
	}
	paper, beyond := count(findings, Fail)
	return text + fmt.Sprintf(", %d fail", paper+beyond)
}

// undecidedPairs lists what is not decided, with the reason: a line for each statement and p.
func undecidedPairs(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		for _, b := range f.ByP {
			if b.Verdict == Undecided || b.Verdict == NotTested {
				out = append(out, fmt.Sprintf("%s, p = %v: %s: %s.", f.Name, b.P, b.Verdict, b.Reason))
			}
		}
	}
	return out
}

// counterexamples lists what is false as printed.
func counterexamples(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		for _, b := range f.ByP {
			if b.Verdict == Refuted {
				out = append(out, fmt.Sprintf("%s, p = %v: %s.", f.Name, b.P, b.Reason))
			}
		}
	}
	return out
}

// verifyTable is one line per statement, the verdict first.
func verifyTable(findings []Finding) render.Table {
	t := render.Table{Title: "Statements of the paper", Left: 2,
		Header: []string{"verdict", "statement", "measured", "bound", "condition held", "cases", "undecided p", "on"}}
	for _, f := range findings {
		bound := fmt.Sprintf("≤ %.0e", f.Bound)
		if f.Bound >= 0.01 {
			bound = fmt.Sprintf("≤ %g", f.Bound)
		}
		if f.Bound == 0 {
			bound = "≤ 0"
		}
		if f.AtLeast {
			bound = fmt.Sprintf("≥ %g", f.Bound)
		}
		held := render.Text("always")
		if f.Share != nil {
			held = render.Text("%.1f %%", 100**f.Share)
		}
		measured := render.Text("–")
		if f.Tested {
			measured = render.Short(float64(f.Measured), 2)
		} else {
			held = measured
		}
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", f.Verdict), render.Text("%s", f.Name), measured,
			render.Text("%s", bound), held, render.Text("%d", f.Cases), render.Text("%s", listed(f.Without())),
			render.Text("%s", strings.Join(append(slices.Clone(f.Data), f.Losses...), ", "))})
	}
	return t
}

// byPTable has the verdict, the decided cases and the share of steps for each p.
func byPTable(findings []Finding, ps []float64) render.Table {
	t := render.Table{Title: "By p",
		Header: []string{"statement"},
		Note: "The verdict, and the share of steps on which the statement's condition held. A p passes if no case fails " +
			"and, on one kind of data with one rule of steps, at least half of the descents decide it."}
	for _, p := range ps {
		t.Header = append(t.Header, fmt.Sprintf("p = %v", p))
	}
	for _, f := range findings {
		row := []render.Cell{render.Text("%s", f.Name)}
		for _, p := range ps {
			cell := render.Text("–")
			for _, b := range f.ByP {
				if b.P != p {
					continue
				}
				text := string(b.Verdict)
				if b.Share != nil {
					text += fmt.Sprintf(" %.0f %%", 100**b.Share)
				}
				cell = render.Text("%s", text)
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func listed(ps []float64) string {
	if len(ps) == 0 {
		return "none"
	}
	var out []string
	for _, p := range ps {
		out = append(out, fmt.Sprint(p))
	}
	return strings.Join(out, ", ")
}
