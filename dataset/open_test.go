package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/images"
)

func mustOpen(t *testing.T, spec string, opt Options) *Set {
	t.Helper()
	s, err := Open(t.Context(), spec, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBuiltInSetsHaveTheHashOfTheirFile(t *testing.T) {
	seen := map[string]string{}
	for spec, name := range map[string]string{
		"r2": "r2:1", "r2:2": "r2:2", "r2var": "r2var:1", "r100": "r100:1", "r100:7": "r100:7",
	} {
		s := mustOpen(t, spec, Options{})
		var text bytes.Buffer
		if err := WriteSVM(&text, s); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text.Bytes())
		if want := "sha256:" + hex.EncodeToString(sum[:]); s.Hash != want || seen[want] != "" || s.Name != name {
			t.Errorf("%s is %s with the hash %s, want that of its file, %s, and of no other set %q",
				spec, s.Name, s.Hash, want, seen[want])
		}
		seen[s.Hash] = spec
		file := filepath.Join(t.TempDir(), "a.svm")
		if err := os.WriteFile(file, text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		back := mustOpen(t, file, Options{})
		if back.Hash != s.Hash || !sameRows(rowsOf(s), rowsOf(back)) || !slices.Equal(s.Y, back.Y) {
			t.Errorf("%s comes back from its file as another set", spec)
		}
	}
	for _, g := range Builtin {
		if !slices.Contains(BuiltinNames(), g.Name) || images.Named(g.Name) || g.About == "" {
			t.Errorf("%s", g.Name)
		}
	}
}

func TestAFileOfTheNameGoesFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"r2", "r100:7", "fashion-sample"} {
		if err := os.WriteFile(name, []byte(smallSVM), 0o666); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, name, Options{})
		wantSet(t, s, smallX, smallY)
		if s.Name != name {
			t.Errorf("the file %s is called %s", name, s.Name)
		}
	}
	if _, err := Generate("r2"); !errors.Is(err, ErrNotBuiltin) {
		t.Errorf("a file is called r2: %v", err)
	}
	if err := os.Mkdir("r2var", 0o777); err != nil {
		t.Fatal(err)
	}
	if s := mustOpen(t, "r2var", Options{}); s.Name != "r2var:1" {
		t.Errorf("a folder goes first: %s", s.Name)
	}
}

func TestImagesArePixelsFromZeroToOne(t *testing.T) {
	pictures, err := images.Load("fashion-sample", "")
	if err != nil {
		t.Fatal(err)
	}
	size := pictures.Height * pictures.Width
	for spec, c := range map[string]struct {
		split   images.Split
		classes []uint8
	}{
		"fashion-sample": {pictures.Train, nil}, "fashion-sample:test": {pictures.Test, nil},
		"fashion-sample:4,6": {pictures.Train, []uint8{4, 6}}, "fashion-sample:test:9": {pictures.Test, []uint8{9}},
	} {
		for _, bias := range []bool{false, true} {
			s := mustOpen(t, spec, Options{Bias: bias})
			if s.Name != spec || s.Hash != pictures.Hash {
				t.Errorf("%s is %s with the hash %s", spec, s.Name, s.Hash)
			}
			row := 0
			for i, label := range c.split.Labels {
				if c.classes != nil && !slices.Contains(c.classes, label) {
					continue
				}
				_, x := s.X.Row(row)
				for j, v := range c.split.Images[i*size : (i+1)*size] {
					if x[j] != float64(v)/255 {
						t.Fatalf("%s: pixel %d of image %d is %v, stored as %d", spec, j, i, x[j], v)
					}
				}
				if s.Y[row] != float64(label) || bias && (len(x) != size+1 || x[size] != 1) {
					t.Fatalf("%s: image %d has label %v, want %d, and %d features", spec, i, s.Y[row], label, len(x))
				}
				row++
			}
			if n, _ := s.X.Dims(); n != row || len(s.Y) != row {
				t.Errorf("%s has %d examples, want %d", spec, n, row)
			}
		}
	}
}

func TestWhatIsNotThereIsExplained(t *testing.T) {
	wide := filepath.Join(t.TempDir(), "wide.svm")
	if err := os.WriteFile(wide, []byte("+1 1:1\n-1 2000000000:1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"r100:x": `r100:x: "x" is not a seed: write for example r100:7`,
		"r2:":    `r2:: "" is not a seed: write for example r2:7`,
		"nowhere.svm": "nowhere.svm: no such file: check the path, or see `bregman data list` for the built-in " +
			"sets",
		"r3":                    "r3: no such file",
		"fashion-sample:test:x": `fashion-sample:test:x: "x" is not a class from 0 to 9: write for example fashion-sample:test`,
		"fashion-sample:4,10":   `fashion-sample:4,10: "10" is not a class from 0 to 9`,
		wide: wide + ": 2000000000 features, more than the 268435456 this program takes: is an index " +
			"wrong?",
	} {
		_, err := Open(t.Context(), spec, Options{})
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
		if missing := strings.Contains(want, "no such file"); errors.Is(err, fs.ErrNotExist) != missing {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// Nobody writes into the pipe: the read itself never returns.
func TestOpenEndsWithItsContext(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = stdin; w.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := Open(ctx, "-", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestOpenReadsStandardInput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = stdin }()
	w.WriteString(smallSVM)
	w.Close()
	s := mustOpen(t, "-", Options{})
	wantSet(t, s, smallX, smallY)
	if s.Name != "stdin" {
		t.Errorf("standard input is called %s", s.Name)
	}
}
