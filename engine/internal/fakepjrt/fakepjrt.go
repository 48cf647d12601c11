//go:build cgo && linux

package fakepjrt

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef uintptr_t (*function)(uintptr_t, uintptr_t, uintptr_t);

static uintptr_t call(void* f, uintptr_t a, uintptr_t b, uintptr_t c) { return ((function)f)(a, b, c); }

// call_text is call for a function that returns a string to free.
static char* call_text(void* f, uintptr_t a, uintptr_t b, uintptr_t c) {
  return ((char* (*)(uintptr_t, uintptr_t, uintptr_t))f)(a, b, c);
}

// call_program passes a string.
static uintptr_t call_program(void* f, uintptr_t a, uintptr_t b, char* text) {
  return ((uintptr_t (*)(uintptr_t, uintptr_t, char*))f)(a, b, text);
}
*/
import "C"

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// Compiler returns the C compiler; without one the test is skipped.
func Compiler(t testing.TB) string {
	t.Helper()
	for _, name := range []string{cmp.Or(os.Getenv("CC"), "cc"), "gcc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no C compiler: the fake PJRT plugin cannot be built; install Debian's gcc")
	return ""
}

// CC runs the C compiler, with the folder of go-xla's pjrt_c_api.h among those it looks in.
func CC(t testing.TB, args ...string) {
	t.Helper()
	cc := Compiler(t)
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/gomlx/go-xla").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	include := "-I" + filepath.Join(strings.TrimSpace(string(dir)), "pjrt")
	if out, err := exec.CommandContext(t.Context(), cc, append([]string{"-std=gnu11", include}, args...)...).
		CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, out)
	}
}

// Build makes a plugin at path, with macros for the C compiler.
func Build(t testing.TB, path string, macros ...string) {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	args := []string{"-Wall", "-Wextra", "-g", "-shared", "-fPIC", "-o", path,
		filepath.Join(filepath.Dir(here), "testdata", "plugin.c"), "-lpthread"}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	CC(t, args...)
}

// Plugin is a plugin that is loaded, and a table of its entries to call: its own, or another's copy.
type Plugin struct {
	t       testing.TB
	library unsafe.Pointer
	table   uintptr
}

// Load loads the plugin at path. It stays loaded, since others may have, too.
func Load(t testing.TB, path string) *Plugin {
	t.Helper()
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	p := &Plugin{t: t, library: C.dlopen(name, C.RTLD_NOW|C.RTLD_LOCAL)}
	if p.library == nil {
		t.Fatalf("dlopen: %s", C.GoString(C.dlerror()))
	}
	p.table = p.call("GetPjrtApi", 0, 0, 0)
	return p
}

// Through returns the plugin with another table to call, for a test.
func (p *Plugin) Through(t testing.TB, table uintptr) *Plugin {
	return &Plugin{t: t, library: p.library, table: table}
}

func (p *Plugin) function(name string) unsafe.Pointer {
	symbol := C.CString(name)
	defer C.free(unsafe.Pointer(symbol))
	f := C.dlsym(p.library, symbol)
	if f == nil {
		panic("the fake plugin has no " + name)
	}
	return f
}

func (p *Plugin) call(name string, a, b, c uintptr) uintptr {
	return uintptr(C.call(p.function(name), C.uintptr_t(a), C.uintptr_t(b), C.uintptr_t(c)))
}

func (p *Plugin) text(name string, a, b, c uintptr) string {
	text := C.call_text(p.function(name), C.uintptr_t(a), C.uintptr_t(b), C.uintptr_t(c))
	defer C.free(unsafe.Pointer(text))
	return C.GoString(text)
}

// Differs counts the pointers in which the table differs from the plugin's own.
func (p *Plugin) Differs() int { return int(p.call("fake_differs", p.table, 0, 0)) }

// Hold makes executions end only by Finish; without it they end at once.
func (p *Plugin) Hold(on bool) {
	var v uintptr
	if on {
		v = 1
	}
	p.call("fake_hold", v, 0, 0)
}

// Waiting returns when so many threads wait for an event.
func (p *Plugin) Waiting(threads int) {
	p.t.Helper()
	if p.call("fake_waiting", uintptr(threads), 0, 0) == 0 {
		p.t.Fatalf("%d threads should wait for an event", threads)
	}
}

// Finish ends all executions.
func (p *Plugin) Finish() { p.call("fake_finish", 0, 0, 0) }

// Left says what is left besides clients and programs, and how often the plugin was misused; "" if all is well.
func (p *Plugin) Left() string { return p.text("fake_left", 0, 0, 0) }

// Record returns what was called since it was asked last, a line a call: "execute 1.2" is execution 2 of program 1.
func (p *Plugin) Record() []string {
	return strings.FieldsFunc(p.text("fake_record", 0, 0, 0), func(r rune) bool { return r == '\n' })
}

// Client is a client of the plugin.
type Client struct {
	p *Plugin
	c uintptr
}

// NewClient makes a client, which ends with the test.
func (p *Plugin) NewClient() *Client {
	c := &Client{p, p.call("call_create", p.table, 0, 0)}
	p.t.Cleanup(c.Destroy)
	return c
}

// Destroy destroys it, once.
func (c *Client) Destroy() {
	if c.c != 0 {
		c.p.call("call_destroy_client", c.p.table, c.c, 0)
	}
	c.c = 0
}

// Program is a compiled program.
type Program struct {
	Name int // in records
	p    *Plugin
	c    uintptr
}

// Compile compiles a program, say "outputs=3 fails=7", whose seventh execution fails, or returns nil.
func (c *Client) Compile(text string) *Program {
	s := C.CString(text)
	defer C.free(unsafe.Pointer(s))
	x := C.call_program(c.p.function("call_compile"), C.uintptr_t(c.p.table), C.uintptr_t(c.c), s)
	if x == 0 {
		return nil
	}
	return &Program{int(c.p.call("fake_name", uintptr(x), 0, 0)), c.p, uintptr(x)}
}

// Where Execute runs a program: on one device, on both at once, or on the one it was compiled for, without asking for
// an event.
const (
	Device0 = iota
	Device1
	Both
	WithoutEvent
)

// What Execute returns, if not an error.
const (
	HandedOver = "handed over" // there was no event to wait for
	Waited     = "waited"
)

// Execute runs the program once and destroys what it returns. The result is one of those above or the text of an error.
func (x *Program) Execute(where int) string {
	return x.p.text("call_execute", x.p.table, x.c, uintptr(where))
}

// Destroy destroys the program.
func (x *Program) Destroy() { x.p.call("call_destroy", x.p.table, x.c, 0) }

// Finish ends an execution, counted from 1, or with 0 all of the program.
func (x *Program) Finish(number int) { x.p.call("fake_finish", x.c, uintptr(number), 0) }

// Fail makes an execution, counted from 1, fail: in its call, or later.
func (x *Program) Fail(number int, inTheCall bool) {
	var v uintptr
	if inTheCall {
		v = 1
	}
	x.p.call("fake_fail", x.c, uintptr(number), v)
}

// Unfinished counts its executions that have not ended.
func (x *Program) Unfinished() int { return int(x.p.call("fake_unfinished", x.c, 0, 0)) }
