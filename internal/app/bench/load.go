package bench

import (
	"bufio"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/engine"
)

// load is what the driver counted while a GPU worked, as means over samples.
type load struct {
	Busy    float64 `json:"busy_percent"`   // of a sample period, a kernel ran
	Memory  float64 `json:"memory_percent"` // of a sample period, memory was read or written
	Watts   float64 `json:"watts"`
	Samples int     `json:"samples"`
}

// sample is a line of nvidia-smi.
type sample struct {
	at                  time.Time
	busy, memory, watts float64
}

// span is when something was measured.
type span struct{ begin, end time.Time }

// samplePeriod is the longest time that the driver's percentages look back: a sixth of a second to a second, by chip.
// Younger samples count what ran before.
const samplePeriod = time.Second

// sampler follows a GPU by nvidia-smi. The zero value has no samples.
type sampler struct {
	GPU, Driver string

	mu      sync.Mutex
	samples []sample
	stop    func()
}

// startSampler starts nvidia-smi, if it is there and answers; nil: not.
func startSampler(ctx context.Context) *sampler {
	program, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil
	}
	device := []string{"-i", engine.FirstDevice(), "--format=csv,noheader,nounits"}
	about, err := exec.CommandContext(ctx, program, append(device, "--query-gpu=name,driver_version")...).Output()
	if err != nil {
		return nil
	}
	s := &sampler{}
	s.GPU, s.Driver, _ = strings.Cut(strings.TrimSpace(string(about)), ", ")
	c := exec.Command(program, append(device,
		"--query-gpu=timestamp,utilization.gpu,utilization.memory,power.draw", "-lms", "100")...)
	ownGroup(c) // Ctrl-C is for us
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if one, ok := parseSample(lines.Text(), time.Now()); ok {
				s.mu.Lock()
				s.samples = append(s.samples, one)
				s.mu.Unlock()
			}
		}
	}()
	s.stop = func() {
		killGroup(c)
		<-done
		c.Wait()
	}
	return s
}

// parseSample reads a line of nvidia-smi. Its own time counts: lines may come late, many at once.
func parseSample(line string, now time.Time) (s sample, ok bool) {
	parts := strings.Split(line, ",")
	if len(parts) != 4 {
		return s, false
	}
	number := func(k int) float64 {
		v, err := strconv.ParseFloat(strings.TrimSpace(parts[k]), 64)
		ok = ok && err == nil
		return v
	}
	ok = true
	s = sample{at: now, busy: number(1)}
	if !ok {
		return s, false
	}
	s.memory, s.watts = number(2), number(3) // 0 if the chip does not tell
	if at, err := time.ParseInLocation("2006/01/02 15:04:05.000", strings.TrimSpace(parts[0]), time.Local); err == nil {
		s.at = at
	}
	return s, true
}

// over is the mean load of these spans, each without its first sample period; nil if there is no sample.
func (s *sampler) over(spans []span) *load {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var l load
	for _, one := range s.samples {
		for _, w := range spans {
			if one.at.Before(w.begin.Add(samplePeriod)) || one.at.After(w.end) {
				continue
			}
			l.Busy, l.Memory, l.Watts = l.Busy+one.busy, l.Memory+one.memory, l.Watts+one.watts
			l.Samples++
		}
	}
	if l.Samples == 0 {
		return nil
	}
	n := float64(l.Samples)
	return &load{l.Busy / n, l.Memory / n, l.Watts / n, l.Samples}
}

func (s *sampler) close() {
	if s != nil && s.stop != nil {
		s.stop()
	}
}
