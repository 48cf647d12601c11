package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/internal/app/command"
)

// guide says which page of docs/ has more about a command. A command without a page has that of its group.
var guide = map[string]string{
	"":                   "README.md",
	"tour":               "README.md#a-tour",
	"fit":                "linear.md",
	"predict":            "linear.md",
	"margin":             "linear.md",
	"path":               "linear.md",
	"verify":             "paper.md",
	"reproduce":          "paper.md",
	"reproduce imagenet": "imagenet.md",
	"data":               "files.md",
	"data pack":          "packed.md",
	"train":              "networks.md",
	"report":             "dashboard.md#reports",
	"export":             "dashboard.md#metrics-for-other-programs",
	"serve":              "dashboard.md",
	"runs":               "dashboard.md",
	"sweep":              "sweeps.md",
	"worker":             "sweeps.md",
	"doctor":             "engines.md",
	"bench":              "README.md#measurements",
	"bench linear":       "measurements/linear.md",
	"bench margin":       "measurements/linear.md",
	"bench images":       "measurements/images.md",
	"bench train":        "measurements/cpu.md",
	"version":            "install.md",
	"completion":         "install.md#completions",
	"help":               "install.md#help",
}

// guidePage is the page of a command.
func guidePage(name string) string {
	for {
		if page, ok := guide[name]; ok {
			return page
		}
		name = name[:max(0, strings.LastIndexByte(name, ' '))]
	}
}

// commandName is the name of a command without that of the program.
func commandName(n *kong.Node) string {
	return strings.TrimPrefix(strings.TrimPrefix(n.FullPath(), "bregman"), " ")
}

// printHelp ends the help of each command with its page of the guide.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	node := ctx.Selected()
	if node == nil {
		node = ctx.Model.Node
	}
	page := guidePage(commandName(node))
	file, anchor, has := strings.Cut(page, "#")
	address := strings.TrimSuffix("/help/"+strings.TrimSuffix(strings.TrimSuffix(file, ".md"), "README"), "/")
	if has {
		address += "#" + anchor
	}
	_, err := fmt.Fprintf(ctx.Stdout, "\nMore: docs/%s, or %s in bregman serve\n", page, address)
	return err
}

// helpTexts are the help of all commands.
func helpTexts() []command.HelpText {
	var out []command.HelpText
	var walk func(*kong.Node)
	walk = func(n *kong.Node) {
		name := commandName(n)
		out = append(out, command.HelpText{Name: name, About: n.Help, Text: helpText(name), Page: guidePage(name),
			Group: len(n.Children) > 0})
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(newParser().Model.Node)
	return out
}
