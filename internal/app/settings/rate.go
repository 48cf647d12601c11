package settings

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Rate is a learning rate. Auto, which is written "auto", leaves the choice to a search by short runs; Recipe,
// "recipe", to the network's recipe.
type Rate float64

// Auto lets short runs choose.
const Auto Rate = 0

// Recipe is the rate of the network's recipe.
var Recipe = Rate(math.Inf(-1))

var (
	_ encoding.TextUnmarshaler = (*Rate)(nil)
	_ json.Marshaler           = Rate(0)
	_ json.Unmarshaler         = (*Rate)(nil)
)

func (r Rate) String() string {
	switch r {
	case Auto:
		return "auto"
	case Recipe:
		return "recipe"
	}
	return strconv.FormatFloat(float64(r), 'g', -1, 64)
}

// UnmarshalText reads a number, "auto" or "recipe".
func (r *Rate) UnmarshalText(text []byte) error {
	switch string(text) {
	case "auto":
		*r = Auto
		return nil
	case "recipe":
		*r = Recipe
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || v == 0 || math.IsInf(v, 0) {
		return fmt.Errorf("%q is not a learning rate: want a positive number, auto or recipe", text)
	}
	*r = Rate(v)
	return nil
}

// MarshalJSON writes what UnmarshalText reads.
func (r Rate) MarshalJSON() ([]byte, error) {
	if r == Auto || r == Recipe {
		return []byte(`"` + r.String() + `"`), nil
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
