// Package sweep runs grids of jobs, on this machine or on many, through NATS JetStream.
//
// A File describes the grid, a Plan is the list of its runs. Each run has an identity, the hash of its settings, and a
// folder of that name which is renamed into place when the run is done: a run that is there is never repeated, whatever
// was killed before. The queue only distributes the work. It may deliver a run twice, or be lost: the folder decides.
package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// File is a sweep file.
type File struct {
	Job string `toml:"job" json:"job"` // train, fit, margin or path
	// of the sweep's folder; default that of the file
	Name string `toml:"name" json:"name"`
	// a number of the result: what the tables compare
	Metric string `toml:"metric" json:"metric"`
	// high or low; default by the metric
	Better string `toml:"better" json:"better"`
	// one of Library's; default tables of the metric
	Report string `toml:"report" json:"report,omitempty"`
	Seed   uint64 `toml:"seed" json:"seed"` // of the first trial; default 1
	// runs of each combination, with seeds seed, seed+1, …; default 1
	Trials int `toml:"trials" json:"trials"`
	// how many combinations are drawn from [random]
	Draws    int            `toml:"draws" json:"draws,omitempty"`
	DrawSeed uint64         `toml:"draw_seed" json:"draw_seed,omitempty"` // decides what is drawn
	Settings map[string]any `toml:"settings" json:"settings,omitempty"`   // the same in every run
	// lists and ranges: every combination
	Grid map[string]any `toml:"grid" json:"grid,omitempty"`
	// lists of one length that go together
	Zip    map[string]any `toml:"zip" json:"zip,omitempty"`
	Random map[string]any `toml:"random" json:"random,omitempty"` // lists and ranges to draw from
	// numbers to show beside: settings, mean, deviation
	Published []map[string]any `toml:"published" json:"published,omitempty"`
	Reference string           `toml:"published_title" json:"published_title,omitempty"` // where they come from
	// parts that are run one after the other, in this order
	Entries []Entry `toml:"entry" json:"entry,omitempty"`

	path  string
	order []string       // dotted keys as they stand in the file
	lines map[string]int // of dotted keys; 0 for those of the command line
}

// ReadFile reads a sweep file. Each override, key=value or key=value,value,…, replaces what the file says of that key.
func ReadFile(path string, data []byte, overrides []string) (*File, error) {
	f := &File{path: path, Trials: 1, Seed: 1, DrawSeed: 1, lines: map[string]int{}}
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(f); err != nil {
		return nil, locate(path, err)
	}
	f.index(data)
	tables := []map[string]any{f.Settings, f.Grid, f.Zip, f.Random}
	for _, e := range f.Entries {
		tables = append(tables, e.Settings, e.Grid, e.Zip)
	}
	for _, table := range tables {
		for key, v := range table {
			table[key] = finiteValue(v)
		}
	}
	for _, o := range overrides {
		if err := f.override(o); err != nil {
			return nil, err
		}
	}
	if f.Name == "" {
		f.Name = slug(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	}
	return f, nil
}

// topKeys are the keys of a file; an override may set the first nine.
var topKeys = []string{"job", "name", "metric", "better", "report", "seed", "trials", "draws", "draw_seed", "settings",
	"grid", "zip", "random", "published", "published_title", "entry"}

// locate adds the line of the file at which the decoder stopped.
func locate(path string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		key := strings.Join(strict.Errors[0].Key(), ".")
		return fmt.Errorf("%s:%d: %s: no such key%s: a sweep file has %s, and the settings of the job in [settings], "+
			"[grid], [zip] or [random]",
			path, row, key, settings.Nearest(key, topKeys), strings.Join(topKeys, ", "))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		row, col := bad.Position()
		return fmt.Errorf("%s:%d:%d: %s", path, row, col, plainly(bad))
	}
	return fmt.Errorf("%s: %s", path, plainly(err))
}

var wrongType = regexp.MustCompile(`cannot (?:decode|store) .* (?:of|into) type (.*)$`)

