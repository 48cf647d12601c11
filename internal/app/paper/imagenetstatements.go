package paper

import (
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
)

// What the paper's words mean in numbers: "mid-70's", and "around 3 %".
const (
	midLow, midHigh   = 73., 77.
	costLow, costHigh = 2., 4.
)

// baseline is torchvision's top-1 accuracy, PyTorch's baseline, in percent.
var baseline = map[string]float64{"resnet18-imagenet": 69.758, "mobilenetv2-imagenet": 71.878}

const onCrops = "in the last epoch, on random crops"

// imageNetClaims are what Table 7 and Appendix F.4 say of a network, of the runs at the first rate without anything
// that regularises. On other pictures the statements about accuracies of ImageNet are left out.
func imageNetClaims(c *networkClaims) {
	c.bestIsThree()
	c.orderOfTable()
	c.everyRun("training accuracy does not reach 100 %", "", "below 99.5 % "+onCrops,
		func(a float64) bool { return a <= 99.5 })
	if c.r.paper.ours(c.r) {
		c.everyRun("training accuracy is in the mid-70s", "", fmt.Sprintf("between %v and %v %% %s", midLow, midHigh,
			onCrops), func(a float64) bool { return a >= midLow && a <= midHigh })
		if baseline[c.g.model] > 0 {
			c.belowBaseline()
		}
	}
	c.costOfNoDecay()
}

// orderOfTable is the statement that all pairs of p are ordered as in the paper's table.
func (c *networkClaims) orderOfTable() {
	table := numbers.Of(c.r.paper.rows(), c.g.model)
	if table == nil {
		return
	}
	x := c.add("the p are in the order of its table", "")
	q := c.g.accuracies(c.r.paper.test)
	ps := q.have(c.g)
	same, all, least := 0, 0, math.MaxInt
	for i, a := range ps {
		for _, b := range ps[i+1:] {
			if _, ok := table[a]; !ok {
				continue
			}
			if _, ok := table[b]; !ok {
				continue
			}
			d := trials.Differ(q.of(a), q.of(b))
			if table[a].Mean < table[b].Mean {
				d.Mean = -d.Mean
			}
			if all++; d.Mean > 0 {
				same++
			}
			least = min(least, d.N, d.M)
			x.tests = append(x.tests, &claimTest{Contrast: d})
		}
	}
	if all == 0 {
		x.Measured, x.Verdict = "needs two p of the table"+c.g.diverged(), notRun
		return
	}
	share := float64(same)
	x.Value, x.Runs = &share, fmt.Sprint(least)
	x.Measured = fmt.Sprintf("value: of %s those with its sign%s", render.Count(all, "pair"), c.missing(ps))
	x.decide = func(x *paperClaim) string {
		if verdict := x.byTests(); verdict != holds || c.complete(ps) {
			return verdict
		}
		return tooFewRuns
	}
}

// belowBaseline compares p = 2 with PyTorch's baseline.
func (c *networkClaims) belowBaseline() {
	x := c.add("p = 2 is below PyTorch's baseline", "")
	s := c.g.over(2, c.r.paper.test)
	if s.N == 0 {
		x.Measured, x.Verdict = "needs p = 2", notRun
		return
	}
	theirs := baseline[c.g.model]
	d := oneSample(s)
	d.Mean = theirs - d.Mean
	x.tests = []*claimTest{{Contrast: d}}
	d.Mean = -d.Mean
	x.set(d, 2)
	x.Measured = fmt.Sprintf("%.2f %%; the baseline: %.2f %%", s.Mean, theirs)
}

// oneSample is a mean, to be compared with a number.
func oneSample(s trials.Sample) trials.Contrast {
	d := trials.Contrast{Mean: s.Mean, SE: s.Error(), Paired: true, N: s.N, M: s.N, Freedom: math.NaN()}
	if s.N >= trials.LeastRuns {
		d.Freedom = float64(s.N - 1)
	}
	return d
}

// costOfNoDecay compares the runs of p = 2 with those with decay.
func (c *networkClaims) costOfNoDecay() {
	x := c.add("without weight decay, p = 2 loses around 3 points", "")
	k := slices.IndexFunc(c.r.groups, func(other *group) bool {
		return other.model == c.g.model && !numbers.Plain(other.settings) &&
			other.settings["lr"] == c.g.settings["lr"] && other.settings["weight_decay"] != "" &&
			other.settings["weight_decay"] != "0"
	})
	if k < 0 {
		x.Measured, x.Verdict = "no runs with decay: --weight-decay 5e-5 adds them", notRun
		return
	}
	with := c.r.groups[k]
	d := trials.Differ(with.accuracies(c.r.paper.test).of(2), c.g.accuracies(c.r.paper.test).of(2))
	if math.IsNaN(d.Mean) {
		x.Measured, x.Verdict = "needs p = 2 with and without decay", notRun
		return
	}
	low, high := d, d // around 3: above costLow and below costHigh
	high.Mean = -high.Mean
	x.tests = []*claimTest{{Contrast: low, least: costLow}, {Contrast: high, least: -costHigh}}
	x.set(d, 2)
	x.Measured = fmt.Sprintf("value: points gained by a decay of %s; from %v to %v is taken as around 3",
		with.settings["weight_decay"], costLow, costHigh)
}
