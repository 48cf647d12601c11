package sweep

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/bregman-ml/bregman/runlog"
)

// ownQueue is a queue on a server of the test's own.
func ownQueue(t *testing.T) *queue {
	t.Helper()
	server, err := startServer(t.TempDir(), "127.0.0.1:0", &Connection{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := connect(t.Context(), server, &Connection{}, ResultsVersion, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.close)
	if err := q.create(t.Context(), 1, time.Second); err != nil {
		t.Fatal(err)
	}
	return q
}

// gatherer is a coordinator that only fetches.
func gatherer(t *testing.T, q *queue, p *Plan) *coordinator {
	return &coordinator{Folder: Folder{t.TempDir()}, plan: p, q: q, env: quiet(), events: make(chan event, 4)}
}

// finished is the folder of a run, with so many bytes that cannot be compressed.
func finished(t *testing.T, bytes int) string {
	t.Helper()
	dir, noise := t.TempDir(), make([]byte, bytes)
	rand.Read(noise)
	for name, data := range map[string][]byte{filepath.Join("tables", "result.json"): []byte("{}"),
		"weights.safetensors": noise} {
		if err := runlog.WriteFile(filepath.Join(dir, name), data); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// line is a slow connection to a server: so many bytes per second in each direction.
type line struct {
	addr string
	rate int
	down atomic.Int64 // bytes from the server
	held sync.Mutex   // held, nothing passes
}

func newLine(t *testing.T, to string, rate int) *line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &line{addr: l.Addr().String(), rate: rate}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			go s.pass(far, near, nil)
			go s.pass(near, far, &s.down)
		}
	}()
	return s
}

func (s *line) pass(to, from net.Conn, count *atomic.Int64) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 16<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		time.Sleep(time.Duration(n) * time.Second / time.Duration(s.rate))
		s.held.Lock()
		s.held.Unlock() //lint:ignore SA2001 it waits until the line is free
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
		if count != nil {
			count.Add(int64(n))
		}
	}
}

// slowly is a queue behind such a line.
func slowly(t *testing.T, rate int) (*line, *queue) {
	t.Helper()
	l := newLine(t, ownQueue(t).server.Addr().String(), rate)
	q, err := connect(t.Context(), nil, &Connection{NATS: l.addr}, ResultsVersion, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.close)
	if err := q.find(t.Context(), t.Logf); err != nil {
		t.Fatal(err)
	}
	return l, q
}

// A transfer may take longer than the server may take to answer, by far, as long as bytes come; and a result comes
// once, however often it is asked for.
func TestALargeResultPassesASlowLine(t *testing.T) {
	defer func(a, s time.Duration) { answerWithin, stall = a, s }(answerWithin, stall)
	const size = 3 << 19
	answerWithin = time.Second
	slow, q := slowly(t, size/2) // two seconds each way
	p := planOf(t, quick)
	name := object(p.ID, p.Runs[0].ID)
	if err := q.send(t.Context(), name, finished(t, size), ""); err != nil {
		t.Fatal(err)
	}
	// not before: the bytes of an upload lie in the kernel at once, and are seen only when they are acknowledged
	stall = 3 * time.Second
	c, before := gatherer(t, q, p), slow.down.Load()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { c.fetch(t.Context(), p.Runs[0]) })
	}
	both.Wait()
	if n := slow.down.Load() - before; !c.has(p.Runs[0]) || n > size*3/2 {
		t.Errorf("there: %v, %d bytes for a result of %d", c.has(p.Runs[0]), n, size)
	}
	slow.held.Lock()
	defer slow.held.Unlock()
	begin, bad := time.Now(), (*corrupt)(nil)
	if err := q.receive(t.Context(), name, t.TempDir()); err == nil || errors.As(err, &bad) ||
		time.Since(begin) > patience {
		t.Errorf("after %v on a dead line: %v", time.Since(begin), err)
	}
}

// blocking is a store whose checkpoints take for ever to send.
type blocking struct{ store }