// plainly describes the error without the names of Go's types.
func plainly(err error) string {
	text := strings.TrimPrefix(err.Error(), "toml: ")
	m := wrongType.FindStringSubmatch(text)
	switch {
	case m == nil:
		return text
	case strings.HasPrefix(m[1], "map"):
		return "want a table, such as [grid]"
	case strings.HasPrefix(m[1], "[]"):
		return "want tables, such as [[entry]]"
	case strings.HasPrefix(m[1], "string"):
		return "want a text in quotes"
	}
	return "want a whole number"
}

// index records the order and the lines of the keys, which a decoded map does not have.
func (f *File) index(data []byte) {
	var p unstable.Parser
	p.Reset(data)
	prefix, entry := "", -1
	for p.NextExpression() {
		e := p.Expression()
		var parts []string
		line := 0
		for it := e.Key(); it.Next(); {
			if line == 0 {
				line = p.Shape(it.Node().Raw).Start.Line
			}
			parts = append(parts, string(it.Node().Data))
		}
		key := strings.Join(parts, ".")
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			if key == "entry" {
				entry++
			}
			prefix = key + "."
			f.lines[key] = line
		case unstable.KeyValue:
			own, isEntry := strings.CutPrefix(prefix+key, "entry.")
			if isEntry && entry >= 0 && entry < len(f.Entries) {
				f.Entries[entry].index(own, line)
				continue
			}
			f.lines[prefix+key] = line
			f.order = append(f.order, prefix+key)
		}
	}
}

// at names a key for an error: file and line, or the command line.
func (f *File) at(key string) string {
	if line := f.lines[key]; line > 0 {
		return fmt.Sprintf("%s:%d: %s", f.path, line, key)
	}
	if _, ok := f.lines[key]; ok {
		return "on the command line: " + key[strings.LastIndex(key, ".")+1:]
	}
	return f.path + ": " + key
}

// override applies key=value or key=value,value,… from the command line.
func (f *File) override(text string) error {
	if printable(text) != text {
		return fmt.Errorf("on the command line: %q: a value is one line of text", text)
	}
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" || value == "" {
		return fmt.Errorf("%q: an override is key=value or key=value,value,… such as p=1.1,2,3", text)
	}
	key = strings.ReplaceAll(key, "-", "_")
	var values []any
	for _, v := range strings.Split(value, ",") {
		if v == "" {
			return fmt.Errorf("on the command line: %s: a value is empty", text)
		}
		values = append(values, scalar(v))
	}
	if slices.Contains(topKeys[:9], key) {
		line := fmt.Sprintf("%s = %s\n", key, value)
		if _, isText := values[0].(string); isText || len(values) > 1 {
			line = fmt.Sprintf("%s = %q\n", key, value)
		}
		if err := toml.Unmarshal([]byte(line), f); err != nil {
			return fmt.Errorf("on the command line: %s: %s", text, plainly(err))
		}
		f.lines[key] = 0
		for k := range f.Entries {
			f.Entries[k].unset(key)
		}
		return nil
	}
	if len(values) == 1 {
		f.Set("settings", key, values[0])
	} else {
		f.Set("grid", key, values)
	}
	return nil
}

// Set puts a key into settings, grid or zip, in place of what the file says of it anywhere.
func (f *File) Set(table, key string, value any) {
	for _, t := range []map[string]any{f.Settings, f.Grid, f.Zip, f.Random} {
		delete(t, key)
	}
	for k := range f.Entries {
		f.Entries[k].unset(key)
	}
	to := map[string]*map[string]any{"settings": &f.Settings, "grid": &f.Grid, "zip": &f.Zip}[table]
	if *to == nil {
		*to = map[string]any{}
	}
	(*to)[key] = value
	f.lines[table+"."+key] = 0
	f.order = append(f.order, table+"."+key)
}

// scalar reads a value of the command line as TOML would, or else as text.
func scalar(text string) any {
	var v struct{ X any }
	if toml.Unmarshal([]byte("X = "+text), &v) == nil {
		switch v.X.(type) {
		case int64, float64, bool:
			return finiteValue(v.X)
		}
	}
	return text
}

// finiteValue writes an infinite p as text, in lists too: plan.json has no number for it.
func finiteValue(v any) any {
	switch x := v.(type) {
	case float64:
		if math.IsInf(x, 0) {
			return "inf"
		}
	case []any:
		for i := range x {
			x[i] = finiteValue(x[i])
		}
	}
	return v
}

