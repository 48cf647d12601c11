package sweep

import (
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/trials"
)

// planOf makes the plan of a text.
func planOf(t *testing.T, text string, overrides ...string) *Plan {
	t.Helper()
	p, err := tryPlan(text, overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryPlan(text string, overrides ...string) (*Plan, error) {
	f, err := ReadFile("s.toml", []byte(text), overrides)
	if err != nil {
		return nil, err
	}
	return NewPlan(f, "test")
}

func names(p *Plan) []string {
	var out []string
	for _, s := range p.Runs {
		out = append(out, s.String())
	}
	return out
}

func TestAGridIsEveryCombinationInTheOrderOfTheFile(t *testing.T) {
	p := planOf(t, `job = "fit"
trials = 2
[settings]
data = "r100"
[grid]
p = [3, 1.5]
lr = { from = 0.001, to = 0.1, count = 3, scale = "log" }`)
	want := []string{"p = 3, lr = 0.001, seed 1", "p = 3, lr = 0.01, seed 1", "p = 3, lr = 0.1, seed 1",
		"p = 1.5, lr = 0.001, seed 1", "p = 1.5, lr = 0.01, seed 1", "p = 1.5, lr = 0.1, seed 1"}
	if got := names(p); len(got) != 12 || !slices.Equal(got[:6], want) || got[6] != "p = 3, lr = 0.001, seed 2" {
		t.Errorf("runs %q", got)
	}
	if s := p.Runs[3].Settings; s["p"] != "1.5" || s["data"] != "r100" || s["loss"] != "exp" || s["seed"] != "1" ||
		s["runs"] != "" {
		t.Errorf("settings %v", s)
	}
}

func TestZippedListsGoTogetherAndDrawsAreThoseOfTheirSeed(t *testing.T) {
	p := planOf(t, "job = \"fit\"\n[settings]\ndata = \"r100\"\n[zip]\np = [1.5, 2, 3]\nlr = [0.1, 0.1, 0.3]")
	if got := names(p); !slices.Equal(got, []string{"p = 1.5, lr = 0.1, seed 1", "p = 2, lr = 0.1, seed 1",
		"p = 3, lr = 0.3, seed 1"}) {
		t.Errorf("zip %q", got)
	}
	random := "job = \"fit\"\ndraws = 50\n[settings]\ndata = \"r100\"\n[random]\nlr = { from = 1e-4, to = 1, scale = " +
		"\"log\" }\nsteps = { from = 10, to = 20 }\nloss = [\"exp\", \"logistic\"]"
	a, b, c := planOf(t, random), planOf(t, random), planOf(t, random, "draw_seed=2")
	if len(a.Runs) != 50 || !slices.Equal(names(a), names(b)) || slices.Equal(names(a), names(c)) {
		t.Error("draws are not decided by draw_seed")
	}
	small := 0
	for _, s := range a.Runs {
		lr, steps := trials.Float(s.Settings["lr"]), trials.Float(s.Settings["steps"])
		if lr < 1e-4 || lr > 1 || steps < 10 || steps > 20 || steps != float64(int(steps)) {
			t.Errorf("%v is out of its range", s)
		}
		if lr < 0.01 {
			small++
		}
	}
	if small < 10 || small > 40 { // half of a logarithmic range: 25 ± 3.5
		t.Errorf("%d of 50 draws in the lower half of the logarithms", small)
	}
}

func TestOverridesOfTheCommandLineReplaceWhatTheFileSays(t *testing.T) {
	text := "job = \"fit\"\ntrials = 3\n[settings]\ndata = \"r100\"\nlr = 0.5\n[grid]\np = [2, 3]"
	p := planOf(t, text, "p=1.1,2,3", "trials=1", "lr=0.25,0.5")
	if len(p.Runs) != 6 || p.Runs[0].String() != "p = 1.1, lr = 0.25, seed 1" {
		t.Errorf("%q", names(p))
	}
	if p = planOf(t, text, "p=4", "metric=margin"); len(p.Runs) != 3 || p.Runs[0].Settings["p"] != "4" ||
		p.File.Better != "high" {
		t.Errorf("%q, %s", names(p), p.File.Better)
	}
}

func TestTheIdentityOfARunIsThatOfItsSettingsAlone(t *testing.T) {
	base := planOf(t, "job = \"fit\"\n[settings]\ndata = \"r100\"\np = 3").Runs[0]
	for _, same := range []string{
		"job = \"fit\"\nname = \"other\"\nmetric = \"loss\"\n[settings]\ndata = \"r100\"\n[grid]\np = [1.5, 3.0]",
		// a default that is written out is the default
		"job = \"fit\"\n[settings]\ndata = \"r100\"\nloss = \"exp\"\nsteps = 1e5\n[grid]\np = [2, 3]"} {
		p := planOf(t, same)
		if s := p.Runs[1]; s.ID != base.ID || s.Folder() != base.Folder() {
			t.Errorf("%v is another run: %v, %v", s, s.Settings, base.Settings)
		}
	}
	seen := map[string]bool{base.ID: true}
	for _, other := range []string{"p=2", "lr=0.1", "seed=2", "bias=true", "data=r100:2"} {
		s := planOf(t, "job = \"fit\"\n[settings]\ndata = \"r100\"\np = 3", other).Runs[0]
		if seen[s.ID] {
			t.Errorf("%s does not change the run", other)
		}
		seen[s.ID] = true
	}
}

// Identities as they were before settings were added: a change of the program must not quietly orphan the runs
// that people have.
func TestIdentitiesStayThoseOfFinishedRuns(t *testing.T) {
	for job, want := range map[string]string{"fit": "a34d4098654a01564dc8", "margin": "fceaf4af7e131ac24a6f",
		"path": "1bb937f762d117f70d20", "train": "253802808ce54948bebb"} {
		data := "r100"
		if job == "train" {
			data = "fashion-sample"
		}
		text := "job = \"" + job + "\"\n[settings]\ndata = \"" + data + "\"\np = 3"
		if s := planOf(t, text).Runs[0]; s.ID != want || s.Folder() != "p3-s1-"+want {
			t.Errorf("%s: identity %s, want %s: %v", job, s.ID, want, s.Settings)
		}
		if job == "train" {
			continue
		}
		if s := planOf(t, text, "zero_based=false").Runs[0]; s.ID != want {
			t.Errorf("%s: zero_based = false changes the run: %v", job, s.Settings)
		}
		if s := planOf(t, text, "zero_based=true").Runs[0]; s.ID == want || s.Settings["zero_based"] != "true" {
			t.Errorf("%s: zero_based = true does not change the run: %v", job, s.Settings)
		}
	}
}

func TestRunsOfOneGraphStandTogether(t *testing.T) {
	p := planOf(t, `job = "train"
trials = 2
[settings]
data = "fashion-sample"
[grid]
p = [2, 3]
model = ["cnn", "resnet18"]
lr = [0.1, "auto"]`)
	if p.Compilations() != 2 || len(p.Runs) != 16 {
		t.Fatalf("%d graphs, %d runs", p.Compilations(), len(p.Runs))
	}
	for i, s := range p.Runs {
		if want := []string{"cnn", "resnet18"}[i/8]; s.Settings["model"] != want {
			t.Errorf("run %d is of %s", i, s.Settings["model"])
		}
		if auto := s.Settings["lr"] == "auto"; auto != (s.First == 1) {
			t.Errorf("%v: the seed of the search is %d", s, s.First)
		}
	}
}

func TestAMissingSettingIsNamed(t *testing.T) {
	if _, err := parse("fit", map[string]string{"p": "3"}); err == nil || err.Error() != "missing setting: data" {
		t.Errorf("error %v", err)
	}
}

// parse returns the command of a run.
func parse(job string, values map[string]string) (command.Command, error) {
	k, err := kinds.ByName(job)
	if err != nil {
		return nil, err
	}
	return k.ParseStored(values)
}

func TestAMistakeIsNamedWithItsLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"job = \"fit\"\nmetrics = 3", "s.toml:2: metrics: no such key (did you mean metric?): a sweep file has job,"},
		{"job = \"fit\"\n[setings]\np = 3", "setings: no such key (did you mean settings?)"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\nstep = 3",
			"s.toml:4: settings.step: fit has no such setting (did you mean steps?)"},
		{"job = \"train\"\n[settings]\nweightdecay = 3",
			"s.toml:3: settings.weightdecay: train has no such setting (did you mean weight_decay?)"},
		{"job = \"train\"\nmetric = \"accuracy\"", "s.toml:2: metric = \"accuracy\": there is none: the result of train has"},
		{"job = \"train\"\nmetric = \"test_acuracy\"", "(did you mean test_accuracy?)"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\n[grid]\np = []", "s.toml:5: grid.p: an empty list"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\n[grid]\nlr = { from = 0.1, to = 1, count = 100_000 }\np = { from = " +
			"2, to = 3.5, count = 100 }", "s.toml:6: grid.p: more than 200000 combinations"},
		{"job = \"fit\"\ndraws = 1000\n[settings]\ndata = \"r100\"\n[grid]\nlr = { from = 0.1, to = 1, count = 1000 " +
			"}\n[random]\np = [2, 3]", "s.toml:2: draws: more than 200000 combinations"},
		{"job = \"fit\"\ntrials = 9_000_000_000_000_000_000\n[settings]\ndata = \"r100\"\n[grid]\np = [2, 3]",
			"s.toml:2: trials = 9000000000000000000: with 2 combinations more than"},
		{"job = \"fit\"\ntrials = \"two\"", "s.toml:2:"},
		{"job = \"fit\"\n[grid\n", "s.toml:2:"},
		{"job = \"fits\"", "s.toml:1: job = \"fits\": choose train, fit, margin or path"},
		{"job = \"fit\"\nmetric = \"accuracy\"", "s.toml:2: metric = \"accuracy\": there is none: the result of fit has " +
			"lr, l2, lp, penalty, soft, steps, loss"},
		{"job = \"fit\"\n\n[settings]\ndata = \"r100\"\nmomentum = 1",
			"s.toml:5: settings.momentum: fit has no such setting: it has data, objective, p,"},
		{"job = \"fit\"\n[settings]\nengine = \"go\"", "s.toml:3: settings.engine: fit has no such setting"},
		{"job = \"train\"\n[settings]\nengine = \"go\"", "s.toml:3: settings.engine: use --engine on the command line"},
		{"job = \"fit\"\n[grid]\nseed = [1, 2]", "s.toml:3: grid.seed: write seed = N at the top"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\np = [2, 3]",
			"s.toml:4: settings.p: a list varies from run to run: it belongs in [grid]"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\n[grid]\np = 2", "s.toml:5: grid.p: want a list"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\n[grid]\np = [2, 0.5]", "s.toml:5: grid.p: p = 0.5, seed 1:"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\n[grid]\np = [2, 2.0]", "s.toml:5: grid.p: 2 is listed twice"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\nlr = -1\n",
			"s.toml:4: settings.lr: seed 1: --lr -1: want a positive number"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\nloss = \"hinge\"\n",
			"s.toml:4: settings.loss: seed 1: --loss \"hinge\": choose auto, exp"},
		{"job = \"fit\"\n[settings]\np = 3\n", "missing setting: data"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\np = 2\n[grid]\np = [2, 3]", "it is also in [settings]: keep one"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\n[zip]\np = [2, 3]\nlr = [1]",
			"s.toml:6: zip.lr: 1 value, the lists before it in [zip] have 2"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\n[grid]\nlr = { from = 0, to = 1, count = 3, scale = \"log\" }",
			"s.toml:5: grid.lr: a logarithmic range starts above 0"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\n[grid]\nlr = { from = 1, to = 2, steps = 3 }",
			"s.toml:5: grid.lr: steps: a range has from, to, count and scale"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\n[random]\np = [2, 3]", "draws"},
		{"job = \"margin\"\ntrials = 2\n[settings]\ndata = \"r100\"", "are the same run"},
		{"job = \"fit\"\nname = \"../x\"", "s.toml:2: name = \"../x\": it names a folder"},
		{"job = \"fit\"\ntrials = 2.5", "s.toml:2:10: want a whole number"},
		{"job = 3", "s.toml:1:7: want a text in quotes"},
		{"job = \"fit\"\ngrid = 3", "s.toml:2:8: want a table, such as [grid]"},
		{"job = \"fit\"\n[settings]\ndata = \"r100\"\n[grid]\np = [2, [3]]", "s.toml:5: grid.p: [3]: a list inside the list"},
	} {
		_, err := tryPlan(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := tryPlan("job = \"fit\"\n[settings]\ndata = \"r100\"", "p=2,x"); err == nil ||
		!strings.Contains(err.Error(), "on the command line: p") {
		t.Errorf("override: %v", err)
	}
	for o, want := range map[string]string{"trials=x": "trials=x: want a whole number",
		"trials=1,2": "trials=1,2: want a whole number", "p=2,,3": "p=2,,3: a value is empty"} {
		if _, err := tryPlan("job = \"fit\"\n[settings]\ndata = \"r100\"", o); err == nil ||
			!strings.Contains(err.Error(), "on the command line: "+want) {
			t.Errorf("%s: %v", o, err)
		}
	}
	if f, err := ReadFile("dir/my sweep.toml", []byte("job = \"fit\""), nil); err != nil || f.Name != "my-sweep" {
		t.Errorf("a file with a space in its name: %v", err)
	}
	if _, err := tryPlan("job = \"fit\"", "p"); err == nil || !strings.Contains(err.Error(), "key=value") {
		t.Errorf("override without a value: %v", err)
	}
}

func TestSettingsComeBackAsTheyWentIn(t *testing.T) {
	for name, text := range map[string]string{
		"train": "job = \"train\"\n[settings]\ndata = \"cifar10\"\nlr = \"auto\"\nno_augment = true\ndual_decay = " +
			"1e-5\np = 1.1",
		"fit":    "job = \"fit\"\n[settings]\ndata = \"a.csv\"\nsteps = 1e6\nbias = true\nlabel = \"y\"\ngap = 0.001",
		"margin": "job = \"margin\"\n[settings]\ndata = \"r100\"\np = inf",
		"path":   "job = \"path\"\n[settings]\ndata = \"r100\"\nto = 30.5"} {
		s := planOf(t, text).Runs[0]
		again, err := parse(s.Job, s.Settings)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := string(canonicalJSON(settings.Identity(again))); got != string(canonicalJSON(s.Settings)) {
			t.Errorf("%s:\n%s\n%s", name, got, canonicalJSON(s.Settings))
		}
		if s.identity() != s.ID {
			t.Errorf("%s: the identity is not that of the settings", name)
		}
	}
	tr, err := parse("train",
		planOf(t, "job = \"train\"\n[settings]\nno_augment = true\nlr = 0.3\np = 1.1").Runs[0].Settings)
	if x, ok := tr.(*command.Train); err != nil || !ok || !x.NoAugment || x.LR != 0.3 || len(x.P) != 1 || x.P[0] != 1.1 ||
		x.Epochs != 15 {
		t.Errorf("%+v, %v", tr, err)
	}
}

// Whatever a file says, it is planned or refused in one line; what is planned can be run, and written and read back.
func FuzzFile(f *testing.F) {
	for _, text := range []string{quick, slow, network,
		"job = \"fit\"\ndraws = 5\n[settings]\ndata = \"r100\"\n[random]\nlr = { from = 1e-4, to = 1, scale = \"log\" " +
			"}\nloss = [\"exp\", \"logistic\"]",
		"job = \"fit\"\n[settings]\ndata = \"r100\"\n[zip]\np = [1.5, 2]\nlr = [0.1, 0.3]",
		"job = \"margin\"\ngrid = { p = [1, 2, inf] }\nsettings.data = \"r100\"",
		"job = \"path\"\n[settings]\ndata = \"r100\"\n[grid]\nto = { from = 10, to = 12, count = 3 }\n[[published]]\nto " +
			"= 10\nmean = 1"} {
		f.Add(text, "trials=2")
	}
	f.Add(entries, "epochs=2")
	f.Add(small, "p=2,3")
	f.Add(quick, "p=1.1,inf")
	f.Add(quick, "name=../x")
	f.Add(quick, "p=two\nlines")
	f.Add(" ", "0=\n,")
	f.Fuzz(func(t *testing.T, text, override string) {
		file, err := ReadFile("s.toml", []byte(text), nil)
		if err == nil && override != "" {
			file, err = ReadFile("s.toml", []byte(text), []string{override})
		}
		if err == nil && large(file) {
			return // nothing new, and slow
		}
		var p *Plan
		if err == nil {
			p, err = NewPlan(file, "test")
		}
		if err != nil {
			if strings.ContainsAny(strings.TrimSpace(err.Error()), "\n") {
				t.Errorf("several lines: %q", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, s := range p.Runs {
			c, err := parse(s.Job, s.Settings)
			if err != nil || s.identity() != s.ID || seen[s.ID] || strings.ContainsAny(s.Folder(), "/\\\x00") {
				t.Errorf("%v: %v, folder %q", s, err, s.Folder())
			} else if got := string(canonicalJSON(settings.Identity(c))); got != string(canonicalJSON(s.Settings)) {
				t.Errorf("%v: %s comes back as %s", s, canonicalJSON(s.Settings), got)
			}
			seen[s.ID] = true
		}
		folder := Folder{t.TempDir()}
		if err := folder.writePlan(p); err != nil {
			t.Fatal(err)
		}
		again, err := folder.readPlan()
		if err != nil || len(again.Runs) != len(p.Runs) || again.Runs[0].identity() != p.Runs[0].ID {
			t.Errorf("the plan comes back as %+v, %v", again, err)
		}
		collect(folder, again)
	})
}

// large reports whether a file has so many runs that planning them takes long.
func large(f *File) bool {
	if f.Trials > 5 || f.Draws > 5 || len(f.Entries) > 5 {
		return true
	}
	for _, e := range f.Entries {
		if large(f.entry(e)) {
			return true
		}
	}
	n := 1
	for _, table := range []map[string]any{f.Grid, f.Zip} {
		for _, v := range table {
			switch v := v.(type) {
			case []any:
				n *= max(1, len(v))
			case map[string]any:
				if count, ok := v["count"].(int64); ok {
					n *= int(max(1, min(count, 1000)))
				}
			}
			if n > 50 {
				return true
			}
		}
	}
	return false
}
