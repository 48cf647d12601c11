package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bregman-ml/bregman/runlog"
)

// widths are those at which charts are looked at: a desk and a phone.
var widths = []int64{1400, 400}

// plotOf is the chart with a title.
func plotOf(title string) string {
	return fmt.Sprintf(`document.querySelector('section[aria-label="%s"] .plot')`, title)
}

// within is a point of the window, in shares of the plotting area of a chart.
func within(t *testing.T, ctx context.Context, title string, u, v float64) (x, y float64) {
	t.Helper()
	do(t, ctx, script(plotOf(title)+`.scrollIntoView({ block: 'center' })`))
	r := eval[[]float64](t, ctx,
		`(r => [r.left, r.top, r.width, r.height])(`+plotOf(title)+`.querySelector('.u-over').getBoundingClientRect())`)
	return r[0] + u*r[2], r[1] + v*r[3]
}

func mouse(kind input.DispatchMouseEventType, x, y float64, pressed bool) action {
	p := input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: input.MouseButtonNone}
	if pressed {
		p.Button, p.Buttons, p.ClickCount = input.MouseButtonLeft, 1, 1
	}
	return call(input.DispatchMouseEvent, p)
}

// hover moves the mouse over a chart.
func hover(t *testing.T, ctx context.Context, title string, u, v float64) (x, y float64) {
	t.Helper()
	x, y = within(t, ctx, title, u, v)
	do(t, ctx, mouse(input.DispatchMouseEventTypeMouseMoved, x-3, y, false),
		mouse(input.DispatchMouseEventTypeMouseMoved, x, y, false))
	return x, y
}

// drag marks a range of a chart with the mouse.
func drag(t *testing.T, ctx context.Context, title string, from, to float64) {
	t.Helper()
	hover(t, ctx, title, from, 0.5)
	x, y := within(t, ctx, title, from, 0.5)
	end, _ := within(t, ctx, title, to, 0.5)
	do(t, ctx, mouse(input.DispatchMouseEventTypeMousePressed, x, y, true))
	for k := 1; k <= 5; k++ {
		do(t, ctx, mouse(input.DispatchMouseEventTypeMouseMoved, x+(end-x)*float64(k)/5, y, true))
	}
	do(t, ctx, mouse(input.DispatchMouseEventTypeMouseReleased, end, y, true))
}

// glimpse saves a screenshot of what the window shows: the mouse stays where it is.
func glimpse(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	time.Sleep(150 * time.Millisecond)
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := runlog.WriteFile(filepath.Join(cmp.Or(os.Getenv("BREGMAN_SCREENSHOTS"), t.ArtifactDir()), name+".png"),
		png); err != nil {
		t.Fatal(err)
	}
}

// rangeOf is the part of an axis that a chart shows.
func rangeOf(t *testing.T, ctx context.Context, title, axis string) (lo, hi float64) {
	t.Helper()
	if n, err := fmt.Sscan(eval[string](t, ctx, plotOf(title)+`.dataset.`+axis), &lo, &hi); n != 2 {
		t.Fatal(err)
	}
	return lo, hi
}

const x0, x1 = `Number(%s.dataset.x.split(' ')[0])`, `Number(%s.dataset.x.split(' ')[1])`

