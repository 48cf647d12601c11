package settings

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Amount is a number that a network's recipe may decide: FromRecipe, which is written "recipe".
type Amount float64

// FromRecipe leaves the number to the network's recipe.
var FromRecipe = Amount(math.Inf(-1))

var (
	_ encoding.TextUnmarshaler = (*Amount)(nil)
	_ json.Marshaler           = Amount(0)
	_ json.Unmarshaler         = (*Amount)(nil)
)

func (a Amount) String() string {
	if a == FromRecipe {
		return "recipe"
	}
	return strconv.FormatFloat(float64(a), 'g', -1, 64)
}

// Or is the number, or that of a recipe.
func (a Amount) Or(recipe float64) Amount {
	if a == FromRecipe {
		return Amount(recipe)
	}
	return a
}

// UnmarshalText reads a number or "recipe".
func (a *Amount) UnmarshalText(text []byte) error {
	if string(text) == "recipe" {
		*a = FromRecipe
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(v, 0) {
		return fmt.Errorf("%q: want a number, or recipe", text)
	}
	*a = Amount(v)
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (a Amount) MarshalJSON() ([]byte, error) {
	if a == FromRecipe {
		return []byte(`"recipe"`), nil
	}
	return json.Marshal(float64(a))
}

// UnmarshalJSON reads a number or "recipe".
func (a *Amount) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		data = []byte(s)
	}
	return a.UnmarshalText(data)
}
