package web

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// plainly asks without Go's own decompression.
func plainly(t *testing.T, address, accept string) (*http.Response, []byte) {
	t.Helper()
	req, _ := http.NewRequest("GET", address, nil)
	if accept != "" {
		req.Header.Set("Accept-Encoding", accept)
	}
	resp, err := (&http.Transport{DisableCompression: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, data
}

func TestLargeAnswersAreCompressedForClientsThatReadIt(t *testing.T) {
	srv, h := newServer(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		makeRun(t, srv.settings.Runs, name, 3, 1, losses(900)...).Finish(nil, false)
	}
	for _, path := range []string{"/api/runs", "/api/metrics?id=a", "/api/compare?run=a&run=b", "/static/uPlot.esm.js"} {
		_, plain := plainly(t, h.URL+path, "")
		for accept, want := range map[string]string{"gzip, deflate, br": "gzip", "br;q=1.0, gzip;q=0.8": "gzip", "*": "gzip",
			"gzip;q=0, *": "", "br": "", "identity": "", "": ""} {
			resp, data := plainly(t, h.URL+path, accept)
			if got := resp.Header.Get("Content-Encoding"); got != want || resp.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s, Accept-Encoding %q: %q, want %q", path, accept, got, want)
				continue
			}
			if want == "" {
				continue
			}
			if len(data) > len(plain)/2 {
				t.Errorf("%s: %d bytes, compressed %d", path, len(plain), len(data))
			}
			z, err := gzip.NewReader(strings.NewReader(string(data)))
			if err != nil {
				t.Fatal(err)
			}
			if back, err := io.ReadAll(z); err != nil || string(back) != string(plain) && path != "/api/runs" {
				t.Errorf("%s: other bytes than without compression, %v", path, err)
			}
		}
	}
	if resp, _ := plainly(t, h.URL+"/api/forms", "gzip"); resp.Header.Get("Content-Type") != "application/json" {
		t.Error(resp.Header)
	}
	if resp, data := plainly(t, h.URL+"/api/jobs", "gzip"); resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("%d bytes are compressed", len(data))
	}
}

// A stream's events must come at once, and not when a block of the compression is full.
func TestStreamsAreNotCompressed(t *testing.T) {
	srv, h := newServer(t)
	makeRun(t, srv.settings.Runs, "a", 3, 1, losses(900)...)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", h.URL+"/api/stream?id=a", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v", resp.Header)
	}
}

// A browser keeps the files of the page, and has them again for a short question.
func TestFilesOfThePageAreKeptUntilTheyChange(t *testing.T) {
	_, h := newServer(t)
	for _, accept := range []string{"", "gzip"} {
		resp, _ := plainly(t, h.URL+"/static/uPlot.esm.js", accept)
		tag := resp.Header.Get("ETag")
		if tag == "" || resp.Header.Get("Cache-Control") != "no-cache" ||
			!strings.HasPrefix(resp.Header.Get("Content-Type"), "text/javascript") {
			t.Fatalf("%v", resp.Header)
		}
		req, _ := http.NewRequest("GET", h.URL+"/static/uPlot.esm.js", nil)
		req.Header.Set("If-None-Match", tag)
		req.Header.Set("Accept-Encoding", accept)
		again, err := (&http.Transport{DisableCompression: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		again.Body.Close()
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("Accept-Encoding %q: %s", accept, again.Status)
		}
	}
	if resp, text := plainly(t, h.URL+"/static/uPlot.LICENSE.txt", ""); resp.StatusCode != 200 ||
		!strings.Contains(string(text), "MIT License") || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("%s %.100s", resp.Status, text)
	}
}

// No more pages watch than there are places; one that closes makes place for the next.
func TestAsManyPagesWatchAsThereArePlaces(t *testing.T) {
	srv, h := newServer(t)
	makeRun(t, srv.settings.Runs, "a", 3, 1, losses(3)...)
	if n := cap(srv.streams); n != 1000 {
		t.Errorf("%d places", n)
	}
	srv.streams = make(chan struct{}, 3)
	var stops []func()
	for range 3 {
		next, stop := events(t, h, "/api/stream?id=a", "")
		next()
		stops = append(stops, stop)
	}
	code, body := ask(t, h, "/api/stream?"+url.Values{"id": {"a"}}.Encode(), nil)
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "too many pages") {
		t.Errorf("the fourth: %d %s", code, body)
	}
	if code, _ := ask(t, h, "/api/metrics?id=a", nil); code != 200 {
		t.Errorf("a page without a stream: %d", code)
	}
	stops[0]()
	for end := time.Now().Add(20 * time.Second); len(srv.streams) > 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a page that closed holds its place")
		}
	}
	next, stop := events(t, h, "/api/stream?id=a", "")
	if kind, _, _ := next(); kind != "rows" {
		t.Error(kind)
	}
	stop()
	stops[1]()
	stops[2]()
}
