package linear

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// Accelerated finds the classifier of largest ℓₚ margin by Nesterov's accelerated method, in Tseng's form, on the dual
//
//	minimise F(b) = ½‖Aᵀb‖_q² over the simplex,   aᵢ = yᵢxᵢ,   1/p + 1/q = 1,
//
// with the entropy as distance. Seen from w it is normalised mirror descent with momentum on the exponential loss, with
// the potential ½‖·‖ₚ²: the dual weights are μ = softmax(−AW), the examples' weights in the gradient of the loss at W.
// One iteration, from S = 0, W = 0, b = μ = 1/n:
//
//	a from a²L = S + a;   S⁺ = S + a;   y = (S·b + a·μ)/S⁺
//	W⁺ = W + a·∇F(y),     μ⁺ = softmax(−AW⁺),     b⁺ = (S·b + a·μ⁺)/S⁺
//
// Here ∇F(y) is a vector of weights, J(Aᵀy) with J = ∇½‖·‖_q². W is the classifier, and b certifies it:
//
//	min(AW)/‖W‖ₚ  ≤  γₚ  ≤  ‖Aᵀb‖_q.
//
// It stops once these bounds are within the relative gap Gap of each other, after Steps iterations, after Patience
// iterations without a positive margin, or once the upper bound is almost 0. Some hundred iterations reach a gap of
// 0.1 %. The result has margin 1, or norm 1 if its margin is not positive.
//
// Step sizes. Let E = Σ S⁺·D_F(b⁺, y) − KL(μ⁺, μ) over the iterations. Then F(b) − F* ≤ (KL(b*, 1/n) + E)/S for any L.
// So L need not be known. It follows what the last iterations would have needed, and an iteration is repeated with a
// larger L only if it would make E positive. What earlier iterations left unused is available to later ones. At most
// about one iteration in fifty is repeated.
//
// Soft margins are for data that no w separates. With bᵢ ≤ 1/(soft·n) the same method maximises the mean of the worst
// margins, a share soft of them, instead of the worst one: the ν-SVM of Schölkopf et al. 2000 in the ℓₚ norm, with the
// same certificate. Both classes count equally: the bound is 1/(2·soft·n₊) for the n₊ examples of one class and
// 1/(2·soft·n₋) for those of the other.
//
// Sparse data of 131,072 entries or more, with p ≤ 3 and no soft margin, are fitted by the method of multipliers with
// Newton steps instead, with the same certificate (see multipliers): it works mostly on the support vectors. With more
// than four features an example it is used for p < 1.5 only. If it hardly progresses, the method above takes over. The
// steps of such a fit are products with the data, and Patience counts passes over it.
//
// For p > 2 the dual is not smooth. F is replaced by a smooth function, with |v|^q rounded off within δ of 0, and E may
// be slightly inexact. Both shrink with the gap and vanish in the limit, so no accuracy has to be fixed in advance.
//
// References: Tseng 2008, On accelerated proximal gradient methods; Nesterov 2015, Universal gradient methods;
// Ji, Srebro & Telgarsky 2021 (arXiv 2107.00595); Wang et al. 2022 (arXiv 2210.09371).
type Accelerated struct {
	P        float64 // the norm, above 1; 0: 2
	Soft     float64 // the share of worst margins whose mean is maximised, up to 1; 0: the worst margin
	Gap      float64 // the relative gap to stop at; 0: 1e-3
	Steps    int     // the most iterations; 0: 100,000
	Patience int     // stop after this many iterations without a positive margin; 0: never
}

var _ Method = Accelerated{}

// Name returns "accelerated".
func (m Accelerated) Name() string { return string(MethodAccelerated) }

// hopeless is the upper bound, relative to the longest example, below which the search for a w ends. It does not prove
// that no w separates the data.
const hopeless = 1e-10

