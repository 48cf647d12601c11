package linear

import (
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/matrix"
)

// meanLoss is the mean loss of a problem as a function of its weights. It has one vector of scores or several, one
// after the other. The first weights are penalised; the rest, one a vector of scores, are intercepts.
type meanLoss interface {
	dims() (weights, penalised, scores int)
	// product sets dst to the scores of a step of the weights, targets apart.
	product(dst, w []float64)
	// scores sets dst to the scores.
	scores(dst, w []float64)
	// mean returns the mean loss.
	mean(score []float64) float64
	// descent sets v = −∇ and c to what the scores contribute to it, and returns Σ|c|.
	descent(v, c, score []float64) (mass float64)
	// bend computes the second derivative at these scores, for apply, squares and center.
	bend(score []float64)
	// apply sets dst = ∇²·x.
	apply(dst, x []float64)
	// squares adds the diagonal of ∇² to dst.
	squares(dst []float64)
	// newton solves ∇²·step = v in the intercepts alone.
	newton(step, v []float64)
	// sizes are the largest ‖xᵢ‖₂, and of a regression |yᵢ|: the scale at which scores are rounded.
	sizes() (row, y float64)
}

// layout is how weight vectors of d columns lie in one vector: the penalised ones of all vectors, then, if the last
// column is free, the intercepts.
type layout struct {
	x       matrix.Matrix
	n, d, k int
	free    bool
	own     []float64 // one vector; nil: each lies in one piece
	other   []float64
}

func newLayout(x matrix.Matrix, k int, free bool) layout {
	n, d := x.Dims()
	l := layout{x: x, n: n, d: d, k: k, free: free}
	if free && k > 1 {
		l.own, l.other = make([]float64, d), make([]float64, d)
	}
	return l
}

func (l *layout) dims() (weights, penalised, scores int) {
	weights, penalised, scores = l.k*l.d, l.k*l.d, l.k*l.n
	if l.free {
		penalised -= l.k
	}
	return weights, penalised, scores
}

// vector returns the k-th weight vector, in w itself or copied.
func (l *layout) vector(w []float64, k int) []float64 {
	if l.own == nil {
		return w[k*l.d : (k+1)*l.d]
	}
	m := l.d - 1
	copy(l.own, w[k*m:(k+1)*m])
	l.own[m] = w[l.k*m+k]
	return l.own
}

// put is the reverse of vector, if that has copied.
func (l *layout) put(w []float64, k int) {
	if l.own != nil {
		m := l.d - 1
		copy(w[k*m:(k+1)*m], l.own)
		w[l.k*m+k] = l.own[m]
	}
}

// part is what belongs to the k-th vector of scores.
func (l *layout) part(s []float64, k int) []float64 { return s[k*l.n : (k+1)*l.n] }

// transposed sets v = Σ cᵢxᵢ, for each vector.
func (l *layout) transposed(v, c []float64) {
	clear(v)
	for k := range l.k {
		own := l.vector(v, k)
		l.x.AddMulT(own, l.part(c, k))
		l.put(v, k)
	}
}

// separate is a loss of margins or residuals: that of each vector of scores, added.
type separate struct {
	layout
	y      [][]float64 // signs or targets of each vector; nil: labels are absorbed
	loss   curved
	weight []float64 // of the examples; nil: 1
	curv   []float64 // ℓ″/n
	xd, c  []float64
}

func newSeparate(l layout, y [][]float64, loss curved, weight []float64) *separate {
	f := func() []float64 { return make([]float64, l.n) }
	return &separate{layout: l, y: y, loss: loss, weight: weight, curv: make([]float64, l.k*l.n), xd: f(), c: f()}
}

func (s *separate) sizes() (row, y float64) {
	if s.loss.Residual() {
		y = max(maxOf(s.y[0]), -minOf(s.y[0]))
	}
	return Problem{X: s.x}.RowNorm(2), y
}

