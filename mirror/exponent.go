package mirror

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Exponent is a p as it is stored: JSON has no infinity, which is "inf".
type Exponent float64

// String writes the number, or inf.
func (p Exponent) String() string {
	if math.IsInf(float64(p), 1) {
		return "inf"
	}
	return strconv.FormatFloat(float64(p), 'g', -1, 64)
}

// MarshalJSON writes a number, or "inf".
func (p Exponent) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(p), 1) {
		return []byte(`"inf"`), nil
	}
	return strconv.AppendFloat(nil, float64(p), 'g', -1, 64), nil
}

// UnmarshalJSON reads both.
func (p *Exponent) UnmarshalJSON(data []byte) error {
	var number float64
	if err := json.Unmarshal(data, &number); err == nil {
		*p = Exponent(number)
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil || text != "inf" {
		return fmt.Errorf("p is %s: want a number or \"inf\"", data)
	}
	*p = Exponent(math.Inf(1))
	return nil
}
