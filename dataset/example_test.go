package dataset_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
)

func ExampleOpen() {
	for _, name := range []string{"r100:7", "fashion-sample:test:4,6"} { // or a file, such as train.csv
		s, err := dataset.Open(context.Background(), name, dataset.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		n, d := s.X.Dims()
		fmt.Println(s.Name, n, d, s.Classes())
	}
	// Output:
	// r100:7 15 100 [1]
	// fashion-sample:test:4,6 220 784 [4 6]
}

func ExampleReadFrom() {
	file := strings.NewReader("height,weight,label\n1.8,75,2\n1.6,60,1\n")
	s, err := dataset.ReadFrom(file, "people.csv", dataset.Options{Bias: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, d := s.X.Dims()
	y, classes, _ := s.Signs()
	fmt.Println(n, d, s.Features)
	fmt.Println(y, classes)
	// Output:
	// 2 3 [height weight bias]
	// [1 -1] [1 2]
}

func ExampleError() {
	_, err := dataset.ReadFrom(strings.NewReader("+1 1:0.5\n-1 0:2\n"), "data.svm", dataset.Options{})
	fmt.Println(err)
	// Output: data.svm:2:4: index 0: indices start at 1: say --zero-based if the file counts columns from 0
}

func ExampleWriteSVM() {
	s, _ := dataset.ReadFrom(strings.NewReader("a,b,y\n0,0.10,1\n2e0,0,-1\n"), "data.csv", dataset.Options{})
	dataset.WriteSVM(os.Stdout, s)
	// Output:
	// 1 2:0.1
	// -1 1:2
}
