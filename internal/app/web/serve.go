// Package web is the dashboard over run folders: a JSON API and the page that uses it.
//
//	serve.go    the command and the routes
//	safety.go   which requests are allowed, and what answers may do in a browser
//	list.go     runs, read; listing.go, filter.go: which of them, in which order; runs.go, the same in a terminal
//	edit.go     what people say of runs, and the trash
//	sweeps.go   what a sweep found
//	gzip.go     compressed answers
//	watch.go    metrics that are read as they grow; stream.go sends them to pages
//	live.go     steps and the machine's load while a run is running; ended.go, why it ended and how to resume it
//	thin.go     fewer points that look the same
//	overlay.go  several runs; figures and reports of them
//	replay.go   the trajectory of a fit's weights
//	files.go    a run's page and its files
//	help.go     the guide, from docs/ and the help of commands; helpsearch.go, the search in it
//	form.go     forms from settings; words.go, their words; datalist.go, the data they suggest; again.go, the form of a
//	            run; jobs.go starts commands
//	assets/     the page: HTML, CSS and JavaScript without a build step
package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// Serve is `bregman serve`: the dashboard.
type Serve struct {
	Runs     string `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	Addr     string `default:"127.0.0.1:8420" placeholder:"HOST:PORT" json:"addr"`
	Token    string `env:"BREGMAN_TOKEN" json:"-"`
	AllowRun bool   `json:"allow_run"`
	Data     string `default:"." placeholder:"DIR" json:"data"`
	Limit    int    `default:"2" json:"limit"`
}

// Texts are the words for its settings.
func (*Serve) Texts() settings.Texts {
	return settings.Texts{
		About: "The dashboard: runs in a browser, live.",
		Help: map[string]string{
			"runs":      "The folder of run folders.",
			"addr":      "Where to listen. Any address but loopback needs a token; without --token one is generated.",
			"token":     "What a browser must show once, as ?token=…, and a program as Authorization: Bearer …",
			"allow_run": "Let the page start fit, margin and train on this machine, as you, and name, tag and delete runs.",
			"data":      "The folder whose data files the page may name when it starts a run.",
			"limit":     "The most runs that the page may start at once.",
		},
	}
}

// Help is shown by --help.
func (*Serve) Help() string {
	return `Examples:
  bregman serve
  bregman serve --runs ~/runs --allow-run
  bregman serve --addr 0.0.0.0:8420          prints an address with a token

From another machine without a token: ssh -L 8420:localhost:8420 HOST, then http://localhost:8420/.

--allow-run: other users of this machine can reach its loopback address; if there are any, set a --token.

The page uses this JSON API. A run's id is its path below --runs. Numbers that are not finite are null.
  GET  /api/runs                             all runs: id, command, data, p, status, progress, last numbers
  GET  /api/runs?q=p=3+tag:x&sort=-accuracy  those that meet all conditions, as in "bregman runs list", with the
                                             settings that vary; &limit=200 &columns=lr,epochs &inside=1 &ids=1
  GET  /api/run?id=ID                        settings, result, files, the runs inside it; of a run that was stopped,
                                             why it ended and the command that resumes it
  GET  /api/metrics?id=ID&points=800         curves, down-sampled such that extremes stay, with histograms of a
                                             network's weights; results that are not curves; an offset to continue from
                                             &x=step|epoch|time &from=X &to=X for a part of them
  GET  /api/live?id=ID&points=800            loss and gradient norm by step, progress and seconds left, CPU and GPU
  GET  /api/stream?id=ID&from=OFFSET         server-sent events: "rows" with what was appended since, "status", "reset"
  GET  /api/compare?run=ID&run=ID            groups by p: mean and band of each metric; settings that differ
  GET  /api/weights?id=ID                    the trajectory of a fit's weights (built-in data), or histograms over time
  GET  /api/figure?run=ID&metric=M&to=svg    a figure for a paper, svg or png
  GET  /api/export?id=ID&to=csv              all metrics, csv or npz
  GET  /api/report?run=ID                    the page that bregman report writes
  GET  /file?id=ID&name=tables/trace.csv     a file of the run
With --allow-run:
  GET  /api/forms                            the settings of fit, margin and train
  GET  /api/data                             names of tables and image sets in the folder of --data
  GET  /api/again?id=ID                      the settings of a run as those of a form
  POST /api/start  {"command":"fit","settings":{"data":"r2","p":"3"}}; with "dry":true the command line only, or what
                                             is wrong with a setting
  GET  /api/jobs                             what was started, and its status
  POST /api/cancel {"job":1}
  POST /api/about  {"runs":["ID"],"name":"…","note":"…","add":["tag"],"remove":["tag"],"archived":true}
  POST /api/delete {"runs":["ID"]}           into the trash beside them; the answer says where they are
  POST /api/restore {"trash":[".trash/ID"]}  and back`
}

// Check returns the first thing wrong with the settings.
func (s *Serve) Check() error {
	host, _, err := net.SplitHostPort(s.Addr)
	switch {
	case err != nil:
		return settings.Errorf("addr", "--addr %s: want HOST:PORT, such as 127.0.0.1:8420", s.Addr)
	case s.Token != "" && len(s.Token) < 16:
		return settings.Errorf("token", "--token: want at least 16 letters: a short one can be guessed")
	case s.Limit < 1:
		return settings.Errorf("limit", "--limit %d: want at least 1", s.Limit)
	case host == "" && s.Runs == "":
		return settings.Errorf("runs", "--runs: name the folder of run folders")
	}
	return nil
}

// serving is the result of serve: the address, while the server runs.
type serving struct {
	srv     *Server
	l       net.Listener
	address url.URL
}

var (
	_ command.Result  = (*serving)(nil)
	_ command.Ongoing = (*serving)(nil)
)

// Do starts the server. It serves when the address has been shown.
func (s *Serve) Do(_ context.Context, env *command.Env) (command.Result, error) {
	if err := os.MkdirAll(s.Runs, 0o777); err != nil {
		return nil, fmt.Errorf("--runs: %w", err)
	}
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		return nil, fmt.Errorf("%w: choose another with --addr", err)
	}
	set := *s
	if set.Token == "" && !loopback(l.Addr()) {
		set.Token = rand.Text()
	}
	srv, err := New(set)
	if err != nil {
		l.Close()
		return nil, err
	}
	srv.jobs.say, srv.guide.commands = env.Say, env.Commands
	out := &serving{srv, l, url.URL{Scheme: "http", Host: openAt(l.Addr()), Path: "/"}}
	if set.Token != "" {
		out.address.RawQuery = url.Values{"token": {set.Token}}.Encode()
	}
	return out, nil
}

// Print shows the address.
func (s *serving) Print(w io.Writer) {
	fmt.Fprintf(w, "%s shows the runs in %s; Ctrl-C ends it\n", s.address.String(), s.srv.settings.Runs)
}

// JSON has the address, too.
func (s *serving) JSON() any {
	return map[string]any{"address": s.address.String(), "runs": s.srv.settings.Runs}
}

// Go serves until the context ends.
func (s *serving) Go(ctx context.Context) error {
	defer s.srv.Close()
	err := s.srv.Serve(ctx, s.l)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func loopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// openAt is the host and port that a browser opens. A server that listens on all addresses is reached from another
// machine by one of this machine's that is not loopback, IPv4 first, or else by its name.
func openAt(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok || !t.IP.IsUnspecified() {
		return a.String()
	}
	host := ""
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			n, ok := a.(*net.IPNet)
			if !ok || i.Flags&net.FlagUp == 0 || !n.IP.IsGlobalUnicast() {
				continue
			}
			if n.IP.To4() != nil {
				return net.JoinHostPort(n.IP.String(), strconv.Itoa(t.Port))
			}
			host = cmp.Or(host, n.IP.String())
		}
	}
	if name, err := os.Hostname(); err == nil {
		host = cmp.Or(host, name)
	}
	return net.JoinHostPort(cmp.Or(host, "localhost"), strconv.Itoa(t.Port))
}

// Server answers requests about one folder of runs.
type Server struct {
	settings Serve
	root     *runlog.Folder
	list     lister
	logs     logs
	replays  replays
	guide    guide
	jobs     jobs
	heavy    chan struct{} // a place for each request that computes
	streams  chan struct{} // a place for each page that watches
}

// New makes a server. If the settings have a token, every request must have it.
func New(s Serve) (*Server, error) {
	root, err := runlog.OpenFolder(s.Runs)
	if err != nil {
		return nil, fmt.Errorf("--runs: %w", err)
	}
	srv := &Server{settings: s, root: root, heavy: make(chan struct{}, 8), streams: make(chan struct{}, 1000)}
	srv.list.root, srv.logs.root = root, root
	srv.jobs.settings, srv.jobs.max = s, max(1, s.Limit)
	return srv, nil
}

// Close ends the runs that were started, and closes the folder.
func (s *Server) Close() error {
	s.jobs.stop()
	return s.root.Close()
}

// Serve answers until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }} // streams end with it
	stop := context.AfterFunc(ctx, func() {
		wait, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if h.Shutdown(wait) != nil {
			h.Close()
		}
	})
	defer stop()
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler returns the routes, behind the checks of safety.go.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, page := range []string{"/{$}", "/run", "/compare", "/start"} {
		mux.HandleFunc("GET "+page, s.page)
	}
	mux.HandleFunc("GET /help", s.help)
	mux.HandleFunc("GET /help/{page...}", s.help)
	mux.HandleFunc("GET /static/{name}", s.static)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/static/icon.svg", http.StatusFound)
	})
	mux.HandleFunc("GET /api/runs", answer(s.getRuns))
	mux.HandleFunc("GET /api/run", s.busy(answer(s.getRun)))
	mux.HandleFunc("GET /api/metrics", s.busy(answer(s.getMetrics)))
	mux.HandleFunc("GET /api/live", s.busy(answer(s.getLive)))
	mux.HandleFunc("GET /api/stream", s.stream)
	mux.HandleFunc("GET /api/compare", s.busy(answer(s.getCompare)))
	mux.HandleFunc("GET /api/weights", s.busy(answer(s.getWeights)))
	mux.HandleFunc("GET /api/figure", s.busy(s.figure))
	mux.HandleFunc("GET /api/export", s.busy(s.export))
	mux.HandleFunc("GET /api/report", s.busy(s.report))
	mux.HandleFunc("GET /file", s.file)
	mux.HandleFunc("GET /api/forms", answer(s.getForms))
	mux.HandleFunc("GET /api/data", s.busy(answer(s.getData)))
	mux.HandleFunc("GET /api/again", s.busy(answer(s.getAgain)))
	mux.HandleFunc("GET /api/jobs", answer(s.getJobs))
	mux.HandleFunc("POST /api/start", answer(s.postStart))
	mux.HandleFunc("POST /api/cancel", answer(s.postCancel))
	mux.HandleFunc("POST /api/about", answer(s.postAbout))
	mux.HandleFunc("POST /api/delete", answer(s.postDelete))
	mux.HandleFunc("POST /api/restore", answer(s.postRestore))
	return s.guard(mux)
}
