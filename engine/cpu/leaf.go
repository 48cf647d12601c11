package cpu

import (
	"unsafe"

	"github.com/bregman-ml/bregman/internal/vec"
)

// bind makes a leaf's register show the places from lo on.
func (l *leaf) bind(p *program, m *machine, lo, n int) {
	switch l.how {
	case tiled:
	case direct:
		at := unsafe.Add(p.x.at(l.s), lo*l.bytes)
		if l.isBool {
			vec.MaskFromBools(m.f(l.register, n), unsafe.Slice((*bool)(at), n))
			return
		}
		m.ptr[l.register] = at
	case windowed:
		m.ptr[l.register] = unsafe.Add(p.x.at(l.s), lo%p.period*l.bytes)
	case gathered:
		l.fill(m.ptr[l.register], p.x.at(l.s), lo, n)
	}
}

// fillTile writes a block of a repeated vector.
func (l *leaf) fillTile(x *execution, p *program) {
	n := min(p.block, p.size)
	l.fill(unsafe.Add(x.tiles, l.tile), x.at(l.s), 0, n)
}

// fill copies the values of n places from lo on.
func (l *leaf) fill(dst, src unsafe.Pointer, lo, n int) {
	switch {
	case l.isBool:
		spreadOver(unsafe.Slice((*uint32)(dst), n), src, l, lo, func(b bool) uint32 {
			if b {
				return allOnes
			}
			return 0
		})
	case l.bytes == 1:
		spreadOver(unsafe.Slice((*uint8)(dst), n), src, l, lo, func(v uint8) uint8 { return v })
	case l.bytes == 4:
		spreadOver(unsafe.Slice((*uint32)(dst), n), src, l, lo, func(v uint32) uint32 { return v })
	default:
		spreadOver(unsafe.Slice((*uint64)(dst), n), src, l, lo, func(v uint64) uint64 { return v })
	}
}

// inRow sets dst to src as it becomes in a register: bools become masks, all else stays what it is.
func inRow[S, D any](dst []D, src []S) {
	switch src := any(src).(type) {
	case []D:
		copy(dst, src)
	case []bool:
		vec.MaskFromBools(unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)), src)
	default:
		panic("engine cpu: a value of an unknown type")
	}
}

// repeat sets all of dst to v.
func repeat[D any](dst []D, v D) {
	if unsafe.Sizeof(v) == 4 && len(dst) >= 16 {
		all := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst))
		one := *(*float32)(unsafe.Pointer(&v))
		vec.SelectScalars32(all, all, one, one) // whichever it takes
		return
	}
	for i := range dst {
		dst[i] = v
	}
}

// spreadOver walks the places in order; along the last axis the source stands still or moves by a stride.
func spreadOver[S, D any](dst []D, src unsafe.Pointer, l *leaf, lo int, as func(S) D) {
	if len(l.dims) == 0 {
		v := as(*(*S)(src))
		for i := range dst {
			dst[i] = v
		}
		return
	}
	size := unsafe.Sizeof(*new(S))
	last := len(l.dims) - 1
	run, stride := l.dims[last], l.strides[last]
	for len(dst) > 0 {
		// where lo is
		at, rest := 0, lo/run
		for k := last - 1; k >= 0; k-- {
			at += rest % l.dims[k] * l.strides[k]
			rest /= l.dims[k]
		}
		from := lo % run
		n := min(run-from, len(dst))
		at += from * stride
		switch stride {
		case 0:
			repeat(dst[:n], as(*(*S)(unsafe.Add(src, uintptr(at)*size))))
		case 1:
			inRow(dst[:n], unsafe.Slice((*S)(unsafe.Add(src, uintptr(at)*size)), n))
		default:
			for i := range n {
				dst[i] = as(*(*S)(unsafe.Add(src, uintptr(at+i*stride)*size)))
			}
		}
		dst, lo = dst[n:], lo+n
	}
}
