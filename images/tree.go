package images

import (
	"archive/tar"
	"archive/zip"
	"bytes"
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

// addArchive lists an archive, under the names that start with dir.
func (t *tree) addArchive(ctx context.Context, l *listing, name, dir string, keep bool) error {
	f, err := os.Open(name)
	if err != nil {
		return failed(name, "read", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return failed(name, "read", err)
	}
	s := store{path: name, size: info.Size()}
	if keep {
		s.file = f
		t.open = append(t.open, f)
	} else {
		defer f.Close()
	}
	return t.addBytes(ctx, l, f, s, dir)
}

// addBytes lists a tar or a zip. The content decides which it is.
func (t *tree) addBytes(ctx context.Context, l *listing, r io.ReaderAt, s store, dir string) error {
	start := make([]byte, 512)
	n, err := r.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return failed(s.path, "read", err)
	}
	start = start[:n]
	if how, command := compression(start); how != "" {
		return fail(s.path, "compressed with %s, so pictures cannot be read out of order: unpack it first, with `%s %s`, "+
			"and give what that writes", how, command, plain(s.path))
	}
	if bytes.HasPrefix(start, []byte("PK\x03\x04")) || bytes.HasPrefix(start, []byte("PK\x05\x06")) {
		if dir != "" {
			return fail(s.path, "a zip with the name of a tar: unpack it")
		}
		return t.addZip(l, r, s)
	}
	if !startsTar(start) {
		return fail(s.path, "neither a folder nor a tar nor a zip: give one of them, or two")
	}
	s.tar = true
	return addTar(ctx, l, &tarCursor{r: r, end: s.size}, s.path, t.store(s), dir, 1)
}

// compression names the program that compressed a file, and the command that unpacks it.
func compression(start []byte) (how, command string) {
	for _, c := range []struct{ magic, how, command string }{
		{"\x1f\x8b", "gzip", "tar -xzf"},
		{"\xfd7zXZ\x00", "xz", "tar -xJf"},
		{"BZh", "bzip2", "tar -xjf"},
		{"\x28\xb5\x2f\xfd", "zstd", "tar --zstd -xf"},
		{"7z\xbc\xaf\x27\x1c", "7-Zip", "7z x"},
		{"Rar!\x1a\x07", "RAR", "unrar x"},
	} {
		if bytes.HasPrefix(start, []byte(c.magic)) {
			return c.how, c.command
		}
	}
	return "", ""
}

// startsTar reports whether the first block of a file is a tar's: a header with its checksum, or the zeros that end
// an empty tar.
func startsTar(start []byte) bool {
	if len(start) < 512 {
		return false
	}
	// Fewer than 256 blocks follow, so a header of the pax format is cut short, and is a header all the same.
	_, err := tar.NewReader(bytes.NewReader(start)).Next()
	return !errors.Is(err, tar.ErrHeader)
}

// tarCursor reads a part of a file, from pos to end, and knows where in the file it is. A read of one block stands for
// the end of a member and the header of the next one.
type tarCursor struct {
	r        io.ReaderAt
	pos, end int64
	buf      [2048]byte
	at       int64 // of buf
	n        int
}

func (c *tarCursor) Read(p []byte) (int, error) {
	if c.pos >= c.end {
		return 0, io.EOF
	}
	if c.pos < c.at || c.pos >= c.at+int64(c.n) {
		n, err := c.r.ReadAt(c.buf[:min(int64(len(c.buf)), c.end-c.pos)], c.pos)
		if n == 0 {
			c.n = 0
			return 0, err
		}
		c.at, c.n = c.pos, n
	}
	n := copy(p, c.buf[c.pos-c.at:c.n])
	c.pos += int64(n)
	return n, nil
}

// Seek moves on, as archive/tar does over contents.
func (c *tarCursor) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekCurrent || offset < 0 || c.pos+offset < c.pos {
		return 0, fs.ErrInvalid
	}
	c.pos += offset
	return c.pos, nil
}

// endsAsTars reports whether the block before the place that was reached is one of the zeros that end a tar.
func (c *tarCursor) endsAsTars() bool {
	var block [512]byte
	if c.pos < 512 || c.pos > c.end {
		return false
	}
	_, err := c.r.ReadAt(block[:], c.pos-512)
	return (err == nil || err == io.EOF) && block == [512]byte{}
}

