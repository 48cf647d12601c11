package dataset

import "io"

// text is a window on a stream: buf[lo:hi] has been read and not yet been used.
type text struct {
	r      io.Reader
	buf    []byte
	lo, hi int
	err    error // why there is no more: io.EOF, or a failure
}

// window is how much of a file is looked at at once: enough to make reads rare, little enough for the cache.
const window = 256 << 10

func newText(r io.Reader, size int) *text {
	t := &text{r: r, buf: make([]byte, size)}
	t.more()
	if string(t.buf[:min(t.hi, len(bom))]) == bom {
		t.lo = len(bom)
	}
	return t
}

// bom is the mark some editors put before UTF-8 text.
const bom = "\xef\xbb\xbf"

func (t *text) unread() []byte { return t.buf[t.lo:t.hi] }

// more reads until the window is full or the stream ends. A window full of unread bytes doubles first.
// One byte at its end stays free, for whoever wants to close the last line.
func (t *text) more() {
	if t.err != nil {
		return
	}
	if t.lo > 0 {
		t.hi = copy(t.buf, t.buf[t.lo:t.hi])
		t.lo = 0
	} else if t.hi == len(t.buf)-1 {
		t.buf = append(make([]byte, 0, 2*len(t.buf)), t.buf...)
		t.buf = t.buf[:cap(t.buf)]
	}
	empty := 0
	for t.hi < len(t.buf)-1 && t.err == nil {
		n, err := t.r.Read(t.buf[t.hi : len(t.buf)-1])
		t.hi += n
		t.err = err
		if empty++; n > 0 {
			empty = 0
		} else if empty == 100 && err == nil {
			t.err = io.ErrNoProgress
		}
	}
}
