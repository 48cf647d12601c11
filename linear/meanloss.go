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
	// mean returns the mean loss. descent, pull and bend are for the scores that mean was last called with: it may keep
	// what it has computed.
	mean(score []float64) float64
	// descent sets v = −∇ and c to what the scores contribute to it, and returns Σ|c|.
	descent(v, c, score []float64) (mass float64)
	// pull is descent for the intercepts alone, without a product with the data.
	pull(v, c, score []float64) (mass float64)
	// bend computes the second derivative at these scores, for apply, squares and newton.
	bend(score []float64)
	// shift sets dst to the scores of a step of the intercepts alone.
	shift(dst, step []float64)
	// apply sets dst = ∇²·x.
	apply(dst, x []float64)
	// squares adds the diagonal of ∇² to dst.
	squares(dst []float64)
	// newton solves ∇²·step = v in the intercepts alone.
	newton(step, v []float64)
	// bent returns the second derivative of the mean loss by each score of the k-th vector, valid until the next call.
	bent(k int) []float64
	// shifts reports whether the loss stays the same when all vectors of scores shift together.
	shifts() bool
	// shape is how the weights lie.
	shape() *layout
	// sizes are the largest ‖xᵢ‖₂, and of a regression |yᵢ|: the scale at which scores are rounded.
	sizes() (row, y float64)
}

// layout is how weight vectors of d columns lie in one vector: the penalised ones of all vectors, then, if the last
// column is free, the intercepts.
type layout struct {
	x       matrix.Matrix
	n, d, k int
	free    bool
	one     float64   // the value of the constant column, if it is free
	own     []float64 // one vector; nil: each lies in one piece
	other   []float64
}

func newLayout(x matrix.Matrix, k int, free bool) layout {
	n, d := x.Dims()
	l := layout{x: x, n: n, d: d, k: k, free: free}
	if free {
		if idx, val := x.Row(0); len(val) > 0 && (idx == nil || int(idx[len(idx)-1]) == d-1) {
			l.one = val[len(val)-1]
		}
	}
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

func (l *layout) shape() *layout { return l }

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

// sums sets v to Σ cᵢ times the constant, for each vector.
func (l *layout) sums(v, c []float64) {
	for k := range v {
		var sum float64
		for _, a := range l.part(c, k) {
			sum += a
		}
		v[k] = sum * l.one
	}
}

// shift sets each vector of scores to a step of its intercept, signs apart.
func (l *layout) shift(dst, step []float64) {
	for k, a := range step {
		part := l.part(dst, k)
		for i := range part {
			part[i] = a * l.one
		}
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
	mass = s.contributions(c, score)
	s.transposed(v, c)
	return mass
}

func (s *separate) pull(v, c, score []float64) (mass float64) {
	mass = s.contributions(c, score)
	s.sums(v, c)
	return mass
}

// contributions sets c to what the scores contribute to −∇, and returns Σ|c|.
func (s *separate) contributions(c, score []float64) (mass float64) {
	s.loss.Weights(c, score)
	s.weighted(c)
	for _, a := range c {
		mass += math.Abs(a)
	}
	s.signed(c)
	return mass
}

func (s *separate) shift(dst, step []float64) {
	s.layout.shift(dst, step)
	s.signed(dst)
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

func (s *separate) bent(k int) []float64 { return s.part(s.curv, k) }

func (s *separate) shifts() bool { return false }

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
		if step[k] = 0; sum > 0 && s.one != 0 {
			step[k] = v[k] / (sum * s.one * s.one)
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
	top    []float64 // scratch of each example
	sum    []float64
}

func newSoftmaxLoss(l layout, class []int, weight []float64) *softmaxLoss {
	f := func(k int) []float64 { return make([]float64, k) }
	s := &softmaxLoss{layout: l, class: class, weight: weight, share: f(l.n), prob: f(l.k * l.n), xd: f(l.k * l.n),
		top: f(l.n), sum: f(l.n)}
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
	clear(s.sum)
	for k := range s.k {
		vec.Axpy(1, s.part(s.prob, k), s.sum)
	}
	var mean float64
	for i, sum := range s.sum {
		mean += s.share[i] * (math.Log(sum) + s.top[i] - score[s.class[i]*s.n+i])
		s.sum[i] = 1 / sum
	}
	for k := range s.k {
		prob := s.part(s.prob, k)
		times(prob, prob, s.sum)
	}
	return mean
}

func (s *softmaxLoss) mean(score []float64) float64 { return s.normalise(score) }

func (s *softmaxLoss) descent(v, c, score []float64) (mass float64) {
	mass = s.contributions(c)
	s.transposed(v, c)
	return mass
}

func (s *softmaxLoss) pull(v, c, score []float64) (mass float64) {
	mass = s.contributions(c)
	s.sums(v, c)
	return mass
}

// contributions sets c to what the scores contribute to −∇, and returns Σ|c|.
func (s *softmaxLoss) contributions(c []float64) (mass float64) {
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
	return mass
}

func (s *softmaxLoss) bend(score []float64) {} // mean has computed the softmax

func (s *softmaxLoss) apply(dst, x []float64) {
	s.product(s.xd, x)
	mean := s.sum
	clear(mean)
	for k := range s.k {
		xd := s.part(s.xd, k)
		for i, p := range s.part(s.prob, k) {
			mean[i] += p * xd[i]
		}
	}
	for k := range s.k {
		xd := s.part(s.xd, k)
		for i, p := range s.part(s.prob, k) {
			xd[i] = s.share[i] * p * (xd[i] - mean[i])
		}
	}
	s.transposed(dst, s.xd)
}

func (s *softmaxLoss) squares(dst []float64) {
	for k := range s.k {
		c := s.bent(k)
		own := s.vector(dst, k)
		matrix.AddSquaresT(own, s.x, c)
		s.put(dst, k)
	}
}

func (s *softmaxLoss) bent(k int) []float64 {
	for i, p := range s.part(s.prob, k) {
		s.top[i] = s.share[i] * p * (1 - p)
	}
	return s.top
}

func (s *softmaxLoss) shifts() bool { return true }

// newton solves a K × K system, which is singular: a shift of all scores changes nothing. The step has mean 0.
func (s *softmaxLoss) newton(step, v []float64) {
	k := s.k
	a := make([]float64, k*k)
	var trace float64
	for j := range k {
		times(s.sum, s.share, s.part(s.prob, j))
		for l := range j {
			a[j*k+l] = -vec.Dot(s.sum, s.part(s.prob, l))
		}
		for i, p := range s.part(s.prob, j) {
			a[j*k+j] += s.sum[i] * (1 - p)
		}
		trace += a[j*k+j]
	}
	for j := range k { // + 11ᵀ·trace/k², and a little for classes whose probabilities vanish
		for l := range j + 1 {
			a[j*k+l] += trace / float64(k*k)
		}
		a[j*k+j] += 1e-14 * trace
	}
	copy(step, v)
	if s.one == 0 {
		clear(step)
		return
	}
	vec.Scale(step, 1/(s.one*s.one), step)
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