// Fit implements Method.
func (m Accelerated) Fit(ctx context.Context, prob Problem, h Hooks) (*Result, error) {
	if err := checkSoft(m.Soft); err != nil {
		return nil, err
	}
	r, err := begin(prob, common{method: MethodAccelerated, p: cmp.Or(m.P, defaultP), loss: Exponential{},
		gap: cmp.Or(m.Gap, defaultGap), steps: cmp.Or(m.Steps, defaultSteps)}, h)
	if err != nil {
		return nil, err
	}
	size := prob.RowNorm(mirror.Conjugate(r.p))
	rounding := rounded * size
	resume := r.Resume != nil && ofMultipliers(*r.Resume)
	if resume && m.Soft > 0 {
		return nil, errors.New("the checkpoint is of a fit without a soft margin")
	}
	if resume || r.Resume == nil && multipliersSuit(prob, r.p, m.Soft, r.steps) && size > 1e-100 && size < 1e100 {
		if result, err, ok := fitMultipliers(ctx, r, m.Patience, rounding); ok {
			return result, err
		}
		r.Resume, r.next = nil, 0
	}
	s := newAccelerated(prob, r.p, m.Soft)
	if r.Resume != nil {
		if err := s.restore(*r.Resume); err != nil {
			return nil, err
		}
		r.next = s.t + 1
	}
	for {
		proved := s.certify(r.gap)
		err := ctx.Err()
		done := err != nil || s.t >= r.steps || s.cert.widened(rounding).Gap() <= r.gap ||
			s.cert.Upper <= hopeless*size || m.Patience > 0 && s.t >= m.Patience && !(s.cert.Lower > 0)
		if done && !proved {
			s.prove()
		}
		if done || r.due(s.t) {
			r.record(s.point(), s.w)
		}
		if done {
			err = r.saveLast(err, s.checkpoint) // before the weights are scaled
			r.result.Certificate, r.result.Steps = s.cert.widened(rounding), s.t
			s.toMarginOne()
			prob.Margins(s.m, s.w)
			r.result.W = s.w
			r.result.Loss = r.loss.Sum(s.m) / float64(s.n)
			r.result.Objective = r.result.Loss
			return r.end(err)
		}
		if err := r.save(s.checkpoint); err != nil {
			return r.end(err)
		}
		s.step()
	}
}

// acceleratedState is the state of Accelerated, in the notation of its comment.
type acceleratedState struct {
	prob Problem
	p, q float64
	n, d int
	pow  vec.Power // (q−2)/2
	caps []float64 // b ≤ caps; nil: no bound

	t      int
	w      []float64 // W
	margin []float64 // AW, of the examples in use
	vb, vm []float64 // Aᵀb and Aᵀμ
	sum    float64   // S
	lip    float64   // L
	lse    float64   // log Σ e^(−AW), or its counterpart if b is bounded
	spare  float64   // −E
	cert   Certificate
	gap    float64 // the least so far
	work   workingSet

	tries           int
	vy, g, vm2, vb2 []float64
	m, mu           []float64
	scratch         []float64
	total           []float64 // of the examples, if weights are bounded
	order           []int32
}

// How L follows, tuned on R¹⁰⁰ and on sparse problems of 10⁵ examples. The number of iterations hardly depends on it.
const (
	lipDown   = 0.9 // L shrinks at most by this factor in an iteration
	lipUp     = 1.2 // and grows at most by this one, unless the iteration is repeated
	mostTries = 40  // of an iteration: only rounding needs more
	inexact   = 0.3 // ε = inexact·gap·F may be added to F in an iteration (Nesterov 2015)
	smoothing = 1.0 // δ is such that rounding off changes F by at most the factor 1 + smoothing·gap
)

