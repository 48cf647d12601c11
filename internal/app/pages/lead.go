package pages

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// NewDocument starts a document that explains its measures to readers who ask.
func NewDocument(files render.Files, title, subtitle string) *render.Document {
	doc := render.NewDocument(files, title, subtitle)
	doc.Explain = trials.Explain
	return doc
}

// mostClaims is how many claims follow the result: more are not read.
const mostClaims = 3

// Lead is what a page says first: the result in one sentence, and up to three claims about what it means and how
// certain it is. All of it is computed from the numbers of the page.
type Lead struct {
	Sentence string
	Claims   []string

	last int // how many of them, at the end, are not left out
}

// Say sets the sentence.
func (l *Lead) Say(format string, args ...any) { l.Sentence = fmt.Sprintf(format, args...) }

// Claim adds a claim, if there is room for it: the most important come first.
func (l *Lead) Claim(format string, args ...any) {
	if len(l.Claims) < mostClaims {
		l.Claims = append(l.Claims, fmt.Sprintf(format, args...))
	}
}

// Last adds a claim that is not left out: if there is no room it takes the place of one that Claim has added.
func (l *Lead) Last(format string, args ...any) {
	n := len(l.Claims) - l.last
	first := l.Claims[:min(n, max(0, mostClaims-1-l.last))]
	l.Claims, l.last = append(slices.Concat(first, l.Claims[n:]), fmt.Sprintf(format, args...)), l.last+1
}

// Put puts the lead on a page.
func (l *Lead) Put(doc *render.Document) {
	if l.Sentence != "" {
		doc.Lead(l.Sentence, l.Claims...)
	}
}

// wilson is the 95 % interval of a share of n examples, by Wilson's score: it is not empty at 0 and 1, and stays within
// them.
func wilson(share float64, n int) (low, high float64) {
	const z = 1.959964
	m := float64(n)
	middle, half := share+z*z/(2*m), z*math.Sqrt(share*(1-share)/m+z*z/(4*m*m))
	return (middle - half) / (1 + z*z/m), (middle + half) / (1 + z*z/m)
}

// Interval is the 95 % interval that chance alone gives a share of n examples.
func Interval(share float64, n int) (low, high float64) { return wilson(share, n) }

// interval is a share of n examples in words, with the 95 % interval that chance alone would give it.
func interval(share float64, n int) string {
	low, high := wilson(share, n)
	return fmt.Sprintf("95 %% interval %.1f to %.1f %%", 100*low, 100*high)
}

// spell writes small numbers as words.
func spell(n int) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	if n >= 0 && n < len(words) {
		return words[n]
	}
	return render.Thousands(n)
}

// Listed writes texts as a list: a, b and c. Of many it has the first. Texts with commas are divided by semicolons.
func Listed(texts []string) string {
	const most = 5
	comma := ", "
	if strings.Contains(strings.Join(texts, ""), comma) {
		comma = "; "
	}
	if n := len(texts); n > most {
		return strings.Join(texts[:most-1], comma) + fmt.Sprintf("%sand %d more", comma, n-most+1)
	}
	if n := len(texts); n > 1 {
		and := " and "
		if comma == "; " {
			and = "; and "
		}
		return strings.Join(texts[:n-1], comma) + and + texts[n-1]
	}
	return strings.Join(texts, "")
}

// named is the title of a run's page: the name that people gave it, if any.
func named(f opened, title string) string {
	if about, err := f.About(); err == nil && about.Name != "" {
		return about.Name + ": " + title
	}
	return title
}

// unfinished says first that a run did not end as it should.
func (l *Lead) unfinished(info runlog.Info, status string) {
	switch status {
	case runlog.Done, "":
		return
	case runlog.Running:
		l.Claim("The run is not finished: these are the numbers so far.")
	case runlog.Interrupted:
		l.Claim("The run was interrupted before its end.")
	default:
		text := "The run is not done (" + status + ")"
		if info.Error != "" {
			text += ", it ended with: " + info.Error
		}
		l.Claim("%s.", strings.TrimSuffix(text, "."))
	}
}
