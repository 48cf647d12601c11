package trials

import (
	"strings"
	"testing"
)

// Every metric that is known has an explanation by its name, title and column: a page may have any of them.
func TestEveryMetricIsExplained(t *testing.T) {
	for _, m := range metrics {
		if m.Explain() == "" {
			t.Errorf("%s has no explanation", m.Name)
		}
		for _, name := range []string{m.Name, m.Title, m.Column} {
			if _, ok := Explain(name); !ok {
				t.Errorf("%q has no explanation", name)
			}
		}
		if Explanations()[strings.ToLower(m.Name)] == "" {
			t.Errorf("%s is not among the explanations", m.Name)
		}
	}
	for _, o := range ListColumns {
		if _, ok := Explain(o.Title); !ok {
			t.Errorf("%q has no explanation", o.Title)
		}
	}
	if MetricOf("of another program").Explain() != "" {
		t.Error("an unknown metric is explained")
	}
}

func TestExplanationsAreSentencesWithNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range explanations {
		if !strings.HasSuffix(e.text, ".") || len(e.text) > 260 {
			t.Errorf("%s: not a short sentence: %q", e.names[0], e.text)
		}
		for _, n := range e.names {
			if n = strings.ToLower(n); seen[n] {
				t.Errorf("%q is explained twice", n)
			}
			seen[n] = true
		}
	}
	for name, want := range map[string]string{"Test accuracy, %": "test accuracy", "test_accuracy": "test accuracy",
		"Pruned: of all layers together, statistics recomputed": "pruned", "AUC": "AUC", "‖W‖ₚ": "norm"} {
		if e, ok := Explain(name); !ok || e.Name != want {
			t.Errorf("%q is explained as %q", name, e.Name)
		}
	}
}
