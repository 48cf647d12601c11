package web

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/pages"
)

// reports writes run folders with the reports of a path with three classes, of a margin, and of many runs with long
// names side by side.
func reports(t *testing.T, root string) (ids []string) {
	t.Helper()
	fits(t, root, 1.5)
	f := linearmodel.Fit{Data: "wine", Objective: "auto", P: []float64{1.5, 2, 3}, Loss: "auto", Scale: "auto",
		Method: "auto", Steps: 100_000, Init: "zero", Multiclass: "auto", ClassWeight: "none", Seed: 1, Runs: root}
	if _, err := f.Do(t.Context(), &command.Env{Observer: command.Quiet()}); err != nil {
		t.Fatal(err)
	}
	ids = runIDs(t, root)
	var long []string
	for k := range 6 {
		name := fmt.Sprintf("%s-%d", strings.Repeat("measurements_of_the_second_laboratory_", 3), k)
		makeRun(t, root, name, float64(1+k%3), uint64(k), `{"step":1,"loss":1}`,
			`{"step":900,"loss":3.797e-113,"accuracy":0.98765,"margin":0.0123456,"gap":1.234567e-10}`).Finish(nil, false)
		long = append(long, filepath.Join(root, name))
	}
	for _, id := range ids {
		if err := pages.Write(filepath.Join(root, id)); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(long[0], "report.html")
	r := pages.Report{Runs: long, Out: out}
	if _, err := r.Do(t.Context(), &command.Env{Observer: command.Quiet()}); err != nil {
		t.Fatal(err)
	}
	return append(ids, filepath.Base(long[0]))
}

// A report is served without scripts. It fits a phone, tables that are wider scroll in their box, and the explanation
// of a measure opens by pointer and keyboard.
func TestBrowserReportsFitAndExplainThemselves(t *testing.T) {
	ctx := tab(t, 400, 800)
	srv, h := newServer(t)
	for k, id := range reports(t, srv.settings.Runs) {
		address := h.URL + "/file?name=report.html&id=" + url.QueryEscape(id)
		for _, look := range []struct {
			width  int64
			scheme string
		}{{400, "light"}, {400, "dark"}, {1200, "light"}, {1200, "dark"}} {
			do(t, ctx, size(look.width, 800), scheme(look.scheme), chromedp.Navigate(address))
			until(t, ctx, fmt.Sprintf(`innerWidth === %d && document.querySelector('.lead .answer') !== null`, look.width))
			shot(t, ctx, fmt.Sprintf("report-%d-%d-%s", k, look.width, look.scheme))
			if cut := eval[[]string](t, ctx, `[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll table') &&
				!e.closest('svg') && !e.closest('pre') && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 120))`); len(cut) > 0 {
				t.Errorf("%s is cut at %d pixels: %q", id, look.width, cut)
			}
			if over := eval[int](t, ctx, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("%s is %d pixels wider than %d", id, over, look.width)
			}
			if n := eval[int](t, ctx, `[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1 &&
				!(getComputedStyle(e).overflowX === 'auto' && getComputedStyle(e).backgroundImage.includes('gradient'))).length`); n > 0 {
				t.Errorf("%s: %d wide tables do not show that they scroll", id, n)
			}
		}
		open := `document.querySelector('.because:popover-open')`
		do(t, ctx, size(400, 800), click(".why"))
		until(t, ctx, open)
		if box := eval[[]float64](t, ctx, `(r => [r.left, r.top, innerWidth - r.right, innerHeight - r.bottom])(`+open+
			`.getBoundingClientRect())`); box[0] < 0 || box[1] < 0 || box[2] < 0 || box[3] < 0 {
			t.Errorf("%s: the explanation is outside of the page: %v", id, box)
		}
		shot(t, ctx, fmt.Sprintf("report-%d-why", k))
		do(t, ctx, chromedp.KeyEvent(kb.Escape))
		until(t, ctx, `!`+open)
		do(t, ctx, chromedp.Focus(chromedp.CSS(".why")), chromedp.KeyEvent(kb.Enter))
		until(t, ctx, open)
	}
}
