package command

import (
	"sync"

	"github.com/bregman-ml/bregman/train"
)

// Rates are the learning rates that were found, by p. Runs side by side share them: the first of a p searches, the
// others wait for it. The zero value is ready.
type Rates struct {
	mu  sync.Mutex
	byP map[float64]*rate
}

// rate is that of a p. The lock is held while it is searched for.
type rate struct {
	mu    sync.Mutex
	found *train.RateSearch
}

func (r *Rates) of(p float64) *rate {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byP == nil {
		r.byP = map[float64]*rate{}
	}
	if r.byP[p] == nil {
		r.byP[p] = new(rate)
	}
	return r.byP[p]
}

// find returns the rate of p, by a search if it is not known. After a search that failed the next one searches again.
func (r *Rates) find(p float64, search func() (train.RateSearch, error)) (train.RateSearch, error) {
	one := r.of(p)
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.found == nil {
		t, err := search()
		if err != nil {
			return t, err
		}
		one.found = &t
	}
	return *one.found, nil
}

// known returns the rate of p if it was found.
func (r *Rates) known(p float64) (train.RateSearch, bool) {
	one := r.of(p)
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.found == nil {
		return train.RateSearch{}, false
	}
	return *one.found, true
}
