package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/sweep"
)

// completing is the hidden command that completion scripts call: they contain nothing about bregman's commands, so
// that they fit every version.
//
//	bregman __complete zsh|fish WORD…     the words after bregman, the last one unfinished
//	bregman __complete bash LINE          the line up to the cursor, with bregman
//
// It prints a line that says what else may stand there (words: nothing; files; dirs), then a line for each suggestion:
// the word, a tab, and what it is.
const completing = "__complete"

// suggestion is a word that may stand at the cursor.
type suggestion struct{ word, about string }

// suggestions are all words that may stand at the cursor.
type suggestions struct {
	words []suggestion
	also  string // "words": nothing else; "files", "dirs": paths, which the shell completes
}

func (s *suggestions) add(word, about string) { s.words = append(s.words, suggestion{word, about}) }

// complete prints suggestions for a shell.
func complete(args []string, w io.Writer) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "bregman:", completing, "is for completion scripts: see bregman completion --help")
		return 2
	}
	words := args[1:]
	breaks := "" // characters that end a word for bash, which then replaces only what follows
	if args[0] == "bash" {
		if words = shellWords(strings.Join(words, " ")); len(words) > 0 {
			words = words[1:]
		}
		breaks = "=:"
	}
	if len(words) == 0 {
		words = []string{""}
	}
	s := suggest(newParser().Model.Node, words)
	current := words[len(words)-1]
	cut := strings.LastIndexAny(current, breaks) + 1
	fmt.Fprintln(w, s.also)
	for _, c := range s.words {
		if strings.HasPrefix(c.word, current) {
			fmt.Fprintf(w, "%s\t%s\n", c.word[cut:], c.about)
		}
	}
	return 0
}

