package engine

import (
	"cmp"
	"context"
	"os"
	"os/exec"
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

// Room is how many bytes of data may live on the engine: half of what the program may take of a GPU, and a few
// gigabytes of a computer's memory.
func (e *Engine) Room() int64 {
	if !e.IsCUDA() {
		return 4 << 30
	}
	part := defaultMemory
	if v, err := strconv.ParseFloat(os.Getenv(GPUMemory), 64); err == nil {
		part = v
	}
	return int64(gpuMegabytes() * part / 2 * 1e6)
}

// gpuMegabytes is the memory of the GPU; 0: not known.
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
