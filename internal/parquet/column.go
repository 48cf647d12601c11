package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// convert makes numbers of what is stored. The one that fits the physical type is set; none is for texts.
type convert struct {
	ints  func(int64) float64
	bytes func([]byte) float64 // of fixed or any length
}

// newColumn says what a column holds. first is the first of its chunks.
func newColumn(e *format.SchemaElement, first int) Column {
	c := Column{Name: e.Name, element: e, leaf: first}
	c.Holds = c.holds()
	return c
}

// optional reports whether there are levels that say which values are null.
func (c *Column) optional() bool { return c.element.RepetitionType.V == format.Optional }

// holds finds out how the values are read, or what they are if they are not.
func (c *Column) holds() string {
	e := c.element
	converted := deprecated.ConvertedType(-1)
	if e.ConvertedType.Valid {
		converted = e.ConvertedType.V
	}
	logical := e.LogicalType.Value
	if e.RepetitionType.Valid && e.RepetitionType.V == format.Repeated {
		return "lists"
	}
	if !e.Type.Valid {
		switch logical.(type) {
		case *format.ListType:
			return "lists"
		case *format.MapType:
			return "maps"
		}
		switch converted {
		case deprecated.List:
			return "lists"
		case deprecated.Map, deprecated.MapKeyValue:
			return "maps"
		}
		return "nested columns"
	}
	if what := other(logical, converted); what != "" {
		return what
	}
	if scale, ok := decimalScale(e, converted); ok {
		return c.decimal(int(scale))
	}
	switch e.Type.V {
	case format.Boolean, format.Float, format.Double:
	case format.Int32:
		c.convert.ints = func(v int64) float64 { return float64(v) }
		if unsigned(logical, converted) {
			c.convert.ints = func(v int64) float64 { return float64(uint32(v)) }
		}
	case format.Int64:
		c.convert.ints = func(v int64) float64 { return float64(v) }
		if unsigned(logical, converted) {
			c.convert.ints = func(v int64) float64 { return float64(uint64(v)) }
		}
	case format.Int96:
		return "timestamps"
	case format.ByteArray:
	case format.FixedLenByteArray:
		if _, ok := logical.(*format.Float16Type); ok && e.TypeLength.V == 2 {
			c.convert.bytes = func(b []byte) float64 { return float16(binary.LittleEndian.Uint16(b)) }
			return ""
		}
		return "raw bytes"
	default:
		return fmt.Sprintf("values of the unknown type %d", int32(e.Type.V))
	}
	return ""
}

// other names types that are neither numbers nor texts.
func other(logical format.LogicalTypeValue, converted deprecated.ConvertedType) string {
	switch logical.(type) {
	case *format.DateType:
		return "dates"
	case *format.TimeType:
		return "times"
	case *format.TimestampType:
		return "timestamps"
	case *format.JsonType:
		return "JSON"
	case *format.BsonType:
		return "BSON"
	case *format.UUIDType:
		return "UUIDs"
	case *format.GeometryType, *format.GeographyType:
		return "geometries"
	case nil:
	default:
		return ""
	}
	switch converted {
	case deprecated.Date:
		return "dates"
	case deprecated.TimeMillis, deprecated.TimeMicros:
		return "times"
	case deprecated.TimestampMillis, deprecated.TimestampMicros:
		return "timestamps"
	case deprecated.Interval:
		return "intervals"
	case deprecated.Json:
		return "JSON"
	case deprecated.Bson:
		return "BSON"
	}
	return ""
}

func unsigned(logical format.LogicalTypeValue, converted deprecated.ConvertedType) bool {
	if t, ok := logical.(*format.IntType); ok {
		return !t.IsSigned
	}
	return converted >= deprecated.Uint8 && converted <= deprecated.Uint64
}

func decimalScale(e *format.SchemaElement, converted deprecated.ConvertedType) (int32, bool) {
	if t, ok := e.LogicalType.Value.(*format.DecimalType); ok {
		return t.Scale, true
	}
	return e.Scale.V, converted == deprecated.Decimal
}

// decimal is holds for integers that count 10^−scale.
func (c *Column) decimal(scale int) string {
	if scale < 0 || scale > 400 {
		return fmt.Sprintf("decimals with %d places", scale)
	}
	power := "e-" + strconv.Itoa(scale)
	switch c.element.Type.V {
	case format.Int32, format.Int64:
		c.convert.ints = func(v int64) float64 {
			x, _ := strconv.ParseFloat(strconv.FormatInt(v, 10)+power, 64)
			return x
		}
	case format.ByteArray, format.FixedLenByteArray:
		c.convert.bytes = func(b []byte) float64 {
			if len(b) > 64 { // more digits than any decimal has
				return math.NaN()
			}
			x, _ := strconv.ParseFloat(twosComplement(b).String()+power, 64)
			return x
		}
	default:
		return "decimals of an unknown type"
	}
	return ""
}

// twosComplement is the integer of bytes with the highest first.
func twosComplement(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// float16 is the value of IEEE 754's binary16.
func float16(b uint16) float64 {
	sign, e, m := 1.0, int(b>>10&31), float64(b&1023)
	if b&0x8000 != 0 {
		sign = -1
	}
	switch {
	case e == 31 && m > 0:
		return math.NaN()
	case e == 31:
		return math.Inf(int(sign))
	case e == 0:
		return sign * math.Ldexp(m, -24)
	}
	return sign * math.Ldexp(1024+m, e-25)
}

var booleans = [][]byte{[]byte("false"), []byte("true")}

// plainDictionary is an old name: of plain values in a dictionary, and of indexes in a page of data.
const plainDictionary format.Encoding = 2

func isDictionary(e format.Encoding) bool { return e == plainDictionary || e == format.RLEDictionary }
