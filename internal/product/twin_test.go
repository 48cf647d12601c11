//go:build amd64 && !purego

package product

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The assembly and its twins in Go add the same terms, in orders of their own. Terms are normally distributed here, and
// there are some hundred at most: they agree to 1e-4, far from any error in an index, which is of the size of a term.
const twinTolerance = 1e-4

const guard = 7

func sameAs(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= twinTolerance) {
			t.Fatalf("%s: element %d is %v in assembly, %v in Go", what, i, got[i], want[i])
		}
	}
}

// guarded returns n values between others that a kernel must leave alone.
func guarded(n int) []float32 { return slices.Repeat([]float32{guard}, n) }

// offsets returns n different multiples of size below limit·size in any order, some of them −1.
func offsets(r *rand.Rand, n, limit, size int, holes bool) []int32 {
	out := make([]int32, n)
	for i, v := range r.Perm(limit)[:n] {
		out[i] = int32(v * size)
		if holes && r.IntN(4) == 0 {
			out[i] = -1
		}
	}
	return out
}

func allTiles() []tile {
	var all []tile
	if best >= levelAVX2 {
		all = append(all, tilesAVX2...)
	}
	if best >= levelAVX512 {
		all = append(all, tilesAVX512...)
	}
	return all
}

func TestTilesAgreeWithTheirTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, k := range allTiles() {
		twin := newGoTile(k.rows, k.columns)
		for range 200 {
			rows, columns, depth, taps := 1+r.IntN(k.rows), 1+r.IntN(k.columns), 1+r.IntN(19), 1+r.IntN(9)
			add := r.IntN(2) > 0
			what := fmt.Sprintf("%d×%d: %d rows, %d columns, %d deep, %d taps, add %v", k.rows, k.columns, rows, columns, depth,
				taps, add)
			width := k.columns + 3
			a, b, zero := random(r, 40*depth), random(r, taps*depth*k.columns), make([]float32, depth)
			place := offsets(r, k.rows, k.rows, width, false)
			var from []int32
			for range taps {
				from = append(from, offsets(r, k.rows, 40, depth, true)...)
			}
			got, want := guarded(k.rows*width), guarded(k.rows*width)
			k.gather(got, a, zero, b, place, from, k.rows, taps, depth, depth, rows, columns, add)
			twin.gather(want, a, zero, b, place, from, k.rows, taps, depth, depth, rows, columns, add)
			sameAs(t, "gather "+what, got, want)

			images, high, wide := 1+r.IntN(2), 1+r.IntN(3), 1+r.IntN(9)
			pixel, next := k.rows+r.IntN(4), k.columns+r.IntN(4)
			line := wide*pixel + r.IntN(5)
			image := high*line + r.IntN(5)
			a, b = random(r, images*image+k.rows), random(r, images*high*wide*next)
			got, want = guarded(k.rows*width), guarded(k.rows*width)
			k.outer(got, a, b, width, images, high, wide, image, line, pixel, next, rows, columns, add)
			twin.outer(want, a, b, width, images, high, wide, image, line, pixel, next, rows, columns, add)
			sameAs(t, "outer "+what, got, want)

			if k.groups == nil {
				continue
			}
			groups := 1 + r.IntN(4)
			panel := taps*depth*k.columns + 8*r.IntN(3)
			a, b, zero = random(r, 40*depth+groups*depth), random(r, groups*panel), make([]float32, groups*depth)
			width = groups*k.columns + 3
			place = offsets(r, k.rows, k.rows, width, false)
			got, want = guarded(k.rows*width), guarded(k.rows*width)
			k.groups(got, a, zero, b, place, from, k.rows, taps, depth, rows, groups, panel)
			twin.groups(want, a, zero, b, place, from, k.rows, taps, depth, rows, groups, panel)
			sameAs(t, "groups "+what, got, want)
		}
	}
}

// eachLevel calls f with each set of kernels in assembly.
func eachLevel(f func()) {
	was := level
	for level = levelAVX2; level <= best; level++ {
		f()
	}
	level = was
}

