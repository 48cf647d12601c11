package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Log holds the metrics of a run as curves of numbers. It reads a metrics.jsonl piece by piece as it grows, and accepts
// any content: a line that is not a JSON object, or too long, is counted and skipped.
type Log struct {
	Curves []*Curve
	Offset int64  // of the first byte not read yet, at the start of a line
	Bad    int    // lines that were skipped
	Why    string // what was wrong with the first of them

	lines    int
	skipping bool // inside a line that is too long
	rows     []rowAt
	counts   int // stored, of all histograms
	byKey    map[string]int
	scratch  point
}

// Curve is what one descent, one training run or one p of several wrote: columns of equal length, NaN if a line
// lacks a number.
type Curve struct {
	Name   string  // what tells it from the other curves of the run, such as "p = 3" or "class 7"; may be empty
	P      float64 // NaN if the lines do not have it
	Names  []string
	Values map[string][]float64
	Rows   int
	Sizes  []SizesAt // of the points that have a histogram, in their order
	Old    bool      // another curve replaced it: the run started again at an earlier step

	columns [][]float64 // in the order of Names; Read copies them to Values at its end
}

// goesBack reports whether a point lies before the curve's last.
func (c *Curve) goesBack(names []string, values []float64) bool {
	for k, name := range names {
		if name == "step" || name == "epoch" {
			at := slices.Index(c.Names, name)
			return at >= 0 && c.Rows > 0 && len(c.columns[at]) == c.Rows && values[k] < c.columns[at][c.Rows-1]
		}
	}
	return false
}

// rowAt is a point: where its line ends in the file, and its place in a curve.
type rowAt struct {
	end          int64
	curve, index int32
}

// Limits of a Log. Real runs stay far below; a hostile or broken file must not fill the memory.
const (
	maxLine    = 1 << 20
	maxCurves  = 256
	maxColumns = 64
	maxName    = 64
)

// labels are the keys of a line that say which curve it belongs to, in the order of a curve's name. The "points" of a
// line are points of one curve, and the numbers of its "result", which a sweep writes of each "run", are the line's
// own.
var labels = []string{"experiment", "name", "model", "variant", "p", "class", "seed", "reading"}

// Read reads the whole lines from where it stopped up to size. A last line without its newline waits for the next call.
func (l *Log) Read(f io.ReaderAt, size int64) error {
	buf := make([]byte, min(1<<20+maxLine, max(size-l.Offset, 0)))
	defer func() {
		for _, c := range l.Curves {
			for k, name := range c.Names {
				c.Values[name] = c.columns[k]
			}
		}
	}()
	for l.Offset < size {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-l.Offset)], l.Offset)
		data := buf[:n]
		used := 0
		for {
			k := bytes.IndexByte(data[used:], '\n')
			if k < 0 {
				break
			}
			l.line(data[used:used+k], l.Offset+int64(used+k+1))
			used += k + 1
		}
		if used == 0 && n >= maxLine { // a line that is too long: drop what was read of it
			if !l.skipping {
				l.bad("is longer than 1 MiB")
			}
			l.skipping = true
			used = n
		}
		l.Offset += int64(used)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if used == 0 { // half a line
			return nil
		}
	}
	return nil
}

func (l *Log) bad(why string) {
	if l.Bad++; l.Bad == 1 {
		l.Why = fmt.Sprintf("metrics.jsonl: line %d %s", l.lines+1, why)
	}
}

func (l *Log) line(line []byte, end int64) {
	if l.skipping { // this is the end of a line that was too long
		l.skipping = false
		l.lines++
		return
	}
	defer func() { l.lines++ }()
	line = bytes.TrimSpace(line)
	var err error
	switch {
	case len(line) > maxLine:
		l.bad("is longer than 1 MiB")
		return
	case len(line) == 0:
		return
	}
	pt := &l.scratch
	if !pt.scan(line) {
		if *pt, err = parse(line); err != nil {
			l.bad("is not a JSON object")
			return
		}
	}
	if pt.points == nil {
		l.add(pt, pt.names, pt.values, end)
		return
	}
	for k := range pt.points {
		l.add(pt, pt.points[k].names, pt.points[k].values, end)
	}
}

