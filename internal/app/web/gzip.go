package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// leastZipped is how large an answer is before compressing it saves a packet.
const leastZipped = 1400

// acceptsGzip reports whether the client of a request reads gzip: it names it, or everything, and not with a weight of
// 0.
func acceptsGzip(r *http.Request) bool {
	said := map[string]bool{}
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, rest, _ := strings.Cut(strings.TrimSpace(strings.ToLower(part)), ";")
		weight := 1.0
		if q, ok := strings.CutPrefix(strings.TrimSpace(rest), "q="); ok {
			weight, _ = strconv.ParseFloat(strings.TrimSpace(q), 64)
		}
		said[strings.TrimSpace(name)] = weight > 0
	}
	yes, named := said["gzip"]
	return yes || !named && said["*"]
}

// writers are reused: each has a window of a megabyte.
var writers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return w
}}

// zipped compresses data.
func zipped(data []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(data) / 4)
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	w.Reset(&b)
	w.Write(data) // to memory
	w.Close()
	return b.Bytes()
}

// compress compresses what is about to be sent if the client reads it and it is large enough, and says so.
func compress(w http.ResponseWriter, r *http.Request, data []byte) []byte {
	if len(data) < leastZipped {
		return data
	}
	w.Header().Add("Vary", "Accept-Encoding")
	if !acceptsGzip(r) {
		return data
	}
	w.Header().Set("Content-Encoding", "gzip")
	return zipped(data)
}