func newAccelerated(prob Problem, p, soft float64) *acceleratedState {
	n, d := prob.Dims()
	f := func(k int) []float64 { return make([]float64, k) }
	s := &acceleratedState{prob: prob, p: p, q: mirror.Conjugate(p), n: n, d: d,
		w: f(d), margin: f(n), vb: f(d), vm: f(d), vy: f(d), g: f(d), vm2: f(d), vb2: f(d), scratch: f(d),
		m: f(n), mu: f(n)}
	s.pow = vec.PowerOf((s.q - 2) / 2)
	c := prob.RowNorm(s.q)
	s.lip = c * c / float64(n) // right for orthogonal examples, and soon corrected for others
	if soft > 0 {
		s.caps, s.total, s.order = caps(prob, soft), f(n), make([]int32, n)
	}
	s.lse, _ = s.weigh(s.mu, s.margin, s.caps)
	prob.addAbsorbed(s.vm, s.mu)
	copy(s.vb, s.vm)
	s.cert = Certificate{Lower: math.Inf(-1), Upper: mirror.Norm(s.vb, s.q)}
	s.work.prob = prob
	s.gap = math.Inf(1)
	return s
}

// smooth returns F(v) = ½N² and sets g = ∇F, with N = (Σ (vⱼ²+δ²)^(q/2) − δ^q)^(1/q), which is the norm itself for δ =
// 0. It works with v/max|vⱼ| and does not overflow.
func (s *acceleratedState) smooth(g, v []float64, delta float64) float64 {
	m := mirror.Norm(v, math.Inf(1))
	if m == 0 {
		clear(g)
		return 0
	}
	r := 1 / m
	e := delta * r
	for j, x := range v {
		x *= r
		g[j] = x*x + e*e
	}
	s.pow.Abs(g, g)
	var floor, h float64
	if delta > 0 {
		floor = math.Pow(e, s.q)
	}
	for j, t := range g {
		x := v[j] * r
		if x == 0 { // 0·∞ if q < 2 and δ = 0
			g[j] = 0
			continue
		}
		h += (x*x+e*e)*t - floor
		g[j] = t * v[j]
	}
	vec.Scale(g, math.Pow(h, (2-s.q)/s.q), g)
	n := m * math.Pow(h, 1/s.q)
	return n * n / 2
}

// step makes one iteration.
func (s *acceleratedState) step() {
	for try := 0; ; try++ {
		s.tries++
		a := (1 + math.Sqrt(1+4*s.lip*s.sum)) / (2 * s.lip)
		sum := s.sum + a
		theta := a / sum
		mix(s.vy, theta, s.vb, s.vm)
		gap := min(s.gap, 1)
		var delta float64
		if s.q < 2 {
			delta = s.cert.Upper * math.Pow(smoothing*gap/float64(s.d), 1/s.q)
		}
		fy := s.smooth(s.g, s.vy, delta)
		m := s.m[:s.work.len(s.n)]
		lse := s.sweep(m, a)
		mix(s.vb2, theta, s.vb, s.vm2)
		fb := s.smooth(s.scratch, s.vb2, delta)

		// D_F(b⁺, y) less ε, KL(μ⁺, μ), and the rounding of both, which are differences of large numbers.
		excess := fb - fy - vec.Dot(s.g, s.vb2) + vec.Dot(s.g, s.vy) - inexact*gap*fb*theta/2
		kl := s.lse - lse - a*vec.Dot(s.vm2, s.g)
		rounding := 1e-13 * (math.Abs(s.lse) + sum*fb)
		need := max(excess-rounding/sum, 0) / (theta * theta * max(kl, rounding, 1e-300))
		if sum*excess > kl+s.spare+rounding && try < mostTries {
			s.lip = min(max(need, 1.5*s.lip), 10*s.lip)
			continue
		}
		s.spare = max(s.spare+kl-sum*excess, 0)
		s.lip = min(max(lipDown*s.lip, need), lipUp*s.lip)
		s.sum, s.lse = sum, lse
		vec.Axpy(a, s.g, s.w)
		vec.Axpy(a, m, s.margin[:len(m)])
		s.vm, s.vm2 = s.vm2, s.vm
		s.vb, s.vb2 = s.vb2, s.vb
		s.t++
		break
	}
}