func TestBrowserAZoomIsThatOfAllChartsAndOfTheAddress(t *testing.T) {
	for _, width := range widths {
		ctx := tab(t, width, 900)
		srv, h := newServer(t)
		makeRun(t, srv.settings.Runs, "a", 3, 1, losses(400)...).Finish(nil, false)
		do(t, ctx, chromedp.Navigate(h.URL+"/run?id=a&logx=0"))
		const loss, norm = "Training loss", "Norm of the weights"
		all := fmt.Sprintf(`%s?.dataset.x === '1 400' && %s?.dataset.x === '1 400'`, plotOf(loss), plotOf(norm))
		until(t, ctx, all)
		drag(t, ctx, loss, 0.25, 0.5)
		until(t, ctx, fmt.Sprintf(x0, plotOf(norm))+` > 90 && location.search.includes('from=')`)
		for _, title := range []string{loss, norm} {
			if lo, hi := rangeOf(t, ctx, title, "x"); math.Abs(lo-100.75) > 4 || math.Abs(hi-200.5) > 4 {
				t.Errorf("%s at %d: %v to %v", title, width, lo, hi)
			}
			if _, hi := rangeOf(t, ctx, title, "y"); title == loss && hi > 0.011 || hi > 400 && title == norm {
				t.Errorf("%s: y is up to %v, not of the part that is shown", title, hi)
			}
		}
		if n := eval[int](t, ctx, `Number(`+plotOf(loss)+`.dataset.points)`); n < 95 || n > 110 {
			t.Errorf("%d points", n)
		}
		shot(t, ctx, fmt.Sprintf("zoom-%d", width))
		do(t, ctx, chromedp.Reload())
		until(t, ctx, plotOf(norm)+` !== null && `+fmt.Sprintf(x0, plotOf(norm))+` > 90`)
		x, y := within(t, ctx, norm, 0.5, 0.5)
		do(t, ctx, chromedp.MouseClickXY(x, y), chromedp.MouseClickXY(x, y, chromedp.ClickCount(2)))
		until(t, ctx, all)
		until(t, ctx, `!location.search.includes('from=')`)
		drag(t, ctx, norm, 0.6, 0.2) // backwards
		until(t, ctx, fmt.Sprintf(x1, plotOf(loss))+` < 260`)
		do(t, ctx, click("#reset-zoom"))
		until(t, ctx, all+` && document.querySelector('#reset-zoom').hidden`)
		do(t, ctx, chromedp.Focus(chromedp.CSS(".plot")), chromedp.KeyEvent("+"))
		until(t, ctx, fmt.Sprintf(x0, plotOf(norm))+` > 90 && `+fmt.Sprintf(x1, plotOf(norm))+` < 310`)
		do(t, ctx, chromedp.KeyEvent(kb.Home))
		until(t, ctx, `document.querySelector('#live').textContent.startsWith('step 10')`)
		do(t, ctx, chromedp.KeyEvent(kb.Escape))
		until(t, ctx, all)
		if wide := eval[int64](t, ctx, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("the page is %d wide on %d", wide, width)
		}
	}
}

// A part of a run of many points gets points of its own: the page has 800 of the whole.
func TestBrowserAZoomShowsWhatTheWholeLeavesOut(t *testing.T) {
	ctx := tab(t, 1400, 900)
	srv, h := newServer(t)
	lines := losses(20_000)
	makeRun(t, srv.settings.Runs, "a", 3, 1, lines...).Finish(nil, false)
	do(t, ctx, chromedp.Navigate(h.URL+"/run?id=a&logx=0&from=15000&to=15200"))
	until(t, ctx, `Number(`+plotOf("Training loss")+`?.dataset.points) >= 190`)
	do(t, ctx, chromedp.Focus(chromedp.CSS(".plot")), chromedp.KeyEvent(kb.Escape))
	until(t, ctx, plotOf("Training loss")+`.dataset.x === '1 20000'`)
	until(t, ctx, `document.querySelector('dl.numbers').innerText.includes('20,000')`)
}

