// Package markdown renders our documentation as HTML: headings, paragraphs, lists, tables, code, quotes, links, images
// and emphasis, as GitHub shows them. HTML in the text is text.
package markdown

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"
	"unicode"
)

// Page is a rendered text.
type Page struct {
	Title    string // the first heading
	HTML     template.HTML
	Sections []Section
}

// Section is a heading with the text below it, up to the next one. The first section may have no heading.
type Section struct {
	Title  string
	Anchor string // as GitHub makes it
	Text   string // without markup
}

// Render renders a text. link returns the address for the target of a link or an image.
func Render(text string, link func(target string) string) Page {
	r := &renderer{link: link, anchors: map[string]int{}, sections: []Section{{}}}
	r.blocks(strings.Split(clean(text), "\n"), 0)
	page := Page{HTML: template.HTML(r.out.String())}
	for _, s := range r.sections {
		if s.Title != "" && page.Title == "" {
			page.Title = s.Title
		}
		if s.Title != "" || s.Text != "" {
			page.Sections = append(page.Sections, s)
		}
	}
	return page
}

// clean drops what HTML cannot hold.
func clean(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n':
			return c
		case c == '\t' || c == '\u2028' || c == '\u2029':
			return ' '
		case unicode.IsControl(c) || c == '\uFFFE' || c == '\uFFFF':
			return -1
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

type renderer struct {
	out      strings.Builder
	link     func(string) string
	anchors  map[string]int // how often each was used
	sections []Section
	linked   bool // within a link
}

// maxDepth is how deep lists, quotes and emphasis may be nested. What is deeper is text.
const maxDepth = 6

var (
	headingLine = regexp.MustCompile(`^(#{1,6}) +(.*?)( +#+)?$`)
	itemLine    = regexp.MustCompile(`^([-*+]|[0-9]{1,9}[.)]) +`)
	ruleRow     = regexp.MustCompile(`^ *\|? *:?-+:? *(\| *:?-+:? *)*\|? *$`)
	ruleLine    = regexp.MustCompile(`^(-{3,}|\*{3,}|_{3,})$`)
)

// blocks renders lines.
func (r *renderer) blocks(lines []string, depth int) {
	for len(lines) > 0 {
		line := strings.TrimRight(lines[0], " ")
		n := 1
		switch {
		case line == "":
		case strings.HasPrefix(line, "```"):
			n = r.code(lines)
		case headingLine.MatchString(line):
			r.heading(line)
		case ruleLine.MatchString(line):
			r.out.WriteString("<hr/>\n")
		case isTable(lines):
			n = r.table(lines)
		case itemLine.MatchString(line) && depth < maxDepth:
			n = r.list(lines, depth)
		case strings.HasPrefix(line, ">") && depth < maxDepth:
			n = r.quote(lines, depth)
		default:
			n = r.paragraph(lines)
		}
		lines = lines[n:]
	}
}

// begins reports whether a line begins another block than a paragraph.
func begins(lines []string) bool {
	line := strings.TrimRight(lines[0], " ")
	return line == "" || strings.HasPrefix(line, "```") || headingLine.MatchString(line) || ruleLine.MatchString(line) ||
		itemLine.MatchString(line) || strings.HasPrefix(line, ">") || isTable(lines)
}

// paragraph returns how many lines it took, as the other blocks do.
func (r *renderer) paragraph(lines []string) int {
	n := 1
	for n < len(lines) && !begins(lines[n:]) {
		n++
	}
	r.out.WriteString("<p>")
	r.text(strings.Join(lines[:n], "\n"))
	r.out.WriteString("</p>\n")
	return n
}

func (r *renderer) code(lines []string) int {
	n := 1
	for n < len(lines) && !strings.HasPrefix(lines[n], "```") {
		n++
	}
	body := strings.Join(lines[1:n], "\n")
	r.out.WriteString("<pre><code>" + html.EscapeString(body) + "</code></pre>\n")
	r.say(body)
	return min(n+1, len(lines))
}

func (r *renderer) heading(line string) {
	m := headingLine.FindStringSubmatch(line)
	body := r.inline(m[2], 0)
	title := plain(body)
	anchor := Anchor(title)
	if n := r.anchors[anchor]; n > 0 {
		anchor = fmt.Sprintf("%s-%d", anchor, n)
	}
	r.anchors[Anchor(title)]++
	r.sections = append(r.sections, Section{Title: title, Anchor: anchor})
	fmt.Fprintf(&r.out, "<h%d id=\"%s\">%s</h%[1]d>\n", len(m[1]), html.EscapeString(anchor), body)
}

// Anchor is that of a heading, as GitHub makes it.
func Anchor(title string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(title) {
		switch {
		case c == ' ':
			b.WriteByte('-')
		case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c):
			b.WriteRune(c)
		}
	}
	return b.String()
}

