package web

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/runlog"
)

// tab opens a tab in a new headless Chromium. An error in the page, a violation of its policy among them, fails the
// test.
func tab(t *testing.T, width, height int64) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("BREGMAN_NEED_CHROMIUM") != "" {
			t.Fatal("no Chromium, and BREGMAN_NEED_CHROMIUM is set: install Debian's chromium")
		}
		t.Skip("no Chromium")
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path),
		chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("disable-dev-shm-usage", true))
	ctx, stopTab := chromedp.NewContext(alloc)
	t.Cleanup(stop)
	t.Cleanup(stopTab)
	do(t, ctx, call(log.Enable, cdp.Empty{}), size(width, height)) // starts the browser
	var mu sync.Mutex
	var wrong []string
	thrown, logged := chromedp.Events(ctx, runtime.ExceptionThrown), chromedp.Events(ctx, log.EntryAdded)
	go func() {
		for e, err := range thrown {
			if err != nil {
				return
			}
			mu.Lock()
			text := e.ExceptionDetails.Text
			if x := e.ExceptionDetails.Exception; x != nil {
				text += " " + x.Description
			}
			wrong = append(wrong, text)
			mu.Unlock()
		}
	}()
	go func() {
		for e, err := range logged {
			if err != nil {
				return
			}
			// a server that ends breaks its streams; a start and a wrong filter are refused as they should be
			if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.Text, "net::ERR_") &&
				!strings.Contains(e.Entry.URL, "/api/start") && !strings.Contains(e.Entry.URL, "/api/runs?q=") {
				mu.Lock()
				wrong = append(wrong, e.Entry.Text+" "+e.Entry.URL)
				mu.Unlock()
			}
		}
	}()
	ctx, stopTime := context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(func() {
		stopTime()
		mu.Lock()
		defer mu.Unlock()
		for _, w := range wrong {
			t.Errorf("the page has an error: %s", w)
		}
	})
	return ctx
}

type action = chromedp.Action[chromedp.Void]

// call sends a command of the protocol.
func call[P, R any](c cdp.Command[P, R], params P) action {
	return func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, t, c, params)
		return v, err
	}
}

func size(width, height int64) action {
	return call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height,
		DeviceScaleFactor: 1, Mobile: width < 600})
}

func scheme(name string) action {
	return call(emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}

func click(sel string) action       { return chromedp.Click(chromedp.CSS(sel)) }
func enter(sel, text string) action { return chromedp.SendKeys(chromedp.CSS(sel), text) }
func set(sel, text string) action   { return chromedp.SetValue(chromedp.CSS(sel), text) }

func script(js string) action {
	return func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		_, err = chromedp.Evaluate[any](js)(ctx, t)
		return v, err
	}
}

func do(t *testing.T, ctx context.Context, actions ...action) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// shot saves a screenshot of the tab, to be looked at: in the folder of BREGMAN_SCREENSHOTS, or with go test
// -artifacts.
func shot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	picture(t, ctx, name, chromedp.FullScreenshot(100))
}

// screen saves what is on the screen, without what one has to scroll to.
func screen(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	picture(t, ctx, name, chromedp.CaptureScreenshot())
}

func picture(t *testing.T, ctx context.Context, name string, take chromedp.Action[[]byte]) {
	t.Helper()
	time.Sleep(150 * time.Millisecond)
	named(t, ctx)
	png, err := chromedp.Run(ctx, take)
	if err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv("BREGMAN_SCREENSHOTS")
	if dir == "" {
		dir = t.ArtifactDir()
	}
	if err := runlog.WriteFile(filepath.Join(dir, name+".png"), png); err != nil {
		t.Fatal(err)
	}
}

// named checks that a screen reader has a name for everything one can use.
func named(t *testing.T, ctx context.Context) {
	t.Helper()
	nameless := eval[[]string](t, ctx,
		`[...document.querySelectorAll('a[href], button, input, select, svg[tabindex], img, canvas, progress')].filter(e => !e.closest('[hidden]') &&
		!(e.getAttribute('aria-label') || e.innerText && e.innerText.trim() || e.textContent && e.textContent.trim() || e.hasAttribute('alt') || e.labels && e.labels.length)).map(e => e.outerHTML.slice(0, 200))`)
	if len(nameless) > 0 {
		t.Errorf("without a name: %q", nameless)
	}
	if n := eval[int](t, ctx, `document.querySelectorAll('h1').length`); n != 1 {
		t.Errorf("%d headings of the first level", n)
	}
}

