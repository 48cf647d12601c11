package dataset

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// asStrconv reads a token as scanFloat promises to: decimals only, and finite.
func asStrconv(s string) (float64, bool) {
	if strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

func sameAsStrconv(t *testing.T, s string) {
	t.Helper()
	want, ok := asStrconv(s)
	got, n, gotOK := scanFloat([]byte(s))
	gotOK = gotOK && n == len(s)
	if gotOK != ok || ok && !sameBits(got, want) {
		t.Errorf("%q: %v %v, strconv has %v %v", s, got, gotOK, want, ok)
	}
}

func TestNumbersHaveTheBitsOfStrconv(t *testing.T) {
	for _, s := range []string{
		"0", "-0", "+0", "1", "-1", "0.1", ".5", "5.", "1e5", "1E+5", "1e-5", "00012.50", "1e22", "1e23", "123456789e-22",
		"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740993.0000000000000000000001",
		"-9007199254740995",
		"18446744073709551615", "18446744073709551616", "9999999999999999999", "99999999999999999999", "1e64", "1e65",
		"1e-64", "1e-65",
		"1.7976931348623157e308", "1.7976931348623159e308", "1e309", "-1e999", "5e-324", "2e-324", "1e-400",
		"2.2250738585072011e-308",
		"0e999999999999999999", "1e999999999999999999", "1e-999999999999999999",
		"0.000000000000000000000000012345678901234567",
		strings.Repeat("0", 50) + "1", "0." + strings.Repeat("0", 400) + "1e400", "1" + strings.Repeat("0", 400) + "e-400",
		strings.Repeat("9", 800),
		"", "+", "-", ".", "-.", "e5", "1e", "1e+", "1e-x", "--1", "1.2.3", "0x10", "1_0", "nan", "inf", "Infinity", "1 ",
		" 1", "1f",
		"12345678", "1234567/", "1234567:", "123456.8", "12345678901234567890123",
	} {
		sameAsStrconv(t, s)
	}
}

func TestRandomNumbersHaveTheBitsOfStrconv(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 300_000 {
		v := math.Float64frombits(rng.Uint64()) // all exponents alike
		if rng.IntN(2) == 0 {
			v = rng.NormFloat64() * 100 // and those of data
		}
		format := "gef"[rng.IntN(3)]
		if math.Abs(v) > 1e30 || math.Abs(v) < 1e-30 {
			format = 'g'
		}
		sameAsStrconv(t, strconv.FormatFloat(v, format, rng.IntN(20)-1, 64))
		sameAsStrconv(t, strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10)+"e"+strconv.Itoa(rng.IntN(150)-75))
	}
}

// Halfway between two floats is where an approximate product cannot decide.
func TestMidpointsRoundAsStrconvDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 100_000 {
		m := 1<<53 + rng.Uint64N(1<<53)
		mid := (2*m + 1) << rng.IntN(9)
		sameAsStrconv(t, strconv.FormatUint(mid, 10))
		sameAsStrconv(t, strconv.FormatUint(mid+1, 10))
		sameAsStrconv(t, strconv.FormatUint(mid-1, 10))
		v := float64(m) / float64(uint64(1)<<(40+rng.IntN(20)))
		sameAsStrconv(t, strconv.FormatFloat(v, 'f', -1, 64)+"5")
	}
}

func TestWhatFollowsANumberIsLeftAlone(t *testing.T) {
	for _, c := range []struct {
		text string
		v    float64
		n    int
	}{{"0.25 3:4", 0.25, 4}, {"12345678,9", 12345678, 8}, {"1e5#", 1e5, 3}, {"-7\n", -7, 2}} {
		if v, n, ok := scanFloat([]byte(c.text)); !ok || v != c.v || n != c.n {
			t.Errorf("%q: %v, %d bytes, %v", c.text, v, n, ok)
		}
	}
}

func TestParsingANumberDoesNotAllocate(t *testing.T) {
	for _, s := range []string{"0.25", "0.33768939971923828", "1e-300", "0.12345678901234567890123"} {
		tok := []byte(s)
		if n := testing.AllocsPerRun(100, func() { scanFloat(tok) }); n > 0 {
			t.Errorf("%s: %v allocations", s, n)
		}
	}
}