// shellWords splits a line as a shell does, with quotes and backslashes. The last word is the unfinished one.
func shellWords(line string) []string {
	var out []string
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			begun, quote = true, c
		case quote == 0 && (c == ' ' || c == '\t'):
			if begun {
				out = append(out, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	return append(out, word.String())
}

// suggest returns what the last word may be, also words that do not begin as it does.
func suggest(root *kong.Node, words []string) suggestions {
	line := commandLine{node: root}
	if words[0] == "help" && len(words) > 1 && !strings.HasPrefix(words[len(words)-1], "-") {
		line.only, words = true, words[1:]
	}
	for _, w := range words[:len(words)-1] {
		line.take(w)
	}
	return line.suggest(words[len(words)-1])
}

// commandLine is what has been read of one.
type commandLine struct {
	node    *kong.Node
	pending *kong.Flag // it waits for its value
	place   int        // how many positional arguments there were
	plain   bool       // after --: no more flags
	only    bool       // commands alone: after help
	runs    string     // the value of --runs
	used    []string   // flags
}

// take reads a finished word.
func (l *commandLine) take(word string) {
	switch {
	case l.pending != nil:
		l.value(l.pending, word)
		l.pending = nil
	case word == "--" && !l.plain:
		l.plain = true
	case strings.HasPrefix(word, "--") && !l.plain:
		name, value, has := strings.Cut(word[2:], "=")
		flag := l.flag(name)
		if flag == nil {
			return
		}
		l.used = append(l.used, name)
		if has {
			l.value(flag, value)
		} else if !flag.IsBool() {
			l.pending = flag
		}
	default:
		if child := l.child(word); child != nil {
			l.node = child
			return
		}
		l.node = cmp.Or(l.node.DefaultCmd, l.node)
		l.place++
	}
}

func (l *commandLine) value(flag *kong.Flag, value string) {
	if flag.Name == "runs" {
		l.runs = value
	}
}

func (l *commandLine) child(name string) *kong.Node {
	for _, c := range l.node.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// flags are those of the command, or of the one that is meant without a verb.
func (l *commandLine) flags() []*kong.Flag { return cmp.Or(l.node.DefaultCmd, l.node).Flags }

func (l *commandLine) flag(name string) *kong.Flag {
	for _, f := range l.flags() {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// suggest returns what the unfinished word may be.
func (l *commandLine) suggest(current string) suggestions {
	s := suggestions{also: "words"}
	name, value, has := strings.Cut(strings.TrimPrefix(current, "--"), "=")
	switch {
	case l.only:
		l.children(&s)
	case l.pending != nil:
		l.values(&s, l.pending.Name, "", current)
	case strings.HasPrefix(current, "--") && has && !l.plain:
		if l.flag(name) != nil {
			l.values(&s, name, "--"+name+"=", value)
		}
	case strings.HasPrefix(current, "-") && !l.plain:
		for _, f := range l.flags() {
			if !f.Hidden && (f.IsSlice() || !slices.Contains(l.used, f.Name)) {
				s.add("--"+f.Name, brief(cmp.Or(l.field(f.Name).Help, f.Help)))
			}
		}
		s.add("--help", "What the command does, and its flags")
	default:
		l.children(&s)
		leaf := cmp.Or(l.node.DefaultCmd, l.node)
		if n := len(leaf.Positional); n > 0 && (l.place < n || leaf.Positional[n-1].IsSlice()) {
			l.values(&s, leaf.Positional[min(l.place, n-1)].Name, "", current)
		}
	}
	return s
}

// children adds the commands of a group.
func (l *commandLine) children(s *suggestions) {
	if l.place > 0 {
		return
	}
	for _, c := range l.node.Children {
		if !c.Hidden {
			s.add(c.Name, brief(c.Help))
		}
	}
}

// field is the setting of a flag or positional argument.
func (l *commandLine) field(flag string) settings.Field {
	node := cmp.Or(l.node.DefaultCmd, l.node)
	if !node.Target.IsValid() || !node.Target.CanAddr() {
		return settings.Field{}
	}
	for _, f := range settings.Fields(node.Target.Addr().Interface()) {
		if f.Flag == flag {
			return f
		}
	}
	return settings.Field{}
}

// values adds the values of a setting. Before them stand what is said of it in the same word: its flag, and of a list
// what came before the last comma.
func (l *commandLine) values(s *suggestions, flag, before, current string) {
	f := l.field(flag)
	if f.Kind == settings.List {
		before += current[:strings.LastIndexByte(current, ',')+1]
	}
	for _, v := range slices.Concat(f.Choices, f.Known, l.builtin(f)) {
		s.add(before+v, "")
	}
	switch {
	case f.Kind == settings.Switch:
		s.add(before+"true", "")
		s.add(before+"false", "")
	case namesRun(f):
		s.also = "dirs"
		for _, run := range runFolders(cmp.Or(l.runs, "runs")) {
			s.add(before+run, "")
			if strings.HasPrefix(run, current) {
				s.also = "words"
			}
		}
	case f.File || strings.HasPrefix(f.Placeholder, "FILE"):
		s.also = "files"
	case f.Placeholder == "DIR":
		s.also = "dirs"
	}
}

// namesRun reports whether a setting is a run folder.
func namesRun(f settings.Field) bool {
	return f.Placeholder == "RUN" || f.Flag == "run" || strings.HasPrefix(f.Flag, "run ")
}

// builtin are the names of built-in sweep files, which only the command knows.
func (l *commandLine) builtin(f settings.Field) []string {
	start, ok := cmp.Or(l.node.DefaultCmd, l.node).Target.Addr().Interface().(*sweep.Start)
	if !ok || f.Key != "file" {
		return nil
	}
	var names []string
	for name := range start.Library.Files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// maxRuns is how many run folders are suggested: the newest.
const maxRuns = 100

// runFolders are the run folders in a folder, the newest first.
func runFolders(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "*", "run.json"))
	var out []string
	for _, path := range slices.Backward(found) {
		if len(out) < maxRuns {
			out = append(out, filepath.Dir(path))
		}
	}
	return out
}

// brief is the first sentence of a help text, short enough for a line beside a word.
func brief(text string) string {
	const most = 70
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i]
	}
	text = strings.TrimSuffix(text, ".")
	if utf8.RuneCountInString(text) > most {
		runes := []rune(text)[:most]
		text = string(runes)
		if i := strings.LastIndexByte(text, ' '); i > 0 {
			text = text[:i]
		}
		text += " …"
	}
	return text
}
