package dataset

import (
	"bytes"
	"math/rand/v2"
	"strconv"
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
