package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// An event's id is EDITION:OFFSET, the place in the file up to which a page has everything. A browser that lost its
// connection comes back with the last one it saw, so nothing is lost or sent twice.

// rowsEvent is what was appended, by curve and column.
type rowsEvent struct {
	Curves []curveRows `json:"curves"`
}

type curveRows struct {
	Curve  int                `json:"curve"`
	Name   string             `json:"name"`
	P      number             `json:"p"`
	Color  [2]string          `json:"color"`
	X      string             `json:"x"`
	Values map[string]numbers `json:"values"`
	Time   numbers            `json:"time,omitempty"` // seconds of the run, as its clock says
	Sizes  []sizesAnswer      `json:"sizes,omitempty"`
}

const (
	rowsPerEvent = 1000
	heartbeat    = 15 * time.Second
)

// stream sends what is appended to a run's metrics until the page closes.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		fail(w, http.StatusServiceUnavailable, errors.New("too many pages watch runs"))
		return
	}
	at := r.Header.Get("Last-Event-ID")
	if at == "" {
		at = r.URL.Query().Get("from")
	}
	edition, text, _ := strings.Cut(at, ":")
	offset, err := strconv.ParseInt(text, 10, 64)
	if at != "" && (err != nil || offset < 0) {
		failed(w, bad("from=%s: want the offset of an answer of /api/metrics", at))
		return
	}
	run, err := s.logs.get(r.URL.Query().Get("id"))
	if err != nil {
		failed(w, err)
		return
	}
	defer run.follow()()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(format string, args ...any) error {
		out.SetWriteDeadline(time.Now().Add(30 * time.Second)) // a page that does not read is disconnected
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return err
		}
		return out.Flush()
	}
	if at == "" {
		run.mu.RLock()
		edition = run.edition
		run.mu.RUnlock()
	}
	ps := s.pOf(run.id)
	status, beat := "", time.NewTicker(heartbeat)
	defer beat.Stop()
	if err := send("retry: 1000\n\n"); err != nil {
		return
	}
	for {
		run.mu.RLock()
		changed, now := run.changed, run.status
		if run.edition != edition || offset > run.log.Offset {
			edition, offset = run.edition, 0
			run.mu.RUnlock()
			if send("event: reset\nid: %s:0\ndata: {}\n\n", edition) != nil {
				return
			}
			continue
		}
		rows := run.log.Since(offset, rowsPerEvent)
		var data []byte
		if len(rows) > 0 {
			offset = rows[len(rows)-1].End
			data, _ = json.Marshal(rowsOf(run.log, rows, ps))
		}
		run.mu.RUnlock()
		if data != nil {
			if send("event: rows\nid: %s:%d\ndata: %s\n\n", edition, offset, data) != nil {
				return
			}
			continue
		}
		if now != status {
			status = now
			if send("event: status\ndata: {\"status\":%q}\n\n", status) != nil {
				return
			}
		}
		select {
		case <-changed:
		case <-beat.C:
			if send(": still here\n\n") != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// pOf is the p of a run, NaN if it has none or several.
func (s *Server) pOf(id string) float64 {
	r, err := s.head(id)
	if err != nil {
		return nan
	}
	return r.P()
}

// rowsOf puts points of a log into columns.
func rowsOf(log *runlog.Log, rows []runlog.Row, p float64) rowsEvent {
	var e rowsEvent
	at, clocks := map[int]int{}, map[int]bool{}
	for _, row := range rows {
		c := log.Curves[row.Curve]
		k, ok := at[row.Curve]
		if !ok {
			x, _ := c.Over()
			k = len(e.Curves)
			at[row.Curve] = k
			clocks[row.Curve] = slices.Contains(trials.Axes(c), trials.Time)
			e.Curves = append(e.Curves, curveRows{Curve: row.Curve, Name: c.Name, P: number(orP(c.P, p)),
				Color: colours(orP(c.P, p)), X: x, Values: map[string]numbers{}})
		}
		for _, name := range c.Names {
			if trials.IsClock(name) {
				continue
			}
			e.Curves[k].Values[name] = append(e.Curves[k].Values[name], c.At(name, row.Index))
		}
		if i := sort.Search(len(c.Sizes), func(i int) bool { return c.Sizes[i].Index >= row.Index }); i < len(c.Sizes) &&
			c.Sizes[i].Index == row.Index {
			e.Curves[k].Sizes = append(e.Curves[k].Sizes, sizesAt(c, c.Sizes[i]))
		}
		if clocks[row.Curve] {
			e.Curves[k].Time = append(e.Curves[k].Time, trials.TimeAt(c, row.Index))
		}
		if e.Curves[k].X == "line" {
			e.Curves[k].Values["line"] = append(e.Curves[k].Values["line"], float64(row.Index+1))
		}
	}
	return e
}
