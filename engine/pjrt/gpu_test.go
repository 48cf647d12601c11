//go:build cgo && linux

package pjrt_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	xla "github.com/gomlx/go-xla/pjrt"

	"github.com/bregman-ml/bregman/engine/pjrt"
)

// pluginVariable names a CUDA plugin, for tests that need a GPU:
//
//	BREGMAN_TEST_PLUGIN=…/xla_cuda_plugin.so LD_LIBRARY_PATH=…/nvidia/*/lib go test ./engine/pjrt -run OnAGPU -v
const pluginVariable = "BREGMAN_TEST_PLUGIN"

// countOrTrap adds 1 to 32 numbers. It traps if they are above 3.5.
const countOrTrap = `.version 7.0
.target sm_80
.address_size 64
.visible .entry count(.param .u64 in, .param .u64 out)
{
	.reg .b64 %a, %b, %o;
	.reg .b32 %t;
	.reg .f32 %x;
	.reg .pred %p;
	ld.param.u64 %a, [in];
	ld.param.u64 %b, [out];
	cvta.to.global.u64 %a, %a;
	cvta.to.global.u64 %b, %b;
	mov.u32 %t, %tid.x;
	mul.wide.u32 %o, %t, 4;
	add.u64 %a, %a, %o;
	add.u64 %b, %b, %o;
	ld.global.f32 %x, [%a];
	setp.gt.f32 %p, %x, 0f40600000;
	@%p trap;
	add.f32 %x, %x, 0f3F800000;
	st.global.f32 [%b], %x;
	ret;
}
`

// escaped is a text as a string of MLIR.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < 32 || c > 126 || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%02X`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// A kernel that traps on a GPU, with two executions in flight: the error names the executions it can belong to, what
// they would have computed cannot be read, and everything can be destroyed.
func TestAKernelThatTrapsOnAGPU(t *testing.T) {
	path := os.Getenv(pluginVariable)
	if path == "" {
		t.Skip(pluginVariable + " names no plugin")
	}
	if err := pjrt.Register(path, 2); err != nil {
		t.Fatal(err)
	}
	plugin, err := xla.GetPlugin(path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := plugin.NewClient(nil)
	if err != nil {
		t.Fatal(err)
	}
	i32 := func(key string, n int) string { return fmt.Sprintf("%s = %d : i32", key, n) }
	config := strings.Join([]string{`name = "count"`, `kernel_type = "ptx"`,
		`kernel_data = "` + escaped(countOrTrap) + `"`, i32("grid_x", 1), i32("grid_y", 1), i32("grid_z", 1), i32("block_x", 32),
		i32("block_y", 1), i32("block_z", 1), i32("shared_mem_bytes", 0)}, ", ")
	const layout = "[dense<0> : tensor<1xindex>]"
	text := `module @trap {
  func.func @main(%a: tensor<32xf32>) -> tensor<32xf32> {
    %r = "stablehlo.custom_call"(%a) {call_target_name = "__gpu$xla.gpu.ptx", api_version = 4 : i32, backend_config = {` +
		config + `}, operand_layouts = ` + layout + `, result_layouts = ` + layout + `} : (tensor<32xf32>) -> tensor<32xf32>
    "func.return"(%r) : (tensor<32xf32>) -> ()
  }
}
`
	program, err := client.Compile().WithStableHLO([]byte(text)).Done()
	if err != nil {
		t.Fatal(err)
	}
	x, err := xla.ArrayToBuffer(client, make([]float32, 32), 32)
	if err != nil {
		t.Fatal(err)
	}
	for k := 1; ; k++ { // the fifth traps
		out, err := program.Execute(x).Done()
		if err != nil {
			t.Logf("execution %d: %v", k, err)
			if k < 5 || k > 7 || !strings.Contains(err.Error(), "execution") {
				t.Errorf("execution %d returned: %v", k, err)
			}
			break
		}
		if k > 20 {
			t.Fatal("no error after 20 executions")
		}
		x = out[0]
	}
	if got, _, err := xla.BufferToArray[float32](x); err == nil {
		t.Errorf("the last result can be read: %v", got)
	} else {
		t.Logf("reading: %v", err)
	}
	if err := program.Destroy(); err != nil {
		t.Logf("destroying the program: %v", err)
	}
	if err := client.Destroy(); err != nil {
		t.Logf("destroying the client: %v", err)
	}
}
