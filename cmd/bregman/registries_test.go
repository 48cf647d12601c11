package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
)

// page returns a page of docs/.
func page(t *testing.T, name string) document {
	t.Helper()
	for _, d := range documents(t) {
		if filepath.Base(d.path) == name && filepath.Base(filepath.Dir(d.path)) == "docs" {
			return d
		}
	}
	t.Fatalf("docs/%s is not there", name)
	return document{}
}

// afterFlag is what a name may follow.
var afterFlag = regexp.MustCompile(`^--[a-z-]+ `)

// named are the words that stand alone as code in a page's text, or after a flag: `pgd` and `--method pgd` name pgd.
func (d document) named() map[string]bool {
	words := map[string]bool{}
	for _, span := range inline.FindAllStringSubmatch(fence.ReplaceAllString(d.text, ""), -1) {
		words[afterFlag.ReplaceAllString(span[1], "")] = true
	}
	return words
}

func TestEveryNameOfARegistryIsOnItsPage(t *testing.T) {
	for _, r := range []struct {
		what, page string
		names      []string
	}{
		{"network", "networks.md", nets.Names()},
		{"schedule", "networks.md", optim.ScheduleNames()},
		{"image set", "networks.md", images.Names()},
		{"image set", "files.md", images.Names()},
		{"table", "files.md", dataset.BuiltinNames()},
		{"loss", "linear.md", linear.LossNames()},
		{"method", "linear.md", linear.MethodNames()},
		{"engine", "engines.md", engine.Names()},
	} {
		if len(r.names) < 2 {
			t.Errorf("the names of each %s are %q", r.what, r.names)
		}
		named := page(t, r.page).named()
		for _, name := range r.names {
			if !named[name] {
				t.Errorf("docs/%s does not name the %s %s", r.page, r.what, name)
			}
		}
	}
}

// A recipe names an image set and a schedule, of packages that its own does not import.
func TestTheRecipesNameWhatIsThere(t *testing.T) {
	for _, n := range nets.All {
		if n.Recipe.Data != "" && !slices.Contains(images.Names(), n.Recipe.Data) { // "": the user names them
			t.Errorf("%s: the images %q are none of %s", n.Name, n.Recipe.Data, strings.Join(images.Names(), ", "))
		}
		if _, err := optim.ScheduleByName(n.Recipe.Schedule); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
}

// The ? beside a number and the page about numbers say the same.
func TestThePageAboutNumbersSaysWhatTheProgramSays(t *testing.T) {
	text := page(t, "measures.md").text
	parts := strings.Split(text, "\n## ")[1:]
	if len(parts) < 15 {
		t.Fatalf("%d numbers", len(parts))
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, part := range parts {
		name, body, _ := strings.Cut(part, "\n")
		said, ok := trials.Explain(name)
		if !ok {
			t.Errorf("docs/measures.md explains %s, of which no page shows an explanation", name)
			continue
		}
		first, _, _ := strings.Cut(words(said.Text), ". ")
		for _, clause := range regexp.MustCompile(`[;:]`).Split(strings.TrimSuffix(first, "."), -1)[:1] {
			if !strings.Contains(words(body), words(clause)) {
				t.Errorf("docs/measures.md does not say of %s what its ? says: %q", name, said.Text)
			}
		}
	}
}
