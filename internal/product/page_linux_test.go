package product

import (
	"math/rand/v2"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/bregman-ml/bregman/internal/pool"
)

// fenced returns n random floats that end where unreadable memory begins, or begin where it ends.
func fenced(t *testing.T, r *rand.Rand, n int, atEnd bool) []float32 {
	page := syscall.Getpagesize()
	size := (4*n + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(memory) })
	for _, p := range [][]byte{memory[:page], memory[page+size:]} {
		if err := syscall.Mprotect(p, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	all := unsafe.Slice((*float32)(unsafe.Pointer(&memory[page])), size/4)
	if atEnd {
		all = all[len(all)-n:]
	}
	copy(all[:n], random(r, n))
	return all[:n:n]
}

func TestPlansTouchNothingBesideTheirSlices(t *testing.T) {
	levels(t, func(t *testing.T) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		on := pool.New(1) // faults of other goroutines cannot be recovered
		defer on.Close()
		r := rand.New(rand.NewPCG(31, 32))
		for trial := range 200 {
			atEnd := trial%2 > 0
			m, n, k := 1+r.IntN(40), 1+r.IntN(70), 1+r.IntN(40)
			c := randomConv(r)
			nx, nw, ny := c.sizes()
			func() {
				defer func() {
					if v := recover(); v != nil {
						t.Fatalf("%+v or %d×%d×%d, at the end %v: %v", c, m, n, k, atEnd, v)
					}
				}()
				for flags := range 4 {
					p := NewMatMul(m, n, k, flags&1 > 0, flags&2 > 0)
					p.Run(on, fenced(t, r, p.Scratch(1), atEnd), fenced(t, r, m*n, atEnd), fenced(t, r, m*k, atEnd),
						fenced(t, r, k*n, atEnd))
				}
				x, w, y := fenced(t, r, nx, atEnd), fenced(t, r, nw, atEnd), fenced(t, r, ny, atEnd)
				f, b, g := NewForward(c), NewInputGradient(c), NewKernelGradient(c)
				f.Run(on, fenced(t, r, f.Scratch(1), atEnd), y, x, w)
				b.Run(on, fenced(t, r, b.Scratch(1), atEnd), x, y, w)
				g.Run(on, fenced(t, r, g.Scratch(1), atEnd), w, x, y)
			}()
		}
	})
}
