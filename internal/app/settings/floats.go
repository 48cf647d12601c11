package settings

import (
	"encoding"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/mirror"
)

// Floats are one or several numbers: 2 or 1.1,2,inf on the command line, a number or a list in JSON, where infinity is
// "inf".
type Floats []float64

var _ encoding.TextUnmarshaler = (*Floats)(nil)

// String is how they are written on the command line.
func (e Floats) String() string {
	var parts []string
	for _, p := range e {
		parts = append(parts, mirror.Exponent(p).String())
	}
	return strings.Join(parts, ",")
}

// UnmarshalText reads 1.1,2,3.
func (e *Floats) UnmarshalText(text []byte) error {
	*e = nil
	for part := range strings.SplitSeq(string(text), ",") {
		p, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", part)
		}
		*e = append(*e, p)
	}
	return nil
}

// MarshalJSON writes a number if there is one, else a list.
func (e Floats) MarshalJSON() ([]byte, error) {
	all := make([]mirror.Exponent, len(e))
	for k, v := range e {
		all[k] = mirror.Exponent(v)
	}
	if len(all) == 1 {
		return json.Marshal(all[0])
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads both.
func (e *Floats) UnmarshalJSON(data []byte) error {
	var one mirror.Exponent
	if json.Unmarshal(data, &one) == nil {
		*e = Floats{float64(one)}
		return nil
	}
	var all []mirror.Exponent
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*e = nil
	for _, v := range all {
		*e = append(*e, float64(v))
	}
	return nil
}
