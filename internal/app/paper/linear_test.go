package paper

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

func TestThePublishedTablesSayWhatTheTextSays(t *testing.T) {
	// what the text says of them: all but p = 1.1; and the slip of ℓ₆ in trial 1, by its digits
	want := [2][]bool{{false, true, true, true, false, true}, {false, true, true, true, true, true}}
	for k, rows := range numbers.R100() {
		if got := diagonal(rows); !slices.Equal(got, want[k]) {
			t.Errorf("trial %d: diagonal %v, want %v", k+1, got, want[k])
		}
	}
}

// A short reproduction writes everything a full one does.
func TestReproduceLinearWritesItsReport(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	l := Linear{Steps: 4000, Seeds: 2, Seed: 1, Planes: 6, Reading: "deviation", Runs: dir}
	if err := command.Run(t.Context(), &command.Env{Observer: command.Lines(&errs)}, &l, &out); err != nil {
		t.Fatal(err)
	}
	runs, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(runs) != 1 {
		t.Fatalf("runs %v", runs)
	}
	if info, err := runlog.ReadInfo(runs[0]); err != nil || info.Status != runlog.Done {
		t.Errorf("run.json: %+v, %v", info, err)
	}
	for _, f := range []string{"figures/figure1.svg", "figures/figure1.png", "tables/diagonal.csv",
		"tables/norms_all.csv", "tables/paper_trial1.md", "tables/regression.csv", "tables/figure1_curves.csv",
		"tables/norms_accelerated.csv", "tables/accelerated.md", "tables/claims.csv", "figures/rates.png",
		"tables/rates.csv", "tables/rates_laws.csv", "tables/rates_orders.md"} {
		if st, err := os.Stat(filepath.Join(runs[0], f)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	html, err := os.ReadFile(filepath.Join(runs[0], "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Figure 1", "The paper, trial 2", "10.688", "bounds c / log", "0.1 is the variance",
		"nearest in which sense", "its O(1) written out", "Only the shaded norm", "claims about its tables, counted",
		"How fast?"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Contains(string(html), "NaN") {
		t.Error("the report shows NaN")
	}
	lines := 0
	err = runlog.ReadMetrics(runs[0], func(json.RawMessage) error { lines++; return nil })
	if err != nil || lines != 3+1+2*6+2*2*6+2*2*6 { // p = 6 on the data of Figure 1 is one more
		t.Errorf("%d metrics, %v", lines, err)
	}
	if !strings.Contains(out.String(), "smallest ℓₚ norm") {
		t.Errorf("printed %s", out.String())
	}
}

func TestASeedDecidesEverything(t *testing.T) {
	var first []float64
	for range 2 {
		b := newBias(100_000, 1, 5)
		if err := runAll(t.Context(), b.tasks(), func(int) {}, func(any) error { return nil }); err != nil {
			t.Fatal(err)
		}
		got := slices.Concat(b.trials[0].Final...)
		if first != nil && !slices.Equal(first, got) {
			t.Errorf("%v and %v", first, got)
		}
		first = got
	}
}

func TestRescaledClassifiersHaveMarginOneNorms(t *testing.T) {
	prob := linear.Problem{X: dataset.R100(3).X}
	w := start(3, streamStart100, 100, 0.1)
	s, err := linear.Descent{Potential: mirror.Power(2), Eta: 0.01}.Start(prob, w)
	if err != nil {
		t.Fatal(err)
	}
	if got := atMarginOne(prob, make([]float64, 100)); !math.IsNaN(got[0]) {
		t.Errorf("w = 0 has norms %v", got)
	}
	if err := s.Run(t.Context(), 20000); err != nil {
		t.Fatal(err)
	}
	m, _ := prob.Margin(s.W)
	got := atMarginOne(prob, s.W)
	scaled := make([]float64, len(s.W))
	for j := range scaled {
		scaled[j] = s.W[j] / m
	}
	for j, p := range numbers.Norms {
		if want := mirror.Norm(scaled, p); math.Abs(got[j]-want) > 1e-13*want {
			t.Errorf("ℓ%v: %v, want %v", p, got[j], want)
		}
	}
}

// The certificate of the regression must not accept anything else than a least-norm solution.
func TestRegressionCertificateCanFail(t *testing.T) {
	r := newRegression(1)
	descend := func(p float64, w0 []float64) (w, z []float64) {
		w, z, err := r.descend(t.Context(), p, w0, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		return w, z
	}
	w, z := descend(1.5, nil)
	if residual, gap := r.certify(1.5, w, z); residual > 1e-12 || math.Abs(gap) > 1e-12 {
		t.Errorf("residual %v, gap %v", residual, gap)
	}
	// the ℓ₂ solution interpolates too, but its ℓ₁.₅ norm is not the least
	other, _ := descend(2, nil)
	if residual, gap := r.certify(1.5, other, z); residual > 1e-12 || gap < 1e-3 {
		t.Errorf("the ℓ₂ solution was certified for p = 1.5: residual %v, gap %v", residual, gap)
	}
	// and a wrong start is not an interpolation of least norm
	moved, _ := descend(1.5, r.w0)
	if _, gap := r.certify(1.5, moved, z); gap < 1e-3 {
		t.Errorf("a descent from elsewhere was certified: gap %v", gap)
	}
}

// From 0 the limit has the least norm, from w₀ the least divergence, for every p of the paper; and the solution nearest
// in ‖· − w₀‖ₚ is another one but for p = 2.
func TestEveryRegressionSettlesAtTheNearestInDivergence(t *testing.T) {
	r := newRegression(1)
	lines := 0
	if err := runAll(t.Context(), r.tasks(), func(int) {}, func(any) error { lines++; return nil }); err != nil {
		t.Fatal(err)
	}
	if lines != 12 {
		t.Errorf("%d lines, want 12", lines)
	}
	for i, f := range r.fits {
		m := r.moved[i]
		t.Logf("p = %v: from 0 residual %.1e, gap %.1e, stiffness %.1e; from w₀ %.1e, %.1e", f.P, f.Residual, f.Gap,
			f.Stiffness, m.Residual, m.Gap)
		if !f.settled() || !m.settled() {
			t.Errorf("p = %v has not settled: %+v, %+v", f.P, *f, *m)
		}
		if r.residual(f.W) > 1e-13 {
			t.Errorf("p = %v: the solution beside the end has a residual of %v", f.P, r.residual(f.W))
		}
		// No solution has a smaller divergence, nor a smaller norm.
		if m.Divergence[0] < m.Least*(1-1e-12) || m.Norm[0] < m.Norm[1]*(1-1e-9) {
			t.Errorf("p = %v: %+v", f.P, *m)
		}
		apart := m.Divergence[1]/m.Divergence[0] - 1
		if f.P == 2 && apart > 1e-9 || f.P != 2 && !(apart > 1e-3 && m.Norm[0] > 1.001*m.Norm[1]) {
			t.Errorf("p = %v: the nearest in divergence has %v and %v, the nearest in norm %v and %v", f.P, m.Divergence[0],
				m.Norm[0], m.Divergence[1], m.Norm[1])
		}
	}
	if d := r.differences(); len(d) != 1 {
		t.Errorf("differences %q", d)
	}
}

func TestTheFirstErrorStopsAllTasks(t *testing.T) {
	short, err := newFigure1(t.Context(), 1, dataset.Deviation, 2000)
	if err != nil {
		t.Fatal(err)
	}
	long := *short
	long.steps = 1 << 40
	disk := errors.New("disk full")
	tasks := append(short.tasks(), long.tasks()...)
	err = runAll(t.Context(), tasks, func(int) {}, func(any) error { return disk })
	if !errors.Is(err, disk) {
		t.Errorf("error %v", err)
	}
}
