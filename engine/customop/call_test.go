package customop

import (
	"reflect"
	"testing"
)

func TestCallsAreTheirSymbols(t *testing.T) {
	for _, c := range []Call{
		{Kernel: "moments", GridX: 264, GridY: 1, Block: 512, Shared: 16384, Dims: []int{1 << 20, 64, 8}},
		{Kernel: "depthwise_forward_relu6_2", GridX: 1, GridY: 3, Block: 32, Dims: []int{0, 2139095039}},
		{Kernel: "pool2_gradient", GridX: 7, GridY: 1, Block: 256},
	} {
		if got, ok := Parse(c.symbol(12)); !ok || !reflect.DeepEqual(got, c) {
			t.Errorf("%s: %+v, %v, want %+v", c.symbol(12), got, ok, c)
		}
	}
	for _, name := range []string{"main", "bregman_kernel_", "bregman_kernel_x__1_1_1__3__4",
		"bregman_kernel_x__1_1_1_0__",
		"bregman_kernel_X__1_1_1_0____1", "bregman_kernel_x__99999999999_1_1_0____1",
		"bregman_kernel_x__1_1_1_0__1_2_3_4_5_6_7_8_9_10_11_12_13_14_15_16_17__1"} {
		if c, ok := Parse(name); ok {
			t.Errorf("%s is %+v", name, c)
		}
	}
}
