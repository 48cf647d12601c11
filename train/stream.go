package train

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/images"
)

// flow is how the time of an epoch went: what the steps waited for, and what the readers did meanwhile.
type flow struct {
	starved time.Duration // steps waited for pictures
	disk    time.Duration // reading, on one core
	decode  time.Duration // decoding and copying into slots, on one core
	copying time.Duration // to the engine
	workers int
}

// What may limit the speed of an epoch whose pictures come from a file: [Epoch.Limit].
const (
	LimitTraining = "training"
	LimitDisk     = "disk"
	LimitDecoding = "decoding"
	LimitCopying  = "copying"
)

// starvedShare is the share of an epoch's time that steps may wait for pictures before the pictures are its limit.
const starvedShare = 0.05

// limit says what an epoch of so many seconds was limited by, and the share of the time that steps waited for pictures.
// It is "" for pictures that were on the engine.
func (f flow) limit(seconds float64) (what string, waited float64) {
	if f.workers == 0 || seconds <= 0 {
		return "", 0
	}
	waited = f.starved.Seconds() / seconds
	disk, decode := f.disk/time.Duration(f.workers), f.decode/time.Duration(f.workers)
	switch {
	case waited < starvedShare:
		return LimitTraining, waited
	case f.copying > max(disk, decode):
		return LimitCopying, waited
	case disk > decode:
		return LimitDisk, waited
	}
	return LimitDecoding, waited
}

// readers makes two readers for each core: while one waits for the disk, the other decodes. On a file larger than
// memory that is 1.1 to 1.2 times as fast; four are no faster.
func readers(p *images.Pack) []*images.PackReader {
	out := make([]*images.PackReader, 2*runtime.GOMAXPROCS(0))
	for i := range out {
		out[i] = p.NewReader()
	}
	return out
}

// fill calls read for 0 to n-1, on as many goroutines as there are readers. If several fail, it returns the error of
// the first.
func fill(ctx context.Context, by []*images.PackReader, n int, read func(r *images.PackReader, i int) error) (flow,
	error) {
	var next atomic.Int64
	var mu sync.Mutex
	var first error
	failed := n
	f := flow{workers: len(by)}
	var wg sync.WaitGroup
	for _, r := range by {
		wg.Go(func() {
			disk, decode := r.DiskTime, r.DecodeTime
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					break
				}
				if err := read(r, i); err != nil {
					mu.Lock()
					if i < failed {
						first, failed = err, i
					}
					mu.Unlock()
					next.Store(int64(n))
				}
			}
			mu.Lock()
			f.disk, f.decode = f.disk+r.DiskTime-disk, f.decode+r.DecodeTime-decode
			mu.Unlock()
		})
	}
	wg.Wait()
	if first == nil {
		first = ctx.Err()
	}
	return f, first
}

// slotsAhead is how many batches are read ahead: two that steps may use, one that is on the engine, one being read.
const slotsAhead = 4

// slotPool has the buffers of streams, which use them again: memory does not grow, and an epoch begins at once. Of two
// streams the second waits for the first to end or to go on: never wait for one while another is left open unread.
type slotPool chan *tensors.Tensor

func newSlotPool(batch, slot int) slotPool {
	p := make(slotPool, slotsAhead)
	for range slotsAhead {
		p <- tensors.FromShape(shapes.Make(dtypes.Uint8, batch, slot))
	}
	return p
}

// free frees the buffers. No stream may have any.
func (p slotPool) free() {
	for range len(p) {
		_ = (<-p).FinalizeAll() // there is nothing to do about an error
	}
}

// reading is a stream of a packed file's pictures: one goroutine reads batches in order, on all cores, a second one
// sends them to the engine, while steps use the ones before.
type reading struct {
	cancel context.CancelFunc
	pool   slotPool
	own    bool // the pool is freed at the end
	ready  chan result
	done   chan struct{}
	used   []*tensors.Tensor // given to the caller, the oldest first
	flow   flow              // of the reader until done is closed, but for starved
	wait   time.Duration
}

type result struct {
	batch
	err error
}

// read begins to read count batches of b pictures, whose rows are rows(k), into buffers of a pool, or of its own if
// that is nil. With tell, next gives the rows, too. Without an engine the pictures stay on the host.
func (x packed) read(entries []images.PackEntry, count, b int, rows func(k int) []int32, pool slotPool,
	tell bool) stream {
	slot := x.window.slot()
	ctx, cancel := context.WithCancel(context.Background())
	r := &reading{cancel: cancel, pool: pool, own: pool == nil, ready: make(chan result, slotsAhead),
		done: make(chan struct{})}
	if r.own {
		r.pool = newSlotPool(b, slot)
	}
	filled := make(chan result, slotsAhead)
	go func() {
		defer close(filled)
		by := readers(x.set.Pack)
		r.flow.workers = len(by)
		for k := range count {
			var t *tensors.Tensor
			select {
			case t = <-r.pool:
			case <-ctx.Done():
				return
			}
			out := result{batch: batch{slots: t}}
			list := rows(k)
			var f flow
			err := tensors.MutableFlatData(t, func(bytes []byte) {
				f, out.err = fill(ctx, by, b, func(r *images.PackReader, i int) error {
					row := list[i*packFields : (i+1)*packFields]
					return x.window.read(r, entries[row[packExample]], row, bytes[i*slot:(i+1)*slot])
				})
			})
			if out.err == nil {
				out.err = err
			}
			r.flow.disk, r.flow.decode = r.flow.disk+f.disk, r.flow.decode+f.decode
			if tell {
				out.where = tensors.FromFlatDataAndDimensions(list, b, packFields)
			}
			filled <- out // there is room for every buffer
			if out.err != nil {
				return
			}
		}
	}()
	go func() { // while the next batch is read
		defer close(r.done)
		defer close(r.ready)
		for out := range filled {
			begin := time.Now()
			if out.err == nil && x.engine != nil {
				out.err = out.slots.MaterializeOnDevice(x.engine.Backend, false, 0)
			}
			r.flow.copying += time.Since(begin)
			r.ready <- out // likewise
		}
	}()
	return r
}

func (r *reading) next(ctx context.Context) (batch, error) {
	if len(r.used) > 1 { // the one before the last: a step may still be about to start with the last
		r.pool <- r.used[0]
		r.used = r.used[1:]
	}
	begin := time.Now()
	defer func() { r.wait += time.Since(begin) }()
	select {
	case <-ctx.Done():
		return batch{}, ctx.Err()
	case out, ok := <-r.ready:
		if !ok {
			return batch{}, errors.New("a stream of pictures has no more batches")
		}
		r.used = append(r.used, out.slots)
		return out.batch, out.err
	}
}

func (r *reading) close() flow {
	r.cancel()
	<-r.done
	for out := range r.ready {
		r.used = append(r.used, out.slots)
	}
	for _, t := range r.used {
		r.pool <- t
	}
	r.used = nil
	if r.own {
		r.pool.free()
	}
	f := r.flow
	f.starved = r.wait
	return f
}
