package product

// The twins of the assembly.

var tilesGo = []tile{newGoTile(4, 8)}

const largestTile = 8 * 32

// newGoTile returns a tile of any shape: tests want those of the assembly.
func newGoTile(rows, columns int) tile {
	t := tile{rows, columns, 1,
		func(c, a, zero, b []float32, place, from []int32, stride, taps, depth, _, m, n int, add bool) {
			var sums [largestTile]float32
			for t := range taps {
				for i := range m {
					row := zero[:depth]
					if f := from[t*stride+i]; f >= 0 {
						row = a[f:][:depth]
					}
					sum := sums[i*columns:][:columns]
					for k, x := range row {
						for j, y := range b[(t*depth+k)*columns:][:len(sum)] {
							sum[j] += x * y
						}
					}
				}
			}
			for i := range m {
				putGo(c[place[i]:][:n], sums[i*columns:], add)
			}
		},
		func(c, a, b []float32, stride, images, high, wide, image, line, pixel, next, m, n int, add bool) {
			var sums [largestTile]float32
			for p := range images * high * wide {
				at := p/(high*wide)*image + p/wide%high*line + p%wide*pixel
				for i, x := range a[at:][:m] {
					sum := sums[i*columns:][:columns]
					for j, y := range b[p*next:][:len(sum)] {
						sum[j] += x * y
					}
				}
			}
			for i := range m {
				putGo(c[i*stride:][:n], sums[i*columns:], add)
			}
		},
		nil,
	}
	t.groups = func(c, a, zero, b []float32, place, from []int32, stride, taps, depth, m, groups, panel int) {
		for g := range groups {
			t.gather(c[g*columns:], a[g*depth:], zero, b[g*panel:], place, from, stride, taps, depth, 0, m, columns, false)
		}
	}
	return t
}

func putGo(dst, sum []float32, add bool) {
	if !add {
		copy(dst, sum)
		return
	}
	for j := range dst {
		dst[j] += sum[j]
	}
}

func transpose8Go(dst, src []float32, to, from, squares int) {
	for k := range 8 * squares {
		for j := range 8 {
			dst[k*to+j] = src[j*from+k]
		}
	}
}

var depthwiseGo = depthwiseSet{8, depthwiseGoTaps(9), depthwiseGoTaps(4), depthwiseGoTaps(2), depthwiseGoTaps(1),
	depthwiseGradientGo,
	[2]linesKernel{linesGo(1), linesGo(2)}, [2]linesGradientKernel{linesGradientGo(1), linesGradientGo(2)}, linesBackGo}

func rowGo(x, zero []float32, from int32, n int) []float32 {
	if from < 0 {
		return zero[:n]
	}
	return x[from:][:n]
}

func depthwiseGoTaps(taps int) depthwiseKernel {
	return func(y, x, zero, w []float32, place, from, tap []int32, pixels, channels int, add bool) {
		for p := range pixels {
			out := y[place[p]:][:channels]
			if !add {
				clear(out)
			}
			for t := range taps {
				weight := rowGo(w, zero, tap[t], channels)
				for c, v := range rowGo(x, zero, from[taps*p+t], channels) {
					out[c] += v * weight[c]
				}
			}
		}
	}
}

func depthwiseGradientGo(dw, x, zero, dy []float32, place, from []int32, stride, pixels, channels, rows int, add bool) {
	for t := range rows {
		sum := dw[t*stride:][:channels]
		if !add {
			clear(sum)
		}
		for p := range pixels {
			g := dy[place[p]:][:channels]
			for c, v := range rowGo(x, zero, from[gradientTaps*p+t], channels) {
				sum[c] += v * g[c]
			}
		}
	}
}

// eachInLines calls f for the pixels of a line of y and the pixels of x they meet.
func eachInLines(stride, wide int, f func(j, w, tap int)) {
	for j := range wide {
		for k := range 3 {
			if w := j*stride + k - 1; w >= 0 && w < wide*stride {
				f(j, w, k)
			}
		}
	}
}

func linesGo(stride int) linesKernel {
	return func(y, x, zero, w []float32, from []int32, tap, lines, wide, step, channels int) {
		for i := range lines {
			for j := range wide {
				clear(y[(i*wide+j)*step:][:channels])
			}
			for r := range 3 {
				line := zero
				if f := from[3*i+r]; f >= 0 {
					line = x[f:]
				}
				eachInLines(stride, wide, func(j, at, k int) {
					out, weight := y[(i*wide+j)*step:][:channels], w[(3*r+k)*tap:][:channels]
					for c, v := range line[at*step:][:channels] {
						out[c] += v * weight[c]
					}
				})
			}
		}
	}
}

func linesGradientGo(stride int) linesGradientKernel {
	return func(dw, x, zero, dy []float32, from []int32, tap, lines, wide, step, channels int, add bool) {
		for t := range 9 {
			if !add {
				clear(dw[t*tap:][:channels])
			}
		}
		for i := range lines {
			for r := range 3 {
				line := zero
				if f := from[3*i+r]; f >= 0 {
					line = x[f:]
				}
				eachInLines(stride, wide, func(j, at, k int) {
					sum, g := dw[(3*r+k)*tap:][:channels], dy[(i*wide+j)*step:][:channels]
					for c, v := range line[at*step:][:channels] {
						sum[c] += v * g[c]
					}
				})
			}
		}
	}
}

func linesBackGo(dx, dy, zero, w []float32, from, row []int32, lines, line, wide, step, channels int) {
	for i := range lines {
		for j := range 2 * wide {
			out := dx[i*line+j*step:][:channels]
			clear(out)
			for r := range 2 {
				y := zero
				if f := from[2*i+r]; f >= 0 {
					y = dy[f:]
				}
				for k := range 3 {
					p := j + 1 - k // twice the pixel of dy
					if p%2 != 0 || p/2 >= wide {
						continue
					}
					weight := rowGo(w, zero, row[3*r+k], channels)
					for c, v := range y[p/2*step:][:channels] {
						out[c] += v * weight[c]
					}
				}
			}
		}
	}
}