func TestBrowserTheCrossHairIsOnAllChartsAndCoversNothing(t *testing.T) {
	for _, width := range widths {
		ctx := tab(t, width, 900)
		srv, h := newServer(t)
		var ids []string
		for k, p := range []float64{1.1, 1.5, 2, 3, 6} {
			id := string(rune('a' + k))
			makeNetwork(t, srv.settings.Runs, id, p, 1, epochs(1, 9)...).Finish(nil, false)
			ids = append(ids, "run="+id)
		}
		do(t, ctx, chromedp.Navigate(h.URL+"/compare?"+strings.Join(ids, "&")))
		until(t, ctx, `Number(`+plotOf("Test accuracy")+`?.dataset.points) === 45`)
		shown := `[...document.querySelectorAll('.crosshair')].filter(e => !e.hidden).length`
		for _, u := range []float64{0.2, 0.8} {
			x, y := hover(t, ctx, "Training loss", u, 0.4)
			until(t, ctx, shown+` === document.querySelectorAll('.plot').length`)
			if said := eval[[]string](t, ctx, `[...new Set([...document.querySelectorAll('.read')].map(e =>
				e.innerText.trim()))]`); len(said) != 1 || !strings.HasPrefix(said[0], "epoch ") {
				t.Errorf("the charts are at %q", said)
			}
			tip := eval[[]float64](t, ctx, `(r => [r.left, r.right, r.top, r.bottom])([...document.querySelectorAll('.tip')].find(e =>
				!e.hidden).getBoundingClientRect())`)
			if tip[0] < x+5 && tip[1] > x-5 {
				t.Errorf("at %d the values, from %v to %v, cover the pointer at %v", width, tip[0], tip[1], x)
			}
			if n := eval[int](t, ctx, `document.querySelectorAll('.tip:not([hidden]) b').length`); n != 5 || tip[3]-tip[2] < 50 {
				t.Errorf("%d values at %v, %v", n, x, y)
			}
			glimpse(t, ctx, fmt.Sprintf("hover-%d-%.0f", width, 10*u))
		}
		do(t, ctx, mouse(input.DispatchMouseEventTypeMouseMoved, 1, 1, false))
		until(t, ctx, shown+` === 0`)
	}
}

func TestBrowserSmoothingIsAnAverageWithoutAPullToZero(t *testing.T) {
	ctx := tab(t, 1400, 900)
	srv, h := newServer(t)
	makeRun(t, srv.settings.Runs, "a", 3, 1, losses(40)...).Finish(nil, false)
	do(t, ctx, chromedp.Navigate(h.URL+"/run?id=a"))
	until(t, ctx, painted)
	said := func(key string) float64 {
		do(t, ctx, script(`document.querySelector('#live').textContent = ''`),
			chromedp.Focus(chromedp.CSS(`section[aria-label="Training loss"] .plot`)), chromedp.KeyEvent(key))
		until(t, ctx, `document.querySelector('#live').textContent.includes('mean loss')`)
		text := eval[string](t, ctx, `document.querySelector('#live').textContent`)
		v, err := strconv.ParseFloat(text[strings.LastIndex(text, " ")+1:], 64)
		if err != nil {
			t.Fatal(text)
		}
		return v
	}
	if last := said(kb.End); last != 0.025 {
		t.Errorf("without smoothing %v", last)
	}
	do(t, ctx, script(`(s => { s.value = 0.9; s.dispatchEvent(new Event('input')); })(document.querySelector('#smooth'))`))
	until(t, ctx, `location.search.includes('smooth=0.9') && document.querySelector('output[for=smooth]').textContent === '0.90'`)
	sum, want := 0.0, map[string]float64{}
	for k := 1; k <= 40; k++ {
		sum = 0.9*sum + 0.1/float64(k)
		if k == 1 {
			want[kb.Home] = sum / (1 - 0.9)
		}
	}
	want[kb.End] = sum / (1 - math.Pow(0.9, 40))
	shot(t, ctx, "smooth-1400")
	for key, v := range want {
		if got := said(key); math.Abs(got/v-1) > 1e-3 { // four digits are said
			t.Errorf("%v, want %v", got, v)
		}
	}
	do(t, ctx, chromedp.Reload())
	until(t, ctx, painted)
	if v := eval[string](t, ctx, `document.querySelector('#smooth').value`); v != "0.9" {
		t.Errorf("after a reload the slider is at %s", v)
	}
	do(t, ctx, size(400, 800))
	until(t, ctx, `innerWidth === 400`)
	shot(t, ctx, "smooth-400")
}

// clocked are lines of a network whose epochs end three seconds after each other.
func clocked(from, to int) (lines []string) {
	for k, line := range epochs(from, to) {
		lines = append(lines, strings.Replace(line, `"elapsed":1`, fmt.Sprintf(`"elapsed":%d`, 3*(from+k)), 1))
	}
	return lines
}

