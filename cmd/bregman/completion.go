package main

import (
	"context"
	"embed"
	"io"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

//go:embed shells
var shells embed.FS

// completedShells are those with a script.
var completedShells = []string{"bash", "zsh", "fish"}

// completionCmd is `bregman completion`.
type completionCmd struct {
	Shell string `arg:"" json:"-"`
}

// Texts are the words for its settings.
func (*completionCmd) Texts() settings.Texts {
	return settings.Texts{
		About: "A script that completes bregman's commands and flags in a shell.",
		Help:  map[string]string{"shell": settings.Or(completedShells) + "."},
		Known: map[string][]string{"shell": completedShells},
	}
}

// Help is shown by --help.
func (*completionCmd) Help() string {
	return `To have it in every shell:
  bash   echo 'eval "$(bregman completion bash)"' >> ~/.bashrc
  zsh    echo 'autoload -U compinit && compinit && eval "$(bregman completion zsh)"' >> ~/.zshrc
  fish   bregman completion fish > ~/.config/fish/completions/bregman.fish

Tab then completes commands, flags, the values of flags that have choices, files, and the run folders in runs/. The
script asks the program each time: it need not be written again after an update.`
}

// Check returns an error for a shell without a script.
func (c *completionCmd) Check() error {
	if !slices.Contains(completedShells, c.Shell) {
		return settings.Errorf("shell", "completion %s: choose %s", c.Shell, settings.Or(completedShells))
	}
	return nil
}

// Do returns the script.
func (c *completionCmd) Do(context.Context, *command.Env) (command.Result, error) {
	text, err := shells.ReadFile("shells/bregman." + c.Shell)
	return plainText(text), err
}

// plainText is a result that is a text.
type plainText string

func (p plainText) Print(w io.Writer) { io.WriteString(w, string(p)) }
func (p plainText) JSON() any         { return string(p) }
