package engine

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/bregman-ml/bregman/engine/pjrt"
)

// opening is held while a CUDA plugin is registered and loaded: go-xla's list of plugins is not for several goroutines.
var opening sync.Mutex

// isCUDA reports whether an engine is a GPU by CUDA: one of those looked for, or a plugin whose name says so. On a CPU
// GoMLX reads results where the plugin writes them, and must wait.
func isCUDA(f Finding) bool {
	return f.Name == CUDA || f.Name == Plugin && strings.Contains(strings.ToLower(filepath.Base(f.Where)), "cuda")
}

// letRun lets the steps of a plugin run without waiting, as many as the environment says. A plugin that does not allow
// it is used as it is.
func (e *Engine) letRun() error {
	n, err := pjrt.InFlight()
	if err != nil {
		return err
	}
	if err := pjrt.Register(e.Where, n); err != nil {
		e.Waits = fmt.Sprintf("%s waits for each step: %s", e.Where, firstLine(err))
		return nil
	}
	e.InFlight, e.queues = n, n > 0
	return nil
}

// IsCUDA reports whether the engine is a GPU by CUDA: [CUDA], or a plugin whose file name says so.
func (e *Engine) IsCUDA() bool { return isCUDA(Finding{Name: e.Name, Where: e.Where}) }

// SetInFlight changes how many steps may be in flight, from the next one on; 0 waits for each. It holds for all
// programs of the plugin. An engine that was opened with 0, or that always waits, takes no other number.
func (e *Engine) SetInFlight(n int) error {
	if !e.queues {
		if n == 0 {
			return nil
		}
		return fmt.Errorf("the %s engine waits for each step", e.Name)
	}
	if err := pjrt.Register(e.Where, n); err != nil {
		return err
	}
	e.InFlight = n
	return nil
}

// steps says whether steps wait.
func (e *Engine) steps() string {
	switch {
	case e.Waits != "":
		return strings.TrimPrefix(e.Waits, e.Where+" ")
	case e.InFlight == 0:
		return "waits for each step"
	}
	return fmt.Sprintf("steps do not wait, up to %d in flight", e.InFlight)
}

// withSteps adds to what was found whether steps will wait, by the settings alone: Probe asks the plugin.
func withSteps(found []Finding) []Finding {
	for i, f := range found {
		if !f.Usable {
			continue
		}
		n, err := pjrt.InFlight()
		found[i].what = f.Why
		found[i].Why += "; " + (&Engine{InFlight: n}).steps()
		if err != nil {
			found[i].Why = f.Why + "; " + err.Error()
		}
	}
	return found
}
