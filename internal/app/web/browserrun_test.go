package web

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/bregman-ml/bregman/runlog"
)

// A run is named, tagged and noted on its page, and deleted there; the list then offers to undo that.
func TestBrowserARunIsNamedAndDeletedOnItsPage(t *testing.T) {
	for _, width := range []int64{1400, 400} {
		t.Run(fmt.Sprint(width), func(t *testing.T) { namedAndDeleted(t, width) })
	}
}

func namedAndDeleted(t *testing.T, width int64) {
	ctx := tab(t, width, 900)
	srv, h := newServer(t, func(s *Serve) { s.AllowRun = true })
	networkRuns(t, srv.settings.Runs, 2)
	id := runIDs(t, srv.settings.Runs)[0]
	do(t, ctx, chromedp.Navigate(h.URL+"/run?id="+id))
	until(t, ctx, `document.querySelector('h1')?.innerText === 'cnn on fashion-sample, p = 1.1'`)
	until(t, ctx, `[...document.querySelectorAll('.chip')].some(c => c.innerText === 'epochs 15')`)
	if open := eval[bool](t, ctx, `document.querySelector('#settings').open || document.querySelector('#files').open`); open {
		t.Error("settings and files are not folded")
	}
	do(t, ctx, click("#edit"), enter("#run-name", "plain SGD"), enter("#run-tags", "paper first"),
		enter("#run-note", "as printed"))
	shot(t, ctx, fmt.Sprintf("run-edit-%d", width))
	do(t, ctx, click("#save"))
	until(t, ctx, `document.querySelector('h1')?.innerText === 'plain SGD' &&
		document.querySelector('#note')?.innerText === 'as printed' && document.querySelectorAll('#head .tag').length === 2`)
	f, err := runlog.OpenFolder(filepath.Join(srv.settings.Runs, id))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if a, err := f.About(); err != nil || a.Name != "plain SGD" || fmt.Sprint(a.Tags) != "[first paper]" {
		t.Errorf("%+v, %v", a, err)
	}
	if wide := eval[int](t, ctx, `document.documentElement.scrollWidth`); wide > int(width) {
		t.Errorf("the page is %d wide on a screen of %d", wide, width)
	}
	do(t, ctx, click("#delete"))
	until(t, ctx, `location.pathname === '/' && document.querySelector('#toast')?.innerText.includes('moved to the trash') &&
		`+tableRows+` === 1`)
	do(t, ctx, click("#undo"))
	until(t, ctx, tableRows+` === 2 && document.querySelector('tbody').innerText.includes('plain SGD')`)
	if _, err := os.Stat(filepath.Join(srv.settings.Runs, id, "about.json")); err != nil {
		t.Error(err)
	}
}

// The page of a sweep begins with its answer, then has its combinations, the best first, while it runs and after it.
func TestBrowserASweepsPageBeginsWithItsAnswer(t *testing.T) {
	ctx := tab(t, 1400, 900)
	srv, h := newServer(t)
	r := makeRun(t, srv.settings.Runs, "s", 2, 1)
	var plan []map[string]any
	for k, p := range []string{"2", "3", "10"} {
		for seed := 1; seed <= 3; seed++ {
			id := p + fmt.Sprint(seed)
			vary := []any{map[string]string{"Key": "p", "Value": p}}
			plan = append(plan, map[string]any{"id": id, "seed": seed, "vary": vary})
			if p == "10" && seed == 3 {
				continue // not done yet
			}
			r.Append(map[string]any{"run": "p" + p + "-" + id, "seed": seed,
				"result": map[string]any{"test_accuracy": []float64{0.8, 0.9, 0.7}[k] + 0.001*float64(seed*seed+k*seed)}})
		}
	}
	r.Info.Command = "sweep"
	r.WriteJSON("run.json", r.Info)
	r.WriteJSON("plan.json", map[string]any{"file": map[string]any{"metric": "test_accuracy", "better": "high"},
		"runs": plan})
	for _, width := range []int64{1400, 400} {
		do(t, ctx, size(width, 900), chromedp.Navigate(h.URL+"/run?id=s"))
		until(t, ctx, `document.querySelector('.lead p')?.innerText.includes('p = 3')`)
		until(t, ctx, `document.querySelector('#variants tbody tr')?.innerText.startsWith('3')`)
		until(t, ctx, `document.body.innerText.includes('8 of 9 runs done')`)
		if first := eval[bool](t, ctx, `document.querySelector('.lead').compareDocumentPosition(document.querySelector('#variants'))
			=== Node.DOCUMENT_POSITION_FOLLOWING`); !first {
			t.Error("the answer is not before the runs")
		}
		if wide := eval[int](t, ctx, `document.documentElement.scrollWidth`); wide > int(width) {
			t.Errorf("the page is %d wide on a screen of %d", wide, width)
		}
		shot(t, ctx, fmt.Sprintf("sweep-answer-%d", width))
	}
	r.Finish(nil, false)
}
