package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/runlog"
)

// MachineFile is the file of a run folder with a line every few seconds on what the run takes of the machine.
const MachineFile = "machine.jsonl"

// Usage is a line of MachineFile. What the system does not report is missing.
type Usage struct {
	Seconds   float64  `json:"seconds"`              // that the run was running until then
	CPU       *float64 `json:"cpu,omitempty"`        // cores that the process kept busy since the line before
	Memory    *float64 `json:"memory,omitempty"`     // bytes of the process
	GPU       *float64 `json:"gpu,omitempty"`        // share of the time in which the GPU was busy, whoever used it
	GPUMemory *float64 `json:"gpu_memory,omitempty"` // bytes in use on the GPU
}

// Lines are usageEvery apart, and more in a long run, so that a run of a week has about 3,000.
const (
	usageEvery  = 5 * time.Second
	usageSpread = 500 // a line is at least this part of the time so far after the one before
	usageGPU    = 2   // nvidia-smi is asked for every second line
	usageTries  = 3   // how often it may fail before it is not asked again
	usageWait   = 4 * time.Second
)

// UsageLog writes MachineFile while a run is running.
type UsageLog struct {
	run     *runlog.Run
	stop    context.CancelFunc
	done    chan struct{}
	err     error // why the file could not be written
	before  float64
	begin   time.Time
	file    *os.File
	smi     string // the path of nvidia-smi; "": not asked
	failed  int
	cpu     float64 // seconds of CPU time, at the line before
	at      time.Time
	written int
}

// WatchUsage starts to write the machine file of a run: the first line after some time, so that a short run has none.
// With gpu, nvidia-smi is asked for the first GPU, if it is there.
func WatchUsage(run *runlog.Run, first time.Duration, gpu bool) *UsageLog {
	ctx, stop := context.WithCancel(context.Background())
	u := &UsageLog{run: run, stop: stop, done: make(chan struct{}), begin: time.Now(), at: time.Now()}
	u.cpu, _ = cpuSeconds()
	if gpu {
		u.smi, _ = exec.LookPath("nvidia-smi")
	}
	go u.follow(ctx, first)
	return u
}

// Stop ends it. It is called by the goroutine of the run, before the run ends.
func (u *UsageLog) Stop() {
	if u == nil {
		return
	}
	u.stop()
	<-u.done
	if u.err != nil {
		u.run.Lost(MachineFile, u.err)
	}
}

func (u *UsageLog) follow(ctx context.Context, next time.Duration) {
	defer close(u.done)
	defer func() {
		if u.file != nil {
			u.file.Close()
		}
	}()
	for u.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
		u.err = u.write(ctx)
		next = max(usageEvery, time.Duration((u.before+time.Since(u.begin).Seconds())/usageSpread*float64(time.Second)))
	}
}

// write adds a line.
func (u *UsageLog) write(ctx context.Context) error {
	if u.file == nil {
		if err := u.open(); err != nil {
			return err
		}
	}
	line, err := json.Marshal(u.read(ctx))
	if err == nil {
		_, err = u.file.Write(append(line, '\n'))
	}
	return err
}

// open opens the file. That of a run that was resumed is continued.
func (u *UsageLog) open() (err error) {
	path := filepath.Join(u.run.Dir, MachineFile)
	u.before, err = lastUsage(path)
	if err == nil {
		u.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	}
	return err
}

// mostSeconds is more than any run takes.
const mostSeconds = 1e9

// lastUsage is the time of the last line of a file; 0 if there is none. Half a line at its end is cut off.
func lastUsage(path string) (seconds float64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	from := max(0, st.Size()-4096)
	tail, err := io.ReadAll(io.NewSectionReader(f, from, st.Size()-from))
	if err != nil {
		return 0, err
	}
	whole := bytes.LastIndexByte(tail, '\n') + 1
	if err := f.Truncate(from + int64(whole)); err != nil {
		return 0, err
	}
	for line := range bytes.Lines(tail[:whole]) {
		var one Usage
		if json.Unmarshal(line, &one) == nil && one.Seconds < mostSeconds {
			seconds = max(seconds, one.Seconds)
		}
	}
	return seconds, nil
}

// read measures.
func (u *UsageLog) read(ctx context.Context) Usage {
	now := time.Now()
	out := Usage{Seconds: rounded(u.before+now.Sub(u.begin).Seconds(), 10)}
	if cpu, ok := cpuSeconds(); ok {
		cores := rounded((cpu-u.cpu)/max(now.Sub(u.at).Seconds(), 1e-3), 1000)
		out.CPU, u.cpu = &cores, cpu
	}
	if bytes := memoryBytes(); bytes > 0 {
		out.Memory = &bytes
	}
	u.at = now
	if u.smi != "" && u.written%usageGPU == 0 {
		var err error
		if out.GPU, out.GPUMemory, err = askGPU(ctx, u.smi); err == nil {
			u.failed = 0
		} else if u.failed++; u.failed == usageTries {
			u.smi = ""
		}
	}
	u.written++
	return out
}

func rounded(v, parts float64) float64 { return math.Round(v*parts) / parts }

// askGPU asks nvidia-smi for the load and the memory in use of the first GPU.
func askGPU(ctx context.Context, smi string) (busy, memory *float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, usageWait)
	defer cancel()
	c := exec.CommandContext(ctx, smi, "-i", engine.FirstDevice(), "--query-gpu=utilization.gpu,memory.used",
		"--format=csv,noheader,nounits")
	c.WaitDelay = time.Second // of a child of its own that keeps the pipe
	out, err := c.Output()
	if err != nil {
		return nil, nil, err
	}
	return parseGPU(string(out))
}

// parseGPU reads a line of percent and MiB. What the chip does not report is nil.
func parseGPU(text string) (busy, memory *float64, err error) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	parts := strings.Split(first, ",")
	if len(parts) != 2 {
		return nil, nil, errors.New("nvidia-smi does not answer as expected")
	}
	number := func(text string, unit float64) *float64 {
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(v >= 0 && v < 1e12) {
			return nil
		}
		v *= unit
		return &v
	}
	return number(parts[0], 0.01), number(parts[1], 1<<20), nil
}