// pair is a setting in a run.
type pair struct{ Key, Value string }

// combinations returns what varies: every combination of the grid, with every row of zip, with every draw.
func (f *File) combinations() ([][]pair, error) {
	seen := map[string]string{}
	for _, t := range []struct {
		name string
		keys map[string]any
	}{{"settings", f.Settings}, {"grid", f.Grid}, {"zip", f.Zip}, {"random", f.Random}} {
		for _, k := range slices.Sorted(maps.Keys(t.keys)) {
			if other, twice := seen[k]; twice {
				return nil, fmt.Errorf("%s: it is also in [%s]: keep one", f.at(t.name+"."+k), other)
			}
			seen[k] = t.name
		}
	}
	all := [][]pair{nil}
	for _, key := range f.keys("grid") {
		values, err := f.values("grid."+key, f.Grid[key])
		if err != nil {
			return nil, err
		}
		var column [][]pair
		for _, v := range values {
			column = append(column, []pair{{key, v}})
		}
		if all, err = f.product(all, column, "grid."+key); err != nil {
			return nil, err
		}
	}
	zipped, err := f.zipped()
	if err == nil {
		all, err = f.product(all, zipped, "zip")
	}
	if err != nil {
		return nil, err
	}
	drawn, err := f.drawn()
	if err != nil {
		return nil, err
	}
	return f.product(all, drawn, "draws")
}

// maxRuns is more than any reasonable sweep has.
const maxRuns = 200_000

// product is every combination of a and b; key is what b comes from.
func (f *File) product(a, b [][]pair, key string) ([][]pair, error) {
	if len(b) == 0 {
		return a, nil
	}
	if len(a)*len(b) > maxRuns {
		return nil, fmt.Errorf("%s: more than %d combinations: draw some of them with [random] and draws", f.at(key), maxRuns)
	}
	var out [][]pair
	for _, x := range a {
		for _, y := range b {
			out = append(out, append(slices.Clip(x), y...))
		}
	}
	return out, nil
}

// keys are those of a table in the order of the file.
func (f *File) keys(table string) []string {
	tables := map[string]map[string]any{"grid": f.Grid, "zip": f.Zip, "random": f.Random}
	var out []string
	add := func(k string) {
		if _, there := tables[table][k]; there && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	for _, dotted := range f.order {
		if k, ok := strings.CutPrefix(dotted, table+"."); ok {
			k, _, _ = strings.Cut(k, ".")
			add(k)
		}
	}
	rest := []string{} // written inline, such as grid = { p = [2, 3] }
	for k := range tables[table] {
		rest = append(rest, k)
	}
	slices.Sort(rest)
	for _, k := range rest {
		add(k)
	}
	return out
}

func (f *File) zipped() ([][]pair, error) {
	var rows [][]pair
	for n, key := range f.keys("zip") {
		values, err := f.values("zip."+key, f.Zip[key])
		if err != nil {
			return nil, err
		}
		if n == 0 {
			rows = make([][]pair, len(values))
		}
		if len(values) != len(rows) {
			return nil, fmt.Errorf("%s: %s, the lists before it in [zip] have %d: they go together, so want as many",
				f.at("zip."+key), render.Count(len(values), "value"), len(rows))
		}
		for i, v := range values {
			rows[i] = append(rows[i], pair{key, v})
		}
	}
	return rows, nil
}

func (f *File) drawn() ([][]pair, error) {
	keys := f.keys("random")
	switch {
	case len(keys) == 0 && f.Draws == 0:
		return nil, nil
	case len(keys) == 0:
		return nil, fmt.Errorf("%s: there is no [random] to draw from", f.at("draws"))
	case f.Draws < 1 || f.Draws > maxRuns:
		return nil, fmt.Errorf("%s: [random] needs draws = N, how many combinations to draw", f.at("draws"))
	}
	rows := make([][]pair, f.Draws)
	for n, key := range keys {
		rng := rand.New(rand.NewPCG(f.DrawSeed, uint64(n)+0x7377656570)) // "sweep": a stream per key
		for i := range rows {
			v, err := f.draw("random."+key, f.Random[key], rng)
			if err != nil {
				return nil, err
			}
			rows[i] = append(rows[i], pair{key, v})
		}
	}
	return rows, nil
}

// values reads a list, or a range with a count.
func (f *File) values(key string, v any) ([]string, error) {
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return nil, fmt.Errorf("%s: an empty list", f.at(key))
		}
		var out []string
		seen := map[string]bool{}
		for _, x := range v {
			s, err := f.text(key, x)
			if err != nil {
				return nil, err
			}
			if seen[s] && !strings.HasPrefix(key, "zip.") {
				return nil, fmt.Errorf("%s: %s is listed twice", f.at(key), s)
			}
			seen[s] = true
			out = append(out, s)
		}
		return out, nil
	case map[string]any:
		r, err := f.span(key, v)
		if err != nil {
			return nil, err
		}
		if r.count < 2 {
			return nil, fmt.Errorf("%s: a range in [%s] needs count = N, at least 2", f.at(key), key[:strings.Index(key, ".")])
		}
		var out []string
		for i := range r.count {
			if s := r.value(float64(i) / float64(r.count-1)); len(out) == 0 || s != out[len(out)-1] { // whole numbers may meet
				out = append(out, s)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s: want a list such as [1.1, 2, 3] or a range such as { from = 0.01, to = 1, count = 5, "+
		"scale = \"log\" }; one value belongs in [settings]", f.at(key))
}

func (f *File) draw(key string, v any, rng *rand.Rand) (string, error) {
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return "", fmt.Errorf("%s: an empty list", f.at(key))
		}
		return f.text(key, v[rng.IntN(len(v))])
	case map[string]any:
		r, err := f.span(key, v)
		if err == nil && r.count != 0 {
			err = fmt.Errorf("%s: count: draws sets the number for all of them", f.at(key))
		}
		if err != nil {
			return "", err
		}
		return r.value(rng.Float64()), nil
	}
	return "", fmt.Errorf("%s: want a list, or a range such as { from = 0.01, to = 1, scale = \"log\" }", f.at(key))
}

