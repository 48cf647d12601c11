package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// The golden files in testdata/v1 freeze what people and their programs build on: JSON keys, names of files, identities
// of a sweep's runs, and numbers. scripts/goldens.sh wrote them, with the programs of two commits. They are never
// written again: a program that cannot read them, or prints something else, breaks its users' work.
//
// The texts beside them, help/ and errors.txt, are those of today. They change with the commit that improves them:
//
//	go test ./cmd/bregman -run Recorded -golden.update
var (
	goldenExact = flag.Bool("golden.exact", false,
		"compare numbers bit for bit, as on the machine that made the golden files")
	goldenUpdate = flag.Bool("golden.update", false, "record help and error messages again")
)

// goldenRoot has a folder for each set of golden files.
const goldenRoot = "testdata/v1"

// goldenSets are the commits whose programs wrote the golden files. That of 67def19 wrote checkpoints without
// checksums.
var goldenSets = []string{"67def19", "8146c92"}

// goldenLast is the set that today's program matches but for newKeys. Its api/forms is newer: networks, units and all
// engines became choices there, and fit has objectives and columns.
const goldenLast = "8146c92"

// goldenCase is a command line and what came of it.
type goldenCase struct {
	set, name string
	args      []string
}

// dir is where its golden files are.
func (c goldenCase) dir() string { return filepath.Join(goldenRoot, c.set, c.name) }

// today is its command line in today's words: fit found a margin, of several classes each against the rest.
func (c goldenCase) today() []string {
	if c.args[0] == "fit" {
		return append(c.args, "--objective", "margin", "--multiclass", "rest")
	}
	return c.args
}

// stopped reports whether the command was interrupted.
func (c goldenCase) stopped() bool {
	return strings.HasSuffix(c.name, "-stopped") && c.args[1] != "status"
}

// reads reports whether the command reads what others wrote.
func (c goldenCase) reads() bool { return strings.Contains(strings.Join(c.args, " "), "/runs/") }

// network reports whether the command trains networks.
func (c goldenCase) network() bool {
	return !strings.HasPrefix(c.name, "plan-") &&
		(strings.Contains(c.name, "train") || strings.Contains(c.name, "cifar10"))
}

// slow reports whether the command takes a second or more.
func (c goldenCase) slow() bool {
	return c.network() || c.name == "fit-long"
}

// skipSlow skips what takes long in a short test.
func (c goldenCase) skipSlow(t *testing.T) {
	t.Helper()
	if c.slow() && testing.Short() {
		t.Skip("takes a second or more")
	}
}

// compared is how its numbers are compared.
func (c goldenCase) compared(t *testing.T) *comparison {
	k := &comparison{t: t, set: c.set, name: c.name, rel: linearRel, abs: linearAbs}
	k.shape = c.name == "doctor" || !sameKernels
	if c.network() {
		k.rel, k.abs = networkRel, networkAbs
	}
	return k
}

