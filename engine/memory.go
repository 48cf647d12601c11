package engine

import (
	"cmp"
	"context"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// FirstDevice is the GPU that CUDA counts first, as nvidia-smi names it.
func FirstDevice() string {
	first, _, _ := strings.Cut(os.Getenv("CUDA_VISIBLE_DEVICES"), ",")
	return cmp.Or(strings.TrimSpace(first), "0")
}

// Lanes is how many engines may share the GPU: three if there is memory for them, and one where nobody knows. Three
// fill a GPU: what one run leaves idle, in kernels too small for it, between them, and while the host measures, the
// others use.
func Lanes() int { return lanes(gpuMegabytes(), os.Getenv(GPUMemory)) }

// An engine should have at least laneMegabytes: ResNet-18 with a batch of 1024 takes 2.7 GB, and a larger network
// should fit where it would alone.
const (
	mostLanes     = 3
	laneMegabytes = 16_000
)

func lanes(megabytes float64, share string) int {
	part := defaultMemory
	if v, err := strconv.ParseFloat(share, 64); err == nil {
		part = v
	}
	return max(1, min(mostLanes, int(megabytes*part/laneMegabytes)))
}

// Memory is how many bytes this engine may take: its share of a GPU, or what [SystemMemory] says. 0: not known.
func (e *Engine) Memory() int64 {
	if e.IsCUDA() {
		return int64(gpuMegabytes() * mebibyte * e.memory)
	}
	return SystemMemory()
}

// Room is how many bytes of data may live on the engine: half of what it may take, and at most a few gigabytes of a
// computer's memory.
func (e *Engine) Room() int64 {
	room := e.Memory() / 2
	if !e.IsCUDA() && (room == 0 || room > mostOnCPU) {
		room = mostOnCPU
	}
	return room
}

const (
	mostOnCPU = 4 << 30
	mebibyte  = 1 << 20 // nvidia-smi's unit
)

// GPU is the memory of the first GPU and how much of it an engine takes by itself, in bytes; 0: there is none, or it is
// not known.
func GPU() (memory, may int64) {
	part := defaultMemory
	if v, err := strconv.ParseFloat(os.Getenv(GPUMemory), 64); err == nil {
		part = v
	}
	all := gpuMegabytes() * mebibyte
	return int64(all), int64(all * part)
}

// SystemMemory is how many bytes this process may take of the computer's memory: all of it, or less in a container with
// a limit or with Go's GOMEMLIMIT. 0: not known.
func SystemMemory() int64 {
	least := int64(math.MaxInt64)
	for _, limit := range []int64{totalMemory(), debug.SetMemoryLimit(-1), fileBytes("/sys/fs/cgroup/memory.max"),
		fileBytes("/sys/fs/cgroup/memory/memory.limit_in_bytes")} {
		if limit > 0 {
			least = min(least, limit)
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// totalMemory is the computer's memory on Linux; 0: not known.
func totalMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			kilobytes, _ := strconv.ParseInt(f[1], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// fileBytes is the number in a file; 0: there is none.
func fileBytes(path string) int64 {
	text, _ := os.ReadFile(path)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// gpuMegabytes is the memory of the GPU in MiB; 0: not known.
func gpuMegabytes() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nvidia-smi", "-i", FirstDevice(), "--query-gpu=memory.total",
		"--format=csv,noheader,nounits").Output()
	if err != nil {
		return 0
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return 0
	}
	return v
}
