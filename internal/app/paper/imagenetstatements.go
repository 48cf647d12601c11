package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
)

// paperCheck is a statement of the paper about trained networks, what the runs show of it, and a verdict.
type paperCheck struct {
	Model    string `json:"model"`
	Claim    string `json:"statement"`
	Measured string `json:"measured"`
	Verdict  string `json:"verdict"`
}

// The verdicts, with how many runs they are of: with fewer than three, differences have no test.
const (
	asInPaper  = "as in the paper"
	against    = "against the paper"
	openHere   = "open here"
	tooFewRuns = "too few runs"
)

// untested adds to a verdict how few runs it is of.
func untested(verdict string, runs int) string {
	switch runs {
	case 1:
		return verdict + ", one run each"
	case 2:
		return verdict + ", two runs each"
	}
	return verdict
}

// What the paper's words mean in numbers: "mid-70's", and "around 3 %".
const (
	midLow, midHigh   = 73., 77.
	costLow, costHigh = 2., 4.
)

// baseline is torchvision's top-1 accuracy, PyTorch's baseline, in percent.
var baseline = map[string]float64{"resnet18-imagenet": 69.758, "mobilenetv2-imagenet": 71.878}

// imageNetStatements are what Table 7 and Appendix F.4 say, network after network, of the runs at the first rate
// without anything that regularises. On other pictures the statements about accuracies of ImageNet are left out.
func imageNetStatements(r *networks) []paperCheck {
	var out []paperCheck
	seen := map[string]bool{}
	for _, g := range r.groups {
		if seen[g.model] || !numbers.Plain(g.settings) {
			continue
		}
		seen[g.model] = true
		add := func(claim string, check func(*networks, *group) (measured, verdict string)) {
			measured, verdict := check(r, g)
			out = append(out, paperCheck{g.model, claim, measured, verdict})
		}
		add("p = 3 is best", bestIsThree)
		if numbers.Of(r.paper.rows(), g.model) != nil {
			add("the p are in the order of its table", orderOfTable)
		}
		add("training accuracy does not reach 100 %", notInterpolating)
		if r.paper.ours(r) {
			add("training accuracy is in the mid-70s", inTheMid70s)
			if baseline[g.model] > 0 {
				add("p = 2 is below PyTorch's baseline", belowBaseline)
			}
		}
		add("without weight decay, p = 2 loses around 3 points", costOfNoDecay)
	}
	return out
}

// bestIsThree compares p = 3 with the best of the others.
func bestIsThree(r *networks, g *group) (measured, verdict string) {
	best := math.NaN()
	var done []string
	for _, p := range g.ps {
		if len(g.runs[p]) == 0 {
			continue
		}
		done = append(done, fmt.Sprint(p))
		if a := g.over(p, r.paper.test).Mean; p != 3 && !(a <= g.over(best, r.paper.test).Mean) {
			best = p
		}
	}
	if len(g.runs[3]) == 0 && g.failed[3] > 0 && !math.IsNaN(best) {
		return fmt.Sprintf("p = 3 diverged; p = %v: %.2f %%", best, g.over(best, r.paper.test).Mean),
			untested(against, g.failed[3])
	}
	if len(g.runs[3]) == 0 || math.IsNaN(best) {
		return "needs p = 3 and another p" + g.diverged(), tooFewRuns
	}
	measured = fmt.Sprintf("p = 3: %.2f %%; p = %v, the best of the others: %.2f %%; p = %s have results%s",
		g.over(3, r.paper.test).Mean, best, g.over(best, r.paper.test).Mean, strings.Join(done, ", "), g.diverged())
	for _, c := range r.compare(g) {
		if c.p == min(3, best) && c.q == max(3, best) {
			sign := 1.
			if c.q == 3 {
				sign = -1
			}
			return measured, c.agrees(sign)
		}
	}
	return measured, tooFewRuns
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

// agrees is the verdict on a pair that the paper orders as the sign says.
func (c compared) agrees(sign float64) string {
	switch n := c.ours.N; {
	case n == 0:
		return tooFewRuns
	case c.ours.Mean == 0:
		return untested(openHere, n)
	case n >= 3 && !c.significantHere():
		return openHere
	case (c.ours.Mean > 0) == (sign > 0):
		return untested(asInPaper, n)
	default:
		return untested(against, n)
	}
}

// orderOfTable counts the pairs of p that are ordered as in the paper's table.
func orderOfTable(r *networks, g *group) (measured, verdict string) {
	paper := numbers.Of(r.paper.rows(), g.model)
	counts := map[string]int{}
	var wrong []string
	all, least := 0, math.MaxInt
	for _, c := range r.compare(g) {
		x, ok := paper[c.p]
		y, both := paper[c.q]
		if !ok || !both {
			continue
		}
		all++
		word, _, _ := strings.Cut(c.agrees(x.Mean-y.Mean), ",")
		counts[word]++
		if word != tooFewRuns {
			least = min(least, c.ours.N)
		}
		if word == against {
			wrong = append(wrong, fmt.Sprintf("%v and %v", c.p, c.q))
		}
	}
	n := all - counts[tooFewRuns]
	if n == 0 {
		return "needs two p of the table" + g.diverged(), tooFewRuns
	}
	measured = fmt.Sprintf("%d of %s as in the paper, %d against it", counts[asInPaper], render.Count(n, "pair"),
		counts[against])
	if k := counts[openHere]; k > 0 {
		measured += fmt.Sprintf(", %d open", k)
	}
	if len(wrong) > 0 {
		measured += ": p = " + strings.Join(wrong, "; ")
	}
	measured += g.diverged()
	switch {
	case counts[against] > 0:
		return measured, untested(against, least)
	case counts[asInPaper] == n:
		return measured, untested(asInPaper, least)
	}
	return measured, openHere
}

// trained is the range of the training accuracies, and how many runs they are of.
func (g *group) trained() (low, high float64, runs int) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range g.ps {
		for _, x := range g.runs[p] {
			low, high, runs = min(low, trainAccuracy(x)), max(high, trainAccuracy(x)), runs+1
		}
	}
	return low, high, runs
}