func eval[T any](t *testing.T, ctx context.Context, js string) (v T) {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	if err != nil {
		t.Fatalf("%s: %v", js, err)
	}
	return v
}

// soon reports whether a condition of the page holds within some time.
func soon(ctx context.Context, js string, within time.Duration) bool {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(40 * time.Millisecond) {
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`!!(`+js+`)`)); err == nil && ok {
			return true
		}
	}
	return false
}

// untilLimit is longer than any step of a page takes on a busy machine.
var untilLimit = flag.Duration("web.patience", 200*time.Second, "how long tests in the browser wait for something")

// until waits for a condition of the page.
func until(t *testing.T, ctx context.Context, js string) {
	t.Helper()
	for end := time.Now().Add(*untilLimit); time.Now().Before(end); time.Sleep(40 * time.Millisecond) {
		// while a page loads there may be nothing to ask
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`!!(`+js+`)`)); err == nil && ok {
			return
		}
	}
	t.Fatalf("%s does not come; the page: %.600s", js, eval[string](t, ctx, `document.body.innerText`))
}

// curves is how many all charts of a page draw, as they note it themselves: a canvas cannot be asked.
const curves = `[...document.querySelectorAll('.plot')].reduce((n, e) => n + Number(e.dataset.curves || 0), 0)`

// pixels counts those of the first chart that have a colour.
func pixels(color string) string {
	return fmt.Sprintf(`(c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, [r, g, b] = [1, 3, 5].map(k =>
		parseInt('%s'.slice(k, k + 2), 16)); let n = 0; for (let k = 0; k < d.length; k += 4) n += d[k] === r && d[k + 1] === g &&
		d[k + 2] === b && d[k + 3] === 255; return n; })(document.querySelector('.plot canvas'))`, color)
}

const painted = `performance.getEntriesByName('painted').length > 0`

// fits writes real runs of fit.
func fits(t *testing.T, root string, ps ...float64) {
	t.Helper()
	for _, p := range ps {
		f := linearmodel.Fit{Data: "r2", P: []float64{p}, Loss: "exp", Method: "pgd", Steps: 1_000_000, LR: 1e-4,
			Init: "zero", Seed: 1, Runs: root}
		if _, err := f.Do(t.Context(), &command.Env{Observer: command.Quiet()}); err != nil {
			t.Fatal(err)
		}
	}
}

func runIDs(t *testing.T, root string) (ids []string) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids
}

func TestBrowserListFiltersSortsAndCompares(t *testing.T) {
	ctx := tab(t, 1280, 800)
	srv, h := newServer(t)
	fits(t, srv.settings.Runs, 1.5, 2, 3)
	live := makeRun(t, srv.settings.Runs, "20991231-000000-live", 6, 1, losses(400)...)
	do(t, ctx, chromedp.Navigate(h.URL))
	until(t, ctx, `document.querySelectorAll('tbody tr').length === 4`)
	shot(t, ctx, "list")
	do(t, ctx, enter("#filter", "p=3"))
	until(t, ctx,
		`document.querySelectorAll('tbody tr').length === 1 && document.querySelector('tbody').innerText.includes('p = 3')`)
	do(t, ctx, script(`document.querySelector('#filter').value = ''`), enter("#filter", "fit-"), click(`[data-sort=loss]`))
	until(t, ctx,
		`document.querySelector('th[aria-sort=ascending]').innerText.startsWith('loss') && document.querySelector('tbody tr').innerText.includes('p = 1.5')`)
	if !strings.Contains(eval[string](t, ctx, `location.search`), "sort=loss") {
		t.Error("the address does not keep the order")
	}
	do(t, ctx, script(`document.querySelectorAll('tbody input').forEach(b => b.click())`), click("#compare"))
	until(t, ctx, `location.pathname === '/compare' && `+curves+` >= 12`)
	if n := eval[int](t, ctx,
		`new Set(document.querySelector('.plot').dataset.looks.split(', ').map(l => l.split(' ')[0])).size`); n != 3 {
		t.Errorf("%d colours for three p", n)
	}
	until(t, ctx, `document.querySelector('#differ').innerText.includes('1.5')`)
	shot(t, ctx, "overlay")
	before := eval[int](t, ctx, curves)
	live.Finish(nil, false)
	do(t, ctx, click(`.legend input`))
	until(t, ctx, fmt.Sprintf(curves+` < %d`, before))
}

