package command

import (
	"path/filepath"

	"github.com/bregman-ml/bregman/images"
)

// AbsoluteData is a data set's name, or the absolute path of its file or folder: what run.json has, because the run may
// be resumed from another folder.
func AbsoluteData(name string) string {
	if images.Named(name) {
		return name
	}
	return Absolute(name)
}

// Absolute is the absolute path; an empty one stays empty.
func Absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