func TestDepthwiseKernelsAgreeWithTheirTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	eachLevel(func() {
		set := depthwiseKernels()
		for range 100 {
			channels, pixels, add := min(set.lanes, 1+r.IntN(set.lanes+4)), 1+r.IntN(9), r.IntN(2) > 0
			x, w, zero := random(r, 40*channels), random(r, 9*channels), make([]float32, 40*channels)
			place := offsets(r, pixels, 12, channels, false)
			from := make([]int32, 0, 9*pixels)
			for range pixels {
				from = append(from, offsets(r, 9, 40, channels, true)...)
			}
			tap := offsets(r, 9, 9, channels, true)
			for i, k := range []depthwiseKernel{set.nine, set.four, set.two, set.one} {
				got, want := guarded(12*channels), guarded(12*channels)
				k(got, x, zero, w, place, from, tap, pixels, channels, add)
				depthwiseGoTaps([]int{9, 4, 2, 1}[i])(want, x, zero, w, place, from, tap, pixels, channels, add)
				sameAs(t, "depthwise", got, want)
			}
			dy := random(r, 12*channels)
			got, want := guarded(9*channels), guarded(9*channels)
			rows := 1 + r.IntN(9)
			set.gradient(got, x, zero, dy, place, from, channels, pixels, channels, rows, add)
			depthwiseGradientGo(want, x, zero, dy, place, from, channels, pixels, channels, rows, add)
			sameAs(t, "gradient", got, want)

			for i := range 2 {
				lines, wide := 1+r.IntN(4), 1+r.IntN(7)
				length := wide * (i + 1) * channels
				x, dy, zero := random(r, 5*length), random(r, lines*wide*channels), make([]float32, length)
				from := append(offsets(r, 3, 5, length, true), offsets(r, 3, 5, length, true)...)
				from = append(append(from, offsets(r, 3, 5, length, true)...), offsets(r, 3, 5, length, true)...)
				got, want := guarded(lines*wide*channels), guarded(lines*wide*channels)
				set.lines[i](got, x, zero, w, from, channels, lines, wide, channels, channels)
				linesGo(i+1)(want, x, zero, w, from, channels, lines, wide, channels, channels)
				sameAs(t, "lines", got, want)
				got, want = guarded(9*channels), guarded(9*channels)
				set.linesGradient[i](got, x, zero, dy, from, channels, lines, wide, channels, channels, add)
				linesGradientGo(i+1)(want, x, zero, dy, from, channels, lines, wide, channels, channels, add)
				sameAs(t, "gradient by lines", got, want)
			}
			lines, wide := 1+r.IntN(2), 1+r.IntN(5)
			length := wide * channels
			y, rows3 := random(r, 4*length), offsets(r, 6, 9, channels, true)
			from = append(offsets(r, 2, 4, length, true), offsets(r, 2, 4, length, true)...)
			got, want = guarded(lines*(2*length+5)), guarded(lines*(2*length+5))
			set.linesBack(got, y, zero, w, from, rows3, lines, 2*length+5, wide, channels, channels)
			linesBackGo(want, y, zero, w, from, rows3, lines, 2*length+5, wide, channels, channels)
			sameAs(t, "back by lines", got, want)
		}
	})
}

func TestTransformsAgreeWithTheirTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	eachLevel(func() {
		for _, m := range []int{2, 4} {
			set, twin := winogradKernels(m), winogradGo[m]
			side := m + 2
			buffer := make([]float32, bufferSize)
			for range 50 {
				channels := 1 + r.IntN(60)
				group, skip := set.lanes*(1+r.IntN(3)), r.IntN(3)*16
				distance := plane(channels + channels/group*skip)
				x, zero := random(r, 40*channels), make([]float32, channels)
				from := offsets(r, side*side, 40, channels, true)
				got, want := guarded(side*side*distance), guarded(side*side*distance)
				set.input(got, x, zero, buffer, from, distance, channels, group, skip, channels)
				twin.input(want, x, zero, buffer, from, distance, channels, group, skip, channels)
				sameAs(t, "input", got, want)

				from = offsets(r, m*m, 40, channels, true)
				got, want = guarded(side*side*distance), guarded(side*side*distance)
				set.outputGradient(got, x, zero, buffer, from, distance, channels, group, skip, channels)
				twin.outputGradient(want, x, zero, buffer, from, distance, channels, group, skip, channels)
				sameAs(t, "output gradient", got, want)

				distance = plane(channels)
				src, place := random(r, side*side*distance), offsets(r, m*m, 40, channels, true)
				got, want = guarded(40*channels), guarded(40*channels)
				twin.output(want, zero, src, place, distance, channels, channels)
				spoiled := slices.Clone(src)
				set.output(got, make([]float32, channels), spoiled, place, distance, channels, channels)
				sameAs(t, "output", got, want)

				got, want = guarded(9*distance), guarded(9*distance)
				twin.kernelGradient(want, src, distance, distance, channels)
				set.kernelGradient(got, slices.Clone(src), distance, distance, channels)
				sameAs(t, "kernel gradient", got, want)

				got, want = guarded(side*side*distance), guarded(side*side*distance)
				twin.kernel(want, src, distance, distance, channels)
				set.kernel(got, src, distance, distance, channels)
				sameAs(t, "kernel", got, want)
			}
		}
	})
}

func TestAVX2KernelsDoWithoutAVX512(t *testing.T) {
	source, err := os.ReadFile("product_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	wide := regexp.MustCompile(`\b(Z\d+|K[0-7]|Y(1[6-9]|2\d|3[01]))\b|\.BCST`)
	kernels := 0
	for _, text := range strings.Split(string(source), "\nTEXT ")[1:] {
		name, _, _ := strings.Cut(text, "(")
		if !strings.HasSuffix(name, "AVX2") {
			continue
		}
		kernels++
		if m := wide.FindString(text); m != "" {
			t.Errorf("%s uses %s", name, m)
		}
	}
	if kernels < 10 {
		t.Errorf("saw %d kernels: the test is not looking at them", kernels)
	}
}

func TestCopiesAgreeWithPlainOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	eachLevel(func() {
		for _, columns := range []int{7, 8, 16, 24, 32} {
			for rows := 1; rows < 5; rows++ {
				src := random(r, rows*40)
				got, want := guarded(rows*35), guarded(rows*35)
				for k := range rows {
					copy(want[k*35:][:columns], src[k*40:])
				}
				if copyRows(got, src, 35, 40, rows, columns) {
					sameAs(t, "copy", got, want)
				} else if columns%8 == 0 {
					t.Errorf("no kernel for %d columns", columns)
				}
			}
		}
	})
}

func TestTransposeAgreesWithItsTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	if best < levelAVX2 {
		t.Skip("no assembly here")
	}
	for squares := 1; squares < 4; squares++ {
		src := random(r, 8*40)
		got, want := guarded(32*8*squares), guarded(32*8*squares)
		transpose8AVX2(got, src, 32, 40, squares)
		transpose8Go(want, src, 32, 40, squares)
		sameAs(t, "transpose", got, want)
	}
}