// A long name is shortened before a column is cut off.
func TestBrowserTheListFitsItsPageWhateverTheNames(t *testing.T) {
	ctx := tab(t, 1200, 700)
	srv, h := newServer(t)
	fits(t, srv.settings.Runs, 1.5)
	long := "20261115-212103-fit-p3-" + strings.Repeat("measurements-of-the-second-laboratory-", 4) + "1"
	makeRun(t, srv.settings.Runs, long, 3, 1, `{"step":1,"loss":1}`,
		`{"step":900,"loss":3.797e-113,"accuracy":0.98765,"margin":0.0123456,"gap":1.234567e-10}`).Finish(nil, false)
	makeNetwork(t, srv.settings.Runs, "20261115-212104-train-resnet18-fashion-mnist-p1.1-1", 1.1, 1,
		epochs(1, 4)...).Finish(nil, false)
	live := makeRun(t, srv.settings.Runs, "20261115-212105-live", 3, 1, losses(400)...)
	defer live.Finish(nil, false) // and it keeps its lock until here
	do(t, ctx, chromedp.Navigate(h.URL))
	until(t, ctx, `document.querySelector('tbody .status.running')`)
	for _, width := range []int64{1200, 1000, 400, 1600} {
		do(t, ctx, size(width, 700))
		until(t, ctx, fmt.Sprintf(`innerWidth === %d && document.querySelectorAll('tbody tr').length === 4`, width))
		shot(t, ctx, fmt.Sprintf("names-%d", width))
		if over := eval[int](t, ctx,
			`document.querySelector('.scroll').scrollWidth - document.querySelector('.scroll').clientWidth`); over > 0 {
			t.Errorf("%d pixels of the list are cut off at %d", over, width)
		}
		if least := eval[float64](t, ctx,
			`Math.min(...[...document.querySelectorAll('tbody th.name')].map(e => e.getBoundingClientRect().width))`); least < 90 {
			t.Errorf("names have %v pixels at %d", least, width)
		}
	}
	if title := eval[string](t, ctx, `document.querySelector('a[href*="laboratory"]').title`); title != long {
		t.Errorf("the title is %s", title)
	}
}

func TestBrowserACurveGrowsWhileItsRunRuns(t *testing.T) {
	ctx := tab(t, 1280, 900)
	srv, h := newServer(t)
	r := makeRun(t, srv.settings.Runs, "live", 3, 1, losses(50)...)
	do(t, ctx, chromedp.Navigate(h.URL+"/run?id=live"))
	until(t, ctx,
		``+curves+` > 0 && document.querySelector('#state').innerText === 'running'`)
	requests := `performance.getEntriesByType('resource').filter(e => e.name.includes('/api/metrics')).length`
	asked := eval[int](t, ctx, requests)
	length := `Number(document.querySelector('.plot').dataset.points)`
	was := eval[int](t, ctx, length)
	for k := 51; k <= 250; k++ {
		r.Append(map[string]any{"step": k, "loss": 1 / float64(k), "norm": k})
	}
	until(t, ctx, fmt.Sprintf(`%s === %d`, length, was+200))
	until(t, ctx, `document.querySelector('dl.numbers').innerText.includes('250')`)
	if again := eval[int](t, ctx, requests); again != asked {
		t.Errorf("the page asked for all metrics %d times more", again-asked)
	}
	do(t, ctx, chromedp.Focus(chromedp.CSS(".plot")), chromedp.KeyEvent(kb.End))
	until(t, ctx, `document.querySelector('#live').textContent.includes('step 250')`)
	shot(t, ctx, "live")
	r.Finish(nil, false)
	until(t, ctx, `document.querySelector('#state').innerText === 'done'`)
}

