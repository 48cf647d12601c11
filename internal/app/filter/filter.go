// Package filter reads conditions on runs, as people type them: KEY=VALUE, with < <= > >= for numbers and !=, tag:WORD,
// is:WORD, or a word.
package filter

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/settings"
)

// Condition is one condition. A word has no Op.
type Condition struct {
	Key, Op, Value string
	number         float64 // NaN if the value is none
}

var comparisons = []string{"<=", ">=", "!=", "=", "<", ">"} // the longer first

// Parse reads one word.
func Parse(text string) (Condition, error) {
	at, op := len(text), ""
	for _, o := range comparisons {
		if k := strings.Index(text, o); k >= 0 && (k < at || k == at && len(o) > len(op)) {
			at, op = k, o
		}
	}
	c := Condition{Op: op, number: math.NaN()}
	if op == "" {
		if key, word, ok := strings.Cut(text, ":"); ok && (key == "tag" || key == "is") {
			return Condition{Key: key, Op: "=", Value: word, number: math.NaN()}, nil
		}
		c.Value = strings.ToLower(text)
		return c, nil
	}
	c.Key, c.Value = strings.TrimSpace(text[:at]), strings.TrimSpace(text[at+len(op):])
	if c.Key == "" {
		return c, settings.Errorf("filter", "%q: want KEY%sVALUE, such as p%s3", text, op, op)
	}
	c.Key = strings.ReplaceAll(strings.TrimPrefix(c.Key, "--"), "-", "_")
	if v, err := strconv.ParseFloat(c.Value, 64); err == nil {
		c.number = v
	} else if strings.ContainsAny(op, "<>") {
		return c, settings.Errorf("filter", "%q: %s compares numbers", text, op)
	}
	return c, nil
}

// Holds reports whether what a run has for the key meets the condition. Of several values one is enough; for != none
// may be equal.
func (c Condition) Holds(values []any) bool {
	if c.Op == "!=" {
		c.Op = "="
		return !c.Holds(values)
	}
	return slices.ContainsFunc(values, func(v any) bool {
		x, isNumber := v.(float64)
		if text, ok := v.(string); ok { // settings with names for some values are texts
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				x, isNumber = n, true
			}
		}
		if math.IsNaN(c.number) || !isNumber {
			return c.Op == "=" && strings.EqualFold(fmt.Sprint(v), c.Value)
		}
		switch c.Op {
		case "=":
			return x == c.number
		case "<":
			return x < c.number
		case "<=":
			return x <= c.number
		case ">":
			return x > c.number
		}
		return x >= c.number
	})
}
