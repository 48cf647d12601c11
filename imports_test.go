package bregman

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "github.com/bregman-ml/bregman"

// house is the strict order of packages: one imports only from lines below its own.
var house = [][]string{
	{"cmd/bregman"},

	{"internal/app/web"},
	{"internal/app/paper", "internal/app/tour"},
	{"internal/app/sweep"},
	{"internal/app/pages"},
	{"internal/app/trials"},
	{"internal/app/record"},
	{"internal/app/kinds", "internal/app/bench"},
	{"internal/app/linearmodel"},
	{"internal/app/command", "internal/app/filter"},
	{"internal/app/settings", "internal/app/render", "internal/app/paper/numbers",
		"internal/app/markdown"},

	{"train", "looplog"},
	{"fit"},
	{"runlog"},
	{"margin"},
	{"linear"},
	{"dataset"},
	{"images"},
	{"nets", "optim"},
	{"engine"},
	{"engine/cpu", "engine/pjrt"},
	{"engine/customop", "engine/internal/fakepjrt"},
	{"mirror", "matrix", "measure"},
	{"internal/product", "internal/twofold"},
	{"internal/vec", "internal/pool", "internal/exact", "internal/npy", "internal/safetensors",
		"internal/tfevents", "internal/parquet", "internal/filelock", "docs"},
}

// light packages never pull in the tensor framework.
var light = []string{"mirror", "matrix", "measure", "linear", "margin", "fit", "dataset", "images", "runlog",
	"internal/app/settings", "internal/app/render", "internal/app/paper/numbers"}

func TestPackagesImportOnlyFromBelow(t *testing.T) {
	line := map[string]int{}
	for i, packages := range house {
		for _, p := range packages {
			line[p] = i
		}
	}
	seen := 0
	for _, p := range listPackages(t) {
		name, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours {
			continue
		}
		seen++
		at, ok := line[name]
		if !ok {
			t.Errorf("%s has no place in the house: add it to a line here and in CONTRIBUTING.md", name)
			continue
		}
		for _, imp := range p.Imports {
			if dep, ours := strings.CutPrefix(imp, module+"/"); ours && line[dep] <= at {
				t.Errorf("%s imports %s, which is not below it", name, dep)
			}
		}
		for _, l := range light {
			if l != name {
				continue
			}
			for _, dep := range p.Deps {
				if strings.HasPrefix(dep, "github.com/gomlx/") {
					t.Errorf("%s depends on %s: who fits a linear model does not build a tensor framework", name, dep)
				}
			}
		}
	}
	if seen < 8 {
		t.Fatalf("saw %d of our packages: the test is not looking at the project", seen)
	}
}

// The root is the library. What the command needs and nobody else should import is in internal/app.
func TestTheRootShowsTheLibrary(t *testing.T) {
	besides := []string{"cmd", "internal", "docs", "scripts", "examples"}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var library []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(besides, e.Name()) {
			library = append(library, e.Name())
		}
	}
	if len(library) == 0 || len(library) > 15 {
		t.Errorf("%d library packages in the root: %v", len(library), library)
	}
	for _, p := range listPackages(t) {
		name, _, _ := strings.Cut(strings.TrimPrefix(p.ImportPath, module+"/"), "/")
		for _, imp := range p.Imports {
			if slices.Contains(library, name) && strings.HasPrefix(imp, module+"/internal/app/") {
				t.Errorf("%s, of the library, imports %s, of the program", p.ImportPath, imp)
			}
		}
	}
}

// Generated files are as their generator writes them.
func TestLinesHaveAtMost120Characters(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || bytes.Contains(data[:min(len(data), 400)], []byte("DO NOT EDIT")) {
			return err
		}
		raw := false // within a raw string that goes over lines
		for n, line := range strings.Split(string(data), "\n") {
			inside := raw
			if strings.Count(line, "`")%2 == 1 {
				raw = !raw
			}
			unbroken := strings.HasPrefix(line, "//go:") || // an instruction
				strings.HasSuffix(path, "_test.go") && (inside || strings.Contains(line, "`")) // data
			if utf8.RuneCountInString(line) > 120 && !unbroken {
				t.Errorf("%s:%d has %d characters", path, n+1, utf8.RuneCountInString(line))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The examples are what an outsider can write: modules of their own, which use the library alone.
func TestExamplesUseTheLibraryAlone(t *testing.T) {
	entries, err := os.ReadDir("examples")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		seen++
		dir := filepath.Join("examples", e.Name())
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Errorf("%s is no module: %v", dir, err)
			continue
		}
		// The name of the module decides what it may import: below ours it could have what is internal.
		if line, _, _ := strings.Cut(string(text), "\n"); !strings.HasPrefix(line, "module example.com/") {
			t.Errorf("%s: %q should begin with module example.com/", dir, line)
		}
		used := ourImports(t, dir)
		if len(used) == 0 {
			t.Errorf("%s does not use the library", dir)
		}
		for _, name := range used {
			if slices.Contains(strings.Split(name, "/"), "internal") {
				t.Errorf("%s imports %s, which no outsider can", dir, name)
			}
		}
	}
	if seen == 0 {
		t.Error("there are no examples")
	}
}

// ourImports returns the packages of this module that Go files under dir import, tests among them.
func ourImports(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			if name, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, "\"`"), module+"/"); ours {
				out = append(out, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Who reads what the library is finds all of it.
func TestTheRootDocumentsEveryPackage(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, packages := range house {
		for _, p := range packages {
			if !strings.Contains(p, "/") && !strings.Contains(string(text), "\n//   - "+p+": ") {
				t.Errorf("doc.go has no line about %s", p)
			}
		}
	}
}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,Deps", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
