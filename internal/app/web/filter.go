package web

import (
	"cmp"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/internal/app/filter"
)

// words are what a word is looked for in.
func (s *summary) words() string {
	texts := []string{s.ID, s.Title, s.Name, s.Note, s.Command, s.Data, s.Model, s.Status, s.Error}
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
	case "is":
		out := []any{s.Status}
		for word, yes := range map[string]bool{"archived": s.Archived, "inside": s.Inside != ""} {
			if yes {
				out = append(out, word)
			}
		}
		return out
	case "name":
		return []any{s.title()}
	case "run": // as the page calls it
		return []any{cmp.Or(s.Name, s.Title)}
	case "tags":
		return []any{strings.Join(s.Tags, " ")}
	case "time":
		return []any{float64(s.Seconds)}
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
	var out []any
	for k, c := range listKeys {
		if c == key {
			out = append(out, float64([]number{s.Loss, s.Accuracy, s.Margin, s.Gap}[k]))
		}
	}
	switch v := s.settings[key].(type) { // a setting may be called as a result is: loss=exp
	case nil:
	case []any:
		out = append(out, v...)
	default:
		out = append(out, v)
	}
	return out
}

// listKeys name trials.ListColumns in filters.
var listKeys = []string{"loss", "accuracy", "margin", "gap"}

// meets reports whether a run meets the condition. A word is looked for in what describes the run.
func (s *summary) meets(c filter.Condition) bool {
	if c.Op == "" {
		return strings.Contains(s.words(), c.Value)
	}
	return c.Holds(s.values(c.Key))
}
