package job

import (
	"encoding"
	"fmt"
	"math"
	"strconv"
)

// Count is a number of steps, which may be written as 1e6.
type Count int

var _ encoding.TextUnmarshaler = (*Count)(nil)

// UnmarshalText reads 1000000 and 1e6.
func (c *Count) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return fmt.Errorf("%q is not a whole number", text)
	}
	*c = Count(v)
	return nil
}

// UnmarshalJSON reads a number, as run.json has it.
func (c *Count) UnmarshalJSON(data []byte) error { return c.UnmarshalText(data) }
