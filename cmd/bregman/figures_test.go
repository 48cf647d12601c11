package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/record"
)

// docs/figures.json says of every figure which command made it, and from which data: files of the repository, with
// their hashes, or what it was measured on. scripts/figures.sh makes those again that can be made from files alone.
var figuresMake = flag.String("figures.make", "", "make the figures that match this again, from the files they are of")

// pictured is a figure of the documentation.
type pictured struct {
	Figure  string            `json:"figure"`
	SHA256  string            `json:"sha256"`
	Command string            `json:"command"`          // as on the page that shows it; DIR is any folder
	Extra   string            `json:"extra,omitempty"`  // flags that keep its other output in DIR
	Output  string            `json:"output,omitempty"` // where the command writes the figure; "": it cannot be made again
	Slow    bool              `json:"slow,omitempty"`   // it takes minutes or hours: it is made again only by name
	Inputs  map[string]string `json:"inputs,omitempty"` // hashes by file
	Data    string            `json:"data,omitempty"`   // what it is of, if that is not in files
}

var (
	figuresRoot = filepath.Join("..", "..")
	figuresList = filepath.Join(figuresRoot, "docs", "figures.json")
)

func readFigures(t *testing.T) []pictured {
	t.Helper()
	var out []pictured
	d := json.NewDecoder(strings.NewReader(read(t, figuresList)))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func hashOf(t *testing.T, path string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(read(t, path)))
	return hex.EncodeToString(sum[:])
}

func TestEveryFigureSaysWhatMadeItAndIsOfTheDataThatAreThere(t *testing.T) {
	figures := readFigures(t)
	if *figuresMake != "" {
		makeFigures(t, figures)
	}
	listed := map[string]bool{}
	for _, f := range figures {
		path := filepath.Join(figuresRoot, "docs", f.Figure)
		if listed[path] {
			t.Errorf("docs/figures.json lists %s twice", f.Figure)
		}
		listed[path] = true
		if f.Command == "" || len(f.Inputs) == 0 && f.Data == "" || f.Output == "" && len(f.Inputs) > 0 {
			t.Errorf("docs/figures.json: %s needs a command, and either inputs with an output, or data", f.Figure)
		}
		for file, hash := range f.Inputs {
			if hashOf(t, filepath.Join(figuresRoot, file)) != hash {
				t.Errorf("docs/%s is of other data: %s has changed since: run scripts/figures.sh %[1]s, and look at it", f.Figure,
					file)
			}
		}
		if hashOf(t, path) != f.SHA256 {
			t.Errorf("docs/%s is not the figure that docs/figures.json describes: say there what made it, with its sha256",
				f.Figure)
		}
		if !explained(t, f) {
			t.Errorf("no page in docs/ shows %s and has its command, %s", f.Figure, f.Command)
		}
	}
	there, err := filepath.Glob(filepath.Join(figuresRoot, "docs", "*.png"))
	if err != nil || len(there) == 0 {
		t.Fatal("no figures", err)
	}
	for _, path := range there {
		if !listed[path] {
			t.Errorf("docs/figures.json does not say what made %s", filepath.Base(path))
		}
	}
}

// explained reports whether a page of docs/ shows a figure and has its command.
func explained(t *testing.T, f pictured) bool {
	return slices.ContainsFunc(documents(t), func(d document) bool {
		return strings.Contains(d.path, "docs") && strings.Contains(d.text, f.Figure+")") &&
			strings.Contains(d.text, f.Command)
	})
}

// makeFigures runs the commands of the figures that match -figures.make, and writes them and their hashes.
func makeFigures(t *testing.T, figures []pictured) {
	t.Helper()
	match, err := regexp.Compile(*figuresMake)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for i := range figures {
		f := &figures[i]
		if f.Output == "" || !match.MatchString(f.Figure) || f.Slow && *figuresMake != f.Figure {
			continue
		}
		dir := t.TempDir()
		args := arguments(strings.TrimPrefix(f.Command, "bregman ") + " " + f.Extra)
		for k := range args {
			if args[k] = strings.ReplaceAll(args[k], "DIR", dir); args[k] == "dir" { // of placeholders
				args[k] = dir
			}
		}
		if _, stderr, code := bregman(t, figuresRoot, args...); code != 0 {
			t.Fatalf("%s: exit %d, %s", f.Command, code, stderr)
		}
		found, err := filepath.Glob(strings.ReplaceAll(f.Output, "DIR", dir))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s wrote %d files %s, %v", f.Command, len(found), f.Output, err)
		}
		write(t, filepath.Join(figuresRoot, "docs"), f.Figure, read(t, found[0]))
		f.SHA256 = hashOf(t, found[0])
		for file := range f.Inputs {
			f.Inputs[file] = hashOf(t, filepath.Join(figuresRoot, file))
		}
		t.Log("made docs/" + f.Figure)
		made++
	}
	if made == 0 {
		t.Fatalf("no figure that can be made from files matches %s", *figuresMake)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(figures); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(figuresList, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A histogram whose settings are no longer those of a row is shown by no report.
func TestEveryHistogramOfTheResultsBelongsToARow(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(figuresRoot, "docs", "results", "*.csv"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%d results files, %v", len(files), err)
	}
	for _, path := range files {
		rows, err := record.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		weights, err := record.ReadWeights(path, rows)
		if err != nil {
			t.Fatal(err)
		}
		joined := 0
		for _, w := range weights {
			if w != nil {
				joined++
			}
		}
		if lines := strings.Count(read(t, record.WeightsPath(path)), "\n"); joined != lines {
			t.Errorf("%s: %d of %d histograms belong to a row", path, joined, lines)
		}
	}
}