// point is a line: its labels, and its numbers.
type point struct {
	labels []string // key=value
	p      float64
	names  []string
	values []float64
	points []point
	sizes  *Sizes
}

func (pt *point) set(name string, v float64) {
	switch name {
	case "step", "loss", "margin", "norm", "gap": // no label
	case "p":
		pt.p = v
		fallthrough
	default:
		if !slices.Contains(labels, name) {
			break
		}
		pt.label(name, strconv.FormatFloat(v, 'g', -1, 64))
		return
	}
	pt.names, pt.values = append(pt.names, name), append(pt.values, v)
}

func (pt *point) label(name, text string) {
	if slices.Contains(labels, name) && len(text) <= maxName {
		pt.labels = append(pt.labels, name+"="+text)
	}
}

// scan reads the common line, an object of numbers, several times faster than encoding/json. It returns false for
// anything else.
func (pt *point) scan(line []byte) bool {
	*pt = point{p: math.NaN(), names: pt.names[:0], values: pt.values[:0], labels: pt.labels[:0]}
	if len(line) < 2 || line[0] != '{' || line[len(line)-1] != '}' {
		return false
	}
	rest := line[1 : len(line)-1]
	for len(rest) > 0 {
		if rest[0] != '"' {
			return false
		}
		k := bytes.IndexByte(rest[1:], '"')
		if k < 1 || k+2 >= len(rest) || rest[k+2] != ':' || bytes.IndexByte(rest[1:1+k], '\\') >= 0 {
			return false
		}
		name := rest[1 : 1+k]
		rest = rest[k+3:]
		end := bytes.IndexByte(rest, ',')
		if end < 0 {
			end = len(rest)
		}
		if end == 0 || rest[0] != '-' && (rest[0] < '0' || rest[0] > '9') {
			return false
		}
		for _, c := range rest[1:end] { // the characters of a JSON number; ParseFloat accepts more
			if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
				return false
			}
		}
		v, err := strconv.ParseFloat(string(rest[:end]), 64)
		if err != nil {
			return false
		}
		pt.set(intern(name), v)
		if end == len(rest) {
			return true
		}
		rest = rest[end+1:]
		if len(rest) == 0 {
			return false
		}
	}
	return true
}

// intern saves an allocation for the common names.
func intern(name []byte) string {
	switch string(name) {
	case "step":
		return "step"
	case "epoch":
		return "epoch"
	case "loss":
		return "loss"
	case "margin":
		return "margin"
	case "norm":
		return "norm"
	case "gap":
		return "gap"
	}
	return string(name)
}

// parse reads any JSON object: numbers, labels, and the points of a curve.
func parse(line []byte) (point, error) {
	pt := point{p: math.NaN()}
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		return pt, err
	}
	if m == nil {
		return pt, errors.New("null")
	}
	for _, name := range sortedKeys(m) {
		switch v := m[name].(type) {
		case float64:
			pt.set(name, v)
		case string:
			pt.label(name, v)
		case map[string]any:
			switch name {
			case "sizes":
				pt.sizes = sizesOf(v)
			case "cv": // of cross-validation: the score of a fold
				fold, _ := v["fold"].(float64)
				pt.label("name", fmt.Sprintf("fold %v", fold+1))
				delete(v, "fold")
				for _, key := range sortedKeys(v) {
					if n, ok := v[key].(float64); ok {
						pt.set(key, n)
					}
				}
			case "result":
				pt.result(v)
				if run, ok := m["run"].(string); ok {
					pt.label("name", run)
				}
			}
		case []any:
			if name != "points" {
				continue
			}
			for _, e := range v {
				if inner, ok := e.(map[string]any); ok {
					var q point
					for _, key := range sortedKeys(inner) {
						if n, ok := inner[key].(float64); ok {
							q.names, q.values = append(q.names, key), append(q.values, n)
						}
					}
					pt.points = append(pt.points, q)
				}
			}
		}
	}
	return pt, nil
}

