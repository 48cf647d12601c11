package filter

import (
	"strings"
	"testing"
)

func TestConditionsHold(t *testing.T) {
	for _, c := range []struct {
		text   string
		values []any
		want   bool
	}{
		{"p=3", []any{3.0}, true}, {"p=3", []any{2.0, 3.0}, true}, {"p=3", nil, false}, {"p=3", []any{"3"}, true},
		{"p!=3", []any{3.0, 2.0}, false}, {"p!=3", nil, true}, {"lr>0.5", []any{"0.78"}, true},
		{"lr>0.5", []any{0.5}, false}, {"lr>=0.5", []any{0.5}, true}, {"lr<=0.5", []any{0.6}, false},
		{"lr<0.5", []any{"auto"}, false}, {"lr=auto", []any{"Auto"}, true}, {"--weight-decay=1e-3", []any{"0.001"}, true},
		{"tag:paper", []any{"paper"}, true}, {"is:archived", []any{"done"}, false},
	} {
		f, err := Parse(c.text)
		if err != nil || f.Holds(c.values) != c.want {
			t.Errorf("%s of %v: %v, want %v; %v", c.text, c.values, !c.want, c.want, err)
		}
	}
}

func TestConditionsThatSayNothing(t *testing.T) {
	for text, want := range map[string]string{"=3": "KEY=VALUE", "lr<fast": "compares numbers", " >=1": "KEY>=VALUE"} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if f, err := Parse("ResNet"); err != nil || f.Op != "" || f.Value != "resnet" {
		t.Errorf("a word: %+v, %v", f, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"p=3", "lr>=0.1", "tag:x", "word", "a!=b<c", "="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err == nil && c.Op == "" && c.Key != "" {
			t.Errorf("%q: a word with a key, %+v", text, c)
		}
		if err == nil {
			c.Holds([]any{text, 1.0, nil, []any{}})
		}
	})
}
