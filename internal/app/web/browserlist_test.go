package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bregman-ml/bregman/runlog"
)

// networkRuns writes the folders of n finished runs of a network, of four p and five rates; the newest is the last.
func networkRuns(t testing.TB, root string, n int) {
	t.Helper()
	started := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	for k := range n {
		p, lr := []float64{1.1, 2, 3, 10}[k%4], []float64{0.05, 0.1, 0.2, 0.4, 0.8}[k/4%5]
		at := started.Add(time.Duration(k) * time.Minute)
		dir := filepath.Join(root, fmt.Sprintf("%s-train-cnn-p%v-s%d", at.Format("20060102-150405"), p, k))
		info := map[string]any{"command": "train", "data": "fashion-sample", "seed": k, "status": "done", "started": at,
			"finished": at.Add(30 * time.Second), "engine": "cpu", "version": "test", "settings": map[string]any{"model": "cnn",
				"data": "fashion-sample", "p": []any{p}, "lr": lr, "epochs": 15, "schedule": []string{"triangular", "cosine"}[k%2]}}
		if err := os.MkdirAll(filepath.Join(dir, "tables"), 0o777); err != nil {
			t.Fatal(err)
		}
		write := func(name string, v any) {
			data, err := json.Marshal(v)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), data, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		write("run.json", info)
		write("tables/result.json", map[string]any{"test_accuracy": 0.5 + float64(k%400)/1000, "train_loss": 0.1})
	}
}

const tableRows = `document.querySelectorAll('table.runs tbody tr').length`

func TestBrowserAListOfAThousandRuns(t *testing.T) {
	for _, width := range []int64{1400, 400} {
		t.Run(fmt.Sprint(width), func(t *testing.T) { thousandRuns(t, width) })
	}
}

func thousandRuns(t *testing.T, width int64) {
	ctx := tab(t, width, 900)
	srv, h := newServer(t, func(s *Serve) { s.AllowRun = true })
	networkRuns(t, srv.settings.Runs, 1000)
	do(t, ctx, chromedp.Navigate(h.URL))
	until(t, ctx, painted)
	until(t, ctx, tableRows+` === 200 && document.querySelector('#more').innerText.includes('Show 800 more of 1,000')`)
	look := func(where string) {
		t.Helper()
		if wide := eval[int](t, ctx, `document.documentElement.scrollWidth`); wide > int(width) {
			t.Errorf("%s: the page is %d wide on a screen of %d", where, wide, width)
		}
		screen(t, ctx, fmt.Sprintf("thousand-%s-%d", where, width))
	}
	look("list")

	// filter: a setting, a result, a mistake
	do(t, ctx, enter("#filter", "p=3 lr>=0.4"))
	until(t, ctx, `document.querySelector('#count').innerText.startsWith('100 of 1,000') && `+tableRows+` === 100`)
	do(t, ctx, enter("#filter", " accuracy>0.88"))
	until(t, ctx, tableRows+` < 20 && `+tableRows+` > 0`)
	if !strings.Contains(eval[string](t, ctx, `location.search`), "accuracy%3E0.88") {
		t.Error("the address does not keep the filter")
	}
	do(t, ctx, enter("#filter", " lr<fast"))
	until(t, ctx, `document.querySelector('.note.bad:not([hidden])')?.innerText.includes('compares numbers')`)
	do(t, ctx, script(`f = document.querySelector('#filter'); f.value = 'nothing-has-this'; f.dispatchEvent(new Event('input'))`))
	until(t, ctx, `document.querySelector('.empty:not([hidden])')?.innerText.includes('No run matches')`)
	look("none")
	do(t, ctx, click("#clear"))
	until(t, ctx, tableRows+` === 200`)

	// columns: those that vary, and those one chooses
	head := `[...document.querySelectorAll('table.runs thead th')].map(e => e.innerText.trim()).filter(Boolean).join('|')`
	if width > 600 {
		if got := eval[string](t, ctx, head); got != "run|p|lr|schedule|status|loss|accuracy|started ↓|time" {
			t.Errorf("columns: %s", got)
		}
	}
	do(t, ctx, click("#columns summary"))
	until(t, ctx, `document.querySelector('[data-column=loss]') !== null`)
	look("columns")
	do(t, ctx, click("[data-column=loss]"), click("#columns summary"))
	until(t, ctx, `!document.querySelector('[data-sort=loss]') && location.search.includes('columns=')`)
	do(t, ctx, chromedp.Navigate(eval[string](t, ctx, `location.href`)))
	until(t, ctx, tableRows+` === 200 && !document.querySelector('[data-sort=loss]')`)

	// delete and undo
	first := eval[string](t, ctx, `document.querySelector('table.runs tbody input').dataset.id`)
	do(t, ctx, click(`table.runs tbody input`), click("#delete"))
	until(t, ctx, `document.querySelector('#toast')?.innerText.includes('1 run moved to the trash')`)
	until(t, ctx, `document.querySelector('#count').innerText.startsWith('999 of 999')`)
	if _, err := os.Stat(filepath.Join(srv.settings.Runs, runlog.TrashFolder, first)); err != nil {
		t.Error(err)
	}
	look("undo")
	do(t, ctx, click("#undo"))
	until(t, ctx, `document.querySelector('#count').innerText.startsWith('1,000 of 1,000')`)
	if _, err := os.Stat(filepath.Join(srv.settings.Runs, first, "run.json")); err != nil {
		t.Error(err)
	}

	// all of them at once: tag, archive
	do(t, ctx, script(`f = document.querySelector('#filter'); f.value = 'p=10'; f.dispatchEvent(new Event('input'))`))
	until(t, ctx, `document.querySelector('#count').innerText.startsWith('250 of')`)
	do(t, ctx, click("#all"))
	until(t, ctx, `document.querySelector('.bar').innerText.includes('250 chosen')`)
	do(t, ctx, enter("#tag", "+large"), chromedp.KeyEvent(kb.Enter))
	until(t, ctx, `document.querySelector('#toast')?.innerText.includes('250 runs tagged')`)
	until(t, ctx, `document.querySelectorAll('.tag').length === 200`)
	do(t, ctx, click("#all"))
	until(t, ctx, `document.querySelector('.bar').innerText.includes('250 chosen')`)
	do(t, ctx, click("#archive"))
	until(t, ctx, `document.querySelector('#toast')?.innerText.includes('250 runs archived')`)
	until(t, ctx, `document.querySelector('.empty:not([hidden])') !== null`)
	do(t, ctx, script(`f = document.querySelector('#filter'); f.value = 'is:archived tag:large'; f.dispatchEvent(new Event('input'))`))
	until(t, ctx, `document.querySelector('#count').innerText.startsWith('250 of')`)
	look("archived")
}

