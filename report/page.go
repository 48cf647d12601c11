package report

import (
	_ "embed"
	"fmt"
	"html"
	"strings"
)

//go:embed page.css
var pageCSS string

// Page is a self-contained HTML page: no script, no file beside it.
type Page struct {
	title string
	toc   strings.Builder
	body  strings.Builder
	n     int
}

// NewPage starts a page with a title and a line below it.
func NewPage(title, subtitle string) *Page {
	p := &Page{title: title}
	fmt.Fprintf(&p.body, "<header><h1>%s</h1><p>%s</p></header>", html.EscapeString(title), html.EscapeString(subtitle))
	return p
}

// Section starts a section.
func (p *Page) Section(title string) {
	p.n++
	fmt.Fprintf(&p.body, `<h2 id="s%d">%s</h2>`, p.n, html.EscapeString(title))
	fmt.Fprintf(&p.toc, `<a href="#s%d">%s</a>`, p.n, html.EscapeString(title))
}

// Say adds a paragraph.
func (p *Page) Say(format string, args ...any) {
	fmt.Fprintf(&p.body, "<p>%s</p>", html.EscapeString(fmt.Sprintf(format, args...)))
}

// List adds a list of sentences.
func (p *Page) List(items ...string) {
	p.body.WriteString("<ul>")
	for _, it := range items {
		fmt.Fprintf(&p.body, "<li>%s</li>", html.EscapeString(it))
	}
	p.body.WriteString("</ul>")
}

// Tables adds tables, side by side where there is room.
func (p *Page) Tables(ts ...Table) {
	p.body.WriteString(`<div class="row">`)
	for _, t := range ts {
		p.body.WriteString(t.HTML())
	}
	p.body.WriteString(`</div>`)
}

// Figure adds panels side by side where there is room, under one caption. The names describe them to screen readers.
func (p *Page) Figure(caption string, names []string, panels [][]byte) {
	p.body.WriteString(`<figure class="plot"><div class="panels">`)
	for i, svg := range panels {
		p.body.WriteString(strings.Replace(string(svg), "<svg", fmt.Sprintf(`<svg role="img" aria-label="%s"`, html.EscapeString(names[i])), 1))
	}
	fmt.Fprintf(&p.body, `</div><figcaption>%s</figcaption></figure>`, html.EscapeString(caption))
}

// Bytes returns the page.
func (p *Page) Bytes() []byte {
	return fmt.Appendf(nil, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title><style>%s</style></head>
<body><main>%s</main><nav aria-label="Sections">%s</nav></body></html>
`, html.EscapeString(p.title), pageCSS, p.body.String(), p.toc.String())
}
