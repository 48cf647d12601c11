//go:build cgo && linux

package pjrt

import (
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/engine/customop"
)

// program is MLIR as go-xla writes it: a function that stands for a kernel, one that stands for none there is, another
// one, and main.
const program = `module @step {
  func.func @bregman_kernel_moments__2_1_512_64__100_8_1__7(%in0: tensor<1x1x100x8xbf16>, %in1: tensor<8xf32>) -> tensor<2x2x8xf32> {
    %0 = "stablehlo.slice"(%in0) { a = array<i64: 0> } : (tensor<1x1x100x8xbf16>) -> tensor<1x1x1x1xbf16>
    "func.return"(%0) : (tensor<2x2x8xf32>) -> ()
  }
  func.func @bregman_kernel_other__1_1_32_0____9(%in0: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
    "func.return"(%in0, %in0) : (tensor<4xf32>, tensor<f32>) -> ()
  }
  func.func @plain(%x: tensor<f32>) -> tensor<f32> {
    "func.return"(%x) : (tensor<f32>) -> ()
  }
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    "func.return"(%x) : (tensor<f32>) -> ()
  }
}
`

func TestFunctionsThatStandForKernelsCallThem(t *testing.T) {
	got := rewrite(program)
	for _, want := range []string{
		`    %r = "stablehlo.custom_call"(%in0, %in1) {call_target_name = "__gpu$xla.gpu.ptx", api_version = 4 : i32, ` +
			`backend_config = {block_x = 512 : i32, block_y = 1 : i32, block_z = 1 : i32, grid_x = 2 : i32, ` +
			`grid_y = 1 : i32, grid_z = 1 : i32, kernel_data = ".version 7.0\0A.target sm_80\0A`,
		`.u32 dims[16] = {100, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};\0A`,
		`kernel_type = "ptx", name = "moments", shared_mem_bytes = 64 : i32}, operand_layouts = ` +
			`[dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[0]> : tensor<1xindex>], result_layouts = ` +
			`[dense<[2, 1, 0]> : tensor<3xindex>]} : (tensor<1x1x100x8xbf16>, tensor<8xf32>) -> (tensor<2x2x8xf32>)` +
			"\n" + `    "func.return"(%r) : (tensor<2x2x8xf32>) -> ()` + "\n  }\n",
		// The plugin refuses what is not there, by its name.
		`    %r:2 = "stablehlo.custom_call"(%in0) {call_target_name = "bregman_kernel_other__1_1_32_0____9", `,
		`result_layouts = [dense<[0]> : tensor<1xindex>, dense<> : tensor<0xindex>]} : (tensor<f32>) -> ` +
			`(tensor<4xf32>, tensor<f32>)` + "\n" + `    "func.return"(%r#0, %r#1) : (tensor<4xf32>, tensor<f32>) -> ()`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("not in the program: %s", want)
		}
	}
	if strings.Contains(got, "stablehlo.slice") {
		t.Error("the stand-in is still there")
	}
	if rest := program[strings.Index(program, "  func.func @plain"):]; !strings.HasSuffix(got, rest) {
		t.Error("other functions have changed")
	}
}

func TestAProgramWithoutKernelsStaysAsItIs(t *testing.T) {
	plain := program[strings.Index(program, "  func.func @plain"):]
	if got := rewrite(plain); got != plain {
		t.Errorf("it became %s", got)
	}
}

// Each kernel's text is that of one entry, with its whole numbers.
func TestTextsOfKernels(t *testing.T) {
	if len(texts()) < 4 {
		t.Fatalf("%d kernels", len(texts()))
	}
	for name := range texts() {
		text, err := ptx(customop.Call{Kernel: name, Dims: []int{3, 5}})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(text, ".visible .entry") != 1 || !strings.Contains(text, ".visible .entry "+name+"(") ||
			!strings.HasSuffix(text, "\n}\n") {
			t.Errorf("%s: not its entry alone", name)
		}
		if !strings.Contains(text, "\n.visible .const .align 4 .u32 dims[16] = {3, 5, 0,") ||
			strings.Contains(text, "dims[64]") {
			t.Errorf("%s has other whole numbers", name)
		}
		if strings.Contains(text, ".local") {
			t.Errorf("%s keeps arrays in memory of its own", name)
		}
		if len(text) > 100_000 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
}
