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

// RateSearch is how a learning rate was found: by runs shorter than the real one, each a whole schedule, which were
// tested on training images that were held back. No test image has an influence.
//
// There are rounds of longer and longer runs. The first begins at a given rate and looks by factors of ten, up and
// down, the others by half decades around what the one before found. The rate that is best grows with the length of a
// run, as a large one starts slowly: a short run tells the decade, and would choose too small a rate. So a larger rate
// wins if it is worse than the best by no more than chance may make it, one standard error of an accuracy. In the last
// round the top of the parabola through it and its neighbours is taken, no more than half a decade away.
//
// A range test, one run whose rate grows until the loss rises (Smith 2017), is cheaper, and does not tell the rates of
// large p apart: there the first steps throw every weight to (η|g|)^(1/(p−1)), and the loss of what follows is as flat
// over decades of η as that power.
type RateSearch struct {
	P      float64     `json:"p"`
	Rate   float64     `json:"lr"`        // chosen
	Epochs int         `json:"epochs"`    // of the runs that chose it
	Held   int         `json:"held_back"` // training images; 0 in files of older versions, which chose by the loss
	Tried  []TriedRate `json:"tried"`     // by epochs and rate
}

// TriedRate is one short run.
type TriedRate struct {
	Rate     float64 `json:"lr"`
	Epochs   int     `json:"epochs,omitempty"` // 0 in files of older versions: those of the search
	Loss     float64 `json:"loss"`             // of training, in the last epoch; 0 if it diverged
	Accuracy float64 `json:"validation_accuracy,omitempty"`
	Diverged bool    `json:"diverged,omitempty"`
}

// The range of the search.
const (
	lowestRate  = 1e-20 // p = 10 moves weights of 0.03 at |w|^−8 times its rate
	highestRate = 1e4
)

// SearchRate makes short runs with learning rates around first and chooses one. The plans are those of the rounds, each
// no shorter than the one before; they hold images back. It calls show after each run. The state of the session is
// undefined afterwards: call Start next.
func (x *Session) SearchRate(ctx context.Context, plans []Plan, first float64, show func(TriedRate)) (RateSearch,
	error) {
	last := plans[len(plans)-1]
	s := RateSearch{P: last.P, Epochs: last.Epochs, Held: max(x.settings.Validate, last.HoldBack)}
	var rounds []round
	for k, r := range plans {
		again := k > 0 && r.Epochs == plans[k-1].Epochs
		rounds = append(rounds, round{step: 1, moves: mostMoves, again: again, score: func(rate float64) (float64, error) {
			r.LR = rate
			tried, err := x.short(ctx, r)
			if bad := (*Diverged)(nil); errors.As(err, &bad) {
				tried, err = TriedRate{Rate: rate, Epochs: r.Epochs, Diverged: true}, nil
			}
			if err != nil {
				return 0, err
			}
			s.Tried = append(s.Tried, tried)
			show(tried)
			if tried.Diverged {
				return math.NaN(), nil
			}
			return tried.Accuracy, nil
		}})
	}
	rounds[0].step, rounds[0].moves = 2, math.MaxInt
	err := s.search(first, 1/float64(len(x.set.Classes)), rounds)
	slices.SortFunc(s.Tried, func(a, b TriedRate) int { return cmp.Or(a.Epochs-b.Epochs, cmp.Compare(a.Rate, b.Rate)) })
	return s, err
}

// short is one short run.
func (x *Session) short(ctx context.Context, r Plan) (TriedRate, error) {
	out := TriedRate{Rate: r.LR, Epochs: r.Epochs}
	if err := x.Start(r); err != nil {
		return out, err
	}
	for epoch := range r.Epochs {
		e, err := x.Train(ctx, r, epoch, func(int) {})
		if err != nil {
			return out, err
		}
		out.Loss = e.Loss
	}
	v, err := x.Validate(ctx)
	out.Accuracy = v.Accuracy
	return out, err
}

// WeightSize is the root mean square of the weights that a run begins with.
func (x *Session) WeightSize(r Plan) (float64, error) {
	if err := x.Start(r); err != nil {
		return 0, err
	}
	layers, err := x.Weights()
	sum, n := 0.0, 0
	for _, l := range layers {
		for _, w := range l.Values {
			sum += float64(w) * float64(w)
		}
		n += len(l.Values)
	}
	return math.Sqrt(sum / float64(n)), err
}

