package sweep

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Twelve fits of a tenth of a second or so: long enough to be killed in.
const slow = `job = "fit"
trials = 4
[settings]
data = "r100:{seed}"
steps = 400_000
lr = 1e-4
[grid]
p = [1.5, 2, 3]
`

func TestTheSweepIsKilledAndGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, slow)
	for _, n := range []int{2, 7} {
		p := start(t, dir, "sweep", file)
		eventually(t, "some runs", func() bool { return inPlace(dir) >= n })
		p.kill()
	}
	if out := start(t, dir, "sweep", "status", "runs/sweep-s").done(); !strings.Contains(out, ": stopped, ") {
		t.Error(out)
	}
	start(t, dir, "sweep", file).done()
	same(t, outcome(t, dir), unbroken(t, slow))
	if lines(t, dir) != 12 {
		t.Error("the metrics do not have every run once")
	}
}

// far starts a server, a sweep on it and workers.
func far(t *testing.T, text string, workers int) (dir string, server *proc, addr string, sweep *proc, all []*proc) {
	t.Helper()
	dir = t.TempDir()
	server, addr = natsServer(t, filepath.Join(dir, "js"), "")
	sweep = start(t, dir, "sweep", write(t, dir, text), "--nats", addr, "--lost-after", "1s")
	for range workers {
		all = append(all, start(t, dir, "worker", "--nats", addr))
	}
	return dir, server, addr, sweep, all
}

func TestAWorkerIsKilledAndItsRunGoesToAnother(t *testing.T) {
	t.Parallel()
	dir, _, _, s, workers := far(t, slow, 2)
	eventually(t, "a run", func() bool { return inPlace(dir) >= 1 })
	time.Sleep(30 * time.Millisecond) // into the next run
	workers[0].kill()
	s.done()
	same(t, outcome(t, dir), unbroken(t, slow))
}

func TestTheNATSServerIsKilledAndComesBack(t *testing.T) {
	notShort(t)
	t.Parallel()
	for _, forgets := range []bool{false, true} {
		dir, server, addr, s, _ := far(t, slow, 2)
		eventually(t, "a run", func() bool { return inPlace(dir) >= 2 })
		server.kill()
		if forgets { // another disk: queue and results are lost
			if err := os.RemoveAll(filepath.Join(dir, "js")); err != nil {
				t.Fatal(err)
			}
		}
		natsServer(t, filepath.Join(dir, "js"), addr)
		s.done()
		same(t, outcome(t, dir), unbroken(t, slow))
	}
}

