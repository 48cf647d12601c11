package markdown

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func same(target string) string { return target }

func TestWhatOurPagesUse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"# A *b*", "<h1 id=\"a-b\">A <em>b</em></h1>\n"},
		{"# A\n## A\n", "<h1 id=\"a\">A</h1>\n<h2 id=\"a-1\">A</h2>\n"},
		{"one\ntwo\n\nthree", "<p>one\ntwo</p>\n<p>three</p>\n"},
		{"a **b *c* d** e", "<p>a <strong>b <em>c</em> d</strong> e</p>\n"},
		{"2 * 3 * 4, a*", "<p>2 * 3 * 4, a*</p>\n"},
		{"`a*b*` and ``c`d``", "<p><code class=\"short\">a*b*</code> and <code class=\"short\">c`d</code></p>\n"},
		{"[a `b`](c.md#d)", "<p><a href=\"c.md#d\">a <code class=\"short\">b</code></a></p>\n"},
		{"![fig](x.png)", "<p><a href=\"x.png\" " +
			"aria-label=\"fig\"><img src=\"x.png\" alt=\"fig\" loading=\"lazy\"/></a></p>\n"},
		{"at http://127.0.0.1:8420/, live", "<p>at " +
			"<a href=\"http://127.0.0.1:8420/\">http://127.0.0.1:8420/</a>, live</p>\n"},
		{"`" + strings.Repeat("long ", 9) + "`", "<p><code>" + strings.Repeat("long ", 9) + "</code></p>\n"},
		{"```go\na < b\n\n# c\n```\nd", "<pre><code>a &lt; b\n\n# c</code></pre>\n<p>d</p>\n"},
		{"- a\n  b\n- c", "<ul>\n<li>a\nb</li>\n<li>c</li>\n</ul>\n"},
		{"- a\n\n- b\n\nc", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n<p>c</p>\n"},
		{"1. a\n   - b\n2. c", "<ol>\n<li>a<ul>\n<li>b</li>\n</ul>\n</li>\n<li>c</li>\n</ol>\n"},
		{"> a\n> b", "<blockquote>\n<p>a\nb</p>\n</blockquote>\n"},
		{"| a | b |\n|---|---:|\n| c\\|d | `e` |\n| f |\nend", "<div class=\"scroll\"><table><thead>\n" +
			"<tr><th>a</th><th class=\"n\">b</th></tr>\n</thead><tbody>\n" +
			"<tr><td>c|d</td><td class=\"n\"><code class=\"short\">e</code></td></tr>\n" +
			"<tr><td>f</td><td class=\"n\"></td></tr>\n</tbody></table></div>\n<p>end</p>\n"},
		{"<script>alert(1)</script> & \"x\"", "<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp; &#34;x&#34;</p>\n"},
		{"[x](javascript:alert)", "<p>[x](javascript:alert)</p>\n"},
		{`\*a\*`, "<p>*a*</p>\n"},
		{"---", "<hr/>\n"},
	} {
		if got := string(Render(c.text, same).HTML); got != c.want {
			t.Errorf("%q:\n%q, want\n%q", c.text, got, c.want)
		}
	}
}

func TestSectionsHaveTheTextBelowTheirHeadings(t *testing.T) {
	p := Render("# One\n\na **b**\n\n## Two `c`, d!\n\n- e\n\n```\nf  g\n```\n| h |\n|-|\n| i |\n", same)
	want := []Section{{"One", "one", "a b"}, {"Two c, d!", "two-c-d", "e f g h i"}}
	if p.Title != "One" || !slices.Equal(p.Sections, want) {
		t.Errorf("%q %q", p.Title, p.Sections)
	}
}

// What anyone writes is well-formed, and has only elements and attributes that do nothing.
func FuzzRender(f *testing.F) {
	for _, text := range []string{"# A\n\n- b **c** `d`\n  1. e\n\n| f | g |\n|---|--:|\n| h |\n\n> i\n\n```\nj", "[a](b) ![c](d)",
		"[[a](b)](c) **[*d](e)*", "***a***b** `c", "http://a.b/<c>", "[x](javascript:y) [z](data:a)", "- - - -\n> > >", "\x00\xff"} {
		f.Add(text)
	}
	elements := strings.Fields("root p h1 h2 h3 h4 h5 h6 hr ul ol li blockquote pre code div table thead tbody tr th td " +
		"strong em a img")
	f.Fuzz(func(t *testing.T, text string) {
		page := Render(text, same)
		d := xml.NewDecoder(strings.NewReader("<root>" + string(page.HTML) + "</root>"))
		links := 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("%q: %v in\n%s", text, err, page.HTML)
			}
			if end, ok := token.(xml.EndElement); ok && end.Name.Local == "a" {
				links--
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			if !slices.Contains(elements, e.Name.Local) {
				t.Fatalf("%q: element %s", text, e.Name.Local)
			}
			if e.Name.Local == "a" {
				if links++; links > 1 {
					t.Fatalf("%q: a link in a link: %s", text, page.HTML)
				}
			}
			for _, a := range e.Attr {
				if !slices.Contains([]string{"id", "class", "href", "src", "alt", "loading", "aria-label"}, a.Name.Local) {
					t.Fatalf("%q: attribute %s", text, a.Name.Local)
				}
				scheme, _, has := strings.Cut(a.Value, ":")
				script := has && slices.Contains([]string{"javascript", "data", "vbscript"}, strings.ToLower(scheme))
				if script && (a.Name.Local == "href" || a.Name.Local == "src") {
					t.Fatalf("%q: address %s", text, a.Value)
				}
			}
		}
	})
}
