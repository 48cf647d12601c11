package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminalOf starts a program on a terminal of its own.
type terminalOf struct {
	t      *testing.T
	master *os.File
	mu     sync.Mutex
	screen strings.Builder
}

func openTerminal(t *testing.T, cmd *exec.Cmd) *terminalOf {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	master := os.NewFile(uintptr(fd), "ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	term := &terminalOf{t: t, master: master}
	read := make(chan bool)
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			term.mu.Lock()
			term.screen.Write(b[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		master.Close()
		<-read
	})
	return term
}

// send types keys.
func (s *terminalOf) send(keys string) {
	s.t.Helper()
	s.mu.Lock()
	s.screen.Reset()
	s.mu.Unlock()
	if _, err := io.WriteString(s.master, keys); err != nil {
		s.t.Fatal(err)
	}
}

// control are the sequences that colour text and move the cursor.
var control = regexp.MustCompile(`\x1b(\[[0-9;?]*[a-zA-Z]|\(B)`)

// waits reports whether a text comes within some time.
func (s *terminalOf) waits(want string, within time.Duration) (seen string, ok bool) {
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		seen = control.ReplaceAllString(s.screen.String(), "")
		s.mu.Unlock()
		if ok = strings.Contains(seen, want); ok || time.Now().After(end) {
			return seen, ok
		}
	}
}

// Each shell is a real one on a terminal, into which a line is typed, Tab, and Enter.
func TestShellsCompleteCommandsFlagsChoicesFilesAndRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts shells")
	}
	for _, shell := range []struct {
		name   string
		tab    string // shows what there is
		term   string
		start  []string
		script string // reads the completion script, then says ready
	}{
		{"bash", "\t\t", "dumb", []string{"--norc", "--noprofile", "-i"},
			`bind 'set enable-bracketed-paste off'; eval "$(bregman completion bash)"; echo rea""dy`},
		{"zsh", "\t", "dumb", []string{"-f", "-i"},
			`autoload -U compinit; compinit -u -D; eval "$(bregman completion zsh)"; echo rea""dy`},
		{"fish", "\t", "xterm", []string{"-i"}, `bregman completion fish | source; echo rea""dy`},
	} {
		t.Run(shell.name, func(t *testing.T) {
			path, err := exec.LookPath(shell.name)
			if err != nil {
				if os.Getenv("BREGMAN_NEED_SHELLS") != "" {
					t.Fatal(shell.name, "is not here, and BREGMAN_NEED_SHELLS is set: install Debian's package")
				}
				t.Skip("no", shell.name)
			}
			dir := t.TempDir()
			run := filepath.Join("runs", "20260101-000000-fit-p2-train")
			// Without its folder, fish would make completions from man pages, in the background and beyond the test.
			for _, folder := range []string{run, "bin", "photos", filepath.Join("fish", "generated_completions")} {
				if err := os.MkdirAll(filepath.Join(dir, folder), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			write(t, filepath.Join(dir, run), "run.json", "{}")
			write(t, dir, "prices of houses.csv", "a,label\n1,2\n")
			// The program says what it was called with, so that a completed line can be run and seen.
			write(t, filepath.Join(dir, "bin"), "bregman", "#!/bin/sh\ncase $1 in\n__complete|completion) exec "+program+
				" \"$@\" ;;\nesac\necho \"called:\"\nfor a in \"$@\"; do echo \"[$a]\"; done\n")
			if err := os.Chmod(filepath.Join(dir, "bin", "bregman"), 0o777); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), path, shell.start...)
			cmd.Dir = dir
			cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir,
				"TERM=" + shell.term, "LC_ALL=C.UTF-8", "PS1=", "ZDOTDIR=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}
			term := openTerminal(t, cmd)
			term.send(shell.script + "\r")
			if seen, ok := term.waits("ready", time.Minute); !ok {
				t.Fatalf("the shell does not start: %q", seen)
			}
			for _, c := range []struct {
				typed string   // then Tab, then Enter
				args  []string // what the program gets
			}{
				{"bregman ver", nil}, // verify, version
				{"bregman pre", []string{"predict"}},
				{"bregman data sy", []string{"data", "synth"}},
				{"bregman fit --object", []string{"fit", "--objective"}},
				{"bregman fit --objective mar", []string{"fit", "--objective", "margin"}},
				{"bregman fit --objective=mar", []string{"fit", "--objective=margin"}},
				{"bregman train --engine xla", []string{"train", "--engine", "xla-cpu"}},
				{"bregman fit --data pri", []string{"fit", "--data", "prices of houses.csv"}},
				{"bregman fit --data=pri", []string{"fit", "--data=prices of houses.csv"}},
				{"bregman fit --data breast", []string{"fit", "--data", "breast_cancer"}},
				{"bregman fit --resume ", []string{"fit", "--resume", run}},
				{"bregman predict --run runs/2026", []string{"predict", "--run", run}},
				{"bregman report ", []string{"report", run}},
				{"bregman runs note ", []string{"runs", "note", run}},
				{"bregman sweep cif", []string{"sweep", "cifar10"}},
				{"bregman help pre", []string{"help", "predict"}},
			} {
				if c.args == nil {
					term.send(c.typed + shell.tab)
					for _, word := range []string{"verify", "version"} {
						if seen, ok := term.waits(word, 20*time.Second); !ok {
							t.Errorf("%s Tab does not show %s: %q", c.typed, word, seen)
						}
					}
					term.send("\x15\r") // clears the line
					continue
				}
				want := "[" + strings.Join(c.args, "]\r\n[") + "]\r\n"
				var seen string
				ok := false
				// zsh drops what is typed while it completes: on a busy machine a person would wait longer, too
				for pause := 200 * time.Millisecond; !ok && pause < 7*time.Second; pause *= 3 {
					term.send(c.typed + "\t")
					time.Sleep(pause)
					term.send("\r")
					if seen, ok = term.waits(want, 2*time.Second+pause); !ok {
						term.send("\x15\r") // clears the line
					}
				}
				if !ok {
					t.Errorf("%s Tab: want %q, got %q", c.typed, c.args, seen)
				}
			}
		})
	}
}

