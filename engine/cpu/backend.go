// Package cpu is an engine for GoMLX graphs on CPUs: a compute.Backend in Go and assembly, registered as "cpu".
//
// A graph is compiled into a list of steps over one block of memory. Matrix products and convolutions are plans of
// package product; chains of element-wise operations, with the sums that end them, are fused into programs that run
// over blocks small enough for the first cache. Operations that few networks need run on GoMLX's engine in Go, one by
// one (see Fallbacks); graphs with loops, branches or dynamic shapes run on it as a whole. So everything that engine
// can do, this one can.
//
// GoMLX's engine also checks every operation and infers its shape: each graph is built there, too, as a shadow.
package cpu

import (
	"io"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"

	"github.com/bregman-ml/bregman/internal/pool"
)

// Name is what GOMLX_BACKEND and compute.NewWithConfig take; "cpu:threads=4" sets the number of threads.
const Name = "cpu"

func init() {
	compute.Register(Name, func(config string) (compute.Backend, error) { return New(config) })
}

// Backend is the engine.
type Backend struct {
	shadow   compute.Backend // GoMLX's engine in Go
	pool     *pool.Pool
	alone    []*pool.Pool // one worker each: for plans that a worker runs by itself
	finished atomic.Bool

	fallbacks string // what to tell of operations on GoMLX's engine, see Fallbacks
	traceOut  io.Writer
}

var _ compute.Backend = (*Backend)(nil)

// New starts an engine; config is empty or "threads=N", by default GOMAXPROCS.
func New(config string) (*Backend, error) {
	threads := 0
	for _, option := range strings.FieldsFunc(config, func(r rune) bool { return r == ',' }) {
		key, value, _ := strings.Cut(option, "=")
		n, err := strconv.Atoi(value)
		if key != "threads" || err != nil || n < 1 {
			return nil, errors.Errorf("engine %s: option %q: the only one is threads=N with N at least 1", Name, option)
		}
		threads = n
	}
	shadow, err := gobackend.New("ops_sequential") // its parallel mode can deadlock on few cores
	if err != nil {
		return nil, err
	}
	fallbacks, err := readFallbacks()
	if err != nil {
		return nil, err
	}
	b := &Backend{shadow: shadow, pool: pool.New(threads), fallbacks: fallbacks, traceOut: os.Stderr}
	for range b.pool.Threads() {
		b.alone = append(b.alone, pool.New(1))
	}
	return b, nil
}

// Name returns the name under which the engine is registered.
func (b *Backend) Name() string { return Name }

// String returns the name.
func (b *Backend) String() string { return Name }

// Description is a line about the engine.
func (b *Backend) Description() string {
	return "bregman's engine for CPUs, " + strconv.Itoa(b.pool.Threads()) + " threads"
}

// NumDevices is 1.
func (b *Backend) NumDevices() int { return 1 }

// DeviceDescription describes the only device.
func (b *Backend) DeviceDescription(compute.DeviceNum) string { return b.Description() }

// Capabilities are those of GoMLX's engine in Go, which takes what is not native here, and batch norms.
func (b *Backend) Capabilities() compute.Capabilities {
	c := b.shadow.Capabilities()
	c.Operations = maps.Clone(c.Operations)
	for _, op := range []compute.OpType{compute.OpTypeBatchNormForTraining, compute.OpTypeBatchNormForInference,
		compute.OpTypeBatchNormGradient} {
		c.Operations[op] = true
	}
	return c
}

// Finalize ends the engine.
func (b *Backend) Finalize() {
	if b.finished.CompareAndSwap(false, true) {
		b.pool.Close()
		for _, p := range b.alone {
			p.Close()
		}
	}
}

// IsFinalized says whether Finalize was called.
func (b *Backend) IsFinalized() bool { return b.finished.Load() }

// Buffer is a tensor in memory. It wraps one of GoMLX's engine, so that operations that run there need no copy.
type Buffer struct {
	backend *Backend
	inner   compute.Buffer
	flat    any // a slice of the type's Go values
}

var _ compute.Buffer = (*Buffer)(nil)

func (b *Backend) wrap(inner compute.Buffer) (*Buffer, error) {
	flat, err := inner.Data()
	return &Buffer{b, inner, flat}, err
}

// BufferFromFlatData copies a slice.
func (b *Backend) BufferFromFlatData(device compute.DeviceNum, flat any, shape shapes.Shape) (compute.Buffer, error) {
	inner, err := b.shadow.BufferFromFlatData(device, flat, shape)
	if err != nil {
		return nil, err
	}
	return b.wrap(inner)
}

// HasSharedBuffers is true: a buffer is a Go slice.
func (b *Backend) HasSharedBuffers() bool { return true }

// NewSharedBuffer returns a buffer and its slice.
func (b *Backend) NewSharedBuffer(device compute.DeviceNum, shape shapes.Shape) (compute.Buffer, any, error) {
	inner, flat, err := b.shadow.NewSharedBuffer(device, shape)
	return &Buffer{b, inner, flat}, flat, err
}

// Backend returns the engine.
func (b *Buffer) Backend() compute.Backend { return b.backend }

// Finalize gives the memory back.
func (b *Buffer) Finalize() error {
	if b.inner == nil {
		return nil
	}
	inner := b.inner
	b.inner, b.flat = nil, nil
	return inner.Finalize()
}

func (b *Buffer) check() error {
	if b == nil || b.inner == nil {
		return errors.Errorf("engine %s: the buffer was finalized or donated", Name)
	}
	return nil
}

// Shape returns the shape.
func (b *Buffer) Shape() (shapes.Shape, error) {
	if err := b.check(); err != nil {
		return shapes.Invalid(), err
	}
	return b.inner.Shape()
}

// DeviceNum is 0.
func (b *Buffer) DeviceNum() (compute.DeviceNum, error) { return 0, b.check() }

// ToFlatData copies the values into a slice.
func (b *Buffer) ToFlatData(flat any) error {
	if err := b.check(); err != nil {
		return err
	}
	return b.inner.ToFlatData(flat)
}

// Data returns the values themselves.
func (b *Buffer) Data() (any, error) { return b.flat, b.check() }

// CopyToDevice copies to the only device there is.
func (b *Buffer) CopyToDevice(device compute.DeviceNum) (compute.Buffer, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	inner, err := b.inner.CopyToDevice(device)
	if err != nil {
		return nil, err
	}
	return b.backend.wrap(inner)
}
