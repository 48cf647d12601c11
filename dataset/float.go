package dataset

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// exact10 are the powers of ten that are float64 numbers themselves.
var exact10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// scanFloat reads the decimal number at the start of b and returns how many bytes it took. The value has the
// bits strconv.ParseFloat gives for those bytes. ok is false where no number starts and where it overflows.
//
// Most numbers in data files have few digits; those with 17 come from programs that print floats to be read
// back. Both kinds are done here, and the rest is left to strconv.
func scanFloat(b []byte) (v float64, n int, ok bool) {
	i := 0
	neg := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		i++
	}
	first := i
	m, i := digits(b, i, 0)
	count := i - first
	exp := 0
	if i < len(b) && b[i] == '.' {
		point := i + 1
		m, i = digits(b, point, m)
		exp = point - i
		count += i - point
	}
	if count == 0 {
		return 0, i, false
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		e, end, ok := exponent(b, i+1)
		if !ok {
			return 0, end, false
		}
		exp += e
		i = end
	}
	if count > 19 && significant(b[first:i]) > 19 { // m has wrapped around
		return slowFloat(b[:i])
	}
	switch {
	case m < 1<<53 && uint(exp+22) <= 44: // Clinger: both factors exact, so one rounding
		v = float64(m)
		if exp < 0 {
			v /= exact10[-exp]
		} else {
			v *= exact10[exp]
		}
	case m == 0:
	default:
		if v, ok = scaled(m, exp); !ok {
			return slowFloat(b[:i])
		}
	}
	if neg {
		v = -v
	}
	return v, i, true
}

// digits appends the decimal digits at b[i:] to m, eight at a time while there are so many.
func digits(b []byte, i int, m uint64) (uint64, int) {
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		// Every byte is in '0'..'9' if its high half is 3, and still 3 after adding 6.
		if w&0xf0f0f0f0f0f0f0f0 != 0x3030303030303030 ||
			(w+0x0606060606060606)&0xf0f0f0f0f0f0f0f0 != 0x3030303030303030 {
			break
		}
		// Pairs, then fours, then eight: each step joins neighbours, the first digit being the lowest byte.
		w -= 0x3030303030303030
		w = w*10 + w>>8
		w = (w&0x000000ff000000ff*(100+1000000<<32) + w>>16&0x000000ff000000ff*(1+10000<<32)) >> 32
		m = m*100000000 + w&0xffffffff
		i += 8
	}
	for i < len(b) && b[i]-'0' <= 9 {
		m = m*10 + uint64(b[i]-'0')
		i++
	}
	return m, i
}

// exponent reads what follows an e. Exponents past any float stay past it, without overflowing themselves.
func exponent(b []byte, i int) (e, end int, ok bool) {
	neg := false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		neg = b[i] == '-'
		i++
	}
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		if e < 10000 { // strconv stops here too, and numbers of 10000 digits must not tell us apart
			e = e*10 + int(b[i]-'0')
		}
		i++
	}
	if neg {
		e = -e
	}
	return e, i, i > start
}

// significant counts the digits of a mantissa after its leading zeros.
func significant(b []byte) int {
	n := 0
	for _, c := range b {
		switch {
		case c|0x20 == 'e':
			return n
		case c != '.' && (n > 0 || c != '0'):
			n++
		}
	}
	return n
}

// slowFloat hands a well-formed number to strconv.
func slowFloat(b []byte) (v float64, n int, ok bool) {
	v, err := strconv.ParseFloat(string(b), 64)
	return v, len(b), err == nil
}

// power is 10^e = (hi·2^64 + lo)·2^exp, cut after 128 bits, of which the first is 1.
type power struct {
	hi, lo uint64
	exp    int
}

// maxPower bounds the table: beyond it numbers are rare, and within it no product leaves the normal floats.
const maxPower = 64

var powers = powersOfTen()

func powersOfTen() (t [2*maxPower + 1]power) {
	ten := big.NewInt(10)
	word := new(big.Int).SetUint64(math.MaxUint64)
	for a, p := 0, big.NewInt(1); a <= maxPower; a++ {
		// 128 bits of p itself, and of 2^k/p for the negative power.
		up, e := new(big.Int), p.BitLen()-128
		if e < 0 {
			up.Lsh(p, uint(-e))
		} else {
			up.Rsh(p, uint(e))
		}
		k := 127 + p.BitLen()
		down := new(big.Int).Lsh(big.NewInt(1), uint(k))
		down.Quo(down, p)
		if a > 0 {
			t[maxPower-a] = power{new(big.Int).Rsh(down, 64).Uint64(), new(big.Int).And(down, word).Uint64(), -k}
		}
		t[maxPower+a] = power{new(big.Int).Rsh(up, 64).Uint64(), new(big.Int).And(up, word).Uint64(), e}
		p.Mul(p, ten)
	}
	return t
}

// scaled returns m·10^e correctly rounded, or ok false where it cannot be sure. m is not 0.
//
// This is the idea of Eisel and Lemire ("Number parsing at a gigabyte per second", 2021): multiply by the
// power's first 128 bits and look whether what was cut off could change the rounding. Of the 192-bit product
// the first 128 are kept, as hi and lo; the word dropped and the tail of the power are each less than one
// unit of lo, so the true value lies in [x, x+2) of such units, and rounding is certain unless that holds
// the midpoint of two floats.
func scaled(m uint64, e int) (v float64, ok bool) {
	if e < -maxPower || e > maxPower {
		return 0, false
	}
	p := &powers[e+maxPower]
	lz := bits.LeadingZeros64(m)
	m <<= lz
	hi, lo := bits.Mul64(m, p.hi)
	low, _ := bits.Mul64(m, p.lo)
	lo, carry := bits.Add64(lo, low, 0)
	hi += carry

	shift := 10 + hi>>63 // leaves 53 bits
	half := uint64(1) << (shift - 1)
	rest := hi & (2*half - 1)
	if rest == half && lo == 0 || rest == half-1 && lo == math.MaxUint64 {
		return 0, false
	}
	mant := hi >> shift
	if rest >= half {
		mant++ // a carry out of the 53 bits makes the exponent below one larger, as it should
	}
	exp := uint64(1023 + 52 + 128 + int(shift) + p.exp - lz)
	return math.Float64frombits(exp<<52 + mant - 1<<52), true
}
