package trials

import (
	"math"

	"github.com/bregman-ml/bregman/runlog"
)

// SizeRange is the range of log₂ sizes that holds all but the smallest 0.2 % of each histogram.
func SizeRange(all []*runlog.Sizes) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, s := range all {
		rest := float64(s.Total()) / 500
		for k, n := range s.Counts {
			if rest -= float64(n); rest < 0 {
				lo = min(lo, s.From+float64(k)/2)
				break
			}
		}
		hi = max(hi, s.From+float64(len(s.Counts))/2)
	}
	if !(lo < hi) {
		lo, hi = -1, 1
	}
	return lo, hi
}
