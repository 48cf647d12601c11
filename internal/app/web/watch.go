package web

import (
	"crypto/rand"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/runlog"
)

// logs are the metrics that pages show, read once for all of them and continued as their files grow.
type logs struct {
	root *runlog.Folder

	mu   sync.Mutex
	open map[string]*watched
}

// maxPoints is how many points are cached of runs that no page watches; about 60 bytes each.
const maxPoints = 3_000_000

// watched is the metrics of one run.
type watched struct {
	id   string
	root *runlog.Folder

	reading sync.Mutex // held while the file is read

	mu      sync.RWMutex
	log     *runlog.Log
	file    fs.FileInfo
	edition string        // identifies the file: after a resume it is a new one
	status  string        // run.json's, or killed
	changed chan struct{} // closed when there is something new
	pages   int           // that follow it
	kept    bool          // keep is running
	used    time.Time
}

// get returns the metrics of a run, as they are now.
func (l *logs) get(id string) (*watched, error) {
	l.mu.Lock()
	if l.open == nil {
		l.open = map[string]*watched{}
	}
	w := l.open[id]
	if w == nil {
		w = &watched{id: id, root: l.root, log: &runlog.Log{}, changed: make(chan struct{}), edition: rand.Text()}
	}
	l.mu.Unlock()
	if err := w.refresh(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if other := l.open[id]; other != nil { // another request was faster
		w = other
	}
	l.open[id] = w
	w.mu.Lock()
	w.used = time.Now()
	w.mu.Unlock()
	l.forget()
	return w, nil
}

// forget drops what was used longest ago.
func (l *logs) forget() {
	for {
		total := 0
		var oldest *watched
		for _, w := range l.open {
			w.mu.RLock()
			total += w.log.Len() + 1000
			if w.pages == 0 && (oldest == nil || w.used.Before(oldest.used)) {
				oldest = w
			}
			w.mu.RUnlock()
		}
		if total <= maxPoints || oldest == nil || len(l.open) == 1 {
			return
		}
		delete(l.open, oldest.id)
	}
}

// refresh reads what was appended to the file. A file that shrank or was replaced is read from its start.
func (w *watched) refresh() error {
	w.reading.Lock()
	defer w.reading.Unlock()
	f, err := w.root.Sub(w.id)
	if err != nil {
		return err
	}
	defer f.Close()
	status := corrupt
	if info, err := f.Info(); err == nil {
		status = f.Status(info)
	}
	file, st, err := f.Open("metrics.jsonl")
	if os.IsNotExist(err) {
		w.set(func() bool { changed := w.status != status; w.status = status; return changed })
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	w.set(func() bool {
		changed := w.status != status
		w.status = status
		if w.file != nil && (!os.SameFile(w.file, st) || st.Size() < w.log.Offset) {
			w.log, w.edition, changed = &runlog.Log{}, rand.Text(), true
		}
		w.file = st
		before := w.log.Offset
		err = w.log.Read(file, st.Size())
		return changed || w.log.Offset > before
	})
	return err
}

// set changes w and wakes the waiting streams, if change reports that something is new.
func (w *watched) set(change func() bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if change() {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// lookAgain is how often a watched file is read: only what was appended, once for all pages.
const lookAgain = 200 * time.Millisecond

// follow keeps w fresh while pages watch it. The returned function ends that.
func (w *watched) follow() (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages++
	if !w.kept {
		w.kept = true
		go w.keep()
	}
	return func() {
		w.mu.Lock()
		w.pages--
		w.mu.Unlock()
	}
}

// keep reads the file until no page watches it.
func (w *watched) keep() {
	for {
		time.Sleep(lookAgain)
		w.mu.Lock()
		w.kept = w.pages > 0
		goOn := w.kept
		w.mu.Unlock()
		if !goOn {
			return
		}
		w.refresh() // a run that is gone keeps its last state
	}
}
