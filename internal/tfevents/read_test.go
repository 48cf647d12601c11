package tfevents

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// lines reads an event file apart from the code that writes it, and returns its scalars, one a line: step, wall time,
// tag, value.
func lines(file []byte) (string, error) {
	var b strings.Builder
	for len(file) > 0 {
		if len(file) < 16 {
			return "", errors.New("half a record")
		}
		n := int(binary.LittleEndian.Uint64(file))
		if n < 0 || n > len(file)-16 || binary.LittleEndian.Uint32(file[8:]) != masked(file[:8]) ||
			binary.LittleEndian.Uint32(file[12+n:]) != masked(file[12:12+n]) {
			return "", errors.New("a corrupt record")
		}
		var wall float64
		var step int64
		var values []string
		err := fields(file[12:12+n], func(key byte, number uint64, data []byte) error {
			switch key {
			case 1<<3 | 1:
				wall = math.Float64frombits(number)
			case 2 << 3:
				step = int64(number)
			case 5<<3 | 2:
				return fields(data, func(_ byte, _ uint64, data []byte) error {
					var tag string
					return fields(data, func(key byte, number uint64, data []byte) error {
						switch key {
						case 1<<3 | 2:
							tag = string(data)
						case 2<<3 | 5:
							values = append(values, fmt.Sprintf("%q %v", tag, math.Float32frombits(uint32(number))))
						}
						return nil
					})
				})
			}
			return nil
		})
		if err != nil {
			return "", err
		}
		for _, v := range values {
			fmt.Fprintln(&b, step, wall, v)
		}
		file = file[16+n:]
	}
	return b.String(), nil
}

// fields calls f with each field of a protobuf message: its number or its bytes.
func fields(message []byte, f func(key byte, number uint64, data []byte) error) error {
	for len(message) > 0 {
		key := message[0]
		message = message[1:]
		var number uint64
		var data []byte
		size := 0
		switch key & 7 {
		case 0, 2:
			if number, size = binary.Uvarint(message); size <= 0 {
				return errors.New("half a varint")
			}
			if key&7 == 2 {
				if number > uint64(len(message)-size) {
					return errors.New("half a string")
				}
				data = message[size : size+int(number)]
				size += len(data)
			}
		case 1:
			if size = 8; len(message) >= size {
				number = binary.LittleEndian.Uint64(message)
			}
		case 5:
			if size = 4; len(message) >= size {
				number = uint64(binary.LittleEndian.Uint32(message))
			}
		default:
			return fmt.Errorf("key %#x", key)
		}
		if size > len(message) {
			return errors.New("half a number")
		}
		if err := f(key, number, data); err != nil {
			return err
		}
		message = message[size:]
	}
	return nil
}
