package command

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bregman-ml/bregman/train"
)

// Runs side by side search once for each p; a search that failed is made again by the next.
func TestRunsShareTheSearchForARate(t *testing.T) {
	var r Rates
	var searches [2]atomic.Int32
	var all sync.WaitGroup
	for i := range 16 {
		p := i % 2
		all.Go(func() {
			got, err := r.find(float64(2+p), func() (train.RateSearch, error) {
				if searches[p].Add(1) == 1 {
					return train.RateSearch{}, errors.New("interrupted")
				}
				return train.RateSearch{Rate: float64(10 * (p + 1))}, nil
			})
			if err == nil && got.Rate != float64(10*(p+1)) {
				t.Errorf("p = %d: rate %v", 2+p, got.Rate)
			}
		})
	}
	all.Wait()
	for p := range searches {
		if n := searches[p].Load(); n != 2 {
			t.Errorf("p = %d: %d searches, of which one failed", 2+p, n)
		}
		if got, ok := r.known(float64(2 + p)); !ok || got.Rate != float64(10*(p+1)) {
			t.Errorf("p = %d: known %v, %v", 2+p, got.Rate, ok)
		}
	}
	if _, ok := r.known(7); ok {
		t.Error("p = 7 was never searched for")
	}
}
