package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// loss counts the files of a kind that could not be written.
type loss struct {
	kind string // the first part of their names
	text string // of the first
	more int    // after the first
}

// Lost notes that a file of the run, given by its name, could not be written. The run continues without it: Say is
// told, and Finish puts it into run.json. Files of one folder count together.
func (r *Run) Lost(name string, err error) {
	kind, _, _ := strings.Cut(name, "/")
	for k := range r.lost {
		if r.lost[k].kind == kind {
			r.lost[k].more++
			return
		}
	}
	if bad := (*fs.PathError)(nil); errors.As(err, &bad) {
		err = bad.Err // the rest is the name of a temporary file
	}
	l := loss{kind: kind, text: fmt.Sprintf("%s could not be written: %v", name, err)}
	r.lost = append(r.lost, l)
	if r.Say != nil {
		r.Say("%s: %s; the run continues", r.Dir, l.text)
	}
}

// Save is WriteFile for a file that the run can do without.
func (r *Run) Save(name string, data []byte) {
	if err := r.WriteFile(name, data); err != nil {
		r.Lost(name, err)
	}
}

// warnings describe the files that could not be written.
func (r *Run) warnings() []string {
	var out []string
	for _, l := range r.lost {
		if l.more > 0 && l.kind != metricsFile {
			l.text += fmt.Sprintf(", and %d more in %s", l.more, l.kind)
		}
		out = append(out, l.text)
	}
	return out
}

// flush writes what is missing from metrics.jsonl. The file is always a prefix of what was appended.
func (r *Run) flush() error {
	if len(r.unwritten) == 0 {
		return nil
	}
	n, err := r.metrics.Write(r.unwritten)
	if err != nil {
		r.unwritten = r.unwritten[n:]
		r.Lost(metricsFile, err)
		return err
	}
	r.unwritten = r.unwritten[:0]
	r.lost = slices.DeleteFunc(r.lost, func(l loss) bool { return l.kind == metricsFile })
	return nil
}

// writeInfo writes run.json. If a full disk takes no new file, it overwrites the old one, whose blocks are allocated.
func (r *Run) writeInfo() error {
	err := r.WriteJSON(infoFile, r.Info)
	if err == nil {
		return nil
	}
	data, failed := json.MarshalIndent(r.Info, "", "  ")
	if failed == nil {
		failed = overwrite(r.Path(infoFile), append(data, '\n'))
	}
	if failed != nil {
		return err
	}
	return nil
}

// overwrite replaces the bytes of a file, or leaves them as they were.
func overwrite(path string, data []byte) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	size := len(data)
	if err = errors.Join(err, f.Sync()); err != nil {
		_, late := f.WriteAt(old, 0)
		err, size = errors.Join(err, late), len(old)
	}
	return errors.Join(err, f.Truncate(int64(size)), f.Close())
}
