// Package pages writes HTML pages: of one run, as a function of its folder alone, of several runs side by side, and of
// the grid of a sweep.
package pages

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// Files of a run are read up to these sizes.
const (
	maxJSON  = 1 << 20
	maxStudy = 8 << 20
	maxModel = 1 << 30
)

// opened is a run folder with its path.
type opened struct {
	*runlog.Folder
	dir string
}

// page writes the page of a command's run.
var page = map[string]func(f opened, info runlog.Info, files render.Files) error{
	"fit": fitPage, "train": trainPage, "path": pathPage,
}

// Write writes report.html, tables/ and figures/ of a run folder from what it holds: old runs, those of workers and
// those of other programs get the same page. A run of a command without a page of its own gets its curves.
func Write(dir string) error {
	folder, err := runlog.OpenFolder(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	f := opened{folder, dir}
	info, err := f.Info()
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	files := &inFolder{dir: dir}
	if write, ok := page[info.Command]; ok {
		err = write(f, info, files)
	} else {
		err = anyPage(f, dir, files)
	}
	if err == nil {
		err = files.err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// anyPage is the comparison of one run.
func anyPage(f opened, dir string, files render.Files) error {
	run, err := trials.Read(f.Folder, filepath.ToSlash(filepath.Clean(dir)))
	if err != nil {
		return err
	}
	p, err := NewPage(files, []*trials.Run{run})
	if err != nil {
		return err
	}
	p.Save()
	return nil
}

// inFolder writes the files of a page and records the first error.
type inFolder struct {
	dir string
	err error
}

var _ render.Files = (*inFolder)(nil)

func (f *inFolder) Save(name string, data []byte) {
	if err := runlog.WriteFile(filepath.Join(f.dir, filepath.FromSlash(name)), data); err != nil && f.err == nil {
		f.err = err
	}
}

// settingsOf reads the settings of a run, with the defaults of what an older program did not write.
func settingsOf(info runlog.Info, s any) error {
	settings.Earlier(s)
	data, err := json.Marshal(info.Settings)
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil {
		return fmt.Errorf("its settings: %w", err)
	}
	return nil
}

// when is the time that a run began.
func when(info runlog.Info) string { return info.Started.Format("2 January 2006 15:04") }
