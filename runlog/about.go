package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// About is what people say of a run. It is in a file of its own, about.json, so that it can change at any time, and
// run.json stays what the run wrote.
type About struct {
	Name string   `json:"name,omitempty"` // instead of the folder's
	Tags []string `json:"tags,omitempty"` // sorted
	Note string   `json:"note,omitempty"`

	Archived bool `json:"archived,omitempty"` // lists leave it out, unless they are asked for it
}

const aboutFile = "about.json"

// Limits of what people say of a run.
const (
	maxAbout = 1 << 16
	maxLabel = 100 // letters of a name or a tag
	maxTags  = 50
	maxNote  = 10_000
)

// Check returns the first thing wrong with it.
func (a About) Check() error {
	long := func(text string, most int) bool { return len([]rune(text)) > most }
	switch {
	case long(a.Name, maxLabel) || strings.ContainsFunc(a.Name, unicode.IsControl):
		return fmt.Errorf("name %.50q: want one line of at most %d letters", a.Name, maxLabel)
	case len(a.Tags) > maxTags:
		return fmt.Errorf("%d tags: want at most %d", len(a.Tags), maxTags)
	case long(a.Note, maxNote):
		return fmt.Errorf("a note of %d letters: want at most %d", len([]rune(a.Note)), maxNote)
	}
	for _, tag := range a.Tags {
		if tag == "" || long(tag, maxLabel) || strings.ContainsFunc(tag, func(c rune) bool {
			return unicode.IsSpace(c) || unicode.IsControl(c) || c == ','
		}) {
			return fmt.Errorf("tag %.50q: want a word of at most %d letters, without spaces and commas", tag, maxLabel)
		}
	}
	return nil
}

// About reads what people say of the run; of most it is nothing.
func (f *Folder) About() (a About, err error) {
	err = f.ReadJSON(aboutFile, maxAbout, &a)
	if errors.Is(err, fs.ErrNotExist) {
		return About{}, nil
	}
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return About{}, fmt.Errorf("%s: %w", aboutFile, err)
	}
	return a, nil
}

// UpdateAbout changes what people say of the run in a folder. Several programs may do it at once.
func UpdateAbout(dir string, change func(*About)) error {
	if _, err := ReadInfo(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, aboutFile)
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() { // a link may lead anywhere
		return fmt.Errorf("%s is not a regular file: remove it", path)
	}
	return Update(path, func(old []byte) ([]byte, error) {
		var a About
		if len(old) > 0 {
			if err := json.Unmarshal(old, &a); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		change(&a)
		slices.Sort(a.Tags)
		a.Tags = slices.Compact(a.Tags)
		if err := a.Check(); err != nil {
			return nil, err
		}
		data, err := json.MarshalIndent(a, "", "  ")
		return append(data, '\n'), err
	})
}
