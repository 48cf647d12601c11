package images

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/internal/filelock"
)

// While pictures are packed there are two files: OUT.part, which becomes the packed file, and OUT.journal, which says
// how far it is. A line of the journal is a checksum and JSON: first what is packed, then a line for every block of
// pictures whose bytes are in the part. What is behind the last whole line is written again.

// journalHead is the first line.
type journalHead struct {
	Fingerprint string `json:"fingerprint"`
}

// journalBlock is a line for the pictures since the one before it.
type journalBlock struct {
	journalState
	Entries []byte   `json:"entries,omitempty"` // records of the index
	Failed  []missed `json:"failed,omitempty"`
}

type missed struct {
	Item int    `json:"item"`
	Why  string `json:"why"`
}

// journalState is what is known after a block.
type journalState struct {
	Next  int            `json:"next"` // items done
	End   int64          `json:"end"`  // of the part
	Kinds map[string]int `json:"kinds"`
	Sums  colourSums     `json:"sums"` // of the training pictures
}

// Blocks are written so often, which is what a kill can cost, and progress is shown so often. Tests change them.
var (
	blockPictures = 8192
	blockTime     = 2 * time.Second
	progressTime  = 200 * time.Millisecond
)

func journalLine(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(b, castagnoli), b), nil
}

// readLine reads a whole line with a right checksum into v.
func readLine(r *bufio.Reader, v any) (length int, ok bool) {
	line, err := r.ReadBytes('\n')
	if err != nil || len(line) < 10 || line[8] != ' ' {
		return 0, false
	}
	sum, err := strconv.ParseUint(string(line[:8]), 16, 32)
	text := line[9 : len(line)-1]
	if err != nil || crc32.Checksum(text, castagnoli) != uint32(sum) || json.Unmarshal(text, v) != nil {
		return 0, false
	}
	return len(line), true
}

// packing is a packed file that is being written.
type packing struct {
	*Packer
	part, log string // paths
	file      *os.File
	journal   *os.File
	buffer    *bufio.Writer
	at        journalState
	block     journalBlock
	entries   []byte // of all that is written
	failed    []missed
	synced    time.Time
}

func (p *Packer) paths() (part, log string) { return p.out + ".part", p.out + ".journal" }

// journal reads how far an interrupted packing came.
func (p *Packer) journal() (journalState, error) {
	_, log := p.paths()
	f, err := os.Open(log)
	if err != nil {
		return journalState{}, err
	}
	defer f.Close()
	w := &packing{Packer: p, log: log}
	_, err = w.read(f)
	return w.at, err
}

// read reads the journal and returns the length of what is valid. Another packing's is an error.
func (w *packing) read(f io.Reader) (valid int64, err error) {
	r := bufio.NewReaderSize(f, 1<<20)
	var head journalHead
	n, ok := readLine(r, &head)
	if !ok {
		return 0, nil // it ends in its first line: nothing is lost
	}
	if head.Fingerprint != w.fingerprint() {
		return 0, fail(w.log, "an interrupted packing of another source or with other settings is here: give the same "+
			"command as then to continue it, or delete this file and %s", filepath.Base(w.out)+".part")
	}
	valid = int64(n)
	for {
		var b journalBlock
		n, ok := readLine(r, &b)
		if !ok || b.Next < w.at.Next || b.Next > len(w.items) || len(b.Entries)%packRecordBytes != 0 {
			return valid, nil
		}
		w.at, valid = b.journalState, valid+int64(n)
		w.entries, w.failed = append(w.entries, b.Entries...), append(w.failed, b.Failed...)
	}
}

// partMagic begins a part, where the header will be.
const partMagic = "BREGPART"

// open opens the files for writing and continues an interrupted packing.
func (p *Packer) open() (*packing, error) {
	w := &packing{Packer: p}
	w.part, w.log = p.paths()
	w.at = journalState{End: packHeaderBytes, Kinds: map[string]int{}}
	for _, path := range []string{w.part, w.log} {
		if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
			return nil, fail(path, "not a regular file, and a packing needs a file of this name: move it away, or name another "+
				"file with --out")
		}
	}
	if err := os.MkdirAll(filepath.Dir(p.out), 0o777); err != nil {
		return nil, failed(filepath.Dir(p.out), "create", err)
	}
	var err error
	if w.journal, err = os.OpenFile(w.log, os.O_CREATE|os.O_RDWR, 0o666); err != nil {
		return nil, errNoRoom(w.log, err)
	}
	if !filelock.Try(w.journal) {
		w.journal.Close()
		return nil, fail(p.out, "another process is packing this file")
	}
	if err := w.resume(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *packing) resume() (err error) {
	valid, err := w.read(w.journal)
	if err != nil {
		return err
	}
	if w.file, err = os.OpenFile(w.part, os.O_CREATE|os.O_RDWR, 0o666); err != nil {
		return errNoRoom(w.part, err)
	}
	st, err := w.file.Stat()
	if err != nil {
		return errNoRoom(w.part, err)
	}
	if err := w.foreign(valid); err != nil {
		return err
	}
	if valid == 0 || st.Size() < w.at.End { // a new one, or the part was deleted or cut
		w.at = journalState{End: packHeaderBytes, Kinds: map[string]int{}}
		w.entries, w.failed, valid = nil, nil, 0
	}
	if w.at.Kinds == nil {
		w.at.Kinds = map[string]int{}
	}
	err = errors.Join(w.file.Truncate(w.at.End), w.journal.Truncate(valid))
	if err == nil {
		_, err = w.file.WriteAt([]byte(partMagic), 0)
	}
	if err != nil {
		return errNoRoom(w.part, err)
	}
	if _, err := w.file.Seek(w.at.End, io.SeekStart); err != nil {
		return errNoRoom(w.part, err)
	}
	if _, err := w.journal.Seek(valid, io.SeekStart); err != nil {
		return errNoRoom(w.log, err)
	}
	w.buffer = bufio.NewWriterSize(w.file, 1<<20)
	w.synced = time.Now()
	if valid > 0 {
		return nil
	}
	return w.note(journalHead{w.fingerprint()})
}

