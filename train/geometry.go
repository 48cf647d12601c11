package train

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/runlog"
)

// Geometry is where the weights of all layers are after an epoch. It is measured on the host, so it is the same on
// every engine that has the same weights.
type Geometry struct {
	Norm1   float64 `json:"norm_1"`
	Norm2   float64 `json:"norm_2"`
	NormP   float64 `json:"norm"` // of the run's own p
	NormInf float64 `json:"norm_inf"`

	// Divergence is D_ψ(w, w₀) to the weights that the run began with, for ψ(w) = (1/p)‖w‖ₚᵖ, also if the optimizer
	// measures in other units. It is nil if they are not known, or if it overflows.
	Divergence *float64 `json:"divergence_start,omitempty"`

	// Quantiles of logit_y − max other on the test images, over ‖W‖ₚ of the last layer.
	MarginLow    float64 `json:"margin_low"` // at LowMargin
	MarginMedian float64 `json:"margin_median"`

	Zeros *float64 `json:"zeros,omitempty"` // share of weights that are 0, of a session that prunes

	Sizes *runlog.Sizes `json:"sizes,omitempty"` // of |w|; nil in the lines of older runs
}

// LowMargin is the share of the test images whose margin is at most Geometry.MarginLow.
const LowMargin = 0.1

// Measure tests the network, on the training images that are held back or else on the test images, and measures its
// weights. The two run at the same time: on a GPU the host has nothing else to do.
func (x *Session) Measure(ctx context.Context, p float64) (Score, Geometry, error) {
	layers, err := x.Weights()
	if err != nil {
		return Score{}, Geometry{}, err
	}
	on := x.testSample()
	if len(x.held) > 0 {
		if on, err = x.heldSample(); err != nil {
			return Score{}, Geometry{}, err
		}
	}
	var g Geometry
	done := make(chan struct{})
	go func() {
		defer close(done)
		g = measure(layers, x.start, p)
	}()
	score, margins, err := x.evaluate(ctx, on, false, nil)
	<-done
	if x.settings.Prune {
		share := zeros(layers)
		g.Zeros = &share
	}
	if err != nil {
		return score, g, err
	}
	if !finite(g.NormInf) { // ReLU hides a NaN from the answers
		bad := optim.FirstNotFinite(x.modelScope())
		return score, g, &Diverged{fmt.Errorf("%w: try a smaller learning rate", bad)}
	}
	last := layers[len(layers)-1].Values
	w := make([]float64, len(last))
	vec.ToFloat64s(w, last)
	if norm := mirror.Norm(w, p); norm > 0 {
		slices.Sort(margins)
		g.MarginLow, g.MarginMedian = quantile(margins, LowMargin)/norm, quantile(margins, 0.5)/norm
	}
	return score, g, nil
}

// StartHash identifies the weights that the run began with.
func (x *Session) StartHash() string { return hashOf(x.start) }