// goldenCases are those of a set, in the order of their names.
func goldenCases(t *testing.T, set string) []goldenCase {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(goldenRoot, set, "*", "args"))
	if err != nil || len(all) < 30 {
		t.Fatalf("%d cases in %s, %v", len(all), set, err)
	}
	var out []goldenCase
	for _, path := range all {
		out = append(out, goldenCase{set, filepath.Base(filepath.Dir(path)), strings.Fields(read(t, path))})
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// golden copies a set, to let the program under test work on it.
func golden(t *testing.T, set string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(goldenRoot, set))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// alone isolates a test from the user's environment. The output does not depend on the race detector, which makes
// hundreds of commands slow.
func alone(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("other tests look for races")
	}
	for _, name := range []string{"NATS_URL", "NATS_CREDS", "NATS_NKEY", "NATS_USER", "BREGMAN_TOKEN"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("COLUMNS", "80")
}

// The same command lines again: the same keys, numbers, files and identities.
func TestCommandsSayAndLeaveWhatTheyAlwaysDid(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(filepath.Join(goldenRoot, goldenLast, "data"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range goldenCases(t, goldenLast) {
		if c.stopped() || c.reads() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			c.skipSlow(t)
			t.Parallel()
			fresh := filepath.Join(dir, c.name)
			if err := os.Mkdir(fresh, 0o777); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, code := bregman(t, fresh, c.today()...)
			if code != 0 {
				t.Fatalf("%s: exit %d, %s", strings.Join(c.args, " "), code, stderr)
			}
			write(t, fresh, "stdout", stdout)
			for _, set := range goldenSets {
				t.Run(set, func(t *testing.T) {
					of := goldenCase{set, c.name, c.args}
					if args := strings.Fields(read(t, filepath.Join(of.dir(), "args"))); !slices.Equal(args, c.args) {
						t.Fatalf("the set has another command line: %q", args)
					}
					of.compared(t).folders(fresh, of.dir())
					sameFiles(t, fresh, of.dir())
				})
			}
		})
	}
}

// An interrupted run resumes, and ends with the result of an uninterrupted one.
func TestStoppedRunsOfEarlierProgramsGoOn(t *testing.T) {
	alone(t)
	for _, set := range goldenSets {
		dir := golden(t, set)
		for _, c := range goldenCases(t, set) {
			if !c.stopped() {
				continue
			}
			whole := goldenCase{set, strings.TrimSuffix(c.name, "-stopped"), c.args}
			t.Run(set+"/"+c.name, func(t *testing.T) {
				whole.skipSlow(t)
				here := filepath.Join(dir, c.name)
				runs, _ := filepath.Glob(filepath.Join(here, "runs", "*"))
				if len(runs) != 1 {
					t.Fatalf("runs %q", runs)
				}
				run := filepath.Join("runs", filepath.Base(runs[0]))
				args := []string{c.args[0], "--resume", run, "--json"}
				switch c.args[0] {
				case "sweep":
					args = []string{"sweep", "resume", run, "--jobs", "1", "--engine", "cpu", "--json"}
				case "train":
					args = append(args, "--engine", "cpu")
				}
				stdout, stderr, code := bregman(t, here, args...)
				if code != 0 {
					t.Fatalf("%s: exit %d, %s", strings.Join(args, " "), code, stderr)
				}
				unchecked := c.set == "67def19" && c.args[0] == "fit" // its checkpoints have no checksums
				if strings.Contains(stderr, "has no checksum") != unchecked && c.args[0] == "fit" {
					t.Errorf("%s says %s", strings.Join(args, " "), stderr)
				}
				write(t, here, "stdout", stdout)
				k := whole.compared(t)
				k.resumed = true
				k.folders(here, whole.dir())
				if c.args[0] != "sweep" { // whose runs that were done have no pictures here
					sameFiles(t, here, whole.dir())
				}
			})
		}
	}
}

// A finished sweep has nothing to do: the identities of its runs are those of today.
func TestFinishedSweepsOfEarlierProgramsAreNotRunAgain(t *testing.T) {
	alone(t)
	for _, set := range goldenSets {
		dir := golden(t, set)
		for _, name := range []string{"sweep-fit", "sweep-margin", "sweep-path", "sweep-train", "reproduce-cifar10"} {
			t.Run(set+"/"+name, func(t *testing.T) {
				here := filepath.Join(dir, name)
				runs, _ := filepath.Glob(filepath.Join(here, "runs", "*"))
				if len(runs) != 1 {
					t.Fatalf("runs %q", runs)
				}
				run := filepath.Join("runs", filepath.Base(runs[0]))
				c := goldenCase{set, name, strings.Fields(read(t, filepath.Join(here, "args")))}
				args := append(c.args, "--out", run)
				if name == "reproduce-cifar10" {
					args = []string{"reproduce", "cifar10", "--resume", run, "--engine", "cpu", "--json"}
				}
				before := stamps(t, filepath.Join(runs[0], "trials"))
				stdout, stderr, code := bregman(t, here, args...)
				if code != 0 {
					t.Fatalf("%s: exit %d, %s", strings.Join(args, " "), code, stderr)
				}
				if after := stamps(t, filepath.Join(runs[0], "trials")); len(before) < 4 || !maps.Equal(before, after) {
					t.Errorf("runs were made again:\n%v\nwere\n%v", after, before)
				}
				write(t, here, "stdout", stdout)
				k := c.compared(t)
				k.resumed = true
				k.folders(here, c.dir())
			})
		}
	}
}

// stamps are the files below a folder with the times of their last change.
func stamps(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	out := map[string]time.Time{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			out[path] = info.ModTime()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Models, reports, exports and states of sweeps come from files alone.
func TestRunFoldersOfEarlierProgramsAreRead(t *testing.T) {
	alone(t)
	for _, set := range goldenSets {
		dir := golden(t, set)
		for _, c := range goldenCases(t, set) {
			if !c.reads() {
				continue
			}
			t.Run(set+"/"+c.name, func(t *testing.T) {
				here := filepath.Join(dir, c.name)
				stdout, stderr, code := bregman(t, here, c.args...)
				if code != 0 {
					t.Fatalf("%s: exit %d, %s", strings.Join(c.args, " "), code, stderr)
				}
				write(t, here, "stdout", stdout)
				c.compared(t).folders(here, c.dir())
				sameFiles(t, here, c.dir())
				if c.name == "report" {
					if st, err := os.Stat(filepath.Join(here, "report.html")); err != nil || st.Size() < 10_000 {
						t.Errorf("no page: %v", err)
					}
				}
			})
		}
	}
}

// The dashboard over all run folders of a set.
func TestTheDashboardShowsRunsOfEarlierPrograms(t *testing.T) {
	alone(t)
	for _, set := range goldenSets {
		t.Run(set, func(t *testing.T) {
			dir := golden(t, set)
			all := filepath.Join(dir, "all")
			runs, err := filepath.Glob(filepath.Join(dir, "*", "runs", "*"))
			if err != nil || len(runs) < 20 {
				t.Fatalf("%d runs, %v", len(runs), err)
			}
			for _, run := range runs {
				name := filepath.Base(filepath.Dir(filepath.Dir(run))) + "@" + filepath.Base(run)
				if err := os.CopyFS(filepath.Join(all, name), os.DirFS(run)); err != nil {
					t.Fatal(err)
				}
			}
			address := serve(t, dir, "all")
			for line := range strings.Lines(read(t, filepath.Join(dir, "api", "index.txt"))) {
				name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
				if set != goldenLast && changedFiles["api/"+name] {
					continue
				}
				k := &comparison{t: t, set: set, at: path, rel: linearRel, abs: linearAbs,
					shape: !sameKernels}
				k.json(get(t, address+path), []byte(read(t, filepath.Join(dir, "api", name+".json"))))
			}
			for _, page := range []string{"", "run?id=" + filepath.Base(runs[0])} {
				if body := get(t, address+page); !bytes.Contains(body, []byte("<html")) {
					t.Errorf("/%s is not a page: %.100s", page, body)
				}
			}
			var list struct{ Runs []struct{ ID string } }
			if err := json.Unmarshal(get(t, address+"api/runs"), &list); err != nil {
				t.Fatal(err)
			}
			want := 0
			filepath.WalkDir(all, func(path string, e fs.DirEntry, err error) error {
				if err == nil && e.Name() == "run.json" {
					want++
				}
				return err
			})
			if len(list.Runs) != want {
				t.Errorf("%d runs in the list, want %d", len(list.Runs), want)
			}
			for _, run := range list.Runs {
				get(t, address+"api/run?id="+run.ID)
				get(t, address+"api/metrics?id="+run.ID)
			}
		})
	}
}

// serve starts the dashboard over a folder and returns its address, with a slash in the end.
func serve(t *testing.T, dir, runs string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "serve", "--runs", runs, "--allow-run", "--addr", "127.0.0.1:0")
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() }) // the context ends before
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(line, " ")
	return address
}

