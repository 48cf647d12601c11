package tour

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/train"
)

// tableFit is a fit of the table.
type tableFit struct {
	P        float64 `json:"p"`
	HeldOut  float64 `json:"held_out_accuracy"`
	NearZero int     `json:"near_zero"` // weights below nearly times the largest
	TopShare float64 `json:"top_share"` // of the sum of all |w|, in the top largest
	Run      string  `json:"run"`

	weights []float64 // without the intercept
}

// nearly is the share of the largest weight up to which one counts as nearly zero, top the number of weights whose
// share tells how equal they are.
const (
	nearly = 0.01
	top    = 5
)

// newTableFit measures weights.
func newTableFit(p, heldOut float64, weights []float64, run string) tableFit {
	f := tableFit{P: p, HeldOut: heldOut, Run: run, weights: weights}
	size := f.sorted()
	var sum, first float64
	for k, v := range size {
		sum += v
		if k < top {
			first += v
		}
		if v <= nearly*size[0] {
			f.NearZero++
		}
	}
	if sum > 0 {
		f.TopShare = first / sum
	}
	return f
}

// sorted are the sizes of the weights, the largest first.
func (f tableFit) sorted() []float64 {
	var size []float64
	for _, v := range f.weights {
		size = append(size, math.Abs(v))
	}
	slices.SortFunc(size, func(a, b float64) int { return cmp.Compare(b, a) })
	return size
}

// table is what the fits of one table found, by rising p.
type table struct {
	Data     string     `json:"data"`
	Examples int        `json:"examples"`
	Features int        `json:"features"`
	Fits     []tableFit `json:"fits"`

	names []string // of the features
}

// each lists a number of every fit.
func (t table) each(format string, of func(tableFit) any) string {
	var out []string
	for _, f := range t.Fits {
		out = append(out, fmt.Sprintf(format, of(f)))
	}
	return pages.Listed(out)
}

func (t table) ps() string { return t.each("%v", func(f tableFit) any { return f.P }) }

// fewer reports whether the number of weights that are nearly zero falls from the smallest to the largest p, and never
// rises between.
func (t table) fewer() bool {
	return t.Fits[0].NearZero > t.Fits[len(t.Fits)-1].NearZero &&
		slices.IsSortedFunc(t.Fits, func(a, b tableFit) int { return b.NearZero - a.NearZero })
}

// sparsity says for which p weights are nearly zero.
func (t table) sparsity() string {
	counts := t.each("%d", func(f tableFit) any { return f.NearZero })
	said := fmt.Sprintf("%s of the %d weights are nearly zero with p = %s", counts, t.Features, t.ps())
	same := !slices.ContainsFunc(t.Fits, func(f tableFit) bool { return f.NearZero != t.Fits[0].NearZero })
	switch {
	case t.fewer():
		return said + ": the smaller p, the fewer features the model uses."
	case same:
		return said + ": p made no difference to that."
	}
	return said + ": here a smaller p does not mean fewer features."
}

// evenness says for which p weights have similar sizes.
func (t table) evenness() string {
	said := fmt.Sprintf("The %d largest weights have %s of the sum of all |w|", top,
		t.each("%.0f %%", func(f tableFit) any { return 100 * f.TopShare }))
	falls := t.Fits[0].TopShare > t.Fits[len(t.Fits)-1].TopShare && slices.IsSortedFunc(t.Fits,
		func(a, b tableFit) int { return cmp.Compare(b.TopShare, a.TopShare) })
	if falls {
		return said + ": the larger p, the more equal the weights are."
	}
	return said + ": here a larger p does not mean more equal weights."
}

