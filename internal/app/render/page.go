package render

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"image/color"
	"maps"
	"regexp"
	"slices"
	"strconv"
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
	dark  map[string]string // a figure's colours in dark mode

	// Explain finds the explanation of a measure by the head of its column or the title of its figure; nil: there are none
	Explain   func(name string) (Explanation, bool)
	explained []Explanation // those that the page has a button for
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

// Details adds a text that is shown on demand, as it is.
func (p *Page) Details(summary, text string) {
	fmt.Fprintf(&p.body, "<details><summary>%s</summary><pre>%s</pre></details>", html.EscapeString(summary),
		html.EscapeString(text))
}

// List adds a list of sentences.
func (p *Page) List(items ...string) {
	p.body.WriteString("<ul>")
	for _, it := range items {
		fmt.Fprintf(&p.body, "<li>%s</li>", html.EscapeString(it))
	}
	p.body.WriteString("</ul>")
}

// Tables adds tables, side by side if there is room.
func (p *Page) Tables(ts ...Table) {
	p.body.WriteString(`<div class="row">`)
	for _, t := range ts {
		p.body.WriteString(t.html(p.why))
	}
	p.body.WriteString(`</div>`)
}

// Figure adds figures side by side if there is room, under one caption, and under one legend if they share it, else
// each above its own. Several are numbered.
func (p *Page) Figure(caption string, figs ...Figure) error {
	own, shared := shareLegend(numbered(figs), true)
	var panels strings.Builder
	for k, f := range own {
		names := f.named()
		f.Series = slices.Clone(f.Series)
		for k := range f.Series {
			f.Series[k].Name = ""
		}
		svg, err := SVG(f)
		if err != nil {
			return err
		}
		panels.WriteString(`<div class="panel">`)
		panels.WriteString(p.why(figs[k].Title, figs[k].Y))
		panels.WriteString(strings.Replace(string(svg), "<svg", fmt.Sprintf(`<svg role="img" aria-label="%s"`,
			html.EscapeString(f.Title)), 1))
		if len(names) > 0 {
			panels.WriteString(legendHTML(names))
		}
		panels.WriteString(`</div>`)
	}
	single := ""
	if len(figs) == 1 {
		single = " single"
	}
	fmt.Fprintf(&p.body, `<figure class="plot"><div class="panels%s">`, single)
	if len(shared) > 0 {
		p.body.WriteString(p.bothModes(legendHTML(shared)))
	}
	fmt.Fprintf(&p.body, `%s</div><figcaption>%s</figcaption></figure>`, p.bothModes(panels.String()),
		html.EscapeString(caption))
	return nil
}

// Picture is a small image with a text below it.
type Picture struct {
	Title string // shown when the pointer is on it
	Lines []string
	Data  []byte // a PNG or a JPEG
}

// Pictures adds small images in rows, under one caption.
func (p *Page) Pictures(caption string, pictures ...Picture) {
	fmt.Fprintf(&p.body, `<figure class="pictures"><figcaption>%s</figcaption><ul>`, html.EscapeString(caption))
	for _, one := range pictures {
		kind := "jpeg"
		if bytes.HasPrefix(one.Data, []byte("\x89PNG")) {
			kind = "png"
		}
		text := strings.Join(one.Lines, ", ")
		fmt.Fprintf(&p.body, `<li title="%s"><img alt="%s" src="data:image/%s;base64,%s">`, html.EscapeString(one.Title),
			html.EscapeString(text), kind, base64.StdEncoding.EncodeToString(one.Data))
		for _, line := range one.Lines {
			fmt.Fprintf(&p.body, "<span>%s</span>", html.EscapeString(line))
		}
		p.body.WriteString("</li>")
	}
	p.body.WriteString("</ul></figure>")
}

var hexColor = regexp.MustCompile(`(fill|stroke):#([0-9A-Fa-f]{6})`)

// bothModes gives a figure's colours names, so that the page can change them in dark mode; elsewhere they do not
// change.
func (p *Page) bothModes(svg string) string {
	if p.dark == nil {
		p.dark = map[string]string{}
	}
	return hexColor.ReplaceAllStringFunc(svg, func(s string) string {
		kind, hex, _ := strings.Cut(s, ":#")
		hex = strings.ToLower(hex)
		if _, ok := p.dark[hex]; !ok {
			v, _ := strconv.ParseUint(hex, 16, 32) // the pattern lets nothing else through
			p.dark[hex] = Hex(Dark(color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff}))
		}
		return fmt.Sprintf("%s:var(--c%s,#%s)", kind, hex, hex)
	})
}

// darkCSS defines the colours of the figures in dark mode.
func (p *Page) darkCSS() string {
	if len(p.dark) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("@media screen and (prefers-color-scheme: dark) { :root {")
	for _, hex := range slices.Sorted(maps.Keys(p.dark)) {
		fmt.Fprintf(&b, "--c%s:%s;", hex, p.dark[hex])
	}
	b.WriteString("} }")
	return b.String()
}

// Bytes returns the page.
func (p *Page) Bytes() []byte {
	return fmt.Appendf(nil, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title><style>%s</style></head>
<body><main>%s</main><nav aria-label="Sections">%s</nav>%s</body></html>
`, html.EscapeString(p.title), pageCSS+p.darkCSS(), p.body.String(), p.toc.String(), p.whys())
}
