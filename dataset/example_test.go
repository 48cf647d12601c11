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

func ExampleEncoding() {
	train := strings.NewReader("size,colour,kind\n1,red,apple\n2,,apple\n3,green,pear\n2,yellow,pear\n")
	s, err := dataset.ReadFrom(train, "train.csv", dataset.Options{Missing: dataset.MissingMean})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Features, s.Y, s.Encoding.Classes)
	fmt.Println(strings.Join(s.Notes, "\n"))

	later := strings.NewReader("colour,size\ngreen,2.5\nblue,1\n") // no labels, and another order
	s, err = dataset.ReadFrom(later, "later.csv", dataset.Options{Like: s.Encoding})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, x := s.X.Row(0)
	fmt.Println(x, s.Unlabeled)
	fmt.Println(strings.Join(s.Notes, "\n"))
	// Output:
	// [size colour=green colour=missing colour=red colour=yellow] [0 0 1 1] [apple pear]
	// labels are in column "kind", the last one (--label NAME for another)
	// 1 missing value in text column colour became a category
	// text column colour became 4 features
	// [2.5 1 0 0 0] true
	// 1 value in column colour, such as "blue", not seen in training: the mean of the training data stands for it
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