func TestBrowserANetworksWeightsAreSeenWhileItTrains(t *testing.T) {
	ctx := tab(t, 1280, 900)
	srv, h := newServer(t)
	r := makeNetwork(t, srv.settings.Runs, "net", 3, 1, epochs(1, 5)...)
	do(t, ctx, chromedp.Navigate(h.URL+"/run?id=net"))
	until(t, ctx,
		`document.querySelector('canvas.heat') && document.querySelector('canvas.heat').getAttribute('aria-label').includes('to 5.')`)
	for _, want := range []string{"Learning", "Geometry", "Rate and speed"} {
		until(t, ctx, fmt.Sprintf(`[...document.querySelectorAll('h2')].some(e => e.innerText === '%s')`, want))
	}
	for _, want := range []string{"Accuracy", "Loss", "Output margin, 10 %", "Divergence from start",
		"1-norm of the weights", "Largest weight"} {
		until(t, ctx, fmt.Sprintf(`Number(document.querySelector('section[aria-label="%s"] .plot')?.dataset.points) > 0`, want))
	}
	asked := eval[int](t, ctx,
		`performance.getEntriesByType('resource').filter(e => e.name.includes('/api/metrics')).length`)
	for _, line := range epochs(6, 9) {
		r.Append(json.RawMessage(line))
	}
	until(t, ctx, `document.querySelector('canvas.heat').getAttribute('aria-label').includes('to 9.')`)
	if again := eval[int](t, ctx,
		`performance.getEntriesByType('resource').filter(e => e.name.includes('/api/metrics')).length`); again != asked {
		t.Errorf("the page asked for all metrics %d times more", again-asked)
	}
	do(t, ctx, chromedp.Focus(chromedp.CSS("canvas.heat")), chromedp.KeyEvent(kb.End)) // with the keyboard alone
	until(t, ctx, `document.querySelector('#live').textContent.includes('epoch 9: half of the weights are below')`)
	if dark := eval[int](t, ctx,
		`(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v, k) => k % 4 === 3 && v > 0).length)(document.querySelector('canvas.heat'))`); dark < 1000 {
		t.Errorf("%d pixels of the heat map are drawn", dark)
	}
	shot(t, ctx, "network")
	makeNetwork(t, srv.settings.Runs, "net2", 2, 1, epochs(1, 9)...).Finish(nil, false)
	do(t, ctx, scheme("dark"), chromedp.Navigate(h.URL+"/compare?run=net&run=net2"))
	until(t, ctx,
		`document.querySelectorAll('canvas.heat').length === 2 && document.querySelector('#own').innerText.includes('60.00 %')`)
	shot(t, ctx, "network-overlay")
	r.Finish(nil, false)
}

// A sweep's page has its table, its figure and its runs, and leads to their comparison.
func TestBrowserASweepsPage(t *testing.T) {
	ctx := tab(t, 1280, 900)
	srv, h := newServer(t)
	r := makeRun(t, srv.settings.Runs, "sweep", 2, 1,
		`{"run":"p2-s1","seed":1,"settings":{"p":"2"},"result":{"p":2,"test_accuracy":0.9}}`)
	makeRun(t, srv.settings.Runs, "sweep/trials/p2-s1", 2, 1, losses(30)...).Finish(nil, false)
	makeRun(t, srv.settings.Runs, "sweep/trials/p3-s1", 3, 1, losses(30)...).Finish(nil, false)
	r.Info.Command, r.Info.Settings = "sweep", map[string]any{"job": "train", "grid": map[string]any{"p": []float64{2, 3}}}
	r.WriteJSON("run.json", r.Info)
	page := h.URL + "/run?id=sweep"
	do(t, ctx, chromedp.Navigate(page)) // while it runs: what it has so far
	until(t, ctx,
		`document.querySelectorAll('#inner tbody tr').length === 2 && document.body.innerText.includes('Results so far') && document.body.innerText.includes('90.00 %')`)
	table := render.Table{Title: "accuracy of <b>all</b>", Header: []string{"p", "a|b"},
		Rows: [][]render.Cell{{render.Text("2"), render.Number(91.5, 2)}, {render.Text("3"), render.Number(90.5, 2)}}}
	table.MarkMost(1)
	svg, err := render.SVG(render.Figure{Title: "metric",
		Series: []render.Series{{X: []float64{1, 2}, Y: []float64{1, 2}}}})
	if err != nil {
		t.Fatal(err)
	}
	r.WriteFile("tables/result.md", table.Markdown())
	r.WriteFile("figures/metric.svg", svg)
	r.Finish(nil, false)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx,
		`[...document.querySelectorAll('details.table strong')].some(e => e.innerText === '91.50') && document.body.innerText.includes('accuracy of <b>all</b>') && document.body.innerText.includes('a|b')`)
	until(t, ctx, `[...document.querySelectorAll('.paper img')].some(e => e.complete && e.naturalWidth > 0)`)
	do(t, ctx, script(`document.querySelector('#settings').open = true`))
	if text := eval[string](t, ctx, `document.body.innerText`); strings.Contains(text, "[object") ||
		!strings.Contains(text, "p = 2, 3") {
		t.Error("the grid is not shown as a person would write it")
	}
	shot(t, ctx, "sweep")
	do(t, ctx, click("#inner-compare"))
	until(t, ctx, `location.pathname === '/compare' && `+curves+` >= 4`)
	do(t, ctx, chromedp.Navigate(h.URL)) // inner runs are in the list when asked for
	until(t, ctx, `document.querySelectorAll('tbody tr').length === 1`)
	do(t, ctx, click("#inner"))
	until(t, ctx,
		`document.querySelectorAll('tbody tr').length === 3 && document.querySelector('tbody').innerText.includes('in sweep')`)
}

