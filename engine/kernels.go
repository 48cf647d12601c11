package engine

import (
	"fmt"
	"os"
	"strings"

	"github.com/bregman-ml/bregman/engine/customop"
	"github.com/bregman-ml/bregman/engine/pjrt"
)

// GPUKernels is the environment variable that turns kernels of ours off: 0 leaves all to XLA.
const GPUKernels = "BREGMAN_GPU_KERNELS"

// useKernels lets graphs call kernels of ours if the plugin runs a small one and its result is right. If not, Plain
// says why, and graphs are left to XLA.
func (e *Engine) useKernels() {
	switch text := os.Getenv(GPUKernels); text {
	case "", "1":
	case "0":
		e.noKernels = GPUKernels + "=0"
		return
	default:
		e.noKernels = fmt.Sprintf("%s=%s: want 0 or 1", GPUKernels, text)
		e.Plain = e.noKernels
		return
	}
	if !pjrt.Rewrites(e.Where) {
		e.noKernels = "its function table cannot be replaced" // Waits has said why
		return
	}
	if err := Try(func() error { return customop.Probe(e.Backend) }); err != nil {
		e.noKernels = pluginError(err)
		e.Plain = fmt.Sprintf("%s does not run our kernels, so XLA's are used: %s", e.Where, e.noKernels)
		return
	}
	customop.Use(e.Backend, customop.Kernels)
}

// kernels says whether graphs call kernels of ours.
func (e *Engine) kernels() string {
	if e.noKernels != "" {
		return "kernels of ours are off: " + e.noKernels
	}
	return "runs kernels of ours"
}

// pluginError is what a plugin says, without all that GoMLX says before it.
func pluginError(err error) string {
	text := firstLine(err)
	if i := strings.LastIndex(text, "PJRT error"); i >= 0 {
		return text[i:]
	}
	return text
}
