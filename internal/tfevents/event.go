package tfevents

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
)

// The keys of the protobuf fields that scalars need, field number << 3 | wire type:
//
//	message Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
//	message Summary { repeated Value value = 1; }
//	message Value   { string tag = 1; float simple_value = 2; }
const (
	wireVarint, wireFixed64, wireBytes, wireFixed32 = 0, 1, 2, 5

	eventWallTime    = 1<<3 | wireFixed64
	eventStep        = 2<<3 | wireVarint
	eventFileVersion = 3<<3 | wireBytes
	eventSummary     = 5<<3 | wireBytes
	summaryValue     = 1<<3 | wireBytes
	valueTag         = 1<<3 | wireBytes
	valueSimple      = 2<<3 | wireFixed32
)

var errEvent = errors.New("not a valid Event message")

// event is what this package keeps of an Event message.
type event struct {
	wall   float64
	step   int64
	values []scalar
}

type scalar struct {
	tag   string
	value float32
	known bool // false for a histogram, an image, …
}

func appendVersion(dst []byte, wall float64) []byte {
	dst = appendFixed64(dst, eventWallTime, wall)
	return appendBytes(dst, eventFileVersion, []byte("brain.Event:2"))
}

func appendScalars(dst []byte, wall float64, step int64, values map[string]float64) []byte {
	var summary, value []byte
	for _, tag := range slices.Sorted(maps.Keys(values)) {
		value = appendBytes(value[:0], valueTag, []byte(tag))
		value = append(value, valueSimple) // also for 0: it says which of the kinds of value this is
		value = binary.LittleEndian.AppendUint32(value, math.Float32bits(float32(values[tag])))
		summary = appendBytes(summary, summaryValue, value)
	}
	dst = appendFixed64(dst, eventWallTime, wall)
	if step != 0 { // proto3 leaves zeros out
		dst = append(dst, eventStep)
		dst = binary.AppendUvarint(dst, uint64(step))
	}
	return appendBytes(dst, eventSummary, summary)
}

func appendFixed64(dst []byte, key byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, key), math.Float64bits(v))
}

func appendBytes(dst []byte, key byte, b []byte) []byte {
	dst = binary.AppendUvarint(append(dst, key), uint64(len(b)))
	return append(dst, b...)
}

// parseEvent reads a message whole before anything is reported, since protobuf allows the step after the values.
func parseEvent(data []byte) (event, error) {
	var e event
	err := eachField(data, func(key, number uint64, b []byte) error {
		switch key {
		case eventWallTime:
			e.wall = math.Float64frombits(number)
		case eventStep:
			e.step = int64(number)
		case eventSummary:
			return e.parseSummary(b)
		}
		return nil
	})
	return e, err
}

func (e *event) parseSummary(data []byte) error {
	return eachField(data, func(key, _ uint64, b []byte) error {
		if key != summaryValue {
			return nil
		}
		var s scalar
		err := eachField(b, func(key, number uint64, b []byte) error {
			switch key {
			case valueTag:
				s.tag = string(b)
			case valueSimple:
				s.value, s.known = math.Float32frombits(uint32(number)), true
			}
			return nil
		})
		e.values = append(e.values, s)
		return err
	})
}

// eachField calls f with every field of a protobuf message: the number for the numeric wire types, the bytes
// for the other.
func eachField(data []byte, f func(key, number uint64, b []byte) error) error {
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 || key>>3 == 0 {
			return errEvent
		}
		number, b, rest, ok := fieldValue(key&7, data[n:])
		if !ok {
			return errEvent
		}
		if err := f(key, number, b); err != nil {
			return err
		}
		data = rest
	}
	return nil
}

// fieldValue splits the value of a field from what follows it.
func fieldValue(wire uint64, data []byte) (number uint64, b, rest []byte, ok bool) {
	switch wire {
	case wireVarint, wireBytes:
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return 0, nil, nil, false
		}
		rest = data[n:]
		if wire == wireVarint {
			return v, nil, rest, true
		}
		if v > uint64(len(rest)) {
			return 0, nil, nil, false
		}
		return 0, rest[:v], rest[v:], true
	case wireFixed64:
		if len(data) >= 8 {
			return binary.LittleEndian.Uint64(data), nil, data[8:], true
		}
	case wireFixed32:
		if len(data) >= 4 {
			return uint64(binary.LittleEndian.Uint32(data)), nil, data[4:], true
		}
	}
	return 0, nil, nil, false // groups are from before TensorBoard
}
