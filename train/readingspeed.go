package train

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/bregman-ml/bregman/images"
)

// ReadingSpeed is how fast the pictures of a packed file are read, decoded and cropped, as training does it.
type ReadingSpeed struct {
	Images    int     `json:"images"`
	Seconds   float64 `json:"seconds"`
	Disk      float64 `json:"disk_seconds"`   // reading, on one core
	Decode    float64 `json:"decode_seconds"` // decoding and copying, on one core
	Allocated float64 `json:"bytes_allocated_per_image"`
	Heap      uint64  `json:"heap_bytes"`       // the most that was seen
	FirstHeap uint64  `json:"heap_bytes_first"` // the most in the first tenth
}

// Rate is images a second.
func (r ReadingSpeed) Rate() float64 { return float64(r.Images) / r.Seconds }

// leastRead is how many pictures an epoch of the measurement has.
const leastRead = 200_000

// MeasureReading reads random crops of the training pictures, batch by batch, for at least so many seconds: what a
// network that costs nothing would be fed. Nothing reaches an engine.
func MeasureReading(ctx context.Context, set *images.Set, batch int, seconds float64) (ReadingSpeed, error) {
	var out ReadingSpeed
	if set.Pack == nil {
		return out, fmt.Errorf("%s is not a packed file", set.Name)
	}
	long := *set
	long.Train.Packed = slices.Clone(set.Train.Packed) // a small set again and again, so that epochs have many batches
	for long.Train.Len() < leastRead {
		long.Train.Packed = append(long.Train.Packed, set.Train.Packed...)
	}
	set, batch = &long, min(batch, long.Train.Len())
	x := newPacked(&Session{set: set, settings: Settings{Augment: true, Stream: true, Batch: batch}})
	defer x.free()
	var m runtime.MemStats
	for epoch := 1; out.Seconds < seconds; epoch++ {
		plan := x.draw(set.Train.Len()/batch*batch, 1, epoch)
		runtime.ReadMemStats(&m)
		before, begin := m.TotalAlloc, time.Now()
		s := x.stream(plan, batch)
		var err error
		n := 0
		for ; n < len(plan) && err == nil && out.Seconds+time.Since(begin).Seconds() < seconds; n += batch * packFields {
			if _, err = s.next(ctx); err != nil {
				break
			}
			out.Images += batch
			runtime.ReadMemStats(&m)
			out.Heap = max(out.Heap, m.HeapAlloc)
			if out.Seconds+time.Since(begin).Seconds() < seconds/10 {
				out.FirstHeap = out.Heap
			}
		}
		took := time.Since(begin)
		f := s.close()
		runtime.ReadMemStats(&m)
		out.Allocated += float64(m.TotalAlloc - before)
		out.Seconds += took.Seconds()
		out.Disk, out.Decode = out.Disk+f.disk.Seconds(), out.Decode+f.decode.Seconds()
		if err != nil {
			return out, err
		}
	}
	out.Allocated /= float64(out.Images)
	return out, nil
}
