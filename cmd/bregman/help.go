package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// helpCmd is `bregman help`. Without flags, help COMMAND is COMMAND --help: see run.
type helpCmd struct {
	Command []string `arg:"" optional:"" json:"-"`
	All     bool     `json:"-"`
	Man     bool     `json:"-"`
}

// Texts are the words for its settings.
func (*helpCmd) Texts() settings.Texts {
	return settings.Texts{
		About: "The help of a command, or all of it.",
		Help: map[string]string{
			"command": "A command, such as fit or data get. help fit is fit --help.",
			"all":     "The help of all commands, one after the other.",
			"man":     "The same as a man page: bregman help --man | man -l -",
		},
	}
}

// Check returns what cannot be shown at once.
func (h *helpCmd) Check() error {
	switch {
	case h.All && h.Man:
		return settings.Errorf("man", "--man with --all: a man page has all commands: drop --all")
	case len(h.Command) > 0:
		return settings.Errorf("command", "help %s with --all or --man, which show all commands: drop one of them",
			strings.Join(h.Command, " "))
	}
	return nil
}

// Do returns the text.
func (h *helpCmd) Do(context.Context, *command.Env) (command.Result, error) {
	if h.Man {
		return plainText(manPage(newParser().Model, version(), committed())), nil
	}
	var b strings.Builder
	for i, name := range commandNames() {
		if i > 0 {
			fmt.Fprintf(&b, "\n%s\n\n", strings.Repeat("─", 80))
		}
		b.WriteString(helpText(name))
	}
	return plainText(b.String()), nil
}

// helpFirst turns help COMMAND into COMMAND --help, and no arguments into --help.
func helpFirst(args []string) []string {
	own := func(arg string) bool { return slices.Contains([]string{"--all", "--man", "--help", "-h"}, arg) }
	if len(args) == 0 || args[0] == "help" && !slices.ContainsFunc(args, own) {
		return append(slices.Clone(args[min(1, len(args)):]), "--help")
	}
	return args
}

// helpText is what NAME --help prints where there is no terminal.
func helpText(name string) string {
	k := newParser()
	var b bytes.Buffer
	k.Stdout, k.Stderr = &b, &b
	ctx, err := kong.Trace(k, append(strings.Fields(name), "--help")) // not of what runs without a verb
	if err == nil {
		err = ctx.PrintUsage(false)
	}
	if err != nil {
		panic(fmt.Sprintf("help of %q: %v", name, err)) // of a command of ours
	}
	return b.String()
}

// commandNames are all commands and the groups of them; "" is the program itself.
func commandNames() []string {
	var out []string
	var walk func(*kong.Node)
	walk = func(n *kong.Node) {
		out = append(out, commandName(n))
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(newParser().Model.Node)
	return out
}
