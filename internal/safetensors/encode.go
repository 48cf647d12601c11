package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"
)

// Encode writes f. The same File always gives the same bytes. Nothing is written when f is not valid.
func Encode(w io.Writer, f File) error {
	header, err := encodeHeader(f)
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range f.Tensors {
		if _, err := w.Write(t.Data); err != nil {
			return err
		}
	}
	return nil
}

// encodeHeader returns everything before the data: the length, the JSON object and its padding. The object is
// put together by hand because a Go map would lose the order of the tensors.
func encodeHeader(f File) ([]byte, error) {
	var b bytes.Buffer
	b.Write(make([]byte, 8)) // the length, once it is known
	b.WriteByte('{')
	if len(f.Metadata) > 0 {
		if err := encodeMetadata(&b, f.Metadata); err != nil {
			return nil, err
		}
	}
	seen := make(map[string]bool, len(f.Tensors))
	offset := 0
	for i, t := range f.Tensors {
		if err := check(t); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if seen[t.Name] {
			return nil, fmt.Errorf("two tensors are named %q", t.Name)
		}
		seen[t.Name] = true
		if i > 0 || len(f.Metadata) > 0 {
			b.WriteByte(',')
		}
		end := offset + len(t.Data)
		shape, err := json.Marshal(append([]int{}, t.Shape...)) // never null
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, `%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, quote(t.Name), t.DType, shape, offset, end)
		offset = end
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 { // so that the data starts aligned in a mapped file
		b.WriteByte(' ')
	}
	n := b.Len() - 8
	if n > maxHeader {
		return nil, fmt.Errorf("the header takes %d bytes, and readers refuse more than %d: use fewer tensors or less "+
			"metadata", n, maxHeader)
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(n))
	return b.Bytes(), nil
}

func encodeMetadata(b *bytes.Buffer, metadata map[string]string) error {
	b.WriteString(quote(metadataKey) + ":{")
	for i, k := range slices.Sorted(maps.Keys(metadata)) {
		if !utf8.ValidString(k) || !utf8.ValidString(metadata[k]) {
			return fmt.Errorf("metadata %q is not valid UTF-8", k)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(k) + ":" + quote(metadata[k]))
	}
	b.WriteByte('}')
	return nil
}

// check reports what would make t unreadable.
func check(t Tensor) error {
	if t.Name == metadataKey {
		return fmt.Errorf("the name is reserved for metadata")
	}
	if !utf8.ValidString(t.Name) {
		return fmt.Errorf("the name is not valid UTF-8")
	}
	size, err := byteSize(t.DType, t.Shape)
	if err != nil {
		return err
	}
	if size != len(t.Data) {
		return fmt.Errorf("%s of shape %v takes %d bytes, and there are %d", t.DType, t.Shape, size, len(t.Data))
	}
	return nil
}

// quote returns s, valid UTF-8, as a JSON string. Unlike json.Marshal it leaves <, > and & as they are, as the
// reference implementation does.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
