package runlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func create(t *testing.T) *Run {
	t.Helper()
	r, err := Create(t.TempDir(), "fit/p=3 ../x", Info{Command: "fit", Settings: map[string]any{"p": 3}, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARunCanBeReadBackWhileItRunsAndAfter(t *testing.T) {
	r := create(t)
	if info, err := ReadInfo(r.Dir); err != nil || info.Status != Running || info.Seed != 7 || info.Machine.CPUs == 0 {
		t.Errorf("running: %+v, %v", info, err)
	}
	for k := range 3 {
		if err := r.Append(map[string]int{"step": k}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	info, err := ReadInfo(r.Dir)
	if err != nil || info.Status != Done || info.Finished.Before(info.Started) {
		t.Errorf("done: %+v, %v", info, err)
	}
	var steps []int
	if err := ReadMetrics(r.Dir, func(line json.RawMessage) error {
		var m struct{ Step int }
		steps = append(steps, 0)
		err := json.Unmarshal(line, &m)
		steps[len(steps)-1] = m.Step
		return err
	}); err != nil || len(steps) != 3 || steps[2] != 2 {
		t.Errorf("steps %v, %v", steps, err)
	}
}

func TestFinishRecordsHowARunEnded(t *testing.T) {
	broken := errors.New("overflow")
	for _, c := range []struct {
		err         error
		interrupted bool
		want        string
	}{{nil, false, Done}, {broken, false, Failed}, {broken, true, Interrupted}} {
		r := create(t)
		if err := r.Finish(c.err, c.interrupted); !errors.Is(err, c.err) {
			t.Errorf("Finish returned %v", err)
		}
		if info, _ := ReadInfo(r.Dir); info.Status != c.want {
			t.Errorf("status %q, want %q", info.Status, c.want)
		}
	}
}

func TestALineCutShortIsPassedOver(t *testing.T) {
	r := create(t)
	if err := r.Append(1); err != nil {
		t.Fatal(err)
	}
	if _, err := r.metrics.WriteString(`{"step": 2`); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := ReadMetrics(r.Dir, func(json.RawMessage) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("%d lines, %v", n, err)
	}
}

func TestACorruptLineIsNamed(t *testing.T) {
	r := create(t)
	if _, err := r.metrics.WriteString("{\"a\":1}\nrubbish\n"); err != nil {
		t.Fatal(err)
	}
	if err := ReadMetrics(r.Dir, func(json.RawMessage) error { return nil }); err == nil ||
		!strings.Contains(err.Error(), "metrics.jsonl:2") {
		t.Errorf("error %v", err)
	}
}

func TestTwoRunsOfOneSecondGetFoldersOfTheirOwn(t *testing.T) {
	root := t.TempDir()
	seen := map[string]bool{}
	for range 5 {
		r, err := Create(root, "same", Info{})
		if err != nil || seen[r.Dir] {
			t.Fatalf("%v, %v", r, err)
		}
		seen[r.Dir] = true
	}
}

func TestNamesStayInsideTheRoot(t *testing.T) {
	r := create(t)
	if strings.ContainsAny(filepath.Base(r.Dir), "/ =") || strings.Contains(filepath.Base(r.Dir), "/") {
		t.Errorf("folder %q", r.Dir)
	}
}

func TestWriteFileReplacesWholeAndLeavesNothingBeside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b.txt")
	for _, text := range []string{"first", "second"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "a")); len(entries) != 1 {
		t.Errorf("left beside it: %v", entries)
	}
	if err := WriteFile(filepath.Join(path, "below"), nil); err == nil {
		t.Error("a file was taken for a folder")
	}
}

// holdRun writes a run in a process of its own, which continues until it is killed.
func holdRun(t *testing.T) (dir string, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcessesCannotWriteOneRun$")
	cmd.Env = append(os.Environ(), "RUNLOG_HOLD="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

func TestTwoProcessesCannotWriteOneRun(t *testing.T) {
	if root := os.Getenv("RUNLOG_HOLD"); root != "" {
		r, err := Create(root, "held", Info{})
		if err == nil {
			err = r.Append(map[string]int{"step": 1})
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(r.Dir)
		time.Sleep(time.Minute)
		r.Finish(nil, false)
		return
	}
	switch runtime.GOOS {
	case "linux", "darwin", "freebsd":
	default:
		t.Skip("no locks here")
	}
	dir, kill := holdRun(t)
	defer kill()
	before, err := os.Stat(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var busy *BusyError
	if _, err := Resume(dir, nil); !errors.As(err, &busy) || !strings.Contains(err.Error(), "another process is running") {
		t.Fatalf("error %v", err)
	}
	if after, err := os.Stat(filepath.Join(dir, "metrics.jsonl")); err != nil || !os.SameFile(before, after) ||
		after.Size() != before.Size() {
		t.Errorf("the running one's metrics were touched: %v", err)
	}
	kill()
	r, err := Resume(dir, nil)
	if err != nil {
		t.Fatalf("the lock outlived a killed process: %v", err)
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	if r, err = Resume(dir, nil); err != nil {
		t.Fatalf("the lock outlived Finish: %v", err)
	}
	r.Finish(nil, false)
	if _, err := Resume(dir, []any{make(chan int)}); err == nil {
		t.Error("a channel was written as JSON")
	}
	if r, err = Resume(dir, nil); err != nil {
		t.Fatalf("the lock outlived an error: %v", err)
	}
	r.Finish(nil, false)
}

func TestResumeLeavesNothingInFoldersThatAreNoRuns(t *testing.T) {
	dir := t.TempDir()
	if _, err := Resume(dir, nil); err == nil {
		t.Error("an empty folder was resumed")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
}

func TestAFolderInsideAnotherRunIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trials", "resnet18", "p3-s1")
	r, err := CreateAt(dir, Info{Command: "train"})
	if err != nil || r.Dir != dir {
		t.Fatalf("%v, %v", r, err)
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	if info, err := ReadInfo(dir); err != nil || info.Status != Done {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := CreateAt(dir, Info{}); err == nil {
		t.Error("a folder that is there was taken")
	}
}

func TestTakingAFolderChangesNothingAndGoingOnNotesWhere(t *testing.T) {
	r, err := Create(t.TempDir(), "x", Info{Engine: "cpu", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(errors.New("stopped"), true); err != nil && err.Error() != "stopped" {
		t.Fatal(err)
	}
	before, err := os.ReadFile(r.Path("run.json"))
	if err != nil {
		t.Fatal(err)
	}
	taken, err := Lock(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var busy *BusyError
	if _, err := Lock(r.Dir); taken.lock != nil && !errors.As(err, &busy) {
		t.Errorf("taken twice: %v", err)
	}
	if err := errors.Join(taken.Release(), taken.Release()); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(r.Path("run.json")); err != nil || string(after) != string(before) {
		t.Errorf("run.json is %s, %v", after, err)
	}
	if taken, err = Lock(r.Dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(taken.Reopen([]any{1}, "cuda", "2"), taken.Sync(), taken.Finish(nil, false)); err != nil {
		t.Fatal(err)
	}
	info, err := ReadInfo(r.Dir)
	if err != nil || info.Engine != "cpu" || info.Version != "1" || len(info.Resumed) != 1 ||
		info.Resumed[0].Engine != "cuda" || info.Resumed[0].Version != "2" || info.Status != Done {
		t.Errorf("%+v, %v", info, err)
	}
}

// A run that was locked to be resumed, and then was not, is as it was.
func TestARunThatIsLockedAndNotReopenedStaysAsItWas(t *testing.T) {
	r, err := Create(t.TempDir(), "x", Info{Command: "train"})
	if err != nil {
		t.Fatal(err)
	}
	r.Finish(errors.New("stopped"), true)
	before, err := os.ReadFile(filepath.Join(r.Dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	locked, err := Lock(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := locked.Finish(errors.New("refused"), false); err == nil || err.Error() != "refused" {
		t.Errorf("error %v", err)
	}
	after, err := os.ReadFile(filepath.Join(r.Dir, "run.json"))
	if err != nil || string(before) != string(after) {
		t.Errorf("run.json was %s, is %s, %v", before, after, err)
	}
	if busy, err := Busy(r.Dir); err != nil || busy {
		t.Errorf("busy %v, %v", busy, err)
	}
}
