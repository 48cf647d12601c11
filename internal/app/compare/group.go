package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// Curve is a curve of a run.
type Curve struct {
	*runlog.Curve
	Run *Run
}

// Group is the runs of one p and otherwise equal settings. Its trials are those of different seeds.
type Group struct {
	Name   string
	P      float64      // NaN where there is none
	Style  render.Style // of its curves: one for each variant of the settings, the same for every p
	Kind   string       // command, network and data, and what the curves are drawn over: curves of different kinds do not go into one figure
	Curves []Curve

	variant string // what it differs in beside p and the learning rate
}

// Groups sorts the curves of runs by kind and p. Runs that are done and differ only in their seed are trials of one group; one that is not done is a group by itself,
// so that no mean counts it. A group's name has its p and what tells it from other groups of its kind.
func Groups(runs []*Run) []*Group {
	kinds := map[string][]*Run{}
	for _, r := range runs {
		kinds[r.kind()] = append(kinds[r.kind()], r)
	}
	var out []*Group
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		out = append(out, groupsOf(kinds[kind], kind)...)
	}
	return out
}

func (r *Run) kind() string {
	model, _ := r.Settings["model"].(string)
	data, _, _ := strings.Cut(r.Info.Data, ":") // r100:7 is another draw of r100
	if data == r.Info.Data {
		data = path.Base(data)
	}
	return strings.TrimSuffix(strings.Join(strings.Fields(r.Info.Command+" "+model+" on "+data), " "), " on .")
}

