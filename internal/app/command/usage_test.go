package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/runlog"
)

// usages reads the machine file of a run.
func usages(t *testing.T, dir string) (out []Usage) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, MachineFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var u Usage
		if err := json.Unmarshal(line, &u); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, u)
	}
	return out
}

// A run that takes some time has the load of the machine, with that of a GPU if nvidia-smi answers; when it is resumed,
// its time continues, and half a line that a kill left is cut off.
func TestTheLoadOfTheMachineIsRecorded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nvidia-smi is a shell script here")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	smi := "#!/bin/sh\ncase \"$*\" in *utilization.gpu,memory.used*nounits*) echo '87, 2048';; *) exit 1;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(smi), 0o755); err != nil {
		t.Fatal(err)
	}
	run, err := runlog.Create(t.TempDir(), "x", runlog.Info{Command: "train"})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Finish(nil, false)
	written := func(n int) {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if data, _ := os.ReadFile(run.Path(MachineFile)); bytes.Count(data, []byte("\n")) >= n {
				return
			}
		}
		t.Fatalf("no line %d", n)
	}
	u := WatchUsage(run, 200*time.Millisecond, true)
	for begin := time.Now(); time.Since(begin) < 100*time.Millisecond; { // work
	}
	written(1)
	u.Stop()
	first := usages(t, run.Dir)[0]
	if !(first.Seconds >= 0.2) || first.Memory == nil || *first.Memory < 1e6 || first.GPU == nil || *first.GPU != 0.87 ||
		first.GPUMemory == nil || *first.GPUMemory != 2<<30 || first.CPU == nil || !(*first.CPU > 0) {
		t.Errorf("%+v", first)
	}

	line := `{"seconds":100,"cpu":1}` + "\n" + `{"seconds":1`
	if err := os.WriteFile(run.Path(MachineFile), []byte(line), 0o666); err != nil {
		t.Fatal(err)
	}
	u = WatchUsage(run, time.Millisecond, false)
	written(2)
	u.Stop()
	if all := usages(t, run.Dir); len(all) != 2 || !(all[1].Seconds >= 100 && all[1].Seconds < 200) || all[1].GPU != nil {
		t.Errorf("after a resume: %+v", all)
	}

	WatchUsage(run, time.Hour, false).Stop() // ends at once
	short, err := runlog.Create(t.TempDir(), "x", runlog.Info{Command: "fit"})
	if err != nil {
		t.Fatal(err)
	}
	WatchUsage(short, time.Hour, false).Stop()
	if _, err := os.Stat(short.Path(MachineFile)); err == nil {
		t.Error("a short run has a file")
	}
	if err := os.Mkdir(short.Path(MachineFile), 0o777); err != nil {
		t.Fatal(err)
	}
	u = WatchUsage(short, time.Millisecond, false)
	<-u.done
	u.Stop()
	short.Finish(nil, false)
	if info, err := runlog.ReadInfo(short.Dir); err != nil || len(info.Warnings) != 1 ||
		!strings.HasPrefix(info.Warnings[0], MachineFile+" could not be written") {
		t.Errorf("%q, %v", info.Warnings, err)
	}
}

// FuzzUsage: whatever a machine file holds, it is continued by whole lines at a time that is not before; and whatever
// nvidia-smi prints is a share and bytes, or nothing.
func FuzzUsage(f *testing.F) {
	f.Add([]byte(`{"seconds":1}`+"\n"+`{"sec`), "87, 2048\n")
	f.Add([]byte("\n\n\x00{}\n"), "[N/A], NaN")
	f.Add([]byte(`{"seconds":-5}`+"\n"), "1e300, -1")
	f.Fuzz(func(t *testing.T, file []byte, smi string) {
		path := filepath.Join(t.TempDir(), MachineFile)
		if err := os.WriteFile(path, file, 0o666); err != nil {
			t.Fatal(err)
		}
		seconds, err := lastUsage(path)
		if err != nil || !(seconds >= 0 && seconds < mostSeconds) {
			t.Fatalf("%v, %v", seconds, err)
		}
		left, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(file, left) || len(left) > 0 && len(file) <= 4096 && left[len(left)-1] != '\n' {
			t.Fatalf("%q became %q, %v", file, left, err)
		}
		busy, memory, err := parseGPU(smi)
		for _, v := range []*float64{busy, memory} {
			if v != nil && (err != nil || !(*v >= 0 && *v < 1e19)) {
				t.Errorf("%q: %v, %v", smi, *v, err)
			}
		}
	})
}