func (blocking) checkpoint(ctx context.Context, _ task, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

type counted struct {
	jetstream.Msg
	beats atomic.Int64
}

func (c *counted) InProgress() error { c.beats.Add(1); return nil }

// While a checkpoint is being sent, the queue must learn that the run is running: else it delivers the run to another
// worker.
func TestAWorkerIsHeardWhileItSends(t *testing.T) {
	q := ownQueue(t)
	q.wait = 60 * time.Millisecond
	scratch := t.TempDir()
	w := &worker{name: "w", q: q, store: blocking{remote{q, scratch}}, env: quiet()}
	run := task{Plan: "0123456789abcdef", Run: planOf(t, network).Runs[0]}
	if err := runlog.WriteFile(filepath.Join(w.store.work(run), "run", "checkpoints", "epoch-00001.safetensors"),
		nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	msg := new(counted)
	done := w.beat(ctx, run, msg)
	eventually(t, "five beats", func() bool { return msg.beats.Load() >= 5 })
	cancel()
	<-done
}

// A result with a piece too many on the server does not count as there: it is removed, and the run is repeated.
func TestACorruptResultIsDiscarded(t *testing.T) {
	q := ownQueue(t)
	p := planOf(t, quick)
	name, dir := object(p.ID, p.Runs[0].ID), finished(t, 0)
	if err := q.send(t.Context(), name, dir, ""); err != nil {
		t.Fatal(err)
	}
	info, err := q.results.GetInfo(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.js.Publish(t.Context(), piecesOf(info.NUID), []byte("a piece too many")); err != nil {
		t.Fatal(err)
	}
	c := gatherer(t, q, p)
	for n, there := range []bool{true, false} { // the worker that sent it has the first word
		c.fetch(t.Context(), p.Runs[0])
		if got, err := q.has(t.Context(), name); err != nil || got != there || c.has(p.Runs[0]) {
			t.Errorf("after %d attempts it is there: %v, %v", n+1, got, err)
		}
	}
	if err := q.send(t.Context(), name, dir, ""); err != nil {
		t.Fatal(err)
	}
	if c.fetch(t.Context(), p.Runs[0]); !c.has(p.Runs[0]) {
		t.Error("sent again, it is not had")
	}
}

// A delivery that failed may leave a result's name on the server without its pieces. It does not count as delivered,
// and nothing waits for it.
func TestAResultWithoutItsPiecesIsNotThere(t *testing.T) {
	q := ownQueue(t)
	p := planOf(t, quick)
	run := task{Plan: p.ID, Run: p.Runs[0]}
	name, dir := object(p.ID, run.Run.ID), finished(t, 1<<20)
	purge := func() {
		t.Helper()
		if err := q.send(t.Context(), name, dir, ""); err != nil {
			t.Fatal(err)
		}
		info, err := q.results.GetInfo(t.Context(), name)
		if err == nil {
			err = q.pieces.Purge(t.Context(), jetstream.WithPurgeSubject(piecesOf(info.NUID)), jetstream.WithPurgeKeep(1))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	purge()
	bad := (*corrupt)(nil)
	if err := q.receive(t.Context(), name, t.TempDir()); !errors.As(err, &bad) {
		t.Errorf("received: %v", err)
	}
	if there, err := q.has(t.Context(), name); there || err != nil {
		t.Errorf("it counts as there: %v", err)
	}
	c := gatherer(t, q, p)
	c.fetch(t.Context(), run.Run)
	if err := (remote{q, t.TempDir()}).deliver(t.Context(), run, dir); err != nil {
		t.Fatal(err)
	}
	c.discard(t.Context(), bad) // of the version before
	if there, err := q.has(t.Context(), name); !there || err != nil {
		t.Errorf("delivered again it is not there: %v", err)
	}
	if c.fetch(t.Context(), run.Run); !c.has(run.Run) {
		t.Error("delivered again it is not had")
	}
}

// A delivery that failed may still arrive, or a part of it, from a buffer: it is removed, and nothing else.
func TestADeliveryThatFailedLeavesNothing(t *testing.T) {
	_, q := slowly(t, 1<<20)
	brief, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := q.send(brief, "a/b", finished(t, 2<<20), ""); err == nil {
		t.Error("two seconds' bytes were sent in less than one")
	}
	if err := q.settle(t.Context(), "later"); err != nil { // what was in buffers is there, too
		t.Fatal(err)
	}
	if info, err := q.results.GetInfo(t.Context(), "a/b"); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("there: %v, %v", info, err)
	}
	if err := q.send(t.Context(), "a/b", finished(t, 0), ""); err != nil {
		t.Fatal(err)
	}
	if err := q.remove(t.Context(), "a/b", func(o *jetstream.ObjectInfo) bool { return o.NUID == "another" }); err != nil {
		t.Fatal(err)
	}
	if there, err := q.has(t.Context(), "a/b"); !there || err != nil {
		t.Errorf("another's was removed: %v", err)
	}
}
