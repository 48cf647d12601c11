package markdown

import (
	"cmp"
	"html"
	"net/url"
	"regexp"
	"strings"
)

// inline renders a text within a block.
func (r *renderer) inline(text string, depth int) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		n, markup := r.span(text[i:], depth)
		if n == 0 { // text up to what may be the next markup
			n = 1 + strings.IndexAny(text[i+1:]+"*", "\\`*![hm")
			if n == 0 || i+n > len(text) {
				n = len(text) - i
			}
			markup = html.EscapeString(text[i : i+n])
		}
		out.WriteString(markup)
		i += n
	}
	return out.String()
}

var bareURL = regexp.MustCompile(`^https?://[A-Za-z0-9][^\s<>()"'` + "`" + `]*`)

// span renders markup at the beginning of a text. It returns how much of the text that is; 0: none.
func (r *renderer) span(text string, depth int) (n int, markup string) {
	switch c := text[0]; {
	case c == '\\' && len(text) > 1 && strings.IndexByte("\\`*_{}[]()#+-.!|<>", text[1]) >= 0:
		return 2, html.EscapeString(text[1:2])
	case c == '`':
		return codeSpan(text)
	case depth >= maxDepth:
	case c == '*':
		for _, m := range []struct{ mark, tag string }{{"**", "strong"}, {"*", "em"}} {
			if end := closing(text, m.mark); end > 0 {
				body := r.inline(text[len(m.mark):end], depth+1)
				return end + len(m.mark), "<" + m.tag + ">" + body + "</" + m.tag + ">"
			}
		}
	case c == '!' && strings.HasPrefix(text, "!["):
		if label, target, n := linkParts(text[1:]); n > 0 {
			if address, ok := safe(r.link(target)); ok {
				img := `<img src="` + address + `" alt="` + html.EscapeString(label) + `" loading="lazy"/>`
				if !r.linked { // in its own size
					name := html.EscapeString(cmp.Or(label, "Figure"))
					img = `<a href="` + address + `" aria-label="` + name + `">` + img + `</a>`
				}
				return n + 1, img
			}
		}
	case r.linked: // there are no links in links
	case c == '[':
		if label, target, n := linkParts(text); n > 0 {
			if address, ok := safe(r.link(target)); ok {
				body := (&renderer{link: r.link, linked: true}).inline(label, depth+1)
				return n, `<a href="` + address + `">` + body + `</a>`
			}
		}
	case c == 'h':
		if found := strings.TrimRight(bareURL.FindString(text), ".,:;!?*"); len(found) > len("https://") {
			if address, ok := safe(found); ok {
				return len(found), `<a href="` + address + `">` + html.EscapeString(found) + `</a>`
			}
		}
	}
	return 0, ""
}

// shortCode is how many characters fit on a line of a phone.
const shortCode = 24

// codeSpan renders code between runs of as many backticks.
func codeSpan(text string) (n int, markup string) {
	ticks := len(text) - len(strings.TrimLeft(text, "`"))
	for at := ticks; at < len(text); {
		next := strings.IndexByte(text[at:], '`')
		if next < 0 {
			break
		}
		at += next
		end := len(text) - len(strings.TrimLeft(text[at:], "`"))
		if end-at == ticks {
			body := strings.ReplaceAll(text[ticks:at], "\n", " ")
			if len(body) > 2 && body[0] == ' ' && body[len(body)-1] == ' ' {
				body = body[1 : len(body)-1]
			}
			tag := "<code>"
			if len(body) <= shortCode {
				tag = `<code class="short">` // which stays on a line: a flag is not broken at its dashes
			}
			return end, tag + html.EscapeString(body) + "</code>"
		}
		at = end
	}
	return ticks, html.EscapeString(text[:ticks])
}

// closing returns where a mark that begins the text is closed; 0: nowhere. Marks in code do not count.
func closing(text, mark string) int {
	if !strings.HasPrefix(text, mark) || len(text) <= len(mark) || strings.IndexByte(" \n*", text[len(mark)]) >= 0 {
		return 0
	}
	for i := len(mark); i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '`':
			n, _ := codeSpan(text[i:])
			i += n - 1
		case strings.HasPrefix(text[i:], mark) && strings.IndexByte(" \n", text[i-1]) < 0:
			if mark == "*" && strings.HasPrefix(text[i:], "**") {
				i++ // of strong text inside
				continue
			}
			return i
		}
	}
	return 0
}

// linkParts reads [label](target); n is 0 if the text does not begin with a link.
func linkParts(text string) (label, target string, n int) {
	depth, end := 0, 0
	for i := 0; i < len(text) && end == 0; i++ {
		switch text[i] {
		case '\\':
			i++
		case '`':
			n, _ := codeSpan(text[i:])
			i += n - 1
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				end = i
			}
		}
	}
	if end == 0 || !strings.HasPrefix(text[end+1:], "(") {
		return "", "", 0
	}
	rest := text[end+2:]
	stop := strings.IndexAny(rest, ") \n")
	if stop < 0 || rest[stop] != ')' {
		return "", "", 0
	}
	return text[1:end], rest[:stop], end + 2 + stop + 1
}

// safe returns an address as an attribute, if it is one that may be followed: of a page, not of a script.
func safe(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return "", false
	}
	switch u.Scheme {
	case "", "http", "https", "mailto":
		return html.EscapeString(u.String()), true
	}
	return "", false
}
