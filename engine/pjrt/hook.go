//go:build cgo && linux

package pjrt

/*
#cgo CFLAGS: -Wall -Wextra
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "hook.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/gomlx/go-xla/pjrt"
)

// registered are the plugins that Register was asked for, by path.
var registered = struct {
	sync.Mutex
	plugins map[string]*plugin
}{plugins: map[string]*plugin{}}

type plugin struct {
	c   *C.plugin // nil: it stays as it is
	err error     // why
}

// Register lets up to inFlight executions of each program of the plugin at path, an absolute one, run without waiting,
// and programs call kernels of ours. It must be called before go-xla loads the plugin, and not while go-xla loads
// another. An error says why the plugin stays as it is, and go-xla waits for each execution: all else works. Later
// calls only change inFlight.
func Register(path string, inFlight int) error {
	registered.Lock()
	defer registered.Unlock()
	p := registered.plugins[path]
	if p == nil {
		p = open(path)
		registered.plugins[path] = p
	}
	if p.c == nil && inFlight == 0 {
		return nil // that is what was asked for
	}
	if p.c != nil {
		C.bregman_pjrt_set_in_flight(p.c, C.int(max(0, min(inFlight, most))))
	}
	return p.err
}

// Rewrites reports whether programs for the plugin at path can call kernels of ours.
func Rewrites(path string) bool {
	registered.Lock()
	defer registered.Unlock()
	p := registered.plugins[path]
	return p != nil && p.c != nil
}

func open(path string) *plugin {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	c := C.bregman_pjrt_open(name, &why[0], C.size_t(len(why)))
	if c == nil {
		return &plugin{err: errors.New(C.GoString(&why[0]))}
	}
	if err := pjrt.RegisterPreloadedPlugin(path, uintptr(unsafe.Pointer(c.copy))); err != nil {
		return &plugin{err: fmt.Errorf("it does not start: %w", err)}
	}
	return &plugin{c: c}
}