// addTar lists a tar with one pass over the headers. Label names it in errors.
func addTar(ctx context.Context, l *listing, c *tarCursor, label string, id uint32, dir string, depth int) error {
	r := tar.NewReader(c)
	last := ""
	short := func() error {
		after := "its start"
		if last != "" {
			after = plain(last)
		}
		return fail(label, "the tar is cut short after %s: fetch or write it again", after)
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return failed(label, "read", ctx.Err())
		}
		h, err := r.Next()
		switch {
		case err == io.EOF && c.endsAsTars():
			return nil
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			return short()
		case errors.Is(err, tar.ErrHeader):
			after := "at its start"
			if last != "" {
				after = "after " + plain(last)
			}
			return fail(label, "the tar is damaged %s: fetch or write it again", after)
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return failed(label, "read", err)
		}
		if h.Typeflag == tar.TypeReg && !isSparse(h) && h.Size > c.end-c.pos {
			return short()
		}
		last = h.Name
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		name, why := cleanName(h.Name)
		if why != "" {
			l.other(dir+strings.Clone(h.Name), "%s", why)
			continue
		}
		if h.Typeflag == tar.TypeDir || hidden(name) {
			continue
		}
		name = dir + name
		switch {
		case isSparse(h):
			l.other(name, "a sparse file, which is not stored in one piece: write the tar without --sparse")
		case h.Typeflag == tar.TypeSymlink, h.Typeflag == tar.TypeLink:
			l.other(name, "a link to %s: write the tar with --dereference and --hard-dereference", plain(h.Linkname))
		case h.Typeflag != tar.TypeReg:
			l.other(name, "neither a file nor a folder")
		case !isTar(name):
			l.files = append(l.files, SourcePicture{Name: name, Size: h.Size, store: id, place: c.pos})
		case depth == tarDepth:
			l.other(name, "a tar in a tar in a tar: unpack it")
		default:
			err := addInner(ctx, l, c, h.Size, label+": "+plain(h.Name), id, name[:len(name)-len(".tar")]+"/", depth+1)
			if err != nil {
				return err
			}
		}
	}
}

// addInner lists a tar that is a member of another one.
func addInner(ctx context.Context, l *listing, c *tarCursor, size int64, label string, id uint32, dir string,
	depth int) error {
	inner := &tarCursor{r: c.r, pos: c.pos, end: c.pos + size}
	start := make([]byte, min(512, size))
	if _, err := c.r.ReadAt(start, c.pos); err != nil && err != io.EOF {
		return failed(label, "read", err)
	}
	if how, command := compression(start); how != "" {
		return fail(label, "compressed with %s: unpack the outer tar, and then this one with `%s`", how, command)
	}
	return addTar(ctx, l, inner, label, id, dir, depth)
}

func isSparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// cleanName returns the path of a member, or why it is none.
func cleanName(name string) (clean, why string) {
	clean = path.Clean(name)
	switch {
	case name == "", strings.Contains(name, "\x00"):
		return "", "no proper name"
	case strings.HasPrefix(name, "/"):
		return "", "an absolute name in an archive: not opened"
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "", "a name that leads outside of the archive: not opened"
	}
	return strings.Clone(clean), ""
}

// addZip lists a zip from its directory, which is at its end.
func (t *tree) addZip(l *listing, r io.ReaderAt, s store) error {
	z, err := zip.NewReader(r, s.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return fail(s.path, "cannot be read as a zip (%s): fetch or write it again", cause(err))
	}
	s.zip = z
	id := t.store(s)
	for i, f := range z.File {
		name, why := cleanName(f.Name)
		mode := f.Mode()
		switch {
		case why != "":
			l.other(f.Name, "%s", why)
		case strings.HasSuffix(f.Name, "/") || hidden(name):
		case mode&fs.ModeSymlink != 0:
			l.other(name, "a link")
		case !mode.IsRegular():
			l.other(name, "neither a file nor a folder")
		case f.Flags&1 != 0:
			l.other(name, "encrypted")
		case f.Method != zip.Store && f.Method != zip.Deflate:
			l.other(name, "compressed by method %d: unpack the zip", f.Method)
		case f.UncompressedSize64 > mostPicture:
			l.other(name, "%d bytes: too large for a picture", f.UncompressedSize64)
		default:
			l.files = append(l.files, SourcePicture{Name: name, Size: int64(f.UncompressedSize64), store: id,
				place: int64(i)})
		}
	}
	return nil
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
		return nil, &Error{t.where(p), "its size changed after it was listed: leave the source alone and start again", err}
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

func (s *store) readTar(buf []byte, at int64) error {
	f := s.file
	if f == nil {
		var err error
		if f, err = os.Open(s.path); err != nil {
			return err
		}
		defer f.Close()
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != s.size {
		return errChanged
	}
	n, err := f.ReadAt(buf, at)
	if n == len(buf) {
		return nil
	}
	return err
}

func readZip(f *zip.File, buf []byte) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := io.ReadFull(r, buf); err != nil {
		return err
	}
	return ended(r)
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
