package web

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/runlog"
)

// A network that is in its first epoch for minutes: its steps come into the page as they are done, with progress and
// the machine's load. It is stopped, and the page says so.
func TestBrowserStepsAreSeenWhileTheFirstEpochRuns(t *testing.T) {
	ctx := tab(t, 1400, 900)
	srv, h := runner(t)
	if code, text := start(t, h, "train", map[string]string{"model": "resnet18", "data": "fashion-sample", "batch": "4",
		"epochs": "2", "p": "3"}); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	do(t, ctx, chromedp.Navigate(h.URL))
	until(t, ctx, `document.querySelector('tbody th.name a') !== null`)
	id := runIDs(t, srv.settings.Runs)[0]
	do(t, ctx, chromedp.Navigate(h.URL+"/run?id="+id))
	until(t, ctx, `document.querySelector('#steps:not([hidden]) section[aria-label="Loss, by step"]') !== null`)
	step := `Number((document.querySelector('#progress').innerText.match(/step ([\d,]+)/) || [0, '0'])[1].replace(/,/g, ''))`
	do(t, ctx, script(`document.querySelector('section[aria-label="Loss, by step"] details').open = true`))
	rows := `document.querySelectorAll('section[aria-label="Loss, by step"] tbody tr').length`
	until(t, ctx, rows+` > 0`)
	first, points := eval[int](t, ctx, step), eval[int](t, ctx, rows)
	until(t, ctx, fmt.Sprintf(`%s > %d && (%s > %d || %d > 20)`, step, first, rows, points, points))
	until(t, ctx, `/^[\d.]+ %, about .* left/.test(document.querySelector('#progress').innerText)`)
	if eval[bool](t, ctx, `document.querySelector('section[aria-label="Training loss"]') !== null`) {
		t.Error("the first epoch is over already: the test needs a longer one")
	}
	until(t, ctx, `document.querySelector('section[aria-label="Gradient norm, by step"]') !== null`)
	until(t, ctx, `document.querySelector('#machine:not([hidden])') !== null`)
	do(t, ctx, script(`document.querySelector('section[aria-label="Loss, by step"] details').open = false`),
		click("#machine summary"))
	until(t, ctx, `document.querySelector('#machine section[aria-label="CPU"]').getBoundingClientRect().height > 100`)
	shot(t, ctx, "steps")
	do(t, ctx, size(400, 800), scheme("dark"))
	if wide := eval[int](t, ctx, `document.documentElement.scrollWidth`); wide > 400 {
		t.Errorf("the page is %d pixels wide on a phone", wide)
	}
	shot(t, ctx, "steps-phone")
	if resp, body := send2(t, h, "POST", "/api/cancel", `{"job":1}`,
		map[string]string{"Content-Type": "application/json"}); resp.StatusCode != 200 {
		t.Fatal(body)
	}
	until(t, ctx, `document.querySelector('#ended') !== null`)
	if text := eval[string](t, ctx, `document.querySelector('#ended').innerText`); !strings.Contains(text, "interrupted") ||
		eval[bool](t, ctx, `document.querySelector('#resume') !== null`) { // it has no checkpoint
		t.Errorf("the page says %q", text)
	}
}

// A run that was killed: why, and the command that resumes it, which is copied by a button.
func TestBrowserAKilledRunSaysHowToResumeIt(t *testing.T) {
	ctx := tab(t, 1400, 900)
	srv, h := newServer(t)
	r := trainRun(t, srv.settings.Runs, "killed", 430)
	put(t, r, command.MachineFile, `{"seconds":2,"cpu":1.5,"memory":1e8}`+"\n"+`{"seconds":7,"cpu":1.6,"memory":2e8}`+"\n")
	put(t, r, "checkpoints/epoch-00004.safetensors", "")
	r.Finish(nil, false)
	r.Info.Status = runlog.Running
	r.WriteJSON("run.json", r.Info)
	do(t, ctx, chromedp.Navigate(h.URL+"/run?id=killed"))
	until(t, ctx, `document.querySelector('#resume code') !== null && document.querySelector('#steps:not([hidden])') !== null`)
	want := "bregman train --resume " + filepath.Join(srv.settings.Runs, "killed")
	if text := eval[string](t, ctx, `document.querySelector('#resume code').innerText`); text != want {
		t.Errorf("%q, want %q", text, want)
	}
	if text := eval[string](t, ctx, `document.querySelector('#ended').innerText`); !strings.Contains(text, "was killed") ||
		!strings.Contains(text, "after 4.3 of 10 epochs") {
		t.Errorf("the page says %q", text)
	}
	do(t, ctx, click("#resume button"))
	until(t, ctx, fmt.Sprintf(`document.querySelector('#resume button').innerText === 'Copied' || getSelection().toString() === %q`,
		want))
	shot(t, ctx, "killed")
	do(t, ctx, size(400, 800), scheme("dark"))
	if wide := eval[int](t, ctx, `document.documentElement.scrollWidth`); wide > 400 {
		t.Errorf("the page is %d pixels wide on a phone", wide)
	}
	shot(t, ctx, "killed-phone")
}
