package measure

import "math"

// Regression measures predictions of numbers.
type Regression struct {
	N    int     `json:"n"`
	R2   float64 `json:"r2"` // 1 − Σ(y−f)²/Σ(y−ȳ)², ȳ the mean of truth; of equal targets 1 if all are hit, else 0
	RMSE float64 `json:"rmse"`
	MAE  float64 `json:"mae"`
}

// Targets measures predictions of numbers. Without examples all is 0.
func Targets(truth, predicted []float64) Regression {
	n := float64(len(truth))
	if n == 0 {
		return Regression{}
	}
	var mean float64
	for _, y := range truth {
		mean += y / n
	}
	errors, spread := make([]float64, len(truth)), make([]float64, len(truth))
	r := Regression{N: len(truth)}
	flat := true
	for i, y := range truth {
		errors[i], spread[i] = y-predicted[i], y-mean
		r.MAE += math.Abs(errors[i]) / n
		flat = flat && y == truth[0]
	}
	e, s := norm(errors), norm(spread)
	r.RMSE = e / math.Sqrt(n)
	switch {
	case !flat:
		r.R2 = 1 - (e/s)*(e/s)
	case e == 0:
		r.R2 = 1
	}
	return r
}

// norm is the Euclidean norm, without overflow of squares.
func norm(v []float64) float64 {
	var large, sum float64
	for _, x := range v {
		large = max(large, math.Abs(x))
	}
	if large == 0 {
		return 0
	}
	for _, x := range v {
		sum += (x / large) * (x / large)
	}
	return large * math.Sqrt(sum)
}