// foreign returns an error if a file of a packing's name is not a packing's: it is not to be written over.
func (w *packing) foreign(valid int64) error {
	start := make([]byte, len(partMagic))
	n, _ := w.file.ReadAt(start, 0)
	ours := string(start) == partMagic || string(start) == packMagic
	if !ours && n > 0 && (valid == 0 || n == len(start)) {
		return fail(w.part, "not of a packing of this program, which needs a file of this name: move it away, or name "+
			"another file with --out")
	}
	st, err := w.journal.Stat()
	if err != nil {
		return errNoRoom(w.log, err)
	}
	if !ours && valid == 0 && st.Size() > 0 {
		return fail(w.log, "not the journal of a packing, which needs a file of this name: move it away, or name another "+
			"file with --out")
	}
	return nil
}

// note appends a line to the journal.
func (w *packing) note(v any) error {
	line, err := journalLine(v)
	if err != nil {
		return err
	}
	if _, err := w.journal.Write(line); err != nil {
		return errNoRoom(w.log, err)
	}
	return nil
}

// sync ends a block: its pictures are on the disk before the journal says so.
func (w *packing) sync() error {
	if w.block.Next == 0 {
		return nil
	}
	err := w.buffer.Flush()
	if err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		return errNoRoom(w.part, err)
	}
	w.block.journalState = w.at
	if err := w.note(w.block); err != nil {
		return err
	}
	w.entries, w.failed = append(w.entries, w.block.Entries...), append(w.failed, w.block.Failed...)
	w.block, w.synced = journalBlock{}, time.Now()
	return nil
}

// job is a picture on its way through a worker.
type job struct {
	item int
	r    packedPicture
	buf  []byte
	done chan struct{}
}

