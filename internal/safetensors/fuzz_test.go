package safetensors

import (
	"bytes"
	"reflect"
	"testing"
)

// FuzzDecode: whatever Decode takes, it takes with and without the size alike, and Encode writes it back to a
// file with the same content. With a checksum, it verifies after a round trip.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte(checked()))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Decode(bytes.NewReader(data), -1)
		sized, sizedErr := Decode(bytes.NewReader(data), int64(len(data)))
		if (err == nil) != (sizedErr == nil) || !reflect.DeepEqual(got, sized) {
			t.Fatalf("without size %v, %v; with size %v, %v", got, err, sized, sizedErr)
		}
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Encode(&b, got); err != nil {
			t.Fatal(err)
		}
		again, err := Decode(&b, -1)
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("got %v, %v, want %v", again, err, got)
		}
		whole, err := got.WithChecksum()
		if err == nil {
			b.Reset()
			err = Encode(&b, whole)
		}
		if err == nil {
			whole, err = Decode(&b, -1)
		}
		if err == nil {
			err = whole.Verify()
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
