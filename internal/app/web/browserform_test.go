package web

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bregman-ml/bregman/runlog"
)

func TestBrowserStartsAFitFromTheForm(t *testing.T) {
	ctx := tab(t, 1280, 900)
	_, h := runner(t)
	do(t, ctx, chromedp.Navigate(h.URL+"/start"))
	until(t, ctx, `document.querySelector('#set-data') !== null`)
	shot(t, ctx, "form")
	do(t, ctx, enter("#set-data", "r2"), set("#set-p", "0.5"), click("#go"))
	until(t, ctx, `document.querySelector('[role=alert]').innerText.includes('from 1 to inf')`)
	do(t, ctx, set("#set-p", "3"), set("#set-steps", "1e12"), set("#set-lr", "1e-9"), click("#go"))
	until(t, ctx, `document.querySelector('.job .status.running') && document.querySelector('.job a')`)
	shot(t, ctx, "started")
	do(t, ctx, click(".job button"))
	until(t, ctx, `document.querySelector('.job .status.canceled') !== null`)
}

// A network from the form, with the keyboard alone: its curve grows, it is cancelled, and says so everywhere.
func TestBrowserStartsWatchesAndCancelsANetwork(t *testing.T) {
	ctx := tab(t, 1280, 900)
	srv, h := runner(t)
	do(t, ctx, chromedp.Navigate(h.URL+"/start"))
	until(t, ctx, `document.querySelector('#tab-train') !== null`)
	do(t, ctx, chromedp.Focus(chromedp.CSS("#tab-fit")), chromedp.KeyEvent(kb.ArrowLeft)) // round to the last
	until(t, ctx, `document.activeElement.id === 'tab-train' && document.querySelector('#set-epochs') !== null`)
	do(t, ctx, set("#set-p", "3"), enter("#set-epochs", "5000"), enter("#set-batch", "100"),
		chromedp.Focus(chromedp.CSS("#go")), chromedp.KeyEvent(kb.Enter))
	until(t, ctx, `document.querySelector('.job .status.running') && document.querySelector('.job a')`)
	address := eval[string](t, ctx, `document.querySelector('.job a').href`)
	const curve = `document.querySelector('section[aria-label="Training loss"] path.curve') !== null && document.querySelector('canvas') !== null`
	for range 4 { // on a busy machine the page has been seen to miss the first epochs of a run that has just begun
		do(t, ctx, chromedp.Navigate(address))
		if soon(ctx, curve, 20*time.Second) {
			break
		}
	}
	until(t, ctx, curve)
	points := `document.querySelector('section[aria-label="Training loss"] path.curve').getAttribute('d').split('L').length`
	until(t, ctx, points+` >= 3`) // a curve that grows under the reader's eyes
	shot(t, ctx, "training")
	do(t, ctx, chromedp.Navigate(h.URL+"/start"))
	until(t, ctx, `document.querySelector('.job button') !== null`)
	do(t, ctx, chromedp.Focus(chromedp.CSS(".job button")), chromedp.KeyEvent(kb.Enter))
	until(t, ctx, `document.querySelector('.job .status.canceled') !== null`)
	do(t, ctx, chromedp.Navigate(address))
	until(t, ctx, `document.querySelector('#state').innerText === 'interrupted'`)
	id := runIDs(t, srv.settings.Runs)[0]
	if info, err := runlog.ReadInfo(filepath.Join(srv.settings.Runs, id)); err != nil ||
		info.Status != runlog.Interrupted {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestBrowserFindsAMarginFromTheForm(t *testing.T) {
	ctx := tab(t, 1000, 900)
	_, h := runner(t)
	do(t, ctx, chromedp.Navigate(h.URL+"/start?command=margin"))
	until(t, ctx,
		`document.querySelector('#set-data') !== null && document.querySelector('#tab-margin').getAttribute('aria-selected') === 'true'`)
	do(t, ctx, enter("#set-data", "r100"), set("#set-p", "1.5,3"), click("#go"))
	until(t, ctx,
		`document.querySelector('.job .status.done') !== null && document.querySelector('.job pre').innerText.includes('0.80612264')`)
	shot(t, ctx, "margin")
}