// mostMoves bounds how far the rounds after the first move.
const mostMoves = 4

// round is runs of one length. Rates are step half decades apart. score is the accuracy of a run, NaN if it diverged.
type round struct {
	step, moves int
	again       bool // runs are as long as in the round before: none is made twice
	score       func(rate float64) (float64, error)
}

// standardError is that of an accuracy on the images that are held back.
func (s *RateSearch) standardError(accuracy float64) float64 {
	return math.Sqrt(accuracy * (1 - accuracy) / float64(s.Held))
}

// search sets the rate. chance is the accuracy of guessing.
func (s *RateSearch) search(first, chance float64, rounds []round) error {
	at := func(k int) float64 { return first * math.Pow(10, float64(k)/2) } // k half decades from first
	best := 0
	var seen map[int]float64
	for n, r := range rounds {
		if !r.again {
			seen = map[int]float64{}
		}
		look := func(k int) error {
			if _, ok := seen[k]; ok || at(k) < lowestRate || at(k) > highestRate {
				return nil
			}
			for j, v := range seen {
				if j < k && math.IsNaN(v) {
					return nil // a larger rate diverges, too
				}
			}
			v, err := r.score(twoDigits(at(k)))
			seen[k] = v
			return err
		}
		if err := look(best); err != nil {
			return err
		}
		enough := func() bool { return n == 0 && s.learns(seen, chance) || n > 0 && !math.IsNaN(seen[best]) }
		for d := r.step; !enough(); d += r.step { // the nearest rate that learns, the smaller one first
			before := len(seen)
			if err := errors.Join(look(best-d), look(best+d)); err != nil {
				return err
			}
			if _, finite := s.most(seen); len(seen) == before || n > 0 && finite {
				break // no rate is left
			}
		}
		top, ok := s.most(seen)
		if !ok {
			return &Diverged{fmt.Errorf("the loss is not a finite number after a few epochs with any learning rate from "+
				"%.1g to %.1g", lowestRate, first)}
		}
		best = s.choice(seen, top)
		for moves := 0; moves <= r.moves; moves++ { // until both neighbours are worse
			before := len(seen)
			if err := errors.Join(look(best+r.step), look(best-r.step)); err != nil {
				return err
			}
			if len(seen) == before {
				break
			}
			top, _ = s.most(seen)
			best = s.choice(seen, top)
		}
	}
	s.Rate = twoDigits(at(best) * math.Pow(10, vertex(seen, best)/2))
	return nil
}

// learns reports whether a rate gives an accuracy that guessing does not explain.
func (s *RateSearch) learns(seen map[int]float64, chance float64) bool {
	top, ok := s.most(seen)
	return ok && seen[top] > chance+3*s.standardError(chance)
}

// most is the rate with the highest accuracy, the largest of several; ok is false if all diverged.
func (s *RateSearch) most(seen map[int]float64) (top int, ok bool) {
	for k, v := range seen {
		if !math.IsNaN(v) && (!ok || v > seen[top] || v == seen[top] && k > top) {
			top, ok = k, true
		}
	}
	return top, ok
}

// choice is the largest rate whose accuracy is within a standard error of the highest.
func (s *RateSearch) choice(seen map[int]float64, top int) int {
	best := top
	for k, v := range seen {
		if k > best && v >= seen[top]-s.standardError(seen[top]) {
			best = k
		}
	}
	return best
}

// vertex is where the parabola through the accuracy at k and at its neighbours is highest, as seen from k, from −1 to
// ½; 0 if one of them is missing or diverged. Below k there may be a better one, see choice.
func vertex(accuracy map[int]float64, k int) float64 {
	a, okA := accuracy[k-1]
	c, okC := accuracy[k+1]
	bend := 2*accuracy[k] - a - c
	if !okA || !okC || !(bend > 0) {
		return 0
	}
	return min(max((c-a)/(2*bend), -1), 0.5)
}

// twoDigits has two digits.
func twoDigits(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 1, 64), 64)
	return v
}
