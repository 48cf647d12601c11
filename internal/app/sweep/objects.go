package sweep

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// object and checkpoint name what workers of other machines send.
func object(plan, run string) string     { return plan + "/" + run }
func checkpoint(plan, run string) string { return plan + "/" + run + "/checkpoint" }

// stall is how long a transfer may go without a byte before it fails.
var stall = 20 * time.Second

// transfer is the context of an object that is sent or received. Without a deadline nats.go allows 5 s for the whole
// object, too little for a large result on a slow line. So the deadline of this context moves: a transfer ends if no
// byte comes for as long as stall.
type transfer struct {
	context.Context
	timer *time.Timer
}

var errStalled = errors.New("no data arrived")

func newTransfer(ctx context.Context) (*transfer, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := &transfer{ctx, time.AfterFunc(stall, func() { cancel(fmt.Errorf("%w for %v", errStalled, stall)) })}
	return t, func() { t.timer.Stop(); cancel(nil) }
}

// Deadline limits how long one read may wait, so that the end of the context is noticed soon.
func (t *transfer) Deadline() (time.Time, bool) { return time.Now().Add(min(time.Second, stall)), true }

// reader tells the transfer of the bytes that it reads.
func (t *transfer) reader(r io.Reader) io.Reader { return moving{t, r} }

type moving struct {
	t *transfer
	r io.Reader
}

func (m moving) Read(b []byte) (int, error) {
	for {
		n, err := m.r.Read(b)
		if n > 0 {
			m.t.timer.Reset(stall)
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if m.t.Err() != nil {
			return 0, m.t.Err()
		}
	}
}

// why names the stall if that ended the transfer: the error of nats.go is about a context.
func (t *transfer) why(err error) error {
	if cause := context.Cause(t); err != nil && errors.Is(cause, errStalled) {
		return cause
	}
	return err
}

// send puts a folder into the object store; latest names the newest checkpoint in it, if it has one. send reads the
// object back: a cluster that loses its leader meanwhile may store a piece twice, or not at all. An incomplete object
// is removed: else the next attempt would take it for delivered.
func (q *queue) send(ctx context.Context, name, dir, latest string) error {
	t, end := newTransfer(ctx)
	defer end()
	r, w := io.Pipe()
	go func() { w.CloseWithError(pack(w, dir)) }()
	mark := rand.Text() // of this attempt: another worker may send the same
	_, err := q.results.Put(t, jetstream.ObjectMeta{Name: name, Description: fmt.Sprint("results version ", q.version),
		Metadata: map[string]string{"checkpoint": latest, "sent": mark}}, t.reader(r))
	r.CloseWithError(err)
	failed := err != nil
	if err = t.why(err); !failed {
		err = q.read(ctx, name, func(io.Reader) error { return nil })
		bad := (*corrupt)(nil)
		failed = errors.As(err, &bad)
	}
	if failed {
		late, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		err = errors.Join(err, q.settle(late, mark),
			q.remove(late, name, func(o *jetstream.ObjectInfo) bool { return o.Metadata["sent"] == mark }))
	}
	return err
}

// settle waits until the server has everything that this connection sent: it sends one more message and waits for its
// acknowledgement.
func (q *queue) settle(ctx context.Context, mark string) error {
	_, err := q.js.Publish(ctx, piecesOf(mark), nil)
	return errors.Join(err, q.pieces.Purge(ctx, jetstream.WithPurgeSubject(piecesOf(mark))))
}

// piecesOf is the subject of an object's pieces, by its identity.
func piecesOf(id string) string { return "$O." + resultBucket + ".C." + id }

// remove deletes this version of an object, and not a later one of the same name.
func (q *queue) remove(ctx context.Context, name string, meant func(*jetstream.ObjectInfo) bool) error {
	info, err := q.results.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) || err == nil && !meant(info) {
		return nil
	}
	if err != nil {
		return err
	}
	return q.results.Delete(ctx, name)
}

// receive gets a folder from the object store; it is complete or absent.
func (q *queue) receive(ctx context.Context, name, dir string) error {
	err := q.read(ctx, name, func(r io.Reader) error { return unpack(r, dir) })
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}

// read reads an object to its end, where its checksum is compared.
func (q *queue) read(ctx context.Context, name string, use func(io.Reader) error) error {
	t, end := newTransfer(ctx)
	defer end()
	info, err := q.results.GetInfo(t, name)
	if err != nil {
		return t.why(err)
	}
	switch whole, err := q.whole(t, info); {
	case err != nil:
		return t.why(err)
	case !whole: // reading it would never end
		return &corrupt{name, info.NUID}
	}
	o, err := q.results.Get(t, name)
	if err != nil {
		return t.why(err)
	}
	defer o.Close()
	r := t.reader(o)
	err = use(r)
	_, late := io.Copy(io.Discard, r)
	if late == nil {
		late = o.Error()
	}
	info, _ = o.Info()
	if errors.Is(late, jetstream.ErrDigestMismatch) { // the cause of any other error
		return &corrupt{name, info.NUID}
	}
	if late != nil && ctx.Err() == nil { // its pieces may have been removed meanwhile
		if whole, err := q.whole(ctx, info); err == nil && !whole {
			return &corrupt{name, info.NUID}
		}
	}
	if err = errors.Join(err, late); err != nil {
		return fmt.Errorf("%s: %w", name, t.why(err))
	}
	return nil
}

// corrupt is the error of an object that is not what was sent; id is that of this version of it.
type corrupt struct{ name, id string }

func (c *corrupt) Error() string { return c.name + ": it did not arrive complete on the server" }

// whole reports whether the server has all pieces of an object: a delivery that failed may leave its name without them.
func (q *queue) whole(ctx context.Context, o *jetstream.ObjectInfo) (bool, error) {
	info, err := q.pieces.Info(ctx, jetstream.WithSubjectFilter(piecesOf(o.NUID)))
	if err != nil {
		return false, err
	}
	return info.State.Subjects[piecesOf(o.NUID)] >= uint64(o.Chunks), nil
}

// latest names the newest checkpoint in an object; it is empty if there is none.
func (q *queue) latest(ctx context.Context, name string) (string, error) {
	info, err := q.info(ctx, name)
	if err != nil || info == nil {
		return "", err
	}
	return info.Metadata["checkpoint"], nil
}

// has reports whether an object is there.
func (q *queue) has(ctx context.Context, name string) (bool, error) {
	info, err := q.info(ctx, name)
	return info != nil, err
}

// info describes an object with all its pieces; nil if there is none.
func (q *queue) info(ctx context.Context, name string) (*jetstream.ObjectInfo, error) {
	info, err := q.results.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if whole, err := q.whole(ctx, info); err != nil || !whole {
		return nil, err
	}
	return info, nil
}
