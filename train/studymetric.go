package train

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// StudyMetric is an accuracy that a study measures, by its name: pruned_each_70 is that with 70 % of each layer's
// weights set to 0, pruned_all_70 with 70 % of all layers together, rounded_3 with weights of 3 bits and one scale per
// tensor, rounded_channels_3 with one per output channel. With _recalibrated behind it, it is with the statistics of
// batch norm recomputed.
type StudyMetric struct {
	Kind         string // as in the JSON of a Study
	At           float64
	Recalibrated bool
}

const recalibratedSuffix = "_recalibrated"

// studyKinds are the kinds of levels.
var studyKinds = []struct {
	name   string
	levels func(*Study) []Level
	at     func() []float64
}{
	{"pruned_each", func(s *Study) []Level { return s.PrunedEach }, func() []float64 { return PruneShares }},
	{"pruned_all", func(s *Study) []Level { return s.PrunedAll }, func() []float64 { return PruneShares }},
	{"rounded", func(s *Study) []Level { return s.Rounded }, roundLevels},
	{"rounded_channels", func(s *Study) []Level { return s.RoundedChannels }, roundLevels},
}

func roundLevels() []float64 {
	var out []float64
	for _, bits := range RoundBits {
		out = append(out, float64(bits))
	}
	return out
}

// number is At as in a name: whole percent, or bits.
func (m StudyMetric) number() string {
	if m.pruned() {
		return strconv.FormatFloat(math.Round(100*m.At), 'f', 0, 64)
	}
	return strconv.FormatFloat(m.At, 'f', 0, 64)
}

func (m StudyMetric) pruned() bool { return strings.HasPrefix(m.Kind, "pruned") }

// Name is what StudyMetricByName reads.
func (m StudyMetric) Name() string {
	name := m.Kind + "_" + m.number()
	if m.Recalibrated {
		name += recalibratedSuffix
	}
	return name
}

// Title describes it: accuracy at 70 % pruned, all layers together.
func (m StudyMetric) Title() string {
	text := map[string]string{"pruned_each": "%s %% pruned in each layer",
		"pruned_all": "%s %% pruned, all layers together",
		"rounded":    "%s bits", "rounded_channels": "%s bits, a scale per channel"}[m.Kind]
	text = "accuracy at " + fmt.Sprintf(text, m.number())
	if m.Recalibrated {
		text += ", statistics recomputed"
	}
	return text
}

// Of is the accuracy in a study; ok is false if the study has none, as that of a network without batch norm has none
// recalibrated.
func (m StudyMetric) Of(s *Study) (v float64, ok bool) {
	for _, k := range studyKinds {
		if k.name != m.Kind {
			continue
		}
		for _, l := range k.levels(s) {
			switch {
			case math.Abs(l.At-m.At) > 1e-9:
			case !m.Recalibrated:
				return l.Accuracy, true
			case l.Recalibrated != nil:
				return *l.Recalibrated, true
			}
		}
	}
	return 0, false
}

// StudyMetrics are all of them.
func StudyMetrics() []StudyMetric {
	var out []StudyMetric
	for _, again := range []bool{false, true} {
		for _, k := range studyKinds {
			for _, at := range k.at() {
				out = append(out, StudyMetric{k.name, at, again})
			}
		}
	}
	return out
}

// StudyMetricByName finds one.
func StudyMetricByName(name string) (m StudyMetric, ok bool) {
	all := StudyMetrics()
	k := slices.IndexFunc(all, func(m StudyMetric) bool { return m.Name() == name })
	if k < 0 {
		return m, false
	}
	return all[k], true
}

// StudyMetricNames says in words what names there are.
func StudyMetricNames() string {
	list := func(kind string) string {
		var out []string
		for _, m := range StudyMetrics() {
			if m.Kind == kind && !m.Recalibrated {
				out = append(out, m.number())
			}
		}
		return strings.Join(out, ", ")
	}
	return fmt.Sprintf("pruned_each_N and pruned_all_N (N = %s %% of the weights), rounded_N and rounded_channels_N "+
		"(N = %s bits), each also with %s behind it", list("pruned_all"), list("rounded"), recalibratedSuffix)
}