func (s *separate) product(dst, w []float64) {
	for k := range s.k {
		s.x.Mul(s.part(dst, k), s.vector(w, k))
	}
	s.signed(dst)
}

// signed multiplies c by the labels, if the scores are margins.
func (s *separate) signed(c []float64) {
	if s.loss.Residual() {
		return
	}
	for k := range s.k {
		c := s.part(c, k)
		for i, y := range s.y[k] {
			c[i] *= y
		}
	}
}

func (s *separate) scores(dst, w []float64) {
	s.product(dst, w)
	if s.loss.Residual() {
		vec.Axpy(-1, s.y[0], dst)
	}
}

func (s *separate) mean(score []float64) float64 {
	if s.weight == nil {
		return s.loss.Sum(score) / float64(s.n)
	}
	var sum float64
	for k := range s.k {
		score := s.part(score, k)
		for lo, hi := 0, 0; lo < s.n; lo = hi { // runs of one weight
			for hi = lo + 1; hi < s.n && s.weight[hi] == s.weight[lo]; hi++ {
			}
			sum += s.weight[lo] * s.loss.Sum(score[lo:hi])
		}
	}
	return sum / float64(s.n)
}

// weighted multiplies by the examples' weights, over n.
func (s *separate) weighted(c []float64) {
	vec.Scale(c, 1/float64(s.n), c)
	for k := range s.k {
		c := s.part(c, k)
		for i, a := range s.weight {
			c[i] *= a
		}
	}
}

func (s *separate) descent(v, c, score []float64) (mass float64) {
	s.loss.Weights(c, score)
	s.weighted(c)
	for _, a := range c {
		mass += math.Abs(a)
	}
	s.signed(c)
	s.transposed(v, c)
	return mass
}

func (s *separate) bend(score []float64) {
	s.loss.Curvature(s.curv, score)
	s.weighted(s.curv)
}

func (s *separate) apply(dst, x []float64) {
	clear(dst)
	for k := range s.k {
		from, curv := s.vector(x, k), s.part(s.curv, k)
		if s.own != nil {
			copy(s.other, from)
			from = s.other
		}
		s.x.MulAddT(s.vector(dst, k), nil, s.xd, s.c, from, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				s.c[i] = curv[i] * s.xd[i]
			}
		})
		s.put(dst, k)
	}
}

func (s *separate) squares(dst []float64) {
	for k := range s.k {
		own := s.vector(dst, k)
		matrix.AddSquaresT(own, s.x, s.part(s.curv, k))
		s.put(dst, k)
	}
}

func (s *separate) newton(step, v []float64) {
	for k := range step {
		var sum float64
		for _, c := range s.part(s.curv, k) {
			sum += c
		}
		if step[k] = 0; sum > 0 {
			step[k] = v[k] / sum
		}
	}
}

// softmaxLoss is the cross-entropy of the softmax of the scores, the joint logistic loss of several classes:
// −log(e^{s_y}/Σₖ e^{sₖ}).
type softmaxLoss struct {
	layout
	class  []int     // of the examples
	weight []float64 // nil: 1
	share  []float64 // weight/n
	prob   []float64 // the softmax
	xd     []float64
	top    []float64
}

func newSoftmaxLoss(l layout, class []int, weight []float64) *softmaxLoss {
	f := func(k int) []float64 { return make([]float64, k) }
	s := &softmaxLoss{layout: l, class: class, weight: weight, share: f(l.n), prob: f(l.k * l.n), xd: f(l.k * l.n),
		top: f(l.n)}
	for i := range s.share {
		if s.share[i] = 1 / float64(l.n); weight != nil {
			s.share[i] *= weight[i]
		}
	}
	return s
}

func (s *softmaxLoss) sizes() (row, y float64) { return Problem{X: s.x}.RowNorm(2), 0 }

func (s *softmaxLoss) product(dst, w []float64) {
	for k := range s.k {
		s.x.Mul(s.part(dst, k), s.vector(w, k))
	}
}

func (s *softmaxLoss) scores(dst, w []float64) { s.product(dst, w) }

