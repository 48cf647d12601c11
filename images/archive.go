package images

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

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
