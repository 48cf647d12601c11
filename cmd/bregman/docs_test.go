package main

import (
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// document is a page of the documentation.
type document struct{ path, text string }

// documents returns README, CONTRIBUTING, the page of the examples and everything in docs/.
func documents(t *testing.T) []document {
	t.Helper()
	var out []document
	add := func(path string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, document{path, string(data)})
	}
	root := filepath.Join("..", "..")
	add(filepath.Join(root, "README.md"))
	add(filepath.Join(root, "CONTRIBUTING.md"))
	add(filepath.Join(root, "CHANGELOG.md"))
	add(filepath.Join(root, "examples", "README.md"))
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			add(path)
		}
		return err
	})
	if err != nil || len(out) < 10 {
		t.Fatalf("%d documents, %v", len(out), err)
	}
	return out
}

var (
	fence  = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$")
	inline = regexp.MustCompile("`([^`\n]+)`")
	quotes = regexp.MustCompile(`"([^"]*)"`)
)

// commands returns the bregman commands of a page: those in blocks, and those in the text.
func (d document) commands() (blocks, text []string) {
	for _, block := range fence.FindAllStringSubmatch(d.text, -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			line = strings.TrimPrefix(line, "go run ./cmd/")
			if rest, ok := strings.CutPrefix(line, "bregman "); ok || line == "bregman" {
				rest, _, _ = strings.Cut(rest, " #")
				blocks = append(blocks, piped.Split(strings.TrimSuffix(strings.TrimSpace(rest), " &"), 2)[0])
			}
		}
	}
	for _, span := range inline.FindAllStringSubmatch(fence.ReplaceAllString(d.text, ""), -1) {
		if rest, ok := strings.CutPrefix(span[1], "bregman "); ok {
			text = append(text, piped.Split(rest, 2)[0])
		}
	}
	return blocks, text
}

// piped is where a command's output goes elsewhere.
var piped = regexp.MustCompile(` [|>] `)

// placeholders are what the documentation writes for values of the reader's.
var placeholders = map[string]string{"FILE": "train.svm", "FILES": "train.svm", "RUN": "run", "RUN…": "run",
	"NAME": "cpu", "DIR": "dir", "NET": "resnet18",
	"P": "2", "SEED": "1", "N": "2", "COMMAND": "fit", "SHELL": "bash", "λ": "1e-3", "LAMBDA": "1e-3", "URL": "nats://host:4222",
	"r100:SEED": "r100:1"}

// arguments splits a command, with all that is optional, and values for placeholders.
func arguments(line string) []string {
	line = strings.NewReplacer("[", "", "]", "").Replace(line)
	line = quotes.ReplaceAllStringFunc(line, func(s string) string { return strings.ReplaceAll(s, " ", "\x00") })
	var out []string
	for _, arg := range strings.Fields(line) {
		if value, ok := placeholders[arg]; ok {
			arg = value
		}
		if arg == "…" {
			if len(out) == 0 || !strings.HasPrefix(out[len(out)-1], "--") {
				continue
			}
			arg = "2" // some value of a flag
		}
		out = append(out, strings.ReplaceAll(strings.Trim(arg, `"`), "\x00", " "))
	}
	return out
}

func TestEveryCommandOfTheDocumentationIsUnderstood(t *testing.T) {
	count := 0
	for _, d := range documents(t) {
		blocks, text := d.commands()
		for _, line := range slices.Concat(blocks, text) {
			args := arguments(line)
			if len(args) == 0 || slices.Contains([]string{"help", "COMMAND", "fit,", "--help"}, args[0]) {
				continue
			}
			count++
			if slices.Contains(args, "--help") {
				continue
			}
			if incomplete(args) {
				continue // a command that the text only names
			}
			if args[0] == "worker" && !slices.Contains(args, "--nats") {
				args = append(args, "--nats", "nats://queue:4222") // which the job for Slurm has in its environment
			}
			k, err := newParser().Parse(args)
			if err == nil {
				_, err = ready(k)
			}
			if err != nil {
				t.Errorf("%s: bregman %s: %v", d.path, line, err)
			}
		}
	}
	if count < 80 {
		t.Errorf("only %d commands were found", count)
	}
}

// incomplete reports whether a command of the text is a bare name, which needs arguments to run.
func incomplete(args []string) bool {
	return !slices.ContainsFunc(args[1:], func(s string) bool { return strings.HasPrefix(s, "-") }) &&
		slices.Contains([]string{"fit", "predict", "margin", "path", "report", "export", "sweep", "reproduce", "data",
			"bench", "worker"}, args[0])
}