// A browser has six connections to a server. Closed pages, and tabs behind others, must not hold them: the seventh page
// would wait for ever.
func TestBrowserPagesThatAreLeftLetGoOfTheirStreams(t *testing.T) {
	ctx := tab(t, 1000, 700)
	srv, h := newServer(t)
	r := makeRun(t, srv.settings.Runs, "live", 3, 1, losses(10)...)
	defer r.Finish(nil, false)
	for range 9 {
		do(t, ctx, chromedp.Navigate(h.URL+"/run?id=live"))
		until(t, ctx, painted)
	}
	do(t, ctx, chromedp.Navigate(h.URL))
	until(t, ctx, `document.querySelectorAll('tbody tr').length === 1`)
	for end := time.Now().Add(60 * time.Second); len(srv.streams) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d streams are open without a page", len(srv.streams))
		}
	}
	do(t, ctx, chromedp.Navigate(h.URL+"/run?id=live"))
	until(t, ctx, painted)
	hide := func(yes bool) action {
		return script(fmt.Sprintf(`Object.defineProperty(document, 'hidden', { value: %v, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`, yes))
	}
	do(t, ctx, hide(true))
	for end := time.Now().Add(60 * time.Second); len(srv.streams) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a hidden page watches")
		}
	}
	for k := 11; k <= 300; k++ {
		r.Append(map[string]any{"step": k, "loss": 1 / float64(k), "norm": k})
	}
	do(t, ctx, hide(false)) // nothing is lost, and nothing comes twice
	until(t, ctx, `document.querySelector('.plot').dataset.points === '300'`)
}

func TestBrowserTheSliderMovesTheDecisionLine(t *testing.T) {
	ctx := tab(t, 1280, 900)
	srv, h := newServer(t)
	fits(t, srv.settings.Runs, 3)
	id := runIDs(t, srv.settings.Runs)[0]
	do(t, ctx, chromedp.Navigate(h.URL+"/run?id="+url.QueryEscape(id)))
	until(t, ctx, `document.querySelector('#t') !== null`)
	where := `document.querySelector('#where').textContent`
	if got := eval[string](t, ctx, where); !strings.Contains(got, "1,000,000") {
		t.Errorf("at first %s", got)
	}
	line := `document.querySelector('svg .line').outerHTML`
	end := eval[string](t, ctx, line)
	do(t, ctx, chromedp.Focus(chromedp.CSS("#t")), chromedp.KeyEvent(kb.Home))
	until(t, ctx, where+`.startsWith('t = 0')`)
	do(t, ctx,
		script(`document.querySelector('#t').value = 20; document.querySelector('#t').dispatchEvent(new Event('input'))`))
	if eval[string](t, ctx, line) == end {
		t.Error("the line stays")
	}
	do(t, ctx,
		script(`document.querySelector('#t').value = 95; document.querySelector('#t').dispatchEvent(new Event('input'))`))
	shot(t, ctx, "plane")
}

