package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestVersionSaysWhatTheProgramIs(t *testing.T) {
	stdout, stderr, code := bregman(t, t.TempDir(), "version")
	if code != 0 || stderr != "" || !strings.HasPrefix(stdout, "bregman ") ||
		!strings.Contains(stdout, runtime.Version()) || !strings.Contains(stdout, "\nengines   ") {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
	stdout, _, _ = bregman(t, t.TempDir(), "version", "--json")
	var said about
	if err := json.Unmarshal([]byte(stdout), &said); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range said.Engines {
		found[e.Name] = e.Found
	}
	if said.Version == "" || said.Go != runtime.Version() || said.OS != runtime.GOOS || !found["cpu"] || !found["go"] {
		t.Errorf("%+v", said)
	}
}

// What scripts/release.sh builds knows its version and its commit.
func TestAReleaseKnowsItsVersion(t *testing.T) {
	old := stamp
	t.Cleanup(func() { stamp = old })
	stamp = "v1.2.3"
	if got := version(); got != "v1.2.3" {
		t.Errorf("version %s", got)
	}
}

func TestHelpHasAllCommands(t *testing.T) {
	all, stderr, code := bregman(t, t.TempDir(), "help", "--all")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	for _, name := range commandNames() {
		one, _, _ := bregman(t, t.TempDir(), append([]string{"help"}, strings.Fields(name)...)...)
		if two, _, _ := bregman(t, t.TempDir(), append(strings.Fields(name), "--help")...); one != two {
			t.Errorf("help %s and %[1]s --help differ:\n%s", name, firstDifference(one, two))
		}
		if one == "" || !strings.Contains(all, one) {
			t.Errorf("help --all lacks %s", name)
		}
	}
}

// The last line of a command's help leads to a page that is there, and is about it.
func TestEveryCommandHasAPageInTheGuide(t *testing.T) {
	said := map[string]bool{}
	for _, name := range commandNames() {
		said[name] = true
		path, anchor, _ := strings.Cut(guidePage(name), "#")
		text := read(t, filepath.Join("..", "..", "docs", path))
		if anchor != "" && !slices.Contains(anchors(text), anchor) {
			t.Errorf("%s: docs/%s has no heading #%s", name, path, anchor)
		}
		lines := strings.Split(strings.TrimSpace(helpText(name)), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "More: docs/"+path) {
			t.Errorf("%s --help ends with %q", name, last)
		}
		if verb := strings.Fields(name + " bregman")[0]; !strings.Contains(text, verb) {
			t.Errorf("docs/%s says nothing about %s", path, name)
		}
	}
	for name := range guide {
		if !said[name] {
			t.Errorf("the guide has a page about %s, which is not a command", name)
		}
	}
}

// The page is one that the programs which show man pages read without a warning.
func TestTheManPageIsWellFormed(t *testing.T) {
	dir := t.TempDir()
	page, stderr, code := bregman(t, dir, "help", "--man")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	for _, n := range leafCommands(newParser().Model.Node) {
		if !strings.Contains(page, roff(n.Path())) || !strings.Contains(page, roff(strings.Fields(n.Help)[0])) {
			t.Errorf("the man page lacks %s", n.Path())
		}
	}
	write(t, dir, "bregman.1", page)
	for _, check := range [][]string{{"mandoc", "-T", "lint", "-W", "warning"},
		{"groff", "-man", "-ww", "-Tutf8", "-z"}} {
		path, err := exec.LookPath(check[0])
		if err != nil {
			if os.Getenv("BREGMAN_NEED_SHELLS") != "" {
				t.Errorf("%s is not here, and BREGMAN_NEED_SHELLS is set: install Debian's package", check[0])
			}
			continue
		}
		cmd := exec.CommandContext(t.Context(), path, append(check[1:], filepath.Join(dir, "bregman.1"))...)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%.2000s", strings.Join(check, " "), err, out)
		}
	}
}
