package tfevents

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzScalars: what is written comes back, as a float32.
func FuzzScalars(f *testing.F) {
	f.Add(int64(300), int64(1), "loss", 0.5)
	f.Add(int64(-1), int64(1<<40), "", math.Inf(-1))
	f.Add(int64(math.MaxInt64), int64(-5), "a/b é \x00", 1e300)
	f.Fuzz(func(t *testing.T, step, second int64, tag string, value float64) {
		var b bytes.Buffer
		w := newWriter(nopCloser{&b})
		if err := errors.Join(w.Scalars(step, time.Unix(second, 0), map[string]float64{tag: value}), w.Close()); err != nil {
			if utf8.ValidString(tag) {
				t.Fatal(err)
			}
			return
		}
		got, err := lines(b.Bytes())
		if want := fmt.Sprintf("%d %v %q %v\n", step, float64(second), tag, float32(value)); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	})
}
