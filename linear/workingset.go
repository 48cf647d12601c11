package linear

// workingSet are the examples an accelerated fit computes with. If the data is large, examples whose weight in the
// softmax has become negligible are left out for some iterations. All examples are checked again before a certificate
// is issued. This saves more than half of the work once the margin takes shape, and changes no bound.
type workingSet struct {
	prob  Problem
	rows  []int     // ascending; nil: all
	y     []float64 // their labels
	caps  []float64 // the bounds on their weights
	since int       // the iteration of the last choice
}

const (
	workingEntries = 1 << 18 // with fewer entries it is not worth it
	workingEvery   = 8       // iterations between choices
	workingExcess  = 40      // an example this far behind the closest one has e^(−40) of its weight
	workingShare   = 0.75    // above this share of the examples: use all
)

func (s *workingSet) len(n int) int {
	if s.rows == nil {
		return n
	}
	return len(s.rows)
}

// labels are the labels of the examples in use, nil if they are absorbed.
func (s *workingSet) labels() []float64 {
	if s.rows == nil {
		return s.prob.Y
	}
	return s.y
}

// bounds returns the bounds on the weights of the examples in use, given those of all; nil if there are none.
func (s *workingSet) bounds(all []float64) []float64 {
	if s.rows == nil {
		return all
	}
	return s.caps
}

// margins sets dst to the margins of w on the examples in use.
func (s *workingSet) margins(dst, w []float64) {
	if s.rows == nil {
		s.prob.Margins(dst, w)
		return
	}
	s.prob.X.MulRows(dst, s.rows, w)
	for k, y := range s.y {
		dst[k] *= y
	}
}

// combine sets dst = Σ cᵢyᵢxᵢ over the examples in use, and overwrites c.
func (s *workingSet) combine(dst, c []float64) {
	clear(dst)
	if s.rows == nil {
		s.prob.addAbsorbed(dst, c)
		return
	}
	for k, y := range s.y {
		c[k] *= y
	}
	s.prob.X.AddMulTRows(dst, s.rows, c)
}

// choose chooses the examples whose margins are at most workingExcess above level, given the margins of all.
func (s *workingSet) choose(margin []float64, level float64, caps []float64) {
	count := 0
	for _, m := range margin {
		if m-level <= workingExcess {
			count++
		}
	}
	if float64(count) > workingShare*float64(len(margin)) {
		s.rows, s.y, s.caps = nil, nil, nil
		return
	}
	if cap(s.rows) < count {
		s.rows = make([]int, 0, count+count/16)
	}
	s.rows = s.rows[:0]
	for i, m := range margin {
		if m-level <= workingExcess {
			s.rows = append(s.rows, i)
		}
	}
	s.fill(caps)
}

// fill collects the labels and bounds of the rows.
func (s *workingSet) fill(caps []float64) {
	pick := func(dst, all []float64) []float64 {
		if all == nil {
			return nil
		}
		if dst = dst[:0]; cap(dst) < len(s.rows) {
			dst = make([]float64, 0, cap(s.rows))
		}
		for _, i := range s.rows {
			dst = append(dst, all[i])
		}
		return dst
	}
	s.y, s.caps = pick(s.y, s.prob.Y), pick(s.caps, caps)
}
