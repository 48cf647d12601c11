package images

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Info describes a data set that has a name.
type Info struct {
	Name, About string
	Where       string // the folder or file it was found in, else the folder where Get puts it
	Here        bool   // whether it was found; its checksums are verified only by Load and Get
	How         string // what to do to have it here
}

// source is a data set that has a name.
type source struct {
	name, about string
	load        func(dir string) (*Set, error)
	find        func(dir string) (where string, here bool)
	how         func(dir string) string
	get         func(ctx context.Context, dir string, say func(string)) error
}

// known is filled in by init, because a source's errors list the names of all.
var known []source

func init() {
	known = []source{
		{
			"cifar10", "CIFAR-10: 60,000 colour images of 32×32, ten classes",
			cifar10.load, cifar10.find, func(string) string { return "bregman data get cifar10" }, cifar10.get,
		}, {
			"fashion-mnist", "Fashion-MNIST: 70,000 grey images of 28×28, ten classes",
			fashion.load, fashion.find, fashion.how, fashion.get,
		}, {
			"fashion-sample", "a sample of Fashion-MNIST: 3,800 training and 1,100 test images",
			func(string) (*Set, error) { return loadSample() },
			func(string) (string, bool) { return "built in", true },
			func(string) string { return "it is built in" },
			func(_ context.Context, _ string, say func(string)) error {
				say("fashion-sample is built in: there is nothing to fetch")
				return nil
			},
		},
	}
}

// List describes the data sets that have names, and whether they are in DataDir.
func List() []Info {
	var list []Info
	for _, k := range known {
		where, here := k.find(DataDir())
		list = append(list, Info{k.name, k.about, where, here, k.how(DataDir())})
	}
	return list
}

// Named reports whether a data set has that name.
func Named(name string) bool { return slices.Contains(Names(), name) }

// Names lists the data sets that have names.
func Names() []string {
	var names []string
	for _, k := range known {
		names = append(names, k.name)
	}
	return names
}

// Get makes sure that the named set is in the folder dir, or in DataDir where dir is empty, fetching it if it
// must. It verifies checksums, leaves no half-written file, and tells say what it does and where it looked.
func Get(ctx context.Context, name, dir string, say func(string)) error {
	if dir == "" {
		dir = DataDir()
	}
	if say == nil {
		say = func(string) {}
	}
	for _, k := range known {
		if k.name == name {
			return k.get(ctx, dir, say)
		}
	}
	return fail(name, "no such data set: give %s", strings.Join(Names(), ", "))
}

// output is a file that is still to be written.
type output struct {
	name  string
	write func(io.Writer) error
}

// install writes files into a folder: all of them beside their places first, so that a full disk or an
// interruption leaves nothing behind, and then renamed.
func install(ctx context.Context, dir string, files []output) (err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return unwritten(dir, err)
	}
	var written []string
	defer func() {
		for _, name := range written {
			os.Remove(name) // what was renamed is no longer there
		}
	}()
	for _, out := range files {
		f, err := os.CreateTemp(dir, "."+out.name+".*")
		if err != nil {
			return unwritten(dir, err)
		}
		written = append(written, f.Name())
		err = out.write(writer{ctx, f})
		if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
			return unwritten(filepath.Join(dir, out.name), err)
		}
	}
	for i, out := range files {
		path := filepath.Join(dir, out.name)
		if err := os.Rename(written[i], path); err != nil {
			return unwritten(path, err)
		}
	}
	return nil
}

// writer stops when its context does.
type writer struct {
	ctx context.Context
	w   io.Writer
}

func (w writer) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(b)
}

// reader stops when its context does.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}

// isFile tells whether there is a file to be read, as opposed to nothing or a folder.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// missing says that a set is nowhere and where that was.
func missing(name string, looked []string, advice string) error {
	return &Error{name, "not found in " + strings.Join(looked, ", ") + ": " + advice, fs.ErrNotExist}
}
