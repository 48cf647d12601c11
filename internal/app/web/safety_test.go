package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
)

func send2(t testing.TB, h *httptest.Server, method, path, body string, header map[string]string) (*http.Response,
	string) {
	t.Helper()
	req, err := http.NewRequest(method, h.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			req.Host = v
		} else {
			req.Header.Set(k, v)
		}
	}
	resp, err := (&http.Client{CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	return resp, string(data)
}

// DNS rebinding: a page of evil.example, whose name now points at 127.0.0.1, asks this server. Its browser sends the
// page's own host.
func TestOnlyLoopbacksOwnNamesAreAnswered(t *testing.T) {
	_, h := newServer(t)
	for host, want := range map[string]int{"localhost": 200, "localhost:9000": 200, "127.0.0.1:8420": 200,
		"[::1]:8420": 200, "127.3.2.1": 200,
		"evil.example": 403, "evil.example:8420": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403,
		"0.0.0.0": 403, "192.168.1.2": 403, "": 403, "localhost@evil.example": 403} {
		if host == "" {
			continue
		}
		for _, path := range []string{"/", "/api/runs", "/static/app.js", "/file?id=a&name=b"} {
			resp, _ := send2(t, h, "GET", path, "", map[string]string{"Host": host})
			if got := resp.StatusCode; (got == 403) != (want == 403) {
				t.Errorf("%s of %s: %d", path, host, got)
			}
		}
	}
}

func TestOtherSitesCannotAskThroughABrowser(t *testing.T) {
	_, h := newServer(t, func(s *Serve) { s.AllowRun = true })
	start := `{"command":"margin","settings":{"data":"nosuchfile"}}`
	kind := "application/json"
	own := strings.TrimPrefix(h.URL, "http://")
	for name, c := range map[string]struct {
		method, path string
		header       map[string]string
		refused      bool
	}{
		"a form of another site": {"POST", "/api/start", map[string]string{"Content-Type": "text/plain",
			"Origin": "http://evil.example"}, true},
		"fetch of another site": {"POST", "/api/start", map[string]string{"Content-Type": kind,
			"Origin": "http://evil.example"}, true},
		"another port of this machine": {"POST", "/api/start", map[string]string{"Content-Type": kind,
			"Origin": "http://127.0.0.1:1"}, true},
		"an opaque origin": {"POST", "/api/start", map[string]string{"Content-Type": kind, "Origin": "null"},
			true},
		"a cross-site post without origin": {"POST", "/api/start", map[string]string{"Content-Type": kind,
			"Sec-Fetch-Site": "cross-site"}, true},
		"a form of this site": {"POST", "/api/start",
			map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://" + own}, true},
		"a script tag elsewhere": {"GET", "/api/runs", map[string]string{"Sec-Fetch-Site": "cross-site",
			"Sec-Fetch-Mode": "no-cors"}, true},
		"fetch elsewhere": {"GET", "/api/runs", map[string]string{"Origin": "http://evil.example"}, true},
		"a link elsewhere": {"GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site",
			"Sec-Fetch-Mode": "navigate"}, false},
		"the page itself": {"POST", "/api/start", map[string]string{"Content-Type": kind,
			"Origin": "http://" + own, "Sec-Fetch-Site": "same-origin"}, false},
		"a program": {"POST", "/api/start", map[string]string{"Content-Type": kind}, false},
	} {
		resp, body := send2(t, h, c.method, c.path, start, c.header)
		if (resp.StatusCode == 403) != c.refused {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
}

func TestAddressesBeyondLoopbackNeedTheirToken(t *testing.T) {
	const token = "abcdefghijklmnop1234"
	_, h := newServer(t, func(s *Serve) { s.Token = token })
	cookie := tokenCookie(h.Listener.Addr().String()) + "=" + token
	for name, c := range map[string]struct {
		path   string
		header map[string]string
		want   int
	}{
		"nothing":        {"/api/runs", nil, 401},
		"the page":       {"/", nil, 401},
		"a wrong one":    {"/api/runs?token=x", nil, 401},
		"a prefix":       {"/api/runs?token=" + token[:19], nil, 401},
		"the header":     {"/api/runs", map[string]string{"Authorization": "Bearer " + token}, 200},
		"another scheme": {"/api/runs", map[string]string{"Authorization": "Basic " + token}, 401},
		"the cookie":     {"/api/runs", map[string]string{"Cookie": cookie}, 200},
		"the address":    {"/run?id=a&token=" + token, nil, 303},
	} {
		resp, _ := send2(t, h, "GET", c.path, "", c.header)
		if resp.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, c.want)
		}
		if c.want == 303 {
			if to := resp.Header.Get("Location"); to != "/run?id=a" {
				t.Errorf("sent to %s", to)
			}
			if c := resp.Header.Get("Set-Cookie"); !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Strict") {
				t.Errorf("cookie %s", c)
			}
		}
	}
	resp, _ := send2(t, h, "GET", "//evil.example/?token="+token, "", nil)
	if to := resp.Header.Get("Location"); strings.HasPrefix(to, "//") {
		t.Errorf("sent to another site: %s", to)
	}
}

