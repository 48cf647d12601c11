package record

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/runlog"
)

// Read reads a results file. A file that does not exist, or is empty, has no rows.
func Read(path string) ([]Row, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parse(path, data)
}

// parse reads the content of a results file, whose path an error names with the line.
func parse(path string, data []byte) ([]Row, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1 // this program says more about it
	var rows []Row
	var columns []string
	lines := map[string]int{}
	for {
		record, err := r.Read()
		if err == io.EOF {
			return rows, nil
		}
		if bad := (*csv.ParseError)(nil); errors.As(err, &bad) {
			return nil, fmt.Errorf("%s:%d: %w", path, bad.Line, bad.Err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		line, _ := r.FieldPos(0)
		if columns == nil {
			if err := checkHeader(record); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, line, err)
			}
			columns = record
			continue
		}
		row, err := parseRow(columns, record)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line, err)
		}
		if before := lines[row.key()]; before > 0 {
			return nil, fmt.Errorf("%s:%d: the run %s is in line %d already", path, line, shorten(row.Run), before)
		}
		lines[row.key()] = line
		rows = append(rows, row)
	}
}

// encode writes rows, with the header if there is nothing before them.
func encode(rows []Row, header bool) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if header {
		w.Write(Columns)
	}
	for _, r := range rows {
		w.Write(r.record())
	}
	w.Flush()
	return b.Bytes()
}

// Run is a run that has ended: its row, and the histograms of its weights. One that diverged has none; of another Note
// says why.
type Run struct {
	Row
	Weights *Weights
	Note    string
}

// Append adds the rows of runs that a results file does not have, and the histograms of their weights to the file
// beside it. It returns the runs that were added. Both files are replaced whole; programs that append at once wait for
// each other.
func Append(path string, runs ...Run) (added []Run, err error) {
	err = runlog.Update(path, func(old []byte) ([]byte, error) {
		rows, err := parse(path, old)
		if err != nil {
			return nil, err
		}
		have := map[string]bool{}
		for _, r := range rows {
			have[r.key()] = true
		}
		var fresh []Row
		added = nil
		for _, r := range runs {
			if have[r.key()] {
				continue
			}
			have[r.key()] = true
			added, fresh = append(added, r), append(fresh, r.Row)
		}
		if len(fresh) == 0 {
			return nil, nil
		}
		if len(old) > 0 && !bytes.HasPrefix(old, encode(nil, true)) {
			old = encode(rows, true) // of an older version: the columns since are empty
		}
		if n := len(old); n > 0 && old[n-1] != '\n' {
			old = append(old, '\n')
		}
		data := slices.Concat(old, encode(fresh, len(old) == 0))
		if _, err := parse(path, data); err != nil {
			return nil, fmt.Errorf("a row that could not be read back: %w", err)
		}
		// The row comes last: it says that the run is done.
		return data, appendWeights(WeightsPath(path), added)
	})
	if err != nil {
		return nil, err
	}
	return added, nil
}

// WeightsPath is the file of histograms that belongs to a results file.
func WeightsPath(path string) string { return strings.TrimSuffix(path, ".csv") + "-weights.jsonl" }

// weightsLine is a line of the file of histograms.
type weightsLine struct {
	Run     string `json:"run"`
	ID      string `json:"id"` // of the run's identity
	Results int    `json:"results,omitempty"`
	*Weights
}

func (l weightsLine) key() string { return fmt.Sprintf("%s\x00%s\x00%d", l.Run, l.ID, l.Results) }

func appendWeights(path string, runs []Run) error {
	if !slices.ContainsFunc(runs, func(r Run) bool { return r.Weights != nil }) {
		return nil
	}
	return runlog.Update(path, func(old []byte) ([]byte, error) {
		have, err := parseWeights(path, old)
		if err != nil {
			return nil, err
		}
		if n := len(old); n > 0 && old[n-1] != '\n' {
			old = append(old, '\n')
		}
		out := old
		for _, r := range runs {
			l := weightsLine{Run: r.Run, ID: r.Identity.ID(), Results: r.Results, Weights: r.Weights}
			if r.Weights == nil || have[l.key()] != nil {
				continue
			}
			line, err := json.Marshal(l)
			if err != nil {
				return nil, err
			}
			out = append(append(out, line...), '\n')
		}
		return out, nil
	})
}

// ReadWeights reads the histograms that belong to the rows of a results file, in their order: nil for a row without.
func ReadWeights(path string, rows []Row) ([]*Weights, error) {
	out := make([]*Weights, len(rows))
	data, err := os.ReadFile(WeightsPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := parseWeights(WeightsPath(path), data)
	if err != nil {
		return nil, err
	}
	for k, r := range rows {
		out[k] = all[r.key()]
	}
	return out, nil
}

func parseWeights(path string, data []byte) (map[string]*Weights, error) {
	out := map[string]*Weights{}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var l weightsLine
		err := json.Unmarshal(line, &l)
		if err == nil {
			err = l.Weights.check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: not a histogram: %w", path, n, err)
		}
		out[l.key()] = l.Weights
	}
	return out, nil
}
