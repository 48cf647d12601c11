package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// RateSearch is how a learning rate was found: by short runs of the network itself, each a whole schedule in few
// epochs, and the loss each ended with.
//
// It begins at a given rate and goes up and down by factors of ten until the best has a worse one on both sides; then
// by half decades, with longer runs, and takes the lowest point of the parabola through the best and its neighbours,
// over the logarithm of the rate, but after longer runs none below the best. The loss is the mean over the batches of
// the last epoch: of training images, augmented, most of which a short run has seen a few times, so that no test image
// has an influence.
//
// The rate that is best grows with the length of a run, and a large one starts slowly: very short runs tell the decade,
// and longer ones move up from there.
//
// A range test, one run whose rate grows until the loss rises (Smith 2017), is cheaper, and does not tell the rates of
// large p apart: there the first steps throw every weight to (η|g|)^(1/(p−1)), and the loss of what follows is as flat
// over decades of η as that power. One short run of each rate is noisy there, too: for p = 10 two seeds may find rates
// that are decades apart.
type RateSearch struct {
	P      float64     `json:"p"`
	Rate   float64     `json:"lr"`     // chosen
	Epochs int         `json:"epochs"` // of the runs that chose it
	Tried  []TriedRate `json:"tried"`  // by epochs and rate
}

// TriedRate is one short run.
type TriedRate struct {
	Rate     float64 `json:"lr"`
	Epochs   int     `json:"epochs,omitempty"` // 0 in files of older versions: those of the search
	Loss     float64 `json:"loss"`             // 0 if it diverged
	Diverged bool    `json:"diverged,omitempty"`
}

// The range of the search.
const (
	lowestRate  = 1e-7
	highestRate = 1e4
)

// SearchRate runs with learning rates around first and chooses one: with the plan coarse, whose schedule is short, the
// decade, and with fine the rest. It calls show after each run. The state of the session is undefined afterwards: call
// Start next.
func (x *Session) SearchRate(ctx context.Context, coarse, fine Plan, first float64, show func(TriedRate)) (RateSearch,
	error) {
	s := RateSearch{P: fine.P, Epochs: fine.Epochs}
	measure := func(r Plan) func(rate float64) (float64, error) {
		return func(rate float64) (float64, error) {
			r.LR = rate
			loss, err := x.short(ctx, r)
			tried := TriedRate{Rate: rate, Epochs: r.Epochs, Loss: loss}
			if bad := (*Diverged)(nil); errors.As(err, &bad) {
				tried.Loss, tried.Diverged, err = 0, true, nil
				loss = math.Inf(1)
			}
			if err == nil {
				s.Tried = append(s.Tried, tried)
				show(tried)
			}
			return loss, err
		}
	}
	longer := measure(fine)
	if fine.Epochs == coarse.Epochs {
		longer = nil
	}
	err := s.search(first, measure(coarse), longer)
	slices.SortFunc(s.Tried, func(a, b TriedRate) int { return cmp.Or(a.Epochs-b.Epochs, cmp.Compare(a.Rate, b.Rate)) })
	return s, err
}

// short is the loss in the last epoch of a run.
func (x *Session) short(ctx context.Context, r Plan) (float64, error) {
	if err := x.Start(r); err != nil {
		return 0, err
	}
	var loss float64
	for epoch := range r.Epochs {
		e, err := x.Train(ctx, r, epoch, func(int) {})
		if err != nil {
			return 0, err
		}
		loss = e.Loss
	}
	return loss, nil
}

// mostMoves bounds how far the longer runs move: with large p the loss can be as good as flat over decades.
const mostMoves = 4

// search sets the rate from the loss of each, +Inf if it diverged: by decades in short runs, then by half decades in
// longer ones. If longer is nil, the short ones serve for both, and none runs twice.
func (s *RateSearch) search(first float64, short, longer func(rate float64) (float64, error)) error {
	seen := map[int]float64{} // by half decades from first
	at := func(k int) float64 { return first * math.Pow(10, float64(k)/2) }
	loss, best := short, 0
	look := func(k int) error {
		if _, ok := seen[k]; ok || at(k) < lowestRate || at(k) > highestRate {
			return nil
		}
		l, err := loss(twoDigits(at(k)))
		if math.IsNaN(l) {
			l = math.Inf(1)
		}
		seen[k] = l
		return err
	}
	descend := func(step, most int) error { // until both neighbours are worse
		if err := look(best); err != nil {
			return err
		}
		for from, moves := best+1, 0; from != best && (moves <= most || math.IsInf(seen[best], 1)); moves++ {
			from = best
			for _, k := range []int{from - step, from + step} {
				if k > from && math.IsInf(seen[from], 1) {
					continue // nothing larger is finite
				}
				if err := look(k); err != nil {
					return err
				}
				if l, ok := seen[k]; ok && (l < seen[best] || math.IsInf(seen[best], 1)) {
					best = k
				}
			}
		}
		return nil
	}
	if err := descend(2, math.MaxInt); err != nil {
		return err
	}
	most := math.MaxInt
	if longer != nil && !math.IsInf(seen[best], 1) {
		loss, most = longer, mostMoves
		clear(seen)
	}
	if err := descend(1, most); err != nil {
		return err
	}
	if math.IsInf(seen[best], 1) {
		return &Diverged{fmt.Errorf("the loss is not a finite number after a few epochs with any learning rate from %.1g "+
			"to %.1g", lowestRate, first)}
	}
	v := vertex(seen, best)
	if longer != nil {
		v = max(v, 0) // for the run itself, which is longer still, a smaller rate is not better
	}
	s.Rate = twoDigits(at(best) * math.Pow(10, v/2))
	return nil
}

// vertex is where the parabola through the loss at k and at its neighbours is lowest, as seen from k, from −½ to ½; 0
// if one of them is missing or not finite.
func vertex(loss map[int]float64, k int) float64 {
	a, okA := loss[k-1]
	c, okC := loss[k+1]
	bend := a - 2*loss[k] + c
	if !okA || !okC || !(bend > 0) || math.IsInf(bend, 1) {
		return 0
	}
	return min(max((a-c)/(2*bend), -0.5), 0.5)
}

// twoDigits has two digits.
func twoDigits(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 1, 64), 64)
	return v
}