func TestBrowserCurvesOverTheTimeGrowToo(t *testing.T) {
	for _, width := range widths {
		ctx := tab(t, width, 900)
		srv, h := newServer(t)
		r := makeNetwork(t, srv.settings.Runs, "net", 3, 1, clocked(1, 5)...)
		do(t, ctx, chromedp.Navigate(h.URL+"/run?id=net"))
		until(t, ctx, `document.querySelector('#over') !== null`)
		if got := eval[string](t, ctx,
			`[...document.querySelectorAll('#over option')].map(o => o.value).join(' ')`); got != "epoch time" {
			t.Errorf("the axes are %s", got)
		}
		if got := eval[string](t, ctx, plotOf("Accuracy")+`.dataset.xticks`); got != "1, 2, 3, 4, 5" {
			t.Errorf("the epochs are %s", got)
		}
		do(t, ctx, script(`(s => { s.value = 'time'; s.dispatchEvent(new Event('change')); })(document.querySelector('#over'))`))
		until(t, ctx, plotOf("Accuracy")+`.dataset.x === '3 15' && location.search.includes('x=time')`)
		for _, line := range clocked(6, 9) {
			if err := r.Append(json.RawMessage(line)); err != nil {
				t.Fatal(err)
			}
		}
		until(t, ctx, plotOf("Accuracy")+`.dataset.x === '3 27'`)
		if got := eval[string](t, ctx, plotOf("Accuracy")+`.dataset.xticks`); !strings.Contains(got, "20 s") &&
			!strings.Contains(got, "15 s") {
			t.Errorf("the times are %s", got)
		}
		until(t, ctx, `document.querySelector('dl.numbers').innerText.replace(/\s+/g, ' ').startsWith('epoch 9')`)
		shot(t, ctx, fmt.Sprintf("time-%d", width))
		r.Finish(nil, false)
	}
}

func TestBrowserLogarithmicAxesSaySoAndHaveTicks(t *testing.T) {
	for _, width := range widths {
		ctx := tab(t, width, 900)
		srv, h := newServer(t)
		var lines []string
		for k := 1; k <= 1000; k++ {
			lines = append(lines, fmt.Sprintf(`{"step":%d,"loss":%g,"gap":%g,"norm":%g,"divergence":%g}`, k, 30/float64(k)+1.9,
				math.Exp(-float64(k)/5), 1+1/float64(k+1), math.Pow(10, -float64(k%2))))
		}
		lines[500] = `{"step":501,"loss":1e300,"gap":0,"norm":-1e305}` // none of these can be shown
		makeRun(t, srv.settings.Runs, "a", 3, 1, lines...).Finish(nil, false)
		do(t, ctx, chromedp.Navigate(h.URL+"/run?id=a"))
		until(t, ctx, `Number(`+plotOf("Norm of the weights")+`?.dataset.points) > 100`)
		for title, want := range map[string]string{"Training loss": "xy", "Certified gap": "xy", "Norm of the weights": "x"} {
			if got := eval[string](t, ctx, plotOf(title)+`.dataset.log`); got != want {
				t.Errorf("%s: logarithmic are %q, want %q", title, got, want)
			}
			if got := eval[string](t, ctx, plotOf(title)+`.dataset.ticks`); len(strings.Fields(got)) < 4 {
				t.Errorf("%s: ticks %s", title, got)
			}
			if got := eval[string](t, ctx, plotOf(title)+`.dataset.xticks`); len(strings.Fields(got)) < 4 {
				t.Errorf("%s: ticks of the steps %s", title, got)
			}
		}
		// a range below a decade is linear, even if a logarithm is asked for
		do(t, ctx, script(`document.querySelector('section[aria-label="Norm of the weights"] header span button:not([hidden])').click()`))
		until(t, ctx, `location.search.includes('log=Norm')`)
		if got := eval[string](t, ctx, plotOf("Norm of the weights")+`.dataset.log`); got != "x" {
			t.Errorf("the norm is logarithmic: %s", got)
		}
		do(t, ctx, click("#logx"), script(
			`document.querySelector('section[aria-label="Certified gap"] header button[aria-pressed]').click()`))
		until(t, ctx, plotOf("Certified gap")+`.dataset.log === '' && location.search.includes('logx=0')`)
		shot(t, ctx, fmt.Sprintf("log-%d", width))
	}
}

