package web

import (
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/images"
)

// The form suggests the files in the folder of --data. It opens none of them, and shows names only.

const (
	maxSuggested = 200 // names of a kind
	maxEntries   = 1000
	maxFolders   = 40 // subfolders that are looked into
)

// What files are usually called. Others can be typed.
var (
	tableEndings   = []string{".csv", ".tsv", ".parquet", ".svm", ".libsvm", ".svmlight", ".npy", ".npz"}
	imageEndings   = []string{".npz", ".pack"}
	pictureEndings = []string{".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp"}
)

func isPicture(name string) bool {
	return slices.Contains(pictureEndings, strings.ToLower(path.Ext(name)))
}

// suggested are the names that the form offers, by what reads them.
type suggested struct {
	Tables []string `json:"tables"`
	Images []string `json:"images"`
}

func (s *Server) getData(*http.Request) (any, error) {
	if !s.settings.AllowRun {
		return nil, errNotAllowed
	}
	return s.settings.suggest(), nil
}

// suggest lists data files in the folder of --data and one level below. A folder that cannot be read has none.
func (s *Serve) suggest() suggested {
	out := suggested{Tables: []string{}, Images: []string{}}
	root, err := os.OpenRoot(s.Data)
	if err != nil {
		return out
	}
	defer root.Close()
	runs, _ := os.Stat(s.Runs) // what is in there was not meant as data
	looked := 0
	var list func(dir string)
	list = func(dir string) {
		for _, e := range entries(root, dir, maxEntries) {
			name := path.Join(dir, e)
			info, err := root.Stat(name) // no link leads outside
			switch {
			case err != nil, os.SameFile(info, runs):
			case info.IsDir():
				if looked++; dir != "." || looked > maxFolders {
					continue
				}
				if len(out.Images) < maxSuggested && holdsClasses(root, name) {
					out.Images = append(out.Images, name)
				}
				list(name)
			case info.Mode().IsRegular():
				out.add(name)
			}
		}
	}
	list(".")
	return out
}

// add adds a file by the ending of its name.
func (s *suggested) add(name string) {
	lower := strings.ToLower(name)
	if slices.Contains(tableEndings, path.Ext(strings.TrimSuffix(lower, ".gz"))) && len(s.Tables) < maxSuggested {
		s.Tables = append(s.Tables, name)
	}
	if slices.Contains(imageEndings, path.Ext(lower)) && len(s.Images) < maxSuggested {
		s.Images = append(s.Images, name)
	}
}

// entries are the names in a folder, sorted, without hidden ones and those that the form cannot send or show as they
// are.
func entries(root *os.Root, dir string, most int) []string {
	if info, err := root.Stat(dir); err != nil || !info.IsDir() { // to open a pipe would wait for its writer
		return nil
	}
	f, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(most) // those that were read before an error
	names = slices.DeleteFunc(names, func(name string) bool { return !decent(name) })
	slices.Sort(names)
	return names
}

// decent reports whether a name is one that a person reads as it is, and that means the file of this name.
func decent(name string) bool {
	set, _, _ := strings.Cut(name, ":")
	return utf8.ValidString(name) && !strings.HasPrefix(name, ".") && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) &&
		!slices.Contains(dataset.BuiltinNames(), set) && !slices.Contains(images.Names(), set)
}

// holdsClasses reports whether a folder has a folder with pictures for each class, or parts that have.
func holdsClasses(root *os.Root, dir string) bool {
	const few = 20
	for _, class := range entries(root, dir, few) {
		for _, name := range entries(root, path.Join(dir, class), few) {
			if isPicture(name) || slices.ContainsFunc(entries(root, path.Join(dir, class, name), few), isPicture) {
				return true
			}
		}
	}
	return false
}