const onCrops = "in the last epoch, on random crops"

func notInterpolating(_ *networks, g *group) (measured, verdict string) {
	low, high, runs := g.trained()
	switch {
	case runs == 0:
		return "–", tooFewRuns
	case high > 99.5:
		verdict = against
	default:
		verdict = asInPaper
	}
	return fmt.Sprintf("%.2f to %.2f %% %s, %s", low, high, onCrops, render.Count(runs, "run")), verdict
}

func inTheMid70s(_ *networks, g *group) (measured, verdict string) {
	var in, all int
	for _, p := range g.ps {
		for _, x := range g.runs[p] {
			if a := trainAccuracy(x); a >= midLow && a <= midHigh {
				in++
			}
			all++
		}
	}
	low, high, _ := g.trained()
	switch in {
	case all:
		verdict = asInPaper
	default:
		verdict = against
	}
	if all == 0 {
		return "–", tooFewRuns
	}
	return fmt.Sprintf("%d of %s between %v and %v %% %s: %.2f to %.2f %%", in, render.Count(all, "run"), midLow, midHigh,
		onCrops, low, high), verdict
}

func belowBaseline(r *networks, g *group) (measured, verdict string) {
	runs := len(g.runs[2])
	if runs == 0 {
		return "needs p = 2", tooFewRuns
	}
	ours, theirs := g.over(2, r.paper.test).Mean, baseline[g.model]
	verdict = asInPaper
	if ours >= theirs {
		verdict = against
	}
	return fmt.Sprintf("%.2f %%, the baseline %.2f %%", ours, theirs), untested(verdict, runs)
}

// costOfNoDecay compares the runs of p = 2 with those with decay, seed by seed.
func costOfNoDecay(r *networks, g *group) (measured, verdict string) {
	k := slices.IndexFunc(r.groups, func(other *group) bool {
		return other.model == g.model && !numbers.Plain(other.settings) && other.settings["lr"] == g.settings["lr"] &&
			other.settings["weight_decay"] != "" && other.settings["weight_decay"] != "0"
	})
	if k < 0 {
		return "no runs with decay: --weight-decay 5e-5 adds them", tooFewRuns
	}
	with := r.groups[k]
	var costs []float64
	for _, x := range with.runs[2] {
		if j := slices.IndexFunc(g.runs[2], func(y command.TrainResult) bool { return y.Seed == x.Seed }); j >= 0 {
			costs = append(costs, r.paper.test(x)-r.paper.test(g.runs[2][j]))
		}
	}
	if len(costs) == 0 {
		return "needs p = 2 with and without decay", tooFewRuns
	}
	mean := 0.
	for _, c := range costs {
		mean += c / float64(len(costs))
	}
	verdict = against
	if mean >= costLow && mean <= costHigh {
		verdict = asInPaper
	}
	return fmt.Sprintf("%+.2f points with a decay of %s (from %v to %v is taken as around 3)", mean,
		with.settings["weight_decay"], costLow, costHigh), untested(verdict, len(costs))
}

// statementsTable is what the paper says beside what was measured.
func (r *networks) statementsTable() render.Table {
	t := render.Table{Title: "What the paper says of ImageNet, and what these runs show",
		Header: []string{"network", "the paper", "measured", "verdict"},
		Note: "The paper has one run of each network and p: how much of its differences is chance is not known. Of " +
			"one or two runs here no difference has a test; with three or more seeds a verdict on two p needs Student's t " +
			"below 0.05, corrected by Holm's method."}
	if !r.asPaper() {
		t.Note += fmt.Sprintf(" These runs have %s, the paper's %d.", r.each(epochs), r.paper.epochs)
	}
	for _, c := range r.paper.statements(r) {
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", c.Model), render.Text("%s", c.Claim),
			render.Text("%s", c.Measured), render.Text("%s", c.Verdict)})
	}
	return t
}
