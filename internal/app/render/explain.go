package render

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Explanation is what a page says of a measure if a reader asks.
type Explanation struct {
	Name string // as a reader calls it
	Text string // one sentence
}

// Lead states the result: one sentence, and a few claims about what it means and how certain it is. It comes first.
func (p *Page) Lead(sentence string, claims ...string) {
	// what a line's end does not break
	whole := strings.NewReplacer(" %", "\u00a0%", " = ", "\u00a0=\u00a0", " ± ", "\u00a0±\u00a0")
	fmt.Fprintf(&p.body, `<div class="lead"><p class="answer">%s</p>`, html.EscapeString(whole.Replace(sentence)))
	if len(claims) > 0 {
		p.body.WriteString(`<ul class="claims">`)
		for _, c := range claims {
			fmt.Fprintf(&p.body, "<li>%s</li>", html.EscapeString(whole.Replace(c)))
		}
		p.body.WriteString("</ul>")
	}
	p.body.WriteString("</div>")
}

// why is the button that opens the explanation of a measure, "" if there is none. A popover needs no script: the
// keyboard opens and closes it, and a table that scrolls does not cut it.
func (p *Page) why(names ...string) string {
	for _, name := range names {
		if p.Explain == nil {
			break
		}
		e, ok := p.Explain(name)
		if !ok {
			continue
		}
		k := slices.Index(p.explained, e)
		if k < 0 {
			k, p.explained = len(p.explained), append(p.explained, e)
		}
		return fmt.Sprintf(`<button type="button" class="why" popovertarget="why%d" title="%s" `+
			`aria-label="What is %s?">?</button>`, k+1, html.EscapeString(e.Text), html.EscapeString(e.Name))
	}
	return ""
}

// shortHead is up to how many bytes a text stays in one line with its button.
const shortHead = 12

// asked is a text with the button that explains it.
func asked(text, button string) string {
	out := html.EscapeString(text) + button
	if button == "" || len(text) > shortHead {
		return out
	}
	return `<span class="asked">` + out + `</span>`
}

// whys are the explanations that the page has buttons for. Printed, they are a list at its end.
func (p *Page) whys() string {
	var b strings.Builder
	for k, e := range p.explained {
		fmt.Fprintf(&b, `<div popover class="because" id="why%d"><b>%s</b> %s</div>`, k+1, html.EscapeString(e.Name),
			html.EscapeString(e.Text))
	}
	return b.String()
}