// hashOf is a hash of weights.
func hashOf(layers []Layer) string {
	h := sha256.New()
	var buf []byte
	for _, l := range layers {
		buf = buf[:0]
		for _, v := range l.Values {
			b := math.Float32bits(v)
			buf = append(buf, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
		}
		h.Write(buf)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// StartLargest is the largest of the weights that the run began with; 0 if they are not known.
func (x *Session) StartLargest() float64 {
	var most float32
	for _, l := range x.start {
		for _, v := range l.Values {
			most = max(most, v, -v)
		}
	}
	return float64(most)
}

// ForgetStart omits the divergence from now on: the weights that the run began with are lost.
func (x *Session) ForgetStart() { x.start = nil }

// block is how many weights are measured at a time. Sums over blocks are added in their order, so that the number of
// cores does not change them.
const block = 1 << 14

// partial is what a block adds.
type partial struct {
	one, two, power, divergence, most float64
}

// measure fills in all but the margins. start may be nil.
func measure(layers, start []Layer, p float64) Geometry {
	type span struct{ w, from []float32 }
	var spans []span
	for k, l := range layers {
		for at := 0; at < len(l.Values); at += block {
			end := min(at+block, len(l.Values))
			s := span{w: l.Values[at:end]}
			if start != nil {
				s.from = start[k].Values[at:end]
			}
			spans = append(spans, s)
		}
	}
	parts := make([]partial, len(spans))
	counters := make([]runlog.SizeCounter, min(runtime.GOMAXPROCS(0), len(spans)))
	var next atomic.Int64
	var wg sync.WaitGroup
	for k := range counters {
		wg.Go(func() {
			m := newMeter(p)
			for i := int(next.Add(1)) - 1; i < len(spans); i = int(next.Add(1)) - 1 {
				parts[i] = m.measure(spans[i].w, spans[i].from, &counters[k])
			}
		})
	}
	wg.Wait()
	var sum partial
	for _, s := range parts {
		sum.one, sum.two, sum.power, sum.divergence, sum.most = sum.one+s.one, sum.two+s.two, sum.power+s.power,
			sum.divergence+s.divergence, max(sum.most, s.most)
	}
	g := Geometry{Norm1: sum.one, Norm2: math.Sqrt(sum.two), NormP: math.Pow(sum.power, 1/p), NormInf: sum.most}
	if !(sum.power > 1e-280 && sum.power < 1e280) { // a large p: only the norm itself is in range
		g.NormP = scaledNorm(layers, sum.most, p)
	}
	if start != nil && finite(sum.divergence) {
		d := max(sum.divergence, 0) // it may be negative by rounding, if nothing moved
		g.Divergence = &d
	}
	var all runlog.SizeCounter
	for k := range counters {
		for j, n := range counters[k] {
			all[j] += n
		}
	}
	g.Sizes = all.Sizes()
	return g
}

// scaledNorm is ‖w‖ₚ of all layers by way of |w|/m, m = max|w|.
func scaledNorm(layers []Layer, m, p float64) float64 {
	if !(m > 0) || !finite(m) {
		return m
	}
	var norms []float64 // ‖(‖w₁‖, ‖w₂‖, …)‖ = ‖w‖
	for _, l := range layers {
		w := make([]float64, len(l.Values))
		vec.ToFloat64s(w, l.Values)
		norms = append(norms, mirror.Norm(w, p))
	}
	return mirror.Norm(norms, p)
}

// meter measures blocks, with room for their numbers in float64.
type meter struct {
	p             float64
	value, dual   vec.Power // |w|ᵖ and |w|^(p−1)
	w, from, a, z []float64
}

func newMeter(p float64) *meter {
	return &meter{p, vec.PowerOf(p), vec.PowerOf(p - 1), make([]float64, block), make([]float64, block),
		make([]float64, block), make([]float64, block)}
}

// measure sums |w|, w², |w|ᵖ and |w|ᵖ/p − |w₀|ᵖ/p − sign(w₀)|w₀|^(p−1)(w − w₀). The last is computed as it is written:
// for w = (1+δ)w₀ its terms, of float32 that became float64, cancel to a relative 1e-16/δ²; weights that did not move
// add nothing.
func (m *meter) measure(w, from []float32, c *runlog.SizeCounter) (s partial) {
	n := len(w)
	c.Add(w)
	s.most = float64(max(vec.MaxOf32(w), -vec.MinOf32(w)))
	vec.ToFloat64s(m.w, w)
	m.value.Abs(m.a, m.w[:n])
	s.two = vec.Dot(m.w[:n], m.w)
	a := m.a[:n]
	for i, v := range m.w[:n] {
		s.one += math.Abs(v)
		s.power += a[i]
	}
	if s.one-s.one != 0 {
		s.most = s.one // a NaN or an infinity among them
	}
	if from == nil {
		return s
	}
	vec.ToFloat64s(m.from, from)
	m.dual.Signed(m.z, m.from[:n])
	z, now := m.z[:n], m.w[:n]
	var values, slopes float64
	for i, v := range m.from[:n] {
		d := now[i] - v
		moved := a[i] - z[i]*v
		if d == 0 {
			moved = 0
		}
		values += moved
		slopes += z[i] * d
	}
	s.divergence = values/m.p - slopes
	return s
}
