package linear_test

import (
	"context"
	"fmt"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// Train a classifier by p-GD with p = 3 and certify its margin.
func Example() {
	x := matrix.FromRows([][]float64{{2, 1, 0}, {0, 3, 1}, {-1, -2, 1}, {-3, 0, 2}})
	prob := linear.Problem{X: x, Y: []float64{1, 1, -1, -1}}

	s, err := linear.Descent{Potential: mirror.Power(3), Eta: 0.05, Normalized: true}.Start(prob, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Run(context.Background(), 10_000); err != nil {
		fmt.Println(err)
		return
	}
	c := s.Certify(3)
	fmt.Printf("margin %.3f, at most %.2f %% below the best possible\n", c.Lower, 100*c.Gap())
	// Output: margin 2.367, at most 0.63 % below the best possible
}