func get(t *testing.T, address string) []byte {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v: %.200s", address, resp.Status, err, body)
	}
	return body
}

// commands are all commands and the groups of them, "" for the program itself.
func commands() []string {
	var out []string
	var walk func(*kong.Node)
	walk = func(n *kong.Node) {
		out = append(out, strings.TrimPrefix(strings.TrimPrefix(n.FullPath(), "bregman"), " "))
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(newParser().Model.Node)
	return out
}

func TestHelpIsAsRecorded(t *testing.T) {
	alone(t)
	said := map[string]string{}
	for _, c := range commands() {
		stdout, stderr, code := bregman(t, t.TempDir(), append(strings.Fields(c), "--help")...)
		if code != 0 || stderr != "" {
			t.Errorf("%s --help: exit %d, %s", c, code, stderr)
		}
		said[strings.ReplaceAll(strings.TrimSpace("bregman "+c), " ", "-")+".txt"] = stdout
	}
	dir := filepath.Join(goldenRoot, "help")
	if *goldenUpdate {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o777)); err != nil {
			t.Fatal(err)
		}
		for name, text := range said {
			write(t, dir, name, text)
		}
	}
	recorded, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range recorded {
		text, ok := said[e.Name()]
		if !ok {
			t.Errorf("%s: there is no such command any more", e.Name())
		} else if want := read(t, filepath.Join(dir, e.Name())); text != want {
			t.Errorf("%s:\n%s", e.Name(), firstDifference(text, want))
		}
		delete(said, e.Name())
	}
	for name := range said {
		t.Errorf("%s is not recorded", name)
	}
}

