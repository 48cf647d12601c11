package job

import (
	"encoding"
	"encoding/json"
	"fmt"
	"strconv"
)

// Rate is a learning rate. Auto, which is written "auto", leaves the choice to a range test.
type Rate float64

// Auto lets a range test choose.
const Auto Rate = 0

var (
	_ encoding.TextUnmarshaler = (*Rate)(nil)
	_ json.Marshaler           = Rate(0)
	_ json.Unmarshaler         = (*Rate)(nil)
)

func (r Rate) String() string {
	if r == Auto {
		return "auto"
	}
	return strconv.FormatFloat(float64(r), 'g', -1, 64)
}

// UnmarshalText reads a number or "auto".
func (r *Rate) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*r = Auto
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || v == 0 {
		return fmt.Errorf("%q is not a learning rate: want a positive number or auto", text)
	}
	*r = Rate(v)
	return nil
}

// MarshalJSON writes a number or "auto".
func (r Rate) MarshalJSON() ([]byte, error) {
	if r == Auto {
		return []byte(`"auto"`), nil
	}
	return json.Marshal(float64(r))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Rate) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		data = []byte(s)
	}
	return r.UnmarshalText(data)
}
