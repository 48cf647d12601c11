package margin

import (
	"cmp"
	"slices"

	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// largeSize is the order of the normal equations, the lesser of n and d, from which the rows are taken in portions.
const largeSize = 1500

// large says whether factoring the equations of all rows takes too long.
func (s *solver) large() bool { return !s.nested && min(s.n, s.d) > largeSize }

// workingSet solves the problem on some of its rows, adds those that the solution violates most, and repeats until the
// certificate for all rows is good enough. Few rows touch the margin, and the others only cost time and, where they
// nearly coincide, accuracy. The dual weights of a part, with zeros for the rest, bound the margin of all rows; a part
// that cannot be separated refutes the whole. Rows are only ever added, so that it ends.
func (s *solver) workingSet(part []int) *NotSeparableError {
	in := make([]bool, s.n)
	for _, i := range part {
		in[i] = true
	}
	gap, idle := 1e-2, 0
	for s.ctx.Err() == nil && s.n0 < s.most {
		gap = max(s.gap/2, min(gap, 0.01*s.best.gap()))
		sub := newSolver(s.ctx, s.prob, s.rows.only(part), s.p, Settings{Gap: gap, MaxIterations: s.most - s.n0})
		sub.nested = true
		_, proof := sub.run()
		s.n0 += sub.n0
		if proof != nil {
			return proof
		}
		if sub.best.w == nil || sub.best.a == nil {
			return nil
		}
		before := s.best.gap()
		s.adopt(sub, part)
		if !(sub.best.lower > 0) {
			return nil
		}
		if s.tell != nil {
			s.report()
		}
		added := s.violated(in, sub.best.lower*mirror.Norm(sub.best.w, s.p), max(100, len(part)/4))
		if s.reached() || len(added) == 0 && (gap <= s.gap/2 || !sub.reached()) {
			return nil
		}
		if !sub.reached() && s.best.gap() > 0.9*before {
			if idle++; idle == 2 { // rounding allows no more
				return nil
			}
		}
		part = append(part, added...)
		slices.Sort(part)
	}
	return nil
}

// adopt certifies the solution of a part of the rows for all of them. It leaves the margins in s.m.
func (s *solver) adopt(sub *solver, part []int) {
	s.mul(s.m, sub.best.w)
	if lower := s.least(s.m) / mirror.Norm(sub.best.w, s.p); lower > s.best.lower || s.best.w == nil {
		s.best.lower = lower
		s.best.w = append(s.best.w[:0], sub.best.w...)
	}
	if sub.best.upper < s.best.upper || s.best.a == nil {
		s.best.upper = sub.best.upper
		s.best.a = append(s.best.a[:0], make([]float64, s.n)...)
		s.best.fine = nil
		if sub.best.fine != nil {
			s.best.fine = make([]float64, s.n)
		}
		for k, i := range part {
			s.best.a[i] = sub.best.a[k]
			if sub.best.fine != nil {
				s.best.fine[i] = sub.best.fine[k]
			}
		}
	}
}

// violated returns the rows outside with the least mᵢ/bᵢ below γ, at most the given number, and marks them.
func (s *solver) violated(in []bool, gamma float64, most int) []int {
	var out []int
	for i, m := range s.m {
		if !in[i] && m/s.b[i] < gamma {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(i, j int) int {
		return cmp.Or(cmp.Compare(s.m[i]/s.b[i], s.m[j]/s.b[j]), cmp.Compare(i, j))
	})
	out = out[:min(len(out), most)]
	for _, i := range out {
		in[i] = true
	}
	return out
}

// spread returns k rows, evenly chosen.
func (s *solver) spread(k int) []int {
	k = min(k, s.n)
	out := make([]int, k)
	for i := range out {
		out[i] = i * s.n / k
	}
	return out
}

// near returns the rows that the best w puts within a share of the margin, or that have weight in the best bound;
// at most the given number, the closest first.
func (s *solver) near(share float64, most int) []int {
	s.mul(s.m, s.best.w)
	in := make([]bool, s.n)
	out := s.violated(in, s.least(s.m)*(1+share), most)
	total := 0.0
	for i, a := range s.best.a {
		total += a * s.b[i]
	}
	for i, a := range s.best.a {
		if !in[i] && a*s.b[i] > 1e-6*total && len(out) < most {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out
}

// only returns the problem of some rows.
func (r *rows) only(part []int) *rows {
	out := &rows{n: len(part), d: r.d, full: r.full, whole: r.whole, cols: r.cols, unit: r.unit}
	if r.even != nil {
		out.even = r.even.only(part)
	}
	if r.pairs != nil {
		out.pairs = matrix.Select(r.pairs, part).(*matrix.Pairs)
	}
	var sparse matrix.Builder
	for _, i := range part {
		out.length = append(out.length, r.length[i])
		out.b = append(out.b, r.b[i])
		out.index = append(out.index, r.at(i))
		if r.pairs != nil {
			continue
		}
		idx, val := r.a.Row(i)
		if r.dense != nil {
			out.dense = append(out.dense, val...)
		} else {
			for k, v := range val {
				sparse.Add(idx[k], v)
			}
			sparse.EndRow()
		}
	}
	switch {
	case r.pairs != nil:
		out.a = out.pairs
	case r.dense != nil:
		out.a = matrix.NewDense(r.d, out.dense)
	default:
		out.a = sparse.Build(r.d)
	}
	return out
}
