package paper

import (
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/runlog"
)

// slips are places where the paper's text differs from what is true, beyond those that stand beside a check.
var slips = []string{
	"1 − (1−ε)ᵖ in the last bound of the main proof should have the exponent p − 1: ∇ψ is homogeneous of degree p − 1.",
	"“Divide by ‖w_T‖” in the simpler proof is ‖w_T‖^(p−1).",
	"“Multiply by ‖w_t‖ᵖ” after the second scalar inequality is ‖w_{t−1}‖ᵖ.",
	"The summed form of the main text has L(w₁), ψ(c₁u) and a sum from t = 1 where the sum from t = 0 gives " +
		"L(w₀), ψ(c₀u) and t = 0.",
	"The telescoping of the main proof assumes that ‖w_t‖ increases at every step; the check of the summed form does not.",
}

// unchecked are statements of the paper that no line checks.
var unchecked = []string{
	"Theorems 8 and 9, on gradient descent, which the paper quotes.",
	"Theorem 13 and Lemmas 2 to 4 for losses other than the exponential loss.",
	"The two bounds of Lemma 16 as stated, and its extension to other losses; two exact steps of its proof are checked.",
	"The last steps of the proof of Theorem 13, from the summed moving target to the limit.",
}

// writeVerify writes the report of the statements.
func writeVerify(run *runlog.Run, findings []Finding, hyper []hyperbolicLimit, seconds float64) {
	differ := slips
	for _, f := range findings {
		if f.Slip != "" {
			differ = append(differ, fmt.Sprintf("%s: %s. Checked in the corrected form: %s.", f.Name, f.Slip, f.Claim))
		}
	}
	doc := render.NewDocument(run, "Statements of the paper, checked",
		fmt.Sprintf("bregman verify · %s · %.0f s", run.Info.Started.Format("2 January 2006 15:04"), seconds))
	doc.Say("%s, of %d lines in all. Each line is the worst over all its cases: problems in the plane and in R¹⁰⁰, "+
		"several seeds, several p. A negative excess means room to spare. The lemmas assume that ψ − ηL is convex "+
		"along the step; the column “condition held” is the share of steps with D_{ψ−ηL}(w_{t+1}, w_t) ≥ 0 and "+
		"what else a statement assumes. Only these steps test it.", hold(findings), len(findings))
	doc.Section("Statements")
	doc.AddTables(render.Named{Name: "statements", Table: verifyTable(findings)})
	doc.Section("What is not checked")
	doc.List(unchecked...)
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

// hold counts the statements that hold, those of the paper apart from those beyond it.
func hold(findings []Finding) string {
	paper, beyond := 0, 0
	for _, f := range findings {
		switch {
		case f.Pass && f.Beyond:
			beyond++
		case f.Pass:
			paper++
		}
	}
	return fmt.Sprintf("%d statements of the paper and %d beyond it hold", paper, beyond)
}

// verifyTable is one line per statement.
func verifyTable(findings []Finding) render.Table {
	t := render.Table{Title: "Statements of the paper",
		Header: []string{"statement", "measured", "bound", "condition held", "cases", "worst case", ""}}
	for _, f := range findings {
		bound := fmt.Sprintf("≤ %.0e", f.Bound)
		if f.Bound >= 0.01 {
			bound = fmt.Sprintf("≤ %g", f.Bound)
		}
		if f.AtLeast {
			bound = fmt.Sprintf("≥ %g", f.Bound)
		}
		share := render.Text("always")
		if f.Share != nil {
			share = render.Text("%.1f %%", 100**f.Share)
		}
		verdict := render.Text("pass")
		switch {
		case !f.Tested && !math.IsNaN(float64(f.Measured)):
			verdict = render.Text("not tested")
		case !f.Pass:
			verdict = render.Text("FAIL")
		}
		measured := render.Text("–")
		if f.Tested {
			measured = render.Short(float64(f.Measured), 2)
		}
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", f.Name), measured, render.Text("%s", bound), share,
			render.Text("%d", f.Cases), render.Text("%s", f.Worst), verdict})
	}
	return t
}