// groupsOf are the groups of runs of one kind.
func groupsOf(runs []*Run, kind string) []*Group {
	differ := Differences(runs)
	var out []*Group
	byKey := map[string]*Group{}
	for i, r := range runs {
		var parts, variant []string
		own := "" // what a short name may not tell
		for _, d := range differ {
			v := d.Values[i]
			apart := []string{"p", "version", "engine used", "no_study"} // p is the curve's; the others change no numbers
			if command.Role(d.Name) != settings.Result || slices.Contains(apart, d.Name) || off(d.Name, v) {
				own += "\x00"
				continue
			}
			own += v + "\x00"
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
			key := name + "\x00" + kind + "\x00" + x + "\x00" + own
			if r.Status != runlog.Done {
				key += "\x00" + r.ID
			}
			g := byKey[key]
			if g == nil {
				g = &Group{Name: name, P: p, Kind: kind, variant: strings.Join(variant, ", ")}
				byKey[key], out = g, append(out, g)
			}
			g.Curves = append(g.Curves, Curve{c, r})
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

// Trials returns the curves that count in a mean: of each seed the first. Runs of one seed and equal settings are
// one trial, and counting it twice would make the deviation too small.
func (g *Group) Trials() []Curve {
	type trial struct {
		seed uint64
		name string // a run of several seeds names its curves by them
	}
	seen := map[trial]bool{}
	return slices.DeleteFunc(slices.Clone(g.Curves), func(c Curve) bool {
		t := trial{c.Run.Info.Seed, c.Name}
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

// off says whether a setting is one that does nothing unless it is set, and is not set: such a one is not in a name, and what an earlier version did not have is off.
func off(name, value string) bool {
	return slices.Contains([]string{"", "0", "false", "–"}, value) &&
		slices.Contains([]string{"momentum", "dual_decay", "weight_decay", "adaptive", "unit", "init", "no_augment", "bias", "l2", "lp", "cv"}, name)
}

// style gives the groups of a kind their styles: a variant has the same for every p, the plain one is solid. Where a p has several of one style, the later take another.
func style(groups []*Group) {
	variants := []string{""}
	used := map[float64][]render.Style{}
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
		for n := 0; n < int(render.LineStyles) && slices.Contains(used[g.P], render.LineStyle(k)); n++ {
			k++
		}
		g.Style = render.LineStyle(k)
		used[g.P] = append(used[g.P], g.Style)
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

// Metric is how a column is drawn.
type Metric struct {
	Name   string
	Title  string
	Y      string
	Log    bool    // the y axis
	Scale  float64 // 100 for percent
	Column string  // the head of its column in a table
	Part   Part
}

// Part is where a metric belongs among the others.
type Part string

// The parts, in the order they are shown.
const (
	Learning Part = "Learning"
	Geometry Part = "Geometry"
	Speed    Part = "Rate and speed"
)

// Parts are all of them.
var Parts = []Part{Learning, Geometry, Speed}

// metrics are the columns that are known, in the order they are shown.
var metrics = []Metric{
	{"loss", "Training loss", "mean loss", true, 1, "loss", Learning},
	{"test_loss", "Test loss", "mean loss", true, 1, "test loss", Learning},
	{"accuracy", "Training accuracy", "%", false, 100, "accuracy, %", Learning},
	{"test_accuracy", "Test accuracy", "%", false, 100, "test accuracy, %", Learning},
	{"margin", "Margin of the direction", "margin of w over its p-norm", false, 1, "margin", Geometry},
	{"margin_low", "Output margin, 10 %", "10 % quantile / norm of last layer", false, 1, "margin, 10 %", Geometry},
	{"margin_median", "Output margin, median", "median / norm of last layer", false, 1, "margin, median", Geometry},
	{"gap", "Certified gap", "upper / lower − 1", true, 1, "gap", Geometry},
	{"divergence", "Divergence to the max margin", "D(u, w/‖w‖)", true, 1, "divergence", Geometry},
	{"divergence_start", "Divergence from start", "D(w, w at the start)", false, 1, "divergence from start", Geometry},
	{"angle", "Angle to the max margin", "radians", true, 1, "angle", Geometry},
	{"norm", "Norm of the weights", "p-norm of w", false, 1, "p-norm", Geometry},
	{"norm_1", "1-norm of the weights", "1-norm of w", false, 1, "1-norm", Geometry},
	{"norm_2", "2-norm of the weights", "2-norm of w", false, 1, "2-norm", Geometry},
	{"norm_inf", "Largest weight", "max |w|", false, 1, "max |w|", Geometry},
	{"lr", "Learning rate", "learning rate", false, 1, "lr", Speed},
	{"img_per_second", "Speed", "images per second", false, 1, "img/s", Speed},
}

// IsClock says whether a column tells when a line was written: it is no curve.
func IsClock(name string) bool { return name == "seconds" || name == "elapsed" }

// MetricOf says how a column is drawn; one that is not known is drawn as it is.
func MetricOf(name string) Metric {
	for _, m := range metrics {
		if m.Name == name {
			return m
		}
	}
	return Metric{name, name, name, false, 1, strings.ReplaceAll(name, "_", " "), Learning}
}

// MetricNames returns the columns of the groups, the known ones first and in their order.
func MetricNames(groups []*Group) []string {
	have := map[string]bool{}
	for _, g := range groups {
		for _, c := range g.Curves {
			for _, n := range c.Metrics() {
				if !IsClock(n) {
					have[n] = true
				}
			}
		}
	}
	var out []string
	for _, m := range metrics {
		if have[m.Name] {
			out = append(out, m.Name)
			delete(have, m.Name)
		}
	}
	var rest []string
	for n := range have {
		rest = append(rest, n)
	}
	slices.Sort(rest)
	return append(out, rest...)
}

// X returns the name of the axis a metric of a group is drawn over, and whether it is logarithmic: steps are, epochs are not.
func (g *Group) X() (string, bool) {
	for _, c := range g.Curves {
		x, _ := c.Over()
		return x, x == "step" || x == "b"
	}
	return "", false
}

// moves says whether there is anything to draw: a curve with points beside each other.
func (g *Group) moves() bool {
	return slices.ContainsFunc(g.Curves, func(c Curve) bool { return moves(c.Curve) })
}

func moves(c *runlog.Curve) bool {
	_, x := c.Over()
	return slices.ContainsFunc(x, func(v float64) bool { return v < x[0] || v > x[0] }) // most often the second
}

// IsCurve says whether the lines of a run in this state are a curve over steps, epochs or radii, and not results: statements of verify, runs of a sweep, folds of
// cross-validation. One point is a curve of a fit or a training, or one that begins. A curve that was begun again is none.
func IsCurve(c *runlog.Curve, status string) bool {
	x, _ := c.Over()
	return x != "line" && !c.Old && (c.Name == "" || status == runlog.Running || moves(c))
}

// Band is the mean of a metric over the group's trials.
func (g *Group) Band(metric string) render.Band {
	m := MetricOf(metric)
	var all []render.Points
	for _, c := range g.Trials() {
		if _, ok := c.Values[metric]; !ok {
			continue
		}
		_, x := c.Over()
		y := slices.Clone(c.Column(metric))
		for k := range y {
			y[k] *= m.Scale
		}
		all = append(all, render.Points{X: x, Y: y})
	}
	_, log := g.X()
	return render.MeanOf(all, log)
}

// maxDrawn is how many points of a curve a figure gets.
const maxDrawn = 2000

// Figure draws a metric of all groups; ok is false where nobody has it.
func Figure(groups []*Group, metric string) (fig render.Figure, ok bool) {
	m := MetricOf(metric)
	fig = render.Figure{Title: plain(m.Title), Y: plain(m.Y), LegendFree: true}
	for _, g := range groups {
		b := g.Band(metric)
		if len(b.X) == 0 {
			continue
		}
		x, log := g.X()
		fig.X, fig.LogX = axisName(x), log
		keep := render.Thin(b.X, b.Mean, maxDrawn, log)
		s := render.Series{Name: plain(g.Name), Color: render.Color(g.P), Style: g.Style}
		for _, k := range keep {
			s.X, s.Y = append(s.X, b.X[k]), append(s.Y, b.Mean[k])
			s.Low, s.High = append(s.Low, b.Low[k]), append(s.High, b.High[k])
		}
		if len(g.Trials()) == 1 {
			s.Low, s.High = nil, nil
		}
		fig.Series = append(fig.Series, s)
	}
	fig.LogY = m.Log || wide(fig.Series)
	return fig, len(fig.Series) > 0
}

// wide says whether numbers, all positive, end so far apart that most of them would lie on the axis.
func wide(series []render.Series) bool {
	lo, hi := math.Inf(1), 0.0
	for _, s := range series {
		last := s.Y[len(s.Y)-1]
		lo, hi = min(lo, last), max(hi, last)
		if slices.Min(s.Y) <= 0 {
			return false
		}
	}
	return lo > 0 && hi > 50*lo
}

func axisName(x string) string {
	if x == "b" {
		return "radius B of the ball"
	}
	return plain(x)
}

// plain keeps a text that a run brought to what the figures' font can show.
func plain(s string) string { return render.Showable(s) }
