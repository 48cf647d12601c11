package train

import (
	"strings"
	"testing"
)

// Every level that a study has is a metric with a name of its own, which finds it again.
func TestEveryLevelOfAStudyIsAMetric(t *testing.T) {
	seen, values := map[string]bool{}, map[float64]bool{}
	s := new(Study)
	next := 0.0
	level := func(at float64) Level {
		next += 0.001
		again := next + 0.5
		return Level{at, next, &again}
	}
	for _, at := range PruneShares {
		s.PrunedEach, s.PrunedAll = append(s.PrunedEach, level(at)), append(s.PrunedAll, level(at))
	}
	for _, bits := range RoundBits {
		s.Rounded = append(s.Rounded, level(float64(bits)))
		s.RoundedChannels = append(s.RoundedChannels, level(float64(bits)))
	}
	all := StudyMetrics()
	if want := 4 * (len(PruneShares) + len(RoundBits)); len(all) != want {
		t.Errorf("%d metrics, want %d", len(all), want)
	}
	for _, m := range all {
		again, ok := StudyMetricByName(m.Name())
		v, has := m.Of(s)
		if !ok || again != m || seen[m.Name()] || !has || values[v] || !strings.Contains(m.Title(), m.number()) {
			t.Errorf("%q: %+v, %v, %v: %q", m.Name(), again, ok, v, m.Title())
		}
		seen[m.Name()], values[v] = true, true
	}
	for name, want := range map[string]float64{"pruned_all_70": s.PrunedAll[1].Accuracy,
		"rounded_3": s.Rounded[4].Accuracy, "rounded_channels_3_recalibrated": *s.RoundedChannels[4].Recalibrated} {
		if m, ok := StudyMetricByName(name); !ok {
			t.Errorf("%s is not known", name)
		} else if v, _ := m.Of(s); v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	for _, name := range []string{"pruned_70", "pruned_all_71", "rounded", "rounded_3_", ""} {
		if _, ok := StudyMetricByName(name); ok {
			t.Errorf("%q is one", name)
		}
	}
	if _, ok := (StudyMetric{"rounded_channels", 3, false}).Of(new(Study)); ok { // of an older version
		t.Error("an older study has what it did not measure")
	}
}
