package margin_test

import (
	"context"
	"fmt"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
)

// Three classes: the margin is by how much the right class is ahead of each other one.
func ExampleSolve_severalClasses() {
	x := matrix.FromRows([][]float64{{3, 0}, {2, 1}, {-1, 2}, {-2, 2}, {-1, -2}, {0, -3}})
	prob, pairs := linear.Joint(x, []int{0, 0, 1, 1, 2, 2}, 3)
	s, err := margin.Solve(context.Background(), prob, 2, margin.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("margin %.4f; no other is larger by a billionth: %v\n", s.Lower, s.Gap() < 1e-9)
	for _, row := range s.Support {
		example, other := pairs.Pair(row)
		fmt.Printf("example %d is ahead of class %d by no more\n", example, other)
	}
	for class, w := range pairs.Split(s.W) {
		fmt.Printf("class %d: %.3f\n", class, w)
	}
	// Output:
	// margin 1.6636; no other is larger by a billionth: true
	// example 1 is ahead of class 1 by no more
	// example 2 is ahead of class 0 by no more
	// example 4 is ahead of class 1 by no more
	// class 0: [0.373 0.047]
	// class 1: [-0.227 0.247]
	// class 2: [-0.147 -0.293]
}
