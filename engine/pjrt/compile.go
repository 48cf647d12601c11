//go:build cgo && linux

package pjrt

// #include <stdlib.h>
import "C"

import (
	"strings"
	"unsafe"
)

// bregmanRewrite returns a program in which functions that stand for kernels call them, to be freed; NULL if it has
// none.
//
//export bregmanRewrite
func bregmanRewrite(code *C.char, size C.size_t, newSize *C.size_t) *C.char {
	program := unsafe.String((*byte)(unsafe.Pointer(code)), int(size))
	if !strings.Contains(program, "@bregman_kernel_") {
		return nil
	}
	text := rewrite(program)
	*newSize = C.size_t(len(text))
	return C.CString(text)
}
