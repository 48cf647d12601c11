package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/internal/app/settings"
)

// pagePolicy lets the page load what this server embeds, and nothing else: no inline script, no other host, no frame
// around it.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src " +
	"'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// filePolicy is for files of a run, which anyone may have written: they may look as they like and do nothing.
const filePolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// maxPost is more than any form.
const maxPost = 64 << 10

// guard checks every request before it is handled, and keeps a bug in one answer from ending the others.
func (s *Server) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		defer func() {
			if bug := recover(); bug != nil && bug != http.ErrAbortHandler {
				log.Printf("bregman serve: this is a bug: %s %s: %v\n%s", r.Method, r.URL.Path, bug, debug.Stack())
				fail(w, http.StatusInternalServerError, errors.New("this is a bug of bregman serve: its terminal has the details"))
			}
		}()
		r.Body = http.MaxBytesReader(w, r.Body, maxPost)
		if s.settings.Token == "" {
			// a name that an attacker's DNS server resolves to this machine is not a loopback name
			if !localName(r.Host) {
				fail(w, http.StatusForbidden, fmt.Errorf("the host %q is not this machine's own name: open http://localhost "+
					"with the port, or serve with a token", r.Host))
				return
			}
		} else if !s.admit(w, r) {
			return
		}
		if err := sameSite(r, cross); err != nil {
			fail(w, http.StatusForbidden, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// localName reports whether a Host header is localhost or a loopback address, with any port: it may be forwarded.
func localName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// sameSite refuses requests that other sites make a browser send. Programs that are not browsers send none of these
// headers.
func sameSite(r *http.Request, cross *http.CrossOriginProtection) error {
	if err := cross.Check(r); err != nil { // POST
		return err
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host {
			return fmt.Errorf("a request from %q, another site, was refused", origin)
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return errors.New("a request from another site was refused")
	}
	if r.Method == http.MethodPost {
		// no HTML form can send it
		if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/json" {
			return errors.New("want Content-Type: application/json")
		}
	}
	return nil
}

// tokenCookie is the name of the cookie, with the port of the request. Cookies do not distinguish ports: under one
// name, two dashboards on one host would overwrite each other's token.
func tokenCookie(host string) string {
	const name = "bregman_token"
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		return name
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return name
	}
	return name + "_" + port
}

// admit checks the token. A token in the address becomes a cookie, so that it does not stay in the address.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	right := func(t string) bool {
		a, b := sha256.Sum256([]byte(t)), sha256.Sum256([]byte(s.settings.Token))
		return subtle.ConstantTimeCompare(a[:], b[:]) == 1
	}
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && right(t) {
		return true
	}
	query := r.URL.Query()
	if query.Has("token") && r.Method == http.MethodGet && right(query.Get("token")) {
		http.SetCookie(w, &http.Cookie{Name: tokenCookie(r.Host), Value: s.settings.Token, Path: "/", HttpOnly: true,
			SameSite: http.SameSiteStrictMode, MaxAge: int((30 * 24 * time.Hour).Seconds())})
		query.Del("token")
		to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, `/\`), RawQuery: query.Encode()} // never //host
		w.Header().Set("Location", to.String())
		w.WriteHeader(http.StatusSeeOther)
		return false
	}
	if c, err := r.Cookie(tokenCookie(r.Host)); err == nil && right(c.Value) {
		return true
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	fail(w, http.StatusUnauthorized, errors.New("this dashboard needs its token: open the address that bregman serve "+
		"printed"))
	return false
}

// busy limits how many requests compute at once.
func (s *Server) busy(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 45*time.Second)
		defer cancel()
		select {
		case s.heavy <- struct{}{}:
			defer func() { <-s.heavy }()
			next(w, r.WithContext(ctx))
		case <-ctx.Done():
			fail(w, http.StatusServiceUnavailable, errors.New("too much is being asked at once: try again"))
		}
	}
}

// problem is an error with its status.
type problem struct {
	status int
	err    error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func bad(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// fail answers with an error, as JSON.
func fail(w http.ResponseWriter, status int, err error) {
	failWith(w, status, map[string]string{"error": err.Error()})
}

func failWith(w http.ResponseWriter, status int, body map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

// failed finds the status of an error.
func failed(w http.ResponseWriter, err error) {
	var p *problem
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		var of *settings.Error
		if errors.As(err, &of) {
			failWith(w, p.status, map[string]string{"error": err.Error(), "setting": of.Key})
			return
		}
		fail(w, p.status, err)
	case errors.As(err, &tooLarge):
		fail(w, http.StatusRequestEntityTooLarge, err)
	case errors.Is(err, fs.ErrNotExist):
		fail(w, http.StatusNotFound, errors.New("no such run or file"))
	case errors.Is(err, fs.ErrInvalid), errors.Is(err, fs.ErrPermission), strings.Contains(err.Error(), "path escapes"):
		fail(w, http.StatusForbidden, errors.New("this is not inside the folder of runs"))
	case errors.Is(err, context.Canceled):
	case errors.Is(err, context.DeadlineExceeded):
		fail(w, http.StatusServiceUnavailable, errors.New("this takes too long"))
	default:
		fail(w, http.StatusUnprocessableEntity, err)
	}
}

// answer returns a handler that sends the result of a function as JSON.
func answer(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		if err != nil {
			failed(w, err)
			return
		}
		data, err := json.Marshal(v)
		if err != nil {
			failed(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(compress(w, r, data))
	}
}

// decode reads the JSON of a POST.
func decode(r *http.Request, v any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return err
		}
		return bad("the request is not what was expected: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return bad("the request has data after its end")
	}
	return nil
}
