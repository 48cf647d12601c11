package web

import (
	"bytes"
	"cmp"
	_ "embed" // the template
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bregman-ml/bregman/docs"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/markdown"
)

//go:embed help.html
var helpHTML string

var helpTemplate = template.Must(template.New("help").Parse(helpHTML))

// repository is where files are that the program does not contain.
const repository = "https://github.com/bregman-ml/bregman/blob/main/"

// guide is the documentation as pages: that of docs/ and the help of the commands. It is rendered when the first page
// is asked for.
type guide struct {
	commands func() []command.HelpText
	once     sync.Once
	pages    map[string]*helpPage // by address
	order    []*helpPage
}

// helpPage is a page of the guide.
type helpPage struct {
	markdown.Page
	Address string
	group   string
}

// The groups of pages in the list beside them.
const (
	guideGroup    = "Guide"
	measuredGroup = "Measurements"
	commandsGroup = "Commands"
)

func (g *guide) load() {
	g.pages = map[string]*helpPage{}
	var names []string
	fs.WalkDir(docs.Files, ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	texts := map[string]string{}
	for _, name := range names {
		data, _ := docs.Files.ReadFile(name)
		texts[name] = string(data)
	}
	rank := func(name string) int { // the order of the first page's links
		if at := strings.Index(texts["README.md"], "("+name); at >= 0 && name != "README.md" {
			return at
		}
		return map[bool]int{true: -1, false: len(texts["README.md"])}[name == "README.md"]
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	for _, name := range names {
		group := guideGroup
		if strings.HasPrefix(name, "measurements/") {
			group = measuredGroup
		}
		g.add(helpAddress(name), group, texts[name], path.Dir(name))
	}
	g.addCommands()
}

// add renders a page of a folder of docs/.
func (g *guide) add(address, group, text, dir string) {
	p := &helpPage{Address: address, group: group}
	p.Page = markdown.Render(text, func(target string) string { return helpLink(dir, target) })
	g.pages[address] = p
	g.order = append(g.order, p)
}

// addCommands adds a page for each command, with its help and a link to its part of the guide.
func (g *guide) addCommands() {
	if g.commands == nil {
		return
	}
	all := g.commands()
	var list strings.Builder
	list.WriteString("# Commands\n\n| command | what it does |\n|---|---|\n")
	for _, c := range all {
		if c.Name != "" && !c.Group {
			fmt.Fprintf(&list, "| [bregman %s](%s) | %s |\n", c.Name, commandAddress(c.Name), c.About)
		}
	}
	g.add("/help/commands", commandsGroup, list.String(), ".")
	for _, c := range all {
		if c.Name == "" || c.Group {
			continue
		}
		text := fmt.Sprintf("# bregman %s\n\n%s [More in the guide](%s)\n\n```\n%s\n```\n", c.Name, c.About, c.Page, c.Text)
		g.add(commandAddress(c.Name), "", text, ".")
	}
}

func commandAddress(name string) string {
	return "/help/commands/" + strings.ReplaceAll(name, " ", "-")
}

// helpAddress is the address of a file of docs/.
func helpAddress(name string) string {
	name = strings.TrimSuffix(name, ".md")
	if path.Base(name) == "README" {
		name = path.Dir(name)
	}
	return path.Join("/help", name)
}

// helpLink is where a link on a page of a folder of docs/ goes: to a page here if there is one, else to the repository.
func helpLink(dir, target string) string {
	file, anchor, has := strings.Cut(target, "#")
	if strings.Contains(target, "://") || strings.HasPrefix(target, "/") || file == "" {
		return target
	}
	name := path.Join(dir, file)
	if _, err := fs.Stat(docs.Files, name); err != nil {
		return repository + path.Join("docs", name)
	}
	address := path.Join("/help", name)
	if path.Ext(name) == ".md" {
		address = helpAddress(name)
	}
	if has {
		address += "#" + anchor
	}
	return address
}

// helpGroup is part of the list of pages.
type helpGroup struct {
	Title string
	Pages []*helpPage
}

// shownHelp is what the template shows.
type shownHelp struct {
	Title, Address string
	AllowRun       bool
	Groups         []helpGroup
	Body           template.HTML
	Query          string
	Searched       bool
	Partly         bool // no section has all of the words
	Found          []found
}

// help sends a page of the guide, a figure of it, or what a search found.
func (s *Server) help(w http.ResponseWriter, r *http.Request) {
	s.guide.once.Do(s.guide.load)
	address := path.Clean(r.URL.Path)
	name := strings.TrimPrefix(address, "/help/")
	if path.Ext(name) == ".png" {
		data, err := docs.Files.ReadFile(name)
		if err != nil {
			failed(w, fs.ErrNotExist)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		w.Write(data)
		return
	}
	if path.Ext(name) == ".md" { // as the same link does in the repository
		http.Redirect(w, r, helpAddress(name), http.StatusFound)
		return
	}
	show := shownHelp{Address: address, AllowRun: s.settings.AllowRun, Groups: s.guide.groups()}
	status := http.StatusOK
	if query := r.URL.Query().Get("q"); query != "" && address == "/help" {
		show.search(&s.guide, query)
	} else if page := s.guide.pages[address]; page != nil {
		show.Title, show.Body = page.Title, page.HTML
	} else {
		status = http.StatusNotFound
		show.Title = "There is no such page"
		show.Body = `<h1>There is no such page</h1><p>Look in the list of pages, or search.</p>`
	}
	var b bytes.Buffer
	if err := helpTemplate.Execute(&b, show); err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// groups is the list of pages.
func (g *guide) groups() []helpGroup {
	var out []helpGroup
	for _, title := range []string{guideGroup, measuredGroup, commandsGroup} {
		group := helpGroup{Title: title}
		for _, p := range g.order {
			if p.group == title {
				group.Pages = append(group.Pages, p)
			}
		}
		if len(group.Pages) > 0 {
			out = append(out, group)
		}
	}
	return out
}
