package images

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tree lists the files of folders and archives, and reads them. Names in archives are data: nothing is opened or
// written by them.
type tree struct {
	stores []store
	open   []*os.File
}

// store is a folder or an archive that files are read from. Place tells where in it a file is: the offset of its bytes
// in a tar, its number in a zip, and nothing in a folder.
type store struct {
	path string
	cut  int         // folder: the letters of a file's name that are not part of its path in the folder
	size int64       // archive: bytes
	file *os.File    // tar or zip; nil if it is opened for every file
	tar  bool        // the bytes stand as they are
	zip  *zip.Reader // nil unless it is a zip
}

// listing is what one path holds, sorted by name.
type listing struct {
	path   string
	files  []SourcePicture // without labels; some are no pictures
	others []SourceProblem
}

func (l *listing) other(name, format string, args ...any) {
	l.others = append(l.others, SourceProblem{name, fmt.Sprintf(format, args...)})
}

const (
	// Tars in a tar hold files; what is in them is not searched for tars.
	tarDepth = 2

	// Tars in a folder beyond this number are opened for every file that is read: there can be more of them than
	// open files are allowed.
	openTars = 16
)

// list lists a folder or an archive. It reads no contents of files except tars.
func (t *tree) list(ctx context.Context, name string) (*listing, error) {
	l := &listing{path: name}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, failed(name, "read", err)
	case info.IsDir():
		err = t.addFolder(ctx, l)
	case !info.Mode().IsRegular():
		return nil, fail(name, "neither a folder nor a file: give a folder of pictures, a tar or a zip")
	default:
		err = t.addArchive(ctx, l, name, "", true)
	}
	if err != nil {
		return nil, err
	}
	t.sort(l)
	return l, nil
}

// sort sorts files by name. Of files with one name the last in an archive counts, as when it is unpacked.
func (t *tree) sort(l *listing) {
	slices.SortFunc(l.files, func(a, b SourcePicture) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		if a.store != b.store {
			return int(a.store) - int(b.store)
		}
		if a.place < b.place {
			return -1
		}
		return 1
	})
	kept := l.files[:0]
	for i, f := range l.files {
		if i+1 < len(l.files) && l.files[i+1].Name == f.Name {
			l.other(f.Name, "a later file of the archive has the same name")
			continue
		}
		kept = append(kept, f)
	}
	l.files = kept
}

// hidden reports whether a path has an element that starts with a dot, or is what macOS adds to archives.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") || strings.HasPrefix(name, "__MACOSX/")
}

func isTar(name string) bool { return strings.EqualFold(path.Ext(name), ".tar") }

// treeDir is a folder, and the one it was found in.
type treeDir struct {
	name string // in the tree, "" or with a slash at the end
	up   *treeDir
}