// normalise sets prob to the softmax and returns the mean loss.
func (s *softmaxLoss) normalise(score []float64) float64 {
	copy(s.top, s.part(score, 0))
	for k := 1; k < s.k; k++ {
		for i, v := range s.part(score, k) {
			s.top[i] = max(s.top[i], v)
		}
	}
	for k := range s.k {
		prob := s.part(s.prob, k)
		for i, v := range s.part(score, k) {
			prob[i] = v - s.top[i]
		}
	}
	vec.Exp(s.prob, s.prob)
	var mean float64
	for i := range s.n {
		var sum float64
		for k := range s.k {
			sum += s.prob[k*s.n+i]
		}
		mean += s.share[i] * (math.Log(sum) + s.top[i] - score[s.class[i]*s.n+i])
		for k := range s.k {
			s.prob[k*s.n+i] /= sum
		}
	}
	return mean
}

func (s *softmaxLoss) mean(score []float64) float64 { return s.normalise(score) }

func (s *softmaxLoss) descent(v, c, score []float64) (mass float64) {
	s.normalise(score)
	for k := range s.k {
		prob, c := s.part(s.prob, k), s.part(c, k)
		for i, p := range prob {
			if s.class[i] == k {
				p--
			}
			c[i] = -p * s.share[i]
			mass += math.Abs(c[i])
		}
	}
	s.transposed(v, c)
	return mass
}

func (s *softmaxLoss) bend(score []float64) { s.normalise(score) }

func (s *softmaxLoss) apply(dst, x []float64) {
	s.product(s.xd, x)
	for i := range s.n {
		var mean float64
		for k := range s.k {
			mean += s.prob[k*s.n+i] * s.xd[k*s.n+i]
		}
		for k := range s.k {
			at := k*s.n + i
			s.xd[at] = s.share[i] * s.prob[at] * (s.xd[at] - mean)
		}
	}
	s.transposed(dst, s.xd)
}

func (s *softmaxLoss) squares(dst []float64) {
	for k := range s.k {
		for i, p := range s.part(s.prob, k) {
			s.top[i] = s.share[i] * p * (1 - p)
		}
		own := s.vector(dst, k)
		matrix.AddSquaresT(own, s.x, s.top)
		s.put(dst, k)
	}
}

// newton solves a K × K system, which is singular: a shift of all scores changes nothing. The step has mean 0.
func (s *softmaxLoss) newton(step, v []float64) {
	k := s.k
	a := make([]float64, k*k)
	var trace float64
	for i := range s.n {
		for j := range k {
			p := s.share[i] * s.prob[j*s.n+i]
			a[j*k+j] += p
			for l := range j + 1 {
				a[j*k+l] -= p * s.prob[l*s.n+i]
			}
		}
	}
	for j := range k {
		trace += a[j*k+j]
	}
	for j := range k { // + 11ᵀ·trace/k², and a little for classes whose probabilities vanish
		for l := range j + 1 {
			a[j*k+l] += trace / float64(k*k)
		}
		a[j*k+j] += 1e-14 * trace
	}
	copy(step, v)
	solveCholesky(a, step)
}

// solveCholesky solves a·x = b for a symmetric positive definite a, of which the lower half is given and replaced. b
// becomes x.
func solveCholesky(a, b []float64) {
	n := len(b)
	for j := range n {
		for i := j; i < n; i++ {
			sum := a[i*n+j]
			for l := range j {
				sum -= a[i*n+l] * a[j*n+l]
			}
			if i == j {
				a[j*n+j] = math.Sqrt(max(sum, math.SmallestNonzeroFloat64))
			} else {
				a[i*n+j] = sum / a[j*n+j]
			}
		}
	}
	for i := range n {
		for l := range i {
			b[i] -= a[i*n+l] * b[l]
		}
		b[i] /= a[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		for l := i + 1; l < n; l++ {
			b[i] -= a[l*n+i] * b[l]
		}
		b[i] /= a[i*n+i]
	}
}
