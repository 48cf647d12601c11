package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// leaves are the commands without subcommands.
func leaves(n *kong.Node) []*kong.Node {
	if len(n.Children) == 0 {
		return []*kong.Node{n}
	}
	var out []*kong.Node
	for _, c := range n.Children {
		out = append(out, leaves(c)...)
	}
	return out
}

// Two packages read the tags of a settings struct. They must read the same.
func TestEveryFlagIsASettingWithAHelpText(t *testing.T) {
	seen := 0
	for _, n := range leaves(newParser().Model.Node) {
		seen++
		s := n.Target.Addr().Interface()
		if _, ok := s.(command.Command); !ok {
			t.Errorf("%s: %T is not a command", n.FullPath(), s)
		}
		if n.Help == "" {
			t.Errorf("%s has no line about it", n.FullPath())
		}
		var flags, keys []string
		for _, f := range n.Flags {
			if f.Help == "" {
				t.Errorf("%s --%s has no help text", n.FullPath(), f.Name)
			}
			if f.Name != "help" {
				flags = append(flags, f.Name+" default "+f.Default)
			}
		}
		for _, p := range n.Positional {
			if p.Help == "" {
				t.Errorf("%s %s has no help text", n.FullPath(), p.Name)
			}
			flags = append(flags, p.Name+" default "+p.Default)
		}
		for _, f := range settings.Fields(s) {
			keys = append(keys, f.Flag+" default "+f.Default)
		}
		slices.Sort(flags)
		slices.Sort(keys)
		if !slices.Equal(flags, keys) {
			t.Errorf("%s: the command line has %q, the settings %q", n.FullPath(), flags, keys)
		}
		if d, ok := s.(settings.Described); ok {
			texts := d.Texts()
			for _, words := range []any{texts.Help, texts.Choices, texts.Known} {
				for _, key := range reflect.ValueOf(words).MapKeys() {
					if _, ok := settings.Find(s, key.String()); !ok {
						t.Errorf("%s: a text about %s, which is not a setting", n.FullPath(), key)
					}
				}
			}
		}
	}
	if seen < 25 {
		t.Errorf("only %d commands", seen)
	}
}

// A value on the command line and in a sweep file means the same.
func TestTheCommandLineAndASweepReadValuesAlike(t *testing.T) {
	for _, c := range []struct {
		kind   string
		values map[string]string
	}{
		{"fit", map[string]string{"data": "r100:7", "p": "1.1,2", "cv": "5", "steps": "1e6", "lp": "1e-3,1", "bias": "true",
			"loss": "logistic"}},
		{"fit", map[string]string{"data": "a b.csv", "lr": "1e-4", "init": "normal:0.1", "seed": "18446744073709551615",
			"zero_based": "true"}},
		{"margin", map[string]string{"data": "r2", "p": "1,inf", "gap": "1e-9", "support": "true"}},
		{"path", map[string]string{"data": "r2", "p": "1.5", "to": "30.5", "loss": "poly"}},
		{"train", map[string]string{"model": "resnet18", "p": "1.1", "lr": "auto", "epochs": "3", "weight_decay": "5e-4",
			"no_augment": "true"}},
		{"train", map[string]string{"unit": "one", "adaptive": "0.999"}},
	} {
		kind, err := kinds.ByName(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		want, err := kind.Parse(c.values)
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		args := []string{c.kind}
		for key, v := range c.values {
			args = append(args, "--"+strings.ReplaceAll(key, "_", "-")+"="+v)
		}
		k, err := newParser().Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ready(k)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, a sweep has %+v", args, got, err, want)
		}
	}
}