// sweep sets m to the margins of g, μ⁺ to the weights of the examples at W + a·g, and vm2 = Aᵀμ⁺. It returns
// log Σ e^(−A(W+a·g)).
//
// If no weight is bounded, the softmax is e^(r−margin) times a factor. With a guess r at the least margin, one pass
// over the data makes both products, which are divided by the sum afterwards.
func (s *acceleratedState) sweep(m []float64, a float64) float64 {
	mu, margin := s.mu[:len(m)], s.margin[:len(m)]
	y := s.work.labels()
	if s.caps == nil {
		r := -s.lse
		if s.sum > 0 {
			r += a * max(r/s.sum, 0)
		}
		clear(s.vm2)
		s.prob.X.MulAddT(s.vm2, s.work.rows, m, mu, s.g, func(lo, hi int) {
			if y != nil {
				for k := lo; k < hi; k++ {
					m[k] *= y[k]
				}
			}
			for k := lo; k < hi; k++ {
				mu[k] = r - margin[k] - a*m[k]
			}
			vec.Exp(mu[lo:hi], mu[lo:hi])
			if y != nil {
				for k := lo; k < hi; k++ {
					mu[k] *= y[k]
				}
			}
		})
		var sum float64
		for _, v := range mu {
			sum += math.Abs(v)
		}
		if sum > 1e-200 && sum < 1e200 {
			vec.Scale(s.vm2, 1/sum, s.vm2)
			return math.Log(sum) - r
		}
	} else {
		s.work.margins(m, s.g)
	}
	total := mu
	if s.caps != nil {
		total = s.total[:len(mu)]
	}
	vec.Scale(total, a, m)
	vec.Axpy(1, margin, total)
	lse, _ := s.weigh(mu, total, s.work.bounds(s.caps))
	s.work.combine(s.vm2, mu)
	return lse
}

// weigh sets dst to the weights of the examples for their margins m. It returns log Σ e^(−mᵢ), or its counterpart if
// weights are bounded, and the margin above which weights fall off. dst may be m if no weight is bounded.
func (s *acceleratedState) weigh(dst, m, caps []float64) (lse, level float64) {
	if caps != nil {
		return boundedSoftmax(dst, m, caps, s.order)
	}
	level = minOf(m)
	return softmax(dst, m), level
}

// certify updates the certificate and reports whether it holds for all examples. While some are left out, its lower
// bound is that of the examples in use. All are checked every few iterations, and when the gap reaches goal.
func (s *acceleratedState) certify(goal float64) (proved bool) {
	s.cert.Upper = min(s.cert.Upper, mirror.Norm(s.vb, s.q))
	s.bound()
	s.gap = min(s.gap, s.cert.Gap())
	if s.prob.X.NNZ() < workingEntries {
		return true
	}
	if s.t-s.work.since >= workingEvery || s.work.rows != nil && s.cert.Gap() <= goal {
		s.prove()
		return true
	}
	return s.work.rows == nil
}

// prove makes the certificate hold for all examples.
func (s *acceleratedState) prove() {
	s.rechoose()
	s.bound()
}

// bound sets the lower bound to that of the examples in use.
func (s *acceleratedState) bound() {
	s.cert.Lower = math.Inf(-1)
	if norm := mirror.Norm(s.w, s.p); norm > 0 {
		s.cert.Lower = worst(s.margin[:s.work.len(s.n)], s.work.bounds(s.caps), s.order) / norm
	}
}

// toMarginOne scales the classifier to margin 1, or to norm 1 if its margin is not positive. The state is unusable
// after.
func (s *acceleratedState) toMarginOne() {
	norm := mirror.Norm(s.w, s.p)
	if s.cert.Lower > 0 {
		norm *= s.cert.Lower
	}
	if norm > 0 {
		vec.Scale(s.w, 1/norm, s.w)
	}
}

