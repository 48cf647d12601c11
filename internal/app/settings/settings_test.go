package settings

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// place is part of sample, and has texts of its own.
type place struct {
	Engine string        `default:"auto" json:"engine" role:"place"`
	Wait   time.Duration `default:"30s" role:"place"`
}

func (*place) Texts() Texts {
	return Texts{Help: map[string]string{"engine": "Where.", "wait": "How long."},
		Known: map[string][]string{"engine": {"cpu"}}}
}

// sample has a field of every kind.
type sample struct {
	Data    string    `required:"" placeholder:"FILE" json:"data" file:""`
	P       Floats    `default:"2,3" json:"p" live:""`
	Norms   []float64 `json:"norms,omitempty"`
	Names   []string  `json:"names,omitempty"`
	Loss    string    `default:"exp" json:"loss"`
	Epochs  int       `json:"epochs"`
	Steps   Count     `default:"1e3" json:"steps"`
	LR      Rate      `default:"recipe" json:"lr" live:""`
	Decay   float64   `default:"0" json:"weight_decay"`
	Seed    uint64    `default:"1" json:"seed" role:"seed"`
	Trials  int       `default:"1" json:"trials" role:"trials"`
	Augment bool      `json:"augment"`
	Out     string    `json:"out,omitempty" role:"output"`
	Resume  string    `json:"-"`
	place
	Zero bool `json:"zero_based,omitempty" late:"false"`
}

func (*sample) Texts() Texts {
	return Texts{About: "A sample.", Help: map[string]string{"data": "The data.", "wait": "Longer."},
		Choices: map[string][]string{"loss": {"exp", "square"}}}
}

func TestFieldsAreInOrderAndDescribed(t *testing.T) {
	var keys []string
	for _, f := range Fields(&sample{}) {
		keys = append(keys, f.Key)
	}
	if want := "data p norms names loss epochs steps lr weight_decay seed trials augment out resume engine wait " +
		"zero_based"; strings.Join(keys, " ") != want {
		t.Errorf("keys %v", keys)
	}
	for key, want := range map[string]Field{
		"data": {Key: "data", Flag: "data", Placeholder: "FILE", Help: "The data.", Kind: Text, Required: true,
			Stored: true, File: true},
		"p": {Key: "p", Flag: "p", Default: "2,3", Kind: List, Stored: true, Live: true},
		"loss": {Key: "loss", Flag: "loss", Default: "exp", Kind: Text, Stored: true,
			Choices: []string{"exp", "square"}},
		"weight_decay": {Key: "weight_decay", Flag: "weight-decay", Default: "0", Kind: Number, Stored: true},
		"augment":      {Key: "augment", Flag: "augment", Kind: Switch, Stored: true},
		"engine": {Key: "engine", Flag: "engine", Default: "auto", Help: "Where.", Kind: Text, Role: Place,
			Stored: true, Known: []string{"cpu"}},
		// the outer text counts
		"wait": {Key: "wait", Flag: "wait", Default: "30s", Help: "Longer.", Kind: Text, Role: Place},
	} {
		got, ok := Find(sample{}, key)
		got.index, got.late = nil, nil
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", key, got, want)
		}
	}
}

func TestParseSetsDefaultsAndNamesTheKeyOfAnError(t *testing.T) {
	var s sample
	if err := Parse(&s, map[string]string{"data": "x", "steps": "1e6", "p": "1.5", "augment": "true",
		"wait": "1m"}); err != nil {
		t.Fatal(err)
	}
	want := sample{Data: "x", P: Floats{1.5}, Loss: "exp", Steps: 1e6, LR: Recipe, Seed: 1, Trials: 1, Augment: true,
		place: place{"auto", time.Minute}}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct{ key, value, want string }{
		{"p", "x", "not a number"}, {"loss", "hinge", `--loss "hinge": choose exp or square`},
		{"steps", "1.5", "whole number"},
		{"lr", "fast", "not a learning rate"}, {"seed", "-1", "from 0"}, {"augment", "maybe", "true or false"},
		{"wait", "soon", "a time"}, {"epochs", "many", "a whole number"}, {"weight_decay", "", "want a number"},
		{"nosuch", "1", "no such setting"}, {"data", "", "missing setting: data"}, {"norms", "1,,2", "want a number"},
	} {
		values := map[string]string{"data": "x", c.key: c.value}
		var wrong *Error
		if err := Parse(new(sample), values); !errors.As(err, &wrong) || wrong.Key != c.key ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %q: %v", c.key, c.value, err)
		}
	}
}

