package pjrt

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/bregman-ml/bregman/engine/customop"
)

// The kernels, as kernels/build.sh makes them. A GPU's driver compiles the text for its chip.
//
//go:embed kernels/*.ptx
var files embed.FS

// texts are the files that have each entry.
var texts = sync.OnceValue(func() map[string]string {
	of := map[string]string{}
	list, _ := files.ReadDir("kernels") // embedded files can be read
	for _, f := range list {
		text, _ := files.ReadFile("kernels/" + f.Name())
		for _, m := range entryStart.FindAllStringSubmatch(string(text), -1) {
			of[m[1]] = string(text)
		}
	}
	return of
})

var (
	entryStart = regexp.MustCompile(`(?m)^\.visible \.entry ([a-z0-9_]+)\(`)
	dimsLine   = regexp.MustCompile(`(?m)^\.visible \.const \.align 4 \.b8 dims\[64\];`)
)

// ptx is the text of a kernel with its whole numbers: of its file, the entry and what is outside of all entries.
func ptx(c customop.Call) (string, error) {
	text, ok := texts()[c.Kernel]
	if !ok {
		return "", fmt.Errorf("this program has no kernel %s", c.Kernel)
	}
	var b strings.Builder
	for {
		m := entryStart.FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		b.WriteString(text[:m[0]])
		end := strings.Index(text[m[0]:], "\n}\n") + m[0] + len("\n}\n")
		if text[m[2]:m[3]] == c.Kernel {
			b.WriteString(text[m[0]:end])
		}
		text = text[end:]
	}
	b.WriteString(text)
	var dims [customop.MaxDims]int
	copy(dims[:], c.Dims)
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(dims), " ", ", "), "[]")
	return dimsLine.ReplaceAllString(b.String(), ".visible .const .align 4 .u32 dims[16] = {"+numbers+"};"), nil
}

// ptxTarget is what XLA's compiler for GPUs calls a kernel given as PTX.
const ptxTarget = "__gpu$xla.gpu.ptx"

var (
	function   = regexp.MustCompile(`(?m)^  func\.func @(\w+)\(([^\n]*)\) -> ([^\n]*) \{\n`)
	tensorType = regexp.MustCompile(`tensor<[^>]*>`)
	argument   = regexp.MustCompile(`%\w+`)
)

// rewrite replaces the bodies of functions that stand for kernels by calls of the kernels. program is MLIR as go-xla
// writes it. A kernel that there is not is called all the same: the plugin refuses it by its name.
func rewrite(program string) string {
	var b strings.Builder
	for {
		m := function.FindStringSubmatchIndex(program)
		if m == nil {
			break
		}
		b.WriteString(program[:m[1]])
		signature, name := program[m[4]:m[5]], program[m[2]:m[3]]
		out := tensorType.FindAllString(program[m[6]:m[7]], -1)
		program = program[m[1]:]
		c, ok := customop.Parse(name)
		end := strings.Index(program, "\n  }")
		if !ok || end < 0 {
			continue
		}
		target, config := ptxTarget, ""
		if text, err := ptx(c); err == nil {
			config = kernelConfig(c, text)
		} else {
			target = name
		}
		in := tensorType.FindAllString(signature, -1)
		result, results := "%r", []string{"%r"}
		if len(out) > 1 {
			result, results = fmt.Sprintf("%%r:%d", len(out)), nil
			for i := range out {
				results = append(results, fmt.Sprintf("%%r#%d", i))
			}
		}
		fmt.Fprintf(&b, `    %s = "stablehlo.custom_call"(%s) {call_target_name = %q, api_version = 4 : i32, `+
			"backend_config = {%s}, operand_layouts = %s, result_layouts = %s} : (%s) -> (%s)\n",
			result, strings.Join(argument.FindAllString(signature, -1), ", "), target, config, layouts(in), layouts(out),
			strings.Join(in, ", "), strings.Join(out, ", "))
		fmt.Fprintf(&b, `    "func.return"(%s) : (%s) -> ()`, strings.Join(results, ", "), strings.Join(out, ", "))
		program = program[end:]
	}
	b.WriteString(program)
	return b.String()
}

// kernelConfig is how XLA is told of a kernel.
func kernelConfig(c customop.Call, text string) string {
	return fmt.Sprintf("block_x = %d : i32, block_y = 1 : i32, block_z = 1 : i32, grid_x = %d : i32, grid_y = %d : i32, "+
		`grid_z = 1 : i32, kernel_data = %s, kernel_type = "ptx", name = %q, shared_mem_bytes = %d : i32`,
		c.Block, c.GridX, c.GridY, mlirString(text), c.Kernel, c.Shared)
}

// layouts are the orders of axes of tensors, the last axis the fastest: XLA would choose its own.
func layouts(types []string) string {
	var out []string
	for _, t := range types {
		rank := strings.Count(t, "x")
		if rank == 0 {
			out = append(out, "dense<> : tensor<0xindex>")
			continue
		}
		var axes []string
		for i := rank - 1; i >= 0; i-- {
			axes = append(axes, fmt.Sprint(i))
		}
		list := "[" + strings.Join(axes, ", ") + "]"
		out = append(out, fmt.Sprintf("dense<%s> : tensor<%dxindex>", list, rank))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// mlirString is a text as a string of MLIR.
func mlirString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		if c < 32 || c > 126 || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%02X`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
