package settings

import (
	"encoding"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Floats are one or several numbers: 2 or 1.1,2,3 on the command line, a number or a list in JSON.
type Floats []float64

var _ encoding.TextUnmarshaler = (*Floats)(nil)

// String is how they are written on the command line.
func (e Floats) String() string {
	var parts []string
	for _, p := range e {
		parts = append(parts, strconv.FormatFloat(p, 'g', -1, 64))
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
	if len(e) == 1 {
		return json.Marshal(e[0])
	}
	return json.Marshal([]float64(e))
}

// UnmarshalJSON reads both.
func (e *Floats) UnmarshalJSON(data []byte) error {
	var one float64
	if json.Unmarshal(data, &one) == nil {
		*e = Floats{one}
		return nil
	}
	return json.Unmarshal(data, (*[]float64)(e))
}
