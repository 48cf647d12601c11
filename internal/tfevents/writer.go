// Package tfevents writes the scalars and histograms of TensorBoard's event files, without TensorFlow.
//
// A file is a sequence of records, each one Event message of protobuf:
//
//	uint64  n, the length of the data, little-endian
//	uint32  masked CRC-32C of those 8 bytes
//	n bytes data
//	uint32  masked CRC-32C of the data
//
// Reference: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto
package tfevents

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Writer writes one event file. It is not safe for use by several goroutines at once.
type Writer struct {
	file    io.Closer
	buffer  *bufio.Writer
	message []byte
	record  []byte
}

// Create makes dir where there is none, and a new event file in it,
//
//	events.out.tfevents.<unix seconds>.<host><suffix>
//
// and writes the record with the version of the format. TensorBoard reads the files of a directory in the order
// of their names; a second file of the same second takes the next free one.
func Create(dir, suffix string) (*Writer, error) {
	if strings.ContainsAny(suffix, `/\`) {
		return nil, fmt.Errorf("tfevents: the suffix %q holds a path separator", suffix)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost" // the name only tells files of several machines apart
	}
	now := time.Now()
	for second := now.Unix(); ; second++ {
		path := filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%d.%s%s", second, host, suffix))
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		w := newWriter(file)
		if err := errors.Join(w.version(now), w.Flush()); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return w, nil
	}
}

func newWriter(file io.WriteCloser) *Writer {
	return &Writer{file: file, buffer: bufio.NewWriter(file)}
}

// Scalars writes one event with all values, sorted by tag. The format keeps them as float32. Without values
// nothing is written.
func (w *Writer) Scalars(step int64, wall time.Time, values map[string]float64) error {
	if len(values) == 0 {
		return nil
	}
	for tag := range values {
		if !utf8.ValidString(tag) { // protobuf readers drop the whole event
			return fmt.Errorf("tfevents: the tag %q is not valid UTF-8", tag)
		}
	}
	w.message = appendScalars(w.message[:0], seconds(wall), step, values)
	return w.write()
}

// Histogram says how numbers are spread: Counts[k] of them lie above Limits[k−1] and at or below Limits[k].
type Histogram struct {
	Min, Max, Sum, SumSquares float64 // of the numbers themselves
	Limits, Counts            []float64
}

// Histogram writes one event with a histogram.
func (w *Writer) Histogram(step int64, wall time.Time, tag string, h Histogram) error {
	switch {
	case !utf8.ValidString(tag):
		return fmt.Errorf("tfevents: the tag %q is not valid UTF-8", tag)
	case len(h.Limits) == 0 || len(h.Limits) != len(h.Counts) || !slices.IsSorted(h.Limits):
		return fmt.Errorf("tfevents: %s: %d limits and %d counts: want as many, at least one, and limits that rise", tag,
			len(h.Limits), len(h.Counts))
	}
	w.message = appendHistogram(w.message[:0], seconds(wall), step, tag, h)
	return w.write()
}

// Flush hands what was written to the operating system, where TensorBoard sees it.
func (w *Writer) Flush() error { return w.buffer.Flush() }

// Close flushes and closes the file.
func (w *Writer) Close() error { return errors.Join(w.Flush(), w.file.Close()) }

func (w *Writer) version(wall time.Time) error {
	w.message = appendVersion(w.message[:0], seconds(wall))
	return w.write()
}

// write writes the message as a record.
func (w *Writer) write() error {
	w.record = appendRecord(w.record[:0], w.message)
	_, err := w.buffer.Write(w.record)
	return err
}

// seconds returns t as TensorBoard counts time. The two parts apart keep microseconds exact enough, and do not
// overflow as nanoseconds in an int64 do after the year 2262.
func seconds(t time.Time) float64 {
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9
}