// The settings that decide the result are in the identity, with the seed; a later setting at its old value is not.
func TestTheIdentityIsWhatMakesTheResult(t *testing.T) {
	var s sample
	if err := Parse(&s, map[string]string{"data": "x", "out": "o", "engine": "cuda", "trials": "5"}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"data": "x", "p": "2,3", "loss": "exp", "epochs": "0", "steps": "1000", "lr": "recipe",
		"weight_decay": "0", "seed": "1", "augment": "false"}
	if got := Identity(&s); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if s.Zero = true; Identity(&s)["zero_based"] != "true" {
		t.Error("a later setting that is used is not in the identity")
	}
	other := s
	other.P, other.LR, other.Seed, other.Engine = Floats{7}, 0.3, 9, "cpu"
	if Graph(&s) != Graph(&other) {
		t.Errorf("one compiled step does not serve p, rate, seed and place: %s", Graph(&other))
	}
	if other.Decay = 1; Graph(&s) == Graph(&other) {
		t.Error("one compiled step serves two decays")
	}
}

func TestACommandLineHasWhatIsNotTheDefault(t *testing.T) {
	var s sample
	Defaults(&s)
	s.Data, s.Augment, s.Norms, s.Resume, s.Steps = "my data", true, []float64{1, 2.5}, "r", 1000
	if got, want := CommandLine("try", &s), "bregman try --data 'my data' --norms 1,2.5 --augment"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAResumedRunKeepsWhatItWasAskedFor(t *testing.T) {
	saved := sample{Data: "a", P: Floats{3}, Out: "model", Resume: "", place: place{"cuda", time.Hour}}
	now := sample{Data: "b", P: Floats{2}, Resume: "runs/x", place: place{"cpu", 0}}
	Resume(&saved, &now)
	if want := (sample{Data: "a", P: Floats{3}, Out: "model", Resume: "runs/x",
		place: place{"cpu", 0}}); !reflect.DeepEqual(saved, want) {
		t.Errorf("%+v", saved)
	}
	for said, ok := range map[string]bool{"p": false, "out": false, "engine": true, "wait": true, "resume": true} {
		err := CheckResume(&sample{}, []string{"resume", said})
		var wrong *Error
		if (err == nil) != ok || err != nil && (!errors.As(err, &wrong) || wrong.Key != said) {
			t.Errorf("--%s with --resume: %v", said, err)
		}
	}
}

func TestAZeroThatMeansNothingSaidIsRefused(t *testing.T) {
	if err := CheckZero(&sample{}, map[string]string{"epochs": "0"}); err == nil {
		t.Error("--epochs 0 has no default to stand for, and is taken")
	}
	if err := CheckZero(&sample{}, map[string]string{"weight_decay": "0", "epochs": "3"}); err != nil {
		t.Error(err)
	}
}

func TestWhatFormatWritesParseReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		finite := rapid.Float64Range(-1e300, 1e300)
		word := rapid.StringMatching(`[a-z][a-z ]{0,6}`)
		s := sample{Data: word.Draw(t, "data"), P: rapid.SliceOfN(finite, 1, 4).Draw(t, "p"), Loss: "square",
			Norms: rapid.SliceOfN(finite, 1, 3).Draw(t, "norms"), Names: rapid.SliceOfN(word, 1, 3).Draw(t, "names"),
			Epochs: rapid.Int().Draw(t, "epochs"), Steps: Count(rapid.IntRange(0, 1<<53).Draw(t, "steps")),
			LR: Rate(rapid.Float64Range(1e-9, 1e9).Draw(t, "lr")), Decay: finite.Draw(t, "decay"),
			Seed: rapid.Uint64().Draw(t, "seed"), Augment: rapid.Bool().Draw(t, "augment"), Zero: rapid.Bool().Draw(t, "zero"),
			place: place{"auto", time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "wait"))}}
		values := map[string]string{}
		for _, f := range Fields(&s) {
			if text := Get(&s, f.Key); text != "" {
				values[f.Key] = text
			}
		}
		var back sample
		if err := Parse(&back, values); err != nil || !reflect.DeepEqual(back, s) {
			t.Fatalf("%+v comes back as %+v, %v", s, back, err)
		}
	})
}

func TestTheNearestNameIsAskedFor(t *testing.T) {
	names := []string{"epochs", "batch", "lr"}
	for name, want := range map[string]string{"epoch": "epochs", "bacth": "batch", "momentum": ""} {
		if got := Nearest(name, names); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := Or(slices.Clone(names)); got != "epochs, batch or lr" {
		t.Error(got)
	}
}