func TestARunThatFailsIsRetriedTwiceAndReported(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, strings.Replace(quick, `data = "r100:{seed}"`, ``, 1)+"data = [\"r100\", \"later.svm\"]\n")
	s := start(t, dir, "sweep", file)
	if code := s.wait(); code != 1 || !strings.Contains(s.err.String(), "12 of 24 runs failed") ||
		!strings.Contains(s.err.String(), "later.svm: no such file") {
		t.Fatalf("exit %d: %s", code, s.err.String())
	}
	for n, want := range map[string]int{"attempt 1 of 3 failed": 12, "attempt 2 of 3 failed": 12,
		"failed after 3 attempts": 12} {
		if got := strings.Count(s.err.String(), n); got != want {
			t.Errorf("%q %d times, want %d", n, got, want)
		}
	}
	if inPlace(dir) != 12 || !strings.Contains(s.out.String(), "(4 failed)") {
		t.Errorf("%d runs: %s", inPlace(dir), s.out.String())
	}
	page, err := os.ReadFile(filepath.Join(dir, "runs", "sweep-s", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, want := range []string{`<p class="answer">`, "12 runs are in no mean: 12 failed.", ">Result</h2>",
		"later.svm: no such file", ">Every run</h2>", "<td>failed</td>", "<td>done</td>"} { // in this order
		k := strings.Index(string(page[at+1:]), want)
		if k < 0 {
			t.Fatalf("%q is not where it belongs in the sweep's page", want)
		}
		at += 1 + k
	}
	out := start(t, dir, "sweep", "status", "runs/sweep-s").done()
	if !strings.Contains(out, ": failed, 12 of 24 done, 0 running, 0 queued, 12 failed") {
		t.Error(out)
	}
	// Started again, it skips the runs that failed; retry repeats them.
	if again := start(t, dir, "sweep", file); again.wait() != 1 || strings.Contains(again.err.String(), "attempt") {
		t.Errorf("%s", again.err.String())
	}
	if err := os.WriteFile(filepath.Join(dir, "later.svm"), []byte("1 1:1 2:0.5\n-1 1:-1 2:0.2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	start(t, dir, "sweep", "retry", "runs/sweep-s").done()
	if inPlace(dir) != 24 {
		t.Errorf("%d runs", inPlace(dir))
	}
}

func TestTwoSweepsAtOnceInOneFolder(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir, "sweep", write(t, dir, slow), "--jobs", "1")
	eventually(t, "a run", func() bool { return inPlace(dir) >= 1 })
	second := start(t, dir, "sweep", "s.toml")
	if code := second.wait(); code != 1 || !strings.Contains(second.err.String(),
		"another process is running in this folder") {
		t.Errorf("exit %d: %s", code, second.err.String())
	}
	first.done()
	same(t, outcome(t, dir), unbroken(t, slow))
}

func TestTwoCoordinatorsShareEveryRun(t *testing.T) {
	dir, _, addr, s, _ := far(t, slow, 2)
	other := t.TempDir()
	second := start(t, other, "sweep", write(t, other, slow), "--nats", addr, "--lost-after", "1s")
	s.done()
	second.done()
	same(t, outcome(t, dir), outcome(t, other))
	// the same run, not one that is equal: it began at the same time, in the same process
	for name := range outcome(t, dir) {
		a, err := os.ReadFile(filepath.Join(dir, "runs", "sweep-s", "trials", name, "run.json"))
		b, err2 := os.ReadFile(filepath.Join(other, "runs", "sweep-s", "trials", name, "run.json"))
		if err != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%s was run twice: %v, %v", name, err, err2)
		}
	}
}

func TestWorkersJoinTheEmbeddedServer(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, "sweep", write(t, dir, slow), "--listen", "127.0.0.1:0", "--jobs", "0")
	url := ""
	eventually(t, "an address", func() bool {
		_, after, ok := strings.Cut(s.err.String(), "waiting for workers: bregman worker --nats ")
		url, _, _ = strings.Cut(after, "\n")
		return ok && url != ""
	})
	w := start(t, dir, "worker", "--nats", url, "--jobs", "2")
	s.done()
	same(t, outcome(t, dir), unbroken(t, slow))
	w.kill()
	open := start(t, dir, "sweep", "s.toml", "p=9", "--listen", "0.0.0.0:0")
	if open.wait() != 1 || !strings.Contains(open.err.String(), "set --user and --password") {
		t.Error(open.err.String())
	}
}

