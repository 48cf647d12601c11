package web

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/internal/app/settings"
)

// filter is a condition on runs: a word that is part of what describes them, tag:WORD, or KEY=VALUE, with < <= > >= for
// numbers.
type filter struct {
	key, op, value string
	number         float64 // NaN if the value is none
}

var comparisons = []string{"<=", ">=", "!=", "=", "<", ">"} // the longer first

// parseFilter reads one word.
func parseFilter(text string) (filter, error) {
	at, op := len(text), ""
	for _, o := range comparisons {
		if k := strings.Index(text, o); k >= 0 && (k < at || k == at && len(o) > len(op)) {
			at, op = k, o
		}
	}
	f := filter{op: op, number: math.NaN()}
	if op == "" {
		if tag, ok := strings.CutPrefix(text, "tag:"); ok {
			return filter{key: "tag", op: "=", value: tag, number: math.NaN()}, nil
		}
		f.value = strings.ToLower(text)
		return f, nil
	}
	f.key, f.value = strings.TrimSpace(text[:at]), strings.TrimSpace(text[at+len(op):])
	if f.key == "" {
		return f, settings.Errorf("filter", "%q: want KEY%sVALUE, such as p%s3", text, op, op)
	}
	f.key = strings.ReplaceAll(strings.TrimPrefix(f.key, "--"), "-", "_")
	if v, err := strconv.ParseFloat(f.value, 64); err == nil {
		f.number = v
	} else if strings.ContainsAny(op, "<>") {
		return f, settings.Errorf("filter", "%q: %s compares numbers", text, op)
	}
	return f, nil
}

// words are what a word is looked for in.
func (s *summary) words() string {
	texts := []string{s.ID, s.Name, s.Note, s.Command, s.Data, s.Model, s.Status, s.Error}
	return strings.ToLower(strings.Join(append(texts, s.Tags...), "\n"))
}

// values are what a key of a run has: several of p, where one run has several.
func (s *summary) values(key string) []any {
	switch key {
	case "p":
		var out []any
		for _, p := range s.P {
			out = append(out, p)
		}
		return out
	case "tag":
		var out []any
		for _, t := range s.Tags {
			out = append(out, t)
		}
		return out
	case "name":
		return []any{s.title()}
	case "status":
		return []any{s.Status}
	case "command":
		return []any{s.Command}
	case "data":
		return []any{s.Data}
	case "seed":
		return []any{float64(s.Seed)}
	case "seconds":
		return []any{float64(s.Seconds)}
	case "started":
		return []any{s.Started.Local().Format(time.DateTime)}
	}
	for k, c := range listKeys {
		if c == key {
			return []any{float64([]number{s.Loss, s.Accuracy, s.Margin, s.Gap}[k])}
		}
	}
	if v, ok := s.settings[key]; ok {
		if list, ok := v.([]any); ok && len(list) > 0 {
			return list
		}
		return []any{v}
	}
	return nil
}

// listKeys name trials.ListColumns in filters.
var listKeys = []string{"loss", "accuracy", "margin", "gap"}

// match reports whether a run meets the condition. Of several values one is enough, for != none may be equal.
func (f filter) match(s *summary) bool {
	if f.op == "" {
		return strings.Contains(s.words(), f.value)
	}
	if f.op == "!=" {
		f.op = "="
		return !f.match(s)
	}
	return slices.ContainsFunc(s.values(f.key), func(v any) bool {
		x, isNumber := v.(float64)
		if text, ok := v.(string); ok { // settings with names for some values are texts
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				x, isNumber = n, true
			}
		}
		if math.IsNaN(f.number) || !isNumber {
			return f.op == "=" && strings.EqualFold(fmt.Sprint(v), f.value)
		}
		switch f.op {
		case "=":
			return x == f.number
		case "<":
			return x < f.number
		case "<=":
			return x <= f.number
		case ">":
			return x > f.number
		}
		return x >= f.number
	})
}
