package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/pool"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// updateCost is one measurement of the update of a long vector, with the gradient given. The update of p-GD is
// separable by coordinate (the paper's Remark 10). Those of the p-norm algorithm, ψ = ½‖·‖ₚ², and of steepest descent
// need a norm of the whole vector before any coordinate is known.
type updateCost struct {
	Method string  `json:"method"`
	P      float64 `json:"p"`
	Cores  int     `json:"cores"`
	Passes int     `json:"passes"` // over the vector
	NS     float64 `json:"ns"`     // median of the rounds
	Ratio  float64 `json:"ratio"`  // to p-GD, median of the rounds
}

// updatePs are p with a cheap power, a square root and a ninth root.
var updatePs = []float64{1.1, 3, 10}

const (
	updateCoordinates = 1_000_000
	updateChunk       = 2048 // coordinates at a time: the parts of all vectors stay in the first- or second-level cache
	leastRounds       = 5
)

// updater has the vectors of one update. Every method is written with as few passes over them as it needs.
type updater struct {
	w, z, grad, dir []float64
	eta, p, q       float64
	down            vec.Power // 1/(p−1) = q − 1
	sums            []float64 // by chunk
	pool            *pool.Pool
	passes          int // so far
}

func newUpdater(n int, p float64, workers *pool.Pool) *updater {
	u := &updater{eta: 1e-9, p: p, q: mirror.Conjugate(p), down: vec.PowerOf(1 / (p - 1)), pool: workers,
		sums: make([]float64, (n+updateChunk-1)/updateChunk)}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, v := range []*[]float64{&u.w, &u.z, &u.grad, &u.dir} {
		*v = make([]float64, n)
	}
	for j := range u.w {
		u.w[j], u.grad[j] = rng.NormFloat64(), rng.NormFloat64()
	}
	mirror.Power(p).Mirror(u.z, u.w)
	return u
}

// pass calls do for all parts of the vector.
func (u *updater) pass(do func(chunk, lo, hi int)) {
	u.passes++
	u.pool.Each(len(u.sums), func(_, c int) { do(c, c*updateChunk, min((c+1)*updateChunk, len(u.w))) })
}

// total is the sum over all chunks, in order.
func (u *updater) total() (sum float64) {
	for _, v := range u.sums {
		sum += v
	}
	return sum
}

// power is a step of p-GD: z ← z − η·grad, w = sign(z)|z|^(q−1).
func (u *updater) power() {
	u.pass(func(_, lo, hi int) {
		vec.Axpy(-u.eta, u.grad[lo:hi], u.z[lo:hi])
		u.down.Signed(u.w[lo:hi], u.z[lo:hi])
	})
}

// squaredNorm is a step of mirror descent with ½‖·‖ₚ²: z ← z − η·grad, w = ‖z‖_q^(2−q)·sign(z)|z|^(q−1).
func (u *updater) squaredNorm() {
	u.pass(func(c, lo, hi int) {
		vec.Axpy(-u.eta, u.grad[lo:hi], u.z[lo:hi])
		u.down.Signed(u.w[lo:hi], u.z[lo:hi])
		u.sums[c] = vec.Dot(u.w[lo:hi], u.z[lo:hi]) // Σ|z|^q
	})
	scale := math.Pow(u.total(), (2-u.q)/u.q)
	u.pass(func(_, lo, hi int) { vec.Scale(u.w[lo:hi], scale, u.w[lo:hi]) })
}

// steepest is a step of steepest descent in ℓₚ: w ← w − η‖grad‖_q^(2−q)·sign(grad)|grad|^(q−1).
func (u *updater) steepest() {
	u.pass(func(c, lo, hi int) {
		u.down.Signed(u.dir[lo:hi], u.grad[lo:hi])
		u.sums[c] = vec.Dot(u.dir[lo:hi], u.grad[lo:hi])
	})
	scale := -u.eta * math.Pow(u.total(), (2-u.q)/u.q)
	u.pass(func(_, lo, hi int) { vec.Axpy(scale, u.dir[lo:hi], u.w[lo:hi]) })
}

// updateMethods are those compared, p-GD first.
var updateMethods = []struct {
	name string
	do   func(*updater)
}{
	{"p-GD", (*updater).power},
	{"½‖·‖ₚ²", (*updater).squaredNorm},
	{"steepest", (*updater).steepest},
}

// timeUpdates measures all methods, each for about the given time, on one core and on all.
func timeUpdates(ctx context.Context, n int, total time.Duration) ([]updateCost, error) {
	var out []updateCost
	for _, cores := range slices.Compact([]int{1, runtime.GOMAXPROCS(0)}) {
		workers := pool.New(cores)
		for _, p := range updatePs {
			if err := ctx.Err(); err != nil {
				workers.Close()
				return nil, err
			}
			out = append(out, timeUpdate(newUpdater(n, p, workers), total)...)
		}
		workers.Close()
	}
	return out, nil
}

// timeUpdate measures the methods in turn, in rounds: what else the machine does then slows all of them.
func timeUpdate(u *updater, total time.Duration) []updateCost {
	out := make([]updateCost, len(updateMethods))
	for k, m := range updateMethods { // once before it counts
		before := u.passes
		m.do(u)
		out[k] = updateCost{Method: m.name, P: u.p, Cores: u.pool.Threads(), Passes: u.passes - before}
	}
	times := make([][]float64, len(updateMethods))
	begin := time.Now()
	for r := 0; r < leastRounds || time.Since(begin) < total*time.Duration(len(updateMethods)); r++ {
		for k := range updateMethods {
			k = (k + r) % len(updateMethods) // each follows each
			start := time.Now()
			updateMethods[k].do(u)
			times[k] = append(times[k], float64(time.Since(start).Nanoseconds()))
		}
	}
	for k := range out {
		ratios := slices.Clone(times[k])
		for r := range ratios {
			ratios[r] /= times[0][r]
		}
		out[k].NS, out[k].Ratio = median(times[k]), median(ratios)
	}
	return out
}

// median returns the middle one of the numbers, which it sorts a copy of.
func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// updateTable has a line for each measurement.
func updateTable(times []updateCost) render.Table {
	t := render.Table{
		Title: fmt.Sprintf("One update of %s weights, the gradient given, %s/%s", render.Thousands(updateCoordinates),
			runtime.GOOS, runtime.GOARCH),
		Header: []string{"method", "p", "cores", "passes", "ms", "ratio to p-GD"}}
	for _, m := range times {
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", m.Method), render.Text("%v", m.P),
			render.Text("%d", m.Cores), render.Text("%d", m.Passes), render.Number(m.NS/1e6, 2),
			render.Text("%.2f×", m.Ratio)})
	}
	return t
}
