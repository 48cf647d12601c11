package settings

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Count is a number of steps, which may be written as 1e6.
type Count int

var (
	_ encoding.TextUnmarshaler = (*Count)(nil)
	_ json.Unmarshaler         = (*Count)(nil)
)

// UnmarshalJSON reads the number that a run.json holds.
func (c *Count) UnmarshalJSON(data []byte) error { return c.UnmarshalText(bytes.Trim(data, `"`)) }

// UnmarshalText reads 1000000 and 1e6.
func (c *Count) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return fmt.Errorf("%q is not a whole number", text)
	}
	*c = Count(v)
	return nil
}
