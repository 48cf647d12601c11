//go:build cgo && linux

package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
)

// What XLA says of a program's memory is read from fields that go-xla does not export: another version may rename them.
func TestGoXLAKeepsTheMemoryOfAProgramWhereItIsRead(t *testing.T) {
	exec, ok := reflect.TypeFor[xla.Executable]().FieldByName("exec")
	if !ok || exec.Type != reflect.TypeFor[*pjrt.LoadedExecutable]() {
		t.Fatalf("xla.Executable.exec is %v", exec.Type)
	}
	loaded := new(pjrt.LoadedExecutable)
	loaded.OnDeviceMemoryUsageStats.Temporary = 7
	if bytes, ok := xlaTemporary(reflect.ValueOf(&struct{ exec *pjrt.LoadedExecutable }{loaded})); bytes != 7 || !ok {
		t.Errorf("%d bytes, %v", bytes, ok)
	}
}

// A plugin that is there and does not start is no secret: auto goes on to the next and says why, Probe finds out
// without a run.
func TestPluginsThatDoNotStartAreReported(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", dir)
	plugin := filepath.Join(dir, "pjrt_c_api_cpu_plugin.so")
	if err := os.WriteFile(plugin, []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(Look(), func(f Finding) bool { return f.Where == plugin })
	if at < 0 || !Look()[at].Usable || Look()[at].Tried {
		t.Fatalf("%+v", Look())
	}
	e, err := openFirst(open, "auto", []Finding{{Name: "cuda", Why: "no GPU"}, Look()[at], {Name: "go", Usable: true}})
	if err != nil {
		t.Fatal(err)
	}
	if e.Name != "go" || len(e.Passed) != 1 || !strings.HasPrefix(e.Passed[0], plugin+" does not start: ") ||
		strings.Contains(e.Passed[0], "\n") {
		t.Errorf("%s, passed over: %q", e.Name, e.Passed)
	}
	if f := Probe(Look()[at : at+1])[0]; f.Usable || !f.Tried || !strings.HasPrefix(f.Why, "does not start: ") {
		t.Errorf("%+v", f)
	}
	if _, err := Open("xla-cpu"); err == nil || !strings.Contains(err.Error(), "does not start") {
		t.Errorf("error %v", err)
	}
}

func TestXLAKeepsItsTuningOnlyWhereThePluginKnowsTheFlag(t *testing.T) {
	const flag = "xla_gpu_per_fusion_autotune_cache_dir"
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	noise := bytes.Repeat([]byte("x"), 1<<20)
	for name, at := range map[string]int{"front": 0, "middle": 1<<20 - 7, "across": 1<<20 + 30} {
		plugin := write(name, bytes.Join([][]byte{append(noise, noise...)[:at], []byte(flag), noise}, nil))
		t.Setenv("XLA_FLAGS", "--mine=1")
		rememberTuning(plugin)
		got := os.Getenv("XLA_FLAGS")
		if !strings.HasPrefix(got, "--mine=1 --"+flag+"="+dir) {
			t.Errorf("%s: %q", name, got)
		}
		rememberTuning(plugin)
		if os.Getenv("XLA_FLAGS") != got {
			t.Errorf("set twice: %q", os.Getenv("XLA_FLAGS"))
		}
	}
	t.Setenv("XLA_FLAGS", "")
	rememberTuning(write("old", noise))
	if got := os.Getenv("XLA_FLAGS"); got != "" {
		t.Errorf("an old plugin would end the process: %q", got)
	}
}

// The libraries of a plugin are for this process alone.
func TestOtherProgramsGetTheLibraryPathOfTheUser(t *testing.T) {
	variables := func() string {
		var out []string
		for _, v := range Environ() {
			if strings.HasPrefix(v, libraryPath+"=") || strings.HasPrefix(v, restarted+"=") {
				out = append(out, v)
			}
		}
		return strings.Join(out, " ")
	}
	t.Setenv(libraryPath, "/plugin/lib:/mine")
	for _, c := range []struct{ restarted, want string }{
		{libraryPath + "=/mine", libraryPath + "=/mine"},
		{libraryPath + "=", ""},
	} {
		t.Setenv(restarted, c.restarted)
		if got := variables(); got != c.want {
			t.Errorf("%s: %q, want %q", c.restarted, got, c.want)
		}
	}
	os.Unsetenv(restarted)
	if got, want := variables(), libraryPath+"=/plugin/lib:/mine"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
