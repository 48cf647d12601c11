//go:build unix

package sweep

import (
	"context"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// bare runs a plan in a plain loop on two cores, with nothing around them.
func bare(tb testing.TB, p *Plan) time.Duration {
	tb.Helper()
	begin := time.Now()
	next := make(chan *Spec)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for s := range next {
				k, err := kinds.ByName(s.Job)
				if err != nil {
					tb.Error(err)
					continue
				}
				c, err := k.ParseStored(s.Settings)
				if err == nil {
					err = settings.Set(c, "runs", "")
				}
				if err == nil {
					_, err = c.Do(tb.Context(), quiet())
				}
				if err != nil {
					tb.Error(err)
				}
			}
		})
	}
	for _, s := range p.Runs {
		next <- s
	}
	close(next)
	wg.Wait()
	return time.Since(begin)
}

// quiet is an environment without output.
func quiet() *command.Env {
	return &command.Env{Observer: command.Quiet(), Version: "test", Engines: new(engine.Pool)}
}

// bySweep runs the plan by a sweep.
func bySweep(tb testing.TB, p *Plan) time.Duration {
	tb.Helper()
	o := Options{Place: Place{Engine: "auto"}, Connection: Connection{Replicas: 1}, Jobs: 2, LostAfter: 30 * time.Second}
	begin := time.Now()
	out, err := sweep(context.Background(), quiet(), p, filepath.Join(tb.TempDir(), "s"), o, Library{})
	if err != nil || out.Done != len(p.Runs) {
		tb.Fatalf("%+v, %v", out, err)
	}
	return time.Since(begin)
}

// Sixty exact margins of half a millisecond: the rest is overhead. It is 1 to 5 ms; the bound is that of the issue that
// asked for sweeps.
func TestTheOverheadOfARunIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time, which the race detector multiplies")
	}
	p, err := tryPlan("job = \"margin\"\ntrials = 10\n[settings]\ndata = \"r100:{seed}\"\n[grid]\np = [1.1, 1.5, 2, " +
		"3, 6, 10]")
	if err != nil {
		t.Fatal(err)
	}
	var over time.Duration
	for range 3 { // the least: others use the machine, too
		plain, whole := bare(t, p), bySweep(t, p)
		over = (whole - plain) / time.Duration(len(p.Runs))
		t.Logf("bare loop %v, sweep %v with its server and report: %v a run", plain, whole, over)
		if over < 20*time.Millisecond {
			return
		}
	}
	t.Errorf("%v of overhead a run", over)
}

// The paper's sixty descents in R^100, a million steps each: go test -run - -bench Sixty -benchtime 3x
// ./internal/app/sweep
func BenchmarkSixtyDescents(b *testing.B) {
	p, err := tryPlan("job = \"fit\"\ntrials = 10\n[settings]\ndata = \"r100:{seed}\"\nsteps = 1_000_000\nlr = " +
		"1e-4\n[grid]\np = [1.1, 1.5, 2, 3, 6, 10]")
	if err != nil {
		b.Fatal(err)
	}
	var plain, whole, plainCPU, wholeCPU time.Duration
	for b.Loop() {
		start := cpuTime(b)
		plain += bare(b, p)
		between := cpuTime(b)
		whole += bySweep(b, p)
		plainCPU, wholeCPU = plainCPU+between-start, wholeCPU+cpuTime(b)-between
	}
	b.ReportMetric(plain.Seconds()/float64(b.N), "bare-s")
	b.ReportMetric(whole.Seconds()/float64(b.N), "sweep-s")
	b.ReportMetric(float64(whole)/float64(plain), "sweep/bare")
	// on a machine that others use, too, the one to go by
	b.ReportMetric(float64(wholeCPU)/float64(plainCPU), "sweep/bare-cpu")
	b.ReportMetric((wholeCPU-plainCPU).Seconds()*1000/float64(b.N)/float64(len(p.Runs)), "cpu-ms-overhead/run")
}

// cpuTime is what this process has used.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
