package sweep

import (
	"slices"
	"strings"
	"testing"
)

const entries = `job = "train"
trials = 2
[settings]
model = "cnn"
epochs = 5

[[entry]]
why = "first"
trials = 1
[entry.grid]
p = [2, 3]

[[entry]]
why = "second"
[entry.settings]
epochs = 9
p = 3
unit = "init"

[[entry]]
seed = 2
[entry.grid]
p = [3, 2, 6]
`

func TestAQueueKeepsTheOrderOfItsFile(t *testing.T) {
	p := planOf(t, entries)
	want := []string{"p = 2, epochs = 5, seed 1", "p = 3, epochs = 5, seed 1",
		"p = 3, epochs = 9, unit = init, seed 1", "p = 3, epochs = 9, unit = init, seed 2",
		"p = 3, epochs = 5, seed 2", "p = 2, epochs = 5, seed 2", "p = 6, epochs = 5, seed 2",
		"p = 3, epochs = 5, seed 3", "p = 2, epochs = 5, seed 3", "p = 6, epochs = 5, seed 3"}
	if got := names(p); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	var from []int
	for _, s := range p.Runs {
		from = append(from, s.Entry)
	}
	if !slices.Equal(from, []int{1, 1, 2, 2, 3, 3, 3, 3, 3, 3}) {
		t.Errorf("entries %v", from)
	}
	// The identity of a run is that of its settings, wherever it stands.
	alone := planOf(t, "job = \"train\"\n[settings]\nepochs = 5\n[grid]\np = [2, 3]")
	if alone.Runs[0].ID != p.Runs[0].ID || alone.Runs[1].ID != p.Runs[1].ID {
		t.Error("the runs of a queue have identities of their own")
	}
}

func TestARunOfTwoEntriesIsMadeWithTheFirst(t *testing.T) {
	p := planOf(t, `job = "train"
[settings]
epochs = 5
[[entry]]
[entry.grid]
p = [2, 3]
[[entry]]
trials = 2
[entry.grid]
p = [3, 6]`)
	want := []string{"p = 2, seed 1", "p = 3, seed 1", "p = 6, seed 1", "p = 3, seed 2", "p = 6, seed 2"}
	if got := names(p); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestTheCommandLineChangesEveryEntry(t *testing.T) {
	p := planOf(t, entries, "epochs=1", "trials=1", "seed=7")
	for _, s := range p.Runs {
		if s.Settings["epochs"] != "1" || s.Seed != 7 {
			t.Errorf("%v", s)
		}
	}
	if len(p.Runs) != 4 { // p = 2, 3, 6, and 3 in units
		t.Errorf("%q", names(p))
	}
}

func TestAMistakeInAnEntryIsNamedWithItsLine(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"unit = \"init\"", "unti = \"init\"", "s.toml:18: settings.unti: train has no such setting (did you mean unit?)"},
		{"p = [3, 2, 6]", "p = [3, 0.5]", "s.toml:23: grid.p: "},
		{"p = [3, 2, 6]", "p = 3", "s.toml:23: grid.p: want a list"},
		{"why = \"second\"", "way = \"second\"", "s.toml:14: entry.way: no such key"},
		{"seed = 2", "trials = 0", "s.toml:21: trials = 0: want at least 1"},
		{"[[entry]]\nseed = 2", "[random]\nlr = [1]\n[[entry]]", "[[entry]] draws nothing"},
		{"epochs = 9", "data = [1]", "s.toml:16: settings.data: a list varies"},
	} {
		text := strings.Replace(entries, c.old, c.new, 1)
		if _, err := tryPlan(text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.new, err)
		}
	}
}
