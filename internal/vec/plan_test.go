package vec

import (
	"math"
	"testing"
)

// A p written with two digits gives an exponent 1/(p−1) that is off by its rounding.
func TestExponentsFromRoundedPAreTakenForTheExactOnes(t *testing.T) {
	for k := 1; k <= maxInteger; k++ {
		p := 1 + 1/float64(k)
		if got := PowerOf(1 / (p - 1)).Exponent(); got != float64(k) {
			t.Errorf("p = %v: exponent %v, want %d", p, got, k)
		}
	}
	for k := 2; k <= maxRoot; k++ {
		q := 1 + 1/float64(k)
		p := q / (q - 1) // k+1, nearly
		if got := PowerOf(1 / (p - 1)).Exponent(); got != 1/float64(k) {
			t.Errorf("p = %v: exponent %v, want 1/%d", p, got, k)
		}
	}
	if got := PowerOf(1 / (1.1 - 1)).Exponent(); got != 10 {
		t.Errorf("p = 1.1: exponent %v, want 10", got)
	}
	p := 5.0 / 3
	if got := PowerOf(1 / (p - 1)).Exponent(); got != 1.5 {
		t.Errorf("p = 5/3: exponent %v, want 1.5", got)
	}
}

func TestExponentsThatDifferByMoreAreKept(t *testing.T) {
	for _, y := range []float64{10 * (1 + 1e-14), 1.00000000000001, 0.2 * (1 - 2e-14), 0.3, -2, 1e-20, 2.5, 1e10, -0.5} {
		if got := PowerOf(y).Exponent(); got != y {
			t.Errorf("exponent %v became %v", y, got)
		}
	}
	if got := PowerOf(math.NaN()).Exponent(); got == got {
		t.Errorf("exponent NaN became %v", got)
	}
}

func TestZeroPowerHasExponentZero(t *testing.T) {
	var p Power
	got := make([]float64, 3)
	p.Abs(got, []float64{0, 5, -2})
	for _, v := range got {
		if v != 1 {
			t.Errorf("%v, want ones", got)
		}
	}
}

func TestStepsMultiplyToThePower(t *testing.T) {
	for k := uint(1); k <= maxInteger; k++ {
		// 2ᵏ and 3 raised to small powers are exact.
		if got := powInt(2, stepsOf(k)); got != math.Ldexp(1, int(k)) {
			t.Errorf("2 to the power %d is %v", k, got)
		}
	}
}

func TestTenHasTheStepsInAssembly(t *testing.T) {
	if stepsOf(10) != 0b0101<<60 {
		t.Errorf("steps of 10: %b", stepsOf(10))
	}
}