// result takes the numbers of a run's result.
func (pt *point) result(m map[string]any) {
	for _, key := range sortedKeys(m) {
		v, ok := m[key].(float64)
		if ok && key == "p" {
			pt.p = v
		}
		if ok && !slices.Contains(labels, key) {
			pt.names, pt.values = append(pt.names, key), append(pt.values, v)
		}
	}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// add appends a point to its curve. A step that goes back begins another curve: fit tries again with a softer margin if
// the classes are not separable.
func (l *Log) add(pt *point, names []string, values []float64, end int64) {
	key := ""
	if len(pt.labels) > 0 {
		key = strings.Join(pt.labels, "\x00")
	}
	at, ok := l.byKey[key]
	again := ok && l.Curves[at].goesBack(names, values)
	if !ok || again {
		if len(l.Curves) >= maxCurves {
			return
		}
		if again {
			l.Curves[at].Old = true
		}
		if l.byKey == nil {
			l.byKey = map[string]int{}
		}
		at = len(l.Curves)
		l.byKey[key] = at
		l.Curves = append(l.Curves, &Curve{Name: curveName(pt.labels), P: pt.p, Values: map[string][]float64{}})
	}
	c := l.Curves[at]
	for k, name := range names {
		at := k // most lines have the names of the line before
		if at >= len(c.Names) || c.Names[at] != name {
			at = slices.Index(c.Names, name)
		}
		if at < 0 {
			if len(c.Names) >= maxColumns || len(name) > maxName {
				continue
			}
			at = len(c.Names)
			c.Names, c.columns = append(c.Names, name), append(c.columns, make([]float64, 0, 16))
		}
		col := c.columns[at]
		for len(col) < c.Rows {
			col = append(col, math.NaN())
		}
		if len(col) == c.Rows { // a name twice in a line: the first counts
			c.columns[at] = append(col, values[k])
		}
	}
	if pt.sizes != nil && l.counts < maxCounts {
		l.counts += len(pt.sizes.Counts)
		c.Sizes = append(c.Sizes, SizesAt{c.Rows, pt.sizes})
	}
	c.Rows++
	l.rows = append(l.rows, rowAt{end, int32(at), int32(c.Rows - 1)})
}

func curveName(pairs []string) string {
	var out []string
	for _, want := range labels {
		for _, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			switch {
			case name != want:
			case name == "p":
				out = append(out, "p = "+value)
			case name == "class" || name == "seed":
				out = append(out, name+" "+value)
			default:
				out = append(out, value)
			}
		}
	}
	return strings.Join(out, ", ")
}

// Column returns a column at its full length, NaN for lines without it.
func (c *Curve) Column(name string) []float64 {
	col := c.Values[name]
	for len(col) < c.Rows {
		col = append(col, math.NaN())
	}
	return col
}

// At returns one number of a point, NaN if its line lacks it.
func (c *Curve) At(name string, index int) float64 {
	if col := c.Values[name]; index < len(col) {
		return col[index]
	}
	return math.NaN()
}

// Over returns the name of the column to draw over and its values; "line" counts points from 1.
func (c *Curve) Over() (string, []float64) {
	for _, x := range []string{"step", "epoch", "b"} {
		if _, ok := c.Values[x]; ok {
			return x, c.Column(x)
		}
	}
	x := make([]float64, c.Rows)
	for k := range x {
		x[k] = float64(k + 1)
	}
	return "line", x
}

// Metrics are the names of the columns that are drawn over x.
func (c *Curve) Metrics() []string {
	x, _ := c.Over()
	var out []string
	for _, n := range c.Names {
		if n != x {
			out = append(out, n)
		}
	}
	return out
}

// Row is a point of the log by its place in a curve.
type Row struct {
	Curve, Index int
	End          int64 // where its line ends
}

// Since returns at most n points whose lines end after the offset. All points of one line come together.
func (l *Log) Since(offset int64, n int) []Row {
	from := sort.Search(len(l.rows), func(i int) bool { return l.rows[i].end > offset })
	var out []Row
	for _, r := range l.rows[from:] {
		if len(out) >= n && r.end != out[len(out)-1].End {
			break
		}
		out = append(out, Row{int(r.curve), int(r.index), r.end})
	}
	return out
}

// Len is the number of points.
func (l *Log) Len() int { return len(l.rows) }

// Log reads the metrics of the run in this folder.
func (f *Folder) Log() (*Log, error) {
	var l Log
	file, st, err := f.Open(metricsFile)
	if err != nil {
		return &l, err
	}
	defer file.Close()
	return &l, l.Read(file, st.Size())
}