// A list of ten thousand runs is painted within a second once the server has read them.
func TestBrowserTenThousandRunsArePaintedAtOnce(t *testing.T) {
	if !*full {
		t.Skip("in full with -web.load")
	}
	ctx := tab(t, 1400, 900)
	srv, h := newServer(t)
	networkRuns(t, srv.settings.Runs, 10_000)
	srv.list.all()
	for range 3 {
		do(t, ctx, chromedp.Navigate(h.URL))
		until(t, ctx, painted)
		ms := eval[float64](t, ctx, `performance.getEntriesByName('painted')[0].startTime`)
		t.Logf("painted after %.0f ms, %d rows", ms, eval[int](t, ctx, tableRows))
		if ms > 1000 {
			t.Errorf("painted after %.0f ms, want at most a second", ms)
		}
	}
}

// edit sends a change to the server.
func edit(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data)
}

func TestRunsAreChangedOnlyIfThatIsAllowed(t *testing.T) {
	srv, h := newServer(t)
	makeRun(t, srv.settings.Runs, "a", 3, 1).Finish(nil, false)
	for path, body := range map[string]string{"/api/about": `{"runs":["a"],"name":"x"}`, "/api/delete": `{"runs":["a"]}`,
		"/api/restore": `{"trash":[".trash/a"]}`} {
		if code, text := edit(t, h.URL+path, body); code != http.StatusForbidden || !strings.Contains(text, "--allow-run") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if _, err := os.Stat(filepath.Join(srv.settings.Runs, "a", "about.json")); !os.IsNotExist(err) {
		t.Errorf("a was changed: %v", err)
	}
}

// What a request names is inside the folder of runs; what cannot be changed is named, and stops nothing else.
func TestEditsStayInsideTheFolderOfRuns(t *testing.T) {
	outside := t.TempDir()
	makeRun(t, outside, "b", 3, 1).Finish(nil, false)
	srv, h := newServer(t, func(s *Serve) { s.AllowRun = true })
	makeRun(t, srv.settings.Runs, "a", 3, 1).Finish(nil, false)
	live := makeRun(t, srv.settings.Runs, "live", 3, 1)
	defer live.Finish(nil, false)
	os.Symlink(filepath.Join(outside, "b"), filepath.Join(srv.settings.Runs, "link"))
	for _, id := range []string{"../" + filepath.Base(outside) + "/b", "link", "/etc", "", ".", "none", "a/../a"} {
		for path, key := range map[string]string{"/api/about": "runs", "/api/delete": "runs", "/api/restore": "trash"} {
			body, _ := json.Marshal(map[string]any{key: []string{id}})
			if code, text := edit(t, h.URL+path, string(body)); code < 400 {
				t.Errorf("%s %q: %d %s", path, id, code, text)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "b", "about.json")); !os.IsNotExist(err) {
		t.Errorf("a run outside was changed: %v", err)
	}
	code, text := edit(t, h.URL+"/api/delete", `{"runs":["live","a"]}`)
	if code != 200 || !strings.Contains(text, `"trash":[".trash/a"]`) || !strings.Contains(text, "live is running") ||
		strings.Contains(text, srv.settings.Runs) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := edit(t, h.URL+"/api/restore", `{"trash":[".trash/a"]}`); code != 200 {
		t.Errorf("%d %s", code, text)
	}
	if code, text := edit(t, h.URL+"/api/about", `{"runs":["a"],"add":["two words"]}`); code != 400 ||
		!strings.Contains(text, "without spaces") {
		t.Errorf("%d %s", code, text)
	}
}

// The list of the page is that of the terminal: conditions, order, settings that vary.
func TestTheListOfThePageIsTheTerminals(t *testing.T) {
	srv, h := newServer(t)
	networkRuns(t, srv.settings.Runs, 40)
	var got struct {
		Runs []struct {
			ID    string
			Cells map[string]string
		}
		Columns, Keys, IDs []string
		Count              map[string]int
	}
	ask(t, h, "/api/runs?q=p%3D3+lr%3E0.1&sort=-accuracy&limit=2&ids=1", &got)
	if len(got.Runs) != 2 || len(got.IDs) != 6 || got.Count["matched"] != 6 || got.Count["total"] != 40 ||
		!strings.HasSuffix(got.Runs[0].ID, "-s38") || got.Runs[0].Cells["lr"] != "0.8" ||
		fmt.Sprint(got.Keys) != "[lr]" {
		t.Errorf("%+v", got)
	}
	if code, text := ask(t, h, "/api/runs?q=lr%3Cfast", nil); code != 400 || !strings.Contains(text, "compares numbers") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := ask(t, h, "/api/runs?q=&limit=-1", nil); code != 400 {
		t.Errorf("%d %s", code, text)
	}
	ask(t, h, "/api/runs?q=&columns=schedule,nothing", &got)
	if fmt.Sprint(got.Columns) != "[schedule nothing]" || got.Runs[0].Cells["schedule"] != "cosine" {
		t.Errorf("%+v", got.Runs[0])
	}
}

// The best of a sweep is a mean over seeds, read while the sweep runs; a norm of one p is not compared with another's.
func TestASweepShowsItsBest(t *testing.T) {
	for _, c := range []struct{ metric, better, text, line string }{
		{"test_accuracy", "high", "90.47 ± 0.28 %", "Bold: the best"},
		{"norm", "low", "", ""},
	} {
		srv, h := newServer(t)
		r := makeRun(t, srv.settings.Runs, "s", 2, 1)
		var plan []map[string]any
		for k, p := range []string{"2", "3"} {
			for seed := 1; seed <= 4; seed++ {
				id := fmt.Sprintf("%s%d", p, seed)
				vary := []any{map[string]string{"Key": "p", "Value": p}}
				plan = append(plan, map[string]any{"id": id, "seed": seed, "vary": vary})
				if seed < 4 { // one of each is missing
					r.Append(map[string]any{"run": "p" + p + "-" + id, "seed": seed, "result": map[string]any{
						"test_accuracy": 0.8 + 0.1*float64(k) + 0.01*float64(seed/2) - 0.001*float64(k*seed), "norm": float64(k)}})
				}
			}
		}
		r.Info.Command = "sweep"
		r.WriteJSON("run.json", r.Info)
		file := map[string]any{"metric": c.metric, "better": c.better}
		r.WriteJSON("plan.json", map[string]any{"file": file, "runs": plan})
		var list struct {
			Runs []struct {
				Best *struct {
					Text     string
					N        int
					Settings map[string]string
				}
			}
		}
		ask(t, h, "/api/runs", &list)
		var page struct {
			Sweep struct {
				Planned, Done int
				Line          string
				Cells         []struct {
					Best bool
					N    int
					Runs []string
				}
			}
		}
		ask(t, h, "/api/run?id=s", &page)
		if page.Sweep.Planned != 8 || page.Sweep.Done != 6 || len(page.Sweep.Cells) != 2 || page.Sweep.Cells[1].N != 3 ||
			!strings.HasPrefix(page.Sweep.Line, c.line) || page.Sweep.Cells[1].Runs[0] != "s/trials/p3-31" {
			t.Errorf("%s: %+v", c.metric, page)
		}
		b := list.Runs[0].Best
		if c.text == "" && b != nil || c.text != "" && (b == nil || b.Text != c.text || b.N != 3 || b.Settings["p"] != "3") {
			t.Errorf("%s: %+v", c.metric, b)
		}
		r.Finish(nil, false)
	}
}