// Programs of two commits work on one sweep. What they must share is the version of their results.
func TestCommitsMixAndResultsVersionsDoNot(t *testing.T) {
	dir, _, addr, s, _ := far(t, slow, 0)
	eventually(t, "the queue", func() bool { return strings.Contains(s.err.String(), "waiting for workers") })
	q, err := connect(t.Context(), nil, &Connection{NATS: addr}, ResultsVersion+1, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer q.close()
	if err := q.find(t.Context(), t.Logf); err == nil ||
		!strings.Contains(err.Error(), "the queued runs are of bregman test (sweep s), whose numbers differ") {
		t.Errorf("a worker of another results version: %v", err)
	}
	startAs(t, dir, "v2", "worker", "--nats", addr)
	s.done()
	start := func(args ...string) (code int, said string) {
		p := startAs(t, dir, "v3", args...)
		return p.wait(), p.err.String()
	}
	if code, said := start("sweep", "s.toml", "p=9"); code != 0 {
		t.Errorf("another commit: exit %d: %s", code, said)
	}
	path := filepath.Join(dir, "runs", "sweep-s", "plan.json")
	change := func(version string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data = regexp.MustCompile(`"results_version":\d+,`).ReplaceAll(data, []byte(version))
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	change(fmt.Sprintf(`"results_version":%d,`, ResultsVersion+1))
	for _, args := range [][]string{{"sweep", "s.toml", "p=9"}, {"sweep", "resume", "runs/sweep-s"}} {
		if code, said := start(args...); code != 1 || !strings.Contains(said, "whose numbers are of version 2") {
			t.Errorf("%v, other results: exit %d: %s", args, code, said)
		}
	}
	change("") // of a program without results versions
	if code, said := start("sweep", "resume", "runs/sweep-s"); code != 0 {
		t.Errorf("a plan without a results version: exit %d: %s", code, said)
	}
}

var kills = flag.Int("sweep.kills", 10, "processes that TestRandomKills kills")

// Workers, the sweep and the server are killed at random; in the end every run is there once, as if nothing had been.
func TestRandomKills(t *testing.T) {
	notShort(t)
	t.Parallel()
	text := strings.Replace(slow, "trials = 4", fmt.Sprintf("trials = %d", 10+5**kills/2), 1)
	want := unbroken(t, text)
	rng := rand.New(rand.NewPCG(uint64(*kills), 9))
	dir, server, addr, s, workers := far(t, text, 2)
	sweepArgs := []string{"sweep", "s.toml", "--nats", addr, "--lost-after", "1s"}
	for n := range *kills {
		before := inPlace(dir)
		eventually(t, "progress", func() bool {
			select {
			case <-s.exited:
				return true
			default:
				return inPlace(dir) > before
			}
		})
		time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
		switch k := rng.IntN(4); k {
		case 0, 1:
			workers[k].kill()
			workers[k] = start(t, dir, "worker", "--nats", addr)
		case 2:
			s.kill()
			s = start(t, dir, sweepArgs...)
		case 3:
			server.kill()
			server, _ = natsServer(t, filepath.Join(dir, "js"), addr)
		}
		t.Logf("kill %d at %d of %d runs", n+1, inPlace(dir), len(want))
	}
	if inPlace(dir) == len(want) {
		t.Error("every run was there before the last kill: nothing was shown")
	}
	s.done()
	same(t, outcome(t, dir), want)
	if lines(t, dir) != len(want) {
		t.Error("the metrics do not have every run once")
	}
}

// Two networks of a few seconds on the processor.
const network = `job = "train"
[settings]
data = "pictures"
model = "cnn"
epochs = 60
batch = 12
lr = 0.3
no_study = true
[grid]
p = [2, 3]
`

// A worker that gets SIGTERM leaves a checkpoint; one that is killed has sent some before. Another resumes from there,
// and the result is that of an unbroken run, weights and all, bit for bit.
func TestANetworkGoesOnElsewhereFromItsCheckpoint(t *testing.T) {
	notShort(t)
	t.Parallel()
	whole := t.TempDir()
	pictures(t, whole)
	start(t, whole, "sweep", write(t, whole, network), "--engine", "cpu").done()
	if n := inLogs(whole, "compiling"); n != 1 {
		t.Errorf("compiled %d times for two runs of one graph", n)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		dir := t.TempDir()
		pictures(t, dir)
		_, addr := natsServer(t, filepath.Join(dir, "js"), "")
		s := start(t, dir, "sweep", write(t, dir, network), "--nats", addr, "--lost-after", "1s")
		first := start(t, dir, "worker", "--nats", addr, "--engine", "cpu", "--scratch", "one")
		if sig == syscall.SIGTERM {
			anEpoch(t, filepath.Join(dir, "one"))
		} else {
			eventually(t, "the checkpoint of a run that is not done, on the server", halfDone(t, addr))
		}
		first.cmd.Process.Signal(sig)
		<-first.exited
		if n := inPlace(dir); n == 2 {
			t.Error("both runs were done before the signal: nothing was shown")
		}
		start(t, dir, "worker", "--nats", addr, "--engine", "cpu", "--scratch", "two")
		s.done()
		same(t, outcome(t, dir), outcome(t, whole))
		if n := inLogs(dir, "resuming after epoch"); n != 1 {
			t.Errorf("%v: %d runs resumed from a checkpoint, want 1", sig, n)
		}
	}
}

// A network whose loss is not finite has a result: it is not retried, and the sweep succeeds.
func TestANetworkThatDivergesIsAnAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pictures(t, dir)
	text := strings.Replace(strings.Replace(network, "epochs = 60", "epochs = 2", 1), "lr = 0.3\n", "", 1) +
		"lr = [0.3, 1e30]\n"
	s := start(t, dir, "sweep", write(t, dir, text), "p=3", "trials=2", "--engine", "cpu")
	out := s.done()
	if strings.Contains(s.err.String(), "attempt") || strings.Count(s.err.String(), "diverged") != 2 ||
		strings.Count(out, "(2 diverged)") != 1 || inPlace(dir) != 4 {
		t.Errorf("%d runs: %s\n%s", inPlace(dir), s.err.String(), out)
	}
	if st := start(t, dir, "sweep", "status", "runs/sweep-s").done(); !strings.Contains(st, ": done, 4 of 4 done") {
		t.Error(st)
	}
	if again := start(t, dir, "sweep", "retry", "runs/sweep-s", "--engine", "cpu"); again.wait() != 0 ||
		strings.Contains(again.err.String(), "of 4: ") {
		t.Errorf("repeated: %s", again.err.String())
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "runs", "sweep-s", "trials", "*", "checkpoints")); len(left) != 0 {
		t.Errorf("checkpoints of runs that are done: %q", left)
	}
}

