package web

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// The guide as a reader uses it: search, a link, a figure, the list of pages on a phone. A violation of the page's
// policy would fail the test: see tab.
func TestBrowserTheGuideIsSearchedAndRead(t *testing.T) {
	ctx := tab(t, 1400, 900)
	srv, h := newServer(t)
	srv.guide.commands = twoCommands
	do(t, ctx, chromedp.Navigate(h.URL))
	until(t, ctx, `document.querySelector('nav a[href="/help"]')`)
	do(t, ctx, click(`nav a[href="/help"]`))
	until(t, ctx, `document.querySelector('h1')?.innerText === 'Documentation'`)
	shot(t, ctx, "help")
	do(t, ctx, script(`document.querySelector('input[name=q]').value = 'log-loss'; document.querySelector('form[role=search]').requestSubmit()`))
	until(t, ctx, `document.querySelectorAll('.found mark').length > 5`)
	shot(t, ctx, "help-search")
	do(t, ctx, click(`.found a[href="/help/measures#log-loss"]`))
	until(t, ctx, `location.hash === '#log-loss' && document.querySelector('h1').innerText === 'What the numbers mean'`)
	if top := eval[float64](t, ctx, `document.getElementById('log-loss').getBoundingClientRect().top`); top < 0 || top > 500 {
		t.Errorf("the section is %v pixels below the top", top)
	}
	do(t, ctx, chromedp.Navigate(h.URL+"/help/choosing-p"))
	until(t, ctx, `document.querySelector('main img')`)
	do(t, ctx, script(`document.querySelector('main img').scrollIntoView()`))
	until(t, ctx, `document.querySelector('main img').complete && document.querySelector('main img').naturalWidth > 200`)
	for _, page := range []string{"choosing-p", "linear", "measurements/airbench", "commands/fit", "commands"} {
		for _, width := range []int64{1400, 400} {
			for _, colors := range []string{"light", "dark"} {
				do(t, ctx, size(width, 900), scheme(colors), chromedp.Navigate(h.URL+"/help/"+page))
				until(t, ctx, fmt.Sprintf(`innerWidth === %d && document.querySelector('h1')`, width))
				name := fmt.Sprintf("help-%s-%d-%s", fileName(page), width, colors)
				do(t, ctx, script(`document.querySelectorAll('main img').forEach(i => i.loading = 'eager')`))
				shot(t, ctx, name)
				if over := eval[int](t, ctx,
					`document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
					t.Errorf("%s: the page is %d pixels wider than the window", name, over)
				}
			}
		}
	}
	do(t, ctx, size(400, 800), click(`details.contents summary`), click(`details.contents a[href="/help/sweeps"]`))
	until(t, ctx, `location.pathname === '/help/sweeps' && document.querySelector('h1').innerText === 'Sweeps'`)
}