// The curves of an accelerated fit end at weights of norm 470, its model is scaled to margin 1: the head of the page is
// about the model alone.
func TestBrowserTheHeadOfAFitsPageIsAboutItsModel(t *testing.T) {
	ctx := tab(t, 1200, 900)
	srv, h := newServer(t)
	model := makeRun(t, srv.settings.Runs, "a", 3, 1, `{"step":1,"loss":1,"norm":0,"gap":2}`,
		`{"step":85,"loss":3.797e-113,"norm":472,"gap":0.5}`)
	if err := model.WriteJSON("tables/result.json", map[string]any{"method": "accelerated", "steps": 85, "loss": 0.3673,
		"margin": 2.337, "norm": 0.4278, "gap": nil, "train_accuracy": 1}); err != nil {
		t.Fatal(err)
	}
	model.Finish(nil, false)
	makeRun(t, srv.settings.Runs, "b", 3, 1, losses(40)...).Finish(nil, false)
	for id, want := range map[string]string{"a": "steps 85 loss 0.3673 accuracy 100.00 % margin 2.337 p-norm at " +
		"margin 1 0.4278", "b": "step 40 Training loss 0.025 Norm of the weights 39"} {
		do(t, ctx, chromedp.Navigate(h.URL+"/run?id="+id))
		until(t, ctx, painted)
		got := strings.Join(strings.Fields(eval[string](t, ctx, `document.querySelector('dl.numbers').innerText`)), " ")
		if !strings.HasPrefix(got, want+" time") {
			t.Errorf("%s: the head says %q, want %q", id, got, want)
		}
		if says := eval[bool](t, ctx, `document.querySelector('#of') !== null`); says != (id == "a") {
			t.Errorf("%s: says whose numbers these are: %v", id, says)
		}
		shot(t, ctx, "head-"+id)
	}
}

func TestBrowserDownloadsTheMetrics(t *testing.T) {
	ctx := tab(t, 1000, 700)
	srv, h := newServer(t)
	makeRun(t, srv.settings.Runs, "a", 3, 1, losses(10)...)
	dir := t.TempDir()
	do(t, ctx, call(browser.SetDownloadBehavior,
		browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir}),
		chromedp.Navigate(h.URL+"/run?id=a"))
	until(t, ctx, painted)
	do(t, ctx, click("#csv"))
	for range 100 {
		if data, err := os.ReadFile(filepath.Join(dir, "metrics.csv")); err == nil &&
			strings.HasPrefix(string(data), "step,loss,norm\n1,1,0\n") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("nothing came: %v", runIDs(t, dir))
}

func TestBrowserInTheDarkAndOnAPhone(t *testing.T) {
	ctx := tab(t, 400, 800)
	srv, h := newServer(t)
	fits(t, srv.settings.Runs, 1.5, 3)
	ids := runIDs(t, srv.settings.Runs)
	for k, path := range []string{"/", "/run?id=" + url.QueryEscape(ids[1]), "/compare?run=" + url.QueryEscape(ids[0]) +
		"&run=" + url.QueryEscape(ids[1])} {
		do(t, ctx, scheme([]string{"light", "dark", "light"}[k]), chromedp.Navigate(h.URL+path))
		until(t, ctx, painted)
		if k == 1 {
			until(t, ctx, `document.querySelector('#t') !== null`)
			if bg := eval[string](t, ctx, `getComputedStyle(document.body).backgroundColor`); bg != "rgb(27, 28, 30)" {
				t.Errorf("the dark page is %s", bg)
			}
			if light, dark := colours(3)[0], colours(3)[1]; eval[int](t, ctx, pixels(light)) > 0 ||
				eval[int](t, ctx, pixels(dark)) == 0 {
				t.Error("the curve of p = 3 has its light colour in the dark")
			}
			do(t, ctx, scheme("light")) // while the page is open
			until(t, ctx, pixels(colours(3)[0])+` > 0`)
			do(t, ctx, scheme("dark"))
			until(t, ctx, pixels(colours(3)[1])+` > 0`)
			do(t, ctx, script(`dispatchEvent(new Event('beforeprint'))`)) // paper is white
			until(t, ctx, pixels(colours(3)[0])+` > 0`)
			do(t, ctx, script(`dispatchEvent(new Event('afterprint'))`))
			until(t, ctx, pixels(colours(3)[1])+` > 0`)
		}
		if wide := eval[int](t, ctx, `document.documentElement.scrollWidth`); wide > 400 {
			t.Errorf("%s is %d wide on a phone of 400", path, wide)
		}
		shot(t, ctx, []string{"phone-list", "phone-dark", "phone-overlay"}[k])
	}
	do(t, ctx, size(1280, 900), scheme("dark"), chromedp.Navigate(h.URL+"/run?id="+url.QueryEscape(ids[1])))
	until(t, ctx, `document.querySelector('#t') !== null`)
	shot(t, ctx, "dark")
}

