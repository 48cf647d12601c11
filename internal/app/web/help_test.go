package web

import (
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/docs"
	"github.com/bregman-ml/bregman/internal/app/command"
)

// twoCommands are helps as the command line has them.
func twoCommands() []command.HelpText {
	return []command.HelpText{{Name: "", Page: "README.md"},
		{Name: "fit", About: "Train a linear classifier.", Text: "Usage: bregman fit\n  --p=2 <b>", Page: "linear.md"},
		{Name: "data", Group: true, Page: "files.md"},
		{Name: "data get", About: "Fetch a set.", Text: "Usage: bregman data get", Page: "files.md"}}
}

var (
	hrefs = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	ids   = regexp.MustCompile(` id="([^"]*)"`)
)

// Every page is reached from the first, every link and figure on it leads somewhere, and what is not in the program is
// in the repository.
func TestEveryPageOfTheGuideIsServedAndEveryLinkInItHolds(t *testing.T) {
	srv, h := newServer(t)
	srv.guide.commands = twoCommands
	seen, anchors := map[string]string{}, map[string][]string{}
	wanted := map[string]string{} // address with anchor → page that links to it
	queue := []string{"/help"}
	for len(queue) > 0 {
		address := queue[0]
		queue = queue[1:]
		if _, done := seen[address]; done {
			continue
		}
		resp, body := send2(t, h, "GET", address, "", nil)
		seen[address] = body
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", address, resp.Status)
			continue
		}
		if policy := resp.Header.Get("Content-Security-Policy"); policy != pagePolicy {
			t.Errorf("%s: policy %q", address, policy)
		}
		if strings.HasSuffix(address, ".png") {
			if kind := http.DetectContentType([]byte(body)); kind != "image/png" || resp.Header.Get("Content-Type") != kind {
				t.Errorf("%s: %s", address, kind)
			}
			continue
		}
		for _, m := range ids.FindAllStringSubmatch(body, -1) {
			anchors[address] = append(anchors[address], m[1])
		}
		for _, m := range hrefs.FindAllStringSubmatch(body, -1) {
			target := html.UnescapeString(m[1])
			to, anchor, _ := strings.Cut(target, "#")
			if to == "" {
				to = address
			}
			if strings.HasPrefix(to, "/help") {
				queue = append(queue, to)
				if anchor != "" {
					wanted[to+"#"+anchor] = address
				}
			} else if strings.HasPrefix(to, repository) {
				if name := strings.TrimPrefix(to, repository); !inRepository(name) {
					t.Errorf("%s links to %s, which is not in the repository", address, name)
				}
			}
		}
		if strings.Contains(body, "<script") || strings.Contains(body, "style=") {
			t.Errorf("%s has a script or a style of its own", address)
		}
	}
	for target, from := range wanted {
		address, anchor, _ := strings.Cut(target, "#")
		if !slices.Contains(anchors[address], anchor) {
			t.Errorf("%s links to %s, which has no such heading", from, target)
		}
	}
	fs.WalkDir(docs.Files, ".", func(name string, e fs.DirEntry, err error) error {
		address := "/help/" + name
		if path.Ext(name) == ".md" {
			address = helpAddress(name)
		}
		if _, ok := seen[address]; err == nil && !e.IsDir() && !ok {
			t.Errorf("docs/%s is on no page of the guide", name)
		}
		return err
	})
	if _, ok := seen["/help/commands/data-get"]; !ok || len(seen) < 45 {
		t.Errorf("%d pages and figures: %q", len(seen), slices.Sorted(maps.Keys(seen)))
	}
	if !strings.Contains(seen["/help/commands/fit"], "--p=2 &lt;b&gt;") {
		t.Error("the help of fit is not on its page, or not as text")
	}
}

func TestTheGuideIsSearched(t *testing.T) {
	srv, h := newServer(t)
	srv.guide.commands = twoCommands
	for _, c := range []struct{ query, first, has string }{
		{"log-loss", "/help/measures#log-loss", "/help/linear"},
		{"BRIER", "/help/measures#brier-score", ""},
		{"nats worker", "", "/help/sweeps"},
		{"bregman fit", "/help/commands/fit", ""},
		{"ℓₚ margin", "/help/measures#margin", ""},
	} {
		_, body := send2(t, h, "GET", "/help?q="+strings.ReplaceAll(c.query, " ", "+"), "", nil)
		_, main, _ := strings.Cut(body, "<main")
		links := hrefs.FindAllStringSubmatch(main, -1)
		if len(links) == 0 || !strings.Contains(links[0][1], c.first) || !strings.Contains(main, `href="`+c.has) {
			t.Errorf("%s: %q", c.query, links)
		}
		if !strings.Contains(main, "<mark>") {
			t.Errorf("%s: no word is marked", c.query)
		}
	}
	_, body := send2(t, h, "GET", "/help?q=how+do+i+train+on+my+csv", "", nil)
	if !strings.Contains(body, "These have most of them") || !strings.Contains(body, "<mark>") {
		t.Errorf("a question: %.3000s", body)
	}
	_, body = send2(t, h, "GET", "/help?q=%3Cscript%3Ealert(1)%3C/script%3E", "", nil)
	if strings.Contains(body, "<script") || !strings.Contains(body, "No page has such a word") {
		t.Errorf("a search for markup: %.3000s", body)
	}
}

func TestAddressesInTheGuideThatDoNotExist(t *testing.T) {
	_, h := newServer(t)
	for address, want := range map[string]int{"/help/nosuch": 404, "/help/nosuch.png": 404, "/help/../serve.go": 404,
		"/help/%2e%2e/%2e%2e/go.mod": 404, "/help/docs.go": 404, "/help/": 200, "/help/linear/": 200,
		"/help/linear.md": 302, "/help?q=": 200} {
		resp, body := send2(t, h, "GET", address, "", nil)
		moved := []int{http.StatusTemporaryRedirect, http.StatusMovedPermanently}
		if code := resp.StatusCode; code != want && !slices.Contains(moved, code) {
			t.Errorf("%s: %d, want %d", address, code, want)
		}
		if strings.Contains(body, "package ") {
			t.Errorf("%s shows a source file", address)
		}
	}
	resp, _ := send2(t, h, "GET", "/help/measurements/linear.md", "", nil)
	if to := resp.Header.Get("Location"); to != "/help/measurements/linear" {
		t.Errorf("a link as in the repository leads to %q", to)
	}
}

// Whatever is searched for, what is shown is part of the text, and cut between letters.
func FuzzHelpSearch(f *testing.F) {
	for _, q := range []string{"margin", "ℓₚ İ", "a b", "\xff", "…", "<b>"} {
		f.Add(q, "The ℓₚ margin of İstanbul. "+strings.Repeat("long text ", 60))
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		text = strings.ToValidUTF8(text, "")
		m := match("Title", text, "Page", strings.Fields(strings.ToLower(strings.ToValidUTF8(query, ""))))
		around := strings.TrimSuffix(strings.TrimPrefix(m.Before, "… "), " …") + m.Match + strings.TrimSuffix(m.After, " …")
		if m.Match != "" && !strings.Contains(text, m.Match) || !strings.Contains(text, strings.TrimSuffix(around, " …")) {
			t.Errorf("%q in %q: %q", query, text, fmt.Sprint(m))
		}
	})
}

// inRepository reports whether the module has a file.
func inRepository(name string) bool {
	_, err := os.Stat(filepath.Join("..", "..", "..", filepath.FromSlash(name)))
	return err == nil
}

func fileName(page string) string { return strings.ReplaceAll(page, "/", "-") }
