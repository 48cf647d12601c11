package web

import (
	"os"
	"path/filepath"
	"strings"
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
	until(t, ctx, `document.querySelector('#set-p-error').innerText.includes('from 1 to inf')`)
	do(t, ctx, click("#advanced > summary"), set("#set-p", "3"), set("#set-steps", "1e12"), set("#set-lr", "1e-9"),
		click("#go"))
	until(t, ctx, `document.querySelector('.job .status.running') && document.querySelector('.job a')`)
	shot(t, ctx, "started")
	do(t, ctx, click(".job .cancel"))
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
	do(t, ctx, set("#set-p", "3"), enter("#set-epochs", "5000"), click("#advanced > summary"), enter("#set-batch", "100"),
		chromedp.Focus(chromedp.CSS("#go")), chromedp.KeyEvent(kb.Enter))
	until(t, ctx, `document.querySelector('.job .status.running') && document.querySelector('.job a')`)
	address := eval[string](t, ctx, `document.querySelector('.job a').href`)
	const curve = `Number(document.querySelector('section[aria-label="Loss"] .plot')?.dataset.points) > 0 && document.querySelector('canvas.heat') !== null`
	for range 4 { // on a busy machine the page has been seen to miss the first epochs of a run that has just begun
		do(t, ctx, chromedp.Navigate(address))
		if soon(ctx, curve, 20*time.Second) {
			break
		}
	}
	until(t, ctx, curve)
	points := `Number(document.querySelector('section[aria-label="Loss"] .plot').dataset.points) / 2`
	until(t, ctx, points+` >= 3`) // a curve that grows under the reader's eyes
	shot(t, ctx, "training")
	do(t, ctx, chromedp.Navigate(h.URL+"/start"))
	until(t, ctx, `document.querySelector('.job .cancel') !== null`)
	do(t, ctx, chromedp.Focus(chromedp.CSS(".job .cancel")), chromedp.KeyEvent(kb.Enter))
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

// A person fills in the form: what is wrong is said at its field, and what is started is found again.
func TestBrowserTheFormSaysWhatIsWrongWhereItIs(t *testing.T) {
	ctx := tab(t, 1400, 900)
	srv, h := runner(t)
	if err := os.WriteFile(filepath.Join(srv.settings.Data, "mine.csv"), []byte("a,label\n1,0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.Navigate(h.URL+"/start?command=fit&p=1.5&class_weight=balanced&nonsense=1"))
	until(t, ctx, painted)
	until(t, ctx, `document.querySelector('#same').innerText.includes('Data is needed')`)
	for js, want := range map[string]string{
		`document.querySelector('#set-p').value`:                                   "1.5",
		`document.querySelector('#set-class-weight').value`:                        "balanced",
		`document.querySelector('#prefilled').innerText`:                           "nonsense",
		`document.querySelector('#advanced > summary').innerText`:                  "1 changed",
		`[...document.querySelector('#set-data-names').options].map(o => o.value)`: "mine.csv",
		`document.querySelector('#nothing').innerText`:                             "Iris",
	} {
		if got := eval[string](t, ctx, `String(`+js+`)`); !strings.Contains(got, want) {
			t.Errorf("%s is %q, want %q", js, got, want)
		}
	}
	shot(t, ctx, "form-empty")
	do(t, ctx, chromedp.Focus(chromedp.CSS("#go")), chromedp.KeyEvent(kb.Enter)) // nothing is named yet
	until(t, ctx, `document.activeElement.id === 'set-data' && !document.querySelector('#set-data-error').hidden`)
	do(t, ctx, enter("#set-data", "iris"), set("#set-objective", "loss"), script(`{
		const e = document.querySelector('#set-top'); e.value = 'many'; e.dispatchEvent(new Event('input', { bubbles: true })); }`))
	do(t, ctx, click("#go"))
	until(t, ctx, `document.querySelector('#advanced').open && document.activeElement.id === 'set-top' &&
		document.querySelector('#set-top-error').innerText.startsWith('Largest weights')`)
	shot(t, ctx, "form-wrong")
	do(t, ctx, scheme("dark"), size(400, 800))
	shot(t, ctx, "form-wrong-400-dark")
	if over := eval[int](t, ctx, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("the form is %d pixels too wide", over)
	}
	do(t, ctx, size(1400, 900), scheme("light"), set("#set-top", "7"), set("#set-name", "my first"))
	do(t, ctx, script(`document.querySelector('#set-name').dispatchEvent(new Event('input', { bubbles: true }))`))
	line := "bregman fit --class-weight balanced --data iris --name 'my first' --objective loss --p 1.5 --top 7"
	until(t, ctx, `document.querySelector('#line').innerText.startsWith("`+line+`")`)
	do(t, ctx, click("#go"))
	until(t, ctx, `document.querySelector('.job .status.done') &&
		document.querySelector('.job a')?.innerText === 'my first'`)
	shot(t, ctx, "form-done")
	do(t, ctx, size(400, 800), scheme("dark"))
	shot(t, ctx, "form-done-400-dark")
	do(t, ctx, size(1400, 900), scheme("light"), click("#tab-margin"), click(".job .again"))
	until(t, ctx, `document.querySelector('#set-top')?.value === '7' &&
		document.querySelector('#set-name').value === 'my first'`)
	do(t, ctx, click(".job a"))
	until(t, ctx, `document.querySelector('h1').innerText === 'my first' && document.querySelector('#again')`)
	do(t, ctx, click("#again"))
	until(t, ctx, `document.querySelector('#prefilled')?.innerText.includes('my first') &&
		document.querySelector('#set-objective').value === 'loss' && document.querySelector('#set-data').value === 'iris'`)
	until(t, ctx, `document.querySelector('#line').innerText.includes('--data iris')`)
}
