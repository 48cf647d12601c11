package paper

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// coverageRow is a row of docs/coverage.md.
type coverageRow struct{ item, what, command, verdict, found string }

func coverage(t *testing.T) []coverageRow {
	t.Helper()
	data, err := os.ReadFile("../../../docs/coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []coverageRow
	for _, line := range strings.Split(string(data), "\n") {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "¦"), "|")
		if len(cells) < 7 || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| in the paper") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 7 {
			t.Errorf("%d cells, want 5: %s", len(cells)-2, line)
			continue
		}
		rows = append(rows, coverageRow{cells[1], cells[2], cells[3], cells[4], cells[5]})
	}
	return rows
}

// Every numbered item of the paper has a row, every row a command and a verdict.
func TestCoverageHasEveryItemOfThePaper(t *testing.T) {
	rows := coverage(t)
	items := []string{"Definition 1", "Lemma 2", "Lemma 3", "Lemma 4", "Remark 5", "Definition 6", "Definition 7",
		"Theorem 8", "Theorem 9", "Remark 10", "Lemma 11", "Corollary 12", "Theorem 13", "Proposition 14", "Corollary 15",
		"Lemma 16", "Corollary 17", "Lemma 18", "Lemma 19", "Equation (MD)", "Equation (p-GD)", "Equation (4a)",
		"Equation (4b)", "Inequality (5)", "Equation (6)", "Listing 1"}
	for i := 1; i <= 6; i++ {
		items = append(items, fmt.Sprintf("Figure %d", i))
	}
	for i := 1; i <= 7; i++ {
		items = append(items, fmt.Sprintf("Table %d", i))
	}
	for _, item := range items {
		if !slices.ContainsFunc(rows, func(r coverageRow) bool { return r.item == item }) {
			t.Errorf("no row for %s", item)
		}
	}
	for _, r := range rows {
		switch {
		case !slices.Contains([]string{"works", "partly", "missing"}, r.verdict):
			t.Errorf("%s, %s: verdict %q", r.item, r.what, r.verdict)
		case r.verdict != "missing" && !strings.Contains(r.command, "`"):
			t.Errorf("%s, %s: no command", r.item, r.what)
		case r.verdict == "partly" && r.found == "":
			t.Errorf("%s, %s: partly, and not what is missing", r.item, r.what)
		}
	}
}

// The lines of verify that the table names are those that there are.
func TestCoverageNamesTheLinesOfVerify(t *testing.T) {
	named := map[string]bool{}
	for _, r := range coverage(t) {
		for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(r.command, -1) {
			named[m[1]] = true
		}
	}
	delete(named, "condition held") // a column
	for _, f := range collect(allChecks(ours(t.Context()), nil, nil, 1, 0)) {
		if !f.Beyond && !named[f.Name] {
			t.Errorf("no row names %q", f.Name)
		}
		delete(named, f.Name)
	}
	for name := range named {
		t.Errorf("verify has no line %q", name)
	}
}

// README and the page on the paper say how many items work.
func TestReadmeCountsTheCoverage(t *testing.T) {
	count := map[string]int{}
	for _, r := range coverage(t) {
		count[r.verdict]++
	}
	want := fmt.Sprintf("%d work, %d partly, %d missing", count["works"], count["partly"], count["missing"])
	for _, file := range []string{"../../../README.md", "../../../docs/paper.md"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), want) {
			t.Errorf("%s does not say %q", file, want)
		}
	}
}