// addFolder walks a folder level by level, several folders at once. Links are followed.
func (t *tree) addFolder(ctx context.Context, l *listing) error {
	id := t.store(store{path: l.path})
	on := func(name string) string { return filepath.Join(l.path, filepath.FromSlash(name)) }
	known := map[string]bool{}
	for level := []*treeDir{{}}; len(level) > 0; {
		type found struct {
			files  []SourcePicture
			dirs   []*treeDir
			others listing
		}
		all := make([]found, len(level))
		err := each(len(level), func(i int) error {
			d, r := level[i], &all[i]
			if err := ctx.Err(); err != nil {
				return failed(l.path, "read", err)
			}
			entries, err := readDir(on(d.name))
			if err != nil {
				return failed(on(d.name), "read", err)
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), ".") {
					continue
				}
				name := d.name + e.Name()
				if e.IsDir() {
					r.dirs = append(r.dirs, &treeDir{name + "/", d})
					continue
				}
				info, err := e.Info()
				if err == nil && info.Mode()&fs.ModeSymlink != 0 {
					info, err = os.Stat(on(name))
				}
				switch {
				case err != nil:
					r.others.other(name, "cannot be read: %s", cause(err))
				case info.Mode().IsRegular():
					r.files = append(r.files, SourcePicture{Name: name, Size: info.Size(), store: id})
				case info.IsDir() && d.inside(info, on):
					r.others.other(name, "a link to a folder that it is in")
				case info.IsDir():
					r.dirs = append(r.dirs, &treeDir{name + "/", d})
				default:
					r.others.other(name, "neither a file nor a folder")
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		level = nil
		for _, r := range all {
			l.files = append(l.files, r.files...)
			l.others = append(l.others, r.others.others...)
			level = append(level, r.dirs...)
			for _, d := range r.dirs {
				known[d.name] = true
			}
		}
	}
	return t.openTars(ctx, l, known, on)
}

func readDir(name string) ([]fs.DirEntry, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// inside reports whether a folder is this one or one of those above it.
func (d *treeDir) inside(info fs.FileInfo, on func(string) string) bool {
	for ; d != nil; d = d.up {
		if up, err := os.Stat(on(d.name)); err == nil && os.SameFile(up, info) {
			return true
		}
	}
	return false
}

// openTars replaces the tars of a folder by the files in them, in a folder of the tar's name without .tar.
func (t *tree) openTars(ctx context.Context, l *listing, known map[string]bool, on func(string) string) error {
	var tars []string
	l.files = slices.DeleteFunc(l.files, func(f SourcePicture) bool {
		if !isTar(f.Name) {
			return false
		}
		dir := f.Name[:len(f.Name)-len(".tar")] + "/"
		if known[dir] {
			l.other(f.Name, "not opened: the folder %s is next to it", plain(path.Base(dir)))
		} else {
			tars = append(tars, f.Name)
		}
		return true
	})
	slices.Sort(tars)
	for i, name := range tars {
		if err := t.addArchive(ctx, l, on(name), name[:len(name)-len(".tar")]+"/", i < openTars); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) store(s store) uint32 {
	t.stores = append(t.stores, s)
	return uint32(len(t.stores) - 1)
}

// rename replaces the prefix that names of files share. Files of folders are still found.
func (t *tree) rename(files []SourcePicture, prefix, by string) {
	if prefix == by {
		return
	}
	moved := map[uint32]uint32{}
	for i := range files {
		f := &files[i]
		if by == "" {
			f.Name = f.Name[len(prefix):]
		} else {
			f.Name = by + f.Name[len(prefix):]
		}
		s := t.stores[f.store]
		if s.tar || s.zip != nil {
			continue
		}
		to, ok := moved[f.store]
		if !ok {
			to = t.store(store{path: filepath.Join(s.path, filepath.FromSlash(prefix[s.cut:])), cut: len(by)})
			moved[f.store] = to
		}
		f.store = to
	}
}

// where names a file in errors.
func (t *tree) where(p SourcePicture) string {
	s := t.stores[p.store]
	return plain(s.path + "/" + p.Name[s.cut:])
}

// read reads a whole file into buf, or into a new slice if buf is too small.
func (t *tree) read(p SourcePicture, buf []byte) ([]byte, error) {
	if p.Size > mostPicture {
		return nil, fail(t.where(p), "%d bytes: too large for a picture", p.Size)
	}
	if int64(cap(buf)) < p.Size {
		buf = make([]byte, p.Size)
	}
	buf = buf[:p.Size]
	s := &t.stores[p.store]
	var err error
	switch {
	case s.zip != nil:
		err = readZip(s.zip.File[p.place], buf)
	case s.tar:
		err = s.readTar(buf, p.place)
	default:
		err = readFile(filepath.Join(s.path, filepath.FromSlash(p.Name[s.cut:])), buf)
	}
	if errors.Is(err, errChanged) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &Error{t.where(p), "its size changed after it was listed", err}
	}
	if err != nil {
		return nil, failed(t.where(p), "read", err)
	}
	return buf, nil
}

var errChanged = errors.New("the size changed")

func readFile(name string, buf []byte) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.ReadFull(f, buf); err != nil {
		return err
	}
	return ended(f)
}

// ended checks that nothing follows. A zip's checksum is compared by this.
func ended(r io.Reader) error {
	var more [1]byte
	switch n, err := r.Read(more[:]); {
	case n > 0:
		return errChanged
	case err != nil && err != io.EOF:
		return err
	}
	return nil
}

func (t *tree) close() error {
	var errs []error
	for _, f := range t.open {
		errs = append(errs, f.Close())
	}
	t.open = nil
	return errors.Join(errs...)
}

// plain is a name as it is, or quoted if it would not print as it is on one line.
func plain(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return name
	}
	return strconv.Quote(name)
}