// elsewhere are words of commands that need a GPU, a download, another machine or an interrupt.
var elsewhere = []string{"cifar10", "cuda", "fashion-mnist", "nats", "serve", "worker", "resnet18", "vgg11",
	"mobilenetv2", "regnetx200", "bench", "RUN",
	"big.svm", "ILSVRC2012", "imagenet.pack", "tiny-imagenet", "imagenette", "--resume", "--listen", "docs/results/"}

// shorter are flags that make a command of the documentation short enough for a test. The last value of a flag counts.
var shorter = map[string]string{"train": "--epochs 1 --no-study",
	"reproduce linear":  "--steps 2000 --seeds 1 --decades 4 --planes 4",
	"verify":            "--seeds 1",
	"reproduce cifar10": "--epochs 1 --trials 1"}

func TestTheCommandsOfTheDocumentationRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program some thirty times")
	}
	ran := 0
	for _, d := range documents(t) {
		if strings.Contains(d.path, "measurements") || strings.Contains(d.path, "CONTRIBUTING") {
			continue
		}
		blocks, _ := d.commands()
		dir := readersFiles(t)
		for _, line := range blocks {
			if slices.ContainsFunc(elsewhere, func(w string) bool { return strings.Contains(line, w) }) &&
				!strings.Contains(line, "--models cnn") {
				continue
			}
			args := arguments(line)
			for start, flags := range shorter {
				if strings.HasPrefix(line, start) {
					args = append(args, strings.Fields(flags)...)
				}
			}
			for k, a := range args { // as a shell would
				if found, _ := filepath.Glob(filepath.Join(dir, a)); strings.Contains(a, "*") && len(found) > 0 {
					args = slices.Replace(args, k, k+1, found...)
					break
				}
			}
			ran++
			if _, stderr, code := bregman(t, dir, args...); code != 0 {
				t.Errorf("%s: bregman %s: exit %d\n%s", d.path, line, code, stderr)
			}
		}
	}
	if ran < 15 {
		t.Errorf("only %d commands ran", ran)
	}
}

// readersFiles is a folder with the files that the documentation calls the reader's own.
func readersFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	table := func(rows int) string {
		var b strings.Builder
		b.WriteString("height,width,label\n")
		for i := range rows {
			fmt.Fprintf(&b, "%d,%d,%d\n", 3*(i%2)+i%5, 2+i%7, i%2)
		}
		return b.String()
	}
	write(t, dir, "train.csv", table(40))
	write(t, dir, "test.csv", table(20))
	write(t, dir, "new.csv", "height,width\n1,2\n3,4\n")
	write(t, dir, "train.svm", strings.Repeat(separable, 5))
	for class := range 2 {
		folder := filepath.Join(dir, "pictures", fmt.Sprint("class", class))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range 12 {
			m := image.NewGray(image.Rect(0, 0, 50+i, 40))
			for k := range m.Pix {
				m.Pix[k] = byte(k*(class+i+1) + 100*class)
			}
			var b strings.Builder
			if err := png.Encode(&b, m); err != nil {
				t.Fatal(err)
			}
			write(t, folder, fmt.Sprint(i, ".png"), b.String())
		}
	}
	write(t, dir, "queue.toml", "job = \"train\"\n[settings]\nepochs = 1\nno_study = true\n[[entry]]\nsettings = { p = 3 }\n")
	write(t, dir, "p.toml", "job = \"margin\"\n[settings]\ndata = \"r100:{seed}\"\n[grid]\np = [2, 3]\n")
	return dir
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// anchors returns the anchors of a page, as GitHub makes them.
func anchors(text string) []string {
	var out []string
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		slug := strings.ToLower(strings.NewReplacer("`", "", "*", "").Replace(h[1]))
		slug = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(slug, "")
		out = append(out, strings.ReplaceAll(slug, " ", "-"))
	}
	return out
}

func TestLinksOfTheDocumentationResolveAndEveryPictureIsShown(t *testing.T) {
	shown := map[string]bool{}
	for _, d := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(d.text, ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := d.path
			if target != "" {
				path = filepath.Join(filepath.Dir(d.path), filepath.FromSlash(target))
			}
			shown[path] = true
			data, err := os.ReadFile(path)
			if err != nil {
				t.Errorf("%s links to %s: %v", d.path, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(string(data)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", d.path, m[1])
			}
		}
	}
	pictures, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.png"))
	if err != nil || len(pictures) == 0 {
		t.Fatal("no pictures", err)
	}
	for _, p := range pictures {
		if !shown[p] {
			t.Errorf("%s is on no page", p)
		}
	}
}

func TestPagesStayShort(t *testing.T) {
	for _, d := range documents(t) {
		most := 200
		if filepath.Base(filepath.Dir(d.path)) != "docs" && filepath.Base(d.path) == "README.md" {
			most = 150
		}
		if lines := strings.Count(d.text, "\n"); lines > most {
			t.Errorf("%s has %d lines, %d at most", d.path, lines, most)
		}
	}
}