func TestTwoDashboardsOnOneHostKeepTheirTokens(t *testing.T) {
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	var servers []*httptest.Server
	for _, token := range []string{"abcdefghijklmnop1234", "another-token-of-20-l"} {
		_, h := newServer(t, func(s *Serve) { s.Token = token })
		servers = append(servers, h)
		if resp, err := browser.Get(h.URL + "/?token=" + token); err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
	}
	for k, h := range servers { // the first one, too, after the second was opened
		resp, err := browser.Get(h.URL + "/api/runs")
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 200 {
			t.Errorf("dashboard %d: %s", k+1, resp.Status)
		}
	}
	for host, want := range map[string]string{"a.example": "bregman_token", "a.example:8420": "bregman_token_8420",
		"[::1]:80": "bregman_token_80", "a.example:8420;x=y": "bregman_token", "a.example:99999": "bregman_token"} {
		if got := tokenCookie(host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}

func TestServeMakesATokenWhereTheAddressIsNotLoopback(t *testing.T) {
	for addr, want := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		pr, pw, _ := os.Pipe()
		s := Serve{Runs: t.TempDir(), Addr: addr, Data: ".", Limit: 1}
		ctx, cancel := contextOf(t)
		done := make(chan error)
		go func() { done <- command.Run(ctx, &command.Env{Observer: command.Quiet()}, &s, pw) }()
		buf := make([]byte, 1000)
		n, _ := pr.Read(buf)
		if got := strings.Contains(string(buf[:n]), "token="); got != want {
			t.Errorf("%s: %s", addr, buf[:n])
		}
		printed, _, _ := strings.Cut(string(buf[:n]), " ")
		u, err := url.Parse(printed)
		if err != nil {
			t.Fatal(err)
		}
		if ip := net.ParseIP(u.Hostname()); ip != nil { // a machine without a network prints its name
			if ip.IsUnspecified() || ip.IsLoopback() == want {
				t.Errorf("%s: %s cannot be opened from another machine", addr, printed)
			}
			jar, _ := cookiejar.New(nil)
			resp, err := (&http.Client{Jar: jar}).Get(printed)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Body.Close(); resp.StatusCode != 200 {
				t.Errorf("%s answers with %d", printed, resp.StatusCode)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestThePageIsStrict(t *testing.T) {
	_, h := newServer(t)
	resp, body := send2(t, h, "GET", "/", "", nil)
	csp := resp.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("the policy lacks %s: %s", want, csp)
		}
	}
	if strings.Contains(csp, "unsafe") {
		t.Error(csp)
	}
	for _, bad := range []string{"onclick", "style=", "<style", "http://", "https://"} {
		if strings.Contains(body, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	entries, _ := assets.ReadDir("assets")
	for _, e := range entries {
		data, _ := assets.ReadFile("assets/" + e.Name())
		text := strings.ReplaceAll(string(data), "http://www.w3.org/2000/svg", "")
		if e.Name() == "uPlot.esm.js" { // kept as it is published, with links in its comments
			text = commentLine.ReplaceAllString(text, "")
		}
		for _, bad := range []string{"http://", "https://", "innerHTML", "insertAdjacentHTML", "document.write", "eval("} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", e.Name(), bad)
			}
		}
	}
}

// commentLine is a line of JavaScript that holds a comment alone.
var commentLine = regexp.MustCompile(`(?m)^\s*(//|\*).*$`)

// hostile writes a folder of malicious runs, beside a secret.
func hostile(t testing.TB) (root string) {
	t.Helper()
	top := t.TempDir()
	root = filepath.Join(top, "runs")
	os.WriteFile(filepath.Join(top, "secret"), []byte("TOPSECRET"), 0o666)
	write := func(name, text string) {
		path := filepath.Join(root, filepath.FromSlash(name))
		os.MkdirAll(filepath.Dir(path), 0o777)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	good := `{"command":"fit","settings":{"data":"r2","p":3},"data":"r2:1","status":"done"}`
	write("good/run.json", good)
	write("good/metrics.jsonl", "{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"loss\":0.25}\n")
	markup := `<img src=x onerror=alert(1)>"'&`
	write(markup+"/run.json", fmt.Sprintf(`{"command":%q,"settings":{"p":3,%q:1},"data":%q,"status":%q,"error":%q}`,
		markup, markup, markup, "<b>", markup))
	write(markup+"/metrics.jsonl", fmt.Sprintf("{\"step\":1,%q:2,\"class\":%q}\n", "<script>alert(1)</script>", markup))
	write("long/run.json", good)
	write("long/metrics.jsonl", "{\"step\":1,\"loss\":1}\n{\"x\":\""+strings.Repeat("a", 10<<20)+
		"\"}\n{\"step\":2,\"loss\":NaN}\n{\"step\":3,\"loss\":1e999}\n{\"step\":4,\"lo")
	write("binary/run.json", "\x00\xff\xfe")
	write("binary/metrics.jsonl", "\x00\xff\xfe\n\n\n{}\n[]\nnull\n{\"step\":{}}\n")
	write("huge/run.json", strings.Repeat(" ", 2<<20))
	write("types/run.json", `{"command":5,"settings":[],"status":{}}`)
	write("deep/run.json", `{"settings":`+strings.Repeat(`{"a":`, 20000)+`1`+strings.Repeat("}", 20000)+`}`)
	write("odd/run.json",
		`{"command":"fit","settings":{"p":[3,"x",null],"data":"r2","steps":1e300,"lr":-1,"init":"/etc/passwd"},"status":"running","started":"9999-12-31T23:59:59Z"}`)
	write("odd/tables/result.json", `{"lr":-5,"steps":1e300,"loss":"x"}`)
	write("odd/tables/study.json", `{"histogram":{"limit":-1,"share":[1]},"scaled_histogram":{"limit":0,"share":[1]}}`)
	write("odd/model.json", `{"weights":[[]]}`)
	// what JavaScript objects have by nature, the ends of floats, and histograms that are none
	write("names/run.json", `{"command":"train","settings":{"p":[3],"long":"`+strings.Repeat("y", 5000)+
		`"},"data":"cifar10","status":"done"}`)
	write("names/metrics.jsonl", `{"epoch":1,"toString":1,"constructor":2,"__proto__":3,"`+strings.Repeat("x", 60)+
		`":1,"loss":1e308,"sizes":{"below":1,"from":-300,"counts":[1]}}
{"epoch":2,"loss":-1e308,"hasOwnProperty":1,"sizes":{"below":0,"from":300,"counts":[100000000000000]}}
{"epoch":3,"loss":1e308,"sizes":{"below":0,"from":0,"counts":[]}}
{"epoch":4,"sizes":{"below":1e300,"from":0,"counts":[1]}}
`)
	write("live/run.json", `{"command":"train","settings":{"epochs":1e300},"status":"failed","error":"`+
		strings.Repeat("<b>", 9999)+`","machine":{"cpus":-5}}`)
	write("live/steps.jsonl", strings.Repeat(`{"step":1,"epoch":-1e308,"loss":1e308}`+"\n{\n", 1<<17)+
		`{"step":9007199254740993,"epoch":1e300,"loss":-1,"left":1e300}`+"\n"+strings.Repeat("x", 1<<20))
	write("live/machine.jsonl", `{"seconds":-1}`+"\n"+`{"seconds":1e300,"cpu":1}`+"\n"+`{"seconds":1,"cpu":[]}`+
		"\n[]\nnull\n")
	write("tables/run.json", `{"command":"verify","settings":{},"status":"done"}`)
	write("tables/tables/x.md", "**"+markup+"**\n\n| a | b |\n|---|---:|\n| "+markup+" | **"+strings.Repeat("v", 300)+
		"** |\n")
	write("tables/tables/half.md", "| a | b")
	write("tables/figures/x.svg",
		`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script><rect width="10" height="10"/></svg>`)
	os.Symlink("/etc/passwd", filepath.Join(root, "tables", "tables", "passwd.md"))
	write("dir/run.json/x", "a folder")
	write("links/run.json", good)
	for name, to := range map[string]string{"links/secret": "../../secret", "links/absolute": filepath.Join(top, "secret"),
		"links/tables": "../..", "links/metrics.jsonl": "../../secret", "links/report.html": "/etc/passwd",
		"links/steps.jsonl": "../../secret", "links/checkpoints": "../..",
		"outside": "..", "loop": "loop", "links/model.json": "../good/run.json"} {
		os.Symlink(to, filepath.Join(root, name))
	}
	os.MkdirAll(filepath.Join(root, "linked"), 0o777)
	os.Symlink("../../secret", filepath.Join(root, "linked", "run.json"))
	os.MkdirAll(filepath.Join(root, "pipe"), 0o777)
	syscall.Mkfifo(filepath.Join(root, "pipe", "run.json"), 0o666)
	syscall.Mkfifo(filepath.Join(root, "pipe", "metrics.jsonl"), 0o666)
	syscall.Mkfifo(filepath.Join(root, "pipe", "steps.jsonl"), 0o666)
	return root
}

func TestAHostileFolderBreaksNothingAndLeaksNothing(t *testing.T) {
	root := hostile(t)
	_, h := newServer(t, func(s *Serve) { s.Runs = root })
	var list runsJSON
	begin := time.Now()
	ask(t, h, "/api/runs", &list)
	ids := []string{"outside", "loop", "nosuch", "..", ".", "/", "../secret", "good/../..", "outside/runs/good", "",
		"good\x00", strings.Repeat("a/", 3000)}
	good := false
	for _, r := range list.Runs {
		ids = append(ids, r.ID)
		good = good || r.ID == "good" && r.Status == "done"
	}
	if !good || len(list.Runs) < 10 {
		t.Errorf("the list: %+v", list.Runs)
	}
	for _, id := range ids {
		q := url.QueryEscape(id)
		for _, path := range []string{"/api/run?id=" + q, "/api/metrics?id=" + q, "/api/weights?id=" + q,
			"/api/live?id=" + q,
			"/api/compare?run=" + q, "/api/compare?run=good&run=" + q, "/api/figure?to=svg&metric=loss&run=" + q,
			"/api/figure?to=png&metric=%3Cscript%3Ealert(1)%3C/script%3E&run=" + q,
			"/api/export?to=csv&id=" + q, "/api/report?run=" + q,
			"/file?name=secret&id=" + q, "/file?name=absolute&id=" + q, "/file?name=tables/secret&id=" + q,
			"/file?name=../../secret&id=" + q, "/file?name=metrics.jsonl&id=" + q, "/file?name=report.html&id=" + q,
			"/file?name=model.json&id=" + q, "/file?name=.lock&id=" + q} {
			resp, body := send2(t, h, "GET", path, "", nil)
			if strings.Contains(body, "TOPSECRET") || strings.Contains(body, "root:") {
				t.Errorf("%s leaks", path)
			}
			if resp.StatusCode == 500 {
				t.Errorf("%s: %s", path, body)
			}
			if strings.Contains(resp.Header.Get("Content-Type"), "html") && strings.Contains(body, "<script") {
				t.Errorf("%s holds markup of a run", path)
			}
		}
	}
	if wall := time.Since(begin); wall > 20*time.Second {
		t.Errorf("it took %v", wall)
	}
	if code, _ := ask(t, h, "/api/metrics?id=good", nil); code != 200 {
		t.Error("the good run suffers")
	}
}

func TestAFileThatShrinksUnderAReaderIsReadAgain(t *testing.T) {
	srv, h := newServer(t)
	r := makeRun(t, srv.settings.Runs, "a", 3, 1, losses(1000)...)
	var got metricsJSON
	ask(t, h, "/api/metrics?id=a", &got)
	os.Truncate(r.Path("metrics.jsonl"), 100)
	ask(t, h, "/api/metrics?id=a", &got)
	if got.Rows < 2 || got.Rows > 4 {
		t.Errorf("%d rows of 100 bytes", got.Rows)
	}
	os.Remove(r.Path("metrics.jsonl"))
	if code, body := ask(t, h, "/api/metrics?id=a", nil); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	os.RemoveAll(r.Dir)
	if code, _ := ask(t, h, "/api/metrics?id=a", nil); code != 404 {
		t.Errorf("a run that is gone: %d", code)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	srv, h := newServer(t, func(s *Serve) { s.AllowRun = true })
	resp, _ := send2(t, h, "POST", "/api/start", `{"command":"`+strings.Repeat("a", 100<<10)+`"}`,
		map[string]string{"Content-Type": "application/json"})
	if resp.StatusCode != 413 {
		t.Errorf("a large post: %s", resp.Status)
	}
	if code, _ := ask(t, h, "/api/compare?"+strings.Repeat("run=a&", 101), nil); code != 400 {
		t.Errorf("101 runs: %d", code)
	}
	for range cap(srv.streams) {
		srv.streams <- struct{}{}
	}
	if code, _ := ask(t, h, "/api/stream?id=a", nil); code != 503 {
		t.Errorf("one page too many: %d", code)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := contextOf(t)
	defer cancel()
	go srv.Serve(ctx, l)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", strings.Repeat("a", 64<<10))
	buf := make([]byte, 100)
	c.SetReadDeadline(time.Now().Add(60 * time.Second))
	if n, _ := c.Read(buf); !strings.Contains(string(buf[:n]), "431") {
		t.Errorf("a large header: %q", buf[:n])
	}
}

// FuzzRequests: whatever is asked, nothing outside is sent and nothing breaks.
func FuzzRequests(f *testing.F) {
	root := hostile(f)
	srv, err := New(Serve{Runs: root, Data: root, Limit: 1})
	if err != nil {
		f.Fatal(err)
	}
	h := srv.Handler()
	for _, s := range []string{"/file?id=links&name=secret", "/file?id=..&name=secret", "/file?id=good&name=../../secret",
		"/api/run?id=outside", "/api/compare?run=good&run=long", "/api/figure?run=good&metric=loss&to=svg",
		"/static/../serve.go", "/static/..%2fserve.go", "/api/metrics?id=good&points=99", "/run?id=<script>",
		"/api/weights?id=odd", "/api/live?id=live&points=8",
		"/file?id=good&name=%2e%2e/links/secret", "/api/report?run=good"} {
		f.Add("GET", s, "localhost", "")
	}
	f.Add("POST", "/api/start", "localhost", `{"command":"fit"}`)
	f.Add("GET", "/api/runs", "evil.example", "")
	f.Fuzz(func(t *testing.T, method, target, host, body string) {
		if strings.HasPrefix(target, "/api/stream") {
			return // does not end
		}
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Host != "" {
			return
		}
		req := &http.Request{Method: method, URL: u, Host: host, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader(body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RequestURI: target}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code == 500 {
			t.Errorf("%s %q: %s", method, target, w.Body)
		}
		if out := w.Body.String(); strings.Contains(out, "TOPSECRET") {
			t.Errorf("%s %q leaks", method, target)
		}
		if w.Code == 200 && !localName(host) {
			t.Errorf("host %q was answered", host)
		}
		if kind := w.Header().Get("Content-Type"); kind == "application/json" && !json.Valid(w.Body.Bytes()) &&
			!strings.HasPrefix(target, "/file") && method != "HEAD" {
			t.Errorf("%s %q: not JSON: %s", method, target, w.Body)
		}
	})
}
