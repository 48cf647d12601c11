package images_test

import (
	"fmt"

	"github.com/bregman-ml/bregman/images"
)

func ExampleLoad() {
	s, err := images.Load("fashion-sample", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Train.Len(), s.Test.Len(), s.Height, s.Width, s.Channels)
	fmt.Println(s.Classes[s.Train.Labels[3]], len(s.Train.Images)/s.Train.Len())
	// Output:
	// 3800 1100 28 28 1
	// dress 784
}
