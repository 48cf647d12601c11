package command

import (
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// Labels is part of the commands that make a run folder: what people call the run, kept beside it.
type Labels struct {
	Name string   `placeholder:"NAME" json:"-" role:"output"`
	Tag  []string `placeholder:"TAG,..." json:"-" role:"output"`
	Note string   `placeholder:"TEXT" json:"-" role:"output"`
}

// Texts are the words for its settings.
func (*Labels) Texts() settings.Texts {
	return settings.Texts{Help: map[string]string{
		"name": "What to call the run; its folder is named as ever. See bregman runs.",
		"tag":  "Tags of the run.",
		"note": "A note on the run.",
	}}
}

func (l Labels) about() runlog.About { return runlog.About{Name: l.Name, Tags: l.Tag, Note: l.Note} }

// CheckLabels returns the first thing wrong with them.
func (l Labels) CheckLabels() error {
	if err := l.about().Check(); err != nil {
		return settings.Errorf("name", "--name, --tag or --note: %v", err)
	}
	return nil
}

// PutLabels puts them on a run. One that is resumed keeps what it has where there is nothing new. Several runs of a
// command are told apart by what follows the name.
func (l Labels) PutLabels(run *runlog.Run, which string) error {
	if run == nil || l.Name == "" && len(l.Tag) == 0 && l.Note == "" {
		return nil
	}
	return runlog.UpdateAbout(run.Dir, func(a *runlog.About) {
		if l.Name != "" {
			a.Name = l.Name + which
		}
		a.Tags = append(a.Tags, l.Tag...)
		if l.Note != "" {
			a.Note = l.Note
		}
	})
}
