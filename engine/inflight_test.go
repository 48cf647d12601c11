//go:build cgo && linux

package engine

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/engine/internal/fakepjrt"
	"github.com/bregman-ml/bregman/engine/pjrt"
)

// A CUDA plugin's steps do not wait unless the environment or the plugin says otherwise. The plugin's reason is one
// line, and the engine works all the same.
func TestStepsOnAGPUDoNotWait(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	for _, c := range []struct {
		name, variable string
		macros         []string
		inFlight       int
		waits          string
	}{
		{name: "xla_cuda_plugin.so", inFlight: 2},
		{name: "pjrt_c_api_cuda_one_plugin.so", variable: "1", inFlight: 1},
		{name: "pjrt_c_api_cuda_none_plugin.so", variable: "0"},
		{name: "pjrt_c_api_tpu_plugin.so"},
		{name: "pjrt_c_api_cuda_odd_plugin.so", macros: []string{"MAJOR=1"},
			waits: "cuda_odd_plugin.so waits for each step: its PJRT version is 1."},
	} {
		path := filepath.Join(dir, c.name)
		fakepjrt.Build(t, path, c.macros...)
		t.Setenv(pjrt.Variable, c.variable)
		e, err := Open(path)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if e.InFlight != c.inFlight || (e.Waits == "") != (c.waits == "") || strings.Contains(e.Waits, "\n") ||
			!strings.Contains(e.Waits, c.waits) {
			t.Errorf("%s: %d in flight, %q", c.name, e.InFlight, e.Waits)
		}
		e.Backend.Finalize()
	}
}

func TestTheEnvironmentIsChecked(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "xla_cuda_plugin.so")
	fakepjrt.Build(t, path)
	t.Setenv(pjrt.Variable, "many")
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "BREGMAN_GPU_INFLIGHT=many: want") {
		t.Errorf("error %v", err)
	}
	if f := withSteps([]Finding{{Name: CUDA, Where: path, Usable: true, Why: "a plugin"}})[0]; !strings.Contains(f.Why,
		"a plugin; BREGMAN_GPU_INFLIGHT=many: want") {
		t.Errorf("%+v", f)
	}
}

// Doctor says whether steps wait: by the settings, and after a try by the plugin. The try also tells whether it runs
// kernels of ours; this one compiles nothing.
func TestFindingsSayWhetherStepsWait(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	good, odd := filepath.Join(dir, "good_cuda.so"), filepath.Join(dir, "odd_cuda.so")
	fakepjrt.Build(t, good)
	fakepjrt.Build(t, odd, "MAJOR=2")
	const refused = "; kernels of ours are off: PJRT error (code=13): no program"
	for _, c := range []struct{ path, variable, look, probe string }{
		{good, "", "a plugin; steps do not wait, up to 2 in flight",
			"a plugin; steps do not wait, up to 2 in flight" + refused},
		{good, "0", "a plugin; waits for each step", "a plugin; waits for each step" + refused},
		{odd, "4", "a plugin; steps do not wait, up to 4 in flight",
			"a plugin; waits for each step: its PJRT version is 2.104, 0 is needed; kernels of ours are off: its function " +
				"table cannot be replaced"},
	} {
		t.Setenv(pjrt.Variable, c.variable)
		found := withSteps([]Finding{{Name: CUDA, Where: c.path, Usable: true, Why: "a plugin"}, {Name: CUDA, Why: "no GPU"}})
		if found[0].Why != c.look || found[1].Why != "no GPU" {
			t.Errorf("%+v: found %q, %q", c, found[0].Why, found[1].Why)
		}
		if f := Probe(found)[0]; f.Why != c.probe || !f.Usable || !f.Tried {
			t.Errorf("%+v: tried %+v", c, f)
		}
	}
}

// Lanes of a GPU are engines of their own, each asked for once. Where there is no room for another, the first serves.
func TestLanesOfAGPU(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "xla_cuda_plugin.so")
	fakepjrt.Build(t, path)
	var p Pool
	var lanes []*Engine
	for i := range 3 {
		e, err := p.Lane(i%2, 2).Open(path)
		if err != nil {
			t.Fatal(err)
		}
		lanes = append(lanes, e)
	}
	if lanes[0].Backend == lanes[1].Backend || lanes[0] != lanes[2] {
		t.Errorf("lanes %+v", lanes)
	}
	err := lanes[0].Compile(func() error {
		compiling := make(chan struct{})
		go func() {
			defer close(compiling)
			_ = lanes[1].Compile(func() error { return nil })
		}()
		select {
		case <-compiling:
			return errors.New("two lanes compile at once")
		case <-time.After(20 * time.Millisecond):
			return nil
		}
	})
	if err != nil {
		t.Error(err)
	}

	full := &Pool{opened: map[place]*Engine{{Plugin, path + ".gone", lane{0, 2}}: lanes[0]}}
	if e, err := full.Lane(1, 2).Open(path + ".gone"); err != nil || e.Backend != lanes[0].Backend || len(e.Passed) != 1 ||
		!strings.Contains(e.Passed[0], "no room for another") {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := new(Pool).Lane(1, 2).Open(path + ".gone"); err == nil {
		t.Error("an engine that is not there")
	}
}

func TestInFlightCanChangeWhileAnEngineRuns(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	for _, c := range []struct {
		name, variable string
		takes          bool
	}{
		{"xla_cuda_plugin.so", "", true},
		{"pjrt_c_api_cuda_waits_plugin.so", "0", false}, // go-xla has loaded the plugin as it is
	} {
		path := filepath.Join(dir, c.name)
		fakepjrt.Build(t, path)
		t.Setenv(pjrt.Variable, c.variable)
		e, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if !e.IsCUDA() {
			t.Errorf("%s: not CUDA", c.name)
		}
		for _, n := range []int{0, 3, 0, 2} {
			err := e.SetInFlight(n)
			if takes := c.takes || n == 0; takes != (err == nil) || takes && e.InFlight != n {
				t.Errorf("%s: %d in flight: %d, error %v", c.name, n, e.InFlight, err)
			}
		}
		e.Backend.Finalize()
	}
}