func TestBrowserShowsAHostileFolderAsText(t *testing.T) {
	root := hostile(t)
	_, h := newServer(t, func(s *Serve) { s.Runs = root })
	ctx := tab(t, 1280, 800)
	do(t, ctx, chromedp.Navigate(h.URL))
	until(t, ctx, painted)
	shot(t, ctx, "hostile")
	if n := eval[int](t, ctx, `document.querySelectorAll('main img, main script').length`); n != 0 {
		t.Error("markup of a run became part of the page")
	}
	for _, id := range []string{`<img src=x onerror=alert(1)>"'&`, "long", "odd", "binary", "names", "tables"} {
		do(t, ctx, size(400, 800), chromedp.Navigate(h.URL+"/run?id="+url.QueryEscape(id)))
		until(t, ctx, painted)
		if id == "tables" {
			until(t, ctx, `document.querySelector('details.table strong') !== null`)
		}
		if n := eval[int](t, ctx, `document.querySelectorAll('main img:not(.paper img), main script').length`); n != 0 {
			t.Errorf("%s: markup became part of the page", id)
		}
		if wide := eval[int](t, ctx, `document.documentElement.scrollWidth`); wide > 400 {
			t.Errorf("%s is %d wide on a phone of 400", id, wide)
		}
	}
	do(t, ctx, chromedp.Navigate(h.URL+"/compare?run=names&run=good&run=long"))
	until(t, ctx, painted)
	if wide := eval[int](t, ctx, `document.documentElement.scrollWidth`); wide > 400 {
		t.Errorf("the comparison is %d wide on a phone of 400", wide)
	}
}

func TestBrowserAnOverlayCountsTrialsBySeed(t *testing.T) {
	ctx := tab(t, 1000, 700)
	srv, h := newServer(t)
	for name, seed := range map[string]uint64{"a": 1, "again": 1, "b": 2} {
		makeRun(t, srv.settings.Runs, name, 2, seed, losses(5)...).Finish(nil, false)
	}
	for query, want := range map[string][2]string{
		"run=a":                 {"p = 2", "a – bregman"},
		"run=a&run=again":       {"p = 2 (2 runs, 1 trial)", "fit on r2 – bregman"},
		"run=a&run=b":           {"p = 2 (2 trials)", "fit on r2: 2 seeds – bregman"},
		"run=a&run=again&run=b": {"p = 2 (3 runs, 2 trials)", "fit on r2: 2 seeds – bregman"},
	} {
		do(t, ctx, chromedp.Navigate(h.URL+"/compare?"+query))
		until(t, ctx, fmt.Sprintf(`document.title === %q && document.querySelector('.legend label')?.innerText.trim() === %q`,
			want[1], want[0]))
		if query == "run=a&run=again&run=b" {
			shot(t, ctx, "overlay-trials")
		}
	}
}

func TestBrowserAnOverlayGrowsToo(t *testing.T) {
	ctx := tab(t, 1000, 700)
	srv, h := newServer(t)
	a, b := makeRun(t, srv.settings.Runs, "a", 2, 1, losses(5)...), makeRun(t, srv.settings.Runs, "b", 3, 1, losses(5)...)
	defer a.Finish(nil, false)
	defer b.Finish(nil, false)
	do(t, ctx, chromedp.Navigate(h.URL+"/compare?run=a&run=b"))
	until(t, ctx, curves+` === 4`)
	for k := 6; k <= 20; k++ {
		b.Append(map[string]any{"step": k, "loss": 1 / float64(k), "norm": k})
	}
	until(t, ctx, `[...document.querySelectorAll('.plot')].some(e => e.dataset.points === '25')`)
}
