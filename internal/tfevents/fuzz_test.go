package tfevents

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// FuzzRead: bytes that are no event file give an error or nothing, and memory only for what is there.
func FuzzRead(f *testing.F) {
	f.Add([]byte(golden))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := lines(bytes.NewReader(data))
		longer, _ := lines(bytes.NewReader(append(bytes.Clone(data), golden...)))
		if err == nil && !strings.HasPrefix(longer, first) {
			t.Fatalf("%q read as %q, and with more behind it as %q", data, first, longer)
		}
	})
}

// FuzzEvent gives the messages valid checksums, which random bytes never have: the scalars of any message
// come back when they are written again.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(versionData))
	f.Add([]byte(scalarsData))
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Read(bytes.NewReader(appendRecord(nil, data)), func(step int64, wall float64, tag string, value float64) error {
			message := appendScalars(nil, wall, step, map[string]float64{tag: value})
			again := 0
			err := Read(bytes.NewReader(appendRecord(nil, message)), func(step2 int64, wall2 float64, tag2 string, value2 float64) error {
				again++
				if step2 != step || tag2 != tag || !same(wall2, wall) || !same(value2, value) {
					t.Errorf("%d %v %q %v came back as %d %v %q %v", step, wall, tag, value, step2, wall2, tag2, value2)
				}
				return nil
			})
			if again != 1 || err != nil {
				t.Errorf("%d scalars and %v for one", again, err)
			}
			return nil
		})
		if err != nil && !strings.HasPrefix(err.Error(), "tfevents: the record at byte 0: ") {
			t.Error(err)
		}
	})
}

func same(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b)
}