func isTable(lines []string) bool {
	return len(lines) > 1 && strings.Contains(lines[0], "|") && strings.Contains(lines[1], "|") &&
		ruleRow.MatchString(lines[1])
}

func (r *renderer) table(lines []string) int {
	right := map[int]bool{}
	for i, rule := range cells(lines[1]) {
		right[i] = strings.HasSuffix(rule, ":")
	}
	width := len(cells(lines[0]))
	row := func(line, tag string) {
		all := cells(line)
		r.out.WriteString("<tr>")
		for i := range width {
			class := ""
			if right[i] {
				class = ` class="n"`
			}
			fmt.Fprintf(&r.out, "<%s%s>", tag, class)
			if i < len(all) {
				r.text(all[i])
			}
			fmt.Fprintf(&r.out, "</%s>", tag)
		}
		r.out.WriteString("</tr>\n")
	}
	r.out.WriteString("<div class=\"scroll\"><table><thead>\n")
	row(lines[0], "th")
	r.out.WriteString("</thead><tbody>\n")
	n := 2
	for n < len(lines) && strings.Contains(lines[n], "|") && strings.TrimSpace(lines[n]) != "" {
		row(lines[n], "td")
		n++
	}
	r.out.WriteString("</tbody></table></div>\n")
	return n
}

// cells splits a row of a table. \| is a bar within a cell.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = line[:len(line)-1]
	}
	parts := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(strings.ReplaceAll(p, "\x00", "|"))
	}
	return parts
}

func (r *renderer) list(lines []string, depth int) int {
	ordered := func(line string) bool { return unicode.IsDigit(rune(line[0])) }
	tag := "ul"
	if ordered(lines[0]) {
		tag = "ol"
	}
	r.out.WriteString("<" + tag + ">\n")
	n := 0
	for n < len(lines) && itemLine.MatchString(lines[n]) && ordered(lines[n]) == (tag == "ol") {
		indent := len(itemLine.FindString(lines[n]))
		item := []string{lines[n][indent:]}
		for n++; n < len(lines); n++ {
			line := lines[n]
			in := len(line) - len(strings.TrimLeft(line, " "))
			if strings.TrimSpace(line) == "" { // it ends the item unless what follows is indented
				if n+1 == len(lines) || !strings.HasPrefix(lines[n+1], "  ") {
					break
				}
			} else if in < 2 && begins(lines[n:]) {
				break
			}
			item = append(item, line[min(in, indent):])
		}
		r.out.WriteString("<li>")
		r.item(item, depth)
		r.out.WriteString("</li>\n")
		for n < len(lines) && strings.TrimSpace(lines[n]) == "" && n+1 < len(lines) && itemLine.MatchString(lines[n+1]) {
			n++ // blank lines between items
		}
	}
	r.out.WriteString("</" + tag + ">\n")
	return n
}

// item renders the lines of an item: its first paragraph without an element of its own.
func (r *renderer) item(lines []string, depth int) {
	n := 0
	if !begins(lines) {
		for n = 1; n < len(lines) && !begins(lines[n:]); n++ {
		}
		r.text(strings.Join(lines[:n], "\n"))
	}
	r.blocks(lines[n:], depth+1)
}

func (r *renderer) quote(lines []string, depth int) int {
	var inside []string
	n := 0
	for ; n < len(lines) && strings.HasPrefix(lines[n], ">"); n++ {
		inside = append(inside, strings.TrimPrefix(lines[n][1:], " "))
	}
	r.out.WriteString("<blockquote>\n")
	r.blocks(inside, depth+1)
	r.out.WriteString("</blockquote>\n")
	return n
}

// text writes a text with its markup, and adds it to the section.
func (r *renderer) text(text string) {
	body := r.inline(text, 0)
	r.out.WriteString(body)
	r.say(plain(body))
}

// say adds words to the section.
func (r *renderer) say(words string) {
	s := &r.sections[len(r.sections)-1]
	s.Text = strings.TrimSpace(s.Text + " " + strings.Join(strings.Fields(words), " "))
}

var tags = regexp.MustCompile(`<[^>]*>`)

// plain is rendered text without its elements.
func plain(body string) string { return html.UnescapeString(tags.ReplaceAllString(body, "")) }