// span is a range of numbers.
type span struct {
	from, to   float64
	count      int
	log, whole bool
}

func (f *File) span(key string, m map[string]any) (s span, err error) {
	whole := 0
	number := func(v any) (float64, bool) {
		switch v := v.(type) {
		case int64:
			whole++
			return float64(v), true
		case float64:
			return v, !math.IsNaN(v - v)
		}
		return 0, false
	}
	var okFrom, okTo bool
	for k, v := range m {
		switch k {
		case "from":
			s.from, okFrom = number(v)
		case "to":
			s.to, okTo = number(v)
		case "count":
			n, ok := v.(int64)
			if !ok || n < 2 || n > maxRuns {
				return s, fmt.Errorf("%s: count = %v: want a whole number, at least 2", f.at(key), v)
			}
			s.count = int(n)
		case "scale":
			if v != "log" && v != "linear" {
				return s, fmt.Errorf("%s: scale = %v: want \"linear\" or \"log\"", f.at(key), v)
			}
			s.log = v == "log"
		default:
			return s, fmt.Errorf("%s: %s: a range has from, to, count and scale", f.at(key), k)
		}
	}
	s.whole = whole == 2
	switch {
	case !okFrom || !okTo || !(s.from < s.to):
		return s, fmt.Errorf("%s: a range needs numbers from < to", f.at(key))
	case s.log && s.from <= 0:
		return s, fmt.Errorf("%s: a logarithmic range starts above 0", f.at(key))
	}
	return s, nil
}

// value is the value at the share x of the range: a whole number if both ends are, else with six digits.
func (s span) value(x float64) string {
	v := s.from + x*(s.to-s.from)
	if s.log {
		v = s.from * math.Pow(s.to/s.from, x)
	}
	if s.whole {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return number(v)
}

// number formats a float with as few digits as possible.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// text is a single value as a flag of the command line takes it.
func (f *File) text(key string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return number(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case []any:
		if !strings.HasPrefix(key, "settings.") {
			return "", fmt.Errorf("%s: %v: a list inside the list", f.at(key), v)
		}
		return "", fmt.Errorf("%s: a list varies from run to run: it belongs in [grid]", f.at(key))
	}
	return "", fmt.Errorf("%s: %v: want a number, a text, true or false", f.at(key), v)
}
