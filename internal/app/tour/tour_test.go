package tour

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

func short(t *testing.T) *Tour {
	c := new(Tour)
	settings.Defaults(c)
	c.Epochs, c.Runs = 1, filepath.Join(t.TempDir(), "runs")
	return c
}

func env() *command.Env {
	return &command.Env{Observer: command.Quiet(), Version: "test", Engines: new(engine.Pool)}
}

func TestATourLeavesFiveRunsAndAPage(t *testing.T) {
	if testing.Short() {
		t.Skip("studies two networks")
	}
	c := short(t)
	c.Out = filepath.Join(t.TempDir(), "copy.html")
	c.JSON = true
	ready, err := command.Ready(c)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := command.Run(t.Context(), env(), ready, &out); err != nil {
		t.Fatal(err)
	}
	var r struct {
		Run, Report string
		Findings    []string
		Table       table
		Network     networks
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	info, err := runlog.ReadInfo(r.Run)
	if err != nil || info.Status != runlog.Done || info.Command != "tour" {
		t.Fatalf("%+v, %v", info, err)
	}
	page, err := os.ReadFile(r.Report)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := os.ReadFile(c.Out); err != nil || !bytes.Equal(page, other) {
		t.Errorf("--out has another page: %v", err)
	}
	text := strings.ReplaceAll(string(page), "\u00a0", " ")
	for _, want := range append([]string{`class="lead"`, "The idea", "A table", "A network", "With your own data",
		"This is one run for each p", "worst texture", "popovertarget"},
		r.Network.pruning().sentence(), r.Table.sparsity(), r.Table.accuracy()) {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if len(r.Findings) != 3 || len(r.Table.Fits) != len(tablePs) || len(r.Network.Runs) != len(netPs) {
		t.Fatalf("%s", out.Bytes())
	}
	runs := []string{}
	for _, f := range r.Table.Fits {
		runs = append(runs, f.Run)
		if f.HeldOut < 0.9 { // a logistic regression of this table has 0.98
			t.Errorf("p = %v: accuracy %v", f.P, f.HeldOut)
		}
	}
	for _, n := range r.Network.Runs {
		runs = append(runs, n.Run)
	}
	for _, dir := range runs {
		if filepath.Dir(dir) != r.Run {
			t.Errorf("%s is not inside %s", dir, r.Run)
		}
		if info, err := runlog.ReadInfo(dir); err != nil || info.Status != runlog.Done {
			t.Errorf("%s: %+v, %v", dir, info, err)
		}
	}
	if f := r.Table.Fits; f[0].NearZero <= f[2].NearZero || f[0].TopShare <= f[2].TopShare {
		t.Errorf("p = 1.1 is not sparser than 10: %+v", f)
	}
}

// stopAt stops a tour when it says something that has this in it.
type stopAt struct {
	command.Observer
	what string
	stop context.CancelFunc
	said []string
}

func (s *stopAt) Say(format string, args ...any) {
	s.said = append(s.said, format)
	if strings.Contains(format, s.what) {
		s.stop()
	}
}

func TestAStoppedTourIsInterruptedAndTheNextStartsAfresh(t *testing.T) {
	c := short(t)
	for k, what := range []string{"a linear classifier", "compiling"} {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		e := env()
		seen := &stopAt{Observer: e.Observer, what: what, stop: stop}
		e.Observer = seen
		if _, err := c.Do(ctx, e); err == nil {
			t.Fatal("a stopped tour has no error")
		}
		dirs, err := os.ReadDir(c.Runs)
		if err != nil || len(dirs) != k+1 {
			t.Fatalf("%d folders, %v", len(dirs), err)
		}
		info, err := runlog.ReadInfo(filepath.Join(c.Runs, dirs[k].Name()))
		if err != nil || info.Status != runlog.Interrupted {
			t.Errorf("stopped at %q: %+v, %v", what, info, err)
		}
		if _, err := os.Stat(filepath.Join(c.Runs, dirs[k].Name(), "report.html")); err == nil {
			t.Errorf("stopped at %q: there is a page", what)
		}
		if !slices.Contains(seen.said, "start again with: bregman tour") {
			t.Errorf("stopped at %q: %q", what, seen.said)
		}
	}
}

func TestSettingsOfATourAreChecked(t *testing.T) {
	for want, change := range map[string]func(*Tour){
		"--epochs 0":  func(c *Tour) { c.Epochs = 0 },
		"--runs":      func(c *Tour) { c.Runs = "" },
		"--out -":     func(c *Tour) { c.Out, c.JSON = "-", true },
		"choose auto": func(c *Tour) { c.Engine = "steam" },
		"is a folder": func(c *Tour) { c.Out = t.TempDir() },
	} {
		c := short(t)
		change(c)
		_, err := command.Ready(c)
		if err == nil {
			_, err = c.Do(t.Context(), env())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// fits are models with these weights.
func fits(accuracies [3]float64, weights ...[]float64) table {
	t := table{Data: "x", Examples: 1000, Features: len(weights[0])}
	for k, w := range weights {
		t.Fits = append(t.Fits, newTableFit(tablePs[k], accuracies[k], w, ""))
	}
	return t
}

func TestSentencesOnTheTableFollowItsNumbers(t *testing.T) {
	sparse, middle, even := []float64{9, 0, 0, 0, 0, 0.01, 0.02}, []float64{-9, 3, 2, 1, 1, 1, 0.01},
		[]float64{1, 1, 1, -1, 1, 1, 1}
	same := [3]float64{0.9, 0.9, 0.9}
	for _, c := range []struct {
		t                            table
		sparsity, evenness, accuracy string
		fewer                        bool
	}{
		{fits(same, sparse, middle, even), "6, 1 and 0 of the 7 weights are nearly zero with p = 1.1, 2 and 10: the " +
			"smaller p", "the larger p, the more equal", ": the same.", true},
		{fits([3]float64{0.90, 0.99, 0.90}, even, middle, sparse), "0, 1 and 6 of the 7 weights are nearly zero with " +
			"p = 1.1, 2 and 10: here a smaller p does not mean", "does not mean more equal",
			"p = 2 is more accurate than p = 1.1, by 90 of 1000", false},
		{fits([3]float64{0.90, 0.91, 0.90}, even, even, even), "p made no difference", "does not mean more equal",
			"a difference of 10 in 1000 examples, which may be chance", false},
		{fits(same, middle, sparse, even), "does not mean fewer", "does not mean more equal", ": the same.", false},
	} {
		for said, want := range map[string]string{c.t.sparsity(): c.sparsity, c.t.evenness(): c.evenness,
			c.t.accuracy(): c.accuracy} {
			if !strings.Contains(said, want) {
				t.Errorf("%q lacks %q", said, want)
			}
		}
		if c.t.fewer() != c.fewer {
			t.Errorf("%q, but the lead says %v", c.t.sparsity(), c.t.fewer())
		}
	}
	if zero := newTableFit(2, 0.5, []float64{0, 0}, ""); zero.NearZero != 2 || zero.TopShare != 0 {
		t.Errorf("weights of 0: %+v", zero)
	}
}

func levels(accuracies ...float64) (out []train.Level) {
	for k, a := range accuracies {
		out = append(out, train.Level{At: []float64{0.5, 0.8, 0.9}[k], Accuracy: a})
	}
	return out
}

func TestSentencesOnTheNetworksFollowTheirNumbers(t *testing.T) {
	of := func(first, second network) networks {
		first.P, second.P = 2, 3
		return networks{Runs: []network{first, second}}
	}
	strong, weak := levels(0.8, 0.7, 0.4), levels(0.79, 0.5, 0.3)
	for _, c := range []struct {
		a, b []train.Level
		want string
		best float64 // 0: none
	}{
		{strong, weak, "With the smallest 80 % of the weights set to 0, the network of p = 2 classifies 70.0 % correctly, " +
			"that of p = 3 only 50.0 %: p = 2 loses less", 2},
		{weak, strong, "the network of p = 3 classifies 70.0 % correctly, that of p = 2 only 50.0 %: p = 3 loses less", 3},
		{weak, weak, "cost both networks about the same: they differ by at most 0.0 points", 0},
		{levels(0.8, 0.5, 0.4), levels(0.6, 0.7, 0.1), "Neither network is ahead throughout: with the smallest 90 %", 0},
	} {
		n := of(network{Pruned: c.a}, network{Pruned: c.b})
		if said := n.pruning().sentence(); !strings.Contains(said, c.want) {
			t.Errorf("%q lacks %q", said, c.want)
		}
		if best, ok := n.pruning().better(); ok != (c.best > 0) || best.P != c.best {
			t.Errorf("better: p = %v, %v; want %v", best.P, ok, c.best)
		}
	}
	// What the adjustment turns round is not a result.
	turned := slices.Clone(strong)
	for k := range turned {
		turned[k].Recalibrated = &[]float64{0.8, 0.3, 0.1}[k]
	}
	after := slices.Clone(weak)
	for k := range after {
		after[k].Recalibrated = &[]float64{0.8, 0.7, 0.1}[k]
	}
	c := of(network{Rounded: turned}, network{Rounded: after}).rounding()
	if _, ok := c.better(); !ok {
		t.Error("p = 2 is not better before the adjustment")
	}
	if _, ok := c.firm(); ok {
		t.Error("p = 2 is called better though p = 3 is after the adjustment")
	}
	if a, ok := c.adjusted(); !ok || !strings.Contains(a.sentence(), "p = 3 loses less when weights are rounded") {
		t.Errorf("adjusted: %q", a.sentence())
	}
	if !strings.Contains(c.adjustedSaid(), "p = 3 loses less") {
		t.Errorf("what the adjustment turns round is not said: %q", c.adjustedSaid())
	}
	plain := of(network{Rounded: turned}, network{Rounded: levels(0.8, 0.2, 0.1)}).rounding()
	if said := plain.adjustedSaid(); said != "" {
		t.Errorf("without an adjustment it says %q", said)
	}
	if n, ok := of(network{Rounded: strong}, network{Rounded: weak}).rounding().firm(); !ok || n.P != 2 {
		t.Error("without an adjustment the better network is not firm")
	}
	for _, c := range []struct {
		a, b float64
		want string
	}{{0.08, 0.01, "p = 2 has more"}, {0.01, 0.08, "p = 3 has more"}, {0.05, 0.05, "about the same"}} {
		if said := of(network{Small: c.a}, network{Small: c.b}).sizesSaid(); !strings.Contains(said, c.want) {
			t.Errorf("%q lacks %q", said, c.want)
		}
	}
}

func TestTheFirstSentenceClaimsOnlyWhatHappened(t *testing.T) {
	even := []float64{1, 1, 1}
	r := &toured{table: fits([3]float64{0.9, 0.9, 0.9}, even, even, even),
		nets: networks{Runs: []network{{P: 2}, {P: 3}}}}
	if l := r.lead(); l.Sentence != "In these 5 runs p made no clear difference." {
		t.Error(l.Sentence)
	}
	r.nets.Runs[1].Rounded, r.nets.Runs[0].Rounded = levels(0.8), levels(0.6)
	for k := range r.nets.Runs {
		r.nets.Runs[k].Rounded[0].Recalibrated = &[]float64{0.8}[0]
	}
	if s := r.lead().Sentence; !strings.HasSuffix(s, "rounded and nothing else was adjusted.") {
		t.Error(s)
	}
	r.nets.Runs[1].Rounded, r.nets.Runs[0].Rounded = levels(0.8), levels(0.6)
	if s := r.lead().Sentence; !strings.Contains(s, "p = 3 lost less when weights were rounded") ||
		strings.Contains(s, "removed") || strings.Contains(s, "fewer") {
		t.Error(s)
	}
}
