package command

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Lines is an observer that writes lines: each remark, and the progress of long work every five seconds.
func Lines(w io.Writer) Observer { return &lines{w: w} }

// Quiet is an observer that shows nothing.
func Quiet() Observer { return Lines(io.Discard) }

type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) Say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, format+"\n", args...)
}

func (l *lines) Bar(label string, done, total int64) Bar {
	return &lineBar{lines: l, label: label, first: done, total: total, start: time.Now(), last: time.Now()}
}

func (l *lines) Finished(string) {}

// lineBar is not safe for concurrent use.
type lineBar struct {
	lines        *lines
	label        string
	first, total int64 // done before the bar began, and in all
	start, last  time.Time
}

// lineEvery is how often a line shows progress.
const lineEvery = 5 * time.Second

func (b *lineBar) Set(done int64, note string) {
	now := time.Now()
	if now.Sub(b.last) < lineEvery || b.total <= 0 {
		return
	}
	b.last = now
	text := fmt.Sprintf("%s: %d %%", b.label, 100*done/b.total)
	if note != "" {
		text += ", " + note
	}
	if 50*(done-b.first) >= b.total-b.first { // less than a fiftieth gives no estimate
		text += fmt.Sprintf(", about %v left", b.left(done, now).Round(time.Second))
	}
	b.lines.Say("%s", text)
}

// left is the time that the rest will take at the pace so far.
func (b *lineBar) left(done int64, now time.Time) time.Duration {
	return time.Duration(float64(now.Sub(b.start)) * float64(b.total-done) / float64(max(done-b.first, 1)))
}

func (b *lineBar) End() {}