// rechoose computes all margins and chooses the examples to use.
func (s *acceleratedState) rechoose() {
	s.work.since = s.t
	all := s.margin
	if s.work.rows != nil {
		s.prob.Margins(s.m, s.w)
		all = s.m
	}
	before := s.lse
	var level float64
	s.lse, level = s.weigh(s.mu, all, s.caps)
	s.work.choose(all, level, s.caps)
	if s.work.rows == nil {
		copy(s.margin, all)
	}
	for k, i := range s.work.rows {
		s.margin[k] = all[i] // k ≤ i, so all may be margin itself
	}
	if s.lse-before > 1e-6 { // examples that matter were added
		k := s.work.len(s.n)
		s.lse, _ = s.weigh(s.mu[:k], s.margin[:k], s.work.bounds(s.caps))
		s.work.combine(s.vm, s.mu[:k])
	}
}

// point returns the point of the current state.
func (s *acceleratedState) point() Point {
	return Point{Step: s.t, Loss: math.Exp(s.lse) / float64(s.n), Margin: s.cert.Lower, Norm: mirror.Norm(s.w, s.p),
		Gap: s.cert.Gap(), Divergence: math.NaN(), Angle: math.NaN()}
}

// acceleratedEntries are the entries of a checkpoint, which checkpoint fills in and restore reads.
var acceleratedEntries = entries{
	scalars: []string{"sum", "lipschitz", "logsumexp", "spare", "upper", "gap", "tries", "chosen", "all"},
	vectors: []string{"weights", "margins", "mean_b", "mean_mu", "rows"},
}

func (s *acceleratedState) checkpoint() Checkpoint {
	rows := make([]float64, len(s.work.rows))
	for k, i := range s.work.rows {
		rows[k] = float64(i)
	}
	all := 0.0
	if s.work.rows == nil {
		all = 1
	}
	return Checkpoint{
		Method: string(MethodAccelerated),
		Step:   s.t,
		Scalars: map[string]float64{
			"sum":       s.sum,
			"lipschitz": s.lip,
			"logsumexp": s.lse,
			"spare":     s.spare,
			"upper":     s.cert.Upper,
			"gap":       s.gap,
			"tries":     float64(s.tries),
			"chosen":    float64(s.work.since), // the iteration in which rows was chosen
			"all":       all,                   // 1: rows is empty, and all examples are in use
		},
		Vectors: map[string][]float64{
			"weights": slices.Clone(s.w),
			"margins": slices.Clone(s.margin[:s.work.len(s.n)]),
			"mean_b":  slices.Clone(s.vb), // Aᵀb, the mean of the examples with weights b
			"mean_mu": slices.Clone(s.vm), // Aᵀμ
			"rows":    rows,
		},
	}
}

func (s *acceleratedState) restore(c Checkpoint) error {
	if err := c.check(acceleratedEntries); err != nil {
		return err
	}
	x, v := c.Scalars, c.Vectors
	if len(v["weights"]) != s.d || len(v["mean_b"]) != s.d || len(v["mean_mu"]) != s.d {
		return errOtherData
	}
	s.work.rows, s.work.y = nil, nil
	if x["all"] == 0 {
		s.work.rows = []int{}
		for _, r := range v["rows"] {
			i := int(r)
			if !(r >= 0 && i < s.n) {
				return errOtherData
			}
			s.work.rows = append(s.work.rows, i)
		}
		s.work.fill(s.caps)
	}
	if len(v["margins"]) != s.work.len(s.n) {
		return errOtherData
	}
	copy(s.w, v["weights"])
	copy(s.margin, v["margins"])
	copy(s.vb, v["mean_b"])
	copy(s.vm, v["mean_mu"])
	s.t, s.sum, s.lip, s.lse, s.spare = c.Step, x["sum"], x["lipschitz"], x["logsumexp"], x["spare"]
	s.cert.Upper, s.gap = x["upper"], x["gap"]
	s.tries, s.work.since = int(x["tries"]), int(x["chosen"])
	return nil
}

// mix sets dst = (1−θ)x + θy.
func mix(dst []float64, theta float64, x, y []float64) {
	y, dst = y[:len(x)], dst[:len(x)]
	for j, v := range x {
		dst[j] = v + theta*(y[j]-v)
	}
}