// accuracy says whether one p predicts better than chance explains.
func (t table) accuracy() string {
	best, worst := t.Fits[0], t.Fits[0]
	for _, f := range t.Fits {
		if f.HeldOut > best.HeldOut {
			best = f
		}
		if f.HeldOut < worst.HeldOut {
			worst = f
		}
	}
	said := fmt.Sprintf("The %d models classify %s of held-out examples correctly", len(t.Fits),
		t.each("%.1f %%", func(f tableFit) any { return 100 * f.HeldOut }))
	differ := math.Round((best.HeldOut - worst.HeldOut) * float64(t.Examples))
	if low, _ := pages.Interval(best.HeldOut, t.Examples); low > worst.HeldOut {
		return said + fmt.Sprintf(": p = %v is more accurate than p = %v, by %.0f of %d examples.", best.P, worst.P, differ,
			t.Examples)
	}
	if differ == 0 {
		return said + ": the same."
	}
	return said + fmt.Sprintf(": a difference of %.0f in %d examples, which may be chance.", differ, t.Examples)
}

// network is one trained network.
type network struct {
	P        float64       `json:"p"`
	Accuracy float64       `json:"test_accuracy"`
	Small    float64       `json:"small"` // share of weights below a tenth of their layer's root mean square
	Pruned   []train.Level `json:"pruned"`
	Rounded  []train.Level `json:"rounded"`
	Run      string        `json:"run"`

	sizes train.Histogram
}

func newNetwork(p float64, s train.Study, run string) network {
	return network{P: p, Accuracy: s.Accuracy, Small: s.Scaled.Below[3], Pruned: s.PrunedAll, Rounded: s.Rounded, Run: run,
		sizes: s.ScaledHistogram}
}

// networks are two, of the same seed and different p.
type networks struct {
	Model      string    `json:"model"`
	Data       string    `json:"data"`
	Parameters int       `json:"parameters"`
	Epochs     int       `json:"epochs"`
	Seed       uint64    `json:"seed"`
	Runs       []network `json:"runs"`
}

// sizesSaid says which network has more small weights.
func (n networks) sizesSaid() string {
	a, b := n.Runs[0], n.Runs[1]
	said := fmt.Sprintf("Below a tenth of the root mean square of their layer are %.1f %% of the weights with p = %v and "+
		"%.1f %% with p = %v", 100*a.Small, a.P, 100*b.Small, b.P)
	const clearly = 1.5
	switch {
	case a.Small > clearly*b.Small:
		return said + fmt.Sprintf(": p = %v has more small weights.", a.P)
	case b.Small > clearly*a.Small:
		return said + fmt.Sprintf(": p = %v has more small weights.", b.P)
	}
	return said + ": that is about the same."
}

// accuracySaid compares the untouched networks.
func (n networks) accuracySaid() string {
	a, b := n.Runs[0], n.Runs[1]
	said := fmt.Sprintf("Untouched, the networks classify %.1f %% (p = %v) and %.1f %% (p = %v) of the test pictures "+
		"correctly", 100*a.Accuracy, a.P, 100*b.Accuracy, b.P)
	if math.Abs(a.Accuracy-b.Accuracy) < clear {
		return said + ", about the same."
	}
	return said + "."
}

// clear is a difference of accuracies that a page calls one: chance alone moves the difference of two networks on 1,100
// test pictures by up to 0.042 in 95 of 100 cases.
const clear = 0.05

// change is what happened to two networks when their weights were changed.
type change struct {
	a, b    network
	levels  [2][]train.Level
	to      func(at float64) string // what was done
	verb    string                  // what the better one is
	nothing string                  // if none is better
}

func (n networks) pruning() change {
	return change{n.Runs[0], n.Runs[1], [2][]train.Level{n.Runs[0].Pruned, n.Runs[1].Pruned},
		func(at float64) string { return fmt.Sprintf("the smallest %.0f %% of the weights set to 0", 100*at) },
		"loses less when weights are removed",
		"Setting the smallest weights to 0"}
}

func (n networks) rounding() change {
	return change{n.Runs[0], n.Runs[1], [2][]train.Level{n.Runs[0].Rounded, n.Runs[1].Rounded},
		func(at float64) string { return fmt.Sprintf("all weights rounded to %.0f bits", at) },
		"loses less when weights are rounded", "Rounding the weights"}
}

// gap is where one network is furthest ahead of the other, in accuracy; by is 0 if it never is.
type gap struct {
	at, first, second, by float64
}

