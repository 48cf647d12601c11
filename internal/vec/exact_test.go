package vec

import (
	"math"
	"math/big"
	"testing"
)

// The reference: exponential and logarithm by their series in 200 bits.

const exactBits = 200

func real(v float64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(v) }

func zero() *big.Float { return new(big.Float).SetPrec(exactBits) }

// exactAtanh2 returns 2·atanh(s) for |s| ≤ 1/3.
func exactAtanh2(s *big.Float) *big.Float {
	sum := zero()
	z := zero().Mul(s, s)
	power := zero().Add(s, s)
	for j := int64(1); power.Sign() != 0 && power.MantExp(nil) > sum.MantExp(nil)-exactBits; j += 2 {
		sum.Add(sum, zero().Quo(power, zero().SetInt64(j)))
		power.Mul(power, z)
	}
	return sum
}

var exactLn2 = exactAtanh2(zero().Quo(real(1), real(3)))

// exactLog returns ln x for positive x.
func exactLog(x float64) *big.Float {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	s := zero().Quo(zero().Sub(real(m), real(1)), zero().Add(real(m), real(1)))
	l := exactAtanh2(s)
	return l.Add(l, zero().Mul(exactLn2, zero().SetInt64(int64(k))))
}

// exactExp returns eˣ.
func exactExp(x *big.Float) *big.Float {
	q, _ := zero().Quo(x, exactLn2).Float64()
	k := int(math.Round(q))
	r := zero().Sub(x, zero().Mul(exactLn2, zero().SetInt64(int64(k))))
	const halvings = 12
	r.SetMantExp(r, -halvings)
	sum, term := real(1), real(1)
	for j := int64(1); j < 20; j++ {
		term.Mul(term, r)
		term.Quo(term, zero().SetInt64(j))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, k)
}

// exactPow returns xʸ for positive x.
func exactPow(x, y float64) *big.Float {
	return exactExp(zero().Mul(exactLog(x), real(y)))
}

// ulps returns |got − want| in units of the last place of want, where 2¹⁰²⁴ and more is infinity.
func ulps(got float64, want *big.Float) float64 {
	w, _ := want.Float64()
	if math.IsInf(w, 0) || math.IsInf(got, 0) || got != got {
		if got == w {
			return 0
		}
		return math.Inf(1)
	}
	_, e := math.Frexp(w)
	ulp := math.Ldexp(1, max(e-53, -1074))
	d, _ := zero().Quo(zero().Sub(real(got), want), real(ulp)).Float64()
	return math.Abs(d)
}

// relative returns |got − want|/want.
func relative(got float64, want *big.Float) float64 {
	if math.IsInf(got, 0) || got != got {
		return math.Inf(1)
	}
	d, _ := zero().Quo(zero().Sub(real(got), want), want).Float64()
	return math.Abs(d)
}

func TestExactReferenceHas120Bits(t *testing.T) {
	// e and ln 10 to 50 digits.
	for _, c := range []struct {
		got  *big.Float
		want string
	}{
		{exactExp(real(1)), "2.71828182845904523536028747135266249775724709369995"},
		{exactLog(10), "2.30258509299404568401799145468436420760110148862877"},
		{exactPow(2, 0.5), "1.41421356237309504880168872420969807856967187537694"},
		{exactExp(real(-700)), "9.8596765437597708567053729478494651051156001814009e-305"},
	} {
		want, _, err := big.ParseFloat(c.want, 10, exactBits, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		d, _ := zero().Quo(zero().Sub(c.got, want), want).Float64()
		if math.Abs(d) > 1e-36 {
			t.Errorf("got %.45g, want %s", c.got, c.want)
		}
	}
}