// anEpoch waits until a worker with this scratch folder has trained for one.
func anEpoch(t *testing.T, scratch string) {
	t.Helper()
	eventually(t, "an epoch", func() bool {
		found, _ := filepath.Glob(filepath.Join(scratch, "*", "*", "*", "run", "metrics.jsonl"))
		if len(found) == 0 {
			return false
		}
		b, err := os.ReadFile(found[0])
		return err == nil && bytes.Count(b, []byte("\n")) >= 1
	})
}

// halfDone reports whether the server has the checkpoint of a run without its result. It uses one connection.
func halfDone(t *testing.T, addr string) func() bool {
	t.Helper()
	q, err := connect(t.Context(), nil, &Connection{NATS: addr}, ResultsVersion, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.close)
	return func() bool {
		if q.results == nil {
			if q.results, err = q.js.ObjectStore(t.Context(), resultBucket); err != nil {
				q.results = nil
				return false // the sweep creates it
			}
		}
		all, _ := q.results.List(t.Context())
		names := map[string]bool{}
		for _, o := range all {
			names[o.Name] = true
		}
		for name := range names {
			if run, ok := strings.CutSuffix(name, "/checkpoint"); ok && !names[run] {
				return true
			}
		}
		return false
	}
}

// inLogs counts the runs whose log has a text.
func inLogs(dir, text string) int {
	logs, _ := filepath.Glob(filepath.Join(dir, "runs", "sweep-s", "trials", "*", "log.txt"))
	n := 0
	for _, path := range logs {
		if b, _ := os.ReadFile(path); bytes.Contains(b, []byte(text)) {
			n++
		}
	}
	return n
}

// pictures makes a data set of three kinds of grey.
func pictures(t *testing.T, dir string) {
	t.Helper()
	for class, level := range map[string]int{"dark": 40, "grey": 120, "light": 210} {
		folder := filepath.Join(dir, "pictures", class)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for k := range 40 {
			img := image.NewGray(image.Rect(0, 0, 12, 12))
			for i := range img.Pix {
				img.Pix[i] = uint8(level + (i*7+k*13)%40)
			}
			var b bytes.Buffer
			if err := png.Encode(&b, img); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%02d.png", k)), b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}
