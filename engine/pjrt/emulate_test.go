//go:build cgo && linux

package pjrt_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bregman-ml/bregman/engine/customop"
)

// emulators are the programs that run the kernels of a file on the CPU (kernels/emulate.h), by file.
var emulators sync.Map

// emulate runs a kernel on the CPU and returns its outputs, of so many bytes each.
func emulate(t *testing.T, file string, c customop.Call, inputs [][]byte, outputs ...int) [][]byte {
	t.Helper()
	compiler, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("no C++ compiler")
	}
	for _, f := range []string{file, "cuda.h", "emulate.h"} { // a result that go test remembers is of these files
		if _, err := os.ReadFile(filepath.Join("kernels", f)); err != nil {
			t.Fatal(err)
		}
	}
	build, _ := emulators.LoadOrStore(file, sync.OnceValues(func() (string, error) {
		program := filepath.Join(shared.dir, file+".emulated")
		out, err := exec.Command(compiler, "-x", "c++", "-std=c++17", "-O2", "-DEMULATED", "-rdynamic",
			filepath.Join("kernels", file), "-o", program, "-ldl").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w\n%s", err, out)
		}
		return program, nil
	}))
	program, err := build.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var dims []string
	for _, d := range c.Dims {
		dims = append(dims, strconv.Itoa(d))
	}
	args := []string{c.Kernel, strconv.Itoa(c.GridX), strconv.Itoa(c.GridY), strconv.Itoa(c.Block),
		strconv.Itoa(c.Shared), strings.Join(dims, ",")}
	for i, in := range inputs {
		path := filepath.Join(dir, fmt.Sprintf("in%d", i))
		if err := os.WriteFile(path, in, 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	args = append(args, "--")
	for i, n := range outputs {
		args = append(args, fmt.Sprintf("%s:%d", filepath.Join(dir, fmt.Sprintf("out%d", i)), n))
	}
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", c.Kernel, c, err, out)
	}
	var results [][]byte
	for i := range outputs {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, b)
	}
	return results
}

// toBF16 rounds to the nearest, of two to the even one.
func toBF16(f float64) uint16 {
	u := math.Float32bits(float32(f))
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

func fromBF16(u uint16) float64 { return float64(math.Float32frombits(uint32(u) << 16)) }

// bf16s are numbers as bf16; float32s as float32.
func bf16s(x []float64) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint16(b, toBF16(v))
	}
	return b
}

func float32s(x []float64) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return b
}

func readBF16(b []byte) []float64 {
	x := make([]float64, len(b)/2)
	for i := range x {
		x[i] = fromBF16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return x
}

func readFloat32(b []byte) []float64 {
	x := make([]float64, len(b)/4)
	for i := range x {
		x[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return x
}

// normal draws n numbers that bf16 can hold.
func normal(rng *rand.Rand, n int, mean, deviation float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = fromBF16(toBF16(mean + deviation*rng.NormFloat64()))
	}
	return x
}

// near fails if got is further from want than this share of the largest want, or not a number.
func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= tolerance*largest) {
			t.Fatalf("%s: element %d is %v, want %v (largest %v)", what, i, got[i], w, largest)
		}
	}
}
