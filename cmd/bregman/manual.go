package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/internal/app/settings"
)

// manual writes a man page, in the macros of man(7).
type manual struct{ strings.Builder }

// manPage is the man page of the program: the help of all commands.
func manPage(app *kong.Application, version string, date time.Time) string {
	m := &manual{}
	fmt.Fprintf(m, ".TH BREGMAN 1 %s \"%s\"\n", date.UTC().Format(time.DateOnly), roff("bregman "+version))
	m.macro("SH", "NAME")
	m.text("bregman - " + strings.TrimSuffix(app.Help, "."))
	m.macro("SH", "SYNOPSIS")
	m.macro("B", "bregman")
	m.text("COMMAND [flags]")
	m.macro("SH", "COMMANDS")
	for _, n := range leafCommands(app.Node) {
		m.command(n)
	}
	m.macro("SH", "EXIT STATUS")
	m.text("0: done. 1: failed. 2: the command line makes no sense.")
	m.macro("SH", "SEE ALSO")
	m.text("The guide is in docs/ of the source, and in a browser:")
	m.macro("B", "bregman serve")
	m.text("then /help.")
	return m.String()
}

// leafCommands are the commands without subcommands.
func leafCommands(n *kong.Node) []*kong.Node {
	if len(n.Children) == 0 {
		return []*kong.Node{n}
	}
	var out []*kong.Node
	for _, c := range n.Children {
		out = append(out, leafCommands(c)...)
	}
	return out
}

// command writes the help of a command.
func (m *manual) command(n *kong.Node) {
	m.macro("SS", n.Summary())
	m.text(n.Help)
	m.prose(n.Detail)
	fields := map[string]settings.Field{}
	for _, f := range settings.Fields(n.Target.Addr().Interface()) {
		fields[f.Flag] = f
	}
	for _, p := range n.Positional {
		m.setting(p.Summary(), fields[p.Name], p.Help)
	}
	for _, f := range n.Flags {
		if f.Hidden || f.Name == "help" {
			continue
		}
		label := "--" + f.Name
		if !f.IsBool() {
			label += "=" + f.FormatPlaceHolder()
		}
		m.setting(label, fields[f.Name], f.Help)
	}
}

func (m *manual) setting(label string, f settings.Field, help string) {
	m.macro("TP")
	m.macro("B", label)
	m.text(cmp.Or(f.Help, help))
	if f.Choices != nil {
		m.text("One of " + settings.Or(f.Choices) + ".")
	}
}

// prose writes paragraphs; indented lines stay lines.
func (m *manual) prose(text string) {
	indented, begins := false, true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			begins = true
			continue
		}
		if in := strings.HasPrefix(line, "  "); in != indented {
			indented = in
			m.macro(map[bool]string{true: "nf", false: "fi"}[in])
		}
		if begins {
			m.macro("PP")
			begins = false
		}
		m.text(line)
	}
	if indented {
		m.macro("fi")
	}
}

// macro writes a line of control, with quoted arguments.
func (m *manual) macro(name string, args ...string) {
	fmt.Fprintf(m, ".%s", name)
	for _, a := range args {
		fmt.Fprintf(m, ` "%s"`, strings.ReplaceAll(roff(a), `"`, `\(dq`))
	}
	m.WriteByte('\n')
}

// text writes a line of text.
func (m *manual) text(line string) {
	if line = strings.TrimRight(line, " "); line == "" {
		return
	}
	line = roff(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line // not a macro
	}
	m.WriteString(line + "\n")
}

// roff escapes a text, with names for what is not ASCII: they can be read by every program for man pages.
func roff(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '\\':
			b.WriteString(`\(rs`)
		case c == '-':
			b.WriteString(`\-`)
		case c == '\n':
			b.WriteByte(' ')
		case c > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
