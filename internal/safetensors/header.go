package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// entry is what the header says about one tensor.
type entry struct {
	name       string
	dtype      string
	shape      []int
	begin, end int
}

// decodeHeader returns the tensors of a header in the order of their data, and the metadata. It walks the
// tokens because json.Unmarshal into maps and structs lets duplicate names, null and other spellings of a key
// pass.
func decodeHeader(header []byte) ([]entry, map[string]string, error) {
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, errors.New("the header does not start with {: is this a safetensors file?")
	}
	if !utf8.Valid(header) {
		return nil, nil, errors.New("the header is not valid UTF-8")
	}
	var entries []entry
	var metadata map[string]string
	d := json.NewDecoder(bytes.NewReader(header))
	err := eachMember(d, func(name string) (err error) {
		if name == metadataKey {
			metadata, err = decodeMetadata(d)
			return err
		}
		e := entry{name: name}
		if err := e.decode(d); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		entries = append(entries, e)
		return nil
	})
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the header's end, not the file's
		err = errors.New("the header ends before its closing }")
	}
	if err != nil {
		return nil, nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, errors.New("the header has data after its closing }")
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		if a.begin != b.begin {
			return a.begin - b.begin
		}
		return a.end - b.end // the empty ones first
	})
	return entries, metadata, contiguous(entries)
}

// contiguous refuses holes and overlaps: a file that holds bytes no tensor owns, or the same bytes twice, can
// be read as two different things.
func contiguous(entries []entry) error {
	at := 0
	for _, e := range entries {
		switch {
		case e.begin > at:
			return fmt.Errorf("tensor %q: a hole of %d bytes before its data", e.name, e.begin-at)
		case e.begin < at:
			return fmt.Errorf("tensor %q: its data overlaps that of another tensor", e.name)
		}
		at = e.end
	}
	return nil
}

// decode reads the object that describes e. Keys it does not know are passed over, for later versions of the
// format.
func (e *entry) decode(d *json.Decoder) error {
	var shape, offsets []natural
	err := eachMember(d, func(key string) error {
		switch key {
		case "dtype":
			return d.Decode(&e.dtype)
		case "shape":
			return d.Decode(&shape)
		case "data_offsets":
			return d.Decode(&offsets)
		}
		var later json.RawMessage
		return d.Decode(&later)
	})
	switch {
	case err != nil:
		return err
	case shape == nil:
		return errors.New("no shape")
	case len(offsets) != 2:
		return fmt.Errorf("%d data_offsets, want 2", len(offsets))
	}
	e.begin, e.end = int(offsets[0]), int(offsets[1])
	e.shape = make([]int, len(shape))
	for i, s := range shape {
		e.shape[i] = int(s)
	}
	size, err := byteSize(e.dtype, e.shape)
	if err != nil {
		return err
	}
	if e.end < e.begin || e.end-e.begin != size {
		return fmt.Errorf("%s of shape %v takes %d bytes, and data_offsets are %v", e.dtype, e.shape, size, offsets)
	}
	return nil
}

func decodeMetadata(d *json.Decoder) (map[string]string, error) {
	var metadata map[string]string
	err := eachMember(d, func(key string) error {
		token, err := d.Token()
		if err != nil {
			return err
		}
		value, ok := token.(string)
		if !ok {
			return fmt.Errorf("metadata %q is not a string", key)
		}
		if metadata == nil {
			metadata = map[string]string{}
		}
		metadata[key] = value
		return nil
	})
	return metadata, err
}

// eachMember reads a JSON object and calls value for each key; value reads what follows the key.
func eachMember(d *json.Decoder, value func(key string) error) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return fmt.Errorf("%v where the header must have an object", token)
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key := token.(string) // the decoder lets nothing else stand there
		if seen[key] {
			return fmt.Errorf("%q is there twice", key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// natural is an int that JSON must write as 0, 1, 2, …; null is refused, which encoding/json would read as 0.
type natural int

// UnmarshalJSON implements json.Unmarshaler.
func (n *natural) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseUint(string(text), 10, strconv.IntSize-1)
	if err != nil {
		return fmt.Errorf("%s is not a size", text)
	}
	*n = natural(v)
	return nil
}