// pictures packs what is left, on all cores, and writes it in order.
func (w *packing) pictures(ctx context.Context, progress PackProgress) error {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	queue, todo := make(chan *job, 8*workers), make(chan *job, 8*workers) // in order, and for the workers
	free := make(chan *job, 8*workers+workers+2)
	for range cap(free) {
		free <- &job{done: make(chan struct{}, 1)}
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	first := w.at.Next
	wg.Go(func() {
		defer close(todo)
		defer close(queue)
		for i := first; i < len(w.items); i++ {
			select {
			case <-ctx.Done():
				return
			case j := <-free:
				j.item = i
				queue <- j // there is as much room as there are jobs, less those of workers
				todo <- j
			}
		}
	})
	for range workers {
		wg.Go(func() {
			worker := newWorker(w.Packer)
			for j := range todo {
				if ctx.Err() == nil {
					j.r = worker.pack(j.item)
					j.buf = append(j.buf[:0], j.r.bytes...)
				}
				j.done <- struct{}{}
			}
		})
	}
	var bad error
	shown := time.Now()
	for j := range queue {
		<-j.done
		if bad == nil && ctx.Err() == nil {
			bad = w.write(j)
			if bad == nil && time.Since(shown) > progressTime {
				progress("packing", w.at.Next, len(w.items))
				shown = time.Now()
			}
		}
		if bad != nil {
			cancel()
		}
		free <- j
	}
	if err := w.sync(); bad == nil {
		bad = err
	}
	if bad == nil && outer.Err() != nil {
		bad = errStopped(w.out, w.at.Next, len(w.items))
	}
	if bad == nil {
		progress("packing", w.at.Next, len(w.items))
	}
	return bad
}

// write appends a picture.
func (w *packing) write(j *job) error {
	if j.r.err != nil {
		return j.r.err
	}
	w.at.Next = j.item + 1
	w.block.Next = w.at.Next
	if j.r.why != "" {
		w.block.Failed = append(w.block.Failed, missed{j.item, j.r.why})
	} else {
		if _, err := w.buffer.Write(j.buf); err != nil {
			return errNoRoom(w.part, err)
		}
		e := j.r.entry
		e.Offset = w.at.End
		w.at.End += int64(len(j.buf))
		var record [packRecordBytes]byte
		e.put(record[:])
		w.block.Entries = append(w.block.Entries, record[:]...)
		if j.item < len(w.src.Train) {
			w.at.Sums.plus(j.r.sums)
		}
		for _, name := range j.r.found.names() {
			w.at.Kinds[name]++
		}
		for _, f := range fates {
			if j.r.done&f.fate != 0 {
				w.at.Kinds[f.name]++
			}
		}
	}
	if len(w.block.Entries) >= blockPictures*packRecordBytes || time.Since(w.synced) > blockTime {
		return w.sync()
	}
	return nil
}

// finish writes index, names, information and header behind the pictures.
func (w *packing) finish() error {
	gone := map[int]bool{}
	for _, f := range w.failed {
		gone[f.Item] = true
	}
	info := &PackInfo{Version: packVersion, Name: w.src.Name, Layout: w.src.Layout, Classes: w.src.Classes,
		Size: w.settings.Size, Side: w.settings.Side, Format: w.settings.Format, Quality: w.settings.Quality,
		RawShare: w.settings.RawShare, Kinds: maps.Clone(w.at.Kinds), HeldOut: w.src.HeldOut,
		Problems: len(w.failed) + len(w.src.Others), Fingerprint: w.fingerprint()}
	header := packHeader{}
	var names []string
	for i, item := range w.items {
		if gone[i] {
			continue
		}
		names = append(names, item.Name)
		if i < len(w.src.Train) {
			header.Train++
		} else {
			header.Test++
		}
	}
	if header.Train == 0 || header.Test == 0 {
		return fail(w.src.Name, "%d training and %d test pictures could be packed: want some of each. The first that could "+
			"not: %v. Repair the source, delete %s and %s, and give the command again", header.Train, header.Test,
			w.problems()[0], w.part, w.log)
	}
	for b := w.entries; len(b) > 0; b = b[packRecordBytes:] {
		var e PackEntry
		e.get(b)
		info.Height, info.Width = max(info.Height, int(e.Height+1)&^1), max(info.Width, int(e.Width+1)&^1)
	}
	info.Mean, info.Deviation = w.at.Sums.moments()
	text, err := info.bytes()
	if err != nil {
		return err
	}
	var tail bytes.Buffer
	for _, part := range []struct {
		at    *packPart
		bytes []byte
	}{{&header.Index, w.entries}, {&header.Names, appendNames(nil, names)}, {&header.Info, text}} {
		*part.at = packPart{w.at.End + int64(tail.Len()), int64(len(part.bytes)), crc32.Checksum(part.bytes, castagnoli)}
		tail.Write(part.bytes)
	}
	h := sha256.New()
	h.Write(w.entries)
	h.Write(text)
	h.Sum(header.Hash[:0])
	_, err = w.file.WriteAt(tail.Bytes(), w.at.End)
	if err == nil {
		_, err = w.file.WriteAt(header.bytes(), 0)
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		return errNoRoom(w.part, err)
	}
	return nil
}

// problems are the files that were not packed, those of the listing first.
func (w *packing) problems() []SourceProblem {
	out := append([]SourceProblem(nil), w.src.Others...)
	for _, f := range w.failed {
		out = append(out, SourceProblem{w.items[f.Item].Name, f.Why})
	}
	return out
}

// String is a problem on one line, whatever is in the name.
func (p SourceProblem) String() string { return fmt.Sprintf("%s: %s", plain(p.Name), p.Why) }

// problemsTitle begins the list of problems.
const problemsTitle = "Not in the packed file, of the source "

// list is the file that lists what was not packed.
func (p *Packer) list() string { return p.out + ".problems.txt" }

// dropProblems removes the list of an earlier packing.
func dropProblems(path string) {
	if b, err := os.ReadFile(path); err == nil && hasPrefix(b, problemsTitle) {
		_ = os.Remove(path) // it is only out of date
	}
}

// writeProblems writes the list, whole or not at all.
func writeProblems(path string, list []SourceProblem) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s(%d):\n", problemsTitle, len(list))
	for _, p := range list {
		fmt.Fprintln(&b, p)
	}
	if err := os.WriteFile(path+".part", b.Bytes(), 0o666); err != nil {
		return errNoRoom(path, err)
	}
	if err := os.Rename(path+".part", path); err != nil {
		return errNoRoom(path, err)
	}
	return nil
}

// publish gives the file its name.
func (w *packing) publish() error {
	if _, err := os.Lstat(w.out); err == nil {
		return fail(w.out, "a file of this name appeared meanwhile: move it away, then the same command finishes")
	}
	if err := os.Rename(w.part, w.out); err != nil {
		return errNoRoom(w.out, err)
	}
	if err := os.Remove(w.log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errNoRoom(w.log, err)
	}
	return nil
}

func (w *packing) close() {
	if w.file != nil {
		w.file.Close()
	}
	w.journal.Close()
}