// Suggestions come from the settings structs, so that a list in a script cannot be out of date.
func TestSuggestionsAreWhatTheCommandLineTakes(t *testing.T) {
	dir := t.TempDir()
	ask := func(words ...string) (also string, found []string) {
		t.Helper()
		stdout, stderr, code := bregman(t, dir, append([]string{completing, "fish"}, words...)...)
		if code != 0 || stderr != "" {
			t.Fatalf("%q: exit %d, %s", words, code, stderr)
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		for _, l := range lines[1:] {
			word, _, _ := strings.Cut(l, "\t")
			found = append(found, word)
		}
		return lines[0], found
	}
	for _, name := range commandNames() {
		words := strings.Fields(name)
		if len(words) == 0 {
			continue
		}
		if _, found := ask(words...); !slices.Contains(found, words[len(words)-1]) {
			t.Errorf("%s is not suggested: %q", name, found)
		}
		if _, found := ask(append(words, "--")...); !slices.Contains(found, "--help") {
			t.Errorf("%s --: %q", name, found)
		}
	}
	for _, c := range []struct {
		words []string
		also  string
		want  []string
	}{
		{[]string{"train", "--unit", ""}, "words", []string{"one", "init"}},
		{[]string{"train", "--unit="}, "words", []string{"--unit=one", "--unit=init"}},
		{[]string{"train", "--engine", "c"}, "words", []string{"cuda", "cpu"}},
		{[]string{"reproduce", "cifar10", "--models", "cnn,vgg"}, "words", []string{"cnn,vgg11"}},
		{[]string{"fit", "--out", ""}, "files", nil},
		{[]string{"fit", "--runs", ""}, "dirs", nil},
		{[]string{"fit", "--data", "ir"}, "files", []string{"iris"}},
		{[]string{"fit", "--p", ""}, "words", nil},
		{[]string{"sweep", "p.toml", "--dry"}, "words", []string{"--dry-run"}},
		{[]string{"runs", "--so"}, "words", []string{"--sort"}},
		{[]string{"fit", "--p", "2", "--p"}, "words", []string{"--penalty"}}, // not --p again
		{[]string{"fit", "--", "--p"}, "words", nil},
		{[]string{"nonsense", ""}, "words", nil},
		{[]string{"predict", ""}, "files", nil},
		{[]string{"sweep", "stop", ""}, "dirs", nil},
		{[]string{"sweep", "mar"}, "files", []string{"margins"}},
	} {
		also, found := ask(c.words...)
		if also != c.also || !slices.Equal(found, c.want) {
			t.Errorf("%q: %s %q, want %s %q", c.words, also, found, c.also, c.want)
		}
	}
}

func TestSuggestionsAreFast(t *testing.T) {
	best := time.Hour
	for range 5 {
		start := time.Now()
		if _, _, code := bregman(t, t.TempDir(), completing, "bash", "bregman fit --objective m"); code != 0 {
			t.Fatal("exit", code)
		}
		best = min(best, time.Since(start))
	}
	if limit := 500 * time.Millisecond; best > limit { // 20 ms on a free core; the tests' machine is a busy one
		t.Errorf("%v, at most %v", best, limit)
	}
}

func TestALineIsSplitAsShellsDo(t *testing.T) {
	for line, want := range map[string][]string{
		"":                           {""},
		"bregman":                    {"bregman"},
		"bregman ":                   {"bregman", ""},
		`bregman  fit\ x "a b" 'c d`: {"bregman", "fit x", "a b", "c d"},
		`bregman "a\"b" 'c\d' e\`:    {"bregman", `a"b`, `c\d`, "e"},
		`bregman '' `:                {"bregman", "", ""},
	} {
		if got := shellWords(line); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
