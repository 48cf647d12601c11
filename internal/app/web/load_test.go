package web

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// full runs the load tests at the size that docs/measurements/dashboard.md reports. The default is smaller.
var full = flag.Bool("web.load", false, "the load tests in full: 200 pages for a minute, 1,000 runs with a million "+
	"points")

// serveProcess starts the program itself, so that its memory can be measured.
func serveProcess(t *testing.T, root string) (base string, pid int) {
	t.Helper()
	if testing.Short() {
		t.Skip("building the program takes seconds")
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	built = true
	cmd := exec.CommandContext(t.Context(), path, "serve", "--runs", root, "--addr", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Signal(os.Interrupt); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	base, _, _ = strings.Cut(line, "/ shows")
	return base, cmd.Process.Pid
}

// memory is the memory of a process in MB; 0 if the system does not report it.
func memory(pid int) float64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(text)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

// watch is a page that follows a run: it counts steps, which must come one after the other, and how late they are.
func watch(base string, last int, late *atomic.Int64) error {
	resp, err := http.Get(base + "/api/stream?id=live")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	next := 1
	for br := bufio.NewReader(resp.Body); ; {
		line, err := br.ReadString('\n')
		if err != nil {
			return fmt.Errorf("ended after step %d: %w", next-1, err)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Curves []struct {
				Values struct{ Step, Sent []float64 }
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return err
		}
		for _, c := range e.Curves {
			for k, s := range c.Values.Step {
				if int(s) != next {
					return fmt.Errorf("step %v after step %d", s, next-1)
				}
				next++
				ms := time.Now().UnixMilli() - int64(c.Values.Sent[k])
				for old := late.Load(); ms > old && !late.CompareAndSwap(old, ms); old = late.Load() {
				}
			}
		}
		if next > last {
			return nil
		}
	}
}

func TestLoadManyPagesWatchOneRunAndLoseNothing(t *testing.T) {
	pages, wall, every := 20, 2*time.Second, 20*time.Millisecond
	if *full {
		pages, wall = 200, time.Minute
	}
	root := t.TempDir()
	run := makeRun(t, root, "live", 3, 1)
	defer run.Finish(nil, false)
	base, pid := serveProcess(t, root)
	last := int(wall / every)
	var late atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, pages)
	for range pages {
		wg.Go(func() { errs <- watch(base, last, &late) })
	}
	var held []float64
	start := time.Now()
	for k := 1; k <= last; k++ {
		run.Append(map[string]any{"step": k, "loss": 1 / float64(k), "margin": 0.4, "norm": k,
			"sent": time.Now().UnixMilli()})
		time.Sleep(time.Until(start.Add(time.Duration(k) * every)))
		if k%(last/6) == 0 {
			held = append(held, memory(pid))
		}
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d pages, %d updates each, %v: %d events in all, none lost; the latest came %d ms after it was written; "+
		"memory of the server over time, MB: %.0f", pages, last, wall, pages*last, late.Load(), held)
	if n := len(held); runtime.GOOS == "linux" && held[n-1] > 1.5*held[1]+20 {
		t.Errorf("the server's memory grows: %.0f MB", held)
	}
}

// manyRuns writes n runs of so many points each, and one of a million points or a part of it.
func manyRuns(t *testing.T, root string, n, points, large int) {
	t.Helper()
	write := func(name string, p float64, seed, points int) {
		dir := filepath.Join(root, name)
		os.MkdirAll(filepath.Join(dir, "tables"), 0o777)
		started := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seed) * time.Minute)
		info := fmt.Sprintf(`{"command":"fit","settings":{"data":"r100","p":%v,"seed":%d,"steps":%d,"lr":1e-4,"loss":"exp","method":"pgd"},"seed":%d,"data":"r100:1","engine":"go","started":%q,"finished":%q,"status":"done"}`,
			p, seed, points, seed, started.Format(time.RFC3339), started.Add(time.Minute).Format(time.RFC3339))
		os.WriteFile(filepath.Join(dir, "run.json"), []byte(info), 0o666)
		os.WriteFile(filepath.Join(dir, "tables", "result.json"),
			[]byte(`{"loss":0.01,"margin":0.4,"gap":0.01,"train_accuracy":1,"steps":1000}`), 0o666)
		f, err := os.Create(filepath.Join(dir, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriterSize(f, 1<<20)
		for k := 1; k <= points; k++ {
			fmt.Fprintf(w, `{"step":%d,"loss":%.12g,"margin":%.12g,"norm":%.12g,"gap":%.12g}`+"\n", k, 1/float64(k+seed),
				0.43-0.1/float64(k), float64(k)/7, 0.1/float64(k))
		}
		w.Flush()
		f.Close()
	}
	for k := range n {
		write(fmt.Sprintf("20260101-%06d-fit", k), []float64{1.1, 1.5, 2, 3, 6, 10}[k%6], k, points)
	}
	write("20270101-000000-large", 3, n+1, large)
}

// requests sends n requests and returns the median and the slowest time.
func requests(t *testing.T, url string, n int) (median, slowest time.Duration, size int) {
	t.Helper()
	var all []time.Duration
	for range n {
		begin := time.Now()
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatalf("%s: %s", url, data)
		}
		all, size = append(all, time.Since(begin)), len(data)
	}
	slices.Sort(all)
	return all[n/2], all[n-1], size
}

func TestLoadManyRunsAreShownAtOnce(t *testing.T) {
	n, points, large := 50, 100, 20_000
	if *full {
		n, points, large = 1000, 1000, 1_000_000 // a million points in all, and a million in one run
	}
	root := t.TempDir()
	manyRuns(t, root, n, points, large)
	base, pid := serveProcess(t, root)
	compare := "/api/compare?points=600"
	for k := range 18 {
		compare += fmt.Sprintf("&run=20260101-%06d-fit", k)
	}
	for _, path := range []string{"/api/runs", "/api/metrics?id=20260101-000000-fit&points=800",
		"/api/metrics?id=20270101-000000-large&points=800", compare, "/api/export?id=20260101-000001-fit&to=csv",
		"/api/figure?run=20270101-000000-large&metric=loss&to=svg"} {
		_, first, _ := requests(t, base+path, 1)
		median, slowest, size := requests(t, base+path, 9)
		t.Logf("%-62.62s first %7.1f ms, then median %6.1f, slowest %6.1f ms, %4d kB", path, ms(first), ms(median),
			ms(slowest), size/1000)
	}
	t.Logf("memory of the server: %.0f MB", memory(pid))

	base, _ = serveProcess(t, root) // one that knows nothing yet
	ctx := tab(t, 1280, 900)
	for _, path := range []string{"/", "/run?id=20270101-000000-large", "/compare?" +
		strings.TrimPrefix(compare, "/api/compare?points=600&")} {
		do(t, ctx, chromedp.Navigate(base+path))
		until(t, ctx, painted)
		first := eval[float64](t, ctx, `performance.getEntriesByName('first-contentful-paint')[0].startTime`)
		all := eval[float64](t, ctx, `performance.getEntriesByName('painted')[0].startTime`)
		t.Logf("Chromium, %-40.40s first paint %4.0f ms, with its runs and curves %4.0f ms", path, first, all)
		if *full && first > 1000 {
			t.Errorf("%s: first paint after %.0f ms, promised is 1 s", path, first)
		}
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
