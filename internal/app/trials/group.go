package trials

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// Curve is a curve of a run.
type Curve struct {
	*runlog.Curve
	Run *Run

	own string // the settings that may change its numbers, besides p and the seed, where the runs of its kind differ
}

// Seed is the seed of the curve: that of its run, unless its name has one, as in a run of several seeds.
func (c Curve) Seed() uint64 {
	for _, part := range strings.Split(c.Name, ", ") {
		if text, ok := strings.CutPrefix(part, "seed "); ok {
			if seed, err := strconv.ParseUint(text, 10, 64); err == nil {
				return seed
			}
		}
	}
	return c.Run.Info.Seed
}

// Group is the runs of one p and otherwise equal settings. Its trials are those of different seeds.
type Group struct {
	Name string
	P    float64 // NaN if there is none
	Line int     // the style of its curves: one for each variant of the settings, the same for every p
	// command, network and data, and what the curves are drawn over: curves of different kinds do not go into one
	// figure
	Kind   string
	Curves []Curve

	variant string // what it differs in besides p and the learning rate
	merged  bool   // its curves may differ in more than their seeds
}

// Merged reports whether the curves of a group may differ in more than their seeds: its mean is over whatever differs.
func (g *Group) Merged() bool { return g.merged }

// Groups sorts the curves of runs by kind and p. Runs that are done and differ only in their seed are trials of one
// group; one that is not done is a group by itself, so that no mean counts it. A group's name has its p and what
// distinguishes it from other groups of its kind.
func Groups(runs []*Run) []*Group { return GroupsBy(runs, AllSettings) }

// What GroupsBy may group by, besides the name of a setting.
const (
	AllSettings = "all"  // everything but the seed
	OnlyP       = "p"    // nothing but p
	SingleRuns  = "runs" // each run by itself
)

// GroupsBy is as Groups, but runs that are equal in p and in the setting called by are one group, whatever else
// differs.
func GroupsBy(runs []*Run, by string) []*Group {
	kinds := map[string][]*Run{}
	for _, r := range runs {
		kinds[r.Kind()] = append(kinds[r.Kind()], r)
	}
	var out []*Group
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		out = append(out, groupsOf(kinds[kind], kind, by)...)
	}
	return out
}

func (r *Run) Kind() string {
	model, _ := r.Settings["model"].(string)
	data, _, _ := strings.Cut(r.Info.Data, ":") // r100:7 is another draw of r100
	if data == r.Info.Data {
		data = path.Base(data)
	}
	return strings.TrimSuffix(strings.Join(strings.Fields(r.Info.Command+" "+model+" on "+data), " "), " on .")
}

