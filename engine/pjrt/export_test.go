//go:build cgo && linux

package pjrt

import "unsafe"

// Table is the address of the copy of a plugin's table; 0 if there is none.
func Table(path string) uintptr {
	registered.Lock()
	defer registered.Unlock()
	if p := registered.plugins[path]; p != nil && p.c != nil {
		return uintptr(unsafe.Pointer(p.c.copy))
	}
	return 0
}
