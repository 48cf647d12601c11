package vec

import (
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// pages returns n elements that end where unreadable memory begins, or begin where it ends.
func pages[T element](t *testing.T, n int, atEnd bool) []T {
	size := syscall.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 3*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(memory) })
	for _, p := range [][]byte{memory[:size], memory[2*size:]} {
		if err := syscall.Mprotect(p, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	page := unsafe.Slice((*T)(unsafe.Pointer(&memory[size])), size/int(unsafe.Sizeof(T(0))))
	if atEnd {
		page = page[len(page)-n:]
	}
	page = page[:n:n]
	for i := range page {
		page[i] = T(i%7) + 0.5
	}
	return page
}

func TestKernelsReadNothingBesideTheirSlices(t *testing.T) {
	if !hasAVX2 {
		t.Skip("no assembly here")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("memory fault: %v", r)
		}
	}()
	idx := make([]int32, 400)
	for _, atEnd := range []bool{false, true} {
		x, y := pages[float64](t, 400, atEnd), pages[float64](t, 400, atEnd)
		x32, y32 := pages[float32](t, 400, atEnd), pages[float32](t, 400, atEnd)
		part := func(n int) (a, b []float64, a32, b32 []float32) {
			if atEnd {
				return x[400-n:], y[400-n:], x32[400-n:], y32[400-n:]
			}
			return x[:n], y[:n], x32[:n], y32[:n]
		}
		for n := range 34 {
			a, b, a32, b32 := part(n)
			Exp(b, a)
			Log(b, a)
			Exp32(b32, a32)
			Log32(b32, a32)
			for _, y := range []float64{2, 3, 10, 0.5, 1.5, 0.2, 0.3} {
				PowerOf(y).Signed(b, a)
				PowerOf32(y).Signed(b32, a32)
			}
			Scale(b, 0.5, a)
			Axpy(Dot(a, b), a, b)
			Axpy32(Dot32(a32, b32), a32, b32)
			if n > 0 {
				SparseAxpy(SparseDot(a, idx[:n], b), a, idx[:n], b)
				SparseAxpy32(SparseDot32(a32, idx[:n], b32), a32, idx[:n], b32)
			}
			for rows := range 10 {
				m, _, _, _ := part(rows * n)
				_, c, _, _ := part(rows)
				MulDense(c, m, a)
				AddMulTDense(b, m, c)
			}
		}
	}
}

func TestKernelsIn32BitsReadNothingBesideTheirSlices(t *testing.T) {
	if !hasAVX2 {
		t.Skip("no assembly here")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("memory fault: %v", r)
		}
	}()
	for _, atEnd := range []bool{false, true} {
		var memory [4][]float32
		for i := range memory {
			memory[i] = pages[float32](t, 1000, atEnd)
		}
		doubles := pages[float64](t, 100, atEnd)
		part := func(i, n int) []float32 { return endOf(memory[i], n, atEnd) }
		for n := range 71 {
			dst, a, b, c := part(0, n), part(1, n), part(2, n), part(3, n)
			for _, k := range exactKernels32 {
				k.f(dst, a, b, c)
			}
			for _, k := range curves32 {
				k.f(dst, a, b, c)
			}
			for k := 3.0; k <= 13; k++ {
				PowerOf32(k).Signed(dst, a)
				PowerOf32(1/k).Signed(dst, a)
			}
			for _, p := range stepPs {
				first, second := powersOf(p)
				MirrorStep32(dst, a, b, 0.1, first, second)
			}
			MaxOf32(a)
			MinOf32(a)
			Sum32(a)
			for rows := range 1000 / max(n, 20) {
				AddRows32(b, part(1, rows*n))
			}
			bytes := endOf(unsafe.Slice((*uint8)(unsafe.Pointer(&memory[0][0])), 4000), n, atEnd)
			words := endOf(unsafe.Slice((*uint16)(unsafe.Pointer(&memory[0][0])), 2000), n, atEnd)
			ints := endOf(unsafe.Slice((*int32)(unsafe.Pointer(&memory[0][0])), 1000), n, atEnd)
			clear(bytes)
			bools := endOf(unsafe.Slice((*bool)(unsafe.Pointer(&memory[0][0])), 4000), n, atEnd)
			FromBytes32(b, bytes)
			FromInt32s(b, ints)
			FromBFloat16(b, words)
			FromFloat64s32(b, endOf(doubles, n, atEnd))
			MaskFromBools(b, bools)
			BoolsFromMask(bools, b)
			ToInt32s(ints, a)
			ToBFloat16(words, a)
			ToFloat64s(endOf(doubles, n, atEnd), a)
		}
	}
}

// endOf returns the last n elements, or the first.
func endOf[T any](x []T, n int, atEnd bool) []T {
	if atEnd {
		return x[len(x)-n:]
	}
	return x[:n]
}
