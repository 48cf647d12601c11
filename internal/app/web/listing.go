package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/filter"
)

// listing says which runs a list has, and in what order. The page and the terminal use the same.
type listing struct {
	conditions []filter.Condition
	inside     bool   // also runs that are part of others
	archived   bool   // also archived runs
	sort       string // a key; with - before it the newest or largest first
}

// parseListing reads conditions.
func parseListing(words []string) (listing, error) {
	var l listing
	for _, word := range words {
		c, err := filter.Parse(word)
		if err != nil {
			return l, err
		}
		l.conditions = append(l.conditions, c)
		if c.Key == "is" && strings.EqualFold(c.Value, "archived") {
			l.archived = true
		}
	}
	return l, nil
}

// of returns the runs of a list that is sorted by when they started, the newest first.
func (l listing) of(all []summary) []summary {
	var out []summary
	for _, s := range all {
		fails := func(c filter.Condition) bool { return !s.meets(c) }
		if (l.inside || s.Inside == "") && (l.archived || !s.Archived) && !slices.ContainsFunc(l.conditions, fails) {
			out = append(out, s)
		}
	}
	l.order(out)
	return out
}

// order sorts runs by a key. Runs that do not have it are at the end with the small values.
func (l listing) order(runs []summary) {
	key, down := strings.CutPrefix(l.sort, "-")
	key = strings.ReplaceAll(key, "-", "_")
	slices.Reverse(runs) // the list has the newest first
	if key != "started" && key != "" {
		slices.SortStableFunc(runs, func(a, b summary) int {
			x, s := a.sortValue(key)
			y, t := b.sortValue(key)
			return cmp.Or(cmp.Compare(x, y), strings.Compare(s, t))
		})
	}
	if down {
		slices.Reverse(runs)
	}
}

// sortValue is what a run has of a key: a number, or a text with −∞.
func (s *summary) sortValue(key string) (float64, string) {
	values := s.values(key)
	if len(values) == 0 {
		return math.Inf(-1), ""
	}
	if x, ok := values[0].(float64); ok {
		if x != x {
			x = math.Inf(-1)
		}
		return x, ""
	}
	if x, err := strconv.ParseFloat(fmt.Sprint(values[0]), 64); err == nil {
		return x, ""
	}
	return math.Inf(-1), strings.ToLower(fmt.Sprint(values[0]))
}

// has reports whether a run has something of a key.
func (s *summary) has(key string) bool {
	x, text := s.sortValue(key)
	return !math.IsInf(x, -1) || text != ""
}

// columnsApart are settings that lists show in columns of their own, or that say where a run is kept.
var columnsApart = []string{"p", "data", "seed", "runs", "model", "name", "tag", "note"}

// varying are the settings that are not the same in all runs, those that most runs have first.
func varying(runs []summary) []string {
	count, first, differ := map[string]int{}, map[string]string{}, map[string]bool{}
	for _, s := range runs {
		for k, text := range s.texts {
			if slices.Contains(columnsApart, k) {
				continue
			}
			if count[k]++; count[k] == 1 {
				first[k] = text
			} else if first[k] != text {
				differ[k] = true
			}
		}
	}
	out := []string{}
	for k := range differ {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	return out
}

// autoColumns is how many settings that vary are columns if nobody chose them.
const autoColumns = 4

// stamp is the time with which the name of a run folder begins.
var stampedName = regexp.MustCompile(`^\d{8}-\d{6}-(.+)$`)

// describe says in words what a run is.
func (s *summary) describe() string {
	folder := path.Base(s.ID)
	if m := stampedName.FindStringSubmatch(folder); m != nil {
		folder = m[1]
	}
	data := path.Base(s.Data)
	for _, end := range []string{".gz", ".svm", ".libsvm", ".csv", ".txt", ".npz", ".npy", ".parquet", ".pack"} {
		data = strings.TrimSuffix(data, end)
	}
	out := ""
	switch {
	case s.Command == "train" && s.Model != "" && s.Data != "":
		out = s.Model + " on " + data
	case s.Command == "sweep":
		return "sweep " + cmp.Or(s.texts["name"], folder)
	case slices.Contains([]string{"fit", "margin", "path"}, s.Command) && s.Data != "":
		out = s.Command + " of " + data
	case s.Command == "verify" || strings.HasPrefix(s.Command, "reproduce"):
		return s.Command
	default:
		return folder
	}
	if len(s.P) > 0 {
		var ps []string
		for _, p := range s.P {
			ps = append(ps, strings.ReplaceAll(fmt.Sprint(p), "+Inf", "∞"))
		}
		if len(ps) > 4 {
			ps = []string{ps[0], "…", ps[len(ps)-1]}
		}
		out += ", p = " + strings.Join(ps, ", ")
	}
	if s.Command == "train" && s.Seed > 0 {
		out += fmt.Sprintf(", seed %d", s.Seed)
	}
	return out
}

// rowAnswer is a run with the settings that are columns.
type rowAnswer struct {
	summary
	Cells map[string]string `json:"cells,omitempty"`
}

// maxIDs is how many runs a page may choose at once.
const maxIDs = 20_000

// getRuns returns runs. Without a q these are all; with one, those that meet its conditions, as in `bregman runs list`.
func (s *Server) getRuns(r *http.Request) (any, error) {
	q := r.URL.Query()
	all := s.list.all()
	out := map[string]any{"root": s.settings.Runs, "allow_run": s.settings.AllowRun}
	if !q.Has("q") {
		out["runs"] = all
		return out, nil
	}
	l, err := parseListing(strings.Fields(q.Get("q")))
	if err != nil {
		return nil, bad("%w", err)
	}
	l.sort, l.inside = cmp.Or(q.Get("sort"), "-started"), q.Get("inside") == "1"
	l.archived = l.archived || q.Get("archived") == "1"
	limit := len(all)
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
			return nil, bad("limit=%s: want a whole number", text)
		}
	}
	runs := l.of(all)
	if key := strings.TrimPrefix(l.sort, "-"); key != "started" { // a reader begins at the top: with what there is
		slices.SortStableFunc(runs, func(a, b summary) int {
			switch x, y := a.has(key), b.has(key); {
			case x == y:
				return 0
			case x:
				return -1
			}
			return 1
		})
	}
	keys := varying(runs)
	columns := keys[:min(autoColumns, len(keys))]
	if q.Has("columns") {
		columns = strings.FieldsFunc(q.Get("columns"), func(c rune) bool { return c == ',' })
		if len(columns) > 20 {
			return nil, bad("columns: at most 20")
		}
	}
	rows := []rowAnswer{}
	for _, run := range runs[:min(limit, len(runs))] {
		row := rowAnswer{summary: run, Cells: map[string]string{}}
		for _, c := range columns {
			if text, ok := run.texts[c]; ok {
				row.Cells[c] = text
			}
		}
		rows = append(rows, row)
	}
	count := map[string]int{"total": len(all), "matched": len(runs)}
	for _, run := range all {
		for name, yes := range map[string]bool{"inside": run.Inside != "", "archived": run.Archived,
			"running": run.Status == "running"} {
			if yes {
				count[name]++
			}
		}
	}
	if q.Get("ids") == "1" {
		ids := []string{}
		for _, run := range runs[:min(maxIDs, len(runs))] {
			ids = append(ids, run.ID)
		}
		out["ids"] = ids
	}
	out["runs"], out["columns"], out["keys"], out["count"] = rows, columns, keys, count
	return out, nil
}