// Distinguishing are the settings by which runs of one kind can be grouped, besides p: those that differ and may change
// numbers.
func Distinguishing(runs []*Run) []string {
	byKind := map[string][]*Run{}
	for _, r := range runs {
		byKind[r.Kind()] = append(byKind[r.Kind()], r)
	}
	names := map[string]bool{}
	for _, same := range byKind {
		for _, d := range Differences(same) {
			if changesNumbers(d.Name) {
				names[d.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// changesNumbers reports whether a setting is part of what a group is. Its p is the curve's own.
func changesNumbers(name string) bool {
	apart := []string{"p", "version", "engine used", "no_study"}
	return kinds.Role(name) == settings.Result && !slices.Contains(apart, name)
}

// groupsOf are the groups of runs of one kind.
func groupsOf(runs []*Run, kind, by string) []*Group {
	differ := Differences(runs)
	var out []*Group
	byKey := map[string]*Group{}
	for i, r := range runs {
		var parts, variant []string
		own := "" // what a short name may not show
		for _, d := range differ {
			v := d.Values[i]
			if !changesNumbers(d.Name) || unset(d.Name, v) {
				own += "\x00"
				continue
			}
			own += v + "\x00"
			if by != AllSettings && by != SingleRuns && by != d.Name {
				continue
			}
			text := strings.ReplaceAll(d.Name, "_", " ")
			switch {
			case d.Name == "data":
				text = v
			case v != "true":
				text += " " + v
			}
			if parts = append(parts, short(text)); d.Name != "lr" {
				variant = append(variant, text)
			}
		}
		if r.Status != runlog.Done && len(runs) > 1 {
			parts = append(parts, fmt.Sprintf("seed %d, %s", r.Info.Seed, r.Status))
		} else if by == SingleRuns && len(runs) > 1 {
			parts = append(parts, fmt.Sprintf("seed %d", r.Info.Seed))
			variant = append(variant, fmt.Sprintf("seed %d", r.Info.Seed))
		}
		for _, c := range r.Log.Curves {
			if !IsCurve(c, r.Status) {
				continue
			}
			p := c.P
			if math.IsNaN(p) {
				p = r.P()
			}
			x, _ := c.Over()
			name := strings.Join(append(pName(p), parts...), ", ")
			kind := kind
			if extra := withoutP(c.Name); strings.HasPrefix(extra, "class ") { // of one fit
				name = strings.TrimPrefix(name+", "+extra, ", ")
			} else if extra != "" {
				kind = strings.TrimPrefix(kind+": "+extra, ": ")
			}
			key := name + "\x00" + kind + "\x00" + x
			switch by {
			case AllSettings, SingleRuns:
				key += "\x00" + own
			}
			if r.Status != runlog.Done || by == SingleRuns {
				key += "\x00" + r.ID + "\x00" + c.Name
			}
			g := byKey[key]
			if g == nil {
				g = &Group{Name: name, P: p, Kind: kind, variant: strings.Join(variant, ", "),
					merged: by != AllSettings && by != SingleRuns}
				byKey[key], out = g, append(out, g)
			}
			g.Curves = append(g.Curves, Curve{c, r, own})
		}
	}
	for _, g := range out {
		if g.Name == "" {
			g.Name = g.Kind
		}
	}
	slices.SortStableFunc(out, func(a, b *Group) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), cmp.Compare(a.P, b.P), byWords(a.Name, b.Name))
	})
	for _, kind := range Kinds(out) {
		style(kind)
	}
	return out
}

// Trials returns the curves that count in a mean: of each seed and each setting the first. Runs of one seed and equal
// settings are one trial, and counting it twice would make the deviation too small. A run of several seeds names its
// curves by them: such a curve and a run of that seed alone are one trial, too.
func (g *Group) Trials() []Curve {
	type trial struct {
		seed      uint64
		name, own string
	}
	seen := map[trial]bool{}
	return slices.DeleteFunc(slices.Clone(g.Curves), func(c Curve) bool {
		t := trial{c.Seed(), withoutP(c.Name), c.own}
		twice := seen[t]
		seen[t] = true
		return twice
	})
}

// byWords compares names word by word, numbers among them by size: lr 6.4 comes before lr 10.
func byWords(a, b string) int {
	words := func(s string) []string { return strings.Fields(strings.ReplaceAll(s, ",", " ")) }
	return cmp.Or(slices.CompareFunc(words(a), words(b), func(v, w string) int {
		x, notX := strconv.ParseFloat(v, 64)
		y, notY := strconv.ParseFloat(w, 64)
		if notX == nil && notY == nil {
			return cmp.Compare(x, y)
		}
		return strings.Compare(v, w)
	}), strings.Compare(a, b))
}

// unset reports whether a setting is one that does nothing unless it is set, and is not set: it is not part of a name.
// A setting that an earlier version did not have is off.
func unset(name, value string) bool {
	return slices.Contains([]string{"", "0", "false", "–"}, value) &&
		slices.Contains([]string{"momentum", "dual_decay", "weight_decay", "adaptive", "unit", "init", "no_augment", "bias",
			"l2", "lp", "cv"}, name)
}

// lineStyles is how many styles of lines a reader can distinguish.
const lineStyles = 6

// style gives the groups of a kind their styles: a variant has the same for every p, the plain one is the first. If a p
// has several of one style, the later take another.
func style(groups []*Group) {
	variants := []string{""}
	used := map[float64][]int{}
	for _, g := range groups {
		if !slices.Contains(variants, g.variant) {
			variants = append(variants, g.variant)
		}
	}
	if !slices.ContainsFunc(groups, func(g *Group) bool { return g.variant == "" }) {
		variants = variants[1:]
	}
	for _, g := range groups {
		k := slices.Index(variants, g.variant)
		for n := 0; n < lineStyles && slices.Contains(used[g.P], k%lineStyles); n++ {
			k++
		}
		g.Line = k % lineStyles
		used[g.P] = append(used[g.P], g.Line)
	}
}

// short cuts a text to what a legend has room for.
func short(s string) string {
	const most = 40
	if letters := []rune(s); len(letters) > most {
		return string(letters[:most/2-1]) + "…" + string(letters[len(letters)-most/2:])
	}
	return s
}

// Kinds splits groups by kind.
func Kinds(groups []*Group) [][]*Group {
	var out [][]*Group
	for _, g := range groups {
		if n := len(out); n > 0 && out[n-1][0].Kind == g.Kind {
			out[n-1] = append(out[n-1], g)
		} else {
			out = append(out, []*Group{g})
		}
	}
	return out
}

func pName(p float64) []string {
	if math.IsNaN(p) {
		return nil
	}
	return []string{"p = " + strconv.FormatFloat(p, 'g', -1, 64)}
}

// withoutP is a curve's name without its p and seed.
func withoutP(name string) string {
	var kept []string
	for _, part := range strings.Split(name, ", ") {
		if part != "" && !strings.HasPrefix(part, "p = ") && !strings.HasPrefix(part, "seed ") {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ", ")
}

// X returns the name of the axis a metric of a group is drawn over, and whether it is logarithmic: steps are, epochs
// are not.
func (g *Group) X() (string, bool) {
	for _, c := range g.Curves {
		x, _ := c.Over()
		return x, LogAxis(x)
	}
	return "", false
}

// Moves reports whether there is anything to draw: a curve with points at different x.
func (g *Group) Moves() bool {
	return slices.ContainsFunc(g.Curves, func(c Curve) bool { return moves(c.Curve) })
}

func moves(c *runlog.Curve) bool {
	_, x := c.Over()
	return slices.ContainsFunc(x, func(v float64) bool { return v < x[0] || v > x[0] }) // most often the second
}

// IsCurve reports whether the lines of a run in this state are a curve over steps, epochs or radii, and not results:
// statements of verify, runs of a sweep, folds of cross-validation. One point is a curve of a fit or a training, or one
// that begins. A curve that was replaced by a later one does not count.
func IsCurve(c *runlog.Curve, status string) bool {
	x, _ := c.Over()
	return x != "line" && !c.Old && (c.Name == "" || status == runlog.Running || moves(c))
}

// Band is the mean of a metric over the group's trials.
func (g *Group) Band(metric string) Band {
	x, _ := g.X()
	return g.BandOver(metric, x)
}

// BandOver is the mean of a metric over one of the axes of the group's curves; a curve that does not have it does not
// count.
func (g *Group) BandOver(metric, axis string) Band {
	m := MetricOf(metric)
	var all []Points
	for _, c := range g.Trials() {
		if _, ok := c.Values[metric]; !ok {
			continue
		}
		x := AxisOf(c.Curve, axis)
		if x == nil {
			continue
		}
		y := slices.Clone(c.Column(metric))
		for k := range y {
			y[k] *= m.Scale
		}
		all = append(all, Points{X: x, Y: y})
	}
	return MeanOf(all, LogAxis(axis))
}

// Results are the lines of a run that are not points of a curve, each with a name.
func (r *Run) Results() (out []*runlog.Curve) {
	for _, c := range r.Log.Curves {
		if !c.Old && !IsCurve(c, r.Status) {
			out = append(out, c)
		}
	}
	return out
}
