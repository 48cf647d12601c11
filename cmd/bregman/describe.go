package main

import (
	"strings"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/internal/app/settings"
)

// describe gives commands and flags the words of their settings structs: tags have room for short ones only. kong does
// not check choices: they are checked with the other settings.
func describe(k *kong.Kong) error {
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		if n, ok := node.(*kong.Node); ok && n.Target.IsValid() && n.Target.CanAddr() {
			describeCommand(n)
		}
		return next(nil)
	})
}

func describeCommand(n *kong.Node) {
	s := n.Target.Addr().Interface()
	if d, ok := s.(settings.Described); ok && n.Help == "" {
		n.Help = literal(d.Texts().About)
	}
	help := map[string]string{}
	for _, f := range settings.Fields(s) {
		help[f.Flag] = literal(f.Help)
	}
	for _, f := range n.Flags {
		if text := help[f.Name]; text != "" {
			f.Help = text
		}
	}
	for _, p := range n.Positional {
		if text := help[p.Name]; text != "" {
			p.Help = text
		}
	}
}

// literal escapes $, which starts a variable in kong.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }
