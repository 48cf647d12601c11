package runlog

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Folder reads below one folder and never outside it: names with "..", and links that lead out, are errors. Only
// regular files are opened, so a pipe cannot make a reader wait.
type Folder struct {
	root *os.Root
}

// OpenFolder opens a folder for reading.
func OpenFolder(dir string) (*Folder, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{r}, nil
}

// Close closes it.
func (f *Folder) Close() error { return f.root.Close() }

// Sub opens a folder inside, from which nothing beside it can be read.
func (f *Folder) Sub(name string) (*Folder, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	r, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Folder{r}, nil
}

// Open opens a regular file.
func (f *Folder) Open(name string) (*os.File, fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	st, err := file.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("not a regular file")}
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, st, nil
}

// Stat describes a file or folder, following links inside.
func (f *Folder) Stat(name string) (fs.FileInfo, error) { return f.root.Stat(name) }

// ReadFile reads a file of at most limit bytes.
func (f *Folder) ReadFile(name string, limit int64) ([]byte, error) {
	file, st, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if st.Size() > limit {
		return nil, fmt.Errorf("%s: %d bytes, more than the %d that are read of it", name, st.Size(), limit)
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

// ReadJSON reads a file of at most limit bytes into v.
func (f *Folder) ReadJSON(name string, limit int64, v any) error {
	data, err := f.ReadFile(name, limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// ReadDir lists a folder, "." being this one.
func (f *Folder) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	d, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}

// Busy reports whether a process is writing the run in this folder: it holds the lock. If that cannot be known, it
// returns true.
func (f *Folder) Busy() bool {
	file, _, err := f.Open(".lock")
	if err != nil {
		return !os.IsNotExist(err)
	}
	defer file.Close()
	return locked(file)
}

// Status is the state of the run in this folder, whose run.json is info.
func (f *Folder) Status(info Info) string {
	if info.Status == Running && !f.Busy() {
		return Killed
	}
	return info.Status
}

// maxInfo is more than any run.json.
const maxInfo = 1 << 20

// Info reads run.json.
func (f *Folder) Info() (Info, error) {
	var info Info
	return info, f.ReadJSON(infoFile, maxInfo, &info)
}