// firstDifference is the first line that differs.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d: %q\nwas    %q", i+1, a, b)
		}
	}
	return "no line differs"
}

// estimated is the time that a sweep may take on this machine.
var estimated = regexp.MustCompile(`(?m)^  time .*\n`)

// errors.txt has command lines that are wrong, each with its exit code and output. They run in a folder with the golden
// files and a few broken files. To add one, write its line and record them again.
func TestErrorMessagesAreAsRecorded(t *testing.T) {
	alone(t)
	dir := golden(t, goldenLast)
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "home", ".cache"))
	for name, text := range map[string]string{
		"good.svm": separable, "empty.svm": "", "ragged.csv": "a,b,label\n1,2,1\n1,2\n", "order.svm": "1 2:1 1:1\n-1 1:1\n",
		"nan.svm": "1 1:nan\n-1 1:1\n", "text.csv": misspelt, "wide.svm": "1 9:1\n-1 1:1\n",
		"same.svm": "1 1:1\n1 1:2\n", "mixed.svm": "1 1:1\n-1 1:1\n", "notadir": "x", "broken.npz": "PK not a zip",
		"model.json":  `{"format":"bregman-linear","version":1,"classes":[-1,1],"weights":[[1,2]]}`,
		"newer.json":  `{"format":"bregman-linear","version":99,"classes":[-1,1],"weights":[[1,2]]}`,
		"key.toml":    "job = \"fit\"\n[settings]\ndata = \"r2\"\nsteeps = 5\n",
		"job.toml":    "job = \"fly\"\n",
		"list.toml":   "job = \"fit\"\n[settings]\ndata = \"r2\"\np = [2, 3]\n",
		"twice.toml":  "job = \"margin\"\ntrials = 2\n[settings]\ndata = \"r2\"\np = 2\n",
		"metric.toml": "job = \"fit\"\nmetric = \"speed\"\n[settings]\ndata = \"r2\"\n",
		"syntax.toml": "job = fit\n",
	} {
		write(t, dir, name, text)
	}
	path := filepath.Join(goldenRoot, "errors.txt")
	recorded := read(t, path)
	var said strings.Builder
	lines := 0
	for line := range strings.Lines(recorded) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ bregman")
		if !ok {
			continue
		}
		lines++
		_, stderr, code := bregman(t, dir, strings.Fields(command)...)
		stderr = estimated.ReplaceAllString(strings.ReplaceAll(stderr, dir, "DIR"), "  time\n")
		if code == 0 {
			t.Errorf("bregman%s is not an error", command)
		}
		if lines > 1 {
			said.WriteByte('\n')
		}
		fmt.Fprintf(&said, "$ bregman%s\nexit %d\n%s", command, code, stderr)
	}
	if lines < 60 {
		t.Errorf("%d command lines", lines)
	}
	if *goldenUpdate {
		write(t, goldenRoot, "errors.txt", said.String())
	} else if got := said.String(); got != recorded {
		t.Errorf("%s: %s", path, firstDifference(got, recorded))
	}
}
