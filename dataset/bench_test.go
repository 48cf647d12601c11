package dataset

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// svmText makes rows of k pairs, about three columns apart, with values that print as the format says.
func svmText(size, k int, value func(*rand.Rand) []byte) []byte {
	rng := rand.New(rand.NewPCG(1, 1))
	var b []byte
	for len(b) < size {
		b = append(b, "+1"...)
		col := 0
		for range k {
			col += 1 + rng.IntN(5)
			b = strconv.AppendInt(append(b, ' '), int64(col), 10)
			b = append(append(b, ':'), value(rng)...)
		}
		b = append(b, '\n')
	}
	return b
}

var valueKinds = []struct {
	name  string
	value func(*rand.Rand) []byte
}{
	{"one", func(r *rand.Rand) []byte { return []byte("1") }},
	{"short", func(r *rand.Rand) []byte { return strconv.AppendFloat(nil, float64(r.IntN(100))/100, 'f', 2, 64) }},
	{"ten", func(r *rand.Rand) []byte { return strconv.AppendFloat(nil, r.NormFloat64(), 'g', 10, 64) }},
	{"seventeen", func(r *rand.Rand) []byte { return strconv.AppendFloat(nil, r.NormFloat64(), 'g', 17, 64) }},
}

func BenchmarkReadSVM(b *testing.B) {
	for _, kind := range valueKinds {
		text := svmText(16<<20, 100, kind.value)
		b.Run(kind.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadFrom(bytes.NewReader(text), "bench.svm", Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadCSV(b *testing.B) {
	for _, kind := range valueKinds[1:] {
		rng := rand.New(rand.NewPCG(1, 1))
		text := []byte("a,b,c,d,e,f,g,h,label\n")
		for len(text) < 16<<20 {
			for range 8 {
				text = append(append(text, kind.value(rng)...), ',')
			}
			text = append(text, "1\n"...)
		}
		b.Run(kind.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := ReadFrom(bytes.NewReader(text), "bench.csv", Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadTexts reads a table of which every other column has one of ten texts.
func BenchmarkReadTexts(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	text := []byte("a,b,c,d,e,f,g,h,label\n")
	for len(text) < 16<<20 {
		for j := range 8 {
			if j%2 == 0 {
				text = append(text, "category "...)
				text = strconv.AppendInt(text, int64(rng.IntN(10)), 10)
			} else {
				text = strconv.AppendFloat(text, rng.NormFloat64(), 'g', 10, 64)
			}
			text = append(text, ',')
		}
		text = append(text, []string{"yes\n", "no\n"}[rng.IntN(2)]...)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadFrom(bytes.NewReader(text), "bench.csv", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadParquet(b *testing.B) {
	type row struct{ A, B, C, D, E, F, G, Label float64 }
	rng := rand.New(rand.NewPCG(1, 1))
	rows := make([]row, 100_000)
	for i := range rows {
		v := rng.NormFloat64
		rows[i] = row{v(), v(), v(), v(), v(), v(), float64(i % 10), float64(i % 2)}
	}
	data := written(b, rows)
	b.SetBytes(8 * 8 * int64(len(rows)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadFrom(strings.NewReader(data), "bench.parquet", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadNPY(b *testing.B) {
	const n, d = 20_000, 100
	double, single, bytes8 := make([]float64, n*d), make([]float32, n*d), make([]uint8, n*d)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range double {
		double[i] = rng.NormFloat64()
		single[i], bytes8[i] = float32(double[i]), uint8(i)
	}
	for _, c := range []struct {
		name, descr string
		fortran     bool
		data        any
	}{
		{"f8", "<f8", false, double}, {"f8/big", ">f8", false, double}, {"f8/fortran", "<f8", true, double},
		{"f4", "<f4", false, single}, {"u1", "|u1", false, bytes8},
	} {
		file := []byte(npyFile(c.descr, c.fortran, "(20000, 100)", c.data))
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadFrom(bytes.NewReader(file), "bench.npy", Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseFloat(b *testing.B) {
	for _, text := range []string{"0.25", "-2.343119493", "0.33768939971923828", "1.2345678901234567e-05"} {
		b.Run(text, func(b *testing.B) {
			tok := []byte(text)
			for b.Loop() {
				scanFloat(tok)
			}
		})
		b.Run(text+"/strconv", func(b *testing.B) {
			tok := []byte(text)
			for b.Loop() {
				strconv.ParseFloat(string(tok), 64)
			}
		})
	}
}