// variants writes eight runs of one p that differ in rate and schedule, the first with a second seed.
func variants(t *testing.T, root string) (query string) {
	for k := range 9 {
		id, seed := fmt.Sprintf("v%d", k), uint64(1)
		at := k
		if k == 8 {
			at, seed = 0, 2
		}
		r := makeNetwork(t, root, id, 3, seed, strings.Split(strings.ReplaceAll(strings.Join(epochs(1, 12), "\n"),
			`"test_accuracy":0.6`, fmt.Sprintf(`"test_accuracy":0.%d`, 60+3*at+int(seed))), "\n")...)
		set := r.Info.Settings.(map[string]any)
		set["lr"], set["schedule"] = []float64{0.1, 0.2, 0.4, 0.8}[at%4], []string{"cosine", "triangle"}[at/4]
		if err := r.WriteJSON("run.json", r.Info); err != nil {
			t.Fatal(err)
		}
		r.Finish(nil, false)
		query += "&run=" + id
	}
	return query[1:]
}

func TestBrowserEightVariantsOfOnePAreToldApart(t *testing.T) {
	srv, h := newServer(t)
	query := variants(t, srv.settings.Runs)
	for _, width := range widths {
		ctx := tab(t, width, 900)
		for _, theme := range []string{"light", "dark"} {
			do(t, ctx, scheme(theme), chromedp.Navigate(h.URL+"/compare?"+query))
			until(t, ctx, plotOf("Test accuracy")+`?.dataset.curves === '8'`)
			if n := eval[int](t, ctx, `new Set(`+plotOf("Test accuracy")+`.dataset.looks.split(', ')).size`); n != 8 {
				t.Errorf("%d looks of eight curves: %s", n, eval[string](t, ctx, plotOf("Test accuracy")+`.dataset.looks`))
			}
			legend := eval[string](t, ctx, `document.querySelector('.legend').innerText.replace(/\s+/g, ' ')`)
			if strings.Contains(legend, "p = ") || !strings.Contains(legend, "lr 0.1, schedule cosine (2 trials)") {
				t.Errorf("the legend is %s", legend)
			}
			if title := eval[string](t, ctx,
				`document.querySelector('h1').innerText`); !strings.Contains(title, "lr 0.1, 0.2, 0.4 and 0.8") {
				t.Errorf("the title is %s", title)
			}
			if wide := eval[int64](t, ctx, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("the page is %d wide on %d", wide, width)
			}
			hover(t, ctx, "Test accuracy", 0.3, 0.4)
			glimpse(t, ctx, fmt.Sprintf("variants-%d-%s", width, theme))
		}
		if n := eval[int](t, ctx, `document.querySelector('.ends').tBodies[0].rows.length`); n != 8 {
			t.Errorf("%d rows of final values", n)
		}
		// 61 % and 62 % have the mean 61.5 and the standard error 0.5
		if text := eval[string](t, ctx, `document.querySelector('.ends').innerText`); !strings.Contains(text, "61.50 ± 0.50 (n = 2)") {
			t.Error(text)
		}
		do(t, ctx, click(".legend input"))
		until(t, ctx, plotOf("Test accuracy")+`.dataset.curves === '7' && location.search.includes('hide=')`)
		for by, want := range map[string]string{"p": "1", "lr": "4", "schedule": "2", "runs": "9"} {
			do(t, ctx, script(fmt.Sprintf(
				`(s => { s.value = '%s'; s.dispatchEvent(new Event('change')); })(document.querySelector('#by'))`, by)))
			until(t, ctx, fmt.Sprintf(`%s?.dataset.curves === '%s' && location.search.includes('by=%s')`, plotOf("Test accuracy"),
				want, by))
		}
		do(t, ctx, chromedp.Navigate(h.URL+"/compare?"+query+"&by=schedule&x=epoch&smooth=0.5"))
		until(t, ctx, plotOf("Test accuracy")+`?.dataset.curves === '2'`)
		shot(t, ctx, fmt.Sprintf("variants-by-%d", width))
	}
}