// ahead returns the largest gap of the k-th network over the other.
func (c change) ahead(k int) (g gap) {
	for i, l := range c.levels[k] {
		if other := c.levels[1-k]; i < len(other) && l.Accuracy-other[i].Accuracy > g.by {
			g = gap{l.At, l.Accuracy, other[i].Accuracy, l.Accuracy - other[i].Accuracy}
		}
	}
	return g
}

// better is the network that is clearly ahead at some level and never clearly behind.
func (c change) better() (n network, ok bool) {
	a, b := c.ahead(0), c.ahead(1)
	switch {
	case a.by >= clear && b.by < clear:
		return c.a, true
	case b.by >= clear && a.by < clear:
		return c.b, true
	}
	return network{}, false
}

// adjusted is the same with the accuracies after the statistics of batch norm were recomputed, if all have them.
func (c change) adjusted() (out change, ok bool) {
	out = c
	for k, levels := range c.levels {
		out.levels[k] = nil
		for _, l := range levels {
			if l.Recalibrated == nil {
				return c, false
			}
			out.levels[k] = append(out.levels[k], train.Level{At: l.At, Accuracy: *l.Recalibrated})
		}
	}
	return out, len(out.levels[0]) > 0
}

// firm is the better network, unless the other one is ahead at some level after the adjustment.
func (c change) firm() (n network, ok bool) {
	n, ok = c.better()
	other, has := c.adjusted()
	if !ok || !has {
		return n, ok
	}
	k := 1
	if n.P == c.b.P {
		k = 0
	}
	return n, other.ahead(k).by < clear
}

// adjustedSaid is the sentence after the adjustment, if that names another network than the one before it, or none.
func (c change) adjustedSaid() string {
	other, ok := c.adjusted()
	if !ok {
		return ""
	}
	before, one := c.better()
	after, two := other.better()
	if one == two && before.P == after.P {
		return ""
	}
	return " With the statistics of batch norm recomputed after that: " + other.sentence()
}

// sentence says which network is better after the change, and at which level most.
func (c change) sentence() string {
	a, b := c.ahead(0), c.ahead(1)
	best, ok := c.better()
	switch {
	case !ok && a.by < clear:
		return fmt.Sprintf("%s cost both networks about the same: they differ by at most %.1f points.", c.nothing,
			100*max(a.by, b.by))
	case !ok:
		return fmt.Sprintf("Neither network is ahead throughout: with %s, p = %v is ahead by %.1f points; with %s, "+
			"p = %v by %.1f.",
			c.to(a.at), c.a.P, 100*a.by, c.to(b.at), c.b.P, 100*b.by)
	}
	g, other := a, c.b
	if best.P == c.b.P {
		g, other = b, c.a
	}
	return fmt.Sprintf("With %s, the network of p = %v classifies %.1f %% correctly, that of p = %v only %.1f %%: "+
		"p = %v %s.", c.to(g.at), best.P, 100*g.first, other.P, 100*g.second, best.P, c.verb)
}

// lead is the first sentence of the page, and what to know with it.
func (r *toured) lead() (l pages.Lead) {
	var did []string
	if r.table.fewer() {
		did = append(did, "a smaller p gave a classifier that uses fewer columns of its table")
	}
	for _, c := range []struct {
		change
		what string
	}{{r.nets.pruning(), "removed"}, {r.nets.rounding(), "rounded"}} {
		if n, ok := c.firm(); ok {
			said := fmt.Sprintf("the network of p = %v lost less when weights were %s", n.P, c.what)
			if c.adjustedSaid() != "" {
				said += " and nothing else was adjusted"
			}
			did = append(did, said)
		}
	}
	if len(did) == 0 {
		l.Say("In these %d runs p made no clear difference.", len(r.table.Fits)+len(r.nets.Runs))
	} else {
		l.Say("The exponent p decides how a model spreads its weights: here %s.", pages.Listed(did))
	}
	l.Claim("%s", r.table.accuracy())
	l.Claim("%s", r.nets.accuracySaid())
	l.Claim("The networks are one run each: the seed alone can move such numbers by some points.")
	return l
}
